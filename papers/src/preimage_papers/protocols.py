"""What the protocols of several papers share: errors, choices of USPS digits, an oracle for components."""

from __future__ import annotations

from functools import cache

import numpy as np

from preimage.datasets import Images, Split, load_usps

USPS = (16, 16)  # height and width of a digit


SMOOTHING = 0.75  # width in pixels of the Gaussian that makes today's USPS digits those of the papers of 1998


@cache
def usps() -> Split[Images]:
    """The USPS digits, read once."""
    return load_usps()


def smoothed(images: np.ndarray, width: float = SMOOTHING) -> np.ndarray:
    """Digits, one a row, smoothed by a Gaussian."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images.reshape(-1, *USPS), (0, width, width), mode="nearest").reshape(images.shape)


def snr(clean: np.ndarray, denoised: np.ndarray) -> np.ndarray:
    """Signal to noise ratio 10 log₁₀ (‖y‖² / ‖y − x̂‖²) of every row, in dB."""
    return 10 * np.log10(np.square(clean).sum(axis=1) / np.square(clean - denoised).sum(axis=1))


def mse(clean: np.ndarray, denoised: np.ndarray) -> float:
    """Mean squared error of an entry."""
    return float(np.mean(np.square(denoised - clean)))


def squared_distances(clean: np.ndarray, denoised: np.ndarray) -> np.ndarray:
    """‖y − x̂‖² of every row."""
    return np.square(denoised - clean).sum(axis=1)


def digits_of_every_class(n_train: int, n_test: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """So many USPS digits a class for training and for test, chosen at random, pixels in [0, 1], class after class."""
    train, test = (
        part.X[np.concatenate([rng.permutation(np.flatnonzero(part.y == c))[:count] for c in range(10)])].astype(float)
        for part, count in ((usps().train, n_train), (usps().test, n_test))
    )
    return train, test


def digits(n_train: int, n_test: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """So many USPS digits for training and for test, whatever their class, pixels in [0, 1]."""
    train, test = (
        part.X[rng.permutation(len(part.X))[:count]].astype(float)
        for part, count in ((usps().train, n_train), (usps().test, n_test))
    )
    return train, test


def oracle_codes(codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Codes cut at each row's best q, known only with the clean row y at hand (Kwok & Tsang 2003, §4.1).

    ‖P_qφ(x) − φ(y)‖² = const + Σ_{k≤q} (β_k(x)² − 2β_k(x)β_k(y)), so that one cumulative sum tells the q of least
    distance. The same holds for linear PCA in input space.
    """
    best = np.argmin(np.cumsum(codes**2 - 2 * codes * wanted, axis=1), axis=1)
    return np.where(np.arange(codes.shape[1]) <= best[:, None], codes, 0)


def linear_oracle(train: np.ndarray):
    """Linear PCA with the best number of components for each row, as a function of noisy and clean rows."""
    from sklearn.decomposition import PCA

    pca = PCA().fit(train)
    return lambda noisy, clean: pca.inverse_transform(oracle_codes(pca.transform(noisy), pca.transform(clean)))
