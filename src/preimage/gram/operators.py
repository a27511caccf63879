"""The Gram matrix as a symmetric LinearOperator: stored, or recomputed tile by tile; centred in feature space.

K̃ = HKH with H = I − 11ᵀ/n, that is K̃ᵢⱼ = Kᵢⱼ − rᵢ − rⱼ + s̄ with r the row means of K and s̄ their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike
from scipy.sparse.linalg import LinearOperator

from preimage._typing import Array, Rows
from preimage.gram import slicing, threads, tiles, triangle
from preimage.gram.memory import free_memory
from preimage.gram.triangle import Triangle
from preimage.kernels import Kernel

TINY = 1e-20  # kernel values of this size, or of its inverse, are not rounded to single precision
SMALL = 5000  # rows up to which the full matrix is stored, at most 200 MB


@dataclass(frozen=True)
class GramStatistics:
    """The statistics that centre a Gram matrix: row means r, their mean s̄, and its trace.

    ``mean_weight`` is the weight 1/n of every point in the mean φ̄, or 0 where nothing is centred; then r and s̄ are 0.
    """

    row_means: np.ndarray
    grand_mean: float
    trace: float
    mean_weight: float

    @property
    def total_variance(self) -> float:
        """Tr K̃ = Σ Kᵢᵢ − n s̄: the sum of all eigenvalues without computing them."""
        return self.trace - len(self.row_means) * self.grand_mean


class Symmetric(LinearOperator):
    """A symmetric operator that can also return its dense matrix.

    Operators that hold or compute all entries also have ``diagonal`` in double precision, and ``columns(which)`` for
    A[:, which].
    """

    def __init__(self, dtype: DTypeLike, n: int) -> None:
        super().__init__(dtype=np.dtype(dtype), shape=(n, n))

    def _matvec(self, v: Array) -> Array:
        return self._matmat(np.reshape(v, (-1, 1)))[:, 0]

    def _adjoint(self) -> Symmetric:
        return self

    def dense(self) -> np.ndarray:
        """The matrix itself."""
        return self @ np.eye(self.shape[0], dtype=self.dtype)

    def row_means(self) -> np.ndarray:
        """A1/n."""
        return self @ np.full(self.shape[0], 1 / self.shape[0], dtype=self.dtype)

    def features(self, rows: np.ndarray) -> np.ndarray | None:
        """F (n × r) with FFᵀ ≈ A, exact in the given rows (Nyström); None where products with A are cheap."""
        return None

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray | None:
        """A[:, which] V; None where that is not cheaper than a product with all columns."""
        return None

    def rounded(self) -> Symmetric | None:
        """A copy in single precision; None if nothing is stored in double precision, or if the copy does not fit."""
        return None


class Stored(Symmetric):
    """A symmetric matrix held in memory. The operator owns it, and solvers may overwrite it."""

    def __init__(self, matrix: np.ndarray) -> None:
        super().__init__(matrix.dtype, matrix.shape[0])
        self.matrix = matrix

    def _matvec(self, v: Array) -> Array:
        return self.matrix @ v

    def _matmat(self, V: Array) -> Array:
        return tiles.multiply_stored(self.matrix, V)

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.matrix.diagonal().astype(float)

    def columns(self, which: np.ndarray) -> np.ndarray:
        return self.matrix[which].T

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        return self.matrix[which].T @ V

    def dense(self) -> np.ndarray:
        return self.matrix

    def rounded(self) -> Stored | None:
        return _rounded(self)


class Packed(Symmetric):
    """A symmetric matrix of which one triangle is held in memory."""

    def __init__(self, matrix: Triangle) -> None:
        super().__init__(matrix.dtype, matrix.n)
        self.matrix = matrix

    def _matmat(self, V: Array) -> Array:
        return self.matrix.multiply(V.astype(self.dtype, copy=False))

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.matrix.diagonal()

    def columns(self, which: np.ndarray) -> np.ndarray:
        return self.matrix.columns(which)

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        return self.matrix.multiply_columns(which, V)

    def dense(self) -> np.ndarray:
        return self.matrix.dense()

    def rounded(self) -> Packed | None:
        return _rounded(self)


class Tiled(Symmetric):
    """The Gram matrix of the rows of X, recomputed in every product."""

    def __init__(self, kernel: Kernel, X: Rows) -> None:
        super().__init__(tiles.value_dtype(X, X), X.shape[0])
        self.kernel, self.X = kernel, X

    def _matmat(self, V: Array) -> Array:
        return tiles.multiply_symmetric(self.kernel, self.X, np.ascontiguousarray(V))

    @cached_property
    def diagonal(self) -> np.ndarray:
        return np.asarray(self.kernel.diagonal(self.X), dtype=float)

    def columns(self, which: np.ndarray) -> np.ndarray:
        return tiles.cross(self.kernel, self.X, self.X[which])

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        return tiles.multiply(self.kernel, self.X, self.X[which], V)

    def features(self, rows: np.ndarray) -> np.ndarray:
        columns = self.columns(rows)
        return columns @ inverse_root(columns[rows])

    def dense(self) -> np.ndarray:
        return tiles.gram(self.kernel, self.X)


class FeatureGram(Symmetric):
    """FFᵀ for explicit features F (n × r); ``own`` holds the values k(x, x) that its diagonal approximates."""

    def __init__(self, F: np.ndarray, own: np.ndarray) -> None:
        super().__init__(F.dtype, F.shape[0])
        self.F, self.own = F, own
        self.diagonal = np.einsum("ij,ij->i", F, F)

    def _matmat(self, V: Array) -> Array:
        return self.F @ (self.F.T @ V)

    def columns(self, which: np.ndarray) -> np.ndarray:
        return self.F @ self.F[which].T

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        return self.F @ (self.F[which].T @ V)

    def combine(self, weights: np.ndarray) -> np.ndarray:
        """Combinations of the rows of F, shape (combinations, r)."""
        return weights @ self.F


class Centred(Symmetric):
    """HAH for any symmetric operator A. The constant vector is mapped to exactly 0."""

    def __init__(self, operator: Symmetric) -> None:
        super().__init__(operator.dtype, operator.shape[0])
        self.operator = operator

    def _matvec(self, v: Array) -> Array:
        product = self.operator.matvec(v - v.mean())
        return product - product.mean()

    def _matmat(self, V: Array) -> Array:
        product = self.operator @ (V - V.mean(axis=0))
        return product - product.mean(axis=0)

    def features(self, rows: np.ndarray) -> np.ndarray | None:
        features = self.operator.features(rows)
        return None if features is None else features - features.mean(axis=0)

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray | None:
        """HA[:, which] V, which is HAH[:, which] V if the columns of V sum to 0."""
        product = self.operator.multiply_columns(which, V)
        return None if product is None else product - product.mean(axis=0)

    def rounded(self) -> Centred | None:
        rounded = self.operator.rounded()
        return None if rounded is None else Centred(rounded)

    def dense(self) -> np.ndarray:
        matrix = np.array(self.operator.dense())
        center_in_place(matrix)
        return matrix


class CentredStored(Centred):
    """HAH for a stored matrix, centred in place at the first ``dense()``; products do not need that."""

    operator: Stored

    def dense(self) -> np.ndarray:
        return self._centred_matrix

    @cached_property
    def _centred_matrix(self) -> np.ndarray:
        center_in_place(self.operator.matrix)  # products do not change: HH = H
        return self.operator.matrix


def _rounded(operator: Any) -> Any:
    """An operator of the same class on a copy of its matrix in single precision, see :meth:`Symmetric.rounded`."""
    size, copied = float(np.abs(operator.diagonal).mean()), operator.shape[0] ** 2 * 4
    if operator.dtype != np.float64 or copied > free_memory() / 2 or not TINY < size < 1 / TINY:
        return None
    try:
        with np.errstate(over="raise"):
            return type(operator)(operator.matrix.astype(np.float32))
    except FloatingPointError:  # a value too large for single precision
        return None


@np.errstate(over="ignore", invalid="ignore")  # the result is checked
def gram_operator(kernel: Kernel, X: Rows, *, center: bool, storage: str = "auto") -> tuple[Symmetric, GramStatistics]:
    """The Gram matrix of the rows of X as an operator, centred if ``center``, and the statistics that centre it."""
    plain = _plain_operator(kernel, X, choose_storage(storage, X.shape[0], X.dtype))
    return centred(plain, float(np.sum(kernel.diagonal(X), dtype=float)), center)


@np.errstate(over="ignore", invalid="ignore")  # callers check the result
def plain_gram(kernel: Kernel, X: Rows, storage: str = "auto") -> Symmetric:
    """The Gram matrix of the rows of X, not centred; ``storage`` as in :func:`choose_storage`.

    With "auto" a small matrix is stored in full: its columns are then rows, which are faster to read.
    """
    chosen = choose_storage(storage, X.shape[0], tiles.value_dtype(X, X))
    if storage == "auto" and chosen == "memory" and X.shape[0] <= SMALL:
        chosen = "square"
    return _plain_operator(kernel, X, chosen)


def _plain_operator(kernel: Kernel, X: Rows, storage: str) -> Symmetric:
    if storage == "recompute":
        return Tiled(kernel, X)
    if storage == "square":
        return Stored(tiles.gram(kernel, X))
    return Packed(triangle.packed_gram(kernel, X))


def matrix_operator(matrix: np.ndarray, *, center: bool) -> tuple[Symmetric, GramStatistics]:
    """Like :func:`gram_operator`, for a precomputed kernel matrix, which is copied."""
    return centred(Stored(np.array(matrix)), float(np.trace(matrix, dtype=float)), center)


def centred(operator: Symmetric, trace: float, center: bool) -> tuple[Symmetric, GramStatistics]:
    """The operator, centred if ``center``, and the statistics that centre it; ``trace`` is that of the operator."""
    n = operator.shape[0]
    row_means = operator.row_means()
    statistics = GramStatistics(row_means, float(row_means.mean(dtype=float)), trace, 1 / n)
    refuse_overflow(statistics.total_variance)
    _refuse_underflow(abs(trace) / n, n, operator.dtype)
    if not center:
        return operator, GramStatistics(np.zeros_like(row_means), 0.0, trace, 0.0)
    return (CentredStored if isinstance(operator, Stored) else Centred)(operator), statistics


def inverse_root(matrix: np.ndarray, noise: float | None = None) -> np.ndarray:
    """T (m × r) with TTᵀ the pseudo-inverse of a positive semidefinite matrix, leading directions first.

    Eigenvalues up to ``noise``, the rounding error of the matrix, or up to a few eps of the largest, the round-off of
    LAPACK, count as 0. Without ``noise`` the limit is m·eps of the largest.
    """
    values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    eps = np.finfo(values.dtype).eps * max(values[-1], 0)
    kept = values > (len(values) * eps if noise is None else max(10 * eps, noise))
    return (vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1]


def center_in_place(matrix: np.ndarray) -> None:
    """Subtract hᵢ + hⱼ from Kᵢⱼ, with h = r − s̄/2 in double precision, by blocks of rows and without a second matrix.

    The sum is the same for both triangles, so they stay equal. A second pass removes the rounding error of the means.
    An error of eps·r shared by all entries of a row would be an eigenvalue of order n·eps·r; independent errors of the
    entries add up to √n·eps·r.
    """
    for _ in range(2):
        means = matrix.mean(axis=0, dtype=float)
        halves = means - means.mean() / 2

        def centre(rows: slice, halves: Array = halves) -> None:
            matrix[rows] -= halves[rows, None] + halves

        with threads.suited(20 * matrix.size):
            threads.parallel_map(centre, slicing.slices(matrix.shape[0], 128))


def check_storage(storage: str) -> None:
    """Refuse an unknown storage."""
    if storage not in ("auto", "memory", "square", "recompute"):
        raise ValueError(f'storage must be "auto", "memory" or "recompute", not {storage!r}.')


def choose_storage(storage: str, n: int, dtype: DTypeLike, *, square: bool = False) -> str:
    """How to store a kernel matrix; ``"auto"`` is ``"memory"`` if that takes at most half of the free memory.

    ``"memory"`` stores one triangle, ``"square"`` the full matrix for solvers that work on it, and ``"recompute"``
    nothing. ``square`` is for callers that need the full matrix.
    """
    check_storage(storage)
    if storage != "auto":
        return storage
    needed = n * n * np.dtype(dtype).itemsize / (1 if square else 2)
    return "memory" if needed <= free_memory() / 2 else "recompute"


def refuse_overflow(value: float) -> None:
    """Refuse a kernel matrix if a sum over it is not finite."""
    if not np.isfinite(value):
        raise ValueError(
            "the kernel matrix has values that are infinite or not numbers: bring the columns to a smaller scale "
            "(for example with scikit-learn's StandardScaler), or choose a kernel that fits their scale."
        )


def _refuse_underflow(size: float, n: int, dtype: DTypeLike) -> None:
    """Refuse kernel values whose products with vectors of n entries lose digits; zeros stay zeros."""
    if 0 < size < n * np.finfo(dtype).tiny:
        raise ValueError(
            f"the kernel values are about {size:.0e}, too small for {np.dtype(dtype)} to hold all their digits: bring "
            "the columns to a larger scale (for example with scikit-learn's StandardScaler)."
        )
