"""The standard deviation σ of white noise in a data matrix, from the matrix alone.

Three views, each blind where another sees:

* :func:`from_spectrum` looks for directions without signal: σ² is the floor of the covariance's spectrum. It needs no
  geometry, but more rows than signal directions.
* :func:`from_differences` looks for places without signal: images and sampled signals are flat somewhere, and there
  differences of neighbours are pure noise.
* :func:`from_flat_patches` does so for the patches of a single image or signal, the flattest of which it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.optimize import isotonic_regression

from preimage.exceptions import NoiseLevelWarning, warn

__all__ = ["NoiseLevel", "from_differences", "from_flat_patches", "from_spectrum", "noise_level"]

ROUNDS, DRAWS = 8, 4  # of matching the simulated spectrum
FLOOR = 0.2  # the share of directions that is taken for free of signal
FEW_COLUMNS = 20  # a fifth of fewer directions is too few for a floor to show
EDGE = 2.02  # the 99 % point of the Tracy–Widom law (β = 1)
MOST_ROWS, MOST_COLUMNS = 20_000, 512  # larger matrices are sampled: this many numbers fix σ to a fraction of 1 %
MOST_DIFFERENCES = 2_000_000
FLAT = 1.02  # positions are flat up to this energy beside the lowest twentieth
PRECISION = 0.015  # the relative standard error at which differences trade bias for variance


@dataclass(frozen=True)
class NoiseLevel:
    """σ with what is known about it.

    Attributes
    ----------
    sigma : float
        The estimate.
    low, high : float
        An interval of about 95 %; its lower end also allows for signal that hides in the floor of the spectrum.
    method : "spectrum", "differences" or "flat patches"
        Where it comes from.
    doubt : str
        Why it should not be trusted; empty where nothing speaks against it.
    """

    sigma: float
    low: float
    high: float
    method: str
    doubt: str = ""

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against the estimate."""
        return not self.doubt


def noise_level(X, shape: tuple[int, ...] | None = None, *, random_state: int = 0) -> NoiseLevel:
    """The noise level of the rows of X; a :class:`NoiseLevelWarning` says so where the data cannot tell.

    Parameters
    ----------
    X : array of shape (rows, d)
        Data with white noise of the same σ in every entry.
    shape : tuple, optional
        What a row is, if it is more than a list of numbers: (height, width) of an image, (length,) of a signal. Then
        both views are taken. Signal hides as noise and never the other way round, so that the lower one is right.
    random_state : int
        Seed of what is simulated and sampled.

    Returns
    -------
    NoiseLevel
    """
    X = _rows(X)
    found = from_spectrum(X, random_state=random_state)
    if shape is not None:
        found = _lower(found, from_differences(X, shape, random_state=random_state))
    if found.doubt:
        warn(f"the noise level {found.sigma:.3g} is doubtful: {found.doubt}.", NoiseLevelWarning)
    return found


def _lower(one: NoiseLevel, other: NoiseLevel) -> NoiseLevel:
    """The lower of two estimates, of which only the trusted count, if there are such."""
    return min((one, other), key=lambda level: (not level.trusted, level.sigma))


