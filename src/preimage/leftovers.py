"""Unfinished files and folders: recognised by name, locked while they are written, removed once abandoned.

A killed process cannot remove what it began to write. Its locks end with it, so the next process that writes to the
same place can tell what is abandoned.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows has no such locks: leftovers stay there
    fcntl = None  # type: ignore[assignment]

__all__ = ["begun", "remove_leftovers"]

LONGEST_STEM = 40


@contextmanager
def begun(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A new empty file beside ``path`` with this mode, or a folder without one; removed afterwards unless renamed.

    Other processes leave it alone while the block runs.
    """
    unfinished, handle = _new_name(path), None
    try:  # before the file exists, so that no interruption can leave it behind
        while (handle := _created(unfinished, mode)) is None:
            unfinished = _new_name(path)
        yield unfinished
    finally:
        _remove(unfinished)
        if handle is not None:
            os.close(handle)


def _created(unfinished: Path, mode: int | None) -> int | None:
    """The lock of a new file or folder; None if another process removed it as a leftover before it was locked."""
    if mode is None:
        unfinished.mkdir()
    else:
        unfinished.touch(mode, exist_ok=False)
    try:
        return _locked(unfinished)
    except FileNotFoundError:
        return None


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes left beside ``path``, and restore a folder that one had moved aside."""
    if fcntl is None:
        return
    pattern = re.compile(re.escape(_start(path)) + r"[0-9a-f]{8}\.unfinished" + re.escape(path.suffix))
    for name in os.listdir(path.parent):
        if pattern.fullmatch(name):
            with suppress(OSError):  # another process uses it, or removed it first
                _remove_unlocked(path, path.with_name(name))


def _remove_unlocked(path: Path, unfinished: Path) -> None:
    handle = _locked(unfinished, wait=False)
    try:
        if (unfinished / path.name).is_dir() and not path.exists():
            (unfinished / path.name).replace(path)
        _remove(unfinished)
    finally:
        os.close(handle)


def _new_name(path: Path) -> Path:
    return path.with_name(f"{_start(path)}{uuid4().hex[:8]}.unfinished{path.suffix}")


def _start(path: Path) -> str:
    return f".{path.stem[:LONGEST_STEM]}-"


def _locked(place: Path, *, wait: bool = True) -> int:
    """An open handle that holds the lock of a file or folder."""
    handle = os.open(place, os.O_RDONLY)
    try:
        if fcntl is not None:
            with suppress(*([OSError] if wait else [])):  # some file systems have no locks
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        os.stat(place)  # it may have been removed before it was locked
    except BaseException:
        os.close(handle)
        raise
    return handle


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
