"""Speckle: noise that multiplies the signal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_setting, clipped, is_real, own_clip


@dataclass(frozen=True)
class SpeckleNoise(NoiseLaw):
    """Multiplicative noise, as in radar and ultrasound: y = x + √c·xε + √b·η, ε, η ~ N(0, 1), so var y = c·x² + b.

    Parameters
    ----------
    c : float
        Variance of the factor 1 + √c·ε, positive.
    b : float
        Variance of the additive noise, at least 0.
    clip : tuple (low, high) or None
        The range to which noisy values are clipped; None does not clip.

    See Also
    --------
    PoissonGaussianNoise : Variance that grows linearly.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import SpeckleNoise
    >>> noisy = SpeckleNoise(0.25)(np.full(10000, 0.4), 0)
    >>> float(noisy.mean().round(2)), float(noisy.var().round(2))
    (0.4, 0.04)
    """

    c: float
    b: float = 0.0
    clip: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_setting(is_real(self.c) and 0 < self.c < np.inf, f"c must be > 0 and finite, got {self.c!r}")
        check_setting(is_real(self.b) and 0 <= self.b < np.inf, f"b must be ≥ 0 and finite, got {self.b!r}")
        own_clip(self)

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Multiply, add, then clip."""
        factor, added = rng.standard_normal((2, *X.shape))
        Y: Array = X * (1 + np.sqrt(self.c) * factor) + np.sqrt(self.b) * added
        return clipped(Y, self.clip)
