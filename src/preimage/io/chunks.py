"""Rows that need not be in memory at once: read in blocks, as often as an algorithm needs.

>>> import numpy as np
>>> chunks = Chunks([np.zeros((3, 2)), np.ones((4, 2))])
>>> [len(block) for block in chunks], chunks.shape
([3, 4], (7, 2))
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from preimage.gram import slicing, threads
from preimage.io.atomic import written

BLOCK, BLOCK_BYTES = 8192, 64 * 2**20  # the most rows and bytes of a block


def rows_at_once(width: int, each: int = 8) -> int:
    """The number of rows in a block, with ``width`` entries of ``each`` bytes: at least one."""
    return int(max(1, min(BLOCK, BLOCK_BYTES // max(1, width * each))))


class Chunks:
    """Blocks of rows from a source that can be read more than once.

    Parameters
    ----------
    source : iterable of matrices, or callable that returns one
        A list of arrays, an object that reopens its files at every ``iter``, or a function without arguments, such as a
        generator function. A generator itself is refused, because it can be read only once.

    See Also
    --------
    KernelPCA.partial_fit : For blocks that come only once.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Chunks, KernelPCA
    >>> def blocks():
    ...     for seed in range(3):
    ...         yield np.random.default_rng(seed).standard_normal((100, 4))
    >>> Chunks(blocks).shape
    (300, 4)
    >>> kpca = KernelPCA(2, approximation=50, random_state=0).fit(Chunks(blocks))
    """

    def __init__(self, source: Iterable[Any] | Callable[[], Iterable[Any]]):
        if isinstance(source, Iterator):
            raise TypeError(
                "a generator can be read only once: give the function that makes it, or a list, or use partial_fit."
            )
        if not callable(source) and not isinstance(source, Iterable):
            raise TypeError(
                f"Chunks need an iterable of blocks of rows, or a function that returns one, not {source!r}."
            )
        self.source = source

    def __iter__(self) -> Iterator[np.ndarray]:
        width = None
        for block in self.source() if callable(self.source) else self.source:
            block = check_array(block, dtype=[np.float64, np.float32], input_name="a block of rows")
            width = block.shape[1] if width is None else width
            if block.shape[1] != width:
                raise ValueError(f"blocks of rows must have equal width; one has {block.shape[1]} after {width}.")
            yield block

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, counted in one pass."""
        sizes = [block.shape for block in self]
        if not sizes:
            raise ValueError("the chunks hold no rows.")
        return sum(rows for rows, _ in sizes), sizes[0][1]

    def sample(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        """At most ``n_rows`` rows, drawn uniformly without replacement, in one pass and in their order.

        If all are taken, no random number is drawn, so a seed gives the same model from every source of few rows.
        """
        chosen = drawn_numbers(self.shape[0], n_rows, rng)
        found, first = [], 0
        for block in self:
            inside = chosen[(chosen >= first) & (chosen < first + len(block))] - first
            found.append(block[inside])
            first += len(block)
        return np.concatenate(found)


class ArrayChunks(Chunks):
    """An array, in memory or memory-mapped, read in blocks within the memory budget."""

    def __init__(self, array: np.ndarray):
        if array.ndim != 2:
            raise ValueError(f"rows must form a matrix, not an array of shape {array.shape}.")
        self.array = array
        super().__init__(self._blocks)

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape[0], self.array.shape[1]

    def _blocks(self) -> Iterator[np.ndarray]:
        width = self.array.shape[1]
        fitting = int(threads.working_bytes() / 8 / max(8 * width, 1))
        for rows in slicing.slices(len(self.array), max(1, min(rows_at_once(width), fitting))):
            yield np.asarray(self.array[rows])
            release(self.array)

    def sample(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        return check_array(self.array[drawn_numbers(len(self.array), n_rows, rng)], dtype=[np.float64, np.float32])


def release(array: np.ndarray) -> None:
    """Return the pages of a memory-mapped file to the system; they are read again when needed."""
    pages = getattr(array, "_mmap", None)
    if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and getattr(array, "mode", "") == "r":
        pages.madvise(mmap.MADV_DONTNEED)


def drawn_numbers(n: int, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of at most ``n_rows`` of n rows, drawn without replacement, in ascending order."""
    return np.arange(n) if n <= n_rows else np.sort(rng.choice(n, n_rows, replace=False))


def is_streamed(X) -> bool:
    """Whether rows come from a file or in chunks, and must not be copied as a whole."""
    return isinstance(X, Chunks | np.memmap | str | os.PathLike)


def as_chunks(X) -> Chunks:
    """Chunks from ``Chunks``, an array or memmap, or the path of an .npy file."""
    if isinstance(X, Chunks):
        return X
    return ArrayChunks(open_rows(X))


def save_rows(path: str | os.PathLike[str], blocks: Iterable[np.ndarray], shape: tuple[int, int], dtype) -> np.memmap:
    """Write blocks of rows to one .npy file, which appears when it is complete; return it as a memmap.

    Blocks are written, not mapped, so a full disk raises ``OSError`` instead of ending the process.
    """
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with written(path) as unfinished, unfinished.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
    return np.load(path, mmap_mode="r")


def joined(blocks: Iterable[np.ndarray], shape: tuple[int, int], dtype) -> np.ndarray:
    """Blocks of rows as one array, filled block by block."""
    rows, first = np.empty(shape, dtype=dtype), 0
    for block in blocks:
        rows[first : first + len(block)] = block
        first += len(block)
    return rows


def open_rows(X) -> np.ndarray:
    """The memory-mapped array at a path; any other rows as they are."""
    return np.load(Path(X), mmap_mode="r") if isinstance(X, str | os.PathLike) else X
