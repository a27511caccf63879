"""The noise level of a long signal, and how it changes along time.

The signal is cut into frames, and an orthonormal cosine transform turns white noise into independent coefficients of
variance σ². The low frequencies of a frame show how flat it is; the others, in bands, show the noise of flat frames.
Signal can only raise a band, and some more than others, so the noise is the level that the lowest bands agree on. The
steps of a random walk fill the highest bands too; if noise on a random walk explains all bands, its level is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct
from scipy.optimize import nnls

from preimage.statistics.noise_level.level import FLOOR

__all__ = ["LevelTrack", "SignalNoise", "noise_along_time"]

FRAME = 64  # samples
SLOW, WIDTH = 16, 8  # low-frequency coefficients of a frame, and coefficients of a band
BLOCK = 4096  # frames transformed at once
SEGMENT, FEWEST_FRAMES, SEGMENTS = 128, 16, 8  # frames per segment: the most and the fewest; and the wanted segments
BIAS = 0.05  # allowed relative bias, in addition to chance
CHANGES, CLEARLY = 1.5, 4.0  # the noise changes if variances differ by this factor, and this much more than by chance
ROUNDS = 5  # of weighting bands by their expected mean squares
SURELY = 3.0  # standard errors by which the steps of a random walk show
WALK = (0.25 / np.sin(np.pi * np.arange(SLOW, FRAME) / (2 * FRAME)) ** 2).reshape(-1, WIDTH).mean(axis=1)  # its bands


@dataclass(frozen=True, eq=False)
class LevelTrack:
    """The standard deviation of the noise along a signal, linear in log σ between a few samples.

    Attributes
    ----------
    samples, sigmas : arrays
        Places along the signal, and the levels there.
    is_rough : bool
        Whether the signal has steps of its own at the highest frequencies, as a random walk has.
    """

    samples: np.ndarray
    sigmas: np.ndarray
    is_rough: bool = False

    @classmethod
    def constant(cls, sigma: float, is_rough: bool = False) -> LevelTrack:
        """The same level everywhere."""
        return cls(np.zeros(1), np.array([sigma]), is_rough)

    @property
    def is_constant(self) -> bool:
        """Whether the level is the same everywhere."""
        return len(self.sigmas) == 1

    @property
    def sigma(self) -> float:
        """The level of all samples, a root mean square."""
        return float(np.sqrt(np.mean(np.square(self.sigmas))))

    def variance(self, start: int, stop: int) -> np.ndarray:
        """The variances of the samples from ``start`` to ``stop``."""
        levels = np.log(np.maximum(self.sigmas, 1e-300))
        return np.exp(2 * np.interp(np.arange(start, stop), self.samples, levels))


@dataclass(frozen=True, eq=False)
class SignalNoise:
    """The noise of all channels of a signal along time."""

    tracks: tuple[LevelTrack, ...]

    @classmethod
    def estimated(cls, part: Callable[[int, int], np.ndarray], length: int) -> SignalNoise:
        """The noise of a signal of which ``part(start, stop)`` has the shape (stop − start, channels)."""
        slow, bands = _energies(part, length // FRAME)
        return cls(tuple(_track(*energies) for energies in zip(slow, bands, strict=True)))

    @classmethod
    def given(cls, sigma: float, n_channels: int) -> SignalNoise:
        """The same level everywhere."""
        return cls((LevelTrack.constant(sigma),) * n_channels)

    @property
    def sigmas(self) -> np.ndarray:
        """The levels of the channels."""
        return np.array([track.sigma for track in self.tracks])

    @property
    def sigma(self) -> float:
        """The level of all channels, a root mean square."""
        return float(np.sqrt(np.mean(np.square(self.sigmas))))

    @property
    def is_constant(self) -> bool:
        """Whether no channel's level changes along time."""
        return all(track.is_constant for track in self.tracks)

    def of(self, channels: np.ndarray) -> SignalNoise:
        """The noise of the channels where ``channels`` is true."""
        return SignalNoise(tuple(track for track, chosen in zip(self.tracks, channels, strict=True) if chosen))

    def variances(self, start: int, stop: int) -> np.ndarray:
        """The variances of the samples from ``start`` to ``stop``, one column per channel."""
        return np.stack([track.variance(start, stop) for track in self.tracks], axis=1)


def noise_along_time(signal: np.ndarray) -> LevelTrack:
    """The level of white noise in a signal of one axis: constant, unless it clearly changes.

    Only segments whose flat frames show white noise, equal in all bands, are used; in between, the level is
    interpolated.
    """
    return SignalNoise.estimated(lambda start, stop: signal[start:stop, None], len(signal)).tracks[0]


