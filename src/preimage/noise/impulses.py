"""Impulse noise, which replaces a share of the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_probability, check_setting, is_range


@dataclass(frozen=True)
class _Impulses(NoiseLaw):
    """Noise that replaces values by others between low and high, with probability p."""

    p: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_probability(self.p)
        check_setting(is_range((self.low, self.high)), f"low must be < high, got {self.low!r} and {self.high!r}")


@dataclass(frozen=True)
class SaltAndPepper(_Impulses):
    """Impulse noise: each value becomes low or high, with probability p/2 each, and stays otherwise.

    Parameters
    ----------
    p : float
        Probability in [0, 1] that a value is lost.
    low, high : float
        The replacements of lost values.

    See Also
    --------
    Masking : Replaces lost values by one value.

    References
    ----------
    Mika et al. (1998), Figure 4, call it speckle noise.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import SaltAndPepper
    >>> noisy = SaltAndPepper(0.4)(np.full(10000, 0.5), 0)
    >>> values, counts = np.unique(noisy, return_counts=True)
    >>> values, (counts / 10000).round(1)
    (array([0. , 0.5, 1. ]), array([0.2, 0.6, 0.2]))
    """

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Overwrite a random subset of the values."""
        u = rng.random(X.shape)
        return np.where(u < self.p / 2, self.low, np.where(u > 1 - self.p / 2, self.high, X))


@dataclass(frozen=True)
class RandomImpulses(_Impulses):
    """Impulse noise of any value: each value becomes a uniform draw from [low, high] with probability p.

    Parameters
    ----------
    p : float
        Probability in [0, 1] that a value is lost.
    low, high : float
        The range of the draws.

    See Also
    --------
    SaltAndPepper : Replaces lost values by the ends of the range.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import RandomImpulses
    >>> noisy = RandomImpulses(0.4)(np.full(10000, 0.5), 0)
    >>> float((noisy == 0.5).mean().round(1)), float(noisy.min().round(1)), float(noisy.max().round(1))
    (0.6, 0.0, 1.0)
    """

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Overwrite a random subset of the values."""
        return np.where(rng.random(X.shape) < self.p, rng.uniform(self.low, self.high, X.shape), X)
