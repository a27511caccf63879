"""What a kernel is: one formula, and the abilities that follow from it.

A kernel is a small frozen object that is called with two matrices of rows. Beyond its values it may know five things,
each present only where it exists, so that ``hasattr`` tells:

``profile(t)``
    its value as a function of t, the squared distance or the inner product of two points (``argument`` says which);
``derivative(t)``
    the profile's derivative κ′(t);
``inverse(value)``
    from a kernel value back to t;
``frequencies(n, dim, rng)``
    n draws (n, dim) from its spectral law, normalised: E cos(ωᵀ(x − y)) = k(x, y) / k(x, x);
``gradient(Z, X, W)``
    for every row z of Z the vector Σᵢ wᵢ ∇_z k(z, xᵢ), with w the matching row of W.

An algorithm asks for the abilities it needs by :func:`require` and is refused before any work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from preimage.kernels.geometry import inner_products, squared_distances, squared_norms

Argument = Literal["distance", "inner"] | None


def knows(kernel: object, *abilities: str) -> bool:
    """Whether the kernel has all the named abilities."""
    return all(hasattr(kernel, ability) for ability in abilities)


def require(kernel: object, who: str, *abilities: str, serve: str = "") -> None:
    """Refuse, with a sentence, a kernel that lacks an ability which ``who`` needs."""
    missing = [ability for ability in abilities if not hasattr(kernel, ability)]
    if missing:
        raise ValueError(
            f"{who} needs the {' and the '.join(missing)} of a kernel, which {kernel!r} has not. {serve}".strip()
        )


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number (True and False are not)."""
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
    """A parameter that must have become a number by now."""
    value = getattr(kernel, name)
    if is_number(value):
        return float(value)
    raise ValueError(
        f"{kernel!r} has no number for its {name} yet: fit a model with it, or call "
        "preimage.kernels.scales.resolve(kernel, X) to take one from data."
    )


class Kernel(ABC):
    """A function of two points, given on matrices of rows: ``kernel(X, Y)[i, j]`` = k(xᵢ, yⱼ)."""

    argument: Argument = None
    positive_definite: bool = True
    accepts_sparse: bool = True

    if TYPE_CHECKING:  # the abilities, which a kernel may have or lack

        def __getattr__(self, name: str) -> Any: ...

    @abstractmethod
    def __call__(self, X, Y) -> np.ndarray:
        """Kernel values between the rows of X and the rows of Y."""

    @abstractmethod
    def diagonal(self, X) -> np.ndarray:
        """k(x, x) for every row x."""

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if is_number(other) else NotImplemented

    __rmul__ = __mul__


class Radial(Kernel):
    """k(x, y) = κ(‖x − y‖²); a subclass writes ``profile`` and ``derivative``."""

    argument: Argument = "distance"

    @abstractmethod
    def profile(self, t) -> Any:
        """κ(t), t the squared distance."""

    @abstractmethod
    def derivative(self, t) -> Any:
        """κ′(t), negative: these profiles fall with the distance."""

    @abstractmethod
    def log_slope(self, t) -> Any:
        """log(−κ′(t)), which stays finite where κ′ has long become 0 in floating point."""

    @property
    def unit(self) -> float:
        """What ``from_closeness`` wants squared distances divided by."""
        return 1.0

    def from_closeness(self, u: np.ndarray) -> np.ndarray:
        """κ(t) from u = −t / unit ≤ 0, which may be overwritten; for the bulk of the work."""
        return self.profile(np.negative(u, out=u))

    def __call__(self, X, Y) -> np.ndarray:
        return self.profile(squared_distances(X, Y))

    def diagonal(self, X) -> np.ndarray:
        return np.full(X.shape[0], self.profile(np.zeros((), dtype=X.dtype)), dtype=X.dtype)

    def gradient(self, Z, X, W) -> np.ndarray:
        """Σᵢ wᵢ ∇κ(‖z − xᵢ‖²) = 2 Σᵢ wᵢκ′ᵢ (z − xᵢ)."""
        weights = 2 * W * self.derivative(squared_distances(Z, X))
        return weights.sum(axis=1, keepdims=True) * Z - weights @ X

    def diagonal_gradient(self, Z) -> np.ndarray:
        """∇_z k(z, z) = 0."""
        return np.zeros_like(Z)


class DotProduct(Kernel):
    """k(x, y) = κ(xᵀy); a subclass writes ``profile`` and ``derivative``."""

    argument: Argument = "inner"

    @abstractmethod
    def profile(self, t) -> Any:
        """κ(t), t the inner product."""

    @abstractmethod
    def derivative(self, t) -> Any:
        """κ′(t)."""

    def __call__(self, X, Y) -> np.ndarray:
        return self.profile(inner_products(X, Y))

    def diagonal(self, X) -> np.ndarray:
        return self.profile(squared_norms(X))

    def gradient(self, Z, X, W) -> np.ndarray:
        """Σᵢ wᵢ ∇κ(zᵀxᵢ) = Σᵢ wᵢκ′ᵢ xᵢ."""
        return (W * self.derivative(inner_products(Z, X))) @ X

    def diagonal_gradient(self, Z) -> np.ndarray:
        """∇_z κ(zᵀz) = 2κ′(zᵀz) z."""
        return 2 * self.derivative(squared_norms(Z))[:, None] * Z


