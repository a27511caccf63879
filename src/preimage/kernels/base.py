"""The base classes of kernels, and the abilities that a kernel may have.

A kernel is a small frozen object, called with two matrices of rows. Every kernel computes its values,
``kernel(X, Y)`` and ``kernel.diagonal(X)``. Its formula decides which further abilities it has. A kernel without an
ability does not have the methods:

===============  =======================================  ======================================================
ability          methods                                  which kernels have it
===============  =======================================  ======================================================
``profile``      ``profile(t)``, ``derivative(t)``        radial and dot-product ones; sums, products and
                                                          multiples within one of these families
``inverse``      ``inverse(value)``, besides a profile    all radial and dot-product ones here; multiples of them
``log_slope``    ``log_slope(t)``, besides a profile      radial ones; their sums
``other_root``   ``other_root(t, hint)``, besides an      polynomials of even degree
                 inverse
``gradient``     ``gradient(Z, X, W)``,                   all but functions and precomputed matrices
                 ``diagonal_gradient(Z)``
``frequencies``  ``frequencies(n, dim, rng)``             radial ones and the Laplacian; sums, products, multiples
===============  =======================================  ======================================================

Here t is the squared distance or the inner product of two points, as ``kernel.argument`` says. :class:`Radial` kernels
also have ``unit`` and ``from_closeness``, with which tiles evaluate them in bulk.

Algorithms test for an ability with :func:`knows`, or insist on it before any work with :func:`require`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast, overload

import numpy as np
from sklearn.utils.metaestimators import available_if

from preimage._typing import Array, Generator, Points, Rows
from preimage.kernels.geometry import inner_products, squared_distances, squared_norms

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from preimage.kernels.composites import Sum

Method = TypeVar("Method", bound=Callable[..., Any])
Argument = Literal["distance", "inner"] | None
METHODS = {"profile": ("profile", "derivative"), "gradient": ("gradient", "diagonal_gradient")}  # others are one each
ARTICLES = {"profile": "a profile", "inverse": "an inverse", "gradient": "a gradient"}  # abilities in messages


class Profiled(Protocol):
    """Values are a function κ of t, the squared distance or the inner product."""

    def profile(self, t: Array) -> Array:
        """κ(t)."""

    def derivative(self, t: Array) -> Array:
        """κ′(t)."""


class Inverted(Profiled, Protocol):
    """The profile can be inverted."""

    def inverse(self, value: Array) -> Array:
        """The t with κ(t) = value; values out of reach are clipped."""


class TwoRooted(Inverted, Protocol):
    """The profile takes every value twice."""

    def other_root(self, t: Array, hint: Array) -> Array:
        """The argument on the hint's side, out of the two with the value κ(t)."""


class LogSloped(Profiled, Protocol):
    """The profile falls, and the logarithm of its slope never underflows."""

    def log_slope(self, t: Array) -> Array:
        """log(−κ′(t)), finite even where κ′ underflows to 0."""


class Differentiable(Protocol):
    """The values have gradients."""

    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """For every row z of Z the vector Σᵢ wᵢ ∇_z k(z, xᵢ), with w the matching row of W."""

    def diagonal_gradient(self, Z: Points) -> Array:
        """∇_z k(z, z) for every row z."""


class WithFrequencies(Protocol):
    """The kernel is shift-invariant, and its spectral law can be sampled."""

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        """Draws (n, dim) from the normalised spectral law: E cos(ωᵀ(x − y)) = k(x, y) / k(x, x)."""


@overload
def knows(kernel: object, ability: Literal["profile"], /) -> TypeIs[Profiled]: ...
@overload
def knows(kernel: object, ability: Literal["inverse"], /) -> TypeIs[Inverted]: ...
@overload
def knows(kernel: object, ability: Literal["other_root"], /) -> TypeIs[TwoRooted]: ...
@overload
def knows(kernel: object, ability: Literal["log_slope"], /) -> TypeIs[LogSloped]: ...
@overload
def knows(kernel: object, ability: Literal["gradient"], /) -> TypeIs[Differentiable]: ...
@overload
def knows(kernel: object, ability: Literal["frequencies"], /) -> TypeIs[WithFrequencies]: ...
@overload
def knows(kernel: object, /, *abilities: str) -> bool: ...
def knows(kernel: object, /, *abilities: str) -> bool:
    """Whether a kernel has all the named abilities, see :mod:`preimage.kernels.base`.

    After a check of a single ability, type checkers know that its methods exist.

    See Also
    --------
    Kernel : The base class of all kernels.

    Examples
    --------
    >>> from preimage.kernels import Cosine, Gaussian, knows
    >>> knows(Gaussian(1.0), "profile", "inverse", "gradient")
    True
    >>> knows(Cosine(), "profile")
    False
    """
    return not _missing(kernel, abilities)


def require(kernel: object, who: str, *abilities: str, serve: str = "") -> None:
    """Refuse a kernel that lacks an ability that ``who`` needs; ``serve`` names kernels or methods that have it."""
    missing = _missing(kernel, abilities)
    if missing:
        lacking = " and ".join(ARTICLES.get(ability, ability) for ability in missing)
        raise ValueError(f"{who} needs a kernel with {lacking}, which {kernel!r} does not have. {serve}".strip())


