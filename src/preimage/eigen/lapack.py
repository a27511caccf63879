"""LAPACK's leading eigenpairs of a dense symmetric matrix, checked.

A matrix is reduced to a tridiagonal one, whose leading pairs are transformed back. ``syevr`` and ``syevd`` do the same,
but transform all their vectors at once, which do not stay in the cache, and ``syevr`` finds a subset of the eigenvalues
by bisection; they take up to twice as long. If eigenvalues repeat, routines for some pairs may return vectors that are
not orthogonal, and report success. Divide and conquer computes all pairs and does not fail like that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array
from preimage.gram import slicing, threads

VERY_FEW, SOME = 12, 4  # stemr finds k of n pairs fastest if n ≥ VERY_FEW · k, stein if n ≥ SOME · k, and else stevd
SMALL = 500  # rows up to which n² more numbers cost little: a copy of the matrix, or the vectors of stemr
BLOCK = 64  # columns for which LAPACK gets room to work on at once
WIDTH = 512  # vectors that stay in the cache while they are transformed back

Pairs = tuple[Array, Array]


def leading(matrix: Array, k: int) -> Pairs:
    """The k largest eigenvalues, ascending, and their vectors."""
    return (reduced(matrix, k) if len(matrix) > 2 else None) or divide_and_conquer(matrix, k)


def reduced(matrix: Array, k: int, *, overwrite: bool = False) -> Pairs | None:
    """The k leading pairs from those of the tridiagonal T = QᵀAQ; None if these are not orthonormal.

    With ``overwrite``, the diagonal and the upper triangle of a matrix in C order are lost. The upper triangle is read.
    """
    n, routines = len(matrix), _routines(matrix.dtype)
    if SOME * k > n and "stevd" not in routines:  # scipy 1.14
        return None
    with threads.threaded_blas(n):
        # LAPACK reads the transpose of a matrix in C order without copying.
        reflectors, diagonal, beside, tau, _ = routines["sytrd"](
            matrix.T, lower=True, lwork=BLOCK * n, overwrite_a=overwrite
        )
        pairs = _tridiagonal_leading(diagonal, beside, k)
    if pairs is None:
        return None
    values, weights = pairs[0][-k:], pairs[1][:, -k:]
    below = reflectors.T.ravel()[1 : 1 + n * (n - 1)].reshape(n - 1, n).T  # Q, without its first row, starts there

    def transform(some: slice) -> None:
        part = np.asfortranarray(weights[1:, some])
        weights[1:, some] = routines["ormqr"]("L", "N", below, tau, part, BLOCK * part.shape[1], overwrite_c=True)[0]

    threads.parallel_map(transform, slicing.even_slices(k, WIDTH))
    return values, weights


def _tridiagonal_leading(diagonal: Array, beside: Array, k: int) -> Pairs | None:
    """At least the k leading pairs of a tridiagonal matrix, ascending; None if they are not orthonormal."""
    n = len(diagonal)
    if SOME * k > n:
        return tridiagonal(diagonal, beside)
    find = _by_representations if VERY_FEW * k <= n <= SMALL else _by_inverse_iteration
    pairs = find(diagonal, beside, k)
    return pairs if _is_orthonormal(pairs[1]) else None


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
