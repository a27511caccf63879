"""A large image or long signal, cut into pieces that are used as examples."""

from __future__ import annotations

import numpy as np

from preimage.denoising.views import Images

SIDES = {1: (64, 1024), 2: (16, 64)}  # of a piece: the shortest and the longest, by the number of axes
PIECES = 64
PATCH = {1: 64, 2: 8}


def cut(image: np.ndarray) -> Images:
    """Pieces of an image of shape (*grid, channels) that cover it, about ``PIECES`` of them if it is large enough."""
    grid = image.shape[:-1]
    shortest, longest = SIDES[len(grid)]
    side = int(np.clip((np.prod(grid) / PIECES) ** (1 / len(grid)), shortest, longest))
    return _pieces(image, tuple(min(side, length) for length in grid))


def small_patches(images: Images) -> tuple[np.ndarray, tuple[int, ...]]:
    """Many small patches of single channels, one per row, and their shape; for the noise level."""
    grid = images.shape[1:-1]
    sides = tuple(min(PATCH[len(grid)], length) for length in grid)
    found = [_pieces(image[..., [channel]], sides) for image in images for channel in range(image.shape[-1])]
    return np.concatenate(found).reshape(-1, int(np.prod(sides))), sides


def middle(grid: tuple[int, ...], most: int) -> tuple[slice, ...]:
    """At most ``most`` points in the middle of every axis."""
    return tuple(slice((n - min(n, most)) // 2, (n + min(n, most)) // 2) for n in grid)


def _pieces(image: np.ndarray, sides: tuple[int, ...]) -> Images:
    """Adjacent pieces; the last ones end at the border and overlap their neighbours."""
    starts = [_starts(length, side) for length, side in zip(image.shape, sides, strict=False)]
    corners = np.stack(np.meshgrid(*starts, indexing="ij"), axis=-1).reshape(-1, len(sides))
    return np.stack([image[tuple(slice(at, at + side) for at, side in zip(c, sides, strict=True))] for c in corners])


def _starts(length: int, side: int) -> np.ndarray:
    return np.unique(np.minimum(np.arange(0, length, side), length - side))
