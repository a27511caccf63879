"""Arrays as files for the page: pictures in PNG, and numbers in single precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from preimage.io.base import needed


def save_numbers(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Save arrays by name, in single precision."""
    for name, array in arrays.items():
        array.astype("<f4").tofile(folder / f"{name}.f32")


def save_picture(path: Path, image: np.ndarray, low: float, high: float) -> None:
    """Save an image, (height, width) or with three channels, black at ``low`` and white at ``high``."""
    levels = np.rint(255 * np.clip((image - low) / (high - low), 0, 1)).astype(np.uint8)
    needed("PIL.Image", path.name).fromarray(levels.squeeze()).save(path)
