"""Kernels of the inner product, k(x, y) = κ(xᵀy). A ``gamma`` of None becomes 1/d when a model is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.kernels.base import DotProduct, available_where, finite, number, positive


@dataclass(frozen=True)
class Linear(DotProduct):
    """xᵀy; kernel PCA with it is linear PCA.

    See Also
    --------
    Polynomial : Powers of the inner product.
    Cosine : The linear kernel of rows of length 1.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    def profile(self, t: Array) -> Array:
        return t

    def derivative(self, t: Array) -> Array:
        return np.ones_like(t)

    def inverse(self, value: Array) -> Array:
        return value


@dataclass(frozen=True)
class _Affine(DotProduct):
    """A function of γxᵀy + c₀."""

    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if self.gamma is not None:
            positive("gamma", self.gamma)
        finite("coef0", self.coef0)

    @property
    def _gamma(self) -> float:
        return number(self, "gamma")

    def _affine(self, t: Array) -> Array:
        return self._gamma * t + float(self.coef0)


@dataclass(frozen=True)
class Polynomial(_Affine):
    """(γxᵀy + c₀)ᵖ. For even p the inverse takes the root where γxᵀy + c₀ ≥ 0.

    Parameters
    ----------
    gamma : float or None
        γ > 0; None is 1/d.
    coef0 : float
        The constant c₀.
    degree : float
        The degree p > 0.

    See Also
    --------
    Linear : The kernel of degree 1.
    Sigmoid : Another function of γxᵀy + c₀.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Polynomial
    >>> Polynomial(gamma=1, coef0=1, degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    degree: float = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("degree", self.degree)

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return self.coef0 >= 0 and float(self.degree).is_integer()

    @available_where(lambda kernel: kernel.degree % 2 == 0)
    def other_root(self, t: Array, hint: Array) -> Array:
        """The argument on the same side of −c₀/γ as the hint, out of the two with the value κ(t)."""
        centre = -float(self.coef0) / self._gamma
        return np.where(hint < centre, 2 * centre - t, t)

    @property
    def _degree(self) -> float:
        return float(self.degree)

    def profile(self, t: Array) -> Array:
        return _power(self._affine(t), self._degree)

    def derivative(self, t: Array) -> Array:
        return self._degree * self._gamma * _power(self._affine(t), self._degree - 1)

    def inverse(self, value: Array) -> Array:
        root = np.abs(value) ** (1 / self._degree)
        root = np.sign(value) * root if self.degree % 2 == 1 else np.where(np.asarray(value) > 0, root, 0)
        return (root - float(self.coef0)) / self._gamma


@dataclass(frozen=True)
class Sigmoid(_Affine):
    """tanh(γxᵀy + c₀). Not positive definite.

    Parameters
    ----------
    gamma : float or None
        γ > 0; None is 1/d.
    coef0 : float
        The constant c₀.

    See Also
    --------
    Polynomial : Another function of γxᵀy + c₀, positive definite for whole degrees and c₀ ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Sigmoid
    >>> Sigmoid(gamma=0.1, coef0=0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])).round(3)
    array([[0.8]])
    >>> Sigmoid().positive_definite
    False
    """

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return False

    def profile(self, t: Array) -> Array:
        values = self._affine(t)
        return np.tanh(values, out=values) if isinstance(values, np.ndarray) else np.tanh(values)

    def derivative(self, t: Array) -> Array:
        return self._gamma * (1 - np.tanh(self._affine(t)) ** 2)

    def inverse(self, value: Array) -> Array:
        value = np.asarray(value)
        limit = 1 - np.finfo(value.dtype if value.dtype.kind == "f" else float).eps
        root: Array = np.arctanh(np.clip(value, -limit, limit))
        return (root - float(self.coef0)) / self._gamma


def _power(base: Array, degree: float) -> Array:
    """base**degree; repeated squaring takes a tenth of the time of ``np.power`` for small whole degrees."""
    if degree not in range(1, 33):
        return base**degree
    result, number = None, int(degree)
    while number:
        if number % 2:
            result = base if result is None else result * base
        number //= 2
        base = base * base if number else base
    assert result is not None
    return result
