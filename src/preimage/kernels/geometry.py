"""Squared distances and inner products between the rows of two matrices, dense or sparse (CSR).

The fast formula for a squared distance, ‖x‖² + ‖y‖² − 2xᵀy, cancels where x and y are much nearer to each other than to
the origin. Its error is at most γ(‖x‖² + ‖y‖²) with γ = (d + 8)·eps. Pairs with ‖x − y‖² < ρ(‖x‖² + ‖y‖²), where
ρ = eps^(1/3), are recomputed from x − y, so every squared distance has a relative error of at most γ/ρ. A kernel
κ(‖x − y‖²) with a convex, decreasing profile, t|κ′(t)| ≤ κ(0), then has an absolute error of at most κ(0)γ/ρ: about
1e-10 in double precision and 1e-4 in single precision, and mostly far less.
"""

from __future__ import annotations

import os

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from preimage._typing import Array, Rows

FEW_CORES = 2
NARROW = 2  # columns up to which differences are as fast as inner products
MANY = 16  # if more than one pair in 16 cancels, all are computed from differences
PAIRS = 2**15  # entries of x − y in memory at once


def inner_products(X: Rows, Y: Rows) -> Array:
    """The matrix X Yᵀ, always dense.

    scikit-learn multiplies sparse rows in less than half the time of scipy, but holds the interpreter's lock, so it is
    used only if there are few cores.
    """
    if sp.issparse(X) and sp.issparse(Y) and X.dtype == Y.dtype and (os.cpu_count() or 1) <= FEW_CORES:
        return np.asarray(safe_sparse_dot(X, Y.T, dense_output=True))
    products = X @ Y.T
    return products if isinstance(products, np.ndarray) else products.toarray()


def squared_norms(X: Rows) -> Array:
    """‖x‖² for every row x."""
    if not isinstance(X, np.ndarray):
        if X.has_canonical_format and X.dtype.kind == "f":
            return np.asarray(row_norms(X, squared=True))
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares: Array = np.einsum("ij,ij->i", X, X)
    return squares


@np.errstate(over="ignore", invalid="ignore")  # values that overflow are recomputed
def squared_distances(X: Rows, Y: Rows) -> Array:
    """‖x − y‖² for every pair of rows, exactly 0 for equal ones.

    Dense rows are first moved to the mean of Y, which keeps their norms small. Pairs that cancel are computed from
    their differences.
    """
    left, right, dense = X, Y, not (sp.issparse(X) or sp.issparse(Y))
    if dense and X.shape[1] <= NARROW:
        values = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y, np.float32))
        fill_from_differences(values, X, Y, 1.0)
        return np.negative(values, out=values)
    if dense:
        origin = Y.mean(axis=0)
        right = Y - origin
        left = right if X is Y else X - origin
    values = inner_products(left, right)
    left, right = squared_norms(left) / 2, squared_norms(right) / 2
    values -= left[:, None]
    values -= right
    recompute_cancelled(values, left, right, X, Y, 0.5)
    values *= -2
    return values


def recompute_cancelled(
    values: Array, left: Array, right: Array, X: Rows, Y: Rows, factor: float, slope: float = np.inf
) -> None:
    """Recompute −factor·‖x − y‖² from x − y where ``values``, computed from inner products, cancelled.

    ``left`` and ``right`` are the half squared norms that were subtracted, in the same units. ``slope`` bounds the
    derivative of the kernel with respect to the values. If twice their error changes the kernel by less than γ/ρ,
    values that may be 0 are set to 0, and nothing is recomputed. Afterwards all values are at most 0. If none
    cancelled, only their maximum is computed.
    """
    eps, greatest = float(np.finfo(values.dtype).eps), values.max(initial=-np.inf)
    largest = left.max(initial=0) + right.max(initial=0)
    rho, error = eps ** (1 / 3), (X.shape[1] + 8) * eps * largest
    if greatest < -rho * largest:
        return
    if 2 * rho * slope * largest < 1:
        if greatest >= -error:
            np.copyto(values, 0, where=values >= -error)
        return
    close = np.flatnonzero(~(values < -rho * largest))  # NaN included
    rows, columns = np.divmod(close, values.shape[1])
    cancelled = ~(values[rows, columns] < -rho * (left[rows] + right[columns]))
    if not (sp.issparse(X) or sp.issparse(Y)) and MANY * np.count_nonzero(cancelled) > values.size:
        fill_from_differences(values, X, Y, factor)
        return
    rows, columns = rows[cancelled], columns[cancelled]
    step = max(1, int(PAIRS // max(X.size / X.shape[0], 1)))  # the size of a sparse matrix is what it stores
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        gaps = (X[i].astype(values.dtype, copy=False) - Y[j].astype(values.dtype, copy=False)) * factor**0.5
        values[i, j] = -squared_norms(gaps if sp.issparse(gaps) else np.asarray(gaps))


def fill_from_differences(values: Array, X: Array, Y: Array, factor: float) -> None:
    """Fill ``values`` with −factor·‖x − y‖², one column of X and Y at a time."""
    power = 2.0 ** round(np.log2(factor) / 2)  # a power of two is exact, and squares neither overflow nor underflow
    gaps = np.empty_like(values)
    for number, (x, y) in enumerate(zip(X.T, Y.T, strict=True)):
        target = gaps if number else values
        np.subtract.outer((x * power).astype(values.dtype), (y * power).astype(values.dtype), out=target)
        np.multiply(target, target, out=target)
        if number:
            values += gaps
    values *= -factor / power**2
