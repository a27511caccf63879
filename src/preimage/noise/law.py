"""The base class of noise laws, and the checks that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from preimage._typing import Array


class NoiseLaw(ABC):
    """The base class of noise laws; a subclass defines ``corrupt``.

    See Also
    --------
    CustomNoise : A law from a function, without a class.
    GaussianNoise : The most common law.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.noise import NoiseLaw
    >>> class SignFlips(NoiseLaw):
    ...     def corrupt(self, X, rng):
    ...         return X * rng.choice([-1, 1], X.shape)
    >>> np.abs(SignFlips()([[1, 2], [3, 4]], 0))
    array([[1., 2.],
           [3., 4.]])
    """

    def __call__(self, X: ArrayLike, rng: np.random.Generator | int | None) -> Array:
        """Return a corrupted copy of X.

        Parameters
        ----------
        X : array_like of real numbers, any shape
            Clean data.
        rng : numpy.random.Generator, int or None
            The source of randomness: a generator, a seed, or None for fresh randomness.

        Returns
        -------
        Y : ndarray of the shape of X
            In the dtype of X if it is floating, else in float64.
        """
        X = real_array(X)
        return np.asarray(self.corrupt(X, np.random.default_rng(rng)), dtype=X.dtype)

    @abstractmethod
    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Return a corrupted copy of a floating array."""


def real_array(X: ArrayLike) -> Array:
    """Real numbers as a floating array; refuse anything else."""
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"noise needs a dense array of real numbers, got dtype {X.dtype}")
    return X if X.dtype.kind == "f" else X.astype(float)


def check_setting(condition: bool, sentence: str) -> None:
    """Raise ValueError with this sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def check_probability(p: Any) -> None:
    """Refuse anything but a number in [0, 1]."""
    check_setting(is_real(p) and 0 <= p <= 1, f"p must be a probability in [0, 1], got {p!r}")


def own_clip(law: Any) -> None:
    """Check the clipping range of a law, and store it as a tuple, since lists cannot be hashed."""
    check_setting(law.clip is None or is_range(law.clip), f"clip must be None or low < high, got {law.clip!r}")
    if law.clip is not None:
        object.__setattr__(law, "clip", tuple(law.clip))


def clipped(Y: Array, clip: tuple[float, float] | None) -> Array:
    """Y clipped to a range, or Y itself if the range is None."""
    return Y if clip is None else np.clip(Y, *clip)


def is_real(value: Any) -> bool:
    """Whether a value is one real number."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_range(pair: Any) -> bool:
    """Whether a value is a pair (low, high) with low < high."""
    return (
        isinstance(pair, (tuple, list))
        and len(pair) == 2
        and all(is_real(end) and not isnan(end) for end in pair)
        and pair[0] < pair[1]
    )
