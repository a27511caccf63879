"""The noise of an image from the image alone: its variance as a function of brightness.

Every small patch has a mean, and mean squares of its cosine coefficients of low and of high frequencies. White noise
adds its variance to both, and texture adds more to the low frequencies, which therefore measure how uneven a patch is.
A patch is flat if it is no more uneven than noise of the curve found so far; the high frequencies of flat patches give
the variance of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import dctn
from scipy.ndimage import uniform_filter

from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.saturation import Limits
from preimage.exceptions import NoiseLevelWarning, warn

DOUBT = 0.04  # relative standard error of an estimated variance, as on photographs with σ of at least 10 grey levels

FLATTEST = 0.2, 0.1, 0.05, 0.02, 0.01  # shares of patches that may be flat; the first with little texture is used
FEWEST = 30  # patches
TEXTURE = 0.75  # ratio of low to high frequencies up to which patches are flat
WHITEST = 0.8  # largest ratio of the mean squares of high and low frequencies in texture
MANY_TEXTURE = 1.0  # like TEXTURE, where many patches are needed: for a line, or with limits
GROWING_TEXTURE = 0.92  # like TEXTURE, for the first share of patches and growing noise, which texture resembles
MOST_PATCHES = 20_000  # examined
SIDE = 8  # of a patch
COARSE, FINE = 5 / 8, 9 / 8  # sums of the frequencies along both axes: low up to the first, high from the second
N_FINE = 21  # high frequencies of a patch
BLANK = 0.3  # share of an image on a limit above which it may be a drawing
SINGLE = 0.02  # least share of single points among those near a limit, if there is noise
ROUNDS = 12
CUT_OFF = 0.7  # share of values on a limit up to which a patch shows the noise; half if x is the limit
BANDS = 8  # of brightness, in which curves are compared
CLEARER = 12.0  # required advantage in χ² of a growing curve over a constant
SCATTER = 4.0  # variance of the squares of flat patches, relative to chance, above which they contain texture
RISE = 1.3  # required ratio of variances between bright and dark


def measured_noise(image: np.ndarray, limits: Limits) -> NoiseCurve:
    """The noise curve of an image (grid…, channels): constant, unless a growing one fits clearly better."""
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
    """A lower bound on the share of noise in the high frequencies of the flattest patches.

    If no patch is flat, these contain texture too. Flat patches have the mean squares σ² in high and qσ² in low
    frequencies; texture adds ρc to the former and c to the latter, ρ ≤ ``WHITEST``. If the low ones are r² times the
    high ones, the noise has at least the share (1 − ρr²)/(1 − ρq) of the latter.
    """
    noise = (1 - WHITEST * texture**2) / (1 - WHITEST * TEXTURE**2)
    return float(np.clip(noise, 0, 1))


def warn_of_more(seen: str, shown: float, sigma: float) -> None:
    """Warn that a given σ exceeds the noise in the data."""
    warn(f"{seen} noise of {shown:.3g}, not of {sigma:.3g}: signal will be smoothed away too.", NoiseLevelWarning)


def is_drawn(image: np.ndarray, limits: Limits) -> bool:
    """Whether much of an image lies on a limit without noise at the borders of these parts, as in drawings and text.

    Clipped noise leaves single points off the limit among points on it.
    """
    ends = np.any((image <= limits.low) | (image >= limits.high), axis=-1)
    around = uniform_filter(ends.astype(np.float32), 3)
    borders, single = ~ends & (around > 0.05), ~ends & (around > 7.5 / 9)
    return bool(np.mean(around > 0.99) > BLANK and single.sum() <= SINGLE * borders.sum())


def at_lags(channel: np.ndarray, lags: tuple[int, ...] = (1, 2)) -> list[float]:
    """Root mean squares of mixed differences at these lags, where an image (height, width) is flattest.

    White noise gives the same at all lags; noise that neighbours share gives less at short lags.
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
    """Measures of every patch.

    Attributes
    ----------
    apart : float
        The share of a patch that does not overlap others.
    means : array
    uneven, squares : arrays
        Mean squares of low and of high frequencies.
    on_low, on_high : arrays
        Shares of values on the lower and on the upper limit.
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
        """The curve of flat patches, a constant plus a power of x; the curve of each round finds the next patches."""
        chosen = self._flat_in_bands(limits)
        curve = NoiseCurve(0.0, max(float(np.mean(self.squares[chosen])), 1e-12), limits)
        for _ in range(ROUNDS):
            curve = self._regressed(curve, chosen, power)
            chosen = self.flat(curve, MANY_TEXTURE if power or limits else TEXTURE)
        return curve

    def flat(self, curve: NoiseCurve, most_texture: float) -> np.ndarray:
        """Indices of the flattest patches, among those with enough noise within the limits."""
        for share in FLATTEST:
            chosen = self._flattest(curve, share)
            if self.texture(chosen) <= most_texture:
                break
        return chosen

    def _flattest(self, curve: NoiseCurve, share: float) -> np.ndarray:
        useful = self._usable(curve.limits)
        order = useful[np.argsort(self.uneven[useful] / curve.variance(self.means[useful]))]
        return order[: max(FEWEST, int(share * len(order)))]

    def texture(self, chosen: np.ndarray) -> float:
        """The ratio of low to high frequencies of patches: at most 1 for the flattest if they contain only noise."""
        return float(np.sqrt(self.uneven[chosen].mean() / max(self.squares[chosen].mean(), 1e-300)))

    def growing(self, high: float) -> NoiseCurve | None:
        """The growing curve that leaves flat patches, or None: linear, as for photon counts, or quadratic, as for
        speckle. Neither is clipped at zero.
        """
        curves = [self.fitted(Limits(high=high), power) for power in (1, 2)]
        flats = [self.flat(curve, TEXTURE) for curve in curves]
        fit = [curve for curve in curves if self.changes(curve) and self._leaves_flat(curve)]
        return min(fit, key=lambda curve: sum(self.misfit(curve, flat) for flat in flats), default=None)

    def prefers(self, grown: NoiseCurve, constant: NoiseCurve, own: bool) -> bool:
        """Whether a growing curve fits its own flat patches, and unless ``own`` also those of the constant, better."""
        flats = [self.flat(curve, MANY_TEXTURE) for curve in ([grown] if own else [grown, constant])]
        return min(self.misfit(constant, flat) - self.misfit(grown, flat) for flat in flats) > CLEARER

    def _leaves_flat(self, curve: NoiseCurve) -> bool:
        """Whether many patches are flat by a curve, with squares that vary little more than by chance, 2/N_FINE."""
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
        total = 0.0
        for band in self._bands(chosen):
            variance = float(curve.variance(self.means[band]).mean())
            gap = float(self.squares[band].mean()) - variance
            total += gap**2 / (2 * variance**2 / (N_FINE * self.apart * len(band)) + (0.02 * variance) ** 2)
        return total

    def _bands(self, chosen: np.ndarray) -> list[np.ndarray]:
        """The indices of some patches in bands of brightness."""
        order = chosen[np.argsort(self.means[chosen])]
        return [band for band in np.array_split(order, BANDS) if len(band)]

    def _regressed(self, curve: NoiseCurve, chosen: np.ndarray, power: int) -> NoiseCurve:
        """A constant, or a constant plus a power of x, fitted to the squares as they would be without limits."""
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

    def _usable(self, limits: Limits) -> np.ndarray:
        """Indices of the patches that are not clipped too much; of all patches if these are too few."""
        low, high = self.on_low * np.isfinite(limits.low), self.on_high * np.isfinite(limits.high)
        found = np.flatnonzero(np.maximum(low, high) <= CUT_OFF)
        return found if len(found) >= FEWEST else np.arange(len(self.means))

    def _flat_in_bands(self, limits: Limits) -> np.ndarray:
        """The flattest patches of every band of brightness, as a start."""
        bands = self._bands(self._usable(limits))
        flat = [band[self.uneven[band] <= np.quantile(self.uneven[band], FLATTEST[0])] for band in bands]
        return np.concatenate(flat)


def _some_patches(channel: np.ndarray) -> np.ndarray:
    """Patches of one channel (height, width), a quarter of their side apart, or farther in a large image."""
    sides = tuple(min(SIDE, length) for length in channel.shape)
    every = max(1, round(np.sqrt(channel.size / MOST_PATCHES)))
    rows, columns = (slice(None, None, max(side // 4, every)) for side in sides)
    return np.lib.stride_tricks.sliding_window_view(channel, sides)[rows, columns].reshape(-1, *sides).astype(float)


def _measures(patches: np.ndarray, limits: Limits) -> tuple[np.ndarray, ...]:
    """The measures of :class:`_Patches`, in its order, after a quadratic is subtracted from every patch.

    A slow change of brightness also has low frequencies, but is not texture. With the projection P onto quadratics,
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
