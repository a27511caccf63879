"""LAPACK's leading eigenpairs of a dense symmetric matrix, checked.

``syevr`` computes a subset fast, but if eigenvalues repeat it may return too few pairs, or vectors that are not
orthogonal, and report success. Divide and conquer (``syevd``) computes all pairs and does not fail like that.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from preimage._typing import Array
from preimage.gram import threads

FEW = 7  # LAPACK computes k pairs faster than all pairs if there are at least FEW · k rows

Pairs = tuple[Array, Array]


def leading(matrix: Array, k: int) -> Pairs:
    """The k largest eigenvalues, ascending, and their vectors."""
    return subset(matrix, k) or divide_and_conquer(matrix, k)


def few_or_all(matrix: Array, k: int) -> Pairs:
    """The k largest eigenvalues, ascending, and their vectors, or all where that is as fast."""
    return leading(matrix, k) if FEW * k <= len(matrix) else divide_and_conquer(matrix)


def subset(matrix: Array, k: int, *, lower: bool = True, overwrite: bool = False) -> Pairs | None:
    """The k leading pairs by ``syevr``; None if pairs are missing or their vectors are not orthonormal."""
    n = len(matrix)
    with threads.threaded_blas(n):
        values, vectors = scipy.linalg.eigh(
            matrix,
            lower=lower,
            subset_by_index=(n - k, n - 1),
            driver="evr",
            overwrite_a=overwrite,
            check_finite=False,
        )
    return (values, vectors) if len(values) == k and _is_orthonormal(vectors) else None


def tridiagonal(diagonal: Array, beside: Array) -> Pairs:
    """The eigenpairs of a tridiagonal matrix, ascending, from its diagonal and off-diagonal."""
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside, check_finite=False)
    if len(values) < len(diagonal) or not _is_orthonormal(vectors):
        values, vectors = divide_and_conquer(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return values, vectors


def divide_and_conquer(matrix: Array, k: int | None = None) -> Pairs:
    """The k leading pairs, or all, from the whole decomposition."""
    with threads.threaded_blas(len(matrix)):
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    first = len(values) - (len(values) if k is None else k)
    return values[first:], vectors[:, first:]


def is_positive_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix, which is overwritten, has a Cholesky factor up to round-off."""
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (matrix,))
    return bool(potrf(matrix.T, overwrite_a=True, clean=False)[1] == 0)


def _is_orthonormal(vectors: Array) -> bool:
    """Whether VᵀV = I to the order of n·eps, as LAPACK promises."""
    n, k = vectors.shape
    return bool(np.abs(vectors.T @ vectors - np.eye(k)).max(initial=0) <= 10 * n * np.finfo(vectors.dtype).eps)
