"""Data files in and out: numpy, delimited text, parquet, folders of images, one image, one signal.

A file is read as rows of numbers with a :class:`Form`, their layout, so that results can be written in the same form.
The form keeps the names of columns, columns that are not numbers, the size and depth of images, and the rate of sound.
One image is one row; one signal is one column. Large files are read in blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import delimited
from preimage.io.atomic import followed, written
from preimage.io.base import Data, Form, Reading, note
from preimage.io.bounds import check_path

__all__ = ["Data", "Form", "Reading", "read", "writing"]

STANDARD = "-"  # standard input or output, as CSV
# The module for every ending.
FORMATS = {
    **dict.fromkeys((".npy", ".npz"), "arrays"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "delimited"),
    **{".parquet": "parquet", ".xlsx": "excel"},
    **dict.fromkeys((".wav", ".flac"), "sound"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"), "images"),
}
TABLES = ("delimited", "parquet", "excel")
OTHERWISE = {
    **dict.fromkeys((".xls", ".ods"), "save it as .xlsx or CSV"),
    **dict.fromkeys((".mp3", ".ogg"), "save it as .wav or .flac"),
    **dict.fromkeys((".webp", ".gif"), "save it as .png"),
}

Write = Callable[[Iterable[np.ndarray]], None]


def read(path: str | os.PathLike[str], reading: Reading | None = None) -> Data:
    r"""The rows of a file or folder; ``"-"`` is standard input as CSV.

    Parameters
    ----------
    path : path
        A file in one of the formats of :mod:`preimage.io`, or a folder of images.
    reading : Reading, optional
        What the file does not say itself, such as which columns to use.

    Returns
    -------
    Data

    Raises
    ------
    DataFileError
        Says what is wrong with the file, and where.

    See Also
    --------
    writing : Writes rows in the same form.
    Data : The rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from preimage.io import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     n_characters = path.write_text("a,b\n1,2\n3,4\n")
    ...     data = read(path)
    ...     X = data.whole()
    >>> X, data.form.columns
    (array([[1., 2.],
           [3., 4.]]), ('a', 'b'))
    """
    reading = reading or Reading()
    if os.fspath(path) == STANDARD:
        return delimited.read_standard_input(reading)
    path = Path(path)
    check_path(path, f"; {STANDARD} reads CSV from standard input")
    name = "images" if path.is_dir() else _format(path)
    if name not in TABLES and not reading.is_plain:
        raise DataFileError(f"{path} is not a table: leave out columns, delimiters and the like.")
    module = import_module(f"preimage.io.{name}")
    return (module.read_folder if path.is_dir() else module.read)(path, reading)


@contextmanager
def writing(path: str | os.PathLike[str], form: Form, *, overwrite: bool = False) -> Iterator[Write]:
    """A function that writes blocks of rows to a file, or to a folder of images if the path has no ending.

    The complete file appears when the ``with`` block ends without an error. A path that cannot be written to, or a
    format that cannot hold the rows, raises an error before any work.

    Parameters
    ----------
    path : path
        The new file; its ending names the format.
    form : Form
        The layout of the rows, such as ``read(path).form``.
    overwrite : bool
        Whether an existing file may be replaced.

    See Also
    --------
    read : Reads rows and their form.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from preimage.io import Form, writing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "table.csv")
    ...     with writing(path, Form(columns=("a", "b"))) as write:
    ...         write([np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])])
    ...     print(path.read_text())
    a,b
    1.0,2.0
    3.0,4.0
    """
    if os.fspath(path) == STANDARD:
        yield lambda blocks: delimited.write_standard_output(blocks, form)
        return
    path = followed(path)
    if path.is_dir() or not path.suffix:
        with import_module("preimage.io.images").new_folder(path, form, overwrite) as write:
            yield write
        return
    name = _format(path)
    writer = import_module(f"preimage.io.{name}")
    writer.check(path, form)
    if form.text.comments and name != "delimited":
        note(f"{path}: the comments before the table are left out (lines: {len(form.text.comments)}).")
    with written(path, overwrite=overwrite) as unfinished:
        yield lambda blocks: writer.write(unfinished, _some(blocks, path), form)


def _some(blocks: Iterable[np.ndarray], path: Path) -> Iterator[np.ndarray]:
    """The blocks; an error if there is none."""
    count = 0
    for count, block in enumerate(blocks, 1):  # noqa: B007
        yield block
    if not count:
        raise DataFileError(f"{path}: there are no rows to write.")


def _format(path: Path) -> str:
    """The name of the module for a file's format, by its ending."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        advice = OTHERWISE.get(ending, f"known are {', '.join(FORMATS)}, and folders of images")
        raise DataFileError(f"{path} has the unknown ending {path.suffix!r}; {advice}.")
    return FORMATS[ending]
