"""A symmetric matrix held as its tiles on and above the diagonal: half the memory, and every tile is used twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from preimage._typing import Rows
from preimage.gram import threads, tiles
from preimage.gram.prepared import prepare_rows
from preimage.kernels import Kernel

QUICK = 4e6  # multiplications below which threads do not pay


@dataclass(frozen=True, eq=False)
class Triangle:
    """Tiles and their places in the matrix, slices of its rows and columns."""

    places: list[tiles.Place]
    blocks: list[np.ndarray]

    @classmethod
    def empty(cls, places: list[tiles.Place], dtype: DTypeLike) -> Triangle:
        """Tiles without values, in one block of memory."""
        shapes = [(rows.stop - rows.start, columns.stop - columns.start) for rows, columns in places]
        ends = np.cumsum([height * width for height, width in shapes])
        parts = np.split(np.empty(ends[-1], dtype=dtype), ends[:-1])
        return cls(places, [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)])

    @property
    def n(self) -> int:
        """Rows of the matrix."""
        return self.places[-1][0].stop

    @property
    def dtype(self) -> np.dtype:
        """The type of its values."""
        return self.blocks[0].dtype

    def astype(self, dtype: DTypeLike) -> Triangle:
        """A copy in another precision."""
        out = Triangle.empty(self.places, dtype)
        threads.parallel_map(
            lambda pair: np.copyto(*pair, casting="same_kind"), zip(out.blocks, self.blocks, strict=True)
        )
        return out

    def multiply(self, V: np.ndarray) -> np.ndarray:
        """The product with a few columns; a small product runs in the calling thread."""
        n_shares = 1 if self.n * V.size < QUICK else None
        return tiles.multiply_tiles(self.places, self.blocks.__getitem__, V, self.dtype, n_shares)

    def diagonal(self) -> np.ndarray:
        """Its diagonal, in double precision."""
        own = [block.diagonal() for (rows, columns), block in self._tiles() if rows == columns]
        return np.concatenate(own).astype(float)

    def columns(self, which: np.ndarray) -> np.ndarray:
        """A[:, which]."""
        out = np.empty((self.n, len(which)), dtype=self.dtype)
        for rows, chosen, values in self._parts_of(which):
            out[rows, chosen] = values
        return out

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        """A[:, which] V."""
        out = np.zeros((self.n, *V.shape[1:]), dtype=np.result_type(self.dtype, V))
        for rows, chosen, values in self._parts_of(which):
            out[rows] += values @ V[chosen]
        return out

    def _parts_of(self, which: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Parts of A[:, which]: their rows, the indices of their columns in ``which``, and their values."""
        strips = [rows for rows, columns in self.places if rows == columns]
        found = {part.start: np.flatnonzero((which >= part.start) & (which < part.stop)) for part in strips}
        for (rows, columns), block in self._tiles():
            inside, below = found[columns.start], found[rows.start]
            if inside.size:
                yield rows, inside, block.take(which[inside] - columns.start, axis=1)
            if below.size and rows != columns:
                yield columns, below, block[which[below] - rows.start].T

    def _tiles(self) -> Iterator[tuple[tiles.Place, np.ndarray]]:
        return zip(self.places, self.blocks, strict=True)

    def dense(self) -> np.ndarray:
        """The matrix itself."""
        out = np.empty((self.n, self.n), dtype=self.dtype)
        for place, block in self._tiles():
            out[place] = block
        tiles.mirror(out)
        return out


def packed_gram(kernel: Kernel, X: Rows) -> Triangle:
    """The kernel matrix of the rows of X."""
    out = Triangle.empty(tiles.upper_tiles(X), tiles.value_dtype(X, X))
    strips = tiles.strips_of(prepare_rows(kernel, X), out.places)
    threads.parallel_map(lambda tile: tiles.symmetric_tile(strips, *tile), zip(out.places, out.blocks, strict=True))
    return out
