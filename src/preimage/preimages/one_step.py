"""The closed-form step of Rathi, Dambreville & Tannenbaum (2006)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array, Generator
from preimage.expansion import FeatureVectors, Weighted
from preimage.kernels import Kernel, knows
from preimage.preimages.base import (
    PreimageMethod,
    Preimages,
    Source,
    closed_form,
    dense_rows,
    map_targets,
)
from preimage.preimages.bounds import OPEN, Box
from preimage.preimages.objective import WEAK


@dataclass(frozen=True)
class OneStep(PreimageMethod):
    """One fixed-point step without a starting point: x̂ = Σᵢ wᵢxᵢ / Σᵢ wᵢ.

    The weights −γᵢκ′(‖z − xᵢ‖²) of the iteration depend only on the distances to z, which the target itself gives:
    κ(‖z − xᵢ‖²) is replaced by σᵢ = sᵢ + ½(κ(0) − ‖Ψ‖²). For the Gaussian, wᵢ = γᵢσᵢ.

    See Also
    --------
    FixedPoint : The full iteration.
    Distance : Another method without iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import OneStep
    >>> mean = Expansion(Gaussian(2.0), np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[0.5, 0.5]]))
    >>> find_preimage(mean, OneStep()).points.round(3)
    array([[1., 1.]])
    """

    needs = frozenset({"weights"})
    abilities = ("profile", "inverse")
    instead = "Gradient() takes kernels with a gradient."

    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that is not radial, or lacks a profile or its inverse."""
        super().check(kernel)
        if kernel.argument != "distance":
            raise ValueError(f"OneStep needs a radial kernel, which {kernel!r} is not: use Distance().")

    def prepare(self, model: Source, rng: Generator) -> _OneStepMap:
        """The points as dense rows."""
        return _OneStepMap(dense_rows(model.points), Box.around(dense_rows(model.points)))


@dataclass(frozen=True, eq=False)
class _OneStepMap:
    points: Array
    box: Box = OPEN

    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
        return closed_form(targets, *map_targets(self._step, targets, 6 * self.points[:, 0].nbytes))

    def _step(self, targets: Weighted, rows: slice) -> tuple[Array, Array]:
        kernel = targets.kernel
        assert knows(kernel, "inverse")  # see check
        top = float(kernel.diagonal(self.points[:1])[0])
        values = targets.inner_points() + (top - targets.norm2()[:, None]) / 2
        weights = -targets.weights * kernel.derivative(kernel.inverse(np.clip(values, 1e-12 * top, top)))
        total, size = weights.sum(axis=1), np.abs(weights).sum(axis=1)
        sound = total > WEAK * size
        points = weights @ self.points / np.where(sound, total, 1)[:, None]
        return points, sound & self.box.holds(points)