def from_spectrum(X, *, random_state: int = 0) -> NoiseLevel:
    """σ² as the floor of the population spectrum of the covariance.

    With few rows the sample spectrum is spread (Marchenko & Pastur 1967), and signal too weak to stand out of the
    spread lifts its lower end. So the population spectrum τ is found whose sample spectra, simulated from Wishart
    matrices, are the one observed: τₖ ← τₖ ℓₖ / E[ℓₖ | τ], from a start that is flat beyond the components that can be
    told from noise (Kritchman & Nadler 2009). σ² is the mean of its lowest fifth. With fewer rows than columns it is
    that start.

    It can be trusted where a fifth of the directions is free of signal. A signal with a flat floor of its own is noise
    to it.
    """
    X, rng = _rows(X), np.random.default_rng(random_state)
    X = _sample(X[:, np.ptp(X, axis=0) > 0], rng)  # constant columns have no noise, and are no part of what has
    n, d = X.shape[0] - 1, X.shape[1]
    values = _spectrum(X)
    if not (n >= 1 and d >= 1 and values[0] > 0):
        return NoiseLevel(0.0, 0.0, 0.0, "spectrum", "there is no variance in the data")
    n_signal, start = _told_from_noise(values, n, d)
    population = np.append(values[:n_signal], np.full(d - n_signal, start))
    if n >= d:  # with fewer rows the lower end of the spectrum is not seen at all
        population = _population(values, n, population, rng)
    floor, half = (float(population[-max(1, round(share * d)) :].mean()) for share in (FLOOR, FLOOR / 2))
    error = 1.5 * np.sqrt(2 / (n * max(1, FLOOR * d)) + 1 / (n * d))
    sigma, lowest = np.sqrt(max(floor, 0)), np.sqrt(max(min(floor, 2 * half - floor), 0))
    doubt = _doubt(n_signal, n, d, float(np.sqrt(half)), sigma)
    return NoiseLevel(float(sigma), float(lowest * (1 - error)), float(sigma * (1 + error)), "spectrum", doubt)


def _doubt(n_signal: int, n: int, d: int, lower: float, sigma: float) -> str:
    if d < 8 or n < 8:
        return f"{n + 1} rows of {d} numbers are too few to tell noise from signal"
    if n_signal == 0:
        return "nothing stands out of the noise, so that all variance is taken for it"
    if n_signal > (1 - FLOOR if d >= FEW_COLUMNS else 1 / 3) * min(n, d):
        return f"at least {n_signal} of {min(n, d)} directions hold signal, and too few are left; sigma is at most this"
    if n < d and n_signal > max(5, 0.05 * n):
        return f"{n + 1} rows are too few beside {d} columns to see all signal; sigma is at most this"
    if sigma > 1.06 * lower:
        return "the spectrum has no floor, signal reaches its end; sigma is at most this"
    return ""


def _spectrum(X: np.ndarray) -> np.ndarray:
    """Nonzero eigenvalues of the covariance, descending."""
    centred = X - X.mean(axis=0)
    n, d = len(X) - 1, X.shape[1]
    gram = centred.T @ centred if d <= n else centred @ centred.T
    return np.maximum(np.linalg.eigvalsh(gram)[::-1][: min(n, d)], 0) / max(n, 1)


def _told_from_noise(values: np.ndarray, n: int, d: int) -> tuple[int, float]:
    """How many eigenvalues exceed what the rest would show as noise, and the variance of that rest.

    Kritchman & Nadler (2009), with the largest eigenvalue's law after Johnstone (2001).
    """
    tails = np.cumsum(values[::-1])[::-1] * n
    for rank, (value, tail) in enumerate(zip(values, tails, strict=True)):
        p, m = d - rank, max(n - rank, 1)
        variance = tail / (p * m)
        centre = (np.sqrt(m - 0.5) + np.sqrt(p - 0.5)) ** 2
        spread = np.sqrt(centre) * (1 / np.sqrt(m - 0.5) + 1 / np.sqrt(p - 0.5)) ** (1 / 3)
        if n * value <= variance * (centre + EDGE * spread):
            return rank, float(variance)
    return len(values) - 1, float(values[-1])


