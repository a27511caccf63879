"""Contributions of the sensors: by how much a statistic falls when one sensor alone is corrected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preimage import progress
from preimage.kernels.scales import spread_rows
from preimage.monitoring.process_model import ProcessModel
from preimage.monitoring.t2_spe import derivatives

PLACES = 9  # readings in the normal range of a sensor where the search begins
STEPS = 2  # parabolas that refine the best of them; one is exact for the linear kernel
ROWS = 2000  # normal rows that set the range of a sensor


class Corrections(NamedTuple):
    """The effect of correcting each sensor by itself, for every row; shape (rows, d)."""

    contributions: np.ndarray
    """By how much the statistic would fall."""
    expected: np.ndarray
    """The scaled reading that minimises it, with all other sensors as they are."""


def sensitivities(process: ProcessModel, features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Derivative of w₁T² + w₂SPE for a shift of each sensor by a standard deviation over the window, (rows, d)."""
    inside, outside = derivatives(process.model.decomposition_, process.variances, features)
    along = weights[0] * inside + weights[1] * outside
    return along.reshape(len(features), process.lags + 1, -1).sum(axis=1)


def correct(process: ProcessModel, features: np.ndarray, weights: np.ndarray) -> Corrections:
    """Reconstruction-based contributions (Alcala & Qin 2009, eq. 9) of w₁T² + w₂SPE, also for a kernel.

    The contribution of sensor i is f(x) − min over s of f(x − s eᵢ), eᵢ the shift of that sensor over the whole window.
    For the linear kernel, f(x) = xᵀMx, this is (eᵢᵀMx)² / eᵢᵀMeᵢ, and a large fault of a single sensor contributes most
    at that sensor (their §4). For other kernels a search along each eᵢ finds the minimum.
    """
    low, high = _ranges(process)
    found = Corrections(np.empty((len(features), len(low))), np.empty((len(features), len(low))))
    for number, row in enumerate(features):
        found.contributions[number], found.expected[number] = _correct_row(process, row, weights, low, high)
        progress.report("contributions", number + 1, len(features))
    return found


def _ranges(process: ProcessModel) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest normal reading of every sensor, scaled."""
    normal = spread_rows(np.asarray(process.model.decomposition_.inputs), ROWS)[:, : len(process.scaling.mean)]
    return normal.min(axis=0), normal.max(axis=0)


def _correct_row(process: ProcessModel, row: np.ndarray, weights, low, high) -> tuple[np.ndarray, np.ndarray]:
    d = len(low)
    sensors = np.arange(d)

    def value(readings: np.ndarray) -> np.ndarray:
        """The statistic with sensor i at readings[i, j] in turn, shape (d, j)."""
        shifts = readings - row[:d, None]
        moved = np.broadcast_to(row, (*readings.shape, len(row))).reshape(d, readings.shape[1], -1, d).copy()
        moved[sensors, :, :, sensors] += shifts[:, :, None]
        return (process.statistics(moved.reshape(readings.size, -1)) @ weights).reshape(readings.shape)

    readings = np.column_stack([row[:d], np.linspace(low, high, PLACES, axis=1)])
    values = value(readings)
    start, step = values[:, 0], (high - low) / (PLACES - 1)
    best, least = _lowest(readings, values)
    for _ in range(STEPS):
        around = best[:, None] + step[:, None] * np.array([-0.5, 0.5])
        below, above = value(around).T
        vertex = _vertex(best, step / 2, below, least, above)
        values = np.column_stack([least, below, above, value(vertex[:, None])])
        best, least = _lowest(np.column_stack([best, around, vertex]), values)
        step = step / 4
    return start - least, best


def _lowest(readings: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lowest = values.argmin(axis=1)[:, None]
    return np.take_along_axis(readings, lowest, 1)[:, 0], np.take_along_axis(values, lowest, 1)[:, 0]


def _vertex(middle, step, below, at, above) -> np.ndarray:
    """The minimum of the parabola through three points; the middle point if it has none."""
    bend = below - 2 * at + above
    with np.errstate(divide="ignore", invalid="ignore"):
        move = 0.5 * step * (below - above) / bend
    return middle + np.where((bend > 0) & np.isfinite(move), move, 0)
