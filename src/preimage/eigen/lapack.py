"""LAPACK's leading eigenpairs of a dense symmetric matrix, checked.

A small matrix is reduced to a tridiagonal one, whose leading pairs are transformed back. ``syevr`` does the same for
a subset of pairs, but finds their eigenvalues by bisection, which takes longer. If eigenvalues repeat, these routines
may return too few pairs, or vectors that are not orthogonal, and report success. Divide and conquer (``syevd``)
computes all pairs and does not fail like that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array
from preimage.gram import threads

SMALL = 500  # rows up to which copies of a matrix cost little
FEW = 7  # syevr computes k pairs faster than all pairs if there are at least FEW · k rows
VERY_FEW, SOME = 12, 4  # the same for stemr and stein, on a tridiagonal matrix
BLOCK = 64  # columns for which LAPACK gets room to work on at once

Pairs = tuple[Array, Array]


def leading(matrix: Array, k: int) -> Pairs:
    """The k largest eigenvalues, ascending, and their vectors."""
    n = len(matrix)
    if 2 < n <= SMALL and 2 * k <= n:
        pairs = reduced(matrix, k)
    else:
        pairs = subset(matrix, k) if FEW * k <= n else None
    return pairs or divide_and_conquer(matrix, k)


def reduced(matrix: Array, k: int) -> Pairs | None:
    """The k leading pairs from those of the tridiagonal T = QᵀAQ; None if these are not orthonormal."""
    n, routines = len(matrix), _routines(matrix.dtype)
    reflectors, diagonal, beside, tau, _ = routines["sytrd"](matrix, lower=True, lwork=BLOCK * n)
    if SOME * k > n:
        pairs = tridiagonal(diagonal, beside)
    else:
        pairs = (_by_representations if VERY_FEW * k <= n else _by_inverse_iteration)(diagonal, beside, k)
    if not _is_orthonormal(pairs[1]):
        return None
    values, weights = pairs[0][-k:], np.asfortranarray(pairs[1][:, -k:])
    below = reflectors.T.ravel()[1 : 1 + n * (n - 1)].reshape(n - 1, n).T  # Q, without its first row, starts there
    weights[1:] = routines["ormqr"]("L", "N", below, tau, np.asfortranarray(weights[1:]), BLOCK * k)[0]
    return values, weights


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
    solve = _routines(diagonal.dtype).get("stevd")  # scipy 1.14 does not have it
    if solve is not None and beside.size:
        values, vectors, failed = solve(diagonal, beside)
        if not failed:
            return values, vectors
    return divide_and_conquer(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))


def tridiagonal_pair(diagonal: Array, beside: Array, number: int) -> tuple[float, Array]:
    """The eigenpair of a tridiagonal matrix with the ``number``-th largest eigenvalue; weights of 1 if that fails."""
    index = len(diagonal) - number + 1
    values, vectors, failed = _by_index(diagonal, beside, index, index)
    return float(values[0]), vectors[:, 0] if not failed else np.ones_like(diagonal)


def tridiagonal_values(diagonal: Array, beside: Array) -> Array:
    """The eigenvalues of a tridiagonal matrix, ascending."""
    if not beside.size:
        return diagonal.copy()
    values: Array = _routines(diagonal.dtype)["sterf"](diagonal, beside)[0]
    return values


def _by_representations(diagonal: Array, beside: Array, k: int) -> Pairs:
    """The k leading pairs of a tridiagonal matrix by relatively robust representations; zeros if they fail."""
    values, vectors, failed = _by_index(diagonal, beside, len(diagonal) - k + 1, len(diagonal))
    return values, vectors * (not failed)


def _by_index(diagonal: Array, beside: Array, first: int, last: int) -> tuple[Array, Array, bool]:
    """Some eigenpairs of a tridiagonal matrix, counted from 1 in ascending order, and whether ``stemr`` failed."""
    by_index, k = 2, last - first + 1
    found, values, vectors, failed = _routines(diagonal.dtype)["stemr"](
        diagonal, np.append(beside, 0).astype(diagonal.dtype), by_index, 0, 0, first, last
    )
    return values[:k], vectors[:, :k], bool(failed) or found != k


def _by_inverse_iteration(diagonal: Array, beside: Array, k: int) -> Pairs:
    """The k leading pairs of a tridiagonal matrix from its eigenvalues; zeros if that fails."""
    n, values = len(diagonal), tridiagonal_values(diagonal, beside)[-k:]
    one_block = np.ones(n, dtype=np.int32), np.full(n, n, dtype=np.int32)
    vectors, failed = _routines(diagonal.dtype)["stein"](diagonal, beside, values, *one_block)
    return values, vectors * (not failed)


def divide_and_conquer(matrix: Array, k: int | None = None) -> Pairs:
    """The k leading pairs, or all, from the whole decomposition."""
    with threads.threaded_blas(len(matrix)):
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    first = len(values) - (len(values) if k is None else k)
    return values[first:], vectors[:, first:]


def is_positive_definite(matrix: Array) -> bool:
    """Whether a symmetric matrix, which is overwritten, has a Cholesky factor up to round-off."""
    return bool(_routines(matrix.dtype)["potrf"](matrix.T, overwrite_a=True, clean=False)[1] == 0)


@lru_cache
def _routines(dtype: np.dtype) -> dict[str, Any]:
    """Routines of LAPACK for a precision, by their names."""
    prefix = scipy.linalg.get_lapack_funcs(("potrf",), dtype=dtype)[0].typecode
    names = ("sytrd", "stemr", "stein", "stevd", "sterf", "ormqr", "potrf")
    routines = {name: getattr(scipy.linalg.lapack, prefix + name, None) for name in names}
    return {name: routine for name, routine in routines.items() if routine is not None}


def _is_orthonormal(vectors: Array) -> bool:
    """Whether VᵀV = I to the order of n·eps, as LAPACK promises."""
    n, k = vectors.shape
    return bool(np.abs(vectors.T @ vectors - np.eye(k)).max(initial=0) <= 10 * n * np.finfo(vectors.dtype).eps)