def _population(values: np.ndarray, n: int, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A population spectrum whose sample spectra look like the one observed, as near to the start as that allows.

    It stops where the observed spectrum is as far from the mean of the simulated ones as each of them is (the
    discrepancy principle): to go on would be to fit its sampling error.
    """
    population = start
    draws = [_wishart_factor(n, len(start), rng) for _ in range(DRAWS)]  # the same ones in all rounds, which so settle
    for _ in range(ROUNDS):
        simulated = np.array([_sample_spectrum(factor, population, n) for factor in draws])
        expected = np.maximum(simulated.mean(axis=0), np.finfo(float).tiny)
        ratio, spread = values / expected, (simulated / expected).std(axis=0, ddof=1)
        lower = slice(len(start) // 2, None)
        if np.mean(np.square(ratio[lower] - 1)) <= (1 + 1 / DRAWS) * np.mean(np.square(spread[lower])):
            break
        population = isotonic_regression(population * ratio, increasing=False).x
    return population


def _wishart_factor(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """F with FFᵀ a Wishart matrix of n degrees of freedom, by Bartlett's decomposition."""
    factor = np.tril(rng.standard_normal((d, d)), -1)
    np.fill_diagonal(factor, np.sqrt(rng.chisquare(n - np.arange(d))))
    return factor


def _sample_spectrum(factor: np.ndarray, population: np.ndarray, n: int) -> np.ndarray:
    """Eigenvalues of the sample covariance that a draw gives for a population spectrum."""
    scaled = factor * np.sqrt(population)[:, None]
    return np.maximum(np.linalg.eigvalsh(scaled @ scaled.T)[::-1], 0) / n


def from_differences(X, shape: tuple[int, ...], *, random_state: int = 0) -> NoiseLevel:
    """σ from differences of neighbours where the rows are flat.

    The differences r of an image (mixed, of first order along both axes) or a signal (of second order), scaled to the
    noise's variance, are a mixture over places: σε where the row is flat, and more elsewhere. For a mixture of
    Gaussians with variances σ² + s² the characteristic function is φ(t) = E exp(−t²(σ² + s²)/2), in which flat places
    win as t grows: −2 d log φ/d(t²) → σ². That slope is taken as far out as the number of differences allows; where
    positions differ, only among those of least energy, chosen on one half of the rows and used on the other.

    It can be trusted where a good part of the rows is locally flat, or linear for signals.
    """
    X, rng = _rows(X), np.random.default_rng(random_state)
    differences = _differences(X, shape)
    if not differences.size:
        raise ValueError(f"rows of shape {shape} are too short for differences of neighbours.")
    flat = _flat_places(differences, rng)
    flat = flat if flat.size <= MOST_DIFFERENCES else rng.choice(flat, MOST_DIFFERENCES, replace=False)
    crude = float(np.median(np.abs(flat))) / 0.6745
    if not crude > 0:
        doubt = "most neighbours are equal, as if there were no noise or values had been clipped"
        return NoiseLevel(0.0, 0.0, float(np.sqrt(np.mean(flat**2))), "differences", doubt)
    level = min(1 / (2 * PRECISION * np.sqrt(2 * flat.size)), 0.3)
    variance = _slope(flat, crude, 3 * level, level)
    error = 2 * np.hypot(0.6 / (level * np.sqrt(2 * flat.size)), 0.005)
    sigma = float(np.sqrt(max(variance, 0)))
    doubt = "" if crude < 1.5 * sigma else "few places are flat; sigma is at most this"
    if flat.size < 1000:
        doubt = f"there are only {flat.size} differences"
    return NoiseLevel(sigma, sigma * (1 - error), sigma * (1 + error), "differences", doubt)


def from_flat_patches(X, shape: tuple[int, ...]) -> NoiseLevel:
    """σ from patches of one image or signal, by differences within small blocks of the flattest of them.

    A patch is cut into blocks of 2 × 2 points (3 along a signal). The means of the blocks tell how flat it is, and
    their mixed differences (a − b − c + d)/2, or (a − 2b + c)/√6, tell the noise; white Gaussian noise makes the two
    independent, so that choosing flat patches does not choose those of little noise.

    It can be trusted where a fifth of the patches is flat.
    """
    X = _rows(X)
    means, differences = _blocks(X, shape)
    unevenness = means.var(axis=1)
    flattest = differences[unevenness <= np.quantile(unevenness, FLOOR)]
    sigma = float(np.sqrt(np.mean(np.square(flattest))))
    error = 2 * np.hypot(np.sqrt(0.5 / flattest.size), 0.01)
    doubt = f"there are only {flattest.size} differences" if flattest.size < 1000 else ""
    return NoiseLevel(sigma, sigma * (1 - error), sigma * (1 + error), "flat patches", doubt)


def _blocks(X: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Means and differences of the blocks of every row."""
    if int(np.prod(shape)) != X.shape[1] or min(shape) < 3:
        raise ValueError(f"rows of {X.shape[1]} numbers are no patches of shape {shape} that blocks fit into.")
    if len(shape) == 1:
        blocks = X[:, : shape[0] // 3 * 3].reshape(len(X), -1, 3)
        return blocks.mean(axis=2), blocks @ np.array([1.0, -2.0, 1.0]) / np.sqrt(6)
    height, width = (side // 2 for side in shape)
    images = X.reshape(-1, *shape)[:, : 2 * height, : 2 * width]
    blocks = images.reshape(-1, height, 2, width, 2).transpose(0, 1, 3, 2, 4).reshape(len(X), height * width, 4)
    return blocks.mean(axis=2), blocks @ np.array([1.0, -1.0, -1.0, 1.0]) / 2


def _differences(X: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Differences along all axes with the variance of the noise, one row a row."""
    if int(np.prod(shape)) != X.shape[1]:
        raise ValueError(f"rows of {X.shape[1]} numbers do not have the shape {shape}.")
    order = 2 if len(shape) == 1 else 1
    found = X.reshape(-1, *shape)
    for axis in range(1, found.ndim):
        found = np.diff(found, n=order, axis=axis)
    return found.reshape(len(X), -1) / np.sqrt(comb(2 * order, order) ** len(shape))


def _flat_places(differences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Differences at positions of least energy, which the other half of the rows has chosen; all, if all are alike."""
    order = rng.permutation(len(differences))
    halves = order[::2], order[1::2]
    if not len(halves[1]):
        return differences.ravel()
    chosen = []
    for ours, theirs in (halves, halves[::-1]):
        squares = np.square(differences[theirs])
        energy, chance = squares.mean(axis=0), squares.var(axis=0).mean() / len(theirs)
        lowest = np.sort(energy)[: max(1, len(energy) // 20)].max()
        flat = energy <= (FLAT * lowest if energy.var() > 4 * chance else np.inf)
        chosen.append(differences[ours][:, flat].ravel())
    return np.concatenate(chosen)


def _slope(values: np.ndarray, crude: float, upper: float, lower: float) -> float:
    """−2 Δ log φ / Δ t² between the points where φ falls to two levels."""
    few = values[: len(values) // 4 + 1] if len(values) > 200_000 else values  # finds the points; all of it measures
    times = [_falls_to(few, level, crude) for level in (upper, lower)]
    heights = [np.log(max(float(np.cos(t * values).mean()), 1e-6)) for t in times]
    return 2 * (heights[0] - heights[1]) / (times[1] ** 2 - times[0] ** 2)


def _falls_to(values: np.ndarray, level: float, crude: float) -> float:
    low, high = 0.0, 10 / crude
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if np.cos(middle * values).mean() > level else (low, middle)
    return (low + high) / 2


def _sample(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if X.shape[0] > MOST_ROWS:
        X = X[np.sort(rng.choice(X.shape[0], MOST_ROWS, replace=False))]
    if X.shape[1] > MOST_COLUMNS:
        X = X[:, np.sort(rng.choice(X.shape[1], MOST_COLUMNS, replace=False))]
    return X


def _rows(X) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError("the noise level is taken from a matrix of real numbers, one row an observation.")
    if not np.isfinite(X).all():
        raise ValueError("the noise level needs finite numbers: X holds NaN or infinity.")
    return X.astype(float, copy=False)
