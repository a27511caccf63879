"""Noise of photon counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_setting, clipped, is_real, own_clip


@dataclass(frozen=True)
class PoissonNoise(NoiseLaw):
    """Photon counts: y = n/peak with n ~ Poisson(peak · x), so that E y = x and var y = x/peak.

    Parameters
    ----------
    peak : float
        Mean count at x = 1, positive; the smaller, the noisier.

    See Also
    --------
    PoissonGaussianNoise : Counts with readout noise.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import PoissonNoise
    >>> noisy = PoissonNoise(peak=10)(np.full(10000, 0.4), 0)
    >>> float(noisy.mean().round(2)), float(noisy.var().round(2))
    (0.4, 0.04)
    """

    peak: float

    def __post_init__(self) -> None:
        check_setting(is_real(self.peak) and 0 < self.peak < np.inf, f"peak must be > 0 and finite, got {self.peak!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Draw the counts."""
        check_setting(bool(np.all(X >= 0)), "Poisson noise needs values ≥ 0, but X has negative values or NaN")
        return rng.poisson(self.peak * X.astype(float)) / self.peak


@dataclass(frozen=True)
class PoissonGaussianNoise(NoiseLaw):
    """Photon counts with readout noise: y = a·n + √b·ε with n ~ Poisson(x/a), so that var y = a·x + b.

    Parameters
    ----------
    a : float
        The value of one count, positive.
    b : float
        Variance of the Gaussian readout noise, at least 0.
    clip : tuple (low, high) or None
        The range to which noisy values are clipped; None does not clip.

    See Also
    --------
    PoissonNoise : Counts alone.
    GaussianNoise : Readout noise alone.

    References
    ----------
    Foi, Trimeche, Katkovnik & Egiazarian (2008), eq. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import PoissonGaussianNoise
    >>> noisy = PoissonGaussianNoise(a=0.1, b=0.01)(np.full(10000, 0.4), 0)
    >>> float(noisy.mean().round(2)), float(noisy.var().round(2))
    (0.4, 0.05)
    """

    a: float
    b: float
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_setting(is_real(self.a) and 0 < self.a < np.inf, f"a must be > 0 and finite, got {self.a!r}")
        check_setting(is_real(self.b) and 0 <= self.b < np.inf, f"b must be ≥ 0 and finite, got {self.b!r}")
        own_clip(self)

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Draw the counts, add the readout noise, then clip."""
        counted = PoissonNoise(1 / self.a).corrupt(X, rng)
        Y: Array = counted + np.sqrt(self.b) * rng.standard_normal(X.shape)
        return clipped(Y, self.clip)
