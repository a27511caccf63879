"""Denoising protocols: which rows train, which are tested, and with what noise, the same numbers for everybody.

P1 is USPS digits pooled (σ = .25, σ = .5, salt and pepper), P2 the same digits one class at a time with noise clipped
to the pixels' range, P3 scikit-learn's digits, P4 heartbeats at 6 dB, P5 is P1 at σ = .25 with nothing clean to train
on.

    protocol = load("P1g25")
    tune on protocol.train; report the mean of snr(protocol.test, denoised) over protocol.noisy_tests
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preimage.datasets import load_digits, load_mitbih, load_usps
from preimage.noise import GaussianNoise, NoiseLaw, SaltAndPepper

NAMES = ("P1g25", "P1g50", "P1sp40", "P2g", "P2sp", "P3", "P4", "P5")
PER_CLASS, TESTED, FITTED = 300, 50, 250  # USPS digits of a class: to train, to test, and to fit while tuning


@dataclass(frozen=True, eq=False)
class Protocol:
    """Clean rows, the split for tuning (``fit`` and ``val`` number rows of ``train``), and the noise."""

    name: str
    train: np.ndarray
    test: np.ndarray
    fit: np.ndarray
    val: np.ndarray
    shape: tuple[int, ...]
    noise: NoiseLaw
    train_labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None

    @cached_property
    def noisy_val(self):
        """The rows to tune on."""
        return self._corrupt(self.train[self.val], 77)

    @cached_property
    def noisy_tests(self):
        """Three noisy versions of the test rows."""
        return [self._corrupt(self.test, 1000 + draw) for draw in range(3)]

    @cached_property
    def noisy_trains(self):
        """Three noisy versions of the training rows, for P5."""
        return [self._corrupt(self.train, 9000 + draw) for draw in range(3)]

    def _corrupt(self, X, seed):
        return self.noise(X, np.random.default_rng(seed))


def load(name: str) -> Protocol:
    """The protocol of that name."""
    if name not in NAMES:
        raise ValueError(f"unknown protocol {name!r}; they are {', '.join(NAMES)}.")
    laws: dict[str, Callable[[], Protocol]] = {
        "P1g25": lambda: _usps(name, GaussianNoise(0.25)),
        "P1g50": lambda: _usps(name, GaussianNoise(0.5)),
        "P1sp40": lambda: _usps(name, SaltAndPepper(0.4)),
        "P2g": lambda: _usps(name, GaussianNoise(0.5, clip=(0, 1))),
        "P2sp": lambda: _usps(name, SaltAndPepper(0.3)),
        "P3": lambda: _digits(name, GaussianNoise(0.25)),
        "P4": lambda: _heartbeats(name),
        "P5": lambda: _usps(name, GaussianNoise(0.25)),
    }
    return laws[name]()


def snr(clean: np.ndarray, denoised: np.ndarray) -> float:
    """Mean over rows of the signal-to-noise ratio, in dB."""
    clean = clean.astype(float)
    return float(np.mean(10 * np.log10(np.square(clean).sum(axis=1) / np.square(clean - denoised).sum(axis=1))))


def _usps(name, noise):
    usps, rng = load_usps(), np.random.default_rng(0)
    train, test = (
        _of_every_class(part.y, count, rng) for part, count in ((usps.train, PER_CLASS), (usps.test, TESTED))
    )
    fitted = np.arange(len(train)) % PER_CLASS < FITTED
    return Protocol(
        name,
        usps.train.X[train],
        usps.test.X[test],
        np.flatnonzero(fitted),
        np.flatnonzero(~fitted),
        (16, 16),
        noise,
        usps.train.y[train],
        usps.test.y[test],
    )


def _of_every_class(labels, count, rng):
    return np.concatenate([rng.permutation(np.flatnonzero(labels == digit))[:count] for digit in range(10)])


def _digits(name, noise):
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.X))
    X, y = digits.X.astype(np.float32)[order], digits.y[order]
    return Protocol(name, X[:1000], X[1000:], np.arange(800), np.arange(800, 1000), (8, 8), noise, y[:1000], y[1000:])


def _heartbeats(name):
    beats, rng = load_mitbih().X, np.random.default_rng(0)
    beats = (beats - np.median(beats, axis=1, keepdims=True)).astype(np.float32)
    test = beats[1000 + rng.permutation(len(beats) - 1000)[:500]]
    order = rng.permutation(1000)
    power = np.mean(np.log10(np.square(test).mean(axis=1)))  # 6 dB below it
    noise = GaussianNoise(float(np.sqrt(10 ** (power - 0.6))))
    return Protocol(name, beats[:1000], test, order[:800], order[800:], (beats.shape[1],), noise)