def _parts_know(*abilities: str):
    return lambda kernel: all(knows(part, *abilities) for part in kernel.parts)


def _profiled(*abilities: str):
    return lambda kernel: kernel.argument is not None and all(knows(part, *abilities) for part in kernel.parts)


class _Composite(Kernel):
    """A kernel made of kernels: it knows what all its parts know."""

    @property
    def parts(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def argument(self) -> Argument:  # type: ignore[override]
        shared = {part.argument for part in self.parts}
        return shared.pop() if len(shared) == 1 else None

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return all(part.positive_definite for part in self.parts)

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(part.accepts_sparse for part in self.parts)


@dataclass(frozen=True)
class _Pair(_Composite):
    left: Any
    right: Any

    def __post_init__(self):
        for part in self.parts:
            if not isinstance(part, Kernel):
                raise TypeError(f"a {type(self).__name__} is made of kernels, not of {part!r}.")

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.left, self.right


@dataclass(frozen=True)
class Sum(_Pair):
    """k = left + right."""

    def __call__(self, X, Y) -> np.ndarray:
        return self.left(X, Y) + self.right(X, Y)

    def diagonal(self, X) -> np.ndarray:
        return self.left.diagonal(X) + self.right.diagonal(X)

    @available_if(_profiled("profile"))
    def profile(self, t):
        return self.left.profile(t) + self.right.profile(t)

    @available_if(_profiled("derivative"))
    def derivative(self, t):
        return self.left.derivative(t) + self.right.derivative(t)

    @available_if(_profiled("log_slope"))
    def log_slope(self, t):
        return np.logaddexp(self.left.log_slope(t), self.right.log_slope(t))

    @available_if(_parts_know("gradient"))
    def gradient(self, Z, X, W) -> np.ndarray:
        return self.left.gradient(Z, X, W) + self.right.gradient(Z, X, W)

    @available_if(_parts_know("diagonal_gradient"))
    def diagonal_gradient(self, Z) -> np.ndarray:
        return self.left.diagonal_gradient(Z) + self.right.diagonal_gradient(Z)

    @available_if(_parts_know("frequencies"))
    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
        """Draws from the mixture of the two laws, weighted by k(x, x)."""
        a, b = (part.diagonal(np.zeros((1, dim)))[0] for part in self.parts)
        from_left = rng.random(n) < a / (a + b)
        return np.where(from_left[:, None], self.left.frequencies(n, dim, rng), self.right.frequencies(n, dim, rng))


@dataclass(frozen=True)
class Product(_Pair):
    """k = left · right."""

    def __call__(self, X, Y) -> np.ndarray:
        return self.left(X, Y) * self.right(X, Y)

    def diagonal(self, X) -> np.ndarray:
        return self.left.diagonal(X) * self.right.diagonal(X)

    @available_if(_profiled("profile"))
    def profile(self, t):
        return self.left.profile(t) * self.right.profile(t)

    @available_if(_profiled("profile", "derivative"))
    def derivative(self, t):
        left, right = self.left, self.right
        return left.derivative(t) * right.profile(t) + left.profile(t) * right.derivative(t)

    @available_if(_parts_know("gradient"))
    def gradient(self, Z, X, W) -> np.ndarray:
        """The product rule: ∇(ab) with weights w is ∇a with weights wb plus ∇b with weights wa."""
        return self.left.gradient(Z, X, W * self.right(Z, X)) + self.right.gradient(Z, X, W * self.left(Z, X))

    @available_if(_parts_know("diagonal_gradient"))
    def diagonal_gradient(self, Z) -> np.ndarray:
        left, right = self.left, self.right
        return (
            left.diagonal_gradient(Z) * right.diagonal(Z)[:, None]
            + right.diagonal_gradient(Z) * left.diagonal(Z)[:, None]
        )

    @available_if(_parts_know("frequencies"))
    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
        """A product of kernels is a sum of independent frequencies."""
        return self.left.frequencies(n, dim, rng) + self.right.frequencies(n, dim, rng)


@dataclass(frozen=True)
class Scaled(_Composite):
    """k = scale · part, scale > 0."""

    part: Any
    scale: float

    def __post_init__(self):
        positive("the scale of a kernel", self.scale)

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.part,)

    @property
    def _scale(self) -> float:
        return float(self.scale)

    def __call__(self, X, Y) -> np.ndarray:
        return self._scale * self.part(X, Y)

    def diagonal(self, X) -> np.ndarray:
        return self._scale * self.part.diagonal(X)

    @available_if(_profiled("profile"))
    def profile(self, t):
        return self._scale * self.part.profile(t)

    @available_if(_profiled("derivative"))
    def derivative(self, t):
        return self._scale * self.part.derivative(t)

    @available_if(_profiled("inverse"))
    def inverse(self, value):
        return self.part.inverse(value / self._scale)

    @available_if(_parts_know("gradient"))
    def gradient(self, Z, X, W) -> np.ndarray:
        return self.part.gradient(Z, X, self._scale * W)

    @available_if(_parts_know("diagonal_gradient"))
    def diagonal_gradient(self, Z) -> np.ndarray:
        return self._scale * self.part.diagonal_gradient(Z)

    @available_if(_parts_know("frequencies"))
    def frequencies(self, n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
        return self.part.frequencies(n, dim, rng)
