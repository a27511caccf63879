"""Rows that a cluster reads in chunks: stores by :mod:`preimage.distributed`, which is imported when one is opened."""

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
    """Rows of a store, as :class:`Data` are rows of a file; ``array`` is a Dask array of them."""

    name: str
    array: Any
    form: Form

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape

    def to_fit(self) -> Any:
        """What to hand to ``fit``."""
        return self.array

    def answered(self, answer: Callable[[Any], Any]) -> Iterator[np.ndarray]:
        """The answers to the rows, block by block in their order."""
        yield from _distributed("sources").in_order(answer(self.array))


@contextmanager
def opened(path: str, scheduler: str | None = None, reading: Reading | None = None) -> Iterator[Data | Store]:
    """The rows in a file, a folder or a store; all inside is done by the cluster of a scheduler where one is named."""
    from preimage.io import read

    if scheduler is None and not _is_store(path):
        yield read(path, reading)
        return
    with _distributed("cluster").connected(scheduler):
        if not Path(path).exists():
            raise DataFileError(f"{path} does not exist.")
        if reading is not None and not reading.is_plain:
            raise DataFileError(f"{path} is a store in chunks, all of whose columns are read.")
        array, columns = _distributed("sources").open_store(Path(path))
        yield Store(os.fspath(path), array, Form(columns=columns))


def _is_store(path: str) -> bool:
    """Whether to ask at all; files and folders of images are not, and dask need not be there for them."""
    from preimage.io.images import image_files

    place = Path(path)
    if not place.is_dir():
        return place.is_file() and place.suffix.lower() in (".h5", ".hdf5") and _distributed("sources").is_store(place)
    return not image_files(place) and _might_be(place) and _distributed("sources").is_store(place)


def _might_be(place: Path) -> bool:
    marks = {".npy", ".parquet"}
    return any(name.suffix.lower() in marks or name.name in ("zarr.json", ".zarray") for name in place.iterdir())


def _distributed(module: str) -> Any:
    try:
        return import_module(f"preimage.distributed.{module}")
    except ImportError as error:
        raise DataFileError(
            "stores in chunks and clusters need dask: install it by `pip install preimage[dask]`."
        ) from error
