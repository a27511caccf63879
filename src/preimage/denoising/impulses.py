"""Salt and pepper: values lost to the ends of the range, found and filled in before anything else is done."""

from __future__ import annotations

import numpy as np

from preimage.gram import tiles

__all__ = ["filled", "lost"]

FEWEST, MOST = 0.003, 0.6  # shares of lost values from which, and up to which, they are taken for lost
OUTLYING = 4.0  # how far from their neighbours they are, in standard deviations of the others
QUIET = 0.12  # standard deviation of the others, in shares of the range, above which nothing stands out
LEAST = 0.05  # and in shares of the range
RARE = 0.01  # share of dark, or of bright, values from which they count
ACROSS = 0.3  # the least share of white values among dark ones, or of black among bright, beside all lost values
SAME = 2.0  # neighbours of lost values are lost, too, at most so many times as often as others


def lost(image: np.ndarray) -> np.ndarray | None:
    """Where values of an image (grid…, channels) are lost, None where too few are for that to be noise.

    Lost are values at an end of the range that lie far from the median of their neighbours which are not. Unlike the
    points and strokes of a drawing they stand anywhere: whether its neighbour is lost says nothing about a value. And
    unlike values that were cut off they come at either end whatever the brightness around them.
    """
    low, high = float(image.min()), float(image.max())
    ends = (image == low) | (image == high)
    if low == high or not FEWEST < ends.mean() < MOST:
        return None
    medians = _medians(image, ends)
    gaps = np.abs(image - medians)
    others = gaps[~ends & np.isfinite(gaps)]
    if not others.size:
        return None
    spread = float(np.median(others)) / 0.6745
    if spread > QUIET * (high - low):
        return None
    reach = max(OUTLYING * spread, LEAST * (high - low))
    far = ends & ~(gaps <= reach)
    share = float(far.mean())
    third = (high - low) / 3
    dark, bright = medians < low + third, medians > high - third
    pairs = (image == high, dark), (image == low, bright)
    across = [_share(end, where) for end, where in pairs if where.mean() > RARE]
    if (
        share < FEWEST
        or not min(across, default=0.0) >= ACROSS * share
        or _share(far[1:], far[:-1]) > SAME * share + 0.02
    ):
        return None
    return far


def _share(what: np.ndarray, where: np.ndarray) -> float:
    """How often something holds where something else does."""
    return float(what[where].mean()) if where.any() else 0.0


def filled(image: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The image with missing values filled by the median of their neighbours, from the borders of holes inwards."""
    found, missing = image.copy(), missing.copy()
    while missing.any() and not missing.all():
        medians = _medians(found, missing)
        now = missing & np.isfinite(medians)
        found[now], missing[now] = medians[now], False
    return found


def _medians(image: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """The medians of the neighbours of every value that are not left out; NaN where all are."""
    shown = np.where(left_out, np.nan, image)
    margins = [(1, 1)] * (image.ndim - 1) + [(0, 0)]
    padded, found = np.pad(shown, margins, constant_values=np.nan), np.empty_like(shown)
    for rows in tiles.row_blocks(len(image), 40 * 3 ** (image.ndim - 1) * image[0].size):
        found[rows] = _nan_medians(padded[rows.start : rows.stop + 2])
    return found


def _nan_medians(padded: np.ndarray) -> np.ndarray:
    n_axes = padded.ndim - 1
    around = np.lib.stride_tricks.sliding_window_view(padded, (3,) * n_axes, axis=tuple(range(n_axes)))
    flat = np.sort(around.reshape(*around.shape[: n_axes + 1], -1), axis=-1)
    count = np.isfinite(flat).sum(axis=-1)
    lower, upper = (
        np.take_along_axis(flat, np.maximum(at, 0)[..., None], axis=-1)[..., 0] for at in ((count - 1) // 2, count // 2)
    )
    return np.where(count > 0, (lower + upper) / 2, np.nan)
