"""The one way in for files: what a file may take in bytes, entries, depth and time before its reader believes it.

A packed file can claim any size. Every reader gets its file from :func:`opened`, and asks it by
:meth:`BoundedFile.allow` before it unfolds anything, so that what is refused was never allocated.

=============  ====================================================================================================
bound          refuses
=============  ====================================================================================================
``FREELY``     more bytes than these, unless the file has at least one for every ``RATIO`` of them; eight pixels in
               black and white are one.
``ENTRIES``    more members of an archive, or pages of an image.
``DEPTH``      deeper nesting of JSON.
``LINE``       longer lines of text.
``REREAD``     reading a file more often than this, as loops in its directory make a reader do.
``SECONDS``    parsing for longer, and longer than ``SLOWEST`` bytes per second take.
=============  ====================================================================================================
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

from preimage.exceptions import DataFileError
from preimage.gram.memory import free_memory

FREELY = 24 * 2**20  # about 250 MiB where bytes become numbers in double precision
RATIO = 250
ENTRIES = 10_000
DEPTH = 300
LINE = 64 * 2**20
REREAD = 20
SECONDS, SLOWEST = 60.0, 2**20
BUFFER = 2**16


@dataclass(frozen=True, eq=False)
class BoundedFile:
    """An open file that counts what its reader does; the place of the name in messages is the reader's matter."""

    name: str
    stream: BinaryIO
    size: int

    def allow(self, unfolded: float, ratio: float = RATIO, *, bits: int = 8) -> None:
        """Refuse to unfold to so many bytes, if the file is too small to hold them or the memory to keep them.

        ``bits`` are those of a byte that say anything: a pixel in black and white takes a byte, and has one.
        """
        refuse_claim(self.name, unfolded * bits / 8, self.size, ratio)
        if unfolded > free_memory() / 2:
            raise DataFileError(
                f"{self.name} unfolds to {unfolded / 2**20:,.0f} MiB, too much for the memory: save it as .npy, which "
                "is read in parts."
            )

    def allow_entries(self, number: int) -> None:
        """Refuse too many members or pages."""
        if number > ENTRIES:
            raise DataFileError(f"{self.name} has {number:,} entries, too many to be trusted.")

    def archive(self) -> zipfile.ZipFile:
        """The file as a zip archive, with the sizes in its directory checked; no entry gives more than it claims."""
        found = zipfile.ZipFile(self.stream)
        members = found.infolist()
        self.allow_entries(len(members))
        self.allow(sum(member.file_size for member in members))
        return found


@contextmanager
def reading_as(kind: str, name: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever a reader raises, because a damaged file can make it fail in any way, becomes one sentence."""
    try:
        yield
    except DataFileError:
        raise
    except Exception as error:
        raise DataFileError(f"{os.fspath(name)} is empty, damaged, or no {kind}.") from error


@contextmanager
def opened(
    path: str | os.PathLike[str], kind: str = "", *, timed: bool = True, lines: bool = False
) -> Iterator[BoundedFile]:
    """A file to be read within bounds.

    Parameters
    ----------
    path : path
    kind : str
        What the file should be; whatever its reader raises inside the block is then told by :func:`reading_as`.
    timed : bool
        Whether the reader parses the whole file inside the block; one that hands out parts may take as long as they do.
    lines : bool
        Whether it is text.
    """
    with reading_as(kind, path) if kind else nullcontext(), stream(path, timed=timed, lines=lines) as found:
        yield BoundedFile(os.fspath(path), found, os.stat(path).st_size)


def stream(path: str | os.PathLike[str], *, timed: bool = True, lines: bool = False) -> BinaryIO:
    """The bytes of a file that :func:`opened` opens."""
    check_path(Path(path))
    if os.path.isdir(path):
        raise DataFileError(f"{os.fspath(path)} is a folder, not a file.")
    size = os.stat(path).st_size
    seconds = SECONDS + size / SLOWEST if timed else float("inf")
    watched = _Watched(os.fspath(path), size, monotonic() + seconds, LINE if lines else None)
    return io.BufferedReader(watched, BUFFER)


def refuse_claim(name: str, unfolded: float, size: int, ratio: float = RATIO) -> None:
    """Refuse what unfolds to more bytes than its size on the disk can hold."""
    if unfolded > max(FREELY, ratio * size):
        raise DataFileError(
            f"{name} unfolds to {unfolded / 2**20:,.0f} MiB, too much for {size:,} bytes to be trusted."
        )


def check_path(path: Path, hint: str = "") -> None:
    """Refuse what is neither a file nor a folder, or may not be read; the hint follows where it is neither."""
    if not path.exists():
        raise DataFileError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise DataFileError(f"{path} cannot be read: you have no permission.")
    if not path.is_dir() and not path.is_file():
        raise DataFileError(f"{path} is a device or a pipe, and no file{hint}.")


def parsed(text: str | bytes, **options: Any) -> Any:
    """A value in JSON that is not nested too deeply; ValueError otherwise."""
    try:
        found = json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply.") from error
    level, depth = [found], 1
    while level := [child for node in level for child in _children(node)]:
        depth += 1
        if depth > DEPTH:
            raise ValueError("it is nested too deeply.")
    return found


def _children(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []


class _Watched(io.RawIOBase):
    """A file that refuses to be read for too long, too often, or in lines that never end."""

    def __init__(self, name: str, size: int, deadline: float, line: int | None):
        self._file = io.FileIO(name)
        self._told, self._deadline, self._line = name, deadline, line
        self._left, self._since = max(FREELY, REREAD * size), 0

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise DataFileError(f"{self._told} leads its reader round in circles: it is damaged.")
        if monotonic() > self._deadline:
            raise DataFileError(f"{self._told} takes too long to be read: it is damaged, or was made to.")
        if self._line is not None:
            self._check_line(bytes(buffer[:count]))
        return count

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _check_line(self, part: bytes) -> None:
        last = max(part.rfind(b"\n"), part.rfind(b"\r"))
        self._since = len(part) - 1 - last if last >= 0 else self._since + len(part)
        if self._since > (self._line or 0):
            raise DataFileError(f"{self._told} is no table in text: a line has more than {self._line:,} bytes.")
