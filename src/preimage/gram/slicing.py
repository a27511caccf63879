"""Slices of rows: for tiles, for a core's cache, for threads, and within the memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from preimage.gram import threads

TILE = 496  # side of a tile: 2 MiB of float64 stay in a core's cache; rows of a power of two would evict each other
STRIP = 2**19  # bytes of a tile converted from inner products to kernel values at once


def slices(n: int, length: int = TILE) -> list[slice]:
    """Consecutive slices of at most ``length`` that cover range(n)."""
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def even_slices(n: int, most: int = TILE) -> list[slice]:
    """Consecutive slices of equal length, but for the last, that cover range(n): products with thin tiles are slow."""
    return slices(n, -(-n // max(1, -(-n // most)))) if n else []


def strips(values: np.ndarray) -> list[slice]:
    """Slices of rows that hold ``STRIP`` bytes each."""
    return slices(len(values), max(1, STRIP // max(values.shape[1] * values.itemsize, 1)))


def row_blocks(n: int, row_bytes: float) -> Iterator[slice]:
    """Slices of rows as long as the memory budget allows."""
    yield from slices(n, max(1, int(threads.working_bytes() / max(row_bytes, 1))))


def fair_length(n: int) -> int:
    """Rows per task, so that each of several threads gets two or more tasks and none is larger than a tile."""
    n_threads = threads.n_threads()
    return max(1, min(TILE, -(-n // (2 * n_threads if n_threads > 1 else 1))))


def map_rows(function: Callable[[slice], Any], n_rows: int, row_bytes: float) -> list:
    """``function(rows)`` for slices that cover the rows, in threads; one row takes ``row_bytes`` of memory."""
    affordable = int(threads.working_bytes() / max(row_bytes, 1) / threads.n_threads())
    return threads.parallel_map(function, slices(n_rows, max(1, min(fair_length(n_rows), affordable))))
