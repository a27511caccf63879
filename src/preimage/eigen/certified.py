"""Lanczos with a proof that no eigenpair is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import blas, lapack, norm
from scipy.sparse.linalg import ArpackError, eigsh

from preimage._typing import Array, Generator
from preimage.eigen.base import Eigenpairs, as_eigenpairs
from preimage.eigen.dense import Dense
from preimage.gram import tiles
from preimage.gram.operators import Stored, Symmetric

RESTARTS = 30  # more would take as long as LAPACK
ORDINARY = 1e-3, 1e3  # sizes of a matrix that ARPACK takes as it is; values far below 1 it takes for 0


@dataclass(frozen=True)
class CertifiedLanczos:
    """ARPACK on a dense matrix, and LAPACK where pairs may be missing.

    Lanczos from one vector may miss copies of an eigenvalue. With the pairs Λ and U found, no other eigenvalue exceeds
    σ exactly where σI − A + UΛUᵀ is positive definite. Cholesky's factorisation tells, in n³/3 operations; LAPACK's
    eigenvalues take four times as many, half of them slow.

    See Also
    --------
    Lanczos : ARPACK on products with any operator, without that proof.
    Dense : LAPACK, for small matrices or many pairs.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.eigen import CertifiedLanczos
    >>> X = s_curve(300, random_state=0).X
    >>> fast = KernelPCA(3, solver=CertifiedLanczos(), random_state=0).fit(X)
    >>> exact = KernelPCA(3, solver="dense").fit(X)
    >>> bool(abs(fast.eigenvalues_ - exact.eigenvalues_).max() < 1e-12 * exact.eigenvalues_[0])
    True
    """

    storage: ClassVar[str] = "square"

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        matrix = operator.dense()
        pairs = _lanczos(matrix, k) if 2 * k < len(matrix) else None
        if pairs is None or not _is_complete(matrix, *pairs):
            return Dense().solve(Stored(matrix), k, rng)
        return as_eigenpairs(matrix, *pairs, bound=np.inf, steps=1)


def _lanczos(matrix: Array, k: int) -> tuple[Array, Array] | None:
    """The k leading pairs that Lanczos finds from the same random start every time; None where it is slow."""
    start = np.random.default_rng(0).standard_normal(len(matrix)).astype(matrix.dtype)
    scale = float(norm(matrix @ start) / norm(start))
    if not 0 < scale < np.inf:
        return None
    if ORDINARY[0] < scale < ORDINARY[1]:
        scale = 1.0
    try:
        scaled = matrix if scale == 1 else matrix / matrix.dtype.type(scale)
        values, vectors = eigsh(scaled, k, which="LA", v0=start, maxiter=RESTARTS)
    except ArpackError:
        return None
    return scale * values, vectors


def _is_complete(matrix: Array, values: Array, vectors: Array) -> bool:
    """Whether no other eigenvalue exceeds the smallest of these by more than round-off.

    UΛUᵀ − A is written over one triangle of the matrix, restored afterwards: a second matrix takes long to allocate.
    LAPACK's lower triangle, which it factorises faster, is our upper one.
    """
    n, largest, diagonal = len(matrix), float(values.max()), matrix.diagonal().copy()
    if values.min() <= 0:
        return False
    double = matrix.dtype == np.float64
    multiply, factor = (blas.dsyrk, lapack.dpotrf) if double else (blas.ssyrk, lapack.spotrf)
    rest = multiply(1, vectors * np.sqrt(values), beta=-1, c=matrix.T, lower=True, overwrite_c=True)
    np.fill_diagonal(rest, rest.diagonal() + values.min() + n * np.finfo(matrix.dtype).eps * largest)
    complete = factor(rest, lower=True, overwrite_a=True, clean=False)[1] == 0
    tiles.mirror(matrix.T)
    np.fill_diagonal(matrix, diagonal)
    return bool(complete)
