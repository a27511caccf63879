"""Interference in recordings that is not noise: mains hum and a wandering baseline.

Both are removed before the noise. A signal is an array of shape (length,) or (length, channels), and ``rate`` is its
number of samples per second.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import median_filter, uniform_filter1d

SECONDS = 4.0  # length of a block in which hum has constant amplitude and phase
DRIFT = 0.2  # largest deviation of the mains frequency, in hertz
HARMONICS = 5
FEWEST_TURNS = 20
BEAT, WAVE = 0.2, 0.6  # windows of the two medians in seconds: longer than a QRS complex, and than a T wave
POINTS = 60  # in the window of the longer median


def without_mains(signal, rate: float, frequency: float) -> np.ndarray:
    """The signal without mains hum and its harmonics.

    In blocks that overlap by half, a sinusoid of every harmonic is fitted by least squares and subtracted. Unlike a
    notch filter, this causes no ringing after short events such as heartbeats. The frequency is refined to that of most
    power.

    Parameters
    ----------
    signal : array of shape (length,) or (length, channels)
    rate : float
        Samples per second.
    frequency : float
        The mains frequency in hertz.

    Returns
    -------
    array of the shape of the signal

    See Also
    --------
    without_baseline : Removes slow drift.
    preimage.Denoiser : Removes noise.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.denoising import without_mains
    >>> t = np.arange(2000) / 500
    >>> pulse = np.exp(-(((t - 2) / 0.05) ** 2))
    >>> cleaned = without_mains(pulse + 0.3 * np.sin(2 * np.pi * 50 * t), rate=500, frequency=50)
    >>> bool(abs(cleaned - pulse).max() < 0.01)
    True
    """
    values, shape = _columns(signal)
    _check_rate(rate)
    if not 0 < frequency < rate / 2:
        raise ValueError(f"the mains frequency must lie between 0 and half the rate, {rate / 2:g}, not {frequency!r}.")
    if len(values) < FEWEST_TURNS * rate / frequency:
        raise ValueError(f"{len(values)} samples are too few to find hum: give at least {FEWEST_TURNS} of its periods.")
    exact = _strongest(values, rate, frequency)
    found = values.copy()
    for start, stop, weights in _blocks(len(values), rate):
        waves = _waves(start, stop, rate, exact)
        fitted = waves @ np.linalg.lstsq(waves, values[start:stop], rcond=None)[0]
        found[start:stop] -= weights[:, None] * fitted
    return found.reshape(shape)


def without_baseline(signal, rate: float) -> np.ndarray:
    """The signal without its wandering baseline: the median over 0.6 s of the median over 0.2 s (de Chazal 2004).

    Parameters
    ----------
    signal : array of shape (length,) or (length, channels)
    rate : float
        Samples per second.

    Returns
    -------
    array of the shape of the signal

    See Also
    --------
    without_mains : Removes mains hum.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.denoising import without_baseline
    >>> t = np.arange(2000) / 500
    >>> pulse = np.exp(-(((t - 2) / 0.02) ** 2))
    >>> flat = without_baseline(pulse + 0.5 * t, rate=500)
    >>> bool(abs(flat - pulse)[500:1500].max() < 0.1)
    True
    """
    values, shape = _columns(signal)
    _check_rate(rate)
    every = max(1, int(WAVE * rate / POINTS))  # a baseline is slow, so the medians use fewer samples
    means = uniform_filter1d(values, every, axis=0)[::every]
    for seconds in (BEAT, WAVE):
        means = median_filter(means, (2 * int(seconds * rate / every / 2) + 1, 1), mode="nearest")
    smooth = uniform_filter1d(means, max(1, int(BEAT * rate / every)), axis=0, mode="nearest")
    at = np.arange(len(values))
    baseline = [np.interp(at, at[::every], column) for column in smooth.T]
    return (values - np.stack(baseline, axis=1)).reshape(shape)


def _columns(signal) -> tuple[np.ndarray, tuple[int, ...]]:
    values = np.asarray(signal)
    if values.ndim not in (1, 2) or not values.size or values.dtype.kind not in "fiub":
        raise ValueError("a signal must be an array of numbers of shape (length,) or (length, channels).")
    values = values if values.dtype.kind == "f" else values.astype(float)
    return values.reshape(len(values), -1), values.shape


def _check_rate(rate: float) -> None:
    if not (np.isfinite(rate) and rate > 0):
        raise ValueError(f"the rate of a signal must be a positive number of samples per second, not {rate!r}.")


def _strongest(values: np.ndarray, rate: float, frequency: float) -> float:
    """The frequency near the nominal one that has most power in the first minute."""
    resolution = rate / len(values)
    choices = frequency + np.arange(-DRIFT, DRIFT + 1e-9, max(min(resolution / 8, 0.02), 0.002))
    some = values[: int(60 * rate)]
    time = np.arange(len(some)) / rate
    power = [np.abs(np.exp(-2j * np.pi * choice * time) @ some).sum() for choice in choices]
    return float(choices[int(np.argmax(power))])


def _waves(start: int, stop: int, rate: float, frequency: float) -> np.ndarray:
    """Sines and cosines of all harmonics below half the rate."""
    turns = 2 * np.pi * np.arange(start, stop) / rate
    numbers = [number for number in range(1, HARMONICS + 1) if number * frequency < rate / 2]
    waves = [wave(number * frequency * turns) for number in numbers for wave in (np.sin, np.cos)]
    return np.stack(waves, axis=1)


def _blocks(n: int, rate: float) -> list[tuple[int, int, np.ndarray]]:
    """Blocks that overlap by half, with weights that sum to 1 at every sample."""
    length = min(n, 2 * max(1, int(SECONDS * rate / 2)))
    starts = range(0, max(1, n - length // 2), max(1, length // 2))
    ends = [(start, min(start + length, n)) for start in starts]
    shapes = [np.minimum(np.arange(1, stop - start + 1), np.arange(stop - start, 0, -1)) for start, stop in ends]
    total = np.zeros(n)
    for (start, stop), shape in zip(ends, shapes, strict=True):
        total[start:stop] += shape
    return [(start, stop, shape / total[start:stop]) for (start, stop), shape in zip(ends, shapes, strict=True)]
