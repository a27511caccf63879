"""Images, by pillow: one, or a folder of equal size with one image a row. Numbers lie in [0, 1]."""

from __future__ import annotations

import secrets
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from preimage.chunks import BLOCK
from preimage.data_files.base import Data, Form, needed
from preimage.exceptions import DataFileError

ENDINGS = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"}
DEPTHS = {"L": 255, "RGB": 255, "I;16": 65535}
LOSSY = {"quality": 95, "subsampling": 0}  # of a JPEG


def read(path: Path) -> Data:
    """One image as one row."""
    pixels, depth = _load(path)
    form = Form(shape=pixels.shape, alone="image", depth=depth)
    return Data(str(path), pixels.reshape(1, -1), (1, pixels.size), form, depth)


def read_folder(path: Path) -> Data:
    """One image a row, in the order of their names; files with other endings are passed over."""
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS and not file.name.startswith("."))
    if not files:
        raise DataFileError(f"the folder {path} holds no images ({', '.join(sorted(ENDINGS))}).")
    first, depth = _load(files[0])

    def walk() -> Iterator[np.ndarray]:
        for start in range(0, len(files), BLOCK):
            yield np.stack([_like(first, depth, file, files[0]) for file in files[start : start + BLOCK]])

    form = Form(shape=first.shape, names=tuple(file.name for file in files), depth=depth)
    data = Data(str(path), walk, (len(files), first.size), form, depth)
    return data if data.is_large else Data(data.name, np.concatenate(list(walk())), data.shape, form, depth)


def check(path: Path, form: Form) -> None:
    """Only rows with the shape of an image can be written as one, and only one to a file."""
    needed("PIL.Image", str(path))
    if form.shape is None:
        raise DataFileError(f"{path}: these rows are no images; write .npy, .csv or .parquet.")
    if form.alone != "image":
        raise DataFileError(f"{path}: several images need a folder; name one without an ending.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write one image."""
    _save(path, np.concatenate(list(blocks))[0], form)


@contextmanager
def new_folder(path: Path, form: Form, overwrite: bool) -> Iterator[Callable[[Iterable[np.ndarray]], None]]:
    """A function that writes one image a row to a folder, which appears when the block ends well.

    A folder that is there is replaced only on demand, and only if it holds no other files than those to be written.
    """
    needed("PIL.Image", str(path))
    if form.shape is None:
        raise DataFileError(f"{path} names a folder, and these rows are no images; end it in .npy, .csv or .parquet.")
    if form.alone:
        raise DataFileError(f"{path} names a folder, and this is one {form.alone}; name a file.")
    _check_folder(path, form, overwrite)
    unfinished = _beside(path)
    try:
        yield lambda blocks: _fill(unfinished, blocks, form)
        _replace(unfinished, path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _check_folder(path: Path, form: Form, overwrite: bool) -> None:
    if not path.parent.is_dir():
        raise DataFileError(f"the folder {path.parent} does not exist.")
    if not path.exists():
        return
    if not path.is_dir() or not overwrite:
        raise FileExistsError(f"{path} exists already and is left as it is.")
    others = {file.name for file in path.iterdir()} - {_name(form, row) for row in range(max(len(form.names), 1))}
    if others:
        raise DataFileError(f"{path} holds other files, such as {min(others)}, and is left as it is.")


def _replace(unfinished: Path, path: Path) -> None:
    """Put the new folder in the place of the old one, of which nothing is lost before the new one is there."""
    if not path.exists():
        unfinished.replace(path)
        return
    aside = _beside(path)
    try:
        path.replace(aside / path.name)
        try:
            unfinished.replace(path)
        except BaseException:
            (aside / path.name).replace(path)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A new folder with the permissions of any other."""
    folder = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    folder.mkdir()
    return folder


def _fill(folder: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    number = 0
    for block in blocks:
        for row in block:
            _save(folder / _name(form, number), row, form)
            number += 1


def _name(form: Form, number: int) -> str:
    return form.names[number] if number < len(form.names) else f"{number:06d}.png"


def _save(path: Path, row: np.ndarray, form: Form) -> None:
    image = needed("PIL.Image", str(path))
    depth = form.depth if path.suffix.lower() in (".png", ".tif", ".tiff") else 255
    pixels = np.rint(np.clip(row, 0, 1) * depth).astype(np.uint16 if depth > 255 else np.uint8)
    options = LOSSY if path.suffix.lower() in (".jpg", ".jpeg") else {}
    image.fromarray(pixels.reshape(form.shape or ())).save(path, **options)


def _like(first: np.ndarray, depth: int, file: Path, model: Path) -> np.ndarray:
    pixels, found = _load(file)
    if pixels.shape != first.shape or found != depth:
        raise DataFileError(
            f"{file} is {_words(pixels, found)}, and {model.name} is {_words(first, depth)}: "
            "the images of a folder must be alike."
        )
    return pixels.ravel()


def _words(pixels: np.ndarray, depth: int) -> str:
    kind = "grey" if pixels.ndim == 2 else "colour"
    return f"{pixels.shape[1]}×{pixels.shape[0]} {kind} of {8 if depth == 255 else 16} bits"


def _load(file: Path) -> tuple[np.ndarray, int]:
    """The pixels of an image, grey (h, w) or colour (h, w, 3), and the largest number they can be."""
    image, ops = needed("PIL.Image", str(file)), needed("PIL.ImageOps", str(file))
    try:
        with warnings.catch_warnings(), image.open(file) as opened:
            warnings.simplefilter("error", image.DecompressionBombWarning)
            _refuse_deep_colour(opened, file)
            opened.load()
            found = _plain(ops.exif_transpose(opened), file)
    except DataFileError:
        raise
    except Exception as error:  # a damaged image can make its decoder fail in any way
        raise DataFileError(f"{file} is empty, damaged, or no image.") from error
    return np.asarray(found), DEPTHS[found.mode]


def _plain(image, file: Path):
    """The image in one of the modes that we know, if nothing is lost by it."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA" if image.mode != "LA" else "LA")
        if image.getchannel("A").getextrema() != (255, 255):
            raise DataFileError(f"{file} has transparent parts: save it without them.")
        return image.convert("L" if image.mode == "LA" else "RGB")
    if image.mode in DEPTHS:
        return image
    if image.mode in ("I;16B", "I;16L", "I"):
        return image.convert("I;16")
    if image.mode in ("1", "P", "CMYK", "YCbCr"):
        return image.convert("L" if image.mode == "1" else "RGB")
    raise DataFileError(
        f"{file} is an image of the kind {image.mode}; grey and colour of 8 bits and grey of 16 are read."
    )


def _refuse_deep_colour(image, file: Path) -> None:
    """Pillow would silently halve the depth of a colour PNG of 16 bits."""
    if image.format == "PNG" and image.mode in ("RGB", "RGBA"):
        with file.open("rb") as stream:
            if stream.read(25)[24] == 16:
                raise DataFileError(f"{file} is in colour of 16 bits, of which only 8 could be kept: save it so.")
