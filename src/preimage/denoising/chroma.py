"""Colour images from JPEG files, which store colours at a lower resolution than the luminance.

Most files have colours at half the resolution (4:2:0): neighbours share their noise, which is much smaller than that of
the luminance. Luminance and colours are denoised one after the other, each with its own level, the colours at their own
resolution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import zoom

from preimage import progress
from preimage.denoising.jpeg import LUMINANCE, has_whole_colours
from preimage.denoising.levels import DOUBT, at_lags, measured_noise
from preimage.denoising.pictures import DenoisedImage, PicturePlan, combined
from preimage.denoising.pieces import middle
from preimage.denoising.saturation import Limits

SHARED = 1.7  # ratio of differences at lags 4 and 1 above which neighbours share their noise
COARSER = 0.8  # noise of colours relative to the luminance (0.94 for white noise) below which colours are coarser
MOST_SHARED = 1.4  # largest ratio of shared noise to the differences of next neighbours; more is texture
LEAST = 1e-3  # the least σ, relative to the range of a channel
ENOUGH = 1024  # side of the middle part of an image that is examined
SHORTEST = 32  # the least side of an image that can be examined


@dataclass(frozen=True, eq=False)
class CoarseColours:
    """A noisy image of shape (height, width, 3) whose colours have another noise level than its luminance.

    Parameters
    ----------
    image : array
    step : int
        Side of the squares of points that share a colour.
    sigma : float
        The noise level of the luminance.
    white : bool
        Whether that is the level of white noise before the image was stored, from which those of the colours follow.
    """

    image: np.ndarray
    step: int
    sigma: float
    white: bool = False

    @classmethod
    def recognised(cls, image: np.ndarray, sigma: float | None = None) -> CoarseColours | None:
        """The image, if neighbours share the noise of its colours, or colours have much less noise than luminance.

        ``sigma`` is the level of the luminance before the image was stored as JPEG, if it was; then None is returned
        for colours of full resolution.
        """
        if image.ndim != 3 or image.shape[-1] != 3 or min(image.shape[:2]) < SHORTEST:
            return None
        if sigma is not None and has_whole_colours(image):
            return None
        channels = np.moveaxis(image[middle(image.shape[:2], ENOUGH)] @ LUMINANCE.T, -1, 0)
        luminance, *colours = (at_lags(channel, (1, 4)) for channel in channels)
        level = _level(image @ LUMINANCE[0]) if sigma is None else sigma
        if all(colour[1] > SHARED * colour[0] for colour in colours):
            return cls(image, 2, level, sigma is not None)
        seen = min(level, max(luminance))  # texture of the luminance is not noise
        return cls(image, 1, level) if sigma is None and np.max(colours) < COARSER * seen else None

    def denoised(self, effort: str, rng: np.random.Generator) -> DenoisedImage:
        """The estimate by patches.

        Its risk is that of red, green and blue, without the loss from the lower resolution of the colours.
        """
        luminance, back = self._channels[..., :1], np.linalg.inv(LUMINANCE)
        _, *shares = np.square(back).mean(axis=0)
        with progress.part_of("channels", 0, 2):
            clean = self._part(luminance, np.array([self.sigma**2]), effort, rng, np.ones(1))
        coarse = _coarser(self._channels, self.step)
        levels = [self._colour_level(coarse[..., channel], channel) for channel in (1, 2)]
        with progress.part_of("channels", 1, 2):
            variances, weights = np.square([self.sigma / self.step, *levels]), 3 * np.array([0, *shares])
            found = self._part(coarse, variances, effort, rng, weights)
        change = _finer(found.image - coarse, self.step, self.image.shape)
        channels = np.concatenate([clean.image, (self._channels + change)[..., 1:]], axis=-1)
        candidates = {name: risk + found.risk for name, risk in clean.candidates.items()}
        return DenoisedImage(channels @ back.T, clean.risk + found.risk, candidates)

    def _colour_level(self, coarse: np.ndarray, channel: int) -> float:
        """The noise level of a colour: as white noise of this luminance implies, or else as measured."""
        if not self.white:
            return _level(coarse)
        lengths = np.linalg.norm(LUMINANCE, axis=1)
        return self.sigma * float(lengths[channel] / lengths[0]) / self.step

    def _part(self, channels, variances: np.ndarray, effort: str, rng, weights: np.ndarray) -> DenoisedImage:
        offset = channels.mean(axis=(0, 1))
        variances = np.maximum(variances, (LEAST * np.ptp(channels, axis=(0, 1))) ** 2 + 1e-12)
        level = float(np.sqrt(variances[0])) / max(float(np.ptp(channels[..., 0])), 1e-12)
        noisy, plan = (channels - offset).astype(np.float32), PicturePlan(effort, level, doubt=DOUBT)
        found = combined(noisy, lambda estimate: variances, plan, rng, weights)
        return replace(found, image=found.image + offset)

    @cached_property
    def _channels(self) -> np.ndarray:
        return self.image @ LUMINANCE.T


def _level(channel: np.ndarray) -> float:
    """σ of noise that neighbours may share: larger lags show what differences of next neighbours miss."""
    near, far = at_lags(channel)
    shared = min(max(far / near, 1.0), MOST_SHARED) if near > 0 else 1.0
    ends = Limits(float(channel.min()), float(channel.max()))  # values were clipped near them before storage
    return shared * float(np.sqrt(measured_noise(channel[..., None], ends).before(0.0)))


def _coarser(channels: np.ndarray, step: int) -> np.ndarray:
    """Means of step × step points; the last row and column are repeated to fill the last squares."""
    height, width, n = channels.shape
    whole = np.pad(channels, ((0, -height % step), (0, -width % step), (0, 0)), mode="edge")
    return whole.reshape(-(-height // step), step, -(-width // step), step, n).mean(axis=(1, 3))


def _finer(channels: np.ndarray, step: int, shape: tuple[int, ...]) -> np.ndarray:
    """Linear interpolation between the centres of squares of step × step points."""
    if step == 1:
        return channels
    return zoom(channels, (step, step, 1), order=1, mode="nearest", grid_mode=True)[: shape[0], : shape[1]]
