"""Noisy digits denoised by a few methods, first with clean examples to train on, then with noisy digits only.

``benchmarks/digits.py`` chooses the settings below and compares more methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preimage import Denoiser, KernelPCA, progress
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise
from preimage.preimages import Distance, FixedPoint
from preimage.statistics.metrics import snr

SIGMA = 0.3  # noise level; paper is 0 and ink is 1
SHAPE = (8, 8)
N_TRAIN, N_TEST, N_NOISY = 1000, 200, 800
QUICK = {"n_landmarks": 200, "n_stages": 2}  # a Denoiser that is ready within seconds

Attempt = tuple[str, str, Callable[[], np.ndarray]]  # a method, its settings, and a function that denoises


@dataclass(frozen=True, eq=False)
class NoisyDigits:
    """Clean digits to train on, test digits without and with noise, and noisy digits only (the test digits first)."""

    train: np.ndarray
    clean: np.ndarray
    noisy: np.ndarray
    noisy_only: np.ndarray
    seed: int

    @classmethod
    def draw(cls, seed: int) -> NoisyDigits:
        """The digits of scikit-learn in a random order, with Gaussian noise."""
        images, noise = load_digits().X, GaussianNoise(SIGMA)
        order = np.random.default_rng(seed).permutation(len(images))
        train, clean, _ = np.split(images[order], np.cumsum([N_TRAIN, N_TEST]))
        noisy = noise(clean, np.random.default_rng(seed + 1))
        others = noise(train[: N_NOISY - N_TEST], np.random.default_rng(seed + 3))
        return cls(train, clean, noisy, np.vstack([noisy, others]), seed)


@dataclass(frozen=True, eq=False)
class Entry:
    """One row of a table: the mean signal-to-noise ratio in dB, and the seconds it took to fit and to denoise."""

    method: str
    settings: str
    snr: float
    seconds: float
    images: np.ndarray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Demonstration:
    """The digits, and the entries of both tables."""

    digits: NoisyDigits
    clean_examples: tuple[Entry, ...]
    noisy_only: tuple[Entry, ...]


def demonstrate(seed: int) -> Demonstration:
    """Run every method on the same digits."""
    digits, entries = NoisyDigits.draw(seed), []
    first, second = _with_clean_examples(digits), _with_noisy_only(digits)
    for attempt in first + second:
        entries.append(measured(attempt, digits.clean))
        progress.report("demo", len(entries), len(first + second))
    return Demonstration(digits, tuple(entries[: len(first)]), tuple(entries[len(first) :]))


def measured(attempt: Attempt, clean: np.ndarray) -> Entry:
    """The entry of an attempt, with the mean over rows of the signal-to-noise ratio."""
    method, settings, denoise = attempt
    start = time.perf_counter()
    images = denoise()
    seconds = time.perf_counter() - start
    return Entry(method, settings, float(snr(clean, images).mean()), seconds, images)


def best(entries: Sequence[Entry]) -> Entry:
    """The entry with the largest ratio, rounded to a hundredth of a dB; the first of equals."""
    return max(entries, key=lambda entry: round(entry.snr, 2))


def _with_clean_examples(digits: NoisyDigits) -> list[Attempt]:
    model = Denoiser(examples="clean", noise=GaussianNoise(SIGMA), geometry=SHAPE, **QUICK, random_state=0)
    settings = "{n_landmarks} landmarks, {n_stages} stages".format(**QUICK)
    return [
        ("noisy input", "", lambda: digits.noisy),
        linear_pca(digits.train, digits.noisy, 12),
        scikit_pca(digits.train, digits.noisy, 64, 0.3, 0.1),
        kernel_pca("fixed point (Mika et al. 1998)", FixedPoint(), digits.train, digits.noisy, 1.53, 256),
        kernel_pca("distances (Kwok & Tsang 2003)", Distance(), digits.train, digits.noisy, 2.16, 128),
        ("Denoiser, noise law given", settings, lambda: model.fit(digits.train).transform(digits.noisy)),
    ]


def _with_noisy_only(digits: NoisyDigits) -> list[Attempt]:
    rows, model = digits.noisy_only, Denoiser(geometry=SHAPE, random_state=0)
    return [
        ("noisy input", "", lambda: digits.noisy),
        linear_pca(rows, digits.noisy, 11),
        scikit_pca(rows, digits.noisy, 32, 1.0, 1.0),
        ("Denoiser", "defaults", lambda: model.fit_transform(rows)[:N_TEST]),
    ]


def linear_pca(train: np.ndarray, noisy: np.ndarray, n_components: int) -> Attempt:
    """Rows projected onto linear principal axes."""
    from sklearn.decomposition import PCA

    model = PCA(n_components, random_state=0)
    return "linear PCA", f"{n_components} components", lambda: _reconstructed(model.fit(train), noisy)


def scikit_pca(train: np.ndarray, noisy: np.ndarray, n_components: int, factor: float, alpha: float) -> Attempt:
    """scikit-learn's KernelPCA; ``factor`` is γ in units of 1 / (d · variance), ``alpha`` the inverse map's ridge."""
    from sklearn.decomposition import KernelPCA

    gamma = factor / (train.shape[1] * train.var())
    model = KernelPCA(n_components, kernel="rbf", gamma=gamma, fit_inverse_transform=True, alpha=alpha, random_state=0)
    settings = f"γ = {factor:g} / (d · variance), {n_components} components, α = {alpha:g}"
    return "scikit-learn KernelPCA", settings, lambda: _reconstructed(model.fit(train), noisy)


def kernel_pca(
    name: str, method: Any, train: np.ndarray, noisy: np.ndarray, length_scale: float, n_components: int
) -> Attempt:
    """Kernel PCA of the training rows with a Gaussian kernel and this pre-image method."""
    model = KernelPCA(n_components, kernel=Gaussian(length_scale), preimage=method, random_state=0)
    settings = f"ℓ = {length_scale:.2f}, {n_components} components"
    return name, settings, lambda: model.fit(train).denoise(noisy)


def _reconstructed(model, rows: np.ndarray) -> np.ndarray:
    return model.inverse_transform(model.transform(rows))
