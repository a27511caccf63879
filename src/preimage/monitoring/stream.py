"""Rows as they arrive, one or many at a time, with a state of fixed size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preimage.monitoring.calibration import Calibration, standardised
from preimage.monitoring.contributions import correct
from preimage.monitoring.process_model import ProcessModel


class RowStatus(NamedTuple):
    """Statistics of one row, and whether they raise an alarm."""

    T2: float
    SPE: float
    ratio: float
    """max(T²/limit, SPE/limit): above 1 in an alarm."""
    p_value: float
    alarm: bool


class Explanation(NamedTuple):
    """The effect of correcting each sensor by itself, in the units of the columns; shape (rows, d)."""

    contributions: np.ndarray
    """By how much T²/scale + SPE/scale would fall; infinite for a constant that has changed."""
    readings: np.ndarray
    """What the sensors read, averaged with an EWMA."""
    expected: np.ndarray
    """What each sensor should read if all others are right."""


class Stream:
    """The state of one run in time order; it keeps only as much of the past as lags and memory need.

    Parameters
    ----------
    process : ProcessModel
    calibration : Calibration
    """

    def __init__(self, process: ProcessModel, calibration: Calibration):
        self._process, self._calibration = process, calibration
        self._window, self._sums = process.window(), np.zeros(2)

    def extend(self, X: np.ndarray) -> np.ndarray:
        """T² and SPE of the next rows, or their sums, shape (rows, 2); SPE is infinite where a constant has changed."""
        process = self._process
        self._rows, self._features = X, self._window.extend(process.scaling.apply(X))
        values = process.statistics(self._features)
        if process.memory.sums:
            values = process.memory.accumulate(standardised(values, self._calibration.usual), self._sums)
            self._sums = values[-1].copy()
        if process.scaling.constant.any():
            values[process.scaling.moved(X).any(axis=1), 1] = np.inf
        return values

    def update(self, row: np.ndarray) -> RowStatus:
        """Status of the next row; a row with a missing or infinite reading is an alarm and is left out of the run."""
        row = np.asarray(row, dtype=float)
        if row.shape != self._process.scaling.mean.shape:
            raise ValueError(
                f"a row has {len(self._process.scaling.mean)} readings, but this one has the shape {row.shape}."
            )
        if not np.isfinite(row).all():
            return RowStatus(np.nan, np.nan, np.nan, np.nan, True)
        values, reference = self.extend(row[None]), self._calibration.reference
        ratio = reference.index(values)
        p_value = float(reference.p_values(ratio)[0])
        return RowStatus(float(values[0, 0]), float(values[0, 1]), float(ratio[0]), p_value, bool(ratio[0] > 1))

    def explain(self, rows=slice(None)) -> Explanation:
        """Contributions of the sensors to the statistics of the last rows, or of some of them."""
        X, scaling, features = self._rows[rows], self._process.scaling, self._features[rows]
        found, moved = correct(self._process, features, 1 / self._calibration.scales), scaling.moved(X)
        readings = np.where(scaling.constant, X, scaling.undo(features[:, : X.shape[1]]))
        return Explanation(np.where(moved, np.inf, found.contributions), readings, scaling.undo(found.expected))
