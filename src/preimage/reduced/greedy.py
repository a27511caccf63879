"""Reduced sets by optimisation: each new point is a pre-image of the residual, then all are polished together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize

from preimage._typing import Array
from preimage.expansion import Expansion
from preimage.kernels import Kernel, knows, require
from preimage.preimages.base import dense_rows, refuse_precomputed
from preimage.preimages.descent import Descent
from preimage.preimages.objective import rms_radius
from preimage.reduced.base import FLOOR, Growth, ReducedSet
from preimage.reduced.misfit import Misfit
from preimage.scaling import grid, on_grid


@dataclass(frozen=True)
class Greedy:
    """Points added one by one where they lower the error most, then L-BFGS on all points and weights together.

    A new point is a pre-image of the residual up to sign and scale: it maximises Σₖ ⟨Ψₖ − Ψ̂ₖ, φ(z)⟩² / ρ²(z), where ρ²
    is the squared distance of φ(z) to the span of the earlier points. This is the decrease of the squared error with
    all weights refitted. The search starts at the best point of the expansion. At the end the weights are eliminated
    from Σₖ ‖Ψₖ − Σⱼ bₖⱼφ(zⱼ)‖² (Schölkopf et al. 1998, eq. 4.2), which is then minimised over all points together.

    Parameters
    ----------
    steps : int
        Descent steps for a new point; 0 takes the best point of the expansion.
    polish : int
        L-BFGS iterations on all points together at the end; 0 keeps the greedy set.
    tol : float
        Polishing stops when an iteration lowers the squared relative error by less than this fraction of it.

    See Also
    --------
    Selected : Points of the expansion itself, for kernels without a gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, reduced_set
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced import Greedy, Selected
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> mean = Expansion(Gaussian(1.0), X, np.full((1, 100), 0.01))
    >>> bool(reduced_set(mean, 4, method=Greedy()).error < reduced_set(mean, 4, method=Selected()).error)
    True
    """

    steps: int = 5
    polish: int = 100
    tol: float = 1e-3

    def __post_init__(self) -> None:
        if self.steps < 0 or self.polish < 0 or not self.tol > 0:
            raise ValueError("Greedy needs steps ≥ 0, polish ≥ 0 and tol > 0.")

    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel without a gradient, or one that is not positive definite."""
        refuse_precomputed(kernel, "Greedy")
        require(kernel, "Greedy", "gradient", serve="Selected() takes any kernel.")
        if not kernel.positive_definite:
            raise ValueError(f"Greedy needs a positive definite kernel, which {kernel!r} is not: use Selected().")

    def reduce(self, expansion: Expansion, n_points: int) -> ReducedSet:
        """Optimised points and their weights."""
        dtype = expansion.weights.dtype
        dense = Expansion(expansion.kernel, dense_rows(expansion.points), expansion.weights)
        Z, growth = self._grow(dense, n_points)
        weights, errors = growth.weights(), growth.errors()
        if self.polish and growth.size:
            Z, weights, errors[-1] = self._polished(dense, Z, weights, errors[-1])
        return ReducedSet(Expansion(expansion.kernel, Z.astype(dtype), weights.astype(dtype)), errors)

    def _grow(self, expansion: Expansion, n_points: int) -> tuple[np.ndarray, Growth]:
        growth, Z = Growth(expansion, n_points), np.empty((n_points, expansion.points.shape[1]))
        length = rms_radius(expansion.points)
        for j in range(n_points):
            gains = growth.gains()
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            Z[j], image = expansion.points[best], growth.image(best)
            if self.steps:
                objective = _Gain(growth, Z[:j], length, gains[[best]])
                z, _, _, _ = Descent(memory=4, max_iter=self.steps).run(objective, Z[j : j + 1])
                moved = growth.image_of(z, Z[:j])
                if np.square(growth.direction(moved)[1]).sum() > gains[best]:
                    Z[j], image = z[0], moved
            if not growth.add(image):
                break
        return Z[: growth.size], growth

    def _polished(self, expansion: Expansion, Z: Array, weights: Array, error: float) -> tuple[Array, Array, float]:
        """Points, weights and error after L-BFGS, or as they were if it did not lower the error."""
        misfit, (m, d) = Misfit(expansion), Z.shape
        done = scipy.optimize.minimize(
            lambda flat: _flattened(misfit(flat.reshape(m, d))),
            Z.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.polish, "maxcor": 10, "gtol": 0.0, "ftol": 0.0},
            callback=_Stop(self.tol),
        )
        moved = done.x.reshape(m, d)
        moved = on_grid(moved, grid(moved))  # halves their bytes in model files; the weights are fitted to these points
        fitted = misfit.weights(moved)
        reached = misfit.error(moved, fitted)
        return (moved, fitted, reached) if reached < error else (Z, weights, error)


class _Stop:
    """Stop L-BFGS when the value falls by less than a fraction of itself twice in a row: one step may be poor."""

    def __init__(self, tol: float) -> None:
        self.tol, self.last, self.weak = tol, np.inf, 0

    def __call__(self, intermediate_result: Any) -> None:
        value = intermediate_result.fun
        self.weak = self.weak + 1 if self.last - value < self.tol * abs(value) else 0
        self.last = value
        if self.weak == 2:
            raise StopIteration


def _flattened(found: tuple[float, np.ndarray]) -> tuple[float, np.ndarray]:
    return found[0], found[1].ravel()


class _Gain:
    """Minus the decrease of the squared error if z is added, −Σₖ ⟨Rₖ, φ(z)⟩² / ρ²(z), for a batch of points z.

    Rₖ = Ψₖ − Σⱼ bₖⱼφ(zⱼ) are the residuals of the vectors, and ρ²(z) = k(z, z) − k_Z(z)ᵀK_ZZ⁻¹k_Z(z) is the squared
    distance of φ(z) to the span of the chosen points.
    """

    def __init__(self, growth: Growth, Z: np.ndarray, length: float, scale: np.ndarray) -> None:
        self.kernel, self.spread, self.scale = growth.kernel, length, scale
        self.n, self.factor = growth.X.shape[0], growth.L[: growth.size, : growth.size]
        self.points = np.concatenate([growth.X, Z])
        self.weights = np.hstack([growth.W, -growth.weights()])

    def __call__(self, Z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values = self.kernel(Z, self.points)
        known = values[:, self.n :]
        inside = scipy.linalg.cho_solve((self.factor, True), known.T, check_finite=False).T
        own = self.kernel.diagonal(Z)
        beyond2 = own - np.einsum("ij,ij->i", known, inside)
        beyond2 = np.where(beyond2 > FLOOR * own, beyond2, np.nan)  # rejects a step into the span
        products = values @ self.weights.T
        gain = np.square(products).sum(axis=1) / beyond2
        pulls = products @ self.weights
        pulls[:, self.n :] += gain[:, None] * inside
        assert knows(self.kernel, "gradient")
        gradient = 2 * self.kernel.gradient(Z, self.points, pulls) - gain[:, None] * self.kernel.diagonal_gradient(Z)
        return -gain, -gradient / beyond2[:, None], np.full(len(Z), np.nan)
