"""Vectors of feature space, Ψ = Σᵢ wᵢ φ(xᵢ), and the questions the way back asks of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from preimage.caching import Remembering
from preimage.gram import tiles
from preimage.kernels import Kernel, Precomputed, knows, sklearn_machines
from preimage.kernels.base import is_number

Part = TypeVar("Part", bound="Batch")


class Batch(Remembering):
    """Vectors of feature space that share a kernel and known points; a part of a batch knows what the whole knows."""

    kernel: Kernel
    points: Any

    def _part(self: Part, which, part: Part) -> Part:
        """``part``, which holds the vectors ``which``; what is computed for the whole is taken over when needed."""
        vars(part)["_origin"] = self, which
        return part

    def recall(self, key) -> Any:
        """What is known of these vectors, one row each, or None."""
        known = super().recall(key)
        if known is None and "_origin" in vars(self):
            whole, which = vars(self)["_origin"]
            known = whole.recall(key)
            known = None if known is None else known[which]
        return known

    def _once(self, key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """An array with one row a vector, computed once and never changed."""

        def find() -> np.ndarray:
            known = self.recall(key)
            found = compute() if known is None else known
            found.flags.writeable = False
            return found

        return self.remembered(key, find)


@dataclass(frozen=True, eq=False)
class Expansion(Batch):
    """A batch of vectors Ψⱼ = Σᵢ wⱼᵢ φ(xᵢ) over shared points.

    Its products with its own points, which cost a pass over their kernel matrix, are computed once.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all its parameters.
    points : array or CSR matrix of shape (n, d)
        The points xᵢ; whole numbers in one column for a precomputed kernel.
    weights : array of shape (m, n)
        One row a vector.
    """

    kernel: Kernel
    points: np.ndarray
    weights: np.ndarray

    def __post_init__(self):
        if np.ndim(self.weights) != 2 or np.shape(self.weights)[1] != self.points.shape[0]:
            raise ValueError(
                f"an expansion over {self.points.shape[0]} points needs weights of shape "
                f"(vectors, {self.points.shape[0]}), not {np.shape(self.weights)}."
            )
        if self.weights.dtype.kind != "f":
            object.__setattr__(self, "weights", self.weights.astype(float))
        if self.points.dtype.kind != "f" and not isinstance(self.kernel, Precomputed):
            object.__setattr__(self, "points", self.points.astype(float))

    @staticmethod
    def from_sklearn(model: Any) -> Expansion:
        """The vectors of a fitted kernel machine of scikit-learn: SVC, SVR, OneClassSVM, KernelRidge, Gaussian process.

        One vector per target, or per pair of classes in the order of :class:`preimage.kernels.sklearn_machines.Dual`.
        The intercepts are left out (:func:`preimage.reduced.machines.from_sklearn` keeps them).
        """
        kernel, points, weights, _ = sklearn_machines.read(model)
        return Expansion(kernel, points, weights)

    def __len__(self) -> int:
        """The number of vectors."""
        return self.weights.shape[0]

    def __getitem__(self, which) -> Expansion:
        """Some of the vectors, always as a batch."""
        which = as_batch(which)
        return self._part(which, Expansion(self.kernel, self.points, self.weights[which]))

    def inner(self, X) -> np.ndarray:
        """⟨Ψⱼ, φ(xᵢ)⟩ for all vectors j and all rows i of X, shape (m, rows)."""
        return tiles.multiply(self.kernel, X, self.points, np.ascontiguousarray(self.weights.T)).T

    def inner_points(self) -> np.ndarray:
        """⟨Ψⱼ, φ(xᵢ)⟩ with the expansion's own points, shape (m, n)."""
        return self._once("inner_points", self._inner_points)

    def _inner_points(self) -> np.ndarray:
        return tiles.multiply_symmetric(self.kernel, self.points, np.ascontiguousarray(self.weights.T)).T

    def norm2(self) -> np.ndarray:
        """‖Ψⱼ‖² = wⱼᵀ K wⱼ, one per vector."""
        return self._once("norm2", self._norm2)

    def _norm2(self) -> np.ndarray:
        return np.maximum(np.einsum("ji,ji->j", self.inner_points(), self.weights), 0)

    def inner_paired(self, X) -> np.ndarray:
        """⟨Ψⱼ, φ(xⱼ)⟩: row j of X with vector j."""
        return self._by_rows(lambda rows, weights: np.einsum("ji,ji->j", self.kernel(X[rows], self.points), weights))

    def gradient(self, X) -> np.ndarray:
        """∇ₓ⟨Ψⱼ, φ(x)⟩ at x = row j of X, shape of X."""
        kernel = self.kernel
        assert knows(kernel, "gradient")
        return self._by_rows(lambda rows, weights: kernel.gradient(X[rows], self.points, weights))

    def distances2(self, X) -> np.ndarray:
        """‖Ψⱼ − φ(xᵢ)‖² = ‖Ψⱼ‖² + k(xᵢ, xᵢ) − 2⟨Ψⱼ, φ(xᵢ)⟩, shape (m, rows)."""
        return np.maximum(self.norm2()[:, None] + self.kernel.diagonal(X) - 2 * self.inner(X), 0)

    def inner_expansion(self, other: Expansion) -> np.ndarray:
        """⟨Ψⱼ, Ψ′ₗ⟩ with the vectors of another expansion of the same kernel, shape (m, other's m)."""
        self._refuse_other_kernel(other)
        return self.inner(other.points) @ other.weights.T

    def distances2_expansion(self, other: Expansion) -> np.ndarray:
        """‖Ψⱼ − Ψ′ₗ‖², shape (m, other's m)."""
        return np.maximum(self.norm2()[:, None] + other.norm2() - 2 * self.inner_expansion(other), 0)

    def __add__(self, other: Expansion) -> Expansion:
        """The sums vector by vector; a single vector is added to all."""
        if not isinstance(other, Expansion):
            return NotImplemented
        self._refuse_other_kernel(other)
        m = max(len(self), len(other))
        if not {len(self), len(other)} <= {1, m}:
            raise ValueError(f"a batch of {len(self)} vectors and one of {len(other)} cannot be added one by one.")
        if self.points is other.points:
            return Expansion(self.kernel, self.points, self.weights + other.weights)
        weights = [np.broadcast_to(part.weights, (m, part.weights.shape[1])) for part in (self, other)]
        return Expansion(self.kernel, _stack(self.points, other.points), np.hstack(weights))

    def __sub__(self, other: Expansion) -> Expansion:
        return self + (-1) * other if isinstance(other, Expansion) else NotImplemented

    def __mul__(self, factor: Any) -> Expansion:
        """Every vector times a number, or each times its own (an array of m numbers)."""
        if is_number(factor):
            factor = np.full(len(self), float(factor), dtype=self.weights.dtype)
        if not isinstance(factor, np.ndarray):
            return NotImplemented
        if factor.shape != (len(self),):
            raise ValueError(f"{len(self)} vectors need one factor or {len(self)} of them, not {factor.size}.")
        product, known = (
            Expansion(self.kernel, self.points, self.weights * factor[:, None]),
            self.recall("inner_points"),
        )
        if known is not None:
            product._once("inner_points", lambda: known * factor[:, None])
        return product

    __rmul__ = __mul__
    __array_ufunc__ = None  # so that an array on the left hands the product over to __rmul__

    def truncate(self, tol: float = 0.0) -> Expansion:
        """The same vectors without the points whose weights are at most ``tol`` in size in all of them."""
        kept = np.flatnonzero(np.abs(self.weights).max(axis=0, initial=0) > tol)
        return Expansion(self.kernel, self.points[kept], self.weights[:, kept])

    def _by_rows(self, function: Callable[[slice, np.ndarray], np.ndarray]) -> np.ndarray:
        """``function`` of slices of the vectors and their weights, within the memory budget."""
        row_bytes = tiles.COPIES * self.points.shape[0] * 8
        return np.concatenate(tiles.map_rows(lambda rows: function(rows, self[rows].weights), len(self), row_bytes))

    def _refuse_other_kernel(self, other: Expansion) -> None:
        if self.kernel != other.kernel:
            raise ValueError(f"the two expansions live in different feature spaces: {self.kernel} and {other.kernel}.")


