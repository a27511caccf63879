"""Sums, products and multiples of kernels: each has the abilities that all its parts have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from preimage._typing import Array, Generator, Points, Rows
from preimage.kernels.base import (
    Argument,
    Differentiable,
    Inverted,
    Kernel,
    LogSloped,
    Method,
    Profiled,
    WithFrequencies,
    available_where,
    knows,
    positive,
)
from preimage.kernels.geometry import inner_products, squared_distances


class _Part(Kernel, Inverted, LogSloped, Differentiable, WithFrequencies):
    """A part as type checkers see it inside a method; the method exists only if all parts have the ability it uses."""


def _parts_know(ability: str) -> Callable[[Method], Method]:
    """A decorator for methods that exist if all parts have the ability."""
    return available_where(lambda kernel: all(knows(part, ability) for part in kernel.parts))


def _profiled(ability: str) -> Callable[[Method], Method]:
    """A decorator for methods that exist if all parts have the ability and the same argument."""
    return available_where(
        lambda kernel: kernel.argument is not None and all(knows(part, ability) for part in kernel.parts)
    )


class _Composite(Kernel):
    @property
    def parts(self) -> tuple[_Part, ...]:
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

    @property
    def unit(self) -> float:
        """The unit of the squared distances that ``from_closeness`` takes."""
        return 1.0

    @available_where(lambda kernel: kernel.argument == "distance" and knows(kernel, "profile"))
    def from_closeness(self, u: Array) -> Array:
        """κ(t) from u = −t ≤ 0, as in :class:`preimage.kernels.Radial`: distances are computed once for all parts."""
        values: Array = cast(Profiled, self).profile(np.negative(u, out=u))
        return values

    def _shared(self, X: Rows, Y: Rows) -> Array | None:
        """The values from one matrix of distances or inner products; None if the parts need different ones."""
        if not knows(self, "profile"):
            return None
        return self.profile(squared_distances(X, Y) if self.argument == "distance" else inner_products(X, Y))


@dataclass(frozen=True)
class _Pair(_Composite):
    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Kernel):
                raise TypeError(f"both parts of a {type(self).__name__} must be kernels, not {part!r}.")

    @property
    def parts(self) -> tuple[_Part, _Part]:
        return cast(_Part, self.left), cast(_Part, self.right)

    def join(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """The values of both parts combined, in ``out`` or a new array."""
        raise NotImplementedError

    def __call__(self, X: Rows, Y: Rows) -> Array:
        shared = self._shared(X, Y)
        return self.join(self.left(X, Y), self.right(X, Y)) if shared is None else shared

    def diagonal(self, X: Rows) -> Array:
        return self.join(self.left.diagonal(X), self.right.diagonal(X))


@dataclass(frozen=True)
class Sum(_Pair):
    """k = left + right, written ``left + right``.

    Parameters
    ----------
    left, right : Kernel

    See Also
    --------
    Product, Scaled : The other ways to combine kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Linear
    >>> kernel = Gaussian(1.0) + Linear()
    >>> kernel
    Sum(left=Gaussian(length_scale=1.0), right=Linear())
    >>> kernel(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    array([[2.]])
    """

    def join(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Left + right, in ``out`` or a new array."""
        joined: Array = np.add(left, right, out=out)
        return joined

    @_profiled("profile")
    def profile(self, t: Array) -> Array:
        left, right = self.parts
        return left.profile(t) + right.profile(t)

    @_profiled("profile")
    def derivative(self, t: Array) -> Array:
        left, right = self.parts
        return left.derivative(t) + right.derivative(t)

    @_profiled("log_slope")
    def log_slope(self, t: Array) -> Array:
        left, right = self.parts
        return np.logaddexp(left.log_slope(t), right.log_slope(t))

    @_parts_know("gradient")
    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        left, right = self.parts
        return left.gradient(Z, X, W) + right.gradient(Z, X, W)

    @_parts_know("gradient")
    def diagonal_gradient(self, Z: Points) -> Array:
        left, right = self.parts
        return left.diagonal_gradient(Z) + right.diagonal_gradient(Z)

    @_parts_know("frequencies")
    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        """Draws from the mixture of the two laws, weighted by k(x, x)."""
        left, right = self.parts
        a, b = (part.diagonal(np.zeros((1, dim)))[0] for part in self.parts)
        from_left = rng.random(n) < a / (a + b)
        return np.where(from_left[:, None], left.frequencies(n, dim, rng), right.frequencies(n, dim, rng))


@dataclass(frozen=True)
class Product(_Pair):
    """k = left · right, written ``left * right``.

    Parameters
    ----------
    left, right : Kernel

    See Also
    --------
    Sum, Scaled : The other ways to combine kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> kernel = Linear() * Linear()
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[121.]])
    """

    def join(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Left · right, in ``out`` or a new array."""
        joined: Array = np.multiply(left, right, out=out)
        return joined

    @_profiled("profile")
    def profile(self, t: Array) -> Array:
        left, right = self.parts
        return left.profile(t) * right.profile(t)

    @_profiled("profile")
    def derivative(self, t: Array) -> Array:
        left, right = self.parts
        slope: Array = left.derivative(t) * right.profile(t) + left.profile(t) * right.derivative(t)
        return slope

    @_parts_know("gradient")
    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """The product rule: ∇(ab) with weights w is ∇a with weights wb plus ∇b with weights wa."""
        left, right = self.parts
        return left.gradient(Z, X, W * right(Z, X)) + right.gradient(Z, X, W * left(Z, X))

    @_parts_know("gradient")
    def diagonal_gradient(self, Z: Points) -> Array:
        left, right = self.parts
        a, b = left.diagonal(Z)[:, None], right.diagonal(Z)[:, None]
        gradient: Array = left.diagonal_gradient(Z) * b + right.diagonal_gradient(Z) * a
        return gradient

    @_parts_know("frequencies")
    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        """Sums of independent draws: the spectral law of a product is the convolution of both laws."""
        left, right = self.parts
        return left.frequencies(n, dim, rng) + right.frequencies(n, dim, rng)


@dataclass(frozen=True)
class Scaled(_Composite):
    """k = scale · part, written ``scale * part``.

    Parameters
    ----------
    part : Kernel
    scale : float
        A positive number.

    See Also
    --------
    Sum, Product : The other ways to combine kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> kernel = 0.5 * Linear()
    >>> kernel(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[5.5]])
    """

    part: Kernel
    scale: float

    def __post_init__(self) -> None:
        positive("the scale of a kernel", self.scale)

    @property
    def parts(self) -> tuple[_Part]:
        return (cast(_Part, self.part),)

    @property
    def _scale(self) -> float:
        return float(self.scale)

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self._scale * self.part(X, Y)

    def diagonal(self, X: Rows) -> Array:
        return self._scale * self.part.diagonal(X)

    @_profiled("profile")
    def profile(self, t: Array) -> Array:
        return self._scale * self.parts[0].profile(t)

    @_profiled("profile")
    def derivative(self, t: Array) -> Array:
        return self._scale * self.parts[0].derivative(t)

    @_profiled("inverse")
    def inverse(self, value: Array) -> Array:
        return self.parts[0].inverse(value / self._scale)

    @_parts_know("gradient")
    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        return self.parts[0].gradient(Z, X, self._scale * W)

    @_parts_know("gradient")
    def diagonal_gradient(self, Z: Points) -> Array:
        return self._scale * self.parts[0].diagonal_gradient(Z)

    @_parts_know("frequencies")
    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        return self.parts[0].frequencies(n, dim, rng)
