"""Rules that compute a length scale from data.

Every rule returns ℓ. In the papers' notation the Gaussian is exp(−‖x − y‖²/c) with c = 2ℓ².

=========  ==========================================================  =======================================
name       c = 2ℓ²                                                     from
=========  ==========================================================  =======================================
median     median of ‖xᵢ − xⱼ‖² over pairs                             common use
mean       mean of ‖xᵢ − x̄‖²                                           Kwok & Tsang 2003, §5
mika       2d × mean variance of a coordinate, twice ``mean``          Mika et al. 1998, §4
=========  ==========================================================  =======================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from preimage._typing import Array, Rows
from preimage.exceptions import LengthScaleWarning, warn
from preimage.kernels import Kernel
from preimage.kernels.base import knows
from preimage.kernels.geometry import squared_distances, squared_norms
from preimage.kernels.radial import check_square

__all__ = ["length_scale"]

FEW = 30  # rows compared with all others to detect a short length scale
PAIRS = 12  # at least so many pairs of rows are compared before that
UNRELATED = 1e-3  # rows with a kernel value below this share of k(x, x) are unrelated
MOST_ALONE = 0.5  # share of rows unrelated to all others above which we warn
SAMPLE = 2000  # rows used by pairwise rules: two million pairs determine a median to three digits


def spread_rows(X: Rows, n_rows: int) -> Rows:
    """At most ``n_rows`` rows, evenly spaced over X: the same ones every time."""
    if X.shape[0] <= n_rows:
        return X
    return X[np.linspace(0, X.shape[0] - 1, n_rows).astype(int)]


def median(X: Rows) -> float:
    """ℓ with 2ℓ² = median of ‖xᵢ − xⱼ‖² over pairs; if most pairs are equal, over the pairs that differ."""
    rows = spread_rows(X, SAMPLE)
    distances = squared_distances(rows, rows)[np.triu_indices(rows.shape[0], 1)]
    middle = np.median(distances) if distances.size else 0.0
    noise = max(np.square(_resolution(rows)), 4 * np.finfo(distances.dtype).eps * distances.max(initial=0))
    if middle <= noise and np.any(distances > noise):
        middle = np.median(distances[distances > noise])
    return float(np.sqrt(middle / 2))


def mean(X: Rows) -> float:
    """ℓ with 2ℓ² = mean of ‖xᵢ − x̄‖² (Kwok & Tsang)."""
    return float(np.sqrt(_total_variance(X) / 2))


def mika(X: Rows) -> float:
    """ℓ with 2ℓ² = 2d × the mean variance of a coordinate (Mika et al.)."""
    return float(np.sqrt(_total_variance(X)))


RULES: dict[str, Callable[[Rows], float]] = {"median": median, "mean": mean, "mika": mika}


def length_scale(X: Rows, rule: str | None = None) -> float:
    """The length scale ℓ that a rule computes from the rows of X.

    Parameters
    ----------
    X : array of shape (rows, d)
    rule : "median", "mean", "mika" or None
        See :mod:`preimage.kernels.scales`; None is "median".

    See Also
    --------
    preimage.kernels.Gaussian : Takes a rule by its name.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels.scales import length_scale
    >>> X = np.array([[0.0], [1.0], [3.0]])  # squared distances 1, 4 and 9
    >>> round(length_scale(X) ** 2, 6)  # half the median
    2.0
    """
    name = rule or "median"
    if name not in RULES:
        raise ValueError(f"unknown rule {name!r} for a length scale; the rules are {', '.join(RULES)}.")
    with np.errstate(over="ignore", invalid="ignore"):
        scale = RULES[name](X)
    if not np.isfinite(scale):
        raise ValueError("the distances between the rows overflow: bring the columns to a smaller scale first.")
    if scale <= _resolution(X):
        if 0 < abs(X).max() < np.sqrt(np.finfo(X.dtype).tiny):
            raise ValueError("the squared distances between the rows underflow: bring the columns to a larger scale.")
        raise ValueError("all rows are equal, so no length scale can be computed from them: give a number.")
    return scale


def resolve(kernel: Kernel, X: Rows) -> Kernel:
    """The kernel with every rule replaced by its number for X, and every ``gamma`` of None by 1/d.

    A kernel that is not a dataclass is returned unchanged. A length scale is refused if its square overflows or
    underflows in the precision of X.
    """
    changes: dict[str, Any] = {}
    for name, value in _settings(kernel).items():
        if isinstance(value, Kernel):
            changes[name] = resolve(value, X)
        elif name == "length_scale":
            changes[name] = length_scale(X, value) if _is_rule(name, value) else value
            check_square(float(changes[name]), X.dtype)
        elif name == "gamma" and value is None:
            changes[name] = 1 / X.shape[1]
    return replace(kernel, **changes) if changes else kernel  # type: ignore[type-var]


def warn_if_too_short(kernel: Kernel, X: Rows) -> None:
    """Warn if the kernel is nearly 0 between most rows and all others.

    A few pairs of rows are compared first, which usually settles the question.
    """
    in_memory = isinstance(X, np.ndarray) or sp.issparse(X)
    if not (in_memory and X.shape[0] > FEW and kernel.argument == "distance" and knows(kernel, "profile")):
        return
    chosen = np.arange(FEW) * (X.shape[0] - 1) // (FEW - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        pairs = X[:: X.shape[0] // PAIRS]
        if _share_alone(kernel, squared_norms(pairs[1:] - pairs[:-1])) <= MOST_ALONE:
            return
        distances = squared_distances(X[chosen], X)
    middle = float(np.sqrt(np.median(distances) / 2))
    distances[np.arange(FEW), chosen] = np.inf
    alone = _share_alone(kernel, distances.min(axis=1))
    if alone > MOST_ALONE and np.isfinite(middle):
        warn(
            f"the length scale of {kernel!r} is too short for these rows: {alone:.0%} of them have kernel values near "
            f"0 with all other rows, and new rows like them get equal codes. Standardise the columns, or use a longer "
            f"length scale; the median rule gives about {middle:.2g}.",
            LengthScaleWarning,
        )


def _share_alone(kernel: Any, nearest: Array) -> float:
    """The share of rows whose kernel value with the nearest other row, at these squared distances, is nearly 0."""
    return float(np.mean(kernel.profile(nearest) < UNRELATED * kernel.profile(np.zeros(1, nearest.dtype))))


def takes_rows(kernel: Kernel) -> bool:
    """Whether :func:`resolve` would compute a length scale from rows."""
    return any(
        takes_rows(value) if isinstance(value, Kernel) else _is_rule(name, value)
        for name, value in _settings(kernel).items()
    )


def _settings(kernel: Kernel) -> dict[str, Any]:
    return {item.name: getattr(kernel, item.name) for item in fields(kernel)} if is_dataclass(kernel) else {}


def _is_rule(name: str, value: Any) -> bool:
    return name == "length_scale" and (value is None or isinstance(value, str))


def _total_variance(X: Rows) -> float:
    if sp.issparse(X):
        return float(np.maximum(squared_norms(X).mean() - np.square(X.mean(axis=0)).sum(), 0))
    return float(np.var(np.subtract(X, X[:1], dtype=float), axis=0).sum())  # equal rows become exactly 0


def _resolution(X: Rows) -> float:
    """The distance below which rows are equal up to rounding."""
    eps = float(np.finfo(np.result_type(X.dtype, np.float32)).eps)
    if sp.issparse(X):  # their squared distances are differences of squared norms
        return float(2 * np.sqrt(eps * squared_norms(X).max(initial=0)))
    return float(16 * eps * np.abs(X).max(initial=0))
