"""The rows of a file, and their layout."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError, DataFileWarning
from preimage.gram import slicing, tiles
from preimage.io.chunks import Chunks, joined, release, rows_at_once
from preimage.io.columns import Columns, column_label

LARGE = 256 * 2**20  # bytes of numbers from which a file is read in blocks


@dataclass(frozen=True)
class Reading:
    r"""How to read a file; what is None is detected.

    Attributes
    ----------
    columns : tuple of str or None
        Names or numbers (from 1) of the columns to use; the others are carried along.
    keep : tuple of str
        Names or numbers of columns to carry along unchanged.
    expected : tuple of str or None
        The columns that a model was fitted on, found by name, in its order; files without names are read as they are.
    delimiter, decimal, encoding : str or None
        Of a text file.
    thousands : str or None
        Thousands separator of a text file.
    header : bool or None
        Whether the first line of a text file names the columns.
    missing : tuple of str
        Marks of missing numbers besides the usual ones.
    categories : bool
        Whether text columns with few levels are read as numbers, after the others, so that their gaps can be filled.
    signal : bool
        Whether the columns are channels of one signal. An evenly spaced column among others is their time, and so is a
        first column that only rises or falls; such columns are carried along.

    See Also
    --------
    read : Takes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from preimage.io import Reading, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     n_characters = path.write_text("a;b\n1,5;gone\n3,5;4\n")
    ...     X = read(path, Reading(delimiter=";", decimal=",", missing=("gone",))).whole(gaps=True)
    >>> X
    array([[1.5, nan],
           [3.5, 4. ]])
    """

    columns: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    expected: tuple[str, ...] | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    thousands: str | None = None
    categories: bool = False
    signal: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether no option is set that only tables have."""
        return replace(self, expected=None, categories=False, signal=False) == Reading()


