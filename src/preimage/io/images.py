"""Images: one file, a file of pages, or a folder of images of equal size; grey levels lie in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from preimage.exceptions import DataFileError
from preimage.gram import slicing
from preimage.io import FORMATS, pixels
from preimage.io.atomic import followed
from preimage.io.base import Data, Form, Pixels, Reading, note
from preimage.io.chunks import rows_at_once
from preimage.io.pixels import LEVELS, TIFF, DecodedImage
from preimage.leftovers import begun, remove_leftovers

ENDINGS = {ending for ending, module in FORMATS.items() if module == "images"}
SHALLOW = {".jpg", ".jpeg", ".bmp"}  # formats of 8 bits
OTHER_DATA = {*FORMATS} - ENDINGS - {".txt"}  # which may describe the images


def read(path: Path, reading: Reading) -> Data:
    """One image as one row, or every page of a file as one."""
    found = pixels.load_image(path)
    rows = found.array.reshape(len(found.array) if found.several else 1, -1)
    form = Form(shape=found.shape, alone="" if found.several else "image", pixels=found.form)
    return Data(str(path), rows, rows.shape, form, found.white)


def read_folder(path: Path, reading: Reading) -> Data:
    """One image per row, in the order of their names; files with other endings are skipped."""
    files = image_files(path)
    if not files:
        raise DataFileError(f"the folder {path} holds no images ({', '.join(sorted(ENDINGS))}).")
    others = sorted(file.name for file in path.iterdir() if file.suffix.lower() in OTHER_DATA)
    if others:
        note(f"{path}: the images are read, but not {others[0]}{' and others' * (len(others) > 1)}.")
    first = _single(files[0])

    def walk() -> Iterator[np.ndarray]:
        for some in slicing.slices(len(files), rows_at_once(first.array.size)):
            yield np.stack([_like(first, file, files[0]) for file in files[some]])

    form = Form(shape=first.shape, names=tuple(file.name for file in files), pixels=Pixels(first.form.dtype))
    data = Data(str(path), walk, (len(files), first.array.size), form, first.white)
    return data if data.is_large else replace(data, source=np.concatenate(list(walk())))


def image_files(path: Path) -> list[Path]:
    """The images in a folder, in the order of their names."""
    return sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS and not file.name.startswith("."))


def check(path: Path, form: Form) -> None:
    """Refuse rows that are not images, and several images unless the file is .tif."""
    if form.shape is None:
        raise DataFileError(f"{path}: these rows are not images; write .npy, .csv or .parquet.")
    if form.alone != "image" and path.suffix.lower() not in TIFF:
        raise DataFileError(f"{path}: several images need a .tif file or a folder, whose name has no ending.")
    _check_pixels(path, form)


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write one image, or the pages of a file."""
    _save(path, np.concatenate(list(blocks)), form)


@contextmanager
def new_folder(path: Path, form: Form, overwrite: bool) -> Iterator[Callable[[Iterable[np.ndarray]], None]]:
    """A function that writes one image per row to a folder, which appears when the block ends without an error.

    An existing folder is replaced only with ``overwrite``, and only if it holds no other files than those to write.
    """
    path = followed(path)
    if form.shape is None:
        raise DataFileError(f"{path} names a folder, but these rows are not images; end it in .npy, .csv or .parquet.")
    if form.alone:
        raise DataFileError(f"{path} names a folder, but this is one {form.alone}; name a file.")
    for ending in {Path(name).suffix for name in form.names or ("a.png",)}:
        _check_pixels(path.with_name(path.name + ending), form)
    if path.parent.is_dir():
        remove_leftovers(path)
    _check_folder(path, form, overwrite)
    with begun(path) as unfinished:
        yield lambda blocks: _fill(unfinished, chain.from_iterable(blocks), form)
        _replace(unfinished, path, form)


def _check_pixels(path: Path, form: Form) -> None:
    assert form.shape is not None
    pixels.check(path, form.shape, form.pixels)
    if path.suffix.lower() in SHALLOW and form.pixels.dtype != "uint8":
        note(f"{path}: this format keeps 8 bits of the {8 * np.dtype(form.pixels.dtype).itemsize} that the image has.")


def _check_folder(path: Path, form: Form, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise DataFileError(f"the folder {path.parent} does not exist.")
    if not path.exists():
        return
    if not path.is_dir() or not overwrite:
        raise FileExistsError(f"{path} exists already and is left as it is; overwrite=True replaces it.")
    _refuse_others(path, path, form)


def _refuse_others(path: Path, found: Path, form: Form) -> None:
    ours = {_name(form, row) for row in range(len(form.names))}
    others = {file.name for file in found.iterdir() if file.name not in ours and not (not ours and _is_ours(file.name))}
    if others:
        raise DataFileError(f"{path} holds other files, such as {min(others)}, and is left as it is.")


def _is_ours(name: str) -> bool:
    """Whether a file is named as images without names are."""
    return len(name) >= 10 and name.endswith(".png") and name[:-4].isdigit()


def _replace(unfinished: Path, path: Path, form: Form) -> None:
    """Replace the old folder by the new one; nothing of the old one is lost before the new one is in place."""
    if not path.exists():
        unfinished.replace(path)
        return
    with begun(path) as aside:
        path.replace(aside / path.name)
        try:
            _refuse_others(path, aside / path.name, form)  # files added in the meantime
            unfinished.replace(path)
        except BaseException:
            (aside / path.name).replace(path)
            raise


def _fill(folder: Path, rows: Iterable[np.ndarray], form: Form) -> None:
    for number, row in enumerate(rows):
        _save(folder / _name(form, number), row[None], form)


def _name(form: Form, number: int) -> str:
    return form.names[number] if number < len(form.names) else f"{number:06d}.png"


def _save(path: Path, rows: np.ndarray, form: Form) -> None:
    shallow = path.suffix.lower() in SHALLOW and form.pixels.dtype in LEVELS
    how = replace(form.pixels, dtype="uint8") if shallow else form.pixels
    pixels.save_image(path, pixels.encoded(rows, how).reshape(len(rows), *(form.shape or ())), how)


def _single(file: Path) -> DecodedImage:
    found = pixels.load_image(file)
    if found.several:
        raise DataFileError(f"{file} holds several pages: read it alone, or save the pages as separate files.")
    if found.form.alpha is not None:
        raise DataFileError(f"{file} has transparent parts, which a folder cannot keep: save it without them.")
    grey = found.form.repeated  # other images of the folder may be in colour
    return replace(found, array=np.repeat(found.array[..., None], 3, axis=2)) if grey else found


def _like(first: DecodedImage, file: Path, model: Path) -> np.ndarray:
    found = _single(file)
    if found.shape != first.shape or found.form.dtype != first.form.dtype:
        raise DataFileError(
            f"{file} is {_words(found)}, but {model.name} is {_words(first)}: the images of a folder must be alike."
        )
    return found.array.ravel()


def _words(found: DecodedImage) -> str:
    kind = "grey" if len(found.shape) == 2 else "colour"
    return f"{found.shape[0]} high and {found.shape[1]} wide, {kind} of {8 * np.dtype(found.form.dtype).itemsize} bits"
