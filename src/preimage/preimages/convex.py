"""Pre-images as convex combinations of training points (Zheng, Lai & Yuen 2010): they stay within the data's range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage import tiles
from preimage.expansion import Expansion
from preimage.kernels import Kernel
from preimage.preimages.base import Preimages, dense_rows, nearest, refuse_precomputed


@dataclass(frozen=True)
class ConvexCombination:
    """x̂ = Σᵢ wᵢxᵢ over the nearest points, w ≥ 0 and Σw = 1 minimising ‖Σᵢ wᵢφ(xᵢ) − Ψ‖².

    Never outside the range of the data, whatever the target.

    Parameters
    ----------
    n_neighbors : int
        Points that may take part.
    tol : float
        The iteration ends when no weight moves by more than this.
    max_iter : int
        The most iterations.
    """

    n_neighbors: int = 20
    tol: float = 1e-9
    max_iter: int = 2000

    def __post_init__(self):
        if self.n_neighbors < 1 or not self.tol > 0 or self.max_iter < 1:
            raise ValueError("ConvexCombination needs n_neighbors ≥ 1, tol > 0 and max_iter ≥ 1.")

    def check(self, kernel: Kernel) -> None:
        """Any kernel will do, as long as the training inputs are known."""
        refuse_precomputed(kernel, "ConvexCombination")

    def prepare(self, model, rng: np.random.Generator) -> _ConvexMap:
        """The points as dense rows."""
        return _ConvexMap(self, dense_rows(model.points))


@dataclass(frozen=True, eq=False)
class _ConvexMap:
    method: ConvexCombination
    points: np.ndarray

    def __call__(self, targets: Expansion, starts: np.ndarray | None = None) -> Preimages:
        row_bytes = (4 * len(self.points) + 3 * self.method.n_neighbors**2) * self.points.itemsize
        parts = tiles.map_rows(lambda rows: self._solve(targets[rows]), len(targets), row_bytes)
        points, converged, steps = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Preimages(points, converged, steps, targets)

    def _solve(self, targets: Expansion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        products = targets.inner_points()
        chosen = nearest(targets, self.method.n_neighbors, products)
        grams = np.stack([targets.kernel(self.points[row], self.points[row]) for row in chosen])
        weights, converged, steps = minimise_on_simplex(
            grams, np.take_along_axis(products, chosen, axis=1), self.method.tol, self.method.max_iter
        )
        return np.einsum("mk,mkd->md", weights, self.points[chosen]), converged, steps


def minimise_on_simplex(grams, products, tol: float, max_iter: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minimise wᵀGw − 2wᵀs over w ≥ 0, Σw = 1 for a batch, by accelerated projected gradients with restarts."""
    m, k = products.shape
    steepest = np.maximum(np.linalg.eigvalsh(grams)[:, -1], np.finfo(grams.dtype).tiny)[:, None]
    weights = np.zeros((m, k), dtype=grams.dtype)
    weights[:, 0] = 1  # the nearest point alone
    ahead, momentum = weights, np.ones((m, 1), dtype=grams.dtype)
    steps, moving = np.full(m, max_iter), np.ones(m, dtype=bool)
    tol = max(tol, 10 * float(np.finfo(grams.dtype).eps))
    for step in range(1, max_iter + 1):
        gradient = np.einsum("mij,mj->mi", grams, ahead) - products
        new = project_on_simplex(ahead - gradient / steepest)
        change = new - weights
        uphill = np.einsum("mi,mi->m", ahead - new, change)[:, None] > 0
        grown = np.where(uphill, 1, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = np.where(uphill, new, new + (momentum - 1) / grown * change)
        weights, momentum = new, grown
        still = np.abs(change).max(axis=1) > tol
        steps[moving & ~still] = step
        moving &= still
        if not moving.any():
            break
    return weights, ~moving, steps


def project_on_simplex(V: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex for every row (Held, Wolfe & Crowder 1974)."""
    ordered = -np.sort(-V, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, V.shape[1] + 1, dtype=V.dtype)
    last = np.sum(ordered > excess, axis=1) - 1
    return np.maximum(V - np.take_along_axis(excess, last[:, None], axis=1), 0)
