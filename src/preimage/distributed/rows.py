"""The rows of a Dask array, checked, with access by number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dask.array as da
import numpy as np

from preimage._typing import RowsLike
from preimage.distributed import cluster
from preimage.distributed.clustering import ChunkedFeatureGram
from preimage.distributed.pivots import choose_pivots
from preimage.gram import tiles
from preimage.io.base import first_not_finite


@dataclass(frozen=True, eq=False)
class ChunkedRows:
    """Rows that stay in the chunks of a Dask array; ``rows[numbers]`` fetches some of them.

    Empty chunks are skipped.
    """

    array: Any

    @classmethod
    def of(cls, X: RowsLike) -> ChunkedRows:
        """The rows of a Dask array whose chunks are whole rows; refuses anything else."""
        return cls(checked(X))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers that kernels get."""
        return tiles.floating_dtype(self.array.dtype)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of every chunk."""
        return np.array(self.array.chunks[0])

    @cached_property
    def starts(self) -> np.ndarray:
        """The number of the first row of every chunk."""
        return np.cumsum(self.sizes) - self.sizes

    def map(self, function, **shared: Any) -> list:
        """``function(block, number, **shared)`` for every chunk that has rows, lazily.

        It joins the graph of the array, so Dask fuses it with the tasks that make the chunks.
        """
        nothing = np.empty((0, 0), dtype=object)
        shared |= {"function": function, "expected": self.array.dtype}
        found = self.array.map_blocks(_call, dtype=object, meta=nothing, **shared)
        parts = found.to_delayed().ravel()
        return [parts[number] for number in np.flatnonzero(self.sizes)]

    def __getitem__(self, which) -> np.ndarray:
        """Rows by a slice or by ascending numbers."""
        chosen = np.arange(self.shape[0])[which]
        picked = self.picked(chosen)
        return np.concatenate(cluster.compute(*picked)) if picked else np.empty((0, self.shape[1]), self.dtype)

    def picked(self, chosen: np.ndarray) -> list:
        """Rows by ascending numbers, lazily, one part per chunk."""
        inside = self.local(chosen)
        touched = [len(part) > 0 for part, size in zip(inside, self.sizes, strict=True) if size]
        whole = [slice(None) if len(part) == size else part for part, size in zip(inside, self.sizes, strict=True)]
        parts = self.map(_pick, inside=cluster.once(whole))
        return [part for part, wanted in zip(parts, touched, strict=True) if wanted]

    def local(self, chosen: np.ndarray) -> list[np.ndarray]:
        """Ascending row numbers, by chunk and counted within it."""
        cuts = np.searchsorted(chosen, self.starts[1:])
        return [part - first for part, first in zip(np.split(chosen, cuts), self.starts, strict=True)]

    def choose_pivots(self, kernel, n_rows: int, m: int, rng: np.random.Generator, tol: float) -> np.ndarray:
        """Landmarks by randomly pivoted Cholesky among ``n_rows`` of the rows, which stay where they are."""
        chosen = np.sort(rng.choice(self.shape[0], min(n_rows, self.shape[0]), replace=False))
        return choose_pivots(kernel, self.picked(chosen), min(m, len(chosen)), rng, tol)

    def feature_gram(self, features_map) -> ChunkedFeatureGram:
        """The Gram matrix of explicit features, which stay with the rows."""
        return ChunkedFeatureGram(self, features_map)


def checked(X: RowsLike) -> Any:
    """The Dask array itself, if it holds numbers in chunks of whole rows of known number; refuses anything else."""
    if not isinstance(X, da.Array):
        raise TypeError(f"a Dask {type(X).__name__} is not an array: convert it with .to_dask_array(lengths=True).")
    if X.ndim != 2:
        raise ValueError(f"rows must form a matrix, but the Dask array has {X.ndim} axes.")
    if X.dtype.kind not in "fiub":
        raise TypeError(f"the Dask array holds values of type {X.dtype}, not numbers: use X.astype(float).")
    if np.isnan(X.shape).any():
        raise ValueError("the Dask array has chunks of unknown sizes: call X.compute_chunk_sizes() first.")
    if not X.shape[0]:
        raise ValueError("the Dask array has no rows.")
    if X.numblocks[1] > 1:
        raise ValueError(
            f"the chunks of the Dask array split the columns into {X.numblocks[1]} parts, but a row must be in one "
            "chunk: use X.rechunk({1: -1})."
        )
    return X


def checked_block(block, number: int, expected: np.dtype, *, nan: bool = False) -> np.ndarray:
    """A chunk as floats; refuses infinite numbers, and NaN unless ``nan``."""
    if not isinstance(block, np.ndarray):
        raise TypeError(f"chunk {number} of the Dask array is a {type(block).__name__}, not a dense numpy array.")
    if block.dtype != expected:
        raise TypeError(
            f"chunk {number} of the Dask array holds {block.dtype}, but the array declares {expected}: give all chunks "
            f"one type with X.map_blocks(np.asarray, dtype=float) where they are made."
        )
    block = tiles.floating(block)
    if wrong := first_not_finite(block, gaps=nan):
        row, column = wrong
        what = "NaN (impute fills gaps)" if np.isnan(block[row, column]) else "an infinite number"
        raise ValueError(
            f"chunk {number} of the Dask array holds {what}, first in its row {row}, column {column} (all counted "
            "from 0)."
        )
    return block


def _call(block, function, block_id=None, expected=None, **shared):
    number = block_id[0]
    return function(checked_block(block, number, expected), number, **shared) if len(block) else None


def _pick(block, number, inside):
    return block[inside[number]]