def _track(slow: np.ndarray, bands: np.ndarray) -> LevelTrack:
    """The level from the energies of the frames of a channel."""
    if not len(slow):
        return LevelTrack.constant(0.0)
    length = int(np.clip(len(slow) // SEGMENTS, FEWEST_FRAMES, SEGMENT))
    starts = np.arange(0, max(1, len(slow) - length + 1), length)
    found = [_Flat.of(slow[start : start + length], bands[start : start + length]) for start in starts]
    white = [number for number, flat in enumerate(found) if flat.is_white]
    levels = np.array([found[number].mean for number in white])
    if 2 * len(white) <= len(found) or not _change(levels, np.array([found[number].chance for number in white])):
        flat = _Flat.of(slow, bands)
        walk = flat.on_a_walk
        return LevelTrack.constant(float(np.sqrt(flat.lowest if walk is None else walk)), walk is not None)
    return LevelTrack(FRAME * (starts[white] + length / 2), np.sqrt(levels))


@dataclass(frozen=True, eq=False)
class _Flat:
    """The mean square of every band in the flattest frames, and its relative standard error."""

    squares: np.ndarray
    chance: float

    @classmethod
    def of(cls, slow: np.ndarray, bands: np.ndarray) -> _Flat:
        count = min(len(slow), max(FEWEST_FRAMES // 2, int(FLOOR * len(slow))))
        chosen = np.argpartition(slow, count - 1)[:count]
        return cls(bands[chosen].mean(axis=0, dtype=float), float(np.sqrt(2 / (WIDTH * count))))

    @property
    def mean(self) -> float:
        return float(self.squares.mean())

    @property
    def is_white(self) -> bool:
        """Whether all bands agree; silence is not white noise."""
        return bool(self._agreeing.all() and self.mean > 0)

    @property
    def lowest(self) -> float:
        """The mean of the bands that agree with the lowest."""
        return float(self.squares[self._agreeing].mean())

    @property
    def on_a_walk(self) -> float | None:
        """The variance of the noise, minus a standard error, if noise on a random walk explains all bands; else None.

        The cosine transform of a walk with steps of variance s² has independent coefficients of s² / 4 sin²(πk/2n).
        """
        if self.is_white or not self.squares.all():
            return None
        shapes, expected = np.column_stack([np.ones_like(WALK), WALK]), self.squares
        for _ in range(ROUNDS):
            noise, steps = nnls(shapes / expected[:, None], self.squares / expected)[0]
            expected = noise + steps * WALK
        known = np.linalg.inv(shapes.T @ (shapes / np.square(expected)[:, None]))
        errors = np.hypot(self.chance, BIAS) * np.sqrt(np.diag(known))
        is_explained = np.all(np.abs(self.squares / expected - 1) <= 4 * self.chance + BIAS)
        return max(float(noise - errors[0]), 0.0) if is_explained and steps > SURELY * errors[1] else None

    @property
    def _agreeing(self) -> np.ndarray:
        """Which bands agree with the lowest."""
        return self.squares <= self.squares.min() * (1 + 4 * self.chance + BIAS)


def _energies(part: Callable[[int, int], np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The energy of the low frequencies without the mean, and every band's mean square, in n frames of each channel."""
    n_channels, n_bands = part(0, 1).shape[1], (FRAME - SLOW) // WIDTH
    slow, bands = np.empty((n_channels, n), np.float32), np.empty((n_channels, n, n_bands), np.float32)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        samples = np.ascontiguousarray(part(FRAME * start, FRAME * stop).T, dtype=float)
        squares = np.square(dct(samples.reshape(n_channels, -1, FRAME), norm="ortho", axis=2))
        slow[:, start:stop] = squares[..., 1:SLOW].sum(axis=2)
        bands[:, start:stop] = squares[..., SLOW:].reshape(n_channels, stop - start, n_bands, WIDTH).mean(axis=3)
    return slow, bands


def _change(levels: np.ndarray, chance: np.ndarray) -> bool:
    """Whether variances differ by more than chance."""
    logs = np.log(levels)
    low, high = np.quantile(logs, [0.1, 0.9])
    spread = float(np.mean(np.square(logs - np.median(logs)) / (np.square(chance) / 6 + BIAS**2)))
    return bool(high - low > np.log(CHANGES) and spread > CLEARLY)
