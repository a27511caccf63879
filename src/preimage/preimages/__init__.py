"""Pre-images: from vectors of feature space to points of input space, one method per file."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage._typing import Rows
from preimage.expansion import FeatureVectors, check_vectors
from preimage.gram import threads
from preimage.kernels import Kernel, Precomputed, knows
from preimage.preimages.base import EVERYTHING as EVERYTHING
from preimage.preimages.base import InverseMap, PreimageMethod, Preimages, dense_rows
from preimage.preimages.base import check_needs as check_needs
from preimage.preimages.base import find_in_batches as find_in_batches
from preimage.preimages.conformal import Conformal
from preimage.preimages.convex import ConvexCombination
from preimage.preimages.distance import Distance
from preimage.preimages.fixed_point import FixedPoint
from preimage.preimages.gradient import Gradient
from preimage.preimages.learned import Learned
from preimage.preimages.nearest import Nearest
from preimage.preimages.one_step import OneStep
from preimage.preimages.wiener import Wiener

__all__ = [
    "Conformal",
    "ConvexCombination",
    "Distance",
    "FixedPoint",
    "Gradient",
    "InverseMap",
    "Learned",
    "Nearest",
    "OneStep",
    "PreimageMethod",
    "Preimages",
    "Wiener",
    "choose_preimage_method",
    "find_preimage",
]

NAMES = {
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "distance": Distance,
    "learned": Learned,
    "conformal": Conformal,
    "one_step": OneStep,
    "convex": ConvexCombination,
    "nearest": Nearest,
    "wiener": Wiener,
}


def as_preimage_method(method: Any) -> PreimageMethod:
    """The pre-image method for a parameter: an object with ``prepare``, or a name."""
    if isinstance(method, str):
        if method not in NAMES:
            raise ValueError(f"unknown pre-image method {method!r}; the names are auto, {', '.join(NAMES)}.")
        named: PreimageMethod = NAMES[method]()
        return named
    if isinstance(method, type) or not hasattr(method, "prepare"):
        raise TypeError(f"preimage must be a name or a method object such as Learned(), not {method!r}.")
    given: PreimageMethod = method
    return given


def choose_preimage_method(kernel: Kernel, task: str) -> PreimageMethod:
    """The method that ``"auto"`` chooses.

    ===================  =====================================================================================
    task                 method
    ===================  =====================================================================================
    any, precomputed     ``Nearest``: there is no input space
    "decode" a code      ``Learned``: a regression works best on codes like the training codes
    "denoise" a row      ``Wiener``: on average no worse than the row itself, for any number of components
    "expansion"          ``FixedPoint`` where the kernel has a profile; ``Gradient`` where it has a gradient;
                         else ``Nearest``
    ===================  =====================================================================================

    See Also
    --------
    preimage.KernelPCA : Its ``preimage="auto"`` calls this function.

    Examples
    --------
    >>> from preimage.kernels import Gaussian, Linear
    >>> from preimage.preimages import choose_preimage_method
    >>> choose_preimage_method(Gaussian(1.0), "expansion")
    FixedPoint(tol=1e-05, max_iter=200, pull=0.0, memory=4)
    >>> choose_preimage_method(Gaussian(1.0) + Linear(), "expansion")
    Gradient(box=None, tol=1e-06, max_iter=300, memory=8)
    """
    if isinstance(kernel, Precomputed):
        return Nearest()
    if task == "expansion":
        if knows(kernel, "profile") and kernel.argument == "distance":
            return FixedPoint()
        return Gradient() if knows(kernel, "gradient") else Nearest()
    return Wiener() if task == "denoise" else Learned()


def is_automatic(method: Any) -> bool:
    """Whether the method is "auto"."""
    return isinstance(method, str) and method == "auto"


def method_for(method: Any, kernel: Kernel, task: str) -> PreimageMethod:
    """The method for a task, for a parameter that may be "auto"."""
    return choose_preimage_method(kernel, task) if is_automatic(method) else as_preimage_method(method)


def imputers(kernel: Kernel) -> tuple[PreimageMethod, ...]:
    """The methods that ``"auto"`` combines to fill gaps (:class:`preimage.imputation.Imputation`)."""
    return (Learned(), Distance() if knows(kernel, "profile", "inverse") else Nearest())


@threads.limited()
def find_preimage(
    expansion: FeatureVectors, method: Any = "auto", *, starts: Rows | None = None, random_state: int = 0
) -> Preimages:
    """Points of input space for any vectors of feature space.

    Parameters
    ----------
    expansion : Expansion or other FeatureVectors
        A batch of vectors of feature space.
    method : "auto", name or method object
        Methods that work on codes (``Learned``, ``Conformal``) need a fitted model and are refused.
    starts : array of shape (vectors, d), optional
        Where iterative methods start.
    random_state : int
        Seed of methods that use random numbers.

    See Also
    --------
    reduced_set : A few points for the same vectors, rather than one each.
    KernelPCA.find_preimages : Pre-images of the projections of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> vectors = Expansion(Gaussian(2.0), X, np.array([[0.5, 0.5], [0.0, 1.0]]))  # the mean, and an image
    >>> find_preimage(vectors).points.round(3)
    array([[1., 1.],
           [2., 1.]])
    """
    check_vectors(expansion)
    chosen = _choose_for(expansion) if is_automatic(method) else as_preimage_method(method)
    check_needs(chosen, expansion.provides - {"codes"})  # codes are useless without their model
    chosen.check(expansion.kernel)
    inverse_map = chosen.prepare(expansion, np.random.default_rng(random_state))
    return find_in_batches(inverse_map, expansion, None if starts is None else dense_rows(starts))


def _choose_for(expansion: FeatureVectors) -> PreimageMethod:
    return choose_preimage_method(expansion.kernel, "expansion") if "weights" in expansion.provides else Gradient()
