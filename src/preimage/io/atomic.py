"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unicodedata import category

from preimage.leftovers import begun, remove_leftovers


@contextmanager
def written(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """A temporary file beside ``path``, which takes its name when the block ends without an error.

    An error or Ctrl-C leaves the folder as it was; what a killed process left there is removed
    (:mod:`preimage.leftovers`). A symbolic link stays, and the file it points to is replaced. Devices and pipes are
    refused.

    Parameters
    ----------
    path : path
        The file to write; its folder must exist.
    overwrite : bool
        Whether an existing file may be replaced; if not, FileExistsError is raised before any work.

    Yields
    ------
    unfinished : Path
        A new empty file in the same folder with the same ending.
    """
    path = followed(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, not a file that can be replaced.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already and is left as it is; overwrite=True replaces it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist.")
    remove_leftovers(path)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    with begun(path, 0o666 if mode is None else mode & 0o600) as unfinished:
        yield unfinished
        if mode is not None:
            unfinished.chmod(mode)
        _to_disk(unfinished)
        unfinished.replace(path)
        _to_disk(path.parent)


def followed(path: str | os.PathLike[str]) -> Path:
    """The path, or the target of a symbolic link."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def printable(text: str) -> str:
    """Text with control characters and others that no encoding holds escaped; line ends stay."""
    return "".join(
        letter if letter == "\n" or category(letter)[0] != "C" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk; some file systems cannot."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
