"""The range of the data: a box of twice their range, and their principal axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array
from preimage.preimages.base import dense_rows


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds of every column.

    Projection onto a convex set that contains the true point never moves an estimate away from it. If a row lies
    outside the box, its true point may too, so the box is widened to contain the row.
    """

    low: Array | float = -np.inf
    high: Array | float = np.inf

    @classmethod
    def around(cls, points: Array) -> Box:
        """The range of every column, extended by half of it on either side."""
        low, high = points.min(axis=0), points.max(axis=0)
        margin = high / 2 - low / 2
        return cls(low - margin, high + margin)

    @classmethod
    def of(cls, model: Any) -> Box:
        """The box around the training rows of a model, or around the points of an expansion with a radial kernel.

        An expansion with another kernel may be any multiple of an image, so it has no bounds.
        """
        inputs = getattr(model, "inputs", None)
        if inputs is None and model.kernel.argument != "distance":
            return cls()
        return cls.around(dense_rows(model.points if inputs is None else inputs))

    @property
    def ends(self) -> tuple[Any, Any]:
        """(low, high)."""
        return self.low, self.high

    def holds(self, points: Array) -> Array:
        """Whether each row lies inside."""
        inside: Array = np.all((self.low <= points) & (points <= self.high), axis=1)
        return inside

    def hold(self, points: Array, starts: Array | None = None) -> Array:
        """The nearest points inside the box; with ``starts``, inside the box widened to contain these rows."""
        low, high = self.ends if starts is None else (np.minimum(self.low, starts), np.maximum(self.high, starts))
        held: Array = np.clip(points, low, high)
        return held


OPEN = Box()  # no bounds


def principal_axes(inputs: Array) -> tuple[Array, Array, Array]:
    """The mean of the rows, the variances along their principal axes, largest first, and the axes as columns."""
    mean = inputs.mean(axis=0)
    centred = inputs - mean
    if len(inputs) < inputs.shape[1]:
        _, singular, axes = scipy.linalg.svd(centred, full_matrices=False)
        return mean, singular**2 / len(inputs), axes.T
    variances, axes = scipy.linalg.eigh(centred.T @ centred / len(inputs))
    return mean, np.maximum(variances[::-1], 0), axes[:, ::-1]
