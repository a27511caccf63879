"""Vectors of feature space, Ψ = Σᵢ wᵢ φ(xᵢ), with the operations that pre-image methods need."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

from preimage._typing import Array, Rows
from preimage.caching import Remembering
from preimage.gram import slicing, tiles
from preimage.kernels import Kernel, Precomputed, knows, sklearn_machines
from preimage.kernels.base import is_number

Which: TypeAlias = int | slice | Array
Vectors = TypeVar("Vectors", bound="Batch")


class FeatureVectors(Protocol):
    """A batch of vectors Ψⱼ of a kernel's feature space: the interface that pre-image methods use."""

    @property
    def kernel(self) -> Kernel:
        """The kernel whose feature space this is."""

    @property
    def points(self) -> Any:
        """Known points xᵢ of input space, where methods look for neighbours."""

    @property
    def provides(self) -> frozenset[str]:
        """What else the vectors have: any of "weights" over the points, "codes" and "gradient"."""

    def __len__(self) -> int:
        """The number of vectors."""

    def __getitem__(self, which: Which) -> FeatureVectors:
        """Some of the vectors, always as a batch."""

    def __rmul__(self, factor: Any) -> FeatureVectors:
        """All vectors times a number."""

    def inner(self, X: Rows) -> Array:
        """⟨Ψⱼ, φ(xᵢ)⟩ for all vectors j and all rows i of X, shape (m, rows)."""

    def inner_points(self) -> Array:
        """⟨Ψⱼ, φ(xᵢ)⟩ with the known points, shape (m, n)."""

    def inner_paired(self, X: Rows) -> Array:
        """⟨Ψⱼ, φ(xⱼ)⟩: row j of X with vector j."""

    def gradient(self, X: Array) -> Array:
        """∇ₓ⟨Ψⱼ, φ(x)⟩ at x = row j of X, shape of X."""

    def norm2(self) -> Array:
        """‖Ψⱼ‖², one per vector."""

    def distances2(self, X: Rows) -> Array:
        """‖Ψⱼ − φ(xᵢ)‖², shape (m, rows)."""


def check_vectors(vectors: Any) -> None:
    """Refuse anything but vectors of feature space."""
    if not hasattr(vectors, "provides"):
        raise TypeError(
            "expected vectors of feature space, such as Expansion(kernel, points, weights), not "
            f"{type(vectors).__name__}."
        )


class Batch(Remembering):
    """The base class of all batches: distances, and cached values that the parts of a batch share."""

    if TYPE_CHECKING:  # fields or properties of subclasses

        @property
        def kernel(self) -> Kernel: ...
        @property
        def points(self) -> Any: ...
        def inner(self, X: Rows) -> Array: ...
        def norm2(self) -> Array: ...

    def distances2(self, X: Rows) -> Array:
        """‖Ψⱼ − φ(xᵢ)‖² = ‖Ψⱼ‖² + k(xᵢ, xᵢ) − 2⟨Ψⱼ, φ(xᵢ)⟩, shape (m, rows)."""
        distances2: Array = np.maximum(self.norm2()[:, None] + self.kernel.diagonal(X) - 2 * self.inner(X), 0)
        return distances2

    def _part(self, which: Which, part: Vectors) -> Vectors:
        """``part``, which holds the vectors ``which`` of this batch, with access to its cached values."""
        vars(part)["_origin"] = self, which
        return part

    def recall(self, key: Hashable) -> Any:
        """A cached array with one row per vector, or None."""
        known = super().recall(key)
        if known is None and "_origin" in vars(self):
            whole, which = vars(self)["_origin"]
            known = whole.recall(key)
            known = None if known is None else known[which]
        return known

    def _once(self, key: str, compute: Callable[[], Array]) -> Array:
        """An array with one row per vector, computed once and never changed."""

        def find() -> Array:
            known = self.recall(key)
            found: Array = compute() if known is None else known
            found.flags.writeable = False
            return found

        return self.remembered(key, find)


