"""The one place that evaluates kernels in bulk: in tiles that fit the cache, on all cores, within a memory budget.

The budget is scikit-learn's ``working_memory`` (MiB), set as its users set it::

    with sklearn.config_context(working_memory=256): ...

Tiles are spread over threads while BLAS is held to one thread each; numpy releases the interpreter's lock in the
products and the exponentials, which are all the work there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config
from threadpoolctl import ThreadpoolController

from preimage.kernels import Kernel

TILE = 512  # rows and columns of a tile: 2 MiB of float64, which stays in a core's cache

Task = TypeVar("Task")


def cross(kernel: Kernel, X, Y, out: np.ndarray | None = None) -> np.ndarray:
    """The kernel matrix between the rows of X and the rows of Y."""
    out = np.empty((X.shape[0], Y.shape[0]), dtype=_dtype(X, Y)) if out is None else out

    def fill(tile) -> None:
        rows, columns = tile
        out[rows, columns] = kernel(X[rows], Y[columns])

    spread(fill, [(rows, columns) for rows in slices(X.shape[0]) for columns in slices(Y.shape[0])])
    return out


def gram(kernel: Kernel, X) -> np.ndarray:
    """The symmetric kernel matrix of the rows of X, each off-diagonal tile computed once."""
    out = np.empty((X.shape[0], X.shape[0]), dtype=_dtype(X, X))

    def fill(tile) -> None:
        rows, columns = tile
        if rows == columns:
            points = X[rows]
            block = kernel(points, points)
            out[rows, rows] = (block + block.T) / 2
        else:
            block = kernel(X[rows], X[columns])
            out[rows, columns] = block
            out[columns, rows] = block.T

    spread(fill, _upper_tiles(X.shape[0]))
    return out


def multiply(kernel: Kernel, X, Y, V: np.ndarray) -> np.ndarray:
    """K(X, Y) @ V without storing K."""
    out = np.zeros((X.shape[0], *V.shape[1:]), dtype=np.result_type(_dtype(X, Y), V.dtype))

    def fill(rows: slice) -> None:
        points = X[rows]
        for columns in slices(Y.shape[0]):
            out[rows] += kernel(points, Y[columns]) @ V[columns]

    spread(fill, slices(X.shape[0], fair_length(X.shape[0])))
    return out


def multiply_symmetric(kernel: Kernel, X, V: np.ndarray) -> np.ndarray:
    """K(X, X) @ V without storing K, each off-diagonal tile computed once and used twice."""
    tiles = _upper_tiles(X.shape[0])
    shares = [tiles[first :: n_threads()] for first in range(n_threads())]

    def product(share) -> np.ndarray:
        out = np.zeros((X.shape[0], *V.shape[1:]), dtype=np.result_type(_dtype(X, X), V.dtype))
        for rows, columns in share:
            points = X[rows]
            if rows == columns:
                out[rows] += kernel(points, points) @ V[rows]
            else:
                block = kernel(points, X[columns])
                out[rows] += block @ V[columns]
                out[columns] += block.T @ V[rows]
        return out

    return np.sum(spread(product, shares), axis=0)


def map_rows(function: Callable[[slice], Any], n_rows: int, row_bytes: float) -> list:
    """``function(rows)`` for slices that cover the rows, in threads; ``row_bytes`` is what one row costs meanwhile."""
    affordable = int(working_bytes() / max(row_bytes, 1) / n_threads())
    return spread(function, slices(n_rows, max(1, min(fair_length(n_rows), affordable))))


def spread(function: Callable[[Task], Any], tasks: Iterable[Task]) -> list:
    """The results of ``function`` over the tasks, on all cores, each with one BLAS thread."""
    tasks = list(tasks)
    if len(tasks) <= 1 or n_threads() == 1:
        return [function(task) for task in tasks]
    with single_threaded_blas(), ThreadPoolExecutor(n_threads()) as pool:
        try:
            return list(pool.map(function, tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def slices(n: int, length: int = TILE) -> list[slice]:
    """Consecutive slices of at most ``length`` that cover range(n)."""
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def row_blocks(n: int, row_bytes: float) -> Iterator[slice]:
    """Slices of rows as long as the memory budget allows."""
    yield from slices(n, max(1, int(working_bytes() / max(row_bytes, 1))))


def fair_length(n: int) -> int:
    """Rows a task, so that every thread gets several tasks and none is larger than a tile."""
    return max(1, min(TILE, -(-n // (2 * n_threads()))))


def working_bytes() -> int:
    """The memory budget in bytes."""
    return int(get_config()["working_memory"] * 2**20)


@lru_cache
def n_threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def single_threaded_blas():
    """BLAS held to one thread, so that our own threads have the cores to themselves."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@lru_cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _upper_tiles(n: int) -> list[tuple[slice, slice]]:
    blocks = slices(n)
    return [(rows, columns) for i, rows in enumerate(blocks) for columns in blocks[i:]]


def _dtype(X, Y) -> np.dtype:
    kinds = [array.dtype for array in (X, Y) if array.dtype.kind == "f"]
    return np.result_type(*kinds) if kinds else np.dtype(float)
