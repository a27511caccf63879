"""Model files: an .npz of arrays and a JSON header, without pickle and without code.

    kpca.save("model.npz")
    kpca = preimage.load("model.npz")

``header.json`` holds the version of the format, the class, the library's version, the dtype and shape of every array,
and the model as a tree (:mod:`preimage.io.models.tree`); ``0.npy``, ``1.npy``, … are its arrays.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preimage import __version__
from preimage.exceptions import DataFileError, ModelFileError
from preimage.io import bounds
from preimage.io.atomic import written
from preimage.io.models import archive
from preimage.io.models.tree import TreeReader, TreeWords, TreeWriter, is_plain
from preimage.io.models.trial import check_usable

__all__ = ["Persistent", "Summary", "describe", "is_model", "load", "save"]

FORMAT = "preimage model"
VERSION = 1
# For each older version of the format, the function that turns its header into that of the next version.
UPGRADES: dict[int, Callable[[dict], dict]] = {}


class Persistent:
    """An estimator that can be saved."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, to a model file, whole or not at all; :func:`preimage.load` reads it.

        The name must end in .npz; an existing file is replaced. Functions, such as a callable kernel, are code and
        are refused.
        """
        save(self, path)


@dataclass(frozen=True)
class Summary:
    """A description of a model file: versions, the class, and its parameters and fitted attributes in words.

    ``values`` holds those that JSON can represent: numbers, true and false, text, and lists of these.
    """

    version: int
    library: str
    name: str
    parameters: dict[str, str]
    fitted: dict[str, str]
    values: dict[str, Any]


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write an estimator, or any other frozen object of this library, to a model file, whose name ends in .npz."""
    if not os.fspath(path).lower().endswith(".npz") and not os.path.isdir(path):
        raise ValueError(f"{os.fspath(path)}: a model file ends in .npz.")
    encoder = TreeWriter()
    tree = encoder.encode(model, type(model).__name__)
    header = {"format": FORMAT, "version": VERSION, "library": __version__, "model": tree}
    with written(path, overwrite=overwrite) as unfinished:
        archive.write(unfinished, header, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file, as it was saved.

    It creates only classes of this library, from plain numbers and names. It checks sizes and shapes before it
    allocates memory, and tries the model on a few rows.

    Parameters
    ----------
    path : path
        A file written by ``save`` of an estimator.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ModelFileError
        The file is damaged, was made by a newer version, or is not a model file.

    See Also
    --------
    KernelPCA.save : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import preimage
    >>> kpca = preimage.KernelPCA(1, kernel="linear").fit([[0, 0], [1, 1], [2, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kpca.save(Path(folder, "model.npz"))
    ...     loaded = preimage.load(Path(folder, "model.npz"))
    >>> bool((loaded.transform([[3, 4]]) == kpca.transform([[3, 4]])).all())
    True
    """
    with _opened(path) as (opened, header):
        arrays = opened.arrays()
        model = TreeReader(arrays).decode(header["model"])
        check_usable(model, arrays)
        return model


def is_model(path: Path) -> bool:
    """Whether a file is meant to be a model file, damaged or not."""
    if path.suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return archive.HEADER in file.namelist()


def describe(path: str | os.PathLike[str]) -> Summary:
    """A description of a model file, from its header alone."""
    with _opened(path) as (opened, header):
        ((kind, (name, *parts)),) = header["model"].items()
        if kind not in ("estimator", "object"):
            raise ModelFileError("it holds no model.")
        words = TreeWords(opened.shapes)
        parameters, *fitted = ({key: words.tell(node) for key, node in part.items()} for part in parts)
        public = {key: text for key, text in fitted[0].items() if not key.startswith("_")} if fitted else {}
        values = {key: node for part in parts for key, node in part.items() if is_plain(node)}
        return Summary(header["version"], str(header["library"]), str(name), parameters, public, values)


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[archive.Archive, dict]]:
    """A model file and its header in the current format; any failure is a ModelFileError."""
    os.stat(path)  # a missing file is an ordinary error, as is a folder
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder, not a model file.")
    try:
        with bounds.opened(path) as file, archive.open_archive(file) as found:
            yield found, _upgraded(found.header)
    except DataFileError as error:
        raise ModelFileError(f"{error} It cannot be loaded.") from error
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be loaded: {error}") from error
    except Exception as error:  # damage can make any step of reading fail in any way
        raise ModelFileError(
            f"{os.fspath(path)} cannot be loaded: it is damaged, or not a model file ({type(error).__name__})."
        ) from error


def _upgraded(header: dict) -> dict:
    """The header in the current version of the format."""
    if header.get("format") != FORMAT:
        raise ModelFileError("it is not a model file of this library.")
    version = header.get("version")
    if type(version) is not int or version < min([*UPGRADES, VERSION]):
        raise ModelFileError(f"version {version!r:.40} of its format is unknown.")
    if version > VERSION:
        raise ModelFileError(
            f"it was made by preimage {header.get('library')!r:.40}, and version {version} of its format is newer than "
            f"the {VERSION} known here: update this library."
        )
    while header["version"] < VERSION:
        version = header["version"]
        header = UPGRADES[version](header) | {"version": version + 1}
    return header
