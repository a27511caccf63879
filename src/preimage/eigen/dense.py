"""LAPACK on the dense matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import Eigenpairs, as_eigenpairs
from preimage.gram import tiles
from preimage.gram.operators import Symmetric


@dataclass(frozen=True)
class Dense:
    """LAPACK on the dense matrix: exact, O(n³), and only k pairs where k is smaller than n.

    It works in the operator's own matrix and restores it afterwards, so that it holds no second matrix.

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
        diagonal = matrix.diagonal().copy()
        # The transpose of a C-ordered matrix is what LAPACK reads without copying. "U" of it is our lower triangle.
        pairs = lapack.subset(matrix.T, k, lower=False, overwrite=True)
        _restore_lower(matrix, diagonal)
        values, vectors = pairs or lapack.divide_and_conquer(matrix, k)
        return as_eigenpairs(matrix, values, vectors, bound=np.inf, steps=1)


def _restore_lower(matrix: Array, diagonal: Array) -> None:
    """Restore the lower triangle and the diagonal, which LAPACK overwrote, from the upper triangle and a copy."""
    blocks = tiles.slices(matrix.shape[0])
    for i, rows in enumerate(blocks):
        upper = np.triu(matrix[rows, rows], 1)
        matrix[rows, rows] = upper + upper.T
        for columns in blocks[:i]:
            matrix[rows, columns] = matrix[columns, rows].T
    np.fill_diagonal(matrix, diagonal)
