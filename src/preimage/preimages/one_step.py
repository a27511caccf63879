"""The closed-form step of Rathi, Dambreville & Tannenbaum (2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.expansion import Expansion
from preimage.kernels import Kernel, knows, require
from preimage.preimages.base import Preimages, closed_form, dense_rows, map_targets, refuse_precomputed
from preimage.preimages.bounds import OPEN, Box
from preimage.preimages.objective import WEAK


@dataclass(frozen=True)
class OneStep:
    """One fixed-point step from a point that need not be known: x̂ = Σᵢ wᵢxᵢ / Σᵢ wᵢ.

    The iteration's weights −γᵢκ′(‖z − xᵢ‖²) ask only for distances to z, and those follow from the target itself:
    κ(‖z − xᵢ‖²) is replaced by σᵢ = sᵢ + ½(κ(0) − ‖Ψ‖²). For the Gaussian wᵢ = γᵢσᵢ.
    """

    def check(self, kernel: Kernel) -> None:
        """A radial kernel with derivative and inverse is needed."""
        refuse_precomputed(kernel, "OneStep")
        require(kernel, "OneStep", "profile", "inverse", serve="Gradient() serves kernels with a gradient.")
        if kernel.argument != "distance":
            raise ValueError(
                f"OneStep needs a kernel of the distance, which {kernel!r} is not: Distance() would serve."
            )

    def prepare(self, model, rng: np.random.Generator) -> _OneStepMap:
        """The points as dense rows."""
        return _OneStepMap(dense_rows(model.points), Box.around(dense_rows(model.points)))


@dataclass(frozen=True, eq=False)
class _OneStepMap:
    points: np.ndarray
    box: Box = OPEN

    def __call__(self, targets: Expansion, starts: np.ndarray | None = None) -> Preimages:
        return closed_form(targets, *map_targets(self._step, targets, 6 * self.points[:, 0].nbytes))

    def _step(self, targets: Expansion, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        kernel = targets.kernel
        assert knows(kernel, "inverse")
        top = float(kernel.diagonal(self.points[:1])[0])
        values = targets.inner_points() + (top - targets.norm2()[:, None]) / 2
        weights = -targets.weights * kernel.derivative(kernel.inverse(np.clip(values, 1e-12 * top, top)))
        total, size = weights.sum(axis=1), np.abs(weights).sum(axis=1)
        sound = total > WEAK * size
        points = weights @ self.points / np.where(sound, total, 1)[:, None]
        return points, sound & self.box.holds(points)
