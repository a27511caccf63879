"""Kernel values in bulk: in tiles that fit the cache, on all cores, within a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from preimage._typing import Rows
from preimage.gram import threads
from preimage.gram.grid import Grid, guess
from preimage.kernels import Kernel
from preimage.kernels.geometry import fill_from_differences, recompute_cancelled, squared_norms

TILE = 496  # side of a tile: 2 MiB of float64 stay in a core's cache; rows of a power of two would evict each other
STRIP = 2**19  # bytes of a tile converted from inner products to kernel values at once
SAMPLE = 32  # rows from which a robust centre is computed
COPIES = 8  # tile-sized matrices that a kernel, composites included, holds while it computes

Place = tuple[slice, slice]  # the rows and the columns of a tile


def cross(kernel: Kernel, X: Rows, Y: Rows) -> np.ndarray:
    """The kernel matrix between the rows of X and the rows of Y."""
    with threads.suited(_operations(X, Y)):
        out = np.empty((X.shape[0], Y.shape[0]), dtype=value_dtype(X, Y))
        right, side = PreparedRows.of(kernel, Y, other=X), tile_side(Y)

        def fill(rows: slice) -> None:
            left = right.like(X[rows])
            for columns in slices(Y.shape[0], side):
                left.values(right[columns], out[rows, columns])

        threads.parallel_map(fill, slices(X.shape[0], min(fair_length(X.shape[0]), side)))
        return out


def gram(kernel: Kernel, X: Rows) -> np.ndarray:
    """The symmetric kernel matrix of the rows of X, each off-diagonal tile computed once."""
    with threads.suited(_operations(X, X) / 2):
        out, points = np.empty((X.shape[0], X.shape[0]), dtype=value_dtype(X, X)), PreparedRows.of(kernel, X)
        threads.parallel_map(lambda place: tile(points, place, out[place]), upper_tiles(X))
        mirror(out)
        return out


def multiply(kernel: Kernel, X: Rows, Y: Rows, V: np.ndarray) -> np.ndarray:
    """K(X, Y) @ V without storing K."""
    with threads.suited(_operations(X, Y) + X.shape[0] * V.size):
        out = np.zeros((X.shape[0], *V.shape[1:]), dtype=np.result_type(value_dtype(X, Y), V.dtype))
        right, side = PreparedRows.of(kernel, Y, other=X), tile_side(Y)
        parts = [(columns, right[columns]) for columns in slices(Y.shape[0], side)]  # sparse rows are copied once, here

        def fill(rows: slice) -> None:
            left = right.like(X[rows])
            for columns, part in parts:
                out[rows] += left.values(part) @ V[columns]

        threads.parallel_map(fill, slices(X.shape[0], min(fair_length(X.shape[0]), side)))
        return out


def multiply_symmetric(kernel: Kernel, X: Rows, V: np.ndarray) -> np.ndarray:
    """K(X, X) @ V without storing K, each off-diagonal tile computed once and used twice."""
    with threads.suited(_operations(X, X) / 2 + X.shape[0] * V.size):
        places, points = upper_tiles(X), PreparedRows.of(kernel, X)
        return multiply_tiles(places, lambda number: symmetric_tile(points, places[number]), V, value_dtype(X, X))


def multiply_tiles(
    places: list[Place],
    block: Callable[[int], np.ndarray],
    V: np.ndarray,
    dtype: DTypeLike = float,
    n_shares: int | None = None,
) -> np.ndarray:
    """A symmetric matrix times a few columns, from its tiles on and above the diagonal, ``block(number)``.

    Computed as (VᵀA)ᵀ, which is a little faster in BLAS; every thread sums a share of the tiles.
    """

    def product(share: range) -> np.ndarray:
        out = np.zeros(V.T.shape, dtype=np.result_type(dtype, V))
        for number in share:
            (rows, columns), values = places[number], block(number)
            out[..., rows] += V.T[..., columns] @ values.T
            if rows != columns:
                out[..., columns] += V.T[..., rows] @ values
        return out

    n_shares = n_shares or threads.n_threads()
    shares = [range(first, len(places), n_shares) for first in range(n_shares)]
    return np.sum(threads.parallel_map(product, shares), axis=0).T


def multiply_stored(matrix: np.ndarray, V: np.ndarray) -> np.ndarray:
    """A stored symmetric matrix times a few columns, by blocks: faster than one BLAS call for a tall thin V.

    Computed as (VᵀA)ᵀ, which is faster in BLAS.
    """
    out = np.empty((*V.shape[1:], matrix.shape[0]), dtype=np.result_type(matrix, V))

    def fill(rows: slice) -> None:
        out[..., rows] = V.T @ matrix[:, rows]

    with threads.suited(matrix.shape[0] * V.size):
        threads.parallel_map(fill, slices(matrix.shape[0], 2 * TILE))
    return out.T


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows prepared for many tiles: the work that all tiles share is done once.

    For a radial kernel, rows x become x̃ = (x − origin)·√(2/c) with half their squared norms h, c the kernel's ``unit``;
    then −‖x − y‖²/c = x̃ᵀỹ − h(x) − h(y) is an inner product and two subtractions. Where that cancels, it is recomputed
    from the rows as ``given``. Rows of double precision that lie on a grid become whole numbers in single precision,
    whose inner products, times ``weight``, are exact.
    """

    kernel: Any
    X: Any
    given: Any = None
    origin: np.ndarray | None = None
    halves: Any = None
    columns: np.ndarray | None = None
    grid: Grid | None = None
    slope: float = np.inf

    @classmethod
    def of(cls, kernel: Any, X: Rows, other: Rows | None = None) -> PreparedRows:
        """Rows moved to their centre, if the kernel is radial and all rows are dense; else the rows as they are.

        The moved copy may take a quarter of the budget; the kernel moves the tiles of larger rows itself. Constant
        columns become 0: they count in h, but not in the products.
        """
        sparse, room = sp.issparse(X) or sp.issparse(other), threads.working_bytes() / 4
        if sparse or not hasattr(kernel, "from_closeness") or not 0 < 4 * X.size <= room:
            return cls(kernel, X)
        varies = np.ptp(X, axis=0) > 0
        origin = np.where(varies, _centre(X), X[0])
        grid = _common_grid([X] if other is None else [X, other], origin)
        if grid is None and X.nbytes > room:
            return cls(kernel, X)
        columns = None if varies.all() else np.flatnonzero(varies)
        slope = -float(kernel.derivative(np.zeros(()))) * kernel.unit  # the largest |dκ/du|: profiles are convex
        return cls(kernel, X, origin=origin, columns=columns, grid=grid, slope=slope).like(X)

    def like(self, X: Rows) -> PreparedRows:
        """Other rows with the same origin."""
        if self.origin is None or sp.issparse(X):
            return PreparedRows(self.kernel, X)
        width = X.shape[1] if self.columns is None else len(self.columns)
        exact, single = np.result_type(X, self.origin), self.grid is not None
        halves = np.empty(X.shape[0], dtype=float if single else exact)
        counted = np.empty((X.shape[0], width), dtype=np.float32 if single else exact)

        def move(rows: slice) -> None:
            moved = self._moved(X[rows])
            halves[rows] = squared_norms(moved) * (self.weight / 2)
            counted[rows] = moved if self.columns is None else moved.take(self.columns, axis=1)

        threads.parallel_map(move, slices(X.shape[0], TILE // 2))
        return replace(self, X=counted, given=X, halves=halves)

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

    def __getitem__(self, part: slice) -> PreparedRows:
        if self.halves is None:
            return replace(self, X=self.X[part])
        return replace(self, X=self.X[part], given=self.given[part], halves=self.halves[part])

    def values(self, other: PreparedRows, out: np.ndarray | None = None) -> np.ndarray:
        """Kernel values with other rows, in ``out`` or a new array."""
        if self.halves is None or other.halves is None:
            return _into(out, self.kernel(self.X, other.X))
        return self._radial_values(other, out)

    @np.errstate(over="ignore", invalid="ignore")  # values that overflow are recomputed
    def _radial_values(self, other: PreparedRows, out: np.ndarray | None) -> np.ndarray:
        values = self._products(other, out)
        if self is other:
            np.fill_diagonal(values, -np.inf)  # known already
        for part in strips(values):
            self._measure(part, values[part], other)
            _into(values[part], self.kernel.from_closeness(values[part]))
        if self is other:
            np.fill_diagonal(values, self.kernel.profile(np.zeros((), dtype=values.dtype)))
        return values

    def _products(self, other: PreparedRows, out: np.ndarray | None) -> np.ndarray:
        """The inner products x̃ᵀỹ."""
        if self.grid is None:
            return np.matmul(self.X, other.X.T, out=out)
        return np.multiply(self.X @ other.X.T, self.weight, out=out, dtype=float)

    def _measure(self, part: slice, values: np.ndarray, other: PreparedRows) -> None:
        """Turn inner products of some rows into −‖x − y‖²/c; compute those of a single column from differences."""
        X, Y, factor, half = self.given[part], other.given, 1 / self.kernel.unit, self.halves[part]
        if X.shape[1] == 1:
            fill_from_differences(values, X, Y, factor)
            return
        values -= half[:, None]
        values -= other.halves
        recompute_cancelled(values, half, other.halves, X, Y, factor, self.slope)


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
    if value_dtype(*matrices) != np.float64 or min(X.shape[0] for X in matrices) < TILE:
        return None
    grid = guess(matrices[0], near)
    if grid is None:
        return None
    parts = (X[rows] for X in matrices for rows in slices(X.shape[0], TILE // 2))
    return grid if all(threads.parallel_map(grid.holds, parts)) else None


def _into(out: np.ndarray | None, values: np.ndarray) -> np.ndarray:
    """The values, written to ``out`` if it is given."""
    if out is None or values is out:
        return values
    out[:] = values
    return out


def tile(points: PreparedRows, place: Place, out: np.ndarray | None = None) -> np.ndarray:
    """A tile of the kernel matrix of some rows."""
    rows, columns = place
    left = points[rows]
    return left.values(left if rows == columns else points[columns], out)


def symmetric_tile(points: PreparedRows, place: Place, out: np.ndarray | None = None) -> np.ndarray:
    """A tile as in :func:`tile`, but exactly symmetric if it lies on the diagonal."""
    block, (rows, columns) = tile(points, place, out), place
    if rows == columns:
        mirror(block)
    return block


def mirror(matrix: np.ndarray) -> None:
    """Copy the upper triangle of a square matrix to the lower one, by blocks: transposing long rows is slow."""

    def copy(part: slice) -> None:
        block = matrix[part, part]
        np.copyto(block, block.T.copy(), where=_below_diagonal(len(block)))
        matrix[part.stop :, part] = matrix[part, part.stop :].T

    with threads.suited(20 * matrix.size):
        threads.parallel_map(copy, slices(len(matrix), max(TILE // 8, len(matrix) // 64)))


@lru_cache(maxsize=16)
def _below_diagonal(n: int) -> np.ndarray:
    return np.tri(n, k=-1, dtype=bool)


def map_rows(function: Callable[[slice], Any], n_rows: int, row_bytes: float) -> list:
    """``function(rows)`` for slices that cover the rows, in threads; one row takes ``row_bytes`` of memory."""
    affordable = int(threads.working_bytes() / max(row_bytes, 1) / threads.n_threads())
    return threads.parallel_map(function, slices(n_rows, max(1, min(fair_length(n_rows), affordable))))


def slices(n: int, length: int = TILE) -> list[slice]:
    """Consecutive slices of at most ``length`` that cover range(n)."""
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def strips(values: np.ndarray) -> list[slice]:
    """Slices of rows that hold ``STRIP`` bytes each."""
    return slices(len(values), max(1, STRIP // max(values.shape[1] * values.itemsize, 1)))


def row_blocks(n: int, row_bytes: float) -> Iterator[slice]:
    """Slices of rows as long as the memory budget allows."""
    yield from slices(n, max(1, int(threads.working_bytes() / max(row_bytes, 1))))


def tile_side(X: Rows, most: int | None = None) -> int:
    """Rows and columns of a tile: ``most``, or fewer if the memory budget is too small for a tile per thread.

    A tile of side s takes ``COPIES`` s² numbers, and two copies of its rows and columns, 4s × their width.
    """
    numbers, width = threads.working_bytes() / 8, X.size / max(X.shape[0], 1)  # width: numbers stored per row
    side = min(most or TILE, X.shape[0])
    if threads.cpu_count() * (COPIES * side**2 + 4 * side * width) <= numbers:  # for any number of threads
        return most or TILE
    share = numbers / threads.n_threads()
    affordable = (np.sqrt(4 * width**2 + COPIES * share) - 2 * width) / COPIES
    return max(16, min(most or TILE, int(affordable)))


def upper_tiles(X: Rows) -> list[Place]:
    """Tiles on and above the diagonal of the kernel matrix of some rows: at least 21, or tiles of the usual size.

    They are up to twice as long as other tiles, because the thin products of eigensolvers are faster with long ones.
    """
    n = X.shape[0]
    n_blocks = -(-n // tile_side(X, most=int(np.clip(-(-n // 6), TILE, 2 * TILE))))
    blocks = slices(n, -(-n // n_blocks))  # of equal length: products with thin tiles are slow
    return [(rows, columns) for i, rows in enumerate(blocks) for columns in blocks[i:]]


def fair_length(n: int) -> int:
    """Rows per task, so that each of several threads gets two or more tasks and none is larger than a tile."""
    n_threads = threads.n_threads()
    return max(1, min(TILE, -(-n // (2 * n_threads if n_threads > 1 else 1))))


def _operations(X: Rows, Y: Rows) -> float:
    """About how many multiplications the kernel values between the rows of X and of Y cost; an exponential costs 20."""
    return X.shape[0] * Y.shape[0] * (Y.size / max(Y.shape[0], 1) + 20)


def floating(X: Rows) -> Any:
    """The same numbers, dense or sparse, in the type of :func:`floating_dtype`."""
    return X.astype(floating_dtype(X.dtype), copy=False)


def floating_dtype(dtype: DTypeLike) -> np.dtype:
    """The type in which kernels take numbers: single precision stays, all else becomes double precision."""
    return np.dtype(dtype) if dtype in (np.float32, np.float64) else np.dtype(np.float64)


def value_dtype(*matrices: Any) -> np.dtype:
    """The type of kernel values: that of the rows, or float64 for whole numbers."""
    kinds = [X.dtype for X in matrices if X.dtype.kind == "f"]
    return np.result_type(*kinds) if kinds else np.dtype(float)
