"""Rows prepared for many tiles of kernel values: the work that all tiles share is done once.

:func:`prepare_rows` chooses the kind by the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp

from preimage._typing import Rows
from preimage.caching import Remembering
from preimage.gram import slicing, threads
from preimage.gram.grid import Grid, guess
from preimage.gram.rare import ColumnSplit, Parted
from preimage.kernels import Kernel, Product, Sum, knows
from preimage.kernels.geometry import fill_from_differences, inner_products, recompute_cancelled, squared_norms

SAMPLE = 16  # rows from which a robust centre is computed
FEW = 600  # rows that are not moved if they are near the origin
NEAR = 16  # times the usual squared distance: the largest squared norm of rows that need not be moved
MANY = 10**6  # numbers from which rows are prepared in several threads
KEPT = 2**26  # bytes of points up to which a model keeps them prepared


class Prepared(Protocol):
    """Rows prepared for a kernel; ``in_strips`` says whether they are converted in strips that stay in the cache."""

    in_strips: ClassVar[bool]

    def like(self, X: Rows) -> Self:
        """Other rows, prepared in the same way."""

    def __getitem__(self, part: slice) -> Self:
        """Some of the rows."""

    def values(self, other: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values with other rows, in ``out`` or a new array."""


def prepare_rows(kernel: Kernel, X: Rows, other: Rows | None = None) -> Any:
    """The rows of X prepared for kernel values with each other, or with the rows of ``other``."""
    if isinstance(kernel, Sum | Product) and not knows(kernel, "profile"):
        return Pair(kernel, prepare_rows(kernel.left, X, other), prepare_rows(kernel.right, X, other))
    if kernel.argument == "inner" and knows(kernel, "profile"):
        return Inner(kernel, X)
    if hasattr(kernel, "from_closeness") and not (sp.issparse(X) or sp.issparse(other)):
        return Moved.of(kernel, X, other)
    return AsGiven(kernel, X)


