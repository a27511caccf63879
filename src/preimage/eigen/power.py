"""Power iteration with deflation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import norm

from preimage._typing import Array, Generator
from preimage.eigen.base import Eigenpairs, as_eigenpairs, check_count, round_off
from preimage.gram.operators import Symmetric
from preimage.kernels.base import positive


@dataclass(frozen=True)
class PowerDeflation:
    """Power iteration, one eigenvector at a time, each deflated from the operator (Schölkopf et al. 1998, §4.1).

    Slow if eigenvalues are close; a cross-check of the other solvers, with which it shares no code. A negative dominant
    eigenvalue is deflated too, but left out of the result. ``max_iter`` bounds the products for one vector, and
    (k + 2)·``max_iter`` those for all k.

    See Also
    --------
    Lanczos, BlockKrylov : Much faster iterations.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.eigen import PowerDeflation
    >>> X = [[2, 0], [-2, 0], [0, 1], [0, -1]]
    >>> KernelPCA(2, kernel="linear", solver=PowerDeflation(), random_state=0).fit(X).eigenvalues_.round(6)
    array([8., 2.])
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    def __post_init__(self) -> None:
        check_count(self, "max_iter")
        positive("tol", self.tol)

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        n, steps = operator.shape[0], 0
        found: list[tuple[float, Array]] = []
        for _ in range(n):
            value, vector, taken = self._dominant(operator, found, rng)
            steps += taken
            found.append((value, vector))
            if sum(value > 0 for value, _ in found) >= k or steps >= (k + 2) * self.max_iter:
                break  # all are found, or only round-off is left
        kept = sorted(found, key=lambda pair: -pair[0])[:k]
        values = np.array([value for value, _ in kept], operator.dtype)
        vectors = np.stack([vector for _, vector in kept], axis=1)
        # The residuals of the vectors deflated before a pair add to its own.
        bound = self._tolerance(operator) * max(abs(value) for value, _ in found) * np.sqrt(len(found))
        return as_eigenpairs(operator, values, vectors, bound, steps)

    def _tolerance(self, operator: Symmetric) -> float:
        return max(self.tol, round_off(operator))

    def _dominant(
        self, operator: Symmetric, found: list[tuple[float, Array]], rng: Generator
    ) -> tuple[float, Array, int]:
        """The eigenpair of largest absolute value that is orthogonal to those found, and its number of products."""
        basis = np.stack([v for _, v in found], axis=1) if found else np.zeros((operator.shape[0], 0), operator.dtype)
        vector = _orthogonal_unit(rng.standard_normal(operator.shape[0]).astype(operator.dtype), basis)
        scale = max((abs(value) for value, _ in found), default=0.0)
        value = 0.0
        for step in range(1, self.max_iter + 1):
            product = operator @ vector
            product -= basis @ (basis.T @ product)
            value = float(vector @ product)
            scale = max(scale, abs(value))
            if norm(product - value * vector) <= self._tolerance(operator) * scale:
                return value, vector, step
            vector = _orthogonal_unit(product, basis)
        return value, vector, self.max_iter


def _orthogonal_unit(vector: Array, basis: Array) -> Array:
    """The vector made orthogonal to the basis (twice, for round-off) and scaled to length 1; zero stays zero."""
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    length = norm(vector)
    return vector / length if length > 0 else vector
