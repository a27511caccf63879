"""Descent from several starts, shared by the iterative methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.exceptions import ConvergenceWarning, silenced
from preimage.expansion import Expansion
from preimage.kernels import knows
from preimage.preimages.base import Preimages, dense_rows, nearest
from preimage.preimages.descent import Descent
from preimage.preimages.distance import Distance
from preimage.preimages.objective import FeatureDistance

RESTARTS = 3  # further starts for a row that failed


@dataclass(frozen=True)
class Iterated:
    """A prepared iterative method: descend, start failed rows again, fall back on the best point of the expansion."""

    descent: Descent
    pull: float = 0.0

    def __call__(self, targets: Expansion, starts: np.ndarray | None = None) -> Preimages:
        first = self._starts(targets) if starts is None else np.asarray(starts, dtype=targets.points.dtype)
        objective = FeatureDistance(targets, self.pull, first)
        best = _Best(*self.descent.run(objective, objective.approach(first)))
        best.converged &= self._reached(targets, best)
        lost = np.flatnonzero(~best.converged)
        near = nearest(targets[lost], RESTARTS) if lost.size else np.empty((0, 0), dtype=int)
        for rank in near.T:
            again = ~best.converged[lost]
            rows, seeds = lost[again], dense_rows(targets.points[rank[again]])
            if not rows.size:
                break
            objective = FeatureDistance(targets[rows], self.pull, first[rows])
            best.improve(rows, *self.descent.run(objective, seeds), seeds)
            best.converged &= self._reached(targets, best)
        adrift = ~self._reached(targets, best)[lost]
        if adrift.any():
            best.points[lost[adrift]] = dense_rows(targets.points[near[adrift, 0]])
        return Preimages(best.points, best.converged, best.steps, targets)

    def _reached(self, targets: Expansion, best: _Best) -> np.ndarray:
        """False for rows that stopped where a radial kernel is flat: φ(z) has nothing in common with the target."""
        if self.pull or targets.kernel.argument != "distance":
            return np.ones(len(targets), dtype=bool)
        apart = targets.kernel.diagonal(best.points) + targets.norm2()
        return best.values < apart * (1 - 64 * np.finfo(apart.dtype).eps)

    @staticmethod
    def _starts(targets: Expansion) -> np.ndarray:
        """The distance method's answer where the kernel has an inverse, else the nearest point of the expansion."""
        if knows(targets.kernel, "inverse"):
            with silenced(ConvergenceWarning):  # how it went in the end is what counts
                return Distance().prepare(targets, np.random.default_rng(0))(targets).points
        return dense_rows(targets.points[nearest(targets, 1)[:, 0]])


@dataclass
class _Best:
    """The best answers so far."""

    points: np.ndarray
    values: np.ndarray
    converged: np.ndarray
    steps: np.ndarray

    def improve(self, rows, points, values, converged, steps, seeds) -> None:
        """Take over the answers of another run where they have a lower value, or a number where there was none."""
        sound = np.isfinite(points).all(axis=1) & np.isfinite(values)
        points = np.where(sound[:, None], points, seeds)
        better = ~np.isfinite(self.values[rows]) | (sound & (values <= self.values[rows]))
        chosen = rows[better]
        self.points[chosen], self.values[chosen] = points[better], values[better]
        self.converged[chosen] = converged[better]
        self.steps[rows] += steps + 1  # to evaluate a start costs what a step does
