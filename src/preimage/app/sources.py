"""Datasets of the app: those that come with the library, and files of users, all as rows of numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from preimage import datasets, io
from preimage.app import limits
from preimage.app.limits import Refused
from preimage.io.models.archive import HEADER

SEED = 0


@dataclass(frozen=True, eq=False)
class Dataset:
    """A dataset.

    Attributes
    ----------
    X : array of shape (rows, d)
    name : str
    labels : array of int or None
        A class of every row, by which pages colour it.
    shape : tuple of int or None
        What a row is: an image of this shape, (length,) a signal, None a list of numbers.
    columns : tuple of str
        Names of the columns of a table.
    """

    X: np.ndarray
    name: str
    labels: np.ndarray | None = None
    shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What a page draws for a row: "image", "signal", "plane" for two numbers, or "row"."""
        if self.shape is not None:
            return "image" if len(self.shape) > 1 else "signal"
        return "plane" if self.X.shape[1] == 2 else "row"

    def told(self) -> dict[str, Any]:
        """What the page is told."""
        names = self.columns or tuple(f"x{number + 1}" for number in range(self.X.shape[1]))
        return {
            "name": self.name,
            "rows": len(self.X),
            "columns": self.X.shape[1],
            "names": list(names[:1000]),
            "kind": self.kind,
            "shape": self.shape,
            "low": float(self.X.min()),
            "high": float(self.X.max()),
        }


@dataclass(frozen=True)
class Provided:
    """A dataset of the library: its title, what makes it, and the file it needs."""

    title: str
    load: Callable[[], Dataset]
    file: str = ""
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def present(self) -> bool:
        """Whether it can be had without a network."""
        return not self.file or datasets.is_present(self.file)


def _digits() -> Dataset:
    found = datasets.load_digits()
    return Dataset(found.X, "digits", found.y, found.shape)


def _usps() -> Dataset:
    found = datasets.load_usps().train
    return Dataset(np.asarray(found.X, dtype=float), "USPS digits", found.y, found.shape)


def _heartbeats() -> Dataset:
    X = np.asarray(datasets.load_mitbih().X, dtype=float)
    return Dataset(X, "heartbeats", shape=(X.shape[1],))


def _curve(name: str, made: Callable[..., datasets.Curve], count: int) -> Dataset:
    found = made(count, random_state=SEED)
    bands = np.digitize(found.position, np.quantile(found.position, np.arange(1, 8) / 8))
    return Dataset(found.X, name, bands)


def _three_clusters() -> Dataset:
    found = datasets.three_clusters(random_state=SEED)
    return Dataset(found.X, "three clusters", found.labels)


def _eleven_gaussians() -> Dataset:
    found = datasets.eleven_gaussians(random_state=SEED).train
    return Dataset(found.X, "eleven Gaussians", found.labels)


PICTURES = frozenset({"pictures"})
SOURCES = {
    "digits": Provided("Digits, 8 × 8", _digits, tags=PICTURES),
    "usps": Provided("USPS digits, 16 × 16", _usps, "usps.npz", PICTURES),
    "heartbeats": Provided("Heartbeats", _heartbeats, "mitbih_100_beats.npz"),
    "half_circle": Provided("Half circle", lambda: _curve("half circle", datasets.half_circle, 400)),
    "square": Provided("Square", lambda: _curve("square", datasets.square, 600)),
    "three_clusters": Provided("Three clusters", _three_clusters),
    "parabola": Provided("Parabola", lambda: _curve("parabola", datasets.parabola, 300)),
    "s_curve": Provided("S curve in space", lambda: _curve("S curve", datasets.s_curve, 2000)),
    "eleven_gaussians": Provided("Eleven Gaussians in ten dimensions", _eleven_gaussians),
}


def listed() -> list[dict[str, Any]]:
    """The datasets that are here."""
    return [
        {"id": name, "title": source.title, "pictures": "pictures" in source.tags}
        for name, source in SOURCES.items()
        if source.present
    ]


def read_dataset(request: dict[str, Any], *, gaps: bool = False) -> Dataset:
    """The dataset that a request names: one of ours, or the file that the server has put into ``path``."""
    if request.get("path"):
        return _of_file(Path(request["path"]), str(request["name"]), gaps)
    source = SOURCES.get(str(request.get("source")))
    if source is None or not source.present:
        raise Refused(404, f"There is no dataset called {request.get('source')!r:.60}.")
    return source.load()


def _of_file(path: Path, name: str, gaps: bool) -> Dataset:
    data = io.read(path)
    n, d = data.shape
    if n > limits.ROWS or n * d > limits.NUMBERS:
        raise Refused(413, f"{name} has {n} rows of {d} numbers, more than the app takes: use the command line.")
    if data.form.alone == "image" or n < 3:
        raise Refused(400, f"{name} has {n} row{'s' * (n > 1)}: choose a table, an array or several pictures.")
    X = np.asarray(data.whole(gaps=gaps), dtype=float)
    return Dataset(X, name, shape=data.form.shape, columns=data.form.columns or ())


def is_model(path: Path) -> bool:
    """Whether a file is meant to be a model file."""
    if path.suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return HEADER in file.namelist()
