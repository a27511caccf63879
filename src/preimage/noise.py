"""Noise laws: how clean data become noisy.

A law is a frozen dataclass that is called as ``law(X, rng)`` and returns a corrupted copy of ``X``. Floating types are
kept, other real types become float64, and ``X`` itself is never changed.

>>> import numpy as np
>>> Y = GaussianNoise(0.25)(np.zeros((2, 3), dtype=np.float32), np.random.default_rng(0))
>>> Y.shape, Y.dtype
((2, 3), dtype('float32'))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "ColumnNoise",
    "CustomNoise",
    "GaussianNoise",
    "Masking",
    "NoiseLaw",
    "PoissonGaussianNoise",
    "PoissonNoise",
    "RandomImpulses",
    "SaltAndPepper",
    "SpeckleNoise",
]

Array = NDArray[Any]


class NoiseLaw(ABC):
    """A law by which data are corrupted; a subclass defines ``corrupt``.

    See Also
    --------
    CustomNoise : A law from a function, without a class.
    GaussianNoise : The law used most.

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
            In X's dtype if that is a floating one, else in float64.
        """
        X = _floating(X)
        return np.asarray(self.corrupt(X, np.random.default_rng(rng)), dtype=X.dtype)

    @abstractmethod
    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Return a corrupted copy of a floating array."""


@dataclass(frozen=True)
class GaussianNoise(NoiseLaw):
    r"""Additive white Gaussian noise, y = x + σε with ε ~ N(0, 1).

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
        _require(_is_real(self.sigma) and 0 <= self.sigma < np.inf, f"sigma must be ≥ 0 and finite, got {self.sigma!r}")
        _require(self.clip is None or _is_range(self.clip), f"clip must be None or low < high, got {self.clip!r}")
        if self.clip is not None:
            object.__setattr__(self, "clip", tuple(self.clip))  # lists cannot be hashed

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Add the noise, then clip."""
        Y = X + float(self.sigma) * rng.standard_normal(X.shape).astype(X.dtype)
        return Y if self.clip is None else np.clip(Y, *self.clip)


@dataclass(frozen=True)
class ColumnNoise(NoiseLaw):
    r"""Additive Gaussian noise with a standard deviation for every column, yⱼ = xⱼ + σⱼε with ε ~ N(0, 1).

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
        fine = len(self.sigmas) > 0 and all(_is_real(sigma) and 0 <= sigma < np.inf for sigma in self.sigmas)
        _require(fine, f"sigmas must be ≥ 0 and finite, got {self.sigmas!r}")
        object.__setattr__(self, "sigmas", tuple(float(sigma) for sigma in self.sigmas))

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Add the noise."""
        noisy: Array = X + np.asarray(self.sigmas, dtype=X.dtype) * rng.standard_normal(X.shape).astype(X.dtype)
        return noisy


@dataclass(frozen=True)
class _Impulses(NoiseLaw):
    """Values that are lost with probability p, to others from low to high."""

    p: float
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _require_probability(self.p)
        _require(_is_range((self.low, self.high)), f"low must be < high, got {self.low!r} and {self.high!r}")


