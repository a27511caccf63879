"""Values clipped at the ends of their range, as in image files, where the noise has another law than elsewhere.

By Stein's identity, points may be left out because of the values around them, but not because of their own noisy value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, uniform_filter
from scipy.special import ndtr

from preimage.denoising.views import Images

SHARE = 0.003  # share of all values at one end of the range above which they were clipped there
MARGIN = 2.0  # least distance of the surroundings from a limit, in σ
BLUR = 1.5  # width of the blur that replaces an estimate
REACH = 4.0  # distance, in σ, up to which a limit affects values
AROUND, WITHIN = {1: 15, 2: 7}, {1: 5, 2: 3}  # sides of the surroundings of a point and of the hole in them


@dataclass(frozen=True)
class Limits:
    """The range to which values were clipped; an end without clipping is infinite."""

    low: float = -np.inf
    high: float = np.inf

    @classmethod
    def of(cls, images: Images) -> Limits:
        """The limits of images: ends of the range on which more than ``SHARE`` of the values lie exactly."""
        low, high = float(images.min()), float(images.max())
        if low == high:
            return cls()
        is_low, is_high = (np.mean(images == end) > SHARE for end in (low, high))
        return cls(low if is_low else -np.inf, high if is_high else np.inf)

    def __bool__(self) -> bool:
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    def within(self, units) -> Limits:
        """The same limits in other units."""
        return Limits(*((end - units.offset) / units.scale for end in (self.low, self.high)))

    def inside(self, rows: np.ndarray) -> np.ndarray:
        """The rows without clipped values."""
        return (rows.min(axis=1) > self.low) & (rows.max(axis=1) < self.high)

    def trusted(self, images: Images, sigma: float) -> np.ndarray:
        """Whether the surroundings of each point, without its own patch, are far from the limits."""
        n_axes, means = images.ndim - 2, images.mean(axis=-1, dtype=np.float32)
        sides = AROUND[n_axes], WITHIN[n_axes]
        wide, narrow = (uniform_filter(means, (0, *(side,) * n_axes), mode="mirror") for side in sides)
        around, within = (side**n_axes for side in sides)
        ring = (around * wide - within * narrow) / (around - within)
        return (ring > self.low + MARGIN * sigma) & (ring < self.high - MARGIN * sigma)


@dataclass(frozen=True)
class Mending:
    """Replaces points that cannot be trusted by the mean of their surroundings before clipping.

    The mean of values min(max(x + σε, low), high) is set equal to their expectation, and solved for x.
    """

    limits: Limits
    sigma: float

    def __call__(self, noisy: Images, estimate: Images) -> Images:
        """The estimate, mended."""
        means = gaussian_filter(noisy, (0, *(BLUR,) * (noisy.ndim - 2), 0))
        return np.where(self.limits.trusted(noisy, self.sigma)[..., None], estimate, self.undone(means))

    def undone(self, means: np.ndarray) -> np.ndarray:
        """The x with E min(max(x + σε, low), high) = means, within the limits."""
        ends = [end for end in (self.limits.low, self.limits.high) if np.isfinite(end)]
        x = np.unique([end + self.sigma * np.linspace(-REACH, REACH, 200) for end in ends])
        found = np.interp(means, self.mean(x), x)
        found = np.where((means > x[0]) & (means < x[-1]), found, means)
        return np.clip(found, self.limits.low, self.limits.high).astype(means.dtype)

    def mean(self, x: np.ndarray) -> np.ndarray:
        """E min(max(x + σε, low), high) = x + σ h((low − x)/σ) − σ h((x − high)/σ), h(t) = E max(t − ε, 0)."""
        below, above = (self.limits.low - x) / self.sigma, (x - self.limits.high) / self.sigma
        return x + self.sigma * (mean_excess(below) - mean_excess(above))


def mean_excess(t: np.ndarray) -> np.ndarray:
    """E max(t − ε, 0) = tΦ(t) + φ(t) of a standard Gaussian ε."""
    finite = np.maximum(t, -40.0)
    return finite * ndtr(finite) + normal_density(finite)


def normal_density(t: np.ndarray) -> np.ndarray:
    """φ(t) = exp(−t²/2)/√(2π)."""
    return np.exp(-0.5 * np.square(t)) / np.sqrt(2 * np.pi)
