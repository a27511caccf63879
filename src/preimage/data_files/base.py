"""Rows of a file, and how they stood in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage.chunks import BLOCK, Chunks
from preimage.exceptions import DataFileError

LARGE = 256 * 2**20  # bytes of numbers from which a file is walked and not held


@dataclass(frozen=True)
class Form:
    """How rows stand in a file.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the columns.
    shape : tuple of int or None
        Of every row that is an image: (height, width) or (height, width, channels).
    flat : bool
        Whether arrays hold images as flat rows nevertheless.
    names : tuple of str
        Of the files of a folder of images, one a row.
    alone : "", "image" or "signal"
        Whether the file holds one image or one signal, and not rows.
    depth : int
        The largest number that a pixel can be, 255 or 65535.
    rate, sample : int and str
        Samples a second of sound, and the type of a sample; 0 and "" where it is no sound.
    key : str
        The name of the array in an .npz file.
    """

    columns: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None
    flat: bool = False
    names: tuple[str, ...] = ()
    alone: str = ""
    depth: int = 255
    rate: int = 0
    sample: str = ""
    key: str = "X"

    def with_columns(self, *columns: str) -> Form:
        """The form of a table with other columns."""
        return Form(columns=columns, key=self.key)

    def with_shape(self, shape: tuple[int, ...]) -> Form:
        """The same with flat rows that are images."""
        return replace(self, shape=shape, flat=True, alone="")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a file, in memory, mapped from it, or read anew at every walk.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    source : matrix or function of nothing that yields matrices
    shape : tuple of int
        Rows and columns.
    form : Form
    scale : float
        What the numbers of the file are divided by.
    """

    name: str
    source: np.ndarray | Callable[[], Iterator[np.ndarray]]
    shape: tuple[int, int]
    form: Form
    scale: float = 1.0

    def __post_init__(self):
        if not all(self.shape):
            raise DataFileError(f"{self.name} is empty.")

    @property
    def is_large(self) -> bool:
        """Whether the rows had better not be held at once."""
        return 8 * self.shape[0] * self.shape[1] > LARGE

    def blocks(self, *, gaps: bool = False) -> Iterator[np.ndarray]:
        """Floating blocks of rows, without NaN unless ``gaps`` are allowed, and never with infinite entries."""
        first = 0
        for block in self._walk():
            block = floating(block, self.name)
            block = block / block.dtype.type(self.scale) if self.scale != 1 else block
            self._refuse_gaps(block, first, gaps)
            yield block
            first += len(block)

    def whole(self, *, gaps: bool = False) -> np.ndarray:
        """All rows in memory."""
        return np.concatenate(list(self.blocks(gaps=gaps)))

    def to_fit(self) -> np.ndarray | Chunks:
        """All rows in memory, or chunks where they are many."""
        return _FileChunks(self) if self.is_large else self.whole()

    def _walk(self) -> Iterator[np.ndarray]:
        if callable(self.source):
            yield from self.source()
        else:
            for first in range(0, self.shape[0], BLOCK):
                yield np.asarray(self.source[first : first + BLOCK])

    def _refuse_gaps(self, block: np.ndarray, first: int, gaps: bool) -> None:
        finite = np.isfinite(block)
        bad = ~(finite | np.isnan(block)) if gaps else ~finite
        if bad.any():
            row, column = np.argwhere(bad)[0]
            what = "is missing (`preimage impute` fills gaps)" if np.isnan(block[row, column]) else "is infinite"
            raise DataFileError(
                f"{self.name}: the number in row {first + row + 1}, column {self._column(int(column))} {what}."
            )

    def _column(self, number: int) -> str:
        return repr(self.form.columns[number]) if self.form.columns else str(number + 1)


class _FileChunks(Chunks):
    """The rows of a file in blocks, with their number known beforehand."""

    def __init__(self, data: Data):
        self._shape = data.shape
        super().__init__(data.blocks)

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape


def floating(block: np.ndarray, name: str) -> np.ndarray:
    """The same numbers in single precision if they are, else in double precision."""
    if block.dtype.kind not in "fiub":
        raise DataFileError(f"{name} holds values of type {block.dtype}, and not numbers.")
    return block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)


def needed(module: str, name: str) -> Any:
    """A module of an optional package, or a sentence that says how to get it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise DataFileError(f"{name} needs {package}: install it by `pip install preimage[io]`.") from error