def available_where(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """A decorator for methods that exist only on kernels that pass the check."""
    return cast(Callable[[Method], Method], available_if(check))


def _missing(kernel: object, abilities: tuple[str, ...]) -> list[str]:
    return [
        ability
        for ability in abilities
        if not all(hasattr(kernel, method) for method in METHODS.get(ability, (ability,)))
    ]


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and isfinite(value)


def positive(name: str, value: Any) -> None:
    """Refuse a parameter that is not a positive finite number."""
    if not is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a positive finite number, not {value!r}.")


def finite(name: str, value: Any) -> None:
    """Refuse a parameter that is not a finite number."""
    if not is_number(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}.")


def number(kernel: object, name: str) -> float:
    """A parameter of a kernel as a float; refuse one that is not yet computed from data."""
    value = getattr(kernel, name)
    if is_number(value):
        return float(value)
    raise ValueError(
        f"the {name} of {kernel!r} is not a number yet: fit a model with this kernel, or call "
        "preimage.kernels.scales.resolve(kernel, X) to compute it from data."
    )


class Kernel(ABC):
    """A function of two points, evaluated on matrices of rows: ``kernel(X, Y)[i, j]`` = k(xᵢ, yⱼ).

    See Also
    --------
    Function : A kernel from a function, without a class.
    Radial, DotProduct : Base classes of kernels with a profile.
    knows : Which abilities a kernel has.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Kernel
    >>> class Smaller(Kernel):
    ...     def __call__(self, X, Y):
    ...         return np.minimum(X, Y.T)  # of rows with one column
    ...
    ...     def diagonal(self, X):
    ...         return X[:, 0]
    >>> Smaller()(np.array([[1.0], [2.0]]), np.array([[3.0], [0.5]]))
    array([[1. , 0.5],
           [2. , 0.5]])
    """

    argument: Argument = None
    positive_definite: bool = True
    accepts_sparse: bool = True

    @abstractmethod
    def __call__(self, X: Rows, Y: Rows) -> Array:
        """Kernel values between the rows of X and the rows of Y."""

    @abstractmethod
    def diagonal(self, X: Rows) -> Array:
        """k(x, x) for every row x."""

    def __add__(self, other: Kernel) -> Sum:
        from preimage.kernels.composites import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from preimage.kernels.composites import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if is_number(other) else NotImplemented

    __rmul__ = __mul__


class Radial(Kernel):
    """k(x, y) = κ(‖x − y‖²); a subclass defines ``profile``, ``derivative`` and ``log_slope``.

    See Also
    --------
    DotProduct : Kernels of the inner product.
    Gaussian : The most common radial kernel.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from preimage.kernels import Radial
    >>> @dataclass(frozen=True)
    ... class Cauchy(Radial):
    ...     def profile(self, t):
    ...         return 1 / (1 + t)
    ...
    ...     def derivative(self, t):
    ...         return -1 / (1 + t) ** 2
    ...
    ...     def log_slope(self, t):
    ...         return -2 * np.log1p(t)
    >>> Cauchy()(np.array([[0.0, 0.0]]), np.array([[0.0, 1.0], [3.0, 4.0]])).round(3)
    array([[0.5  , 0.038]])
    """

    argument: Argument = "distance"

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """κ(t), t the squared distance."""

    @abstractmethod
    def derivative(self, t: Array) -> Array:
        """κ′(t), negative: these profiles fall with the distance."""

    @abstractmethod
    def log_slope(self, t: Array) -> Array:
        """log(−κ′(t)), finite even where κ′ underflows to 0."""

    @property
    def unit(self) -> float:
        """The unit of the squared distances that ``from_closeness`` takes."""
        return 1.0

    def from_closeness(self, u: Array) -> Array:
        """κ(t) from u = −t / unit ≤ 0. It may overwrite u, because tiles spend most of their time here."""
        return self.profile(np.negative(u, out=u))

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.profile(squared_distances(X, Y))

    def diagonal(self, X: Rows) -> Array:
        return np.full(X.shape[0], self.profile(np.zeros((), dtype=X.dtype)), dtype=X.dtype)

    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """Σᵢ wᵢ ∇κ(‖z − xᵢ‖²) = 2 Σᵢ wᵢκ′ᵢ (z − xᵢ)."""
        weights: Array = 2 * W * self.derivative(squared_distances(Z, X))
        total: Array = weights.sum(axis=1, keepdims=True)
        pulled: Array = weights @ X
        return total * Z - pulled

    def diagonal_gradient(self, Z: Points) -> Array:
        """∇_z k(z, z) = 0."""
        return np.zeros_like(Z)


class DotProduct(Kernel):
    """k(x, y) = κ(xᵀy); a subclass defines ``profile`` and ``derivative``.

    See Also
    --------
    Radial : Kernels of the distance.
    Polynomial : The most common dot-product kernel.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from preimage.kernels import DotProduct
    >>> @dataclass(frozen=True)
    ... class Exponentiated(DotProduct):
    ...     def profile(self, t):
    ...         return np.exp(t)
    ...
    ...     def derivative(self, t):
    ...         return np.exp(t)
    >>> Exponentiated()(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [1.0, 0.0]])).round(3)
    array([[1.   , 2.718]])
    """

    argument: Argument = "inner"

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """κ(t), t the inner product."""

    @abstractmethod
    def derivative(self, t: Array) -> Array:
        """κ′(t)."""

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.profile(inner_products(X, Y))

    def diagonal(self, X: Rows) -> Array:
        return self.profile(squared_norms(X))

    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """Σᵢ wᵢ ∇κ(zᵀxᵢ) = Σᵢ wᵢκ′ᵢ xᵢ."""
        return (W * self.derivative(inner_products(Z, X))) @ X

    def diagonal_gradient(self, Z: Points) -> Array:
        """∇_z κ(zᵀz) = 2κ′(zᵀz) z."""
        return 2 * self.derivative(squared_norms(Z))[:, None] * Z
