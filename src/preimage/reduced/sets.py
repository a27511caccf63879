"""The function ``reduced_set``: it chooses the method and checks its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.expansion import Expansion, check_vectors
from preimage.kernels import Kernel, knows
from preimage.kernels.base import is_number
from preimage.reduced.base import ReducedSet, ReductionMethod
from preimage.reduced.greedy import Greedy
from preimage.reduced.selected import Selected

NAMES = {"greedy": Greedy, "selection": Selected}


def as_reduction_method(method: Any) -> ReductionMethod:
    """The method for a parameter: an object with ``reduce``, or a name."""
    if isinstance(method, str):
        if method not in NAMES:
            raise ValueError(f"unknown reduced-set method {method!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[method]()
    if isinstance(method, type) or not hasattr(method, "reduce"):
        raise TypeError(f"method must be a name or a method object such as Greedy(), not {method!r}.")
    return method


def choose_reduction_method(kernel: Kernel) -> ReductionMethod:
    """``Greedy`` if the kernel has a gradient and is positive definite, else ``Selected``."""
    return Greedy() if knows(kernel, "gradient") and kernel.positive_definite else Selected()


def reduced_set(expansion: Expansion, n_points: int, *, method: Any = "auto") -> ReducedSet:
    """The vectors of an expansion over ``n_points`` points.

    Parameters
    ----------
    expansion : Expansion
        A batch of vectors that share points. Their summed squared error is minimised, so long vectors count more.
    n_points : int
        At most the number of points of the expansion; with as many, the expansion itself is returned.
    method : "auto", name or method object
        :class:`Greedy` (optimised points; the default where the kernel has a gradient) or :class:`Selected` (points of
        the expansion itself, for any kernel).

    Returns
    -------
    ReducedSet
        The new expansion, and the relative error for every size up to ``n_points``.

    See Also
    --------
    find_preimage : One point for every vector.
    KernelPCA.compress : A kernel PCA over few points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, reduced_set
    >>> from preimage.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> mean = Expansion(Gaussian(1.0), X, np.full((1, 200), 1 / 200))
    >>> found = reduced_set(mean, 10)
    >>> found.expansion.points.shape, bool(found.error < 0.05)
    ((10, 2), True)
    """
    check_vectors(expansion)
    chosen = (
        choose_reduction_method(expansion.kernel)
        if isinstance(method, str) and method == "auto"
        else as_reduction_method(method)
    )
    chosen.check(expansion.kernel)
    size = expansion.points.shape[0]
    if not is_number(n_points) or n_points != int(n_points):
        raise TypeError(f"n_points must be a whole number, not {n_points!r}.")
    if not 1 <= n_points <= size:
        raise ValueError(f"n_points must lie between 1 and the {size} points of the expansion, not {n_points}.")
    if not np.isfinite(expansion.weights).all():
        raise ValueError("the expansion has infinite or NaN weights: they must be finite.")
    if n_points == size:
        return ReducedSet(expansion, np.append(Selected().reduce(expansion, size).errors[:-1], 0.0))
    return chosen.reduce(expansion, int(n_points))
