"""numpy files: .npy, memory-mapped, and .npz."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import bounds
from preimage.io.base import Data, Form, Reading, floating_block, note
from preimage.io.pixels import grey_levels


def read(path: Path, reading: Reading) -> Data:
    """The rows of an array; more than two axes are a stack of images, a single axis or column is a signal."""
    array, key = _load_npz(path) if path.suffix.lower() == ".npz" else (open_array(path), "X")
    if array.dtype.kind not in "fiub":
        raise DataFileError(f"{path} holds values of type {array.dtype}, not numbers.")
    if not 1 <= array.ndim <= 4:
        raise DataFileError(f"{path} holds an array of {array.ndim} axes; rows need two, images up to four.")
    rows = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if array.ndim > 2:
        form = Form(shape=array.shape[1:], pixels=grey_levels(rows), key=key)
    else:
        form = Form(alone="signal" if rows.shape[1] == 1 else "", key=key)
    return Data(str(path), rows, rows.shape, form)


def check(path: Path, form: Form) -> None:
    """Name the columns that an array cannot hold."""
    if form.carried:
        note(f"{path} holds only numbers, so {', '.join(map(repr, form.carried))} will not be in it.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the rows block by block, images as a stack; the number of rows goes into the header at the end."""
    if path.suffix.lower() == ".npz":
        rows = np.concatenate(list(blocks))
        np.savez(path, **{form.key: rows.reshape(len(rows), *_row_shape(form, rows))})  # type: ignore[arg-type]
        return
    count, header = 0, dict[str, Any]()
    with path.open("wb") as file:
        for block in blocks:
            block = np.ascontiguousarray(floating_block(block, str(path)))
            if not header:
                header = {"descr": np.lib.format.dtype_to_descr(block.dtype), "fortran_order": False}
                shape = _row_shape(form, block)
                np.lib.format.write_array_header_1_0(file, header | {"shape": (0, *shape)})
            file.write(block.tobytes())
            count += len(block)
        end = file.tell()
        file.seek(0)  # numpy leaves room in the header for a longer first axis
        np.lib.format.write_array_header_1_0(file, header | {"shape": (count, *shape)})
        file.seek(end)


def _row_shape(form: Form, block: np.ndarray) -> tuple[int, ...]:
    if form.alone == "signal" and block.shape[1] == 1:
        return ()
    return block.shape[1:] if form.shape is None or form.flat else form.shape


def open_array(path: Path) -> np.ndarray:
    """The memory-mapped array of an .npy file."""
    with bounds.reading_as(".npy file of numbers", path), warnings.catch_warnings(action="ignore"):
        return np.load(path, mmap_mode="r", allow_pickle=False)  # Python would warn of a damaged header


def _load_npz(path: Path) -> tuple[np.ndarray, str]:
    with bounds.opened(path, ".npz file of numbers") as file, file.archive() as archive:
        key = chosen_array(path, [name.removesuffix(".npy") for name in archive.namelist()])
        with archive.open(f"{key}.npy") as member, warnings.catch_warnings(action="ignore"):
            return np.lib.format.read_array(member, allow_pickle=False), key


def chosen_array(path: Path, names: list[str]) -> str:
    """The only array, or the one named X."""
    if len(names) == 1 or "X" in names:
        return "X" if "X" in names else names[0]
    raise DataFileError(f"{path} holds the arrays {', '.join(names) or 'none'}: name the rows X, or keep only one.")
