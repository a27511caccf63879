"""The noise that an image had before it was stored as JPEG.

A JPEG file holds the cosine coefficients of blocks of 8 × 8 points, each rounded to a multiple of a step that depends
on its frequency. Rounding removes most of the noise at high frequencies, which :mod:`preimage.denoising.levels` uses,
and leaves it at low ones. Noise of the level σ has the mean square

    E Q(σε)² = 2 Σₖ (kq)² [Φ((k + ½)q/σ) − Φ((k − ½)q/σ)],   k = 1, 2, …

after rounding to multiples of q; σ is the level that explains the coefficients of flat blocks.

Rounding also removes detail of the image, which no method restores. The loss follows from a Laplace law of the
coefficients, whose scale b follows from the share exp(−q/2b) that did not become 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dctn
from scipy.ndimage import uniform_filter
from scipy.optimize import brentq
from scipy.special import ndtr

SIDE = 8
FINEST, COARSEST = 3, 121  # smallest step distinguishable from rounding, and largest step of the usual tables
ROUNDING = 1.5  # coefficients up to this size may be rounding of the pixels alone
FEWEST = 30  # nonzero coefficients needed to find a step, and blocks needed to recognise a file
PLENTY = 200  # blocks used to find steps, those with the fewest values at the ends of the range
MULTIPLES = 0.75  # mean of cos(2πc/q) above which coefficients c are multiples of q
ENOUGH = 5  # frequencies with a step needed to recognise a file
LOW = 2  # sum of both frequencies up to which a coefficient shows how flat a block is, rather than its noise
FLATTEST, FEWEST_FLAT = 0.05, 10  # share of blocks used for the noise, and their least number
ENOUGH_POINTS = 1024  # side of the middle part of an image that is examined
AT_ENDS = 0.05  # share of values at the ends of the range up to which a block shows the noise
TEXTURED = 1.5  # ratio of the noise in unclipped blocks to that in all, above which the former is texture
TELLING = 3.0  # steps in σ up to which rounding leaves enough of the noise to measure
LEVELS = 1e-2, 1e3  # the least and the largest σ, in grey levels
FREQUENCIES = np.add.outer(np.arange(SIDE), np.arange(SIDE)).ravel()  # sums of both frequencies
# ITU-R BT.601, as in JFIF
LUMINANCE = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
MOST_MULTIPLES = 40  # terms of the sum over k
# ITU-T T.81, table K.1, which nearly all programs scale by the quality
STANDARD = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
    ]
).ravel()  # fmt: skip
SCALES = [5000 // quality for quality in range(1, 50)] + [200 - 2 * quality for quality in range(50, 101)]  # per cent
AGREEING = 0.6  # share of the known steps that a scaled table must match to supply the others


@dataclass(frozen=True, eq=False)
class JpegBlocks:
    """The blocks of one channel, in grey levels.

    Attributes
    ----------
    coefficients : array of shape (rows, columns, 64)
    ends : array of shape (rows, columns)
        The share of values of a block at an end of the range, where noise is clipped.
    steps : array of shape (64,)
        NaN where unknown.
    """

    coefficients: np.ndarray
    ends: np.ndarray
    steps: np.ndarray

    @classmethod
    def recognised(cls, levels: np.ndarray, at_ends: np.ndarray) -> JpegBlocks | None:
        """The blocks of grey levels (height, width), if their coefficients are multiples of steps; else None.

        ``at_ends`` marks the points at an end of the range.
        """
        blocks, ends = _blocks(levels), _blocks(at_ends).mean(axis=(2, 3))
        if ends.size < FEWEST:
            return None
        coefficients = dctn(blocks, axes=(2, 3), norm="ortho").reshape(*ends.shape, -1)
        free = ends <= np.sort(ends, axis=None)[min(PLENTY, ends.size) - 1]
        steps = np.array([np.nan, *(_step(values) for values in coefficients[free].T[1:])])
        return cls(coefficients, ends, steps) if np.sum(steps >= FINEST) >= ENOUGH else None

    def sigma(self) -> float:
        """The noise level before the image was stored, from the flattest blocks.

        White noise has the same level at all frequencies, but texture has less at high ones, so the lower of two levels
        is used.
        """
        free, every = self._whitest(self._flat(self.ends <= AT_ENDS)), self._whitest(self._flat(self.ends <= 1))
        return free if 0 < free < TEXTURED * every else every  # unclipped blocks may be all texture

    def lost(self, sigma: float) -> float:
        """The mean square that rounding removed from the image itself, besides noise of the level σ.

        It is the loss from coefficients that became 0 and from rounding the others, times the image's share of their
        variance 2b². Frequencies that became 0 everywhere are ignored, because they do not determine b.
        """
        steps, values = self._all_steps()[1:], np.abs(self.coefficients.reshape(-1, SIDE**2)[:, 1:])
        share = np.mean(values > steps / 2, axis=0)
        used = (share > 0) & np.isfinite(steps)
        steps, share = steps[used], np.minimum(share[used], 1 - 0.5 / len(values))
        scale = steps / (-2 * np.log(share))
        variance = 2 * scale**2
        vanished = variance - share * (steps**2 / 4 + steps * scale + variance)
        own = np.maximum(variance - sigma**2, 0) / variance
        return float(np.sum(own * (vanished + share * steps**2 / 12))) / SIDE**2

    def _all_steps(self) -> np.ndarray:
        """The steps, including unknown ones if the others match a scaled standard table."""
        known = np.isfinite(self.steps)
        tables = [np.clip((STANDARD * scale + 50) // 100, 1, 255) for scale in SCALES]
        agreeing = [np.mean(table[known] == self.steps[known]) for table in tables]
        nearest = int(np.argmax(agreeing))
        return tables[nearest].astype(float) if agreeing[nearest] >= AGREEING else self.steps

    def _whitest(self, flat: np.ndarray) -> float:
        overall = self._level(flat, np.isfinite(self.steps) & (FREQUENCIES > LOW))
        telling = np.flatnonzero((self.steps < TELLING * overall) & (FREQUENCIES > LOW))
        halves = np.array_split(telling[np.argsort(FREQUENCIES[telling])], 2)
        return min([overall] + [self._level(flat, half) for half in halves if len(half) >= ENOUGH])

    def _flat(self, among: np.ndarray) -> np.ndarray:
        """The flattest of some blocks, by the means of these and adjacent blocks and by their lowest frequencies."""
        means, low = self.coefficients[..., 0], (FREQUENCIES > 0) & (FREQUENCIES <= LOW)
        uneven = uniform_filter(np.square(means), 3) - np.square(uniform_filter(means, 3))
        uneven = uneven + np.square(self.coefficients[..., low]).sum(axis=2)
        few = max(FEWEST_FLAT, int(FLATTEST * among.sum()))
        return self.coefficients[among][np.argsort(uneven[among])[:few]]

    def _level(self, flat: np.ndarray, used: np.ndarray) -> float:
        """σ from some of the frequencies of flat blocks."""
        steps, square = self.steps[used], float(np.mean(np.square(flat[:, used]))) if flat[:, used].size else 0.0

        def excess(sigma: float) -> float:
            return float(np.mean(rounded_square(sigma, steps))) - square

        if not (steps.size and excess(LEVELS[0]) < 0 < excess(LEVELS[1])):
            return 0.0
        return float(brentq(excess, *LEVELS, xtol=1e-3))


@dataclass(frozen=True)
class BeforeJpeg:
    """The state of an image before it was stored as JPEG.

    Attributes
    ----------
    sigma : float
        The noise level of the luminance.
    lost : float
        The mean square of the detail that the luminance lost.
    """

    sigma: float
    lost: float


def before_jpeg(image: np.ndarray) -> BeforeJpeg | None:
    """The state of an image (height, width, channels) before it was stored as JPEG; None if it was not."""
    if image.ndim != 3 or image.shape[-1] not in (1, 3) or not (unit := _grey_level(image)):
        return None
    luminance = image @ LUMINANCE[0] if image.shape[-1] == 3 else image[..., 0]
    blocks = JpegBlocks.recognised(luminance / unit, _at_ends(image))
    if blocks is None:
        return None
    sigma = blocks.sigma()
    return BeforeJpeg(sigma * unit, blocks.lost(sigma) * unit**2)


def has_whole_colours(image: np.ndarray) -> bool:
    """Whether a JPEG file stored the colours of an image (height, width, 3) at its full resolution (4:4:4).

    Then their coefficients are multiples of steps; those of enlarged colours (4:2:0) are not.
    """
    if not (unit := _grey_level(image)):
        return False
    colours = np.moveaxis(image @ LUMINANCE[1:].T / unit, -1, 0)
    return any(JpegBlocks.recognised(colour, _at_ends(image)) for colour in colours)


def _at_ends(image: np.ndarray) -> np.ndarray:
    """The points with a channel at an end of the range."""
    return np.any((image == image.min()) | (image == image.max()), axis=-1)


def _grey_level(image: np.ndarray) -> float:
    """The step between values if these are grey levels of 8 bits; else 0."""
    values = np.unique(image)
    if not 2 < len(values) <= 256:
        return 0.0
    unit = float(np.diff(values).min())
    levels = (values - values[0]) / unit
    return unit if levels[-1] < 256 and np.abs(levels - np.rint(levels)).max() < 0.01 else 0.0


def rounded_square(sigma: float, steps: np.ndarray) -> np.ndarray:
    """E Q(σε)² for every step."""
    k = np.arange(1, MOST_MULTIPLES + 1)[:, None]
    shares = ndtr((k + 0.5) * steps / sigma) - ndtr((k - 0.5) * steps / sigma)
    coarse = 2 * np.sum(np.square(k * steps) * shares, axis=0)
    return np.where(steps < 0.5 * sigma, sigma**2 + steps**2 / 12, coarse)


def _step(values: np.ndarray) -> float:
    """The step of which coefficients are multiples, NaN if there is none."""
    large = values[np.abs(values) > ROUNDING]
    if len(large) < FEWEST:
        return np.nan
    steps = np.arange(2, min(np.quantile(np.abs(large), 0.05) + ROUNDING, COARSEST + 1))
    fits = np.cos(2 * np.pi * large[:, None] / steps).mean(axis=0)
    return float(steps[np.argmax(fits)]) if fits.max(initial=0.0) > MULTIPLES else np.nan


def _blocks(image: np.ndarray) -> np.ndarray:
    """The middle part of an image as blocks, (rows, columns, 8, 8)."""
    inside = image[tuple(_middle(n) for n in image.shape)]
    height, width = (n // SIDE for n in inside.shape)
    return inside.reshape(height, SIDE, width, SIDE).swapaxes(1, 2)


def _middle(length: int) -> slice:
    """A range of whole blocks in the middle of an axis."""
    n = min(length, ENOUGH_POINTS) // SIDE * SIDE
    start = (length - n) // 2 // SIDE * SIDE
    return slice(start, start + n)
