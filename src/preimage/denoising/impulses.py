"""Impulse noise: values replaced by the ends of the range, or by any value, are found and filled in first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import ndimage
from scipy.stats import binom

from preimage.denoising.pieces import middle
from preimage.gram import slicing
from preimage.noise import NoiseLaw, RandomImpulses, SaltAndPepper

FEWEST, MOST = 0.003, 0.6  # the least and the largest share of lost values
OUTLYING = 4.0  # least distance of a lost value from its neighbours, in standard deviations of the other values
QUIET = 0.12  # standard deviation of the other values, relative to the range, above which nothing stands out
LEAST = 0.05  # least distance of a lost value from its neighbours, relative to the range
RARE = 0.01  # share of dark, or of bright, points above which they are tested
ACROSS = 0.3  # least share of lost values among dark or bright points, relative to that in the whole image
SAME = 2.0  # neighbours of lost values may be lost at most this many times as often as others
BESIDE = 0.75  # share of lost values with a neighbour nearly like them, above which they are edges of clipped fields
APART, LEAST_APART = 8.0, 0.1  # least gap of random impulses, relative to the usual gap and to the range
HIDDEN = 0.4  # share of hidden random impulses above which the others may be noise, as of photon counts
ANYWHERE = 0.6  # like ACROSS, for random impulses, which are as frequent in dark as in bright parts
OPPOSITE = 0.35  # least share of random impulses in the half of the range opposite to their neighbours; ½ is expected
EVEN = 0.3  # least share of these in either half of that half
FIELD = 1e-3  # share of the values at an end by chance that are taken for part of a field
ROUNDS = 3
STEADY, FINEST = 0.5, 1e-3  # least scale of values about their neighbours, relative to the usual scale and the range
LEFT_OUT = 0.1  # share of known values left out to measure the error of filling
ENOUGH = 512  # side of the middle part of an image that is tested for random impulses


@dataclass(frozen=True, eq=False)
class Impulses:
    """Impulses of an image.

    Attributes
    ----------
    missing : array of bool
        Where values are lost.
    law : NoiseLaw
    left : float, optional
        The mean squared error due to missed impulses and to values mistaken for impulses; None if all are found.
    """

    missing: np.ndarray
    law: NoiseLaw
    left: float | None = None


def impulses_in(image: np.ndarray) -> Impulses | None:
    """The impulses of an image (grid…, channels), or None."""
    low, high = float(image.min()), float(image.max())
    if (missing := lost(image)) is not None:
        return Impulses(missing, SaltAndPepper(float(missing.mean()), low, high))
    inner = middle(image.shape[:-1], ENOUGH)
    if low == high or not (seen := _Outliers.of(image[inner], low, high)).are_random():
        return None
    found = _random_impulses(image, seen.share(), low, high)
    rest = _Outliers.of(filled(image, found.missing)[inner], low, high)
    return None if found.missing.mean() < FEWEST or rest.are_random() else found  # outliers that remain are texture


def _random_impulses(image: np.ndarray, p: float, low: float, high: float) -> Impulses:
    """Impulses of any value, each found by Bayes' rule.

    A value is an impulse, uniform on the range, with probability p. Otherwise it is Laplace about the median m of its
    neighbours, with a scale b from their deviations. An impulse is more likely if |y − m| exceeds

        t = b log[(1 − p) range / 2pb].

    Impulses up to t are missed, which adds p(2/3)t³/range to the squared error, and other values beyond t are lost,
    which adds (1 − p) exp(−t/b)(t² + 2tb + 2b²). The estimate of p is the share of the values found, divided by the
    share of the range beyond t.
    """
    missing, extent = np.zeros(image.shape, dtype=bool), high - low
    for _ in range(ROUNDS):  # adjacent impulses hide each other until one is filled in
        medians, b = _neighbours(filled(image, missing))
        b = np.sqrt(np.square(b) + np.square(STEADY * np.median(b)) + np.square(FINEST * extent))
        reach = b * np.log(np.maximum((1 - p) * extent / (2 * p * b), 2.0))
        missing = np.abs(image - medians) > reach
        p = float(np.clip(missing.mean() / (1 - np.minimum(2 * reach / extent, MOST).mean()), FEWEST, MOST))
    false = (1 - p) * np.exp(-reach / b) * (np.square(reach) + 2 * reach * b + 2 * np.square(b))
    left = float(np.mean(false + 2 / 3 * p * np.minimum(reach, extent) ** 3 / extent))
    return Impulses(missing, RandomImpulses(p, low, high), left)


def _neighbours(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median of the neighbours of every value, and their median deviation from it."""
    others = np.arange(3 ** (image.ndim - 1)) != 3 ** (image.ndim - 1) // 2

    def medians(around: np.ndarray) -> np.ndarray:
        return _nan_medians(around[..., others])

    def deviations(around: np.ndarray) -> np.ndarray:
        return _nan_medians(np.abs(around[..., others] - medians(around)[..., None]))

    return _around(image, medians), _around(image, deviations)


