"""Descent from several starts, shared by the iterative methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.exceptions import ConvergenceWarning, silenced
from preimage.expansion import FeatureVectors
from preimage.preimages.base import Preimages, dense_rows, nearest
from preimage.preimages.descent import Descent
from preimage.preimages.distance import Distance
from preimage.preimages.objective import FeatureDistance

RESTARTS = 3  # further starts for a row that failed


@dataclass(frozen=True)
class Iterated:
    """A prepared iterative method: descend, restart failed rows, fall back to the best point of the expansion."""

    descent: Descent
    pull: float = 0.0

    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
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

    def _reached(self, targets: FeatureVectors, best: _Best) -> Array:
        """Whether each φ(z) has come near its target; False far away, where a radial kernel makes them orthogonal."""
        if self.pull or targets.kernel.argument != "distance":
            return np.ones(len(targets), dtype=bool)
        apart = targets.kernel.diagonal(best.points) + targets.norm2()
        near: Array = best.values < apart * (1 - 64 * np.finfo(apart.dtype).eps)
        return near

    @staticmethod
    def _starts(targets: FeatureVectors) -> Array:
        """The result of ``Distance`` if the kernel has an inverse, else the nearest point of the expansion."""
        if hasattr(targets.kernel, "inverse"):
            with silenced(ConvergenceWarning):  # only the final result counts
                return Distance().prepare(targets, np.random.default_rng(0))(targets).points
        return dense_rows(targets.points[nearest(targets, 1)[:, 0]])


@dataclass
class _Best:
    """The best points so far."""

    points: Array
    values: Array
    converged: Array
    steps: Array

    def improve(self, rows: Array, points: Array, values: Array, converged: Array, steps: Array, seeds: Array) -> None:
        """Take the points of another run where their value is lower, or where there was no finite value."""
        sound = np.isfinite(points).all(axis=1) & np.isfinite(values)
        points = np.where(sound[:, None], points, seeds)
        better = ~np.isfinite(self.values[rows]) | (sound & (values <= self.values[rows]))
        chosen = rows[better]
        self.points[chosen], self.values[chosen] = points[better], values[better]
        self.converged[chosen] = converged[better]
        self.steps[rows] += steps + 1  # evaluating a start costs as much as a step
