"""Datasets of the app, from the library and from users' files, as rows of numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage import datasets, io
from preimage.app import limits
from preimage.app.catalogue import PROVIDED
from preimage.app.limits import Refused
from preimage.io import Data

SEED = 0
ARCHIVES = (".npz", ".xlsx")  # formats that are zip files


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset.

    Attributes
    ----------
    X : array of shape (rows, d)
    name : str
    labels : array of int or None
        The class of every row, which sets its colour on the page.
    label : str
        The name of the classes, such as "digit".
    shape : tuple of int or None
        The shape of a row that is an image, (length,) of a signal, None for a list of numbers.
    columns : tuple of str
        Names of the columns of a table.
    """

    X: np.ndarray
    name: str
    labels: np.ndarray | None = None
    label: str = ""
    shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What a page draws for a row: "image", "signal", "plane" for two numbers, or "row"."""
        if self.shape is not None:
            return "image" if len(self.shape) > 1 else "signal"
        return "plane" if self.X.shape[1] == 2 else "row"

    def as_json(self) -> dict[str, Any]:
        """The dataset as the page shows it."""
        names = self.columns or tuple(f"x{number + 1}" for number in range(self.X.shape[1]))
        return {
            "name": self.name,
            "rows": len(self.X),
            "columns": self.X.shape[1],
            "names": list(names[:1000]),
            "label": self.label,
            "kind": self.kind,
            "shape": self.shape,
            "low": float(self.X.min()),
            "high": float(self.X.max()),
        }


def _digits() -> Dataset:
    found = datasets.load_digits()
    return Dataset(found.X, "digits", found.y, "digit", found.shape)


def _usps() -> Dataset:
    found = datasets.load_usps().train
    return Dataset(np.asarray(found.X, dtype=float), "USPS digits", found.y, "digit", found.shape)


def _heartbeats() -> Dataset:
    X = np.asarray(datasets.load_mitbih().X, dtype=float)
    return Dataset(X, "heartbeats", shape=(X.shape[1],))


def _curve(name: str, made: Callable[..., datasets.Curve], count: int) -> Dataset:
    found = made(count, random_state=SEED)
    bands = np.digitize(found.position, np.quantile(found.position, np.arange(1, 8) / 8))
    return Dataset(found.X, name, bands, "position")


def _clusters(name: str, found: datasets.Clusters) -> Dataset:
    return Dataset(found.X, name, found.labels, "cluster")


LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": _digits,
    "usps": _usps,
    "heartbeats": _heartbeats,
    "half_circle": lambda: _curve("half circle", datasets.half_circle, 400),
    "square": lambda: _curve("square", datasets.square, 600),
    "three_clusters": lambda: _clusters("three clusters", datasets.three_clusters(random_state=SEED)),
    "parabola": lambda: _curve("parabola", datasets.parabola, 300),
    "s_curve": lambda: _curve("S curve", datasets.s_curve, 2000),
    "eleven_gaussians": lambda: _clusters("eleven Gaussians", datasets.eleven_gaussians(random_state=SEED).train),
}


def read_dataset(request: dict[str, Any]) -> Dataset:
    """The dataset that a request names: one of ours, or the file at the ``path`` that the server has added."""
    if request.get("path"):
        return _of_file(Path(request["path"]), str(request["name"]))
    name = str(request.get("source"))
    if name not in PROVIDED or not PROVIDED[name].present:
        raise Refused(404, f"There is no dataset called {name!r:.60}.")
    return LOADERS[name]()


def _of_file(path: Path, name: str) -> Dataset:
    data = open_file(path, name)
    n, d = data.shape
    if n > limits.ROWS or n * d > limits.NUMBERS:
        raise Refused(413, f"{name} has {n} rows of {d} numbers, more than the app takes: use the command line.")
    if data.form.alone == "image" or n < 3:
        raise Refused(400, f"{name} has {n} row{'s' * (n > 1)}: choose a table, an array or several pictures.")
    X = np.asarray(data.whole(), dtype=float)
    return Dataset(X, name, shape=data.form.shape, columns=data.form.columns or ())


def open_file(path: Path, name: str) -> Data:
    """The rows of a file; archives that expand to more than the app accepts are refused before they are read."""
    if path.suffix.lower() in ARCHIVES and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            size = sum(member.file_size for member in file.infolist())
        if size > 8 * limits.NUMBERS:
            raise Refused(413, f"{name} expands to {size // limits.MEBIBYTE} MB, more than the app takes.")
    return io.read(path)
