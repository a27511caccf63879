"""How far answers are from the truth: errors at hidden entries beside what a Gaussian model expects of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array

PRIOR = 40  # hidden entries that all columns together count for in the factor of one
SCORES = 2000  # kept of the errors, evenly spaced when sorted
NORMAL = 200  # scores of the normal law, where nothing was hidden


@dataclass(frozen=True, eq=False)
class ErrorCalibration:
    """Errors in units of a model's standard deviations: a factor per column, and the sizes in units of these."""

    factors: Array
    scores: Array

    @classmethod
    def of(cls, errors: Array, deviations: Array, hidden: Array) -> ErrorCalibration:
        """From the errors at hidden entries and the deviations that the model expected."""
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
        from scipy.stats import norm

        return cls(np.ones(d), norm.ppf(0.5 + (np.arange(NORMAL) + 0.5) / (2 * NORMAL)))

    def half_width(self, level: float) -> float:
        """What the size of an error, in deviations, does not exceed with this probability.

        The (n + 1)·level-th smallest of n scores (split conformal prediction, Vovk et al. 2005); the largest if there
        are too few.
        """
        n = len(self.scores)
        return float(self.scores[min(int(np.ceil((n + 1) * level)), n) - 1])