@dataclass(frozen=True, eq=False)
class _Outliers:
    """Values far from all neighbours but one at most, unlike points on edges and lines (Garnett et al. 2005)."""

    image: np.ndarray
    medians: np.ndarray
    far: np.ndarray
    reach: float
    low: float
    high: float

    @classmethod
    def of(cls, image: np.ndarray, low: float, high: float) -> _Outliers:
        gaps, inside = _around(image, _second_gaps), (image > low) & (image < high)  # values at an end may be clipped
        usual = float(np.median(gaps[inside])) if inside.any() else 0.0
        reach = max(APART * usual, LEAST_APART * (high - low))
        far = gaps > reach
        return cls(image, _medians(image, far), far, reach, low, high)

    def are_random(self) -> bool:
        """Whether outliers occur anywhere with any value, unlike texture, edges, stars and points of drawings."""
        share, centre = float(self.far.mean()), (self.low + self.high) / 2
        if not FEWEST < share < MOST / 2 or self.hidden() > HIDDEN or _are_clustered(self.far):
            return False
        ends = _dark_and_bright(self.medians, self.low, self.high)
        across = [_share(self.far, where) for where in ends if where.mean() > RARE]
        opposite = self.far & ((self.image > centre) != (self.medians > centre))
        outer = _share(np.abs(self.image - centre) > (self.high - self.low) / 4, opposite)
        anywhere = min(across, default=share) > ANYWHERE * share and opposite.sum() > OPPOSITE * self.far.sum()
        return bool(anywhere and EVEN < outer < 1 - EVEN)

    def share(self) -> float:
        """The probability of an impulse, including those too near to their neighbours to be visible."""
        return float(self.far.mean()) / max(1 - self.hidden(), 0.5)

    def hidden(self) -> float:
        """The share of impulses too near to their neighbours to be visible."""
        ends = np.clip(self.medians - self.reach, self.low, None), np.clip(self.medians + self.reach, None, self.high)
        return float(np.nanmean(ends[1] - ends[0])) / (self.high - self.low)


def lost(image: np.ndarray) -> np.ndarray | None:
    """Where values of an image (grid…, channels) are lost; None if these are too few, or not like impulse noise.

    A value is lost if it is at an end of the range, but in no field of such values, and far from the median of those
    neighbours that are not lost. Unlike points and strokes of a drawing, lost values occur anywhere, independently of
    their neighbours. Unlike clipped values, they occur at both ends, independently of the brightness around them.
    """
    low, high = float(image.min()), float(image.max())
    if not RARE < np.mean((image > low) & (image < high)) < 1 - FEWEST:
        return None  # a drawing or a dithered image, or nothing at the ends
    (black, blacks), (white, whites) = (_scattered(image == end) for end in (low, high))
    ends = black | white
    if not FEWEST < ends.mean() < MOST or min(blacks, whites) < ACROSS * max(blacks, whites):
        return None
    medians = _medians(image, ends)
    gaps = np.abs(image - medians)
    others = gaps[~ends & np.isfinite(gaps)]
    spread = float(np.median(others)) / 0.6745 if others.size else np.inf
    if spread > QUIET * (high - low):
        return None
    reach = max(OUTLYING * spread, LEAST * (high - low))
    far = ends & ~(gaps <= reach)
    share = float(far.mean())
    dark, bright = _dark_and_bright(medians, low, high)
    across = [_share(end, where) for end, where in ((white, dark), (black, bright)) if where.mean() > RARE]
    anywhere = share >= FEWEST and min(across, default=0.0) >= ACROSS * share and not _are_clustered(far)
    return far if anywhere and _share(_beside(image, ends, reach), far) <= BESIDE else None