@dataclass(frozen=True)
class SaltAndPepper(_Impulses):
    """Impulse noise: each value becomes low or high, with probability p/2 each, and stays otherwise.

    Parameters
    ----------
    p : float
        Probability in [0, 1] that a value is lost.
    low, high : float
        What lost values become.

    See Also
    --------
    Masking : Values lost to one value.

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
    SaltAndPepper : Values lost to the ends of the range.

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


@dataclass(frozen=True)
class Masking(NoiseLaw):
    """Lost values: each value is replaced with probability p.

    Parameters
    ----------
    p : float
        Probability in [0, 1] that a value is lost.
    value : float
        What lost values become; NaN marks them as missing.

    See Also
    --------
    SaltAndPepper : Values lost to one of two values.
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
        _require_probability(self.p)
        _require(_is_real(self.value), f"value must be a number, got {self.value!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Overwrite a random subset of the values."""
        return np.where(rng.random(X.shape) < self.p, self.value, X)


@dataclass(frozen=True)
class PoissonNoise(NoiseLaw):
    """Photon counts: y = n/peak with n ~ Poisson(peak · x), so that E y = x and var y = x/peak.

    Parameters
    ----------
    peak : float
        Mean count at x = 1, positive; the smaller, the noisier.

    See Also
    --------
    PoissonGaussianNoise : Counts with noise of reading out.

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
        _require(_is_real(self.peak) and 0 < self.peak < np.inf, f"peak must be > 0 and finite, got {self.peak!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Count photons."""
        _require(bool(np.all(X >= 0)), "Poisson noise needs intensities: X holds negative values or NaN")
        return rng.poisson(self.peak * X.astype(float)) / self.peak


@dataclass(frozen=True)
class PoissonGaussianNoise(NoiseLaw):
    """Light that is counted and then read out: y = a·n + √b·ε with n ~ Poisson(x/a), so that var y = a·x + b.

    Parameters
    ----------
    a : float
        What one count adds to a value, positive.
    b : float
        Variance of the Gaussian noise of reading out, at least 0.
    clip : tuple (low, high) or None
        The range that noisy values are clipped to.

    See Also
    --------
    PoissonNoise : Counts alone.
    GaussianNoise : Noise of reading out alone.

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
        _require(_is_real(self.a) and 0 < self.a < np.inf, f"a must be > 0 and finite, got {self.a!r}")
        _require(_is_real(self.b) and 0 <= self.b < np.inf, f"b must be ≥ 0 and finite, got {self.b!r}")
        _require(self.clip is None or _is_range(self.clip), f"clip must be None or low < high, got {self.clip!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Count, read out, then clip."""
        counted = PoissonNoise(1 / self.a).corrupt(X, rng)
        Y: Array = counted + np.sqrt(self.b) * rng.standard_normal(X.shape)
        clipped: Array = Y if self.clip is None else np.clip(Y, *self.clip)
        return clipped


@dataclass(frozen=True)
class SpeckleNoise(NoiseLaw):
    """Multiplicative noise, as of radar and ultrasound: y = x + √c·xε + √b·η with ε, η ~ N(0, 1): var y = c·x² + b.

    Parameters
    ----------
    c : float
        Variance of the factor 1 + √c·ε, positive.
    b : float
        Variance of the additive noise, at least 0.
    clip : tuple (low, high) or None
        The range that noisy values are clipped to.

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
        _require(_is_real(self.c) and 0 < self.c < np.inf, f"c must be > 0 and finite, got {self.c!r}")
        _require(_is_real(self.b) and 0 <= self.b < np.inf, f"b must be ≥ 0 and finite, got {self.b!r}")
        _require(self.clip is None or _is_range(self.clip), f"clip must be None or low < high, got {self.clip!r}")

    def corrupt(self, X: Array, rng: np.random.Generator) -> Array:
        """Multiply, add, then clip."""
        factor, added = rng.standard_normal((2, *X.shape))
        Y: Array = X * (1 + np.sqrt(self.c) * factor) + np.sqrt(self.b) * added
        clipped: Array = Y if self.clip is None else np.clip(Y, *self.clip)
        return clipped


@dataclass(frozen=True)
class CustomNoise(NoiseLaw):
    """Any function (X, rng) → Y as a noise law.

    Parameters
    ----------
    function : callable
        Takes a floating array and a generator, returns an array of the same shape.

    See Also
    --------
    NoiseLaw : The base class, for a law with settings of its own.

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
        """Call the function on a copy, so that it may work in place, and check what it returns."""
        Y = np.asarray(self.function(X.copy(), rng))
        _require(Y.shape == X.shape, f"the noise function returned shape {Y.shape} for data of shape {X.shape}")
        _require(Y.dtype.kind in "fiub", f"the noise function returned {Y.dtype}, not real numbers")
        return Y


def as_noise(law: NoiseLaw | Callable[[Array, np.random.Generator], ArrayLike]) -> NoiseLaw:
    """Return a noise law unchanged, and wrap a function (X, rng) → Y as one."""
    if isinstance(law, NoiseLaw):
        return law
    # A class is callable too, but its constructor would take X for a parameter.
    if callable(law) and not isinstance(law, type):
        return CustomNoise(law)
    raise TypeError(f"noise must be a law such as GaussianNoise(0.25) or a function (X, rng) -> Y, got {law!r}")


def _floating(X: ArrayLike) -> Array:
    X = np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"noise needs a dense array of real numbers, got dtype {X.dtype}")
    return X if X.dtype.kind == "f" else X.astype(float)


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)


def _require_probability(p: Any) -> None:
    _require(_is_real(p) and 0 <= p <= 1, f"p must be a probability in [0, 1], got {p!r}")


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_range(pair: Any) -> bool:
    return (
        isinstance(pair, (tuple, list))
        and len(pair) == 2
        and all(_is_real(end) and not isnan(end) for end in pair)
        and pair[0] < pair[1]
    )
