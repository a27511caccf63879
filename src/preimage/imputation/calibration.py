"""Calibration of errors: errors at hidden entries, relative to the deviations that a Gaussian model expects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from preimage._typing import Array

PRIOR = 40  # weight of all columns together in the factor of one, in hidden entries
SCORES = 2000  # errors kept, evenly spaced in sorted order
NORMAL = 200  # scores of the normal law, if nothing was hidden


@dataclass(frozen=True, eq=False)
class ErrorCalibration:
    """Errors relative to a model's standard deviations: a factor per column, and absolute errors in these units."""

    factors: Array
    scores: Array

    @classmethod
    def of(cls, errors: Array, deviations: Array, hidden: Array) -> ErrorCalibration:
        """The calibration from errors at hidden entries and the deviations that the model expects there."""
        if not hidden.any():
            return cls.none(hidden.shape[1])
        ratios = np.divide(errors, deviations, out=np.zeros_like(errors), where=hidden & (deviations > 0))
        squares, counts = np.square(ratios).sum(axis=0), hidden.sum(axis=0)
        typical = squares.sum() / counts.sum()
        factors = np.sqrt((squares + PRIOR * typical) / (counts + PRIOR))
        sizes = np.sort(np.abs(ratios / np.where(factors > 0, factors, 1))[hidden])
        few = np.linspace(0, len(sizes) - 1, min(len(sizes), SCORES)).astype(int)
        return cls(factors, sizes[few])

    @classmethod
    def none(cls, d: int) -> ErrorCalibration:
        """The model's own deviations and the normal law."""
        return cls(np.ones(d), ndtri(0.5 + (np.arange(NORMAL) + 0.5) / (2 * NORMAL)))

    def half_width(self, level: float) -> float:
        """The bound, in deviations, that an absolute error does not exceed with this probability.

        It is the (n + 1)·level-th smallest of n scores (split conformal prediction, Vovk et al. 2005), or the largest
        if there are too few.
        """
        n = len(self.scores)
        return float(self.scores[min(int(np.ceil((n + 1) * level)), n) - 1])