def _are_clustered(far: np.ndarray) -> bool:
    """Whether neighbours of lost values are lost more often than other values."""
    return _share(far[1:], far[:-1]) > SAME * float(far.mean()) + 0.02


def _dark_and_bright(medians: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the median of the neighbours is in the lowest, and in the highest, third of the range."""
    third = (high - low) / 3
    return medians < low + third, medians > high - third


def _scattered(at_end: np.ndarray) -> tuple[np.ndarray, float]:
    """Values at one end of the range without the fields that the image itself has there, and their share elsewhere.

    Where a share p of the values is at this end by chance, so are Binomial(8, p) of the neighbours of each. A value
    with more of them than all but ``FIELD`` of that law lies in a field, unless at most one of its neighbours does. p
    is the share of the other values.
    """
    neighbours, n_neighbours, most = _marked_neighbours(at_end), 3 ** (at_end.ndim - 1) - 1, 0.0
    for _ in range(ROUNDS):
        most = binom.isf(FIELD, n_neighbours, _share(at_end, neighbours * at_end <= most))
    field = at_end & (neighbours > most)
    field &= _marked_neighbours(field) > 1
    return at_end & ~field, _share(at_end, ~field)


def _marked_neighbours(marked: np.ndarray) -> np.ndarray:
    """The number of neighbours of every value that are marked, in its channel."""
    block = np.ones((3,) * (marked.ndim - 1) + (1,), dtype=np.uint8)
    found: np.ndarray = ndimage.convolve(marked.astype(np.uint8), block, mode="constant") - marked
    return found


def _beside(image: np.ndarray, ends: np.ndarray, reach: float) -> np.ndarray:
    """Where values at an end have a neighbour within reach that is not: clipped values have one, lost ones do not."""
    low, high, others = image.min(), image.max(), np.where(ends, np.nan, image)
    darkest, brightest = (_around(others, partial(least.reduce, axis=-1)) for least in (np.fmin, np.fmax))
    near: np.ndarray = np.where(image == low, darkest - low, high - brightest) <= reach
    return near


def _share(what: np.ndarray, where: np.ndarray) -> float:
    """The share of points where ``what`` holds, among those where ``where`` holds."""
    return float(what[where].mean()) if where.any() else 0.0


def filled(image: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The image with missing values filled by the median of their neighbours, from the borders of gaps inwards."""
    found, missing = image.copy(), missing.copy()
    while missing.any() and not missing.all():
        medians = _medians(found, missing)
        now = missing & np.isfinite(medians)
        found[now], missing[now] = medians[now], False
    return found


def filling_risk(image: np.ndarray, missing: np.ndarray, rng: np.random.Generator) -> float:
    """The mean squared error due to filled values, estimated from known values that are left out."""
    left_out = ~missing & (rng.random(image.shape) < LEFT_OUT)
    gaps = (filled(image, missing | left_out) - image)[left_out]
    return float(missing.mean() * np.mean(np.square(gaps))) if gaps.size else 0.0


def _medians(image: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """The median of the neighbours of every value, without those left out; NaN if none remains."""
    return _around(np.where(left_out, np.nan, image), _nan_medians)


def _around(image: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A measure of every value and its neighbours, which are on the last axis; NaN beyond the image."""
    n_axes = image.ndim - 1
    padded, found = np.pad(image, [(1, 1)] * n_axes + [(0, 0)], constant_values=np.nan), np.empty_like(image)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3,) * n_axes, axis=tuple(range(n_axes)))
    for rows in slicing.row_blocks(len(image), 40 * 3**n_axes * image[0].size):
        found[rows] = measure(windows[rows].reshape(*image[rows].shape, -1))
    return found


def _second_gaps(around: np.ndarray) -> np.ndarray:
    """The distance of a value to its second nearest neighbour in value."""
    centre = around.shape[-1] // 2
    return np.partition(np.abs(around - around[..., centre, None]), 2, axis=-1)[..., 2]


def _nan_medians(around: np.ndarray) -> np.ndarray:
    flat = np.sort(around, axis=-1)
    count = np.isfinite(flat).sum(axis=-1)
    lower, upper = (
        np.take_along_axis(flat, np.maximum(at, 0)[..., None], axis=-1)[..., 0] for at in ((count - 1) // 2, count // 2)
    )
    return np.where(count > 0, (lower + upper) / 2, np.nan)
