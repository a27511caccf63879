"""Noise that replaces values by a constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_probability, check_setting, is_real


@dataclass(frozen=True)
class Masking(NoiseLaw):
    """Lost values: each value is replaced by a constant with probability p.

    Parameters
    ----------
    p : float
        Probability in [0, 1] that a value is lost.
    value : float
        The replacement of lost values; NaN marks them as missing.

    See Also
    --------
    SaltAndPepper : Replaces lost values by one of two values.
    preimage.Imputer : Fills missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import Masking
    >>> noisy = Masking(0.25, value=np.nan)(np.ones(10000), 0)
    >>> float(np.isnan(noisy).mean().round(2))
    0.25
    """

    p: float
    value: float = 0.0

    def __post_init__(self) -> None:
        check_probability(self.p)
        check_setting(is_real(self.value), f"value must be a number, got {self.value!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Overwrite a random subset of the values."""
        return np.where(rng.random(X.shape) < self.p, self.value, X)
