"""Stores, read in chunks by :mod:`preimage.distributed`, which is imported when one is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io.base import Data, Form, Reading


@dataclass(frozen=True, eq=False)
class Store:
    """The rows of a store, as :class:`Data` are those of a file; ``array`` is a Dask array."""

    name: str
    array: Any
    form: Form

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape

    def to_fit(self) -> Any:
        """The rows to pass to ``fit``."""
        return self.array

    def answered(self, answer: Callable[[Any], Any]) -> Iterator[np.ndarray]:
        """The results of ``answer`` for the rows, block by block in their order."""
        yield from _distributed("sources").in_order(answer(self.array))


@contextmanager
def opened(path: str, scheduler: str | None = None, reading: Reading | None = None) -> Iterator[Data | Store]:
    """The rows in a file, a folder or a store; with a ``scheduler``, its cluster does the work inside."""
    from preimage.io import read

    if scheduler is None and not _is_store(path):
        yield read(path, reading)
        return
    with _distributed("cluster").connected(scheduler):
        if not Path(path).exists():
            raise DataFileError(f"{path} does not exist.")
        if reading is not None and not reading.is_plain:
            raise DataFileError(
                f"{path} is a store in chunks, of which all columns are read: leave out options for tables."
            )
        array, columns = _distributed("sources").open_store(Path(path))
        yield Store(os.fspath(path), array, Form(columns=columns))


def _is_store(path: str) -> bool:
    """Whether a path is a store; files and folders of images do not need Dask."""
    from preimage.io.images import image_files

    place = Path(path)
    if not place.is_dir():
        return place.is_file() and place.suffix.lower() in (".h5", ".hdf5")
    return not image_files(place) and any(
        file.suffix.lower() in (".npy", ".parquet") or file.name in ("zarr.json", ".zarray") for file in place.iterdir()
    )


def _distributed(module: str) -> Any:
    try:
        return import_module(f"preimage.distributed.{module}")
    except ImportError as error:
        raise DataFileError(
            "stores in chunks and clusters need dask: install it with `pip install preimage[dask]`."
        ) from error
