"""The linear part of :class:`Wiener`, the noise visible in a row, and the noise that the filter assumes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc

from preimage._typing import Array
from preimage.preimages.bounds import principal_axes

STEPS = 8  # of the iteration for the noise visible in a row
FAR = 2.5  # standard deviations of a column at which entries are clipped
UNUSUAL = 3.0  # standard deviations along an axis beyond which no more is taken off
LARGEST = 2.0  # at which z² is clipped; TYPICAL is the mean of the clipped z² for a normal z
TYPICAL = float(gammainc(1.5, LARGEST / 2) + LARGEST * gammaincc(0.5, LARGEST / 2))


@dataclass(frozen=True, eq=False)
class RowFilter:
    """x̄ + Σⱼ vⱼ(cⱼ − (1 − gⱼ) c̃ⱼ) over the principal axes, cⱼ = vⱼᵀ(y − x̄), gⱼ = λⱼ/(λⱼ + σ²).

    c̃ⱼ is cⱼ clipped at three times its standard deviation √(λⱼ + σ²). Without that, a row that is unusual along an axis
    would lose much that is not noise (the limited translation of Efron & Morris 1972). Rows are arrays or, for export,
    symbols.
    """

    mean: Array
    axes: Array
    variances: Array

    @classmethod
    def of(cls, inputs: Array) -> RowFilter:
        """The filter for rows like the inputs."""
        mean, variances, axes = principal_axes(inputs)
        kept = variances > 0
        return cls(mean, axes[:, kept], variances[kept])

    def __call__(self, rows: Any, noise2: Any) -> Any:
        """The filtered rows, for white noise of variance σ²: a number, or one per row as a column."""
        along, total = (rows - self.mean) @ self.axes, self.variances + noise2
        most = UNUSUAL * np.sqrt(total)
        return self.mean + (along - noise2 / total * np.clip(along, -most, most)) @ self.axes.T

    def shown(self, rows: Any, most: float) -> Any:
        """The noise variance ν² visible in every row, as a column, by an iteration that starts at ν² = ``most``.

        It gives Σⱼ wⱼ min(zⱼ², 2) the value expected for normal zⱼ = vⱼᵀ(y − x̄)/√(λⱼ + ν²). The weights
        wⱼ ∝ 1/(λⱼ + ν²)² favour axes along which the rows vary less than the noise. A rare large value is not noise:
        squares are clipped at 2, and entries at 2.5 standard deviations of their column, or of a mean column if more.
        """
        spread2 = np.square(self.axes) @ self.variances
        far = FAR * np.sqrt(np.maximum(spread2, spread2.mean()))
        squares = np.square(np.clip(rows - self.mean, -far, far) @ self.axes)
        found: Any = most
        for _ in range(STEPS if len(self.variances) else 0):
            total = self.variances + found
            weights = ((self.variances.min() + found) / total) ** 2  # the largest is 1
            level = (weights * np.minimum(squares / total, LARGEST)).sum(axis=-1)
            found = found * (level / (TYPICAL * weights.sum(axis=-1)))[:, None]
        return found


@dataclass(frozen=True)
class TrustedNoise:
    """σ(y)² = min(σ², aσ² + cν(y)²): shares a of the noise that the components imply, and c of that visible in y."""

    implied: float = 1.0
    shown: float = 0.0

    def variance(self, shown: Any, most: float) -> Any:
        """σ(y)² for σ² = ``most``."""
        return np.minimum(self.implied * most + self.shown * shown, most) if self.shown else self.implied * most


SURE = 0.5  # standard errors by which a choice must be better than the noisy rows
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03, 0.0)
CHOICES = (
    TrustedNoise(),
    *(TrustedNoise(a, c) for a, c in product([*(0.5**k for k in range(1, 9)), 0.0], SHARES)),
)


def most_useful(losses: Array) -> TrustedNoise:
    """The choice of least error over all noise levels, among those that are better than the noisy rows at every level.

    They are better by half a standard error, since a few rows may decide the mean.

    Parameters
    ----------
    losses : array of shape (levels, choices, rows)
        Excess of a row's squared error over that of the noisy row, in units of the mean of the latter; 0 for the last
        choice.
    """
    means, error = losses.mean(axis=2), losses.std(axis=2) / np.sqrt(losses.shape[2])
    harmless = np.all(means <= -SURE * error, axis=0)
    return CHOICES[int(np.argmin(np.where(harmless, np.log1p(np.minimum(means, 0)).sum(axis=0), np.inf)))]
