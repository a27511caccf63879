"""The kernel matrix of many rows, in row chunks on the workers; only blocks of vectors are exchanged."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np

from preimage._typing import RowsLike
from preimage.distributed import cluster
from preimage.gram import slicing, threads, tiles
from preimage.gram.operators import GramStatistics, Symmetric, Tiled, centred, choose_storage

CHUNK = 64 * 2**20  # bytes of a row chunk of K that is kept
MOST_ROWS = 4096  # rows of a chunk that is recomputed


class Held(Symmetric):
    """K in row chunks that are computed once: every product sends V to the workers and returns KᵢV."""

    def __init__(self, kernel, X: np.ndarray):
        super().__init__(tiles.value_dtype(X, X), X.shape[0])
        rows, parts = cluster.once(X), _parts(X.shape[0], CHUNK // (X.shape[0] * self.dtype.itemsize))
        self.chunks = cluster.keep([_chunk(kernel, rows, part, cluster.budget()) for part in parts])

    def _matmat(self, V):
        block = cluster.once(np.ascontiguousarray(V))
        return np.concatenate(cluster.compute(*(_product(chunk, block) for chunk in self.chunks)))


class Recomputed(Tiled):
    """K too large to keep: the workers hold the rows and recompute their chunk of K in every product."""

    def __init__(self, kernel, X: np.ndarray):
        super().__init__(kernel, X)
        self.rows, self.parts = cluster.once(X), _parts(X.shape[0], MOST_ROWS)

    def _matmat(self, V):
        block = cluster.once(np.ascontiguousarray(V))
        parts = [_fresh_product(self.kernel, self.rows, part, block, cluster.budget()) for part in self.parts]
        return np.concatenate(cluster.compute(*parts))


def gram_on_cluster(kernel, X: RowsLike, *, center: bool, storage: str = "auto") -> tuple[Symmetric, GramStatistics]:
    """Like :func:`preimage.gram.operators.gram_operator`, in row chunks on the workers."""
    stored = storage_on_cluster(storage, X.shape[0], X.dtype) == "memory"
    operator = (Held if stored else Recomputed)(kernel, X)
    return centred(operator, float(np.sum(kernel.diagonal(X), dtype=float)), center)


def _parts(n: int, most: int) -> list[slice]:
    """Row chunks of at most ``most`` rows, and at least two per thread."""
    return slicing.slices(n, max(1, min(most, -(-n // (2 * cluster.n_parallel_tasks())))))


def storage_on_cluster(storage: str, n: int, dtype) -> str:
    """``"memory"`` or ``"recompute"``; ``"auto"`` keeps the matrix if it fits into half of the workers' memory.

    ``"square"`` counts as ``"memory"``; callers that need the square matrix assemble it.
    """
    client = cluster.active_client()
    storage = "memory" if storage == "square" else storage
    if storage != "auto" or client is None:
        return choose_storage(storage, n, dtype, square=True)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    fits = n * n * np.dtype(dtype).itemsize <= sum(worker["memory_limit"] or 0 for worker in workers) / 2
    return "memory" if fits else "recompute"


@dask.delayed(pure=False)
def _chunk(kernel, X: np.ndarray, part: slice, working_memory: float) -> np.ndarray:
    with cluster.as_one_of_many(working_memory):
        return tiles.cross(kernel, X[part], X)


@dask.delayed(pure=False)
def _product(chunk: np.ndarray, V: np.ndarray) -> np.ndarray:
    with threads.single_threaded():
        return chunk @ V


@dask.delayed(pure=False)
def _fresh_product(kernel: Any, X: np.ndarray, part: slice, V: np.ndarray, working_memory: float) -> np.ndarray:
    with cluster.as_one_of_many(working_memory):
        return tiles.multiply(kernel, X[part], X, V)
