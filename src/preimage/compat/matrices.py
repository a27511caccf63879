"""Kernel matrices and eigenvalues by scikit-learn's rules."""

from __future__ import annotations

import numpy as np

from preimage._typing import RowsLike
from preimage.gram import tiles


def center_any(matrix: np.ndarray) -> np.ndarray:
    """Centre a kernel matrix, symmetric or not, in place; return its column means."""
    mean = matrix.mean(dtype=float)
    matrix -= mean  # first, so that a constant matrix becomes exactly 0
    columns, rows = (matrix.mean(axis=axis, dtype=float) for axis in (0, 1))  # they differ if it is not symmetric
    matrix -= columns
    matrix -= (rows - columns.mean())[:, None]
    return (columns + mean).astype(matrix.dtype)


def writable_square(X: RowsLike) -> np.ndarray:
    """A precomputed kernel matrix that may be written to."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed metric requires shape (n_queries, n_indexed). "
            f"Got ({X.shape[0]}, {X.shape[1]}) for {X.shape[0]} indexed."
        )
    return np.require(tiles.floating(X), requirements="W")


def nonnegative(values: np.ndarray) -> np.ndarray:
    """Eigenvalues without round-off: small ones set to 0, and indefinite matrices refused, at scikit-learn's limits."""
    double = values.dtype == np.float64
    share, size, negligible = (1e-5, 1e-10, 1e-12) if double else (5e-3, 1e-6, 2e-7)
    lowest, largest = values.min(), values.max()
    cause = "Either the matrix is not PSD, or there was an issue while computing the eigendecomposition of the matrix."
    if largest < 0:
        raise ValueError(f"All eigenvalues are negative (maximum is {largest:g}). {cause}")
    if lowest < -share * largest and lowest < -size:
        raise ValueError(
            f"There are significant negative eigenvalues ({-lowest / largest:g} of the maximum positive). {cause}"
        )
    return np.where(values < negligible * largest, 0, values)
