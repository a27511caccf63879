"""The noise of an image as a function of brightness, before and after clipping.

A value x has Gaussian noise of variance c·x² + a·x + b: a·x + b for photon counts (Foi et al. 2008), c·x² for speckle.
It is then clipped at the ends of the range. The clipped value has the mean e(x) and the variance s²(x): with
m₁(t) = tΦ(t) + φ(t) and m₂(t) = (t² + 1)Φ(t) + tφ(t), and t = (x − low)/σ, u = (x − high)/σ,

    e = low + σ(m₁(t) − m₁(u)),   s² = σ²(m₂(t) − m₂(u)) − 2(high − low)σ m₁(u) − (e − low)².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from preimage.denoising.saturation import Limits, mean_excess, normal_density
from preimage.noise import GaussianNoise, NoiseLaw, PoissonGaussianNoise, SpeckleNoise

REACH = 8.0  # distance, in σ, up to which a limit affects values
KNOTS = 400
NONE = Limits()


@dataclass(frozen=True)
class NoiseCurve:
    """The law of the noise of a value, given its clean value x.

    Parameters
    ----------
    slope, floor : float
        a and b of the variance c·x² + a·x + b.
    limits : Limits
        Where values are clipped.
    bend : float
        c of that variance.
    doubt : float
        The relative standard error of that variance, 0 if it was given.
    most : float
        The largest possible b, if texture hides how much of it is noise.
    """

    slope: float
    floor: float
    limits: Limits = NONE
    bend: float = 0.0
    doubt: float = 0.0
    most: float = 0.0

    @property
    def law(self) -> NoiseLaw:
        """The same as a law of :mod:`preimage.noise`."""
        clip = (self.limits.low, self.limits.high) if self.limits else None
        if self.bend > 0:
            return SpeckleNoise(self.bend, self.floor, clip)
        if self.slope > 0:
            return PoissonGaussianNoise(self.slope, self.floor, clip)
        return GaussianNoise(float(np.sqrt(self.floor)), clip)

    @property
    def is_constant(self) -> bool:
        """Whether the noise is the same everywhere."""
        return self.slope == self.bend == 0 and not self.limits

    def within(self, units) -> NoiseCurve:
        """The same law in other units."""
        slope = (self.slope + 2 * self.bend * units.offset) / units.scale
        floor = self._polynomial(units.offset) / units.scale**2
        return NoiseCurve(slope, floor, self.limits.within(units), self.bend, self.doubt)

    def before(self, x: np.ndarray | float) -> np.ndarray:
        """The variance of the noise before clipping."""
        return np.maximum(self._polynomial(np.asarray(x)), self._least)

    def variance(self, means: np.ndarray) -> np.ndarray:
        """s² where the mean of noisy values is e."""
        if not self.limits:
            return self.before(means)
        _, mean, variance = self._knots
        return np.where(self._far(means), self.before(means), np.interp(means, mean, variance))

    def undone(self, means: np.ndarray) -> np.ndarray:
        """The x whose noisy values have the mean e, within the limits."""
        if not self.limits:
            return np.asarray(means)
        x, mean, _ = self._knots
        return np.where(self._far(means), means, np.interp(means, mean, x))

    def _polynomial(self, x):
        return (self.bend * x + self.slope) * x + self.floor

    def _far(self, means: np.ndarray) -> np.ndarray:
        """Where the only limit is too far away to matter."""
        _, mean, _ = self._knots
        below, above = np.isinf(self.limits.low), np.isinf(self.limits.high)
        return ((means < mean[0]) & below) | ((means > mean[-1]) & above)

    @property
    def _least(self) -> float:
        ends = [end for end in (self.limits.low, self.limits.high) if np.isfinite(end)]
        return max(1e-3 * max([self.floor, *map(self._polynomial, ends)]), 1e-12)

    @cached_property
    def _knots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values x near the limits, or in the whole range between two, with mean and variance after clipping."""
        low, high = self.limits.low, self.limits.high
        reach = REACH * float(np.sqrt(max(self.before(end) for end in (low, high) if np.isfinite(end))))
        x = np.linspace(low if np.isfinite(low) else high - reach, high if np.isfinite(high) else low + reach, KNOTS)
        sigma = np.sqrt(self.before(x))
        first, last = max(low, x[0] - 3 * reach), min(high, x[-1] + 3 * reach)
        t, u = (x - first) / sigma, (x - last) / sigma
        gain = sigma * (mean_excess(t) - mean_excess(u))
        square = sigma**2 * (_squared_excess(t) - _squared_excess(u)) - 2 * (last - first) * sigma * mean_excess(u)
        mean = np.maximum.accumulate(first + gain)
        return x, mean + 1e-12 * np.arange(KNOTS) * (x[-1] - x[0]), np.maximum(square - gain**2, self._least)


def _squared_excess(t: np.ndarray) -> np.ndarray:
    """E max(t − ε, 0)² of a standard Gaussian ε."""
    return (t**2 + 1) * ndtr(t) + t * normal_density(t)
