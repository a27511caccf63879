"""The file itself: a zip of a JSON header and .npy members, which is not trusted.

Members are stored uncompressed, so a file can never expand to more than its own size. The header repeats every array's
dtype and shape. The header, the directory of the zip and the member must agree before a byte is allocated.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import ModelFileError
from preimage.gram.memory import free_memory
from preimage.io.bounds import BoundedFile, parsed

HEADER = "header.json"
LONGEST_HEADER = 16 * 2**20  # bytes
DTYPE = re.compile(r"[<>|][biufcSU][1-9][0-9]*")

Shape = tuple[np.dtype, tuple[int, ...]]


def write(path: Path, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write a header and the arrays it refers to by number."""
    shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
    text = json.dumps(header | {"arrays": shapes}, ensure_ascii=False, allow_nan=False)
    if len(text.encode()) > LONGEST_HEADER:
        raise ModelFileError("the model has too many names and settings for a model file's header.")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo(HEADER), text)  # without a date, so that equal models make equal files
        for number, array in enumerate(arrays):
            with file.open(zipfile.ZipInfo(f"{number}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


@dataclass(frozen=True)
class Archive:
    """An open file with its header, and the dtypes and shapes of its arrays."""

    file: zipfile.ZipFile
    header: dict[str, Any]
    shapes: list[Shape]

    def arrays(self) -> list[np.ndarray]:
        """All arrays, once everything about them has been checked."""
        total = sum(dtype.itemsize * prod(shape) for dtype, shape in self.shapes)
        if total > free_memory():
            raise ModelFileError(f"its arrays take {total / 2**30:.1f} GiB, more memory than is free.")
        for number, shape in enumerate(self.shapes):
            self._check(f"{number}.npy", shape)
        return [self._read(f"{number}.npy") for number in range(len(self.shapes))]

    def _check(self, name: str, declared: Shape) -> None:
        dtype, shape = declared
        with self.file.open(name) as member:
            version = np.lib.format.read_magic(member)
            if version != (1, 0):
                raise ModelFileError(f"the array {name} is written in an unknown version of the .npy format.")
            found_shape, _, found_dtype = np.lib.format.read_array_header_1_0(member)
            length = member.tell() + dtype.itemsize * prod(shape)
        if (found_dtype, found_shape) != declared or length != self.file.getinfo(name).file_size:
            raise ModelFileError(f"the array {name} is not of the type and shape that the header declares.")

    def _read(self, name: str) -> np.ndarray:
        with self.file.open(name) as member:
            return np.lib.format.read_array(member, allow_pickle=False)


@contextmanager
def open_archive(bounded: BoundedFile) -> Iterator[Archive]:
    """The archive in an open file, with its directory and header checked."""
    with bounded.archive() as file:
        _check_directory(file, bounded.size)
        header = _header(file)
        shapes = [_shape(entry) for entry in header["arrays"]]
        expected = {HEADER, *(f"{number}.npy" for number in range(len(shapes)))}
        if set(file.namelist()) != expected:
            raise ModelFileError("its members are not those that the header names.")
        yield Archive(file, header, shapes)


def _check_directory(file: zipfile.ZipFile, size: int) -> None:
    members = file.infolist()
    if len({member.filename for member in members}) != len(members):
        raise ModelFileError("it names a member twice.")
    plain = all(
        member.compress_type == zipfile.ZIP_STORED
        and member.file_size == member.compress_size
        and not member.flag_bits & 1  # encrypted
        for member in members
    )
    if not plain or sum(member.file_size for member in members) > size:
        raise ModelFileError("its members are compressed, or claim to be larger than the file.")


def _header(file: zipfile.ZipFile) -> dict[str, Any]:
    if HEADER not in file.namelist():
        raise ModelFileError("it is not a model file of this library.")
    if file.getinfo(HEADER).file_size > LONGEST_HEADER:
        raise ModelFileError("its header is too long.")
    header = parsed(file.read(HEADER).decode("utf-8"), parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise ModelFileError("its header is not the header of a model.")
    return header


def _refuse_constant(name: str) -> float:
    raise ModelFileError(f"its header holds {name}, which is not JSON.")


def _shape(entry: Any) -> Shape:
    name, sizes = entry
    whole = all(type(size) is int and 0 <= size < 2**62 for size in sizes)
    if not DTYPE.fullmatch(name) or not whole or len(sizes) > 32:
        raise ModelFileError(f"its header declares an array of type {name!r:.80} and shape {sizes!r:.80}.")
    return np.dtype(name), tuple(sizes)
