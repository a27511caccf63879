"""Kernel k-means: Lloyd's steps in feature space, then moves of single points.

For a partition into clusters C with masses M_C = Σ wᵢ the centroids are Σ_{i∈C} wᵢφ(xᵢ)/M_C. Everything follows from
the sums S_iC = Σ_{j∈C} wⱼKᵢⱼ and Q_C = Σ_{i∈C} wᵢS_iC:

* ‖φ(xᵢ) − centroid‖² = Kᵢᵢ − 2S_iC/M_C + Q_C/M_C²;
* the inertia, Σᵢ wᵢ‖φ(xᵢ) − its centroid‖² = Σᵢ wᵢKᵢᵢ − Σ_C Q_C/M_C.

The matrix K is an operator of :mod:`preimage.gram.operators`: stored if it fits, else recomputed by tiles, or FFᵀ for
explicit features F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage import progress
from preimage.exceptions import ConvergenceWarning, warn
from preimage.gram.operators import FeatureGram, Packed, Stored, Tiled

OVERFLOW_IS_CHECKED = np.errstate(over="ignore", invalid="ignore")  # in the sums of every partition


Gram = Packed | Stored | Tiled | FeatureGram  # operators with diagonal, columns and multiply_columns


class Partition:
    """Labels and their sums S and Q, updated as labels change."""

    def __init__(self, gram: Gram, weights: np.ndarray, labels: np.ndarray, n_clusters: int) -> None:
        self.gram, self.weights, self.k = gram, weights, n_clusters
        self.labels = _repaired(labels, np.zeros(len(labels)), n_clusters)
        self.total = float(weights @ gram.diagonal)
        self.rounding = 1e-12 * float(weights @ np.abs(gram.diagonal))  # smaller changes of the inertia are round-off
        self.refresh()

    def refresh(self) -> None:
        """Compute the sums S from the labels alone."""
        self.sums = np.asarray(self.gram @ self._indicator(self.labels, self.weights), dtype=float)
        self._count()
        if not all(np.isfinite(part).all() for part in (self.sums, self.masses, self.squares, self.total)):
            raise ValueError(
                "kernel values times weights are infinite or not numbers: bring the columns to a smaller scale (for "
                "example with scikit-learn's StandardScaler), choose a kernel that fits their scale, or use smaller "
                "weights."
            )

    def _indicator(self, labels: np.ndarray, values: np.ndarray) -> np.ndarray:
        indicator = np.zeros((len(labels), self.k))
        indicator[np.arange(len(labels)), labels] = values
        return indicator

    def _count(self) -> None:
        own = self.weights * self.sums[np.arange(len(self.labels)), self.labels]
        self.masses = np.bincount(self.labels, self.weights, self.k)
        self.squares = np.bincount(self.labels, own, self.k)  # Q

    @property
    def norms2(self) -> np.ndarray:
        """Squared norms of the centroids, Q/M²."""
        return self.squares / np.square(self.masses)

    @property
    def inertia(self) -> float:
        """Σᵢ wᵢ‖φ(xᵢ) − its centroid‖²."""
        return max(self.total - float(np.sum(self.squares / self.masses)), 0.0)

    def distances2(self) -> np.ndarray:
        """Squared distances of all points to all centroids, shape (n, k)."""
        found = self.sums * (-2 / self.masses)
        found += self.gram.diagonal[:, None]
        found += self.norms2
        return np.maximum(found, 0, out=found)

    def sort(self) -> None:
        """Number the clusters by mass, the largest first, and equal ones by ⟨centroid, mean of all⟩.

        So the numbers do not depend on the order of the rows, and a row given twice counts like one of twice the
        weight.
        """
        nearness = self.weights @ self.sums / self.masses
        order = np.lexsort((-nearness, -self.masses))
        self.labels = np.argsort(order)[self.labels]
        self.sums, self.masses, self.squares = self.sums[:, order], self.masses[order], self.squares[order]

    def relabel(self, labels: np.ndarray) -> None:
        """Set new labels; if at most half of them changed, only these are summed again."""
        changed = np.flatnonzero(labels != self.labels)
        old, self.labels = self.labels[changed], labels
        if 2 * len(changed) > len(labels):
            self.refresh()
            return
        weights = self.weights[changed]
        difference = self._indicator(labels[changed], weights) - self._indicator(old, weights)
        self.sums += self.gram.multiply_columns(changed, difference)
        self._count()

    def move(self, i: int, target: int) -> None:
        """Move one point, at the cost of one column of the matrix."""
        column = np.asarray(self.gram.columns(np.array([i]))[:, 0], dtype=float) * self.weights[i]
        self.sums[:, self.labels[i]] -= column
        self.sums[:, target] += column
        self.labels = self.labels.copy()
        self.labels[i] = target
        self._count()

    def best_move(self) -> tuple[int, int, float]:
        """The single move that lowers the inertia most: its point, its target cluster, and the change of inertia.

        Moving a point of weight w from a to b changes the inertia by w M_b d_b²/(M_b + w) − w M_a d_a²/(M_a − w).
        """
        distances, w = self.distances2(), self.weights
        rows = np.arange(len(w))
        rest = self.masses[self.labels] - w
        alone = rest <= 1e-12 * self.masses[self.labels]
        leaving = w * self.masses[self.labels] * distances[rows, self.labels] / np.where(alone, np.inf, rest)
        change = distances * (w[:, None] * self.masses / (self.masses + w[:, None])) - leaving[:, None]
        change[rows, self.labels] = 0
        i, target = np.unravel_index(np.argmin(change), change.shape)
        return int(i), int(target), float(change[i, target])


@dataclass(frozen=True, eq=False)
class Clustering:
    """A partition, and how the inertia fell.

    ``history`` holds the inertia at the start, after each of ``n_steps`` Lloyd steps, and after every move. ``settled``
    is true if no step or move can lower it further.
    """

    partition: Partition
    history: np.ndarray
    n_steps: int
    settled: bool

    @property
    def inertia(self) -> float:
        """The inertia reached."""
        return float(self.history[-1])


@OVERFLOW_IS_CHECKED
def cluster(
    gram: Gram,
    weights: np.ndarray,
    n_clusters: int,
    starts: list[Callable[[], np.ndarray]],
    *,
    max_iter: int = 300,
    tol: float = 1e-6,
) -> Clustering:
    """The best clustering from several starts, each a function without arguments that returns labels."""

    def run(number: int) -> Clustering:
        progress.report("starts", number, len(starts))
        return _run(Partition(gram, weights, starts[number](), n_clusters), max_iter, tol)

    best = min(map(run, range(len(starts))), key=lambda found: found.inertia)
    best.partition.sort()
    if not best.settled:
        warn(
            f"kernel k-means stopped after {best.n_steps} steps and {len(best.history) - 1 - best.n_steps} moves while "
            "the inertia still fell: raise max_iter.",
            ConvergenceWarning,
        )
    return best


def _run(partition: Partition, max_iter: int, tol: float) -> Clustering:
    history = [partition.inertia]
    settled = _lloyd(partition, history, max_iter, tol)
    n_steps = len(history) - 1
    settled &= _single_moves(partition, history, max_moves=max_iter * partition.k)
    partition.refresh()
    return Clustering(partition, np.array(history), n_steps, settled)


def _lloyd(partition: Partition, history: list[float], max_iter: int, tol: float) -> bool:
    """Assign every point to the nearest centroid until the inertia hardly changes."""
    for _ in range(max_iter):
        before = partition.labels
        distances = partition.distances2()
        nearest = distances.argmin(axis=1)
        labels = _repaired(nearest, partition.weights * distances.min(axis=1), partition.k)
        if np.array_equal(labels, before):
            history += history if len(history) == 1 else []  # a first step counts even if it changes nothing
            return True
        partition.relabel(labels)
        if partition.inertia > history[-1] + partition.rounding:  # an indefinite kernel
            partition.relabel(before)
            return True
        history.append(partition.inertia)
        if history[-2] - history[-1] <= tol * history[-1]:
            return True
    return False


def _single_moves(partition: Partition, history: list[float], max_moves: int) -> bool:
    """Move single points, the best first, while that lowers the inertia (Hartigan & Wong 1979; Dhillon et al. 2002)."""
    for _ in range(max_moves):
        i, target, change = partition.best_move()
        if change >= -partition.rounding:
            return True
        origin = int(partition.labels[i])
        partition.move(i, target)
        if partition.inertia > history[-1]:  # an indefinite kernel
            partition.move(i, origin)
            return True
        history.append(partition.inertia)
    return False


def _repaired(labels: np.ndarray, costs: np.ndarray, k: int) -> np.ndarray:
    """Labels in which every empty cluster gets the costliest point of a cluster with more than one point."""
    sizes = np.bincount(labels, minlength=k)
    if sizes.all():
        return labels
    labels, order = labels.copy(), iter(np.argsort(-costs, kind="stable"))
    for empty in np.flatnonzero(sizes == 0):
        i = next(i for i in order if sizes[labels[i]] > 1)
        sizes[labels[i]] -= 1
        sizes[empty] += 1
        labels[i] = empty
    return labels


def plus_plus(gram: Gram, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels from k-means++ seeds (Arthur & Vassilvitskii 2007), each the best of a few draws.

    A seed is drawn with probability proportional to wᵢDᵢ², with D² = Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ the squared distance to the
    nearest seed so far.
    """
    n_trials = 2 + int(np.log(k))
    first = _draw(weights, 1, rng)
    nearest, labels = _distances2(gram, first)[:, 0], np.zeros(len(weights), dtype=int)
    for label in range(1, k):
        costs = weights * nearest
        trials = _draw(costs if costs.sum() > 0 else weights, n_trials, rng)
        distances = _distances2(gram, trials)
        best = int(np.argmin(weights @ np.minimum(distances, nearest[:, None])))
        labels[distances[:, best] < nearest] = label
        nearest = np.minimum(nearest, distances[:, best])
    return labels


def random(gram: Gram, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels from k different rows as seeds, drawn uniformly."""
    return _distances2(gram, rng.choice(len(weights), k, replace=False)).argmin(axis=1)


@OVERFLOW_IS_CHECKED
def is_single_point(gram: Gram) -> bool:
    """Whether all images are equal up to round-off."""
    scale = float(np.abs(gram.diagonal).max())
    return bool(_distances2(gram, np.array([0])).max() <= 1e3 * np.finfo(float).eps * scale)


def _distances2(gram: Gram, which: np.ndarray) -> np.ndarray:
    found = gram.diagonal[:, None] + gram.diagonal[which] - 2 * gram.columns(which)
    found[which, np.arange(len(which))] = 0
    return np.maximum(found, 0)


def _draw(masses: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    cumulated = np.cumsum(masses)
    return np.searchsorted(cumulated, rng.random(number) * cumulated[-1], side="right").clip(max=len(masses) - 1)
