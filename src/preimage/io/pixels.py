"""One image file as an array of pixels and back: by Pillow, and by tifffile for types of TIFF that Pillow lacks."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.gram import slicing
from preimage.io import bounds
from preimage.io.base import Pixels, needed
from preimage.io.bounds import BoundedFile

TIFF = (".tif", ".tiff")
LEVELS = {"uint8": 255, "uint16": 65535}  # types of grey levels, with white; other types hold plain numbers
MODES = {"L": "uint8", "RGB": "uint8", "I;16": "uint16", "I;16B": "uint16", "I": "int32", "F": "float32"}
BYTES = {"I;16": 2, "I;16B": 2, "I": 4, "F": 4}  # of a pixel; one per channel in all other modes
LOSSY = {"quality": 95, "subsampling": 0}  # of a JPEG
TRANSPARENT = (".png", *TIFF)
ORIENTATION, BITS, SAMPLE_FORMAT = 274, 258, 339  # tags of TIFF and EXIF
UNSIGNED = 1
STRIP = 64  # rows of pixels


@dataclass(frozen=True)
class DecodedImage:
    """The pixels of a file: (height, width) or (height, width, 3), after an axis of pages if there are several."""

    array: np.ndarray
    form: Pixels
    several: bool = False

    @property
    def white(self) -> int:
        """The divisor of grey levels."""
        return LEVELS.get(self.form.dtype, 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one page."""
        return self.array.shape[1:] if self.several else self.array.shape