def kept(owner: Remembering, kernel: Kernel, points: Rows, X: Rows) -> Any:
    """The points of a model, prepared once for many calls with few rows X; None for more rows, or for large points."""
    sparse = sp.issparse(points) or sp.issparse(X)
    if sparse or X.shape[0] >= slicing.TILE or points.nbytes > KEPT:
        return None

    def compute() -> Any:
        with threads.single_threaded():  # others may wait for this result, so it must not wait for their threads
            return prepare_rows(kernel, points, X[:1])  # one row, so that the first call does not decide for others

    return owner.remembered("prepared", compute)


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Rows as they are, for a kernel that takes them so."""

    in_strips: ClassVar[bool] = False
    kernel: Kernel
    X: Any

    def like(self, X: Rows) -> Self:
        return replace(self, X=X)

    def __getitem__(self, part: slice) -> Self:
        return replace(self, X=self.X[part])

    def values(self, other: AsGiven, out: np.ndarray | None = None) -> np.ndarray:
        return _into(out, self.kernel(self.X, other.X))


class Inner(AsGiven):
    """Rows for a kernel κ(xᵀy): κ is computed in place, in strips that stay in the cache."""

    in_strips: ClassVar[bool] = True
    kernel: Any

    def values(self, other: AsGiven, out: np.ndarray | None = None) -> np.ndarray:
        X, Y = self.X, other.X
        if out is None:
            out = np.empty((X.shape[0], Y.shape[0]), dtype=np.result_type(X, Y, np.float32))
        if sp.issparse(X) or sp.issparse(Y):
            out[:] = inner_products(X, Y)
        else:
            np.matmul(X, Y.T, out=out)
        for part in slicing.strips(out):
            _into(out[part], self.kernel.profile(out[part]))
        return out


@dataclass(frozen=True, eq=False)
class Pair:
    """Rows for a sum or product of kernels of different arguments, prepared for each of them."""

    in_strips: ClassVar[bool] = False
    kernel: Any
    left: Any
    right: Any

    def like(self, X: Rows) -> Self:
        return replace(self, left=self.left.like(X), right=self.right.like(X))

    def __getitem__(self, part: slice) -> Self:
        return replace(self, left=self.left[part], right=self.right[part])

    def values(self, other: Pair, out: np.ndarray | None = None) -> np.ndarray:
        values = self.left.values(other.left, out)
        joined: np.ndarray = self.kernel.join(values, self.right.values(other.right), out=out)
        return joined


@dataclass(frozen=True, eq=False)
class Moved:
    """Rows for a radial kernel, moved to their centre.

    Rows x become x̃ = (x − origin)·√(2/c) with half their squared norms h, c the kernel's ``unit``; then
    −‖x − y‖²/c = x̃ᵀỹ − h(x) − h(y) is an inner product and two subtractions. Where that cancels, it is recomputed from
    the rows as ``given``. Rows of double precision that lie on a grid become whole numbers in single precision, whose
    inner products, times ``weight``, are exact.
    """

    in_strips: ClassVar[bool] = True
    kernel: Any
    X: Any
    origin: np.ndarray
    columns: ColumnSplit
    given: Any = None
    halves: Any = None
    grid: Grid | None = None
    slope: float = np.inf

    @classmethod
    def of(cls, kernel: Any, X: Rows, other: Rows | None) -> Moved | AsGiven:
        """Rows moved to their centre, or as they are.

        The moved copy may take a quarter of the budget; the kernel moves the tiles of larger rows itself. Constant
        columns become 0: they count in h, but not in the products.
        """
        room = threads.working_bytes() / 4
        if not 0 < 4 * X.size <= room:
            return AsGiven(kernel, X)
        n_others = X.shape[0] if other is None else other.shape[0]
        slope = -float(kernel.derivative(np.zeros(()))) * kernel.unit  # the largest |dκ/du|: profiles are convex
        if max(X.shape[0], n_others) <= FEW:
            origin = np.zeros(1, dtype=np.result_type(X, np.float32))
            with np.errstate(over="ignore", invalid="ignore"):  # rows whose squares overflow are not near
                rows = AtOrigin(kernel, X, origin, ColumnSplit.without_zeros(X), slope=slope).like(X)
                if rows.is_near:
                    return rows
        columns = ColumnSplit.of(X, n_others)
        origin = columns.origin(X, _centre(X))
        grid = _common_grid([X] if other is None else [X, other], origin)
        if grid is None and X.nbytes > room:
            return AsGiven(kernel, X)
        return cls(kernel, X, origin, columns, grid=grid, slope=slope).like(X)

    def like(self, X: Rows) -> Self:
        """Other rows with the same origin."""
        exact, single = np.result_type(X, self.origin), self.grid is not None
        halves = np.empty(X.shape[0], dtype=float if single else exact)
        parts = Parted.empty(self.columns, X.shape, np.dtype(np.float32) if single else exact)

        def fill(share: list[slice]) -> None:
            for rows in share:
                moved = self._moved(X[rows])
                halves[rows] = squared_norms(moved) * (self.weight / 2)
                parts.fill(rows, moved)

        strips, n_shares = slicing.strips(X), threads.n_threads() if X.size > MANY else 1
        threads.parallel_map(fill, [strips[first::n_shares] for first in range(n_shares)])
        return replace(self, X=parts.ready(), given=X, halves=halves)

    def _moved(self, X: np.ndarray) -> np.ndarray:
        if self.grid is not None:
            return self.grid.numbers(X)
        moved = X - self.origin
        moved *= np.sqrt(2 / self.kernel.unit)
        return moved

    @property
    def weight(self) -> float:
        """The factor of the inner products."""
        return 1.0 if self.grid is None else 2 * (self.grid.step / np.sqrt(self.kernel.unit)) ** 2

    def __getitem__(self, part: slice) -> Self:
        return replace(self, X=self.X[part], given=self.given[part], halves=self.halves[part])

    @np.errstate(over="ignore", invalid="ignore")  # values that overflow are recomputed
    def values(self, other: Moved, out: np.ndarray | None = None) -> np.ndarray:
        values = self._products(other, out)
        if self is other:
            np.fill_diagonal(values, -np.inf)  # known already
        for part in slicing.strips(values):
            self._measure(part, values[part], other)
            _into(values[part], self.kernel.from_closeness(values[part]))
        if self is other:
            np.fill_diagonal(values, self.kernel.profile(np.zeros((), dtype=values.dtype)))
        return values

    def _products(self, other: Moved, out: np.ndarray | None) -> np.ndarray:
        """The inner products x̃ᵀỹ."""
        if self.grid is None:
            return self.X.inner_products(other.X, out)
        return np.multiply(self.X.inner_products(other.X), self.weight, out=out, dtype=float)

    def _measure(self, part: slice, values: np.ndarray, other: Moved) -> None:
        """Turn inner products of some rows into −‖x − y‖²/c; compute those of a single column from differences."""
        X, Y, factor, half = self.given[part], other.given, 1 / self.kernel.unit, self.halves[part]
        if X.shape[1] == 1:
            fill_from_differences(values, X, Y, factor)
            return
        values -= half[:, None]
        values -= other.halves
        recompute_cancelled(values, half, other.halves, X, Y, factor, self.slope)


class AtOrigin(Moved):
    """A few rows near the origin, which are not moved: that would take longer than it saves.

    Columns in which all of them are 0 count in h, but not in the products.
    """

    @property
    def is_near(self) -> bool:
        """Whether no squared norm exceeds the usual squared distance by far, and squares lose no digits."""
        rows, limit = self.X.common, float(np.finfo(self.halves.dtype).tiny) ** 0.5
        some = rows[:: -(-len(rows) // SAMPLE)]
        usual = _middle(squared_norms(some[1:] - some[:-1])) if len(some) > 1 else 0.0
        return limit < usual < 1 / limit and bool(self.halves.max() <= NEAR * usual * self.weight / 2)

    def like(self, X: Rows) -> Self:
        rows = np.ascontiguousarray(X, dtype=np.result_type(X, self.origin))  # the same values for any order in memory
        some = rows if self.columns.common is None else rows.take(self.columns.common, axis=1)
        parts = Parted(self.columns, some, np.empty((0, len(rows))))
        return replace(self, X=parts, given=X, halves=squared_norms(rows) * (self.weight / 2))

    @property
    def weight(self) -> float:
        return 2 / float(self.kernel.unit)

    def _products(self, other: Moved, out: np.ndarray | None) -> np.ndarray:
        values: np.ndarray = self.X.inner_products(other.X, out)
        values *= self.weight
        return values


def _centre(X: np.ndarray) -> np.ndarray:
    """The mean of the rows, or the median of some of them where outliers have drawn the mean away from most rows."""
    mean, some = X.mean(axis=0), np.asarray(X[:: -(-len(X) // SAMPLE)], dtype=float)
    far = _middle(squared_norms(some - mean))
    if far <= 2 * _middle(squared_norms(some - some[np.arange(len(some)) - 1])):
        return mean
    median = np.median(some, axis=0).astype(mean.dtype)
    return median if far > 2 * _middle(squared_norms(some - median)) else mean


def _middle(values: np.ndarray) -> float:
    """The upper median of at least one number, in a tenth of the time of ``np.median``."""
    half = len(values) // 2
    return float(np.partition(values, half)[half])


def _common_grid(matrices: list, near: np.ndarray) -> Grid | None:
    """The grid of all rows of the matrices, if these are float64 and have enough rows to gain from it; else None."""
    if np.result_type(*matrices, np.float32) != np.float64 or min(X.shape[0] for X in matrices) < 2 * slicing.TILE:
        return None
    grid = guess(matrices[0], near)
    if grid is None:
        return None
    parts = (X[rows] for X in matrices for rows in slicing.slices(X.shape[0], slicing.TILE // 2))
    return grid if all(threads.parallel_map(grid.holds, parts)) else None


def _into(out: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """The values, written to ``out`` if it is given."""
    if out is None or values is out:
        return values
    out[:] = values
    return out
