"""Gaussian noise: one level, or one per column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_setting, clipped, is_real, own_clip


@dataclass(frozen=True)
class GaussianNoise(NoiseLaw):
    """Additive white Gaussian noise, y = x + σε with ε ~ N(0, 1).

    Parameters
    ----------
    sigma : float
        Standard deviation σ ≥ 0.
    clip : tuple (low, high) or None
        The range to which noisy values are clipped, as in an image file; None does not clip.

    See Also
    --------
    ColumnNoise : A noise level for every column.
    PoissonGaussianNoise : Noise that grows with the signal.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import GaussianNoise
    >>> noisy = GaussianNoise(0.3, clip=(0, 1))(np.full((100, 100), 0.5), 0)
    >>> float(noisy.min()), float(noisy.mean().round(2)), float(noisy.max())
    (0.0, 0.5, 1.0)
    """

    sigma: float
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_setting(
            is_real(self.sigma) and 0 <= self.sigma < np.inf, f"sigma must be ≥ 0 and finite, got {self.sigma!r}"
        )
        own_clip(self)

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Add the noise, then clip."""
        Y = X + float(self.sigma) * rng.standard_normal(X.shape).astype(X.dtype)
        return clipped(Y, self.clip)


@dataclass(frozen=True)
class ColumnNoise(NoiseLaw):
    """Additive Gaussian noise with a standard deviation for every column, yⱼ = xⱼ + σⱼε with ε ~ N(0, 1).

    Parameters
    ----------
    sigmas : tuple of floats
        Standard deviations σⱼ ≥ 0, one per column.

    See Also
    --------
    GaussianNoise : One noise level for all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import ColumnNoise
    >>> noisy = ColumnNoise((0.0, 0.1, 2.0))(np.zeros((10000, 3)), 0)
    >>> noisy.std(axis=0).round(1)
    array([0. , 0.1, 2. ])
    """

    sigmas: tuple[float, ...]

    def __post_init__(self) -> None:
        fine = len(self.sigmas) > 0 and all(is_real(sigma) and 0 <= sigma < np.inf for sigma in self.sigmas)
        check_setting(fine, f"sigmas must be ≥ 0 and finite, got {self.sigmas!r}")
        object.__setattr__(self, "sigmas", tuple(float(sigma) for sigma in self.sigmas))

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Add the noise."""
        return X + np.asarray(self.sigmas, dtype=X.dtype) * rng.standard_normal(X.shape).astype(X.dtype)
