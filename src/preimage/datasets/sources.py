"""Where to find data files, and what they must hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preimage._typing import Array


class DatasetNotFound(FileNotFoundError):
    """A dataset is neither on this machine nor downloadable; the message says how to get it.

    See Also
    --------
    load_ecg, load_mitbih, load_tennessee_eastman : Loaders that raise it.

    Examples
    --------
    >>> from preimage.datasets import DatasetNotFound
    >>> issubclass(DatasetNotFound, FileNotFoundError)  # what handles absent files handles it too
    True
    """


@dataclass(frozen=True)
class DataSource:
    """A file of arrays, and where to get it."""

    title: str
    file: str
    shapes: dict[str, tuple[int, ...]]
    ranges: dict[str, tuple[float, float]]
    advice: str
    fetch: Callable[[], dict[str, Array]]
    digest: str = ""
    """The SHA-256 digest that downloaded arrays must have."""

    def load(self) -> dict[str, Array]:
        """Arrays from the first folder that has the file, else from the network."""
        for folder in _folders():
            if (folder / self.file).is_file():
                return self.check(_read(folder / self.file, self.shapes), str(folder / self.file))
        try:
            arrays = self.fetch()
        except Exception as error:  # network, server and parser each raise their own errors
            raise DatasetNotFound(self.missing(f", and the download failed ({error})")) from error
        arrays = self.check(arrays, f"the download of {self.title}")
        if self.digest and digest(arrays) != self.digest:
            raise DatasetNotFound(self.missing(", and the download has changed since this version was made"))
        return arrays

    def check(self, arrays: dict[str, Array], origin: str) -> dict[str, Array]:
        """Refuse arrays that are not the ones expected."""
        for name, shape in self.shapes.items():
            if name not in arrays:
                raise ValueError(f"{origin} has no array {name!r}: it is not {self.title}. {self.contents()}")
            if arrays[name].shape != shape or arrays[name].dtype.kind not in "fiu":
                found = f"{arrays[name].dtype} of shape {arrays[name].shape}"
                raise ValueError(f"in {origin} the array {name!r} is {found}, not {self.title}. {self.contents()}")
        for name, (low, high) in self.ranges.items():
            # Written so that NaN fails too.
            if not (arrays[name].min() >= low and arrays[name].max() <= high):
                raise ValueError(f"in {origin} the array {name!r} has values outside [{low:g}, {high:g}].")
        return {name: arrays[name] for name in self.shapes}

    def contents(self) -> str:
        """What the file must hold, in a sentence."""
        arrays = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        return f"{self.file} must hold the arrays {arrays}."

    def missing(self, download: str = "") -> str:
        """Where the file was looked for, and how to get it, in a sentence."""
        folders = " or ".join(str(folder) for folder in _folders()) or "any data folder"
        return (
            f"{self.title} were not found: there is no {self.file} in {folders}{download}. {self.advice} "
            f"Keep it in a folder named by the environment variable PREIMAGE_DATA. {self.contents()}"
        )


def digest(arrays: dict[str, Array]) -> str:
    """The SHA-256 digest of the values of arrays, in the order of their names."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def is_present(file: str) -> bool:
    """Whether one of the folders that loaders search has the file, so that no download is needed."""
    return any((folder / file).is_file() for folder in _folders())


def _folders() -> Iterator[Path]:
    """Folders that may hold data files, in the order of search."""
    if own := os.environ.get("PREIMAGE_DATA"):
        yield Path(own).expanduser()
    # As sklearn.datasets.get_data_home(), which would also import scikit-learn and make the folder.
    with suppress(RuntimeError):  # there is no home
        yield Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()


def _read(path: Path, names: Iterable[str]) -> dict[str, Array]:
    from preimage.io import bounds  # slow to import

    try:
        with bounds.opened(path) as bounded, bounded.archive(), np.load(bounded.stream, allow_pickle=False) as file:
            return {name: file[name] for name in names if name in file.files}
    except Exception as error:  # a damaged file may fail in zipfile, in zlib or in the parser of array headers
        raise ValueError(f"{path} cannot be read as an npz file of plain arrays ({error}).") from error
