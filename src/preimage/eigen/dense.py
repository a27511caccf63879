"""LAPACK on the dense matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import Eigenpairs, as_eigenpairs, sketched_residuals
from preimage.gram import tiles
from preimage.gram.operators import Symmetric

MANY = 256  # pairs above which residuals are estimated: exact ones would take a quarter of the time


@dataclass(frozen=True)
class Dense:
    """LAPACK on the dense matrix: exact, O(n³).

    Pairs of a large matrix are computed in the operator's own memory, which is restored afterwards, so there is no
    second matrix.

    See Also
    --------
    BlockKrylov : Faster for a few pairs of a large matrix.
    choose_solver : Which solver "auto" takes.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.eigen import Dense
    >>> KernelPCA(2, kernel="linear", solver=Dense()).fit([[2, 0], [-2, 0], [0, 1], [0, -1]]).eigenvalues_.round(6)
    array([8., 2.])
    """

    storage: ClassVar[str] = "square"

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        matrix = operator.dense()
        values, vectors = _leading(matrix, k)
        residuals = sketched_residuals(matrix, values, vectors, rng) if k > MANY else None
        return as_eigenpairs(matrix, values, vectors, bound=np.inf, steps=1, residuals=residuals)


def _leading(matrix: Array, k: int) -> lapack.Pairs:
    """The k leading pairs; a large matrix is restored, which takes less memory than a copy."""
    if len(matrix) <= lapack.SMALL:
        return lapack.leading(matrix, k)
    diagonal = matrix.diagonal().copy()
    pairs = lapack.reduced(matrix, k, overwrite=True)
    tiles.mirror(matrix.T)
    np.fill_diagonal(matrix, diagonal)
    return pairs or lapack.divide_and_conquer(matrix, k)