@dataclass(frozen=True)
class Dialect:
    """The format of a table in text; ``comments`` are the lines with # before it."""

    delimiter: str = ","
    quote: str = '"'
    decimal: str = "."
    encoding: str = "utf-8"
    comments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pixels:
    """The format of the pixels in an image file.

    Attributes
    ----------
    dtype : str
        The type of a pixel: uint8 and uint16 are grey levels, all others plain numbers.
    unit : float or None
        The value of white in the rows; None if they are not grey levels.
    alpha : array or None
        The transparency of one image, passed through.
    repeated : bool
        Whether a colour image holds one grey image three times.
    info : dict
        The EXIF data, resolution and colour profile of one image.
    """

    dtype: str = "uint8"
    unit: float | None = 1.0
    alpha: np.ndarray | None = field(default=None, compare=False)
    repeated: bool = False
    info: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Form:
    """The layout of rows in a file.

    Attributes
    ----------
    columns : tuple of str or None
        Names of the columns of numbers.
    table : Columns or None
        All columns of a table, if some are not numbers.
    shape : tuple of int or None
        Of an image in a row: (height, width) or (height, width, channels).
    flat : bool
        Whether arrays hold images as flat rows.
    names : tuple of str
        The files of a folder of images, one per row.
    alone : "", "image" or "signal"
        Whether the file holds one image or one signal instead of rows.
    pixels : Pixels
        The format of pixels, for images.
    rate, sample : int and str
        Samples per second of sound, and the type of a sample; 0 and "" for other data.
    key : str
        The name of the array in an .npz file.
    text : Dialect
        The format of delimited text.

    See Also
    --------
    read : Finds the form of a file.
    writing : Writes rows in a form.

    Examples
    --------
    >>> from preimage.io import Form
    >>> digits = Form(columns=("a", "b", "c", "d")).with_shape((2, 2))
    >>> digits.shape, digits.flat
    ((2, 2), True)
    """

    columns: tuple[str, ...] | None = None
    table: Columns | None = None
    shape: tuple[int, ...] | None = None
    flat: bool = False
    names: tuple[str, ...] = ()
    alone: str = ""
    pixels: Pixels = Pixels()
    rate: int = 0
    sample: str = ""
    key: str = "X"
    text: Dialect = Dialect()

    def with_columns(self, *columns: str) -> Form:
        """The form of a table with other columns of numbers, after those that are carried along."""
        table = Columns.of_files(self.names) if self.names else self.table
        return Form(columns=columns, table=table and table.followed_by(columns), key=self.key, text=self.text)

    def with_shape(self, shape: tuple[int, ...], pixels: Pixels | None = None) -> Form:
        """The same form, for flat rows that are images."""
        return replace(self, shape=shape, pixels=pixels or self.pixels, flat=True, alone="")

    def as_table(self) -> Columns | None:
        """All columns of the rows written as a table, if some are not numbers."""
        if self.table is not None or not self.names or self.shape is None:
            return self.table
        names = self.columns or [f"pixel_{number}" for number in range(1, int(np.prod(self.shape)) + 1)]
        return Columns.of_files(self.names).followed_by(names)

    @property
    def header(self) -> tuple[str, ...] | None:
        """Names of all columns of the rows written as a table."""
        table = self.as_table()
        return self.columns if table is None else table.names

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the columns that are carried along."""
        return () if self.table is None else self.table.carried


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of a file: in memory, memory-mapped, or read again in every pass.

    Parameters
    ----------
    name : str
        The name of the file, for messages.
    source : matrix, object with its shape, dtype and slices, or function without arguments that yields matrices
        The rows.
    shape : tuple of int
        Rows and columns.
    form : Form
        The layout of the rows in the file.
    scale : float
        The divisor of the numbers in the file.

    See Also
    --------
    read : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.io import Data, Form
    >>> data = Data("blocks", lambda: iter([np.zeros((3, 2)), np.ones((2, 2))]), (5, 2), Form())
    >>> [len(block) for block in data.blocks()], float(data.whole().sum())
    ([3, 2], 4.0)
    """

    name: str
    source: Any
    shape: tuple[int, int]
    form: Form
    scale: float = 1.0

    def __post_init__(self):
        if not all(self.shape):
            raise DataFileError(f"{self.name} is empty.")

    @property
    def is_large(self) -> bool:
        """Whether the rows are too many to hold at once."""
        return 8 * self.shape[0] * self.shape[1] > LARGE

    def blocks(self, *, gaps: bool = False) -> Iterator[np.ndarray]:
        """Blocks of rows as floats; refuses infinite entries, and NaN unless ``gaps``."""
        first = 0
        for block in self._walk():
            block = floating_block(block, self.name, self.scale)
            self._refuse_gaps(block, first, gaps)
            yield block
            first += len(block)

    def whole(self, *, gaps: bool = False) -> np.ndarray:
        """All rows in memory."""
        blocks = self.blocks(gaps=gaps)
        first = next(blocks)
        if first.shape == self.shape and first.dtype != getattr(self.source, "dtype", first.dtype):
            return first  # a new array that holds all rows
        return joined(chain([first], blocks), self.shape, first.dtype)

    def sliceable(self) -> Any:
        """The rows by slices: as the file has them if it need not be parsed again, otherwise in memory."""
        if callable(self.source) or self.scale != 1:
            return self.whole()
        for _ in self.blocks():  # refuses what is not finite
            pass
        return self.source

    def to_fit(self) -> np.ndarray | Chunks:
        """All rows in memory, or chunks if they are many."""
        if not self.is_large:
            return self.whole()
        chunks = Chunks(self.blocks)
        vars(chunks)["shape"] = self.shape  # known, so that no pass has to count the rows
        return chunks

    def _walk(self) -> Iterator[np.ndarray]:
        if callable(self.source):
            yield from self.source()
        else:
            for rows in slicing.slices(self.shape[0], rows_at_once(self.shape[1])):
                yield np.asarray(self.source[rows])
                release(self.source)

    def _refuse_gaps(self, block: np.ndarray, first: int, gaps: bool) -> None:
        if wrong := first_not_finite(block, gaps=gaps):
            what = "is missing (`preimage impute` fills gaps)" if np.isnan(block[wrong]) else "is infinite"
            column = column_label(self.form.columns, wrong[1])
            raise DataFileError(f"{self.name}: the number in row {first + wrong[0] + 1}, column {column} {what}.")


def first_not_finite(block: np.ndarray, *, gaps: bool) -> tuple[int, int] | None:
    """The row and column of the first infinite number, or NaN unless ``gaps``; None if there is none."""
    allowed = np.isfinite(block)
    if gaps:
        allowed |= np.isnan(block)
    if allowed.all():
        return None
    row, column = np.argwhere(~allowed)[0].tolist()
    return row, column


def floating_block(block: np.ndarray, name: str, scale: float = 1.0) -> np.ndarray:
    """Rows of a file as floats, divided by a scale; refuses values that are not numbers."""
    if block.dtype.kind not in "fiub":
        raise DataFileError(f"{name} holds values of type {block.dtype}, not numbers.")
    dtype = tiles.floating_dtype(block.dtype)
    return tiles.floating(block) if scale == 1 else np.divide(block, scale, dtype=dtype)


def note(sentence: str) -> None:
    """Warn about a file; the command line shows the warning as a note."""
    warnings.warn(sentence, DataFileWarning, stacklevel=2)


def needed(module: str, name: str, otherwise: str = "") -> Any:
    """A module of an optional package, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise DataFileError(
            f"{name} needs {package}: install it with `pip install preimage[io]`{otherwise}."
        ) from error
