"""The noise of one picture from the picture alone: how its variance follows the brightness.

Every small patch tells its mean and the mean squares of its cosine coefficients of low and of high frequencies. White
noise has its variance in both, and texture more in the low ones: these tell how uneven a patch is. Flat are patches
that are as uneven as the noise makes them, which is looked up in the curve found so far; there the high frequencies
tell the variance of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import dctn
from scipy.ndimage import uniform_filter

from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.saturation import Limits
from preimage.exceptions import NoiseLevelWarning, warn

DOUBT = 0.04  # standard error of an estimated variance beside itself, as on photographs at σ of 10 grey levels and more

FLATTEST = 0.2, 0.1, 0.05, 0.02, 0.01  # shares of patches that may be flat, the first that shows little texture
FEWEST = 30  # patches
TEXTURE = 0.75  # low frequencies beside high ones, up to which patches are flat
WHITEST = 0.8  # mean square of the high frequencies of texture beside that of its low ones, at most
MANY_TEXTURE = 1.0  # the same where many patches are needed: for a line, or beside limits
GROWING_TEXTURE = 0.92  # the same of the first share of patches, if the noise grows: texture looks as if it did
MOST_PATCHES = 20_000  # that are looked at
SIDE = 8  # of a patch
COARSE, FINE = 5 / 8, 9 / 8  # sums of the frequencies along both axes that are low up to here, and high from here
N_FINE = 21  # high frequencies of a patch
BLANK = 0.3  # share of an image on a limit, from which it may be drawn
SINGLE = 0.02  # the least share of single points among those beside a limit, if there is noise
ROUNDS = 12
CUT_OFF = 0.7  # share of the values of a patch on a limit, up to which it tells the noise: half where x is the limit
BANDS = 8  # of brightness, to compare curves by
CLEARER = 12.0  # by how much the misfit of a curve that grows must be less than that of a constant, in units of chance
SCATTER = 4.0  # variance of the squares of flat patches beside that by chance, above which they hold texture
RISE = 1.3  # and how much the variance must change between the dark and the bright


def measured_noise(image: np.ndarray, limits: Limits) -> NoiseCurve:
    """The curve of an image (grid…, channels): constant unless one that grows is clearly nearer to what is seen."""
    if np.ptp(image) == 0 or is_drawn(image, limits):
        return NoiseCurve(0.0, 0.0)
    patches = _Patches.of(image, limits)
    constant = patches.fitted(limits, 0)
    texture = patches.texture(patches.flat(constant, TEXTURE))
    grown, noise = patches.growing(limits.high), _noise_beside(texture)
    if grown and patches.prefers(grown, constant, own=noise == 0):
        return grown
    return replace(constant, floor=noise * constant.floor, most=constant.floor)


def _noise_beside(texture: float) -> float:
    """The share of the high frequencies of the flattest patches that must be noise, at least.

    Where none is flat, texture has a part in them. Flat patches have the mean squares σ² in high and qσ² in low
    frequencies; texture adds ρc to the former and c to the latter, ρ ≤ ``WHITEST``. If the low ones exceed the high
    ones r² times, the noise has at least the share (1 − ρr²)/(1 − ρq) of the latter.
    """
    noise = (1 - WHITEST * texture**2) / (1 - WHITEST * TEXTURE**2)
    return float(np.clip(noise, 0, 1))


def warn_of_more(seen: str, shown: float, sigma: float) -> None:
    """Warn that noise of a given σ is more than what was seen."""
    warn(f"{seen} noise of {shown:.3g}, not of {sigma:.3g}: more will be smoothed away than noise.", NoiseLevelWarning)


def is_drawn(image: np.ndarray, limits: Limits) -> bool:
    """Whether much of an image lies on a limit, without a trace of noise at its borders, as in drawings and text.

    Noise that is cut off leaves single points off the limit among others on it.
    """
    ends = np.any((image <= limits.low) | (image >= limits.high), axis=-1)
    around = uniform_filter(ends.astype(np.float32), 3)
    borders, single = ~ends & (around > 0.05), ~ends & (around > 7.5 / 9)
    return bool(np.mean(around > 0.99) > BLANK and single.sum() <= SINGLE * borders.sum())


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
    """The share of a patch that is not of others, too; and of every patch its mean, its mean squares of low and of high
    frequencies, and its shares of values on the lower and on the upper limit.
    """

    apart: float
    means: np.ndarray
    uneven: np.ndarray
    squares: np.ndarray
    on_low: np.ndarray
    on_high: np.ndarray

    @classmethod
    def of(cls, image: np.ndarray, limits: Limits) -> _Patches:
        found = [_measures(_some_patches(channel), limits) for channel in np.moveaxis(image, -1, 0)]
        apart = min(1.0, image.size / (len(found[0][0]) * image.shape[-1] * SIDE**2))
        return cls(apart, *map(np.concatenate, zip(*found, strict=True)))

    def fitted(self, limits: Limits, power: int) -> NoiseCurve:
        """The curve of flat patches, which are found by the curve of the round before: a constant plus a power of x."""
        curve, chosen = NoiseCurve(0.0, 1.0, limits), self._flat_in_bands(limits)
        for _ in range(ROUNDS):
            floor = max(float(np.mean(self.squares[chosen])), 1e-12) if curve.floor == 1.0 else curve.floor
            curve = self._regressed(replace(curve, floor=floor), chosen, power)
            chosen = self.flat(curve, MANY_TEXTURE if power or limits else TEXTURE)
        return curve

    def flat(self, curve: NoiseCurve, most_texture: float) -> np.ndarray:
        """Numbers of the flattest patches, of those that the limits leave enough noise in."""
        for share in FLATTEST:
            chosen = self._flattest(curve, share)
            if self.texture(chosen) <= most_texture:
                break
        return chosen

    def _flattest(self, curve: NoiseCurve, share: float) -> np.ndarray:
        useful = self._telling(curve.limits)
        order = useful[np.argsort(self.uneven[useful] / curve.variance(self.means[useful]))]
        return order[: max(FEWEST, int(share * len(order)))]

    def texture(self, chosen: np.ndarray) -> float:
        """How uneven patches are beside their high frequencies: up to 1 for the flattest if noise is all they have."""
        return float(np.sqrt(self.uneven[chosen].mean() / max(self.squares[chosen].mean(), 1e-300)))

    def growing(self, high: float) -> NoiseCurve | None:
        """The curve that grows with x, by which there are flat patches: a line, as counted light has, or a square, as
        speckle has. The zeros of neither are cut off.
        """
        curves = [self.fitted(Limits(-np.inf, high), power) for power in (1, 2)]
        flats = [self.flat(curve, TEXTURE) for curve in curves]
        fit = [curve for curve in curves if self.changes(curve) and self._leaves_flat(curve)]
        return min(fit, key=lambda curve: sum(self.misfit(curve, flat) for flat in flats), default=None)

    def prefers(self, grown: NoiseCurve, constant: NoiseCurve, own: bool) -> bool:
        """Whether a curve that grows fits its flat patches, and unless ``own`` also those of the constant, better."""
        flats = [self.flat(curve, MANY_TEXTURE) for curve in ([grown] if own else [grown, constant])]
        return min(self.misfit(constant, flat) - self.misfit(grown, flat) for flat in flats) > CLEARER

    def _leaves_flat(self, curve: NoiseCurve) -> bool:
        """Whether many patches are flat by a curve, and their squares differ by little more than chance, 2/N_FINE."""
        chosen = self._flattest(curve, FLATTEST[0])
        squares = self.squares[chosen] / curve.variance(self.means[chosen])
        scatter = squares.var() / np.square(squares.mean()) / (2 / N_FINE)
        return bool(self.texture(chosen) <= GROWING_TEXTURE and scatter <= SCATTER)

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
                total += gap**2 / (2 * variance**2 / (N_FINE * self.apart * len(band)) + (0.02 * variance) ** 2)
        return total

    def _regressed(self, curve: NoiseCurve, chosen: np.ndarray, power: int) -> NoiseCurve:
        """A constant, or one plus a power of x, through the squares as they would be without limits."""
        left = curve.variance(self.means[chosen])
        if not power:
            floor = curve.floor * float(self.squares[chosen].mean() / left.mean())
            return NoiseCurve(0.0, max(floor, 1e-12), curve.limits)
        x = curve.undone(self.means[chosen])
        variance, relative = curve.before(x), self.squares[chosen] / left
        design = np.column_stack([x**power, np.ones_like(x)]) / variance[:, None]
        growth, floor = np.linalg.lstsq(design, relative, rcond=None)[0]
        if floor < 0:
            growth, floor = relative @ design[:, 0] / np.sum(np.square(design[:, 0])), 0.0
        slope, bend = (float(max(growth, 0)) * (power == kind) for kind in (1, 2))
        return NoiseCurve(slope, max(float(floor), 1e-12), curve.limits, bend)

    def _telling(self, limits: Limits) -> np.ndarray:
        """Numbers of the patches that are not cut off too much; of all, where these are too few."""
        low, high = self.on_low * np.isfinite(limits.low), self.on_high * np.isfinite(limits.high)
        found = np.flatnonzero(np.maximum(low, high) <= CUT_OFF)
        return found if len(found) >= FEWEST else np.arange(len(self.means))

    def _flat_in_bands(self, limits: Limits) -> np.ndarray:
        """The flattest patches of every band of brightness, for a start."""
        order = self._telling(limits)
        order = order[np.argsort(self.means[order])]
        bands = [band for band in np.array_split(order, BANDS) if len(band)]
        return np.concatenate(
            [band[self.uneven[band] <= np.quantile(self.uneven[band], FLATTEST[0])] for band in bands]
        )


def _some_patches(channel: np.ndarray) -> np.ndarray:
    """Patches of one channel (height, width), a quarter of their side apart, or farther in a large image."""
    sides = tuple(min(SIDE, length) for length in channel.shape)
    every = max(1, round(np.sqrt(channel.size / MOST_PATCHES)))
    rows, columns = (slice(None, None, max(side // 4, every)) for side in sides)
    return np.lib.stride_tricks.sliding_window_view(channel, sides)[rows, columns].reshape(-1, *sides).astype(float)


def _measures(patches: np.ndarray, limits: Limits) -> tuple[np.ndarray, ...]:
    """What :class:`_Patches` has of every patch, in that order, after a quadratic was taken off.

    A slow change of brightness has low frequencies, too, and is no texture. With the projection P onto quadratics,
    white noise of variance σ² keeps the energy σ² tr[C(I − P)C'] in the frequencies C.
    """
    sides = patches.shape[1:]
    frequencies = np.add.outer(*(np.arange(side) / side for side in sides))
    coarse, fine = (frequencies > 0) & (frequencies <= COARSE), frequencies >= FINE
    trends = dctn(_quadratics(sides).T.reshape(-1, *sides), axes=(1, 2), norm="ortho")
    kept = 1 - np.square(trends).sum(axis=0)
    coefficients = dctn(patches, axes=(1, 2), norm="ortho")
    slow = np.tensordot(coefficients, trends, axes=((1, 2), (1, 2)))
    squares = np.square(coefficients - np.tensordot(slow, trends, axes=1))
    ends = ((patches <= limits.low).mean(axis=(1, 2)), (patches >= limits.high).mean(axis=(1, 2)))
    energies = (squares[:, some].sum(axis=1) / kept[some].sum() for some in (coarse, fine))
    return patches.mean(axis=(1, 2)), *energies, *ends


def _quadratics(sides: tuple[int, ...]) -> np.ndarray:
    """An orthonormal basis of the quadratics on a patch, one per column."""
    y, x = (along.ravel() for along in np.meshgrid(*(np.linspace(-1, 1, side) for side in sides), indexing="ij"))
    return np.linalg.qr(np.column_stack([np.ones_like(x), x, y, x * x, x * y, y * y]))[0]
