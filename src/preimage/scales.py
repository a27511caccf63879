"""Rules that take a length scale from data.

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
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from preimage.kernels import Kernel
from preimage.kernels.geometry import squared_distances, squared_norms

SAMPLE = 2000  # rows from which pairwise rules are computed; two million pairs fix a median to three digits


def spread_rows(X, n_rows: int):
    """At most ``n_rows`` rows, evenly spaced over X: the same ones every time, whatever the order of magnitude."""
    if X.shape[0] <= n_rows:
        return X
    return X[np.linspace(0, X.shape[0] - 1, n_rows).astype(int)]


def median(X) -> float:
    """ℓ with 2ℓ² = median of ‖xᵢ − xⱼ‖² over pairs; over pairs of different points where most are equal."""
    rows = spread_rows(X, SAMPLE)
    distances = squared_distances(rows, rows)[np.triu_indices(rows.shape[0], 1)]
    middle = np.median(distances) if distances.size else 0.0
    if middle <= _noise_floor(rows) and np.any(distances > 0):
        middle = np.median(distances[distances > 0])
    return float(np.sqrt(middle / 2))


def mean(X) -> float:
    """ℓ with 2ℓ² = mean of ‖xᵢ − x̄‖² (Kwok & Tsang)."""
    return float(np.sqrt(_total_variance(X) / 2))


def mika(X) -> float:
    """ℓ with 2ℓ² = 2d × the mean variance of a coordinate (Mika et al.)."""
    return float(np.sqrt(_total_variance(X)))


RULES: dict[str, Callable] = {"median": median, "mean": mean, "mika": mika}


def length_scale(X, rule: str | None = None) -> float:
    """The length scale that a rule takes from the rows of X; None is ``"median"``."""
    name = rule or "median"
    if name not in RULES:
        raise ValueError(f"unknown rule {name!r} for a length scale; the rules are {', '.join(RULES)}.")
    scale = RULES[name](X)
    if not np.isfinite(scale):
        raise ValueError("the distances between the rows overflow: bring the columns to a smaller scale first.")
    if scale == 0:
        raise ValueError("all rows are equal, so no length scale can be taken from them: give a number.")
    return scale


def resolve(kernel: Kernel, X) -> Kernel:
    """The kernel with every rule replaced by its number for X, and every ``gamma`` of None by 1/d."""
    changes: dict[str, Any] = {}
    for item in fields(kernel):  # type: ignore[arg-type]
        value = getattr(kernel, item.name)
        if isinstance(value, Kernel):
            changes[item.name] = resolve(value, X)
        elif item.name == "length_scale" and (value is None or isinstance(value, str)):
            changes[item.name] = length_scale(X, value)
        elif item.name == "gamma" and value is None:
            changes[item.name] = 1 / X.shape[1]
    return replace(kernel, **changes) if changes else kernel  # type: ignore[type-var]


def _total_variance(X) -> float:
    if sp.issparse(X):
        return float(squared_norms(X).mean() - np.square(X.mean(axis=0)).sum())
    return float(np.var(X, axis=0, dtype=float).sum())


def _noise_floor(X) -> float:
    """What rounding leaves of the squared distance of two equal rows."""
    return 4 * np.finfo(X.dtype).eps * float(squared_norms(X).max(initial=0))