class Weighted(Batch):
    """Vectors Ψⱼ = Σᵢ wⱼᵢ φ(xᵢ) over shared points.

    Inner products with their own points, which take a pass over the kernel matrix, are computed once.
    """

    provides = frozenset({"weights", "gradient"})

    if TYPE_CHECKING:

        @property
        def weights(self) -> Array: ...
        def __getitem__(self, which: Which) -> Weighted: ...

    def __len__(self) -> int:
        return len(self.weights)

    def inner(self, X: Rows) -> Array:
        return tiles.multiply(self.kernel, X, self.points, np.ascontiguousarray(self.weights.T)).T

    def inner_points(self) -> Array:
        return self._once("inner_points", self._inner_points)

    def _inner_points(self) -> Array:
        return tiles.multiply_symmetric(self.kernel, self.points, np.ascontiguousarray(self.weights.T)).T

    def norm2(self) -> Array:
        """‖Ψⱼ‖² = wⱼᵀ K wⱼ, one per vector."""
        return self._once("norm2", self._norm2)

    def _norm2(self) -> Array:
        norm2: Array = np.maximum(np.einsum("ji,ji->j", self.inner_points(), self.weights), 0)
        return norm2

    def inner_paired(self, X: Rows) -> Array:
        return self._by_rows(lambda rows, weights: np.einsum("ji,ji->j", self.kernel(X[rows], self.points), weights))

    def gradient(self, X: Rows) -> Array:
        kernel = self.kernel
        assert knows(kernel, "gradient")
        return self._by_rows(lambda rows, weights: kernel.gradient(X[rows], self.points, weights))

    def inner_expansion(self, other: Weighted) -> Array:
        """⟨Ψⱼ, Ψ′ₗ⟩ with the vectors of another expansion of the same kernel, shape (m, other's m)."""
        self._refuse_other_kernel(other)
        return self.inner(other.points) @ other.weights.T

    def distances2_expansion(self, other: Weighted) -> Array:
        """‖Ψⱼ − Ψ′ₗ‖², shape (m, other's m)."""
        distances2: Array = np.maximum(self.norm2()[:, None] + other.norm2() - 2 * self.inner_expansion(other), 0)
        return distances2

    def __add__(self, other: Weighted) -> Expansion:
        """The sum of each pair of vectors; a single vector is added to all of the other batch."""
        if not isinstance(other, Weighted):
            return NotImplemented
        self._refuse_other_kernel(other)
        m = max(len(self), len(other))
        if not {len(self), len(other)} <= {1, m}:
            raise ValueError(
                f"batches of {len(self)} and {len(other)} vectors cannot be added: they must be equally long, or one "
                "of them must hold a single vector."
            )
        if self.points is other.points:
            return Expansion(self.kernel, self.points, self.weights + other.weights)
        weights = [np.broadcast_to(part.weights, (m, part.weights.shape[1])) for part in (self, other)]
        return Expansion(self.kernel, stack(self.points, other.points), np.hstack(weights))

    def __sub__(self, other: Weighted) -> Expansion:
        return self + (-1) * other if isinstance(other, Weighted) else NotImplemented

    def __mul__(self, factor: Any) -> Expansion:
        """All vectors times a number, or each times its own number (an array of m numbers)."""
        if is_number(factor):
            factor = np.full(len(self), float(factor), dtype=self.weights.dtype)
        if not isinstance(factor, np.ndarray):
            return NotImplemented
        if factor.shape != (len(self),):
            raise ValueError(f"{len(self)} vectors need one factor or {len(self)} factors, not {factor.size}.")
        product = Expansion(self.kernel, self.points, self.weights * factor[:, None])
        known = self.recall("inner_points")
        if known is not None:
            product._once("inner_points", lambda: known * factor[:, None])
        return product

    __rmul__ = __mul__
    __array_ufunc__ = None  # so that an array on the left calls __rmul__

    def truncate(self, tol: float = 0.0) -> Expansion:
        """The same vectors without the points whose absolute weights are at most ``tol`` in all of them."""
        kept = np.flatnonzero(np.abs(self.weights).max(axis=0, initial=0) > tol)
        return Expansion(self.kernel, self.points[kept], self.weights[:, kept])

    def _by_rows(self, function: Callable[[slice, Array], Array]) -> Array:
        """``function`` applied to slices of the vectors and their weights, within the memory budget."""
        row_bytes = tiles.COPIES * self.points.shape[0] * 8
        return np.concatenate(slicing.map_rows(lambda rows: function(rows, self[rows].weights), len(self), row_bytes))

    def _refuse_other_kernel(self, other: Weighted) -> None:
        if self.kernel != other.kernel:
            raise ValueError(
                f"the two expansions belong to different feature spaces, of {self.kernel} and {other.kernel}: use one "
                "kernel."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Expansion(Weighted):
    """A batch of vectors Ψⱼ = Σᵢ wⱼᵢ φ(xᵢ) over shared points.

    Parameters
    ----------
    kernel : Kernel
        A kernel with numbers for all its parameters, such as ``Gaussian(1.0)``.
    points : array or CSR matrix of shape (n, d)
        The points xᵢ; for a precomputed kernel, indices of training rows in one column.
    weights : array of shape (m, n)
        One row per vector.

    See Also
    --------
    find_preimage : A point for every vector, whose image is near it.
    reduced_set : The same vectors over fewer points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion
    >>> from preimage.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> vector = Expansion(Linear(), X, np.array([[2.0, 3.0]]))  # 2φ(x₁) + 3φ(x₂)
    >>> vector.norm2(), vector.inner(np.array([[1.0, 1.0]]))
    (array([13.]), array([[5.]]))
    """

    kernel: Kernel
    points: Any
    weights: Array

    def __post_init__(self) -> None:
        for name in ("points", "weights"):
            if isinstance(getattr(self, name), list | tuple):
                object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        if isinstance(self.kernel, str):
            raise TypeError(f"an expansion needs a kernel object such as Gaussian(1.0), not {self.kernel!r}.")
        if np.ndim(self.weights) != 2 or np.shape(self.weights)[1] != self.points.shape[0]:
            raise ValueError(
                f"an expansion over {self.points.shape[0]} points needs weights of shape "
                f"(vectors, {self.points.shape[0]}), not {np.shape(self.weights)}."
            )
        if self.weights.dtype.kind != "f":
            object.__setattr__(self, "weights", self.weights.astype(float))
        if self.points.dtype.kind != "f" and not isinstance(self.kernel, Precomputed):
            object.__setattr__(self, "points", self.points.astype(float))

    def __getitem__(self, which: Which) -> Expansion:
        which = as_batch(which)
        return self._part(which, Expansion(self.kernel, self.points, self.weights[which]))

    @staticmethod
    def from_sklearn(model: Any) -> Expansion:
        """The vectors of a kernel machine of scikit-learn: SVC, SVR, OneClassSVM, KernelRidge or Gaussian process.

        There is one vector per target, or one per pair of classes in the order of
        :class:`preimage.kernels.sklearn_machines.Dual`. Intercepts are left out;
        :func:`preimage.reduced.machines.from_sklearn` keeps them.
        """
        kernel, points, weights, _ = sklearn_machines.dual_form(model)
        return Expansion(kernel, points, weights)


@dataclass(frozen=True, eq=False, repr=False)
class Explicit(Batch):
    """A batch of vectors of an explicit feature space, Ψⱼ = cⱼ with ⟨Ψ, φ(x)⟩ = cᵀf(x).

    Its points have no weights; they are known points of input space, where pre-image methods look for neighbours.

    Parameters
    ----------
    kernel : Kernel
        The kernel that the features approximate, with f(x)ᵀf(x) = k(x, x).
    points : array of shape (n, d)
    features : callable
        f, with its ``gradient(X, coordinates)``.
    coordinates : array of shape (m, width)
    codes : array of shape (m, q), optional
        The codes of the vectors, in the model that they come from.
    """

    kernel: Kernel
    points: Any
    features: Any
    coordinates: Array
    codes: Array | None = None

    @property
    def provides(self) -> frozenset[str]:
        """A gradient, and codes if they are known."""
        return frozenset({"gradient"} if self.codes is None else {"gradient", "codes"})

    def __len__(self) -> int:
        return len(self.coordinates)

    def __getitem__(self, which: Which) -> Explicit:
        which = as_batch(which)
        codes = None if self.codes is None else self.codes[which]
        return self._part(which, replace(self, coordinates=self.coordinates[which], codes=codes))

    def __mul__(self, factor: Any) -> Explicit:
        return replace(self, coordinates=factor * self.coordinates, codes=None)

    __rmul__ = __mul__

    def inner(self, X: Rows) -> Array:
        blocks = slicing.row_blocks(X.shape[0], 4 * self.coordinates[:1].nbytes)
        return np.hstack([self.coordinates @ self.features(X[rows]).T for rows in blocks])

    def inner_points(self) -> Array:
        return self._once("inner_points", lambda: self.inner(self.points))

    def norm2(self) -> Array:
        norm2: Array = np.square(self.coordinates).sum(axis=1)
        return norm2

    def inner_paired(self, X: Rows) -> Array:
        products: Array = np.einsum("ji,ji->j", self.features(X), self.coordinates)
        return products

    def gradient(self, X: Rows) -> Array:
        gradient: Array = self.features.gradient(X, self.coordinates)
        return gradient


def as_batch(which: Which) -> slice | Array:
    """An index that selects a batch, even for a single number."""
    return which if isinstance(which, slice) else np.atleast_1d(which)


def stack(X: Rows, Y: Rows) -> Any:
    """The rows of both, dense or sparse."""
    return sp.vstack([X, Y], format="csr") if sp.issparse(X) or sp.issparse(Y) else np.concatenate([X, Y])
