"""The linear part of :class:`Wiener`, the noise that a row shows, and how much of it a filter may take for granted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc

from preimage._typing import Array
from preimage.preimages.bounds import principal_axes

STEPS = 8  # of the iteration for a row's own noise
FAR = 2.5  # standard deviations of a column beyond which an entry counts no more
LARGEST = 2.0  # of z² in the mean that tells the noise, and that mean for a normal z
TYPICAL = float(gammainc(1.5, LARGEST / 2) + LARGEST * gammaincc(0.5, LARGEST / 2))


@dataclass(frozen=True, eq=False)
class RowFilter:
    """x̄ + Σⱼ gⱼ vⱼvⱼᵀ(y − x̄) over the principal axes, gⱼ = λⱼ/(λⱼ + σ²); rows may be arrays or symbols to export."""

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
        gains = self.variances / (self.variances + noise2)
        return self.mean + ((rows - self.mean) @ self.axes * gains) @ self.axes.T

    def shown(self, rows: Any, most: float) -> Any:
        """ν² of every row, as a column: Σⱼ wⱼ min(zⱼ², 2) is what it is for normal zⱼ = vⱼᵀ(y − x̄)/√(λⱼ + ν²).

        The weights wⱼ = ν⁴/(λⱼ + ν²)² let the axes speak along which the rows vary less than the noise. A rare large
        value is not noise: squares beyond 2, and entries beyond 2.5 standard deviations of their column (of the mean
        one, where that is more) are cut off. The iteration starts at ν² = ``most``.
        """
        spread2 = np.square(self.axes) @ self.variances
        far = FAR * np.sqrt(np.maximum(spread2, spread2.mean()))
        squares = np.square(np.clip(rows - self.mean, -far, far) @ self.axes)
        found: Any = most
        for _ in range(STEPS):
            total = self.variances + found
            weights = (found / total) ** 2
            level = (weights * np.minimum(squares / total, LARGEST)).sum(axis=-1)
            found = found * (level / (TYPICAL * weights.sum(axis=-1)))[:, None]
        return found


@dataclass(frozen=True)
class TrustedNoise:
    """σ(y)² = min(σ², aσ² + cν(y)²): a share of the noise σ² that the components imply, and of what the row shows."""

    implied: float = 1.0
    shown: float = 0.0

    def variance(self, shown: Any, most: float) -> Any:
        """σ(y)² for σ² = ``most``."""
        return np.minimum(self.implied * most + self.shown * shown, most) if self.shown else self.implied * most


SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03, 0.0)
CHOICES = (
    TrustedNoise(),
    *(TrustedNoise(a, c) for a, c in product([*(0.5**k for k in range(1, 9)), 0.0], SHARES)),
)


def most_useful(losses: Array) -> TrustedNoise:
    """Of the choices that at no noise level do worse than the rows themselves, the one with the least error over all.

    Parameters
    ----------
    losses : array of shape (levels, choices)
        By what share the squared error of the answers exceeds that of the noisy rows; 0 for the last choice.
    """
    harmless = np.all(losses <= 0, axis=0)
    return CHOICES[int(np.argmin(np.where(harmless, np.log1p(np.minimum(losses, 0)).sum(axis=0), np.inf)))]
