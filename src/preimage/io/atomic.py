"""Files that are there whole or not at all."""

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
    """A place beside ``path`` to write to, which takes its name once the block has ended well.

    Whatever ends the block otherwise, Ctrl-C included, leaves the folder as it was; what a killed process left there is
    removed (:mod:`preimage.leftovers`). A symbolic link is followed: the
    file it names is replaced, and the link stays. Devices and pipes are refused.

    Parameters
    ----------
    path : path
        Where the file shall be; its folder must exist.
    overwrite : bool
        Whether a file that is there may be replaced; FileExistsError otherwise, before any work.

    Yields
    ------
    unfinished : Path
        A new empty file in the same folder with the same ending.
    """
    path = followed(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, and no file that could be replaced.")
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
    """The path, or what it names where it is a symbolic link."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def printable(text: str) -> str:
    """Text without characters that steer a terminal or that no encoding holds; line ends stay."""
    return "".join(
        letter if letter == "\n" or category(letter)[0] != "C" else letter.encode("unicode_escape").decode()
        for letter in text
    )


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a power cut; some file systems cannot tell."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
