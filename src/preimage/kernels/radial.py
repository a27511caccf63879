"""Kernels of the Euclidean distance, k(x, y) = κ(‖x − y‖²), each with a length scale ℓ.

A ``length_scale`` is a number, the name of a rule, or None (the rule ``"median"``); a rule computes it from the data
when a model is fitted (see :mod:`preimage.kernels.scales`). Here t = ‖x − y‖².
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from preimage._typing import Array, Generator, Rows
from preimage.kernels.base import Radial, number, positive

MARGIN = 10  # factor between a length scale and the limits at which its square overflows or underflows
PRECISIONS = {np.dtype(np.float32): "single", np.dtype(np.float64): "double"}


def check_square(length_scale: float, dtype: np.dtype) -> None:
    """Refuse a length scale ℓ for which ℓ² overflows or underflows in the precision of the rows."""
    limits = np.finfo(dtype if dtype.kind == "f" else float)
    low, high = MARGIN * sqrt(limits.tiny), sqrt(limits.max) / MARGIN
    if not low <= length_scale <= high:
        raise ValueError(
            f"the square of length_scale={length_scale:.3g} overflows or underflows in "
            f"{PRECISIONS.get(limits.dtype, limits.dtype)} precision: rescale the columns so that the length scale "
            f"lies between {low:.0e} and {high:.0e}."
        )


def _clip(value: Array, power: float = 1.0) -> Array:
    """Kernel values clipped to [tiny^power, 1], where a normalised profile has an inverse."""
    value = value if hasattr(value, "dtype") else np.asarray(value)
    return np.clip(value, float(np.finfo(value.dtype if value.dtype.kind == "f" else float).tiny) ** power, 1)


@dataclass(frozen=True)
class _LengthScaled(Radial):
    length_scale: float | str | None = None

    def __post_init__(self) -> None:
        if self.length_scale is not None and not isinstance(self.length_scale, str):
            positive("length_scale", self.length_scale)
            check_square(float(self.length_scale), np.dtype(float))

    def __call__(self, X: Rows, Y: Rows) -> Array:
        check_square(self._scale, np.result_type(X, Y))
        return super().__call__(X, Y)

    @property
    def _scale(self) -> float:
        return number(self, "length_scale")

    @property
    def _c(self) -> float:
        """2ℓ², the constant c of the papers' Gaussian exp(−t/c)."""
        return 2 * self._scale**2


@dataclass(frozen=True)
class Gaussian(_LengthScaled):
    """exp(−t / 2ℓ²) of the squared distance t; with γ = 1/2ℓ² it is scikit-learn's ``rbf``.

    Parameters
    ----------
    length_scale : float, "median", "mean", "mika" or None
        ℓ, or the rule of :mod:`preimage.kernels.scales` that computes it from the training rows; None is "median".

    See Also
    --------
    Exponential, Matern : Rougher kernels, which fall off more slowly.
    RationalQuadratic : A mixture of Gaussian kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> X, Y = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Gaussian(length_scale=5.0)(X, Y).round(3)
    array([[1.   , 0.607]])
    >>> Gaussian.from_gamma(0.02)
    Gaussian(length_scale=5.0)
    """

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """The kernel exp(−γt)."""
        positive("gamma", gamma)
        return cls(length_scale=1 / sqrt(2 * gamma))

    def profile(self, t: Array) -> Array:
        values = t * (-1 / self._c)
        return np.exp(values, out=values) if isinstance(values, np.ndarray) else np.exp(values)

    @property
    def unit(self) -> float:
        return self._c

    def from_closeness(self, u: np.ndarray) -> np.ndarray:
        np.exp(u, out=u)
        return u

    def derivative(self, t: Array) -> Array:
        return self.profile(t) * (-1 / self._c)

    def log_slope(self, t: Array) -> Array:
        return -t / self._c - log(self._c)

    def inverse(self, value: Array) -> Array:
        return -self._c * np.log(_clip(value))

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        return rng.standard_normal((n, dim)) / self._scale


@dataclass(frozen=True)
class Exponential(_LengthScaled):
    """exp(−√t / ℓ) of the squared distance t; equal to Matérn with ν = 1/2.

    Parameters
    ----------
    length_scale : float, "median", "mean", "mika" or None
        ℓ, or the rule that computes it from the training rows; None is "median".

    See Also
    --------
    Laplacian : The same function of the L1 distance.
    Matern : Smoother kernels of the same family.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Exponential
    >>> X, Y = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Exponential(length_scale=5.0)(X, Y).round(3)
    array([[1.   , 0.368]])
    """

    def profile(self, t: Array) -> Array:
        return np.exp(-np.sqrt(t) / self._scale)

    def derivative(self, t: Array) -> Array:
        """−κ/(2ℓ√t), kept finite at t = 0 where it has a pole."""
        return -np.exp(self.log_slope(t))

    def log_slope(self, t: Array) -> Array:
        root = np.sqrt(np.maximum(t, (1e-8 * self._scale) ** 2))
        return -root / self._scale - np.log(2 * self._scale * root)

    def inverse(self, value: Array) -> Array:
        return (self._scale * np.log(_clip(value))) ** 2

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        return _student_frequencies(n, dim, rng, degrees=1, length_scale=self._scale)


