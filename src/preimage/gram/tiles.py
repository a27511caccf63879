"""Kernel values in bulk: in tiles that fit the cache, on all cores, within a memory budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from preimage._typing import Rows
from preimage.gram import slicing, threads
from preimage.gram.prepared import Prepared, prepare_rows
from preimage.kernels import Kernel

WIDE = 5000  # columns of a tile that is converted to kernel values in strips
COPIES = 8  # tile-sized matrices that a kernel, composites included, holds while it computes

Place = tuple[slice, slice]  # the rows and the columns of a tile
Strips = dict[int, Prepared]  # rows of tiles, by the number of their first row


def cross(kernel: Kernel, X: Rows, Y: Rows, ready: Any = None) -> np.ndarray:
    """The kernel matrix between the rows of X and the rows of Y, which may be ``ready``, prepared before."""
    with threads.suited(_operations(X, Y)):
        out = np.empty((X.shape[0], Y.shape[0]), dtype=value_dtype(X, Y))
        right, side = ready or prepare_rows(kernel, Y, other=X), tile_side(Y)
        parts = cut_rows(right, slicing.even_slices(Y.shape[0], _panel_width(side) if right.in_strips else side))

        def fill(rows: slice) -> None:
            left = right.like(X[rows])
            for columns, part in parts:
                left.values(part, out[rows, columns])

        threads.parallel_map(fill, slicing.slices(X.shape[0], min(slicing.fair_length(X.shape[0]), side)))
        return out


def gram(kernel: Kernel, X: Rows) -> np.ndarray:
    """The symmetric kernel matrix of the rows of X, each off-diagonal tile computed once."""
    with threads.suited(_operations(X, X) / 2):
        out, places = np.empty((X.shape[0], X.shape[0]), dtype=value_dtype(X, X)), upper_tiles(X)
        strips = strips_of(prepare_rows(kernel, X), places)
        threads.parallel_map(lambda place: tile(strips, place, out[place]), places)
        mirror(out)
        return out


def multiply(kernel: Kernel, X: Rows, Y: Rows, V: np.ndarray, ready: Any = None) -> np.ndarray:
    """K(X, Y) @ V without storing K; Y may be ``ready``, prepared before."""
    with threads.suited(_operations(X, Y) + X.shape[0] * V.size):
        out = np.zeros((X.shape[0], *V.shape[1:]), dtype=np.result_type(value_dtype(X, Y), V.dtype))
        right, side = ready or prepare_rows(kernel, Y, other=X), tile_side(Y)
        parts = cut_rows(right, slicing.even_slices(Y.shape[0], side))

        def fill(rows: slice) -> None:
            left = right.like(X[rows])
            for columns, part in parts:
                out[rows] += left.values(part) @ V[columns]

        threads.parallel_map(fill, slicing.slices(X.shape[0], min(slicing.fair_length(X.shape[0]), side)))
        return out


def multiply_symmetric(kernel: Kernel, X: Rows, V: np.ndarray) -> np.ndarray:
    """K(X, X) @ V without storing K, each off-diagonal tile computed once and used twice."""
    with threads.suited(_operations(X, X) / 2 + X.shape[0] * V.size):
        places = upper_tiles(X)
        strips = strips_of(prepare_rows(kernel, X), places)
        return multiply_tiles(places, lambda number: symmetric_tile(strips, places[number]), V, value_dtype(X, X))


def multiply_tiles(
    places: list[Place],
    block: Callable[[int], np.ndarray],
    V: np.ndarray,
    dtype: DTypeLike = float,
    n_shares: int | None = None,
) -> np.ndarray:
    """A symmetric matrix times a few columns, from its tiles on and above the diagonal, ``block(number)``.

    Every thread sums a share of the tiles. A tile is first multiplied from the left, which reads it in the order of
    memory, and then, from the cache, from the right: other ways take up to a third longer in BLAS.
    """
    right, left = np.ascontiguousarray(V), np.ascontiguousarray(V.T)

    def product(share: range) -> np.ndarray:
        out, beside = (np.zeros(side.shape, dtype=np.result_type(dtype, V)) for side in (left, right))
        for number in share:
            (rows, columns), values = places[number], block(number)
            out[..., columns] += left[..., rows] @ values
            if rows != columns:
                beside[rows] += values @ right[columns]
        out += beside.T
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
        threads.parallel_map(fill, slicing.slices(matrix.shape[0], 2 * slicing.TILE))
    return out.T


def cut_rows(points: Prepared, parts: list[slice]) -> list[tuple[slice, Prepared]]:
    """Prepared rows in parts. Each part is made once, because some kinds of rows are copied."""
    return [(part, points[part]) for part in parts]


def strips_of(points: Prepared, places: list[Place]) -> Strips:
    """The rows of the tiles of a symmetric matrix."""
    diagonal = [rows for rows, columns in places if rows == columns]
    return {rows.start: strip for rows, strip in cut_rows(points, diagonal)}


def tile(strips: Strips, place: Place, out: np.ndarray | None = None) -> np.ndarray:
    """A tile of the kernel matrix of some rows."""
    rows, columns = place
    return strips[rows.start].values(strips[columns.start], out)


def symmetric_tile(strips: Strips, place: Place, out: np.ndarray | None = None) -> np.ndarray:
    """A tile as in :func:`tile`, but exactly symmetric if it lies on the diagonal."""
    block, (rows, columns) = tile(strips, place, out), place
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
        threads.parallel_map(copy, slicing.slices(len(matrix), max(slicing.TILE // 8, len(matrix) // 64)))


@lru_cache(maxsize=16)
def _below_diagonal(n: int) -> np.ndarray:
    return np.tri(n, k=-1, dtype=bool)


def tile_side(X: Rows, most: int | None = None) -> int:
    """Rows and columns of a tile: ``most``, or fewer if the memory budget is too small for a tile per thread.

    A tile of side s takes ``COPIES`` s² numbers, and two copies of its rows and columns, 4s × their width.
    """
    numbers, width = threads.working_bytes() / 8, X.size / max(X.shape[0], 1)  # width: numbers stored per row
    side = min(most or slicing.TILE, X.shape[0])
    if threads.cpu_count() * (COPIES * side**2 + 4 * side * width) <= numbers:  # for any number of threads
        return most or slicing.TILE
    share = numbers / threads.n_threads()
    affordable = (np.sqrt(4 * width**2 + COPIES * share) - 2 * width) / COPIES
    return max(16, min(most or slicing.TILE, int(affordable)))


def _panel_width(side: int) -> int:
    """Columns of a tile with so many rows within a larger array: long rows are written in up to a third less time."""
    affordable = threads.working_bytes() / 8 / threads.cpu_count() / COPIES / side  # for any number of threads
    return int(np.clip(affordable, side, WIDE))


def upper_tiles(X: Rows) -> list[Place]:
    """Tiles on and above the diagonal of the kernel matrix of some rows: at least 55, or tiles of the usual size.

    They are up to twice as long as other tiles, because inner products of many columns are faster with long ones.
    """
    n = X.shape[0]
    side = tile_side(X, most=max(slicing.TILE, min(-(-n // 10), 2 * slicing.TILE)))
    blocks = slicing.even_slices(n, side)
    return [(rows, columns) for i, rows in enumerate(blocks) for columns in blocks[i:]]


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
