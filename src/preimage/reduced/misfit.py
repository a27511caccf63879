"""The error of a reduced set as a function of its points, with the best weights eliminated."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from preimage.expansion import Expansion
from preimage.gram import slicing, tiles
from preimage.kernels import knows

RIDGE = 1e-10  # relative to the mean of k(z, z): keeps the weights finite if points coincide


class Misfit:
    """E(Z) = min over B of Σₖ ‖Ψₖ − Σⱼ bₖⱼφ(zⱼ)‖² + δ‖B‖², divided by Σₖ ‖Ψₖ‖² (variable projection).

    With C = W K_XZ the minimum is at B = C(K_ZZ + δI)⁻¹, where E = 1 − tr(BCᵀ)/Σ‖Ψₖ‖², and because B is optimal,
    ∂E/∂zⱼ = 2 [Σₗ (BᵀB)ⱼₗ ∇k(zⱼ, zₗ) − Σᵢ (BᵀW)ⱼᵢ ∇k(zⱼ, xᵢ)] / Σ‖Ψₖ‖².
    """

    def __init__(self, expansion: Expansion) -> None:
        self.kernel, self.X, self.W = expansion.kernel, expansion.points, expansion.weights.astype(float, copy=False)
        self.total = max(float(expansion.norm2().sum(dtype=float)), np.finfo(float).tiny)
        self.ridge = RIDGE * float(np.mean(self.kernel.diagonal(self.X)))

    def __call__(self, Z: np.ndarray) -> tuple[float, np.ndarray]:
        """E and its gradient."""
        C = self._products(Z)
        B = self._solve(Z, C)
        inner, kernel = B.T @ B, self.kernel
        assert knows(kernel, "gradient")

        def gradient(rows: slice) -> np.ndarray:
            own = kernel.gradient(Z[rows], Z, inner[rows])
            return own - kernel.gradient(Z[rows], self.X, B[:, rows].T @ self.W)

        parts = slicing.map_rows(gradient, len(Z), 8 * tiles.COPIES * self.X.shape[0])
        return 1 - float(np.sum(B * C)) / self.total, 2 * np.concatenate(parts) / self.total

    def weights(self, Z: np.ndarray) -> np.ndarray:
        """B, shape (q, m)."""
        return self._solve(Z, self._products(Z))

    def error(self, Z: np.ndarray, B: np.ndarray) -> float:
        """√(Σₖ ‖Ψₖ − Σⱼ bₖⱼφ(zⱼ)‖² / Σₖ ‖Ψₖ‖²) for any weights."""
        own = np.sum((B @ tiles.gram(self.kernel, Z)) * B)
        return float(np.sqrt(max(1 + (own - 2 * np.sum(B * self._products(Z))) / self.total, 0)))

    def _products(self, Z: np.ndarray) -> np.ndarray:
        return tiles.multiply(self.kernel, Z, self.X, np.ascontiguousarray(self.W.T)).T

    def _solve(self, Z: np.ndarray, C: np.ndarray) -> np.ndarray:
        gram = tiles.gram(self.kernel, Z)
        gram[np.diag_indices_from(gram)] += self.ridge
        return scipy.linalg.solve(gram, C.T, assume_a="pos", check_finite=False).T