class _PowerOfDistance(_LengthScaled):
    """(1 + t / 2αℓ²)^(−α); subclasses set α."""

    @property
    def _alpha(self) -> float:
        raise NotImplementedError

    def profile(self, t: Array) -> Array:
        return (1 + t / (self._alpha * self._c)) ** -self._alpha

    def derivative(self, t: Array) -> Array:
        return -((1 + t / (self._alpha * self._c)) ** (-self._alpha - 1)) / self._c

    def log_slope(self, t: Array) -> Array:
        return -(self._alpha + 1) * np.log1p(t / (self._alpha * self._c)) - log(self._c)

    def inverse(self, value: Array) -> Array:
        value = _clip(value, power=min(1, self._alpha / 2))  # so that the inverse is finite
        return self._alpha * self._c * (value ** (-1 / self._alpha) - 1)

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        """√τ g / ℓ with g standard normal and τ ~ Gamma(α, rate α)."""
        precision = rng.gamma(self._alpha, 1 / self._alpha, size=(n, 1))
        return np.sqrt(precision) * rng.standard_normal((n, dim)) / self._scale


@dataclass(frozen=True)
class RationalQuadratic(_PowerOfDistance):
    """(1 + t / 2αℓ²)^(−α) of the squared distance t, a mixture of Gaussian kernels of many length scales.

    Parameters
    ----------
    length_scale : float, "median", "mean", "mika" or None
        ℓ, or the rule that computes it from the training rows; None is "median".
    alpha : float
        α > 0; the smaller, the heavier the tail. The kernel approaches the Gaussian as α grows.

    See Also
    --------
    Gaussian : The limit of large α.
    InverseMultiquadric : The kernel with α = 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import RationalQuadratic
    >>> X, Y = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> RationalQuadratic(length_scale=5.0, alpha=1.0)(X, Y).round(3)
    array([[1.   , 0.667]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)

    @property
    def _alpha(self) -> float:
        return float(self.alpha)


@dataclass(frozen=True)
class InverseMultiquadric(_PowerOfDistance):
    """(1 + t / ℓ²)^(−1/2) of the squared distance t, the rational quadratic with α = 1/2.

    Parameters
    ----------
    length_scale : float, "median", "mean", "mika" or None
        ℓ, or the rule that computes it from the training rows; None is "median".

    See Also
    --------
    RationalQuadratic : The family of any α.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import InverseMultiquadric
    >>> X, Y = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> InverseMultiquadric(length_scale=5.0)(X, Y).round(3)
    array([[1.   , 0.707]])
    """

    @property
    def _alpha(self) -> float:
        return 0.5


@dataclass(frozen=True)
class Matern(_LengthScaled):
    """The Matérn kernels with ν = 1/2, 3/2, 5/2, in s = √(2νt)/ℓ: e⁻ˢ, (1 + s)e⁻ˢ, (1 + s + s²/3)e⁻ˢ.

    Parameters
    ----------
    length_scale : float, "median", "mean", "mika" or None
        ℓ, or the rule that computes it from the training rows; None is "median".
    nu : 0.5, 1.5 or 2.5
        The smoothness ν.

    See Also
    --------
    Exponential : The kernel with ν = 1/2.
    Gaussian : The limit of large ν.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Matern
    >>> X, Y = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Matern(length_scale=5.0, nu=1.5)(X, Y).round(3)
    array([[1.   , 0.483]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, not {self.nu!r}.")

    def _s(self, t: Array) -> Array:
        return np.sqrt(2 * float(self.nu) * t) / self._scale

    @property
    def _exponential(self) -> Exponential:
        return Exponential(self._scale)

    def profile(self, t: Array) -> Array:
        if self.nu == 0.5:
            return self._exponential.profile(t)
        s = self._s(t)
        values: Array = (1 + s if self.nu == 1.5 else 1 + s + s**2 / 3) * np.exp(-s)
        return np.minimum(values, 1)  # rounding may exceed 1

    def derivative(self, t: Array) -> Array:
        """−(ν/ℓ²)e⁻ˢ for ν = 3/2, −(ν/3ℓ²)(1 + s)e⁻ˢ for ν = 5/2."""
        return -np.exp(self.log_slope(t))

    def log_slope(self, t: Array) -> Array:
        if self.nu == 0.5:
            return self._exponential.log_slope(t)
        s = self._s(t)
        return log(self.nu / self._scale**2) - s + (0 if self.nu == 1.5 else np.log1p(s) - log(3))

    def inverse(self, value: Array) -> Array:
        if self.nu == 0.5:
            return self._exponential.inverse(value)
        return (self._scale * self._inverse_s(_clip(value))) ** 2 / (2 * float(self.nu))

    def _inverse_s(self, value: Array) -> Array:
        """The s with κ(s) = value: Newton's method on log κ(s), concave and decreasing, from the right of the root.

        The start is at most a quarter too large; after four steps the error is below round-off.
        """
        goal = np.log(value)
        s: Array = np.sqrt((-2.0 if self.nu == 1.5 else -6.0) * goal) - goal  # right of the root
        for _ in range(5):
            polynomial, slope = (s, 1 / (1 + s)) if self.nu == 1.5 else (s + s**2 / 3, (1 + s) / (3 + 3 * s + s**2))
            excess = np.log1p(polynomial) - s - goal
            s = np.maximum(s + excess / np.maximum(s * slope, 1e-30), 0.0)
        return s

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        return _student_frequencies(n, dim, rng, degrees=2 * self.nu, length_scale=self._scale)


def _student_frequencies(n: int, dim: int, rng: Generator, *, degrees: float, length_scale: float) -> Array:
    """Draws from the multivariate Student law (g/ℓ)√(2ν/χ²₂ᵥ), with one χ² per draw for all coordinates."""
    return rng.standard_normal((n, dim)) * np.sqrt(degrees / rng.chisquare(degrees, size=(n, 1))) / length_scale