def grey_levels(rows: np.ndarray) -> Pixels:
    """How the numbers in rows represent grey levels, by their type and size."""
    name = rows.dtype.name
    if name in LEVELS:
        return Pixels(name, LEVELS[name])
    some = np.asarray(rows[:: max(1, len(rows) // 1000)], dtype=float)
    some = np.abs(some[np.isfinite(some)])
    peak = np.percentile(some, 99) if some.size else 0.0
    if peak <= (2 if name.startswith("float") and (some % 1).any() else 1):
        return Pixels()
    if (some % 1).any() or some.max() > LEVELS["uint16"]:
        return Pixels(unit=None)
    name = "uint8" if some.max() <= LEVELS["uint8"] else "uint16"
    return Pixels(name, LEVELS[name])


def check(path: Path, shape: tuple[int, ...], pixels: Pixels) -> None:
    """Refuse, before any work, what a file with this ending cannot hold."""
    needed("PIL.Image", str(path))
    if len(shape) == 3 and shape[2] not in (1, 3):
        raise DataFileError(f"{path}: an image has one channel or three, not {shape[2]}; write .npy.")
    if pixels.unit is None:
        raise DataFileError(f"{path}: images hold numbers in [0, 1]: divide these by their largest, or write .npy.")
    ending, colour = path.suffix.lower(), len(shape) == 3 and shape[2] == 3
    if pixels.dtype not in LEVELS and ending not in TIFF:
        raise DataFileError(f"{path}: pixels of type {pixels.dtype} need .tif, .npy or .csv.")
    if pixels.dtype == "uint16" and colour and ending == ".png":
        raise DataFileError(f"{path}: 16-bit colour needs .tif.")
    if pixels.alpha is not None and ending not in TRANSPARENT:
        raise DataFileError(f"{path} cannot hold the transparent parts of the image; write .png or .tif.")
    if _needs_tifffile(pixels.dtype, colour) and ending in TIFF:
        needed("tifffile", str(path))


def encoded(values: np.ndarray, pixels: Pixels) -> np.ndarray:
    """Numbers as pixels of the given type, clipped to its range."""
    if pixels.dtype in LEVELS:
        values = np.rint(np.clip(values / (pixels.unit or 1.0), 0, 1) * LEVELS[pixels.dtype])
    elif np.dtype(pixels.dtype).kind in "iu":
        limits = np.iinfo(pixels.dtype)
        values = np.clip(np.rint(values), limits.min, limits.max)
    return values.astype(pixels.dtype)


def save_image(path: Path, pages: np.ndarray, pixels: Pixels) -> None:
    """Write one image file; the first axis of ``pages`` counts its pages."""
    if pages.ndim == 4 and pages.shape[3] == 1:
        pages = pages[..., 0]
    if pixels.repeated:
        pages = np.repeat(pages[..., None], 3, axis=3)
    ending = path.suffix.lower()
    if ending in TIFF and _needs_tifffile(pixels.dtype, pages.ndim == 4):
        kind = "rgb" if pages.ndim == 4 else "minisblack"
        needed("tifffile", str(path)).imwrite(path, pages if len(pages) > 1 else pages[0], photometric=kind)
        return
    image = needed("PIL.Image", str(path))
    made = [image.fromarray(page) for page in pages]
    if pixels.alpha is not None:
        made[0].putalpha(image.fromarray(pixels.alpha))
    options = dict(pixels.info) | (LOSSY if ending in (".jpg", ".jpeg") else {})
    if len(made) > 1:
        options |= {"save_all": True, "append_images": made[1:]}
    made[0].save(path, **options)


def load_image(file: Path) -> DecodedImage:
    """The pixels of an image file."""
    image = needed("PIL.Image", str(file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Pillow's warnings of damage
        warnings.simplefilter("error", image.DecompressionBombWarning)  # which Pillow gives when it opens a file
        try:
            with bounds.opened(file) as bounded, image.open(bounded.stream) as opened:
                if not _is_beyond_pillow(opened):
                    return _by_pillow(opened, file, bounded)
        except DataFileError:
            raise
        except (image.DecompressionBombError, image.DecompressionBombWarning) as error:
            raise DataFileError(f"{file} is too large an image to be trusted: {error}") from error
        except Exception as error:  # a damaged image can make its decoder fail in any way
            if file.suffix.lower() not in TIFF:
                raise DataFileError(f"{file} is empty, damaged, or no image.") from error
    return _by_tifffile(file)


def _is_beyond_pillow(opened: Any) -> bool:
    """Whether Pillow would change the pixels of a TIFF: halve 16-bit colour, or wrap 32-bit whole numbers."""
    if opened.format != "TIFF":
        return False
    bits, signs = opened.tag_v2.get(BITS, (8,)), opened.tag_v2.get(SAMPLE_FORMAT, (UNSIGNED,))
    return (len(bits) > 1 and max(bits) > 8) or (max(bits) > 16 and UNSIGNED in signs)


def _by_pillow(opened: Any, file: Path, bounded: BoundedFile) -> DecodedImage:
    _refuse_deep_colour(opened, bounded)
    count = getattr(opened, "n_frames", 1) if opened.format == "TIFF" else 1
    bounded.allow_entries(count)
    n_bytes = count * opened.width * opened.height * BYTES.get(opened.mode, len(opened.getbands()))
    bounded.allow(n_bytes, bits=1 if opened.mode == "1" else 8)
    if count == 1:
        opened.load()
        return _one(opened, file)
    pages = []
    for number in range(count):
        opened.seek(number)
        pages.append(_plain(opened.copy(), file))
        if (pages[-1].mode, pages[-1].size) != (pages[0].mode, pages[0].size):
            raise DataFileError(f"{file}: page {number + 1} differs from the first; save the pages as separate files.")
    return DecodedImage(np.stack([_array(page) for page in pages]), Pixels(MODES[pages[0].mode]), several=True)


def _one(opened: Any, file: Path) -> DecodedImage:
    ops = needed("PIL.ImageOps", str(file))
    kept = ("dpi",) if opened.mode == "CMYK" else ("dpi", "icc_profile")  # a profile of inks does not apply to RGB
    info = {key: opened.info[key] for key in kept if key in opened.info}
    ops.exif_transpose(opened, in_place=True)
    turned, exif = opened, opened.getexif()
    exif.pop(ORIENTATION, None)  # the pixels are already turned
    if len(exif) and opened.format in ("JPEG", "PNG"):
        info["exif"] = exif.tobytes()
    alpha = None
    if turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info:
        turned = turned.convert("LA" if turned.mode == "LA" else "RGBA")
        alpha = np.asarray(turned.getchannel("A"))
        alpha = None if alpha.min() == 255 else alpha
        turned = turned.convert("L" if turned.mode == "LA" else "RGB")
    found = _plain(turned, file)
    array = _array(found)
    repeated = array.ndim == 3 and all(np.array_equal(array[..., 0], array[..., channel]) for channel in (1, 2))
    form = Pixels(MODES[found.mode], alpha=alpha, repeated=repeated, info=info)
    return DecodedImage(array[..., 0] if repeated else array, form)


def _plain(image: Any, file: Path) -> Any:
    """The image in one of the known modes, if that loses nothing."""
    if image.mode in MODES:
        return image
    if image.mode in ("1", "P", "CMYK", "YCbCr"):
        return image.convert("L" if image.mode == "1" else "RGB")
    raise DataFileError(f"{file} is an image of the kind {image.mode}; save it in grey or colour.")


def _array(image: Any) -> np.ndarray:
    """The pixels of an image, strip by strip, because Pillow copies what it returns twice."""
    dtype, channels = MODES[image.mode], (3,) * (image.mode == "RGB")  # for either byte order
    array = np.empty((image.height, image.width, *channels), dtype)
    for rows in slicing.slices(image.height, STRIP):
        array[rows] = np.asarray(image.crop((0, rows.start, image.width, rows.stop)))
    return array


def _by_tifffile(file: Path) -> DecodedImage:
    tifffile = needed("tifffile", str(file))
    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # it would print every damaged tag
    with bounds.opened(file, "image") as bounded, tifffile.TiffFile(bounded.stream) as opened:
        bounded.allow_entries(len(opened.pages))
        bounded.allow(sum(page.nbytes for page in opened.pages))
        arrays = [(page.asarray(), page.axes) for page in opened.pages]
    pages = [np.moveaxis(page, 0, -1) if axes == "SYX" else page for page, axes in arrays]
    if not pages:
        raise DataFileError(f"{file} is empty, damaged, or no image.")
    if len({(page.shape, page.dtype) for page in pages}) > 1:
        raise DataFileError(f"{file} has pages of different sizes or types; save them as separate files.")
    array = np.stack(pages)
    if array.dtype.kind not in "fiu" or not (array.ndim == 3 or (array.ndim == 4 and array.shape[3] == 3)):
        raise DataFileError(
            f"{file} is an image of the kind {array.dtype} {array.shape[1:]}; save it in grey or colour."
        )
    form = Pixels(array.dtype.name)
    return DecodedImage(array, form, several=True) if len(array) > 1 else DecodedImage(array[0], form)


def _needs_tifffile(dtype: str, colour: bool) -> bool:
    return colour if dtype in MODES.values() and dtype != "uint8" else dtype not in MODES.values()


def _refuse_deep_colour(image: Any, file: BoundedFile) -> None:
    """Refuse a 16-bit colour PNG, whose depth Pillow would silently halve."""
    if image.format == "PNG" and image.mode in ("RGB", "RGBA"):
        place = file.stream.tell()
        file.stream.seek(24)
        depth = file.stream.read(1)[0]
        file.stream.seek(place)
        if depth == 16:
            raise DataFileError(f"{file.name} has 16-bit colour, of which only 8 bits could be kept: save it as .tif.")
