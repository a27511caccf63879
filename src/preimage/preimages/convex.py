"""Pre-images as convex combinations of training points (Zheng, Lai & Yuen 2010): they stay within the data's range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array, Generator
from preimage.expansion import FeatureVectors
from preimage.kernels import Kernel, knows
from preimage.preimages.base import (
    PreimageMethod,
    Preimages,
    Source,
    dense_rows,
    map_targets,
    nearest,
)

RIDGE = 1e-10  # added to the Gram matrix of the neighbours, which may be equal, relative to k(x, x)


@dataclass(frozen=True)
class ConvexCombination(PreimageMethod):
    """x̂ = Σᵢ wᵢxᵢ over the nearest points, with w ≥ 0 and Σw = 1 that minimise ‖Σᵢ wᵢφ(xᵢ) − Ψ‖².

    It never leaves the range of the data.

    Parameters
    ----------
    n_neighbors : int
        The number of points to combine.
    tol : float
        A row stops when its squared distance is provably within about 2 tol k(x, x) of the minimum.
    max_iter : int
        The most iterations.

    See Also
    --------
    Nearest : A single point of the expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import ConvexCombination
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    >>> vector = Expansion(Gaussian(1.0), X, np.array([[0.25, 0.75, 0.0]]))
    >>> find_preimage(vector, ConvexCombination()).points.round(3)
    array([[1.5, 1. ]])
    """

    n_neighbors: int = 20
    tol: float = 1e-9
    max_iter: int = 2000

    def __post_init__(self) -> None:
        if self.n_neighbors < 1 or not self.tol > 0 or self.max_iter < 1:
            raise ValueError("ConvexCombination needs n_neighbors ≥ 1, tol > 0 and max_iter ≥ 1.")

    def prepare(self, model: Source, rng: Generator) -> _ConvexMap:
        """The points as dense rows."""
        return _ConvexMap(self, dense_rows(model.points))


@dataclass(frozen=True, eq=False)
class _ConvexMap:
    method: ConvexCombination
    points: Array

    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
        k, d = self.method.n_neighbors, self.points.shape[1]
        row_bytes = (4 * len(self.points) + 5 * k**2 + 2 * k * d) * self.points.itemsize
        points, converged, steps = map_targets(self._solve, targets, row_bytes)
        return Preimages(points, converged, steps, targets)

    def _solve(self, targets: FeatureVectors, rows: slice) -> tuple[Array, Array, Array]:
        chosen = nearest(targets, self.method.n_neighbors)
        neighbours = self.points[chosen]
        grams = grams_of(targets.kernel, neighbours)
        products = np.take_along_axis(targets.inner_points(), chosen, axis=1)
        weights, converged, steps = minimise_on_simplex(grams, products, self.method.tol, self.method.max_iter)
        return np.einsum("mk,mkd->md", weights.astype(grams.dtype), neighbours), converged, steps


def grams_of(kernel: Kernel, neighbours: Array) -> Array:
    """k(xᵢ, xⱼ) among the k neighbours of every target, from an array of shape (m, k, d).

    A kernel without a profile is called once per target.
    """
    if not knows(kernel, "profile") or kernel.argument not in ("distance", "inner"):
        return np.stack([kernel(some, some) for some in neighbours])
    if kernel.argument == "inner":
        return kernel.profile(neighbours @ neighbours.transpose(0, 2, 1))
    return kernel.profile(_distances2(neighbours))


def _distances2(neighbours: Array) -> Array:
    """‖xᵢ − xⱼ‖² from inner products, or from differences where these cancel (:mod:`preimage.kernels.geometry`)."""
    centred = neighbours - neighbours.mean(axis=1, keepdims=True)
    products = centred @ centred.transpose(0, 2, 1)
    norms2 = np.einsum("mii->mi", products)
    sums: Array = norms2[:, :, None] + norms2[:, None, :]
    distances2: Array = sums - 2 * products
    m, i, j = np.nonzero(~(distances2 > np.finfo(sums.dtype).eps ** (1 / 3) * sums))
    distances2[m, i, j] = np.square(neighbours[m, i] - neighbours[m, j]).sum(axis=1)
    return distances2


def minimise_on_simplex(grams: Array, products: Array, tol: float, max_iter: int) -> tuple[Array, Array, Array]:
    """Minimise wᵀGw − 2wᵀs over w ≥ 0, Σw = 1 for a batch: (weights, converged, steps).

    The active-set method of Lawson & Hanson (1974, ch. 23), with the sum as a constraint: the point of least slope
    enters the support, the optimum over the support is computed, and points whose weight would fall below 0 leave. A
    row stops when its duality gap wᵀg − min g, with g = Gw − s, is at most tol times the largest of G and s, or
    round-off. Its value is then at most twice that above the minimum. A row also stops if the next point would leave at
    once, since only round-off is left.
    """
    eps, grams, products = np.finfo(grams.dtype).eps, grams.astype(float), products.astype(float)
    unit = np.abs(np.einsum("mii->mi", grams)).max(axis=1)
    ridge = max(RIDGE, 10 * float(eps)) * np.where(unit > 0, unit, 1)
    enough = np.maximum(tol, 20 * float(eps)) * np.maximum(unit, np.abs(products).max(axis=1)) + 2 * ridge
    weights = np.zeros_like(products)
    weights[:, 0] = 1  # the nearest point alone
    support, settled = weights > 0, np.ones(len(weights), dtype=bool)
    converged, steps, rows = ~settled, np.zeros(len(weights), dtype=int), np.arange(len(weights))
    for step in range(max_iter + 1):
        slope = np.einsum("mij,mj->mi", grams[rows], weights[rows]) - products[rows]
        entering, gap = slope.argmin(axis=1), np.einsum("mi,mi->m", weights[rows], slope) - slope.min(axis=1)
        converged[rows] = gap <= enough[rows]
        moving = ~converged[rows] & ~(settled[rows] & support[rows, entering])
        rows, entering = rows[moving], entering[moving]
        if not rows.size or step == max_iter:
            break
        new = settled[rows]
        support[rows[new], entering[new]] = True
        goals = _optimum_on(support[rows], grams[rows], products[rows], ridge[rows])
        held = new & (goals[np.arange(len(rows)), entering] <= 0)
        rows, goals = rows[~held], goals[~held]
        weights[rows], support[rows], settled[rows] = _towards(goals, weights[rows], support[rows])
        steps[rows] += 1
    return weights, converged, steps


def _optimum_on(support: Array, grams: Array, products: Array, ridge: Array) -> Array:
    """Minima of wᵀGw − 2wᵀs with Σw = 1 over the support, with weights of any sign: w = G⁻¹(s − ν1)."""
    both = support[:, :, None] & support[:, None, :]
    matrices = np.where(both, grams, 0) + np.eye(support.shape[1]) * np.where(support, ridge[:, None], 1)[:, None, :]
    solved = np.linalg.solve(matrices, np.stack([np.where(support, products, 0), support.astype(float)], axis=2))
    multipliers = (solved[:, :, 0].sum(axis=1) - 1) / solved[:, :, 1].sum(axis=1)
    optimum: Array = solved[:, :, 0] - multipliers[:, None] * solved[:, :, 1]
    return optimum


def _towards(goals: Array, weights: Array, support: Array) -> tuple[Array, Array, Array]:
    """Weights moved towards the goals until one reaches 0, their support, and whether each row arrived."""
    blocking = support & (goals <= 0)
    share = np.divide(weights, weights - goals, out=np.ones_like(weights), where=blocking & (weights > goals))
    length = share.min(axis=1, keepdims=True)
    moved = weights + length * (goals - weights)
    support = support & ~(blocking & (share <= length))
    moved = np.where(support, np.maximum(moved, 0), 0)
    arrived: Array = ~np.any(blocking, axis=1)
    return moved / moved.sum(axis=1, keepdims=True), support, arrived
