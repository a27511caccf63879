"""User-defined noise laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from preimage._typing import Array
from preimage.noise.law import NoiseLaw, check_setting


@dataclass(frozen=True)
class CustomNoise(NoiseLaw):
    """Any function (X, rng) → Y as a noise law.

    Parameters
    ----------
    function : callable
        Takes a floating array and a generator, returns an array of the same shape.

    See Also
    --------
    NoiseLaw : The base class, for a law with its own settings.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import CustomNoise
    >>> drifting = CustomNoise(lambda X, rng: X + rng.uniform(5, 6, (len(X), 1)))  # one offset for every row
    >>> noisy = drifting(np.zeros((2, 3)), 0)
    >>> bool(np.ptp(noisy, axis=1).max() == 0), bool(noisy.min() >= 5)
    (True, True)
    """

    function: Callable[[Array, np.random.Generator], ArrayLike]

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Call the function on a copy, which it may change, and check the result."""
        Y = np.asarray(self.function(X.copy(), rng))
        check_setting(Y.shape == X.shape, f"the noise function returned shape {Y.shape} for data of shape {X.shape}")
        check_setting(Y.dtype.kind in "fiub", f"the noise function returned {Y.dtype}, not real numbers")
        return Y


def as_noise(law: Any) -> NoiseLaw:
    """Return a noise law unchanged, and wrap a function (X, rng) → Y as one."""
    if isinstance(law, NoiseLaw):
        return law
    # A class is callable too, but X would become a parameter of its constructor.
    if callable(law) and not isinstance(law, type):
        return CustomNoise(law)
    raise TypeError(f"noise must be a law such as GaussianNoise(0.25) or a function (X, rng) -> Y, got {law!r}")
