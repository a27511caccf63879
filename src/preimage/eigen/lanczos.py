"""ARPACK on products with the operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import norm
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from preimage._typing import Array, Generator
from preimage.eigen.base import Eigenpairs, as_eigenpairs, check_count, round_off
from preimage.eigen.dense import Dense
from preimage.gram.operators import Symmetric
from preimage.kernels.base import positive


@dataclass(frozen=True)
class Lanczos:
    """ARPACK's restarted Lanczos iteration on products with the operator.

    ``tol`` bounds the residual ‖Au − λu‖ relative to the eigenvalue; 0 asks for machine precision. ``max_iter`` bounds
    the restarts; ARPACK's own limit is ten per row.

    See Also
    --------
    BlockKrylov : Works on blocks, which is faster on several cores.
    Dense : LAPACK, for small matrices or many pairs.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.eigen import Lanczos
    >>> X = [[2, 0], [-2, 0], [0, 1], [0, -1]]
    >>> KernelPCA(2, kernel="linear", solver=Lanczos(), random_state=0).fit(X).eigenvalues_.round(6)
    array([8., 2.])
    """

    tol: float = 0.0
    max_iter: int | None = None

    def __post_init__(self) -> None:
        check_count(self, "max_iter")
        if self.tol != 0:
            positive("tol", self.tol)

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        n = operator.shape[0]
        if k >= n:  # ARPACK needs k < n
            return Dense().solve(operator, k, rng)
        start = rng.standard_normal(n).astype(operator.dtype)
        scale = float(norm(operator @ start) / norm(start))
        if scale == 0:  # the zero operator, which ARPACK refuses
            return as_eigenpairs(
                operator, np.zeros(k, operator.dtype), np.eye(n, k, dtype=operator.dtype), bound=0, steps=1
            )
        counted = _Scaled(operator, scale)
        try:
            values, vectors = eigsh(counted, k, which="LA", v0=start, tol=self.tol, maxiter=self.max_iter)
        except ArpackNoConvergence as stopped:
            values, vectors = stopped.eigenvalues, stopped.eigenvectors
        except ArpackError:  # older versions fail if all eigenvalues are equal
            return Dense().solve(operator, k, rng)
        tolerance = max(self.tol, 10 * round_off(operator))
        bound = tolerance * scale * max(1, float(np.abs(values).max(initial=0)))
        return as_eigenpairs(operator, scale * values, vectors, bound, counted.products + 1, wanted=k)


class _Scaled(Symmetric):
    """An operator divided by its scale, because ARPACK treats values far below 1 as 0; it counts its products."""

    def __init__(self, operator: Symmetric, scale: float):
        super().__init__(operator.dtype, operator.shape[0])
        self.operator, self.scale, self.products = operator, scale, 0

    def _matvec(self, v: Array) -> Array:
        self.products += 1
        product: Array = self.operator.matvec(v)
        return product / self.scale