@dataclass(frozen=True, eq=False)
class Explicit(Batch):
    """A batch of vectors of an explicit feature space, Ψⱼ = cⱼ with ⟨Ψ, φ(x)⟩ = cᵀf(x).

    It answers the same questions as an :class:`Expansion`. Its points carry nothing; they are known points of input
    space, where a way back looks for neighbours.

    Parameters
    ----------
    kernel : Kernel
        The kernel that the features approximate, with f(x)ᵀf(x) = k(x, x).
    points : array of shape (n, d)
    features : callable
        f, with ``gradient(X, coordinates)`` where it can be differentiated.
    coordinates : array of shape (m, width)
    codes : array of shape (m, q), optional
        Codes of the model that made them.
    """

    kernel: Kernel
    points: Any
    features: Any
    coordinates: np.ndarray
    codes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.coordinates)

    def __getitem__(self, which) -> Explicit:
        which = as_batch(which)
        codes = None if self.codes is None else self.codes[which]
        return self._part(which, replace(self, coordinates=self.coordinates[which], codes=codes))

    def __mul__(self, factor: float) -> Explicit:
        return replace(self, coordinates=factor * self.coordinates, codes=None)

    __rmul__ = __mul__

    def inner(self, X) -> np.ndarray:
        """⟨Ψⱼ, φ(xᵢ)⟩ for all vectors j and all rows i of X, shape (m, rows)."""
        blocks = tiles.row_blocks(X.shape[0], 4 * self.coordinates[:1].nbytes)
        return np.hstack([self.coordinates @ self.features(X[rows]).T for rows in blocks])

    def inner_points(self) -> np.ndarray:
        """⟨Ψⱼ, φ(xᵢ)⟩ with the known points."""
        return self._once("inner_points", lambda: self.inner(self.points))

    def norm2(self) -> np.ndarray:
        """‖Ψⱼ‖²."""
        return np.square(self.coordinates).sum(axis=1)

    def inner_paired(self, X) -> np.ndarray:
        """⟨Ψⱼ, φ(xⱼ)⟩: row j of X with vector j."""
        return np.einsum("ji,ji->j", self.features(X), self.coordinates)

    def gradient(self, X) -> np.ndarray:
        """∇ₓ⟨Ψⱼ, φ(x)⟩ at x = row j of X."""
        return self.features.gradient(X, self.coordinates)

    def distances2(self, X) -> np.ndarray:
        """‖Ψⱼ − φ(xᵢ)‖², shape (m, rows)."""
        return np.maximum(self.norm2()[:, None] + self.kernel.diagonal(X) - 2 * self.inner(X), 0)


def as_batch(which):
    """An index that takes a batch out of a batch, also where one number was given."""
    return which if isinstance(which, slice) else np.atleast_1d(which)


def _stack(X, Y):
    return sp.vstack([X, Y], format="csr") if sp.issparse(X) or sp.issparse(Y) else np.concatenate([X, Y])
