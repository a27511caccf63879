"""Bounds on the bytes, entries, depth and time that reading a file may take; every reader opens its file here.

A compressed file can claim any size. Every reader gets its file from :func:`opened`, and calls
:meth:`BoundedFile.allow` before it expands anything, so nothing that is refused is ever allocated.

=============  ====================================================================================================
bound          refuses
=============  ====================================================================================================
``FREELY``     more bytes, unless the file has at least one for every ``RATIO`` of them; eight black-and-white pixels
               count as one.
``ENTRIES``    more members of an archive, or pages of an image.
``DEPTH``      deeper nesting of JSON.
``LINE``       longer lines of text.
``REREAD``     reading a file more often, as loops in its directory would cause.
``SECONDS``    parsing for longer than this plus the time for ``SLOWEST`` bytes per second.
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

FREELY = 24 * 2**20  # about 250 MiB once bytes become numbers in double precision
RATIO = 250
ENTRIES = 10_000
DEPTH = 300
LINE = 64 * 2**20
REREAD = 20
SECONDS, SLOWEST = 60.0, 2**20
BUFFER = 2**16


@dataclass(frozen=True, eq=False)
class BoundedFile:
    """An open file whose reader asks before it expands anything."""

    name: str
    stream: BinaryIO
    size: int

    def allow(self, expanded: float, ratio: float = RATIO, *, bits: int = 8) -> None:
        """Refuse to expand to so many bytes if the file cannot hold them or the memory cannot keep them.

        ``bits`` is the number of bits of a byte that are used: 1 for a black-and-white pixel.
        """
        refuse_claim(self.name, expanded * bits / 8, self.size, ratio)
        if expanded > free_memory() / 2:
            raise DataFileError(
                f"{self.name} expands to {expanded / 2**20:,.0f} MiB, too much for the memory: save it as .npy, which "
                "is read in parts."
            )

    def allow_entries(self, number: int) -> None:
        """Refuse too many members or pages."""
        if number > ENTRIES:
            raise DataFileError(f"{self.name} has {number:,} entries, too many to be trusted.")

    def archive(self) -> zipfile.ZipFile:
        """The file as a zip archive, with the sizes in its directory checked; no member yields more than it claims."""
        found = zipfile.ZipFile(self.stream)
        members = found.infolist()
        self.allow_entries(len(members))
        self.allow(sum(member.file_size for member in members))
        return found


@contextmanager
def reading_as(kind: str, name: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error of a reader into a DataFileError, because a damaged file can make it fail in any way."""
    try:
        yield
    except DataFileError:
        raise
    except Exception as error:
        raise DataFileError(f"{os.fspath(name)} is empty, damaged, or no {kind}.") from error


@contextmanager
def opened(path: str | os.PathLike[str], kind: str = "", *, timed: bool = True) -> Iterator[BoundedFile]:
    """A file to be read within bounds.

    Parameters
    ----------
    path : path
    kind : str
        What the file should be; :func:`reading_as` then translates any error inside the block.
    timed : bool
        Whether the reader parses the whole file inside the block; one that yields parts has no time limit.
    """
    with reading_as(kind, path) if kind else nullcontext(), stream(path, timed=timed) as found:
        yield BoundedFile(os.fspath(path), found, os.stat(path).st_size)


def stream(path: str | os.PathLike[str], *, timed: bool = True, lines: bool = False) -> BinaryIO:
    """The bytes of a file, within the bounds of :func:`opened`; ``lines`` also bounds the length of its lines."""
    check_path(Path(path))
    if os.path.isdir(path):
        raise DataFileError(f"{os.fspath(path)} is a folder, not a file.")
    size = os.stat(path).st_size
    seconds = SECONDS + size / SLOWEST if timed else float("inf")
    watched = _Watched(os.fspath(path), size, monotonic() + seconds, LINE if lines else None)
    return io.BufferedReader(watched, BUFFER)


def refuse_claim(name: str, expanded: float, size: int, ratio: float = RATIO) -> None:
    """Refuse a file that claims to expand to more bytes than its size on disk can hold."""
    if expanded > max(FREELY, ratio * size):
        raise DataFileError(
            f"{name} expands from {size:,} bytes to {expanded / 2**20:,.0f} MiB, too much to be trusted."
        )


def check_path(path: Path, hint: str = "") -> None:
    """Refuse a path that does not exist, may not be read, or is a device or pipe; ``hint`` ends the last message."""
    if not path.exists():
        raise DataFileError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise DataFileError(f"{path} cannot be read: you have no permission.")
    if not path.is_dir() and not path.is_file():
        raise DataFileError(f"{path} is a device or a pipe, not a file{hint}.")


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
        self._shown, self._deadline, self._line = name, deadline, line
        self._left, self._since = max(FREELY, REREAD * size), 0

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise DataFileError(f"{self._shown} makes its reader start again and again: it is damaged.")
        if monotonic() > self._deadline:
            raise DataFileError(f"{self._shown} takes too long to read: it is damaged or malicious.")
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
            raise DataFileError(f"{self._shown} is not a table in text: a line has more than {self._line:,} bytes.")
