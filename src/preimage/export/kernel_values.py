"""Kernel values as programs: a kernel's own formulas, applied to symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage._typing import Array
from preimage.exceptions import NotExpressible
from preimage.export.program import Symbol, take
from preimage.features import FourierMap
from preimage.kernels import Kernel, Product, Scaled, Sum, knows
from preimage.preimages.base import dense_rows
from preimage.scaling import grid, on_grid

SMALLEST = 1e-30  # of the largest square: stands for distance 0, so that the gradient of a root is finite


class PointSet:
    """Points that symbols are compared with.

    A program holds them once, as differences p − o from a point o near their mean, from which distances and all else
    follow. Points on a grid, such as pixels and those of ``compress``, have differences that single precision holds.
    """

    def __init__(self, points: Any):
        self.points: Array = np.ascontiguousarray(dense_rows(points))
        self.origin: Array = on_grid(self.points.mean(axis=0), grid(self.points))
        self.centred: Array = self.points - self.origin
        self.squares: Array = np.square(self.centred).sum(axis=1)

    def squared_distances(self, X: Symbol) -> Symbol:
        """‖x − p‖² = ‖x‖² + ‖p‖² − 2xᵀp, with the origin in the middle of the points."""
        moved = X - self.origin
        distances2 = (moved * moved).sum(axis=1)[:, None] + self.squares - 2.0 * (moved @ self.centred.T)
        return np.maximum(distances2, SMALLEST * float(self.squares.max(initial=0)))

    def exact_squared_distances(self, X: Symbol) -> Symbol:
        """‖x − p‖² column by column, for few columns: exact even where it is far smaller than ‖x‖²."""
        differences = (X[:, j : j + 1] - column for j, column in enumerate(self.points.T))
        return sum(difference * difference for difference in differences)  # type: ignore[return-value]

    def inner_products(self, X: Symbol) -> Symbol:
        """xᵀp = xᵀ(p − o) + xᵀo."""
        return X @ self.centred.T + (X @ self.origin)[:, None]

    def taken(self, numbers: Symbol) -> Symbol:
        """The points with these numbers."""
        return take(self.centred, numbers) + self.origin

    def combined(self, weights: Symbol) -> Symbol:
        """Σᵢ wᵢpᵢ for every row of weights."""
        return weights @ self.centred + weights.sum(axis=1)[:, None] * self.origin

    def values(self, kernel: Kernel, X: Symbol) -> Symbol:
        """k(x, p), shape (rows, points)."""
        if knows(kernel, "profile") and kernel.argument is not None:
            return kernel.profile(self.arguments(kernel, X))
        return _composed(kernel, lambda part: self.values(part, X))

    def arguments(self, kernel: Kernel, X: Symbol) -> Symbol:
        """The arguments of a kernel's profile: squared distances or inner products."""
        return self.squared_distances(X) if kernel.argument == "distance" else self.inner_products(X)


def diagonal(kernel: Kernel, X: Symbol) -> Any:
    """k(x, x) of every row; a number if all are the same."""
    if knows(kernel, "profile") and kernel.argument == "distance":
        return float(kernel.profile(np.zeros(())))
    if knows(kernel, "profile") and kernel.argument == "inner":
        return kernel.profile((X * X).sum(axis=1))
    return _composed(kernel, lambda part: diagonal(part, X))


def fourier_features(features: FourierMap, X: Symbol) -> Symbol:
    """Random Fourier features of the rows, cosines first."""
    phases = X @ features.frequencies.T
    return features.amplitude * np.concatenate([np.cos(phases), np.sin(phases)], axis=1)


def _composed(kernel: Kernel, value: Callable[[Kernel], Any]) -> Any:
    """The value of a sum, product or multiple from those of its parts; refuses all other kernels."""
    if isinstance(kernel, Sum):
        return value(kernel.left) + value(kernel.right)
    if isinstance(kernel, Product):
        return value(kernel.left) * value(kernel.right)
    if isinstance(kernel, Scaled):
        return float(kernel.scale) * value(kernel.part)
    raise NotExpressible(
        f"{kernel!r} cannot be exported. Kernels of the distance (Gaussian, Matern, RationalQuadratic, …) and of the "
        "inner product (Linear, Polynomial, Sigmoid), their sums, products and multiples can."
    )
