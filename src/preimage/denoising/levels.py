"""The noise of one picture from the picture alone: how its variance follows the brightness.

Every small patch tells its mean, how uneven it is, and the mean square of differences within it
(:func:`preimage.statistics.noise_level.differences.patch_moments`). In flat patches that square is the variance of the
noise; flat are those that are as uneven as the noise makes them, which is looked up in the curve found so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter

from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.saturation import Limits
from preimage.statistics.noise_level.differences import patch_moments

__all__ = ["at_lags", "measured_noise"]

FLATTEST = (
    0.2,
    0.1,
    0.05,
    0.02,
)  # shares of all patches that may be taken for flat, the first that shows little texture
FEWEST = 30  # patches
TEXTURE, ALL_TEXTURE = (
    1.0,
    1.3,
)  # unevenness beside differences, up to which patches are flat, and above which not at all
MOST_PATCHES = 20_000  # that are looked at
SIDES = {1: 64, 2: 8, 3: 4}  # of a patch, by the number of axes
ROUNDS = 12
USEFUL = 0.4  # share of the variance that must be left where values are cut off
BANDS = 8  # of brightness, to compare curves by
CLEARER = 25.0  # by how much the misfit of a line must be less than that of a constant, in units of chance
RISE = 1.3  # and how much the variance must change between the dark and the bright


def measured_noise(image: np.ndarray, limits: Limits) -> NoiseCurve:
    """The curve of an image (grid…, channels): constant variance unless a line is clearly nearer to what is seen.

    A line is taken for counted light, whose zeros are not cut off.
    """
    patches = _Patches.of(image)
    constant = patches.fitted(limits, sloped=False)
    texture = patches.texture(patches.flat(constant))
    if texture > ALL_TEXTURE:  # there is hardly any noise in it
        return NoiseCurve(0.0, constant.floor * (ALL_TEXTURE / texture) ** 2, constant.limits)
    counted = patches.fitted(Limits(-np.inf, limits.high), sloped=True)
    if counted.slope <= 0 or not patches.changes(counted):
        return constant
    flats = patches.flat(counted), patches.flat(constant)
    better = min(patches.misfit(constant, flat) - patches.misfit(counted, flat) for flat in flats)
    return counted if better > CLEARER else constant


def at_lags(channel: np.ndarray, lags: tuple[int, ...] = (1, 2)) -> list[float]:
    """Root mean squares of mixed differences of points so far apart, where an image (height, width) is flattest.

    White noise has the same at all lags; noise that neighbours share has less at the short ones.
    """
    means = uniform_filter(channel, 4)
    uneven = uniform_filter(np.square(means), 12) - np.square(uniform_filter(means, 12))
    flat = uneven <= np.quantile(uneven, FLATTEST[0])
    found = []
    for lag in lags:
        differences = channel[:-lag, :-lag] - channel[lag:, :-lag] - channel[:-lag, lag:] + channel[lag:, lag:]
        here = flat[: differences.shape[0], : differences.shape[1]]
        found.append(float(np.sqrt(np.mean(np.square(differences[here])) / 4)) if here.any() else 0.0)
    return found


@dataclass(frozen=True, eq=False)
class _Patches:
    """Means, unevenness in units of the noise's variance, and mean squares of differences; one per patch."""

    means: np.ndarray
    uneven: np.ndarray
    squares: np.ndarray
    n: int

    @classmethod
    def of(cls, image: np.ndarray) -> _Patches:
        found = [_measures(_some_patches(channel)) for channel in np.moveaxis(image, -1, 0)]
        means, uneven, squares = (np.concatenate(parts) for parts in zip(*(part[:3] for part in found), strict=True))
        return cls(means, uneven, squares, found[0][3])

    def fitted(self, limits: Limits, sloped: bool) -> NoiseCurve:
        """The curve of flat patches, which are found by the curve of the round before."""
        curve, chosen = NoiseCurve(0.0, 1.0, limits), self._flat_in_bands(limits)
        for _ in range(ROUNDS):
            floor = max(float(np.mean(self.squares[chosen])), 1e-12) if curve.floor == 1.0 else curve.floor
            curve = NoiseCurve(curve.slope, floor, limits)
            curve = self._regressed(curve, chosen, sloped)
            chosen = self.flat(curve)
        return curve

    def flat(self, curve: NoiseCurve) -> np.ndarray:
        """Numbers of the flattest patches, of those that the limits leave enough noise in."""
        variance = curve.variance(self.means)
        useful = np.flatnonzero(variance > USEFUL * curve.before(curve.undone(self.means)))
        if len(useful) < FEWEST:
            return np.arange(len(self.means))
        order = useful[np.argsort(self.uneven[useful] / variance[useful])]
        for share in FLATTEST:
            chosen = order[: max(FEWEST, int(share * len(order)))]
            if self.texture(chosen) <= TEXTURE:
                break
        return chosen

    def texture(self, chosen: np.ndarray) -> float:
        """How uneven patches are beside the differences in them: up to 1 for the flattest if noise is all they have."""
        return float(np.sqrt(self.uneven[chosen].mean() / max(self.squares[chosen].mean(), 1e-300)))

    def changes(self, curve: NoiseCurve) -> bool:
        """Whether the noise differs much between dark and bright patches."""
        dark, bright = curve.before(np.quantile(self.means, [0.05, 0.95]))
        return bool(bright > RISE * dark)

    def misfit(self, curve: NoiseCurve, chosen: np.ndarray) -> float:
        """χ² of the mean squares in bands of brightness."""
        order = chosen[np.argsort(self.means[chosen])]
        total = 0.0
        for band in np.array_split(order, BANDS):
            if len(band):
                variance = float(curve.variance(self.means[band]).mean())
                gap = float(self.squares[band].mean()) - variance
                total += gap**2 / (2 * variance**2 / (self.n * len(band)) + (0.02 * variance) ** 2)
        return total

    def _regressed(self, curve: NoiseCurve, chosen: np.ndarray, sloped: bool) -> NoiseCurve:
        """A line, or a constant, through the squares as they would be without limits."""
        x = curve.undone(self.means[chosen])
        variance = curve.before(x)
        squares = self.squares[chosen] * variance / curve.variance(self.means[chosen])
        if not sloped:
            return NoiseCurve(0.0, max(float(squares.mean()), 1e-12), curve.limits)
        design = np.column_stack([x, np.ones_like(x)]) / variance[:, None]
        slope, floor = np.linalg.lstsq(design, squares / variance, rcond=None)[0]
        if floor < 0:
            slope, floor = np.sum(squares * x / variance**2) / np.sum(np.square(x / variance)), 0.0
        return NoiseCurve(max(float(slope), 0.0), max(float(floor), 1e-12), curve.limits)

    def _flat_in_bands(self, limits: Limits) -> np.ndarray:
        """The flattest patches of every band of brightness, for a start."""
        inside = np.flatnonzero((self.means > limits.low) & (self.means < limits.high))
        order = inside if len(inside) else np.arange(len(self.means))
        order = order[np.argsort(self.means[order])]
        bands = [band for band in np.array_split(order, BANDS) if len(band)]
        return np.concatenate(
            [band[self.uneven[band] <= np.quantile(self.uneven[band], FLATTEST[0])] for band in bands]
        )


def _some_patches(channel: np.ndarray) -> np.ndarray:
    """Patches of one channel that overlap by half, or fewer of a large image."""
    sides = tuple(min(SIDES[channel.ndim], length) for length in channel.shape)
    every = max(1, round((np.prod(channel.shape) / MOST_PATCHES) ** (1 / channel.ndim)))
    steps = tuple(max(side // 2, every) for side in sides)
    there = np.lib.stride_tricks.sliding_window_view(channel, sides)
    return there[tuple(slice(None, None, step) for step in steps)].reshape(-1, *sides).astype(float)


def _measures(patches: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The mean, the unevenness and the mean square of differences of every patch, and how many differences it has."""
    n, *sides = patches.shape
    means, differences = patch_moments(patches.reshape(n, -1), tuple(sides))
    size = 3 if len(sides) == 1 else 2 ** len(sides)
    return means.mean(axis=1), size * means.var(axis=1), np.square(differences).mean(axis=1), differences.shape[1]
