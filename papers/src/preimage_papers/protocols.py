"""Protocols of papers and benchmarks: which rows train, which are tested, and with what noise.

P1 is all USPS digits together (σ = .25, σ = .5, salt and pepper). P2 is the same digits one class at a time, with noise
clipped to the pixels' range. P3 is scikit-learn's digits, P4 heartbeats at 6 dB. P5 is P1 at σ = .25 with only noisy
rows to train on.

    protocol = load("P1g25")
    tune on protocol.train; report the mean of snr(protocol.test, denoised) over protocol.noisy_tests
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from preimage.datasets import Images, Split, load_digits, load_mitbih, load_usps
from preimage.noise import GaussianNoise, NoiseLaw, SaltAndPepper

USPS = (16, 16)  # height and width of a digit
SMOOTHING = 0.75  # width in pixels of the Gaussian that turns today's USPS digits into those of the papers of 1998
PER_CLASS, TESTED, FITTED = 300, 50, 250  # USPS digits per class: to train, to test, and to fit while tuning
USPS_NOISE: dict[str, NoiseLaw] = {
    "P1g25": GaussianNoise(0.25),
    "P1g50": GaussianNoise(0.5),
    "P1sp40": SaltAndPepper(0.4),
    "P2g": GaussianNoise(0.5, clip=(0, 1)),
    "P2sp": SaltAndPepper(0.3),
    "P5": GaussianNoise(0.25),
}
NAMES = ("P1g25", "P1g50", "P1sp40", "P2g", "P2sp", "P3", "P4", "P5")


def squared_distances(clean: np.ndarray, denoised: np.ndarray) -> np.ndarray:
    """‖y − x̂‖² of every row."""
    return np.square(denoised - clean).sum(axis=1)


# Digits of USPS.


@cache
def usps() -> Split[Images]:
    """The USPS digits, read once."""
    return load_usps()


def smoothed(images: np.ndarray) -> np.ndarray:
    """Digits, one per row, smoothed by a Gaussian."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images.reshape(-1, *USPS), (0, SMOOTHING, SMOOTHING), mode="nearest").reshape(images.shape)


def digits_of_every_class(n_train: int, n_test: int, rng: np.random.Generator) -> Split[Images]:
    """USPS digits for training and for test, ``n_train`` and ``n_test`` per class, drawn at random, by class."""
    return Split(_of_every_class(usps().train, n_train, rng), _of_every_class(usps().test, n_test, rng))


def _of_every_class(images: Images, count: int, rng: np.random.Generator) -> Images:
    rows = np.concatenate([rng.permutation(np.flatnonzero(images.y == c))[:count] for c in range(10)])
    return Images(images.X[rows], images.y[rows], images.shape)


def digits(n_train: int, n_test: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """``n_train`` and ``n_test`` USPS digits of any class for training and for test, pixels in [0, 1]."""
    train, test = (
        part.X[rng.permutation(len(part.X))[:count]].astype(float)
        for part, count in ((usps().train, n_train), (usps().test, n_test))
    )
    return train, test


# Components chosen by the clean rows.


def oracle_codes(codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Codes cut at each row's best q, known only from the clean row y (Kwok & Tsang 2003, §4.1).

    ‖P_qφ(x) − φ(y)‖² = const + Σ_{k≤q} (β_k(x)² − 2β_k(x)β_k(y)), so one cumulative sum gives the q of least
    distance. The same holds for linear PCA in input space.
    """
    best = np.argmin(np.cumsum(codes**2 - 2 * codes * wanted, axis=1), axis=1)
    return np.where(np.arange(codes.shape[1]) <= best[:, None], codes, 0)


def linear_oracle(train: np.ndarray):
    """Linear PCA with the best number of components for each row, as a function of noisy and clean rows."""
    from sklearn.decomposition import PCA

    pca = PCA().fit(train)
    return lambda noisy, clean: pca.inverse_transform(oracle_codes(pca.transform(noisy), pca.transform(clean)))


# The named protocols.


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
    def noisy_val(self) -> np.ndarray:
        """The rows to tune on."""
        return self._corrupt(self.train[self.val], 77)

    @cached_property
    def noisy_tests(self) -> list[np.ndarray]:
        """Three noisy versions of the test rows."""
        return [self._corrupt(self.test, 1000 + draw) for draw in range(3)]

    @cached_property
    def noisy_trains(self) -> list[np.ndarray]:
        """Three noisy versions of the training rows, for P5."""
        return [self._corrupt(self.train, 9000 + draw) for draw in range(3)]

    def _corrupt(self, X: np.ndarray, seed: int) -> np.ndarray:
        return self.noise(X, np.random.default_rng(seed))


def load(name: str) -> Protocol:
    """The protocol with this name."""
    if name in USPS_NOISE:
        return _usps(name, USPS_NOISE[name])
    others = {"P3": _digits, "P4": _heartbeats}
    if name not in others:
        raise ValueError(f"unknown protocol {name!r}; they are {', '.join(NAMES)}.")
    return others[name]()


def _usps(name: str, noise: NoiseLaw) -> Protocol:
    train, test = digits_of_every_class(PER_CLASS, TESTED, np.random.default_rng(0))
    fitted = np.arange(len(train.X)) % PER_CLASS < FITTED
    fit, val = np.flatnonzero(fitted), np.flatnonzero(~fitted)
    return Protocol(name, train.X, test.X, fit, val, USPS, noise, train.y, test.y)


def _digits() -> Protocol:
    found, noise = load_digits(), GaussianNoise(0.25)
    order = np.random.default_rng(0).permutation(len(found.X))
    X, y = found.X.astype(np.float32)[order], found.y[order]
    return Protocol("P3", X[:1000], X[1000:], np.arange(800), np.arange(800, 1000), (8, 8), noise, y[:1000], y[1000:])


def _heartbeats() -> Protocol:
    beats, rng = load_mitbih().X, np.random.default_rng(0)
    beats = (beats - np.median(beats, axis=1, keepdims=True)).astype(np.float32)
    test = beats[1000 + rng.permutation(len(beats) - 1000)[:500]]
    order = rng.permutation(1000)
    power = np.mean(np.log10(np.square(test).mean(axis=1)))  # the noise lies 6 dB below
    noise = GaussianNoise(float(np.sqrt(10 ** (power - 0.6))))
    return Protocol("P4", beats[:1000], test, order[:800], order[800:], (beats.shape[1],), noise)
