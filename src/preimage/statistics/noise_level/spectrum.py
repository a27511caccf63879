"""The noise level from the floor of the covariance's spectrum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from preimage._typing import RowsLike
from preimage.statistics.noise_level.level import FLOOR, NoiseLevel, checked_rows

ROUNDS, DRAWS = 8, 4  # rounds of matching simulated spectra, and simulations per round
FEW_COLUMNS = 20  # with fewer columns, a fifth of the directions is too few to show a floor
EDGE = 2.02  # the 99 % point of the Tracy–Widom law (β = 1)
MOST_ROWS, MOST_COLUMNS = 20_000, 512  # larger matrices are sampled: this many entries give σ to a fraction of 1 %


def from_spectrum(X: RowsLike, *, random_state: int = 0) -> NoiseLevel:
    """σ² as the floor of the population spectrum of the covariance.

    With few rows the sample spectrum is spread (Marchenko & Pastur 1967), and signal too weak to stand out of the
    spread raises its lower end. So the population spectrum τ is fitted whose sample spectra, simulated from Wishart
    matrices, match the observed one: τₖ ← τₖ ℓₖ / E[ℓₖ | τ]. The start is flat beyond the components that stand out
    from noise (Kritchman & Nadler 2009). σ² is the mean of the lowest fifth of τ. With fewer rows than columns, τ is
    the start.

    It is reliable if a fifth of the directions is free of signal. A signal with its own flat floor cannot be
    distinguished from noise. If not even the last two directions agree, there is no floor, and the lower end of the
    interval is at most half of the least variance, see :class:`NoiseLevel`.

    See Also
    --------
    from_differences : For images and signals.
    noise_level : Chooses between the estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import from_spectrum
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 30)) + 0.2 * rng.standard_normal((500, 30))
    >>> found = from_spectrum(X)
    >>> round(found.sigma, 2), found.method
    (0.2, 'spectrum')
    """
    X, rng = checked_rows(X), np.random.default_rng(random_state)
    X = _sample(X[:, np.ptp(X, axis=0) > 0], rng)  # constant columns have no noise
    n, d = X.shape[0] - 1, X.shape[1]
    values = _spectrum(X)
    if not (n >= 1 and d >= 1 and values[0] > 0):
        return NoiseLevel(0.0, 0.0, 0.0, "spectrum", "the data have no variance")
    n_signal, start = _count_signals(values, n, d)
    population = np.append(values[:n_signal], np.full(d - n_signal, start))
    if n >= d:  # with fewer rows the lower end of the spectrum is not visible
        population = _population(values, n, population, rng)
    floor, half = (float(population[-max(1, round(share * d)) :].mean()) for share in (FLOOR, FLOOR / 2))
    error = 1.5 * np.sqrt(2 / (n * max(1, FLOOR * d)) + 1 / (n * d))
    lowest = max(min(floor, 2 * half - floor), 0)
    if n >= d >= 2 and _stands_out(values, d - 2, n, d):
        lowest = min(lowest, float(population[-1]) / 2)
    sigma, lowest = np.sqrt(max(floor, 0)), np.sqrt(lowest)
    doubt = _doubt(n_signal, n, d, float(np.sqrt(half)), sigma)
    return NoiseLevel(float(sigma), float(lowest * (1 - error)), float(sigma * (1 + error)), "spectrum", doubt)


def signal_directions(X: RowsLike) -> int:
    """The number of directions of the rows that stand out of noise that is equal in all columns."""
    X = checked_rows(X)
    return _count_signals(_spectrum(X), len(X) - 1, X.shape[1])[0]


def _doubt(n_signal: int, n: int, d: int, lower: float, sigma: float) -> str:
    if d < 8 or n < 8:
        return f"{f'{d} columns' if d < 8 else f'{n + 1} rows'} are too few to tell noise from signal"
    if n_signal == 0:
        return "no signal stands out, so all variance counts as noise"
    if n_signal > (1 - FLOOR if d >= FEW_COLUMNS else 1 / 3) * min(n, d):
        return f"at least {n_signal} of {min(n, d)} directions have signal, and too few are left; sigma is at most this"
    if n < d and n_signal > max(5, 0.05 * n):
        return f"{n + 1} rows are too few for {d} columns to show all signal; sigma is at most this"
    if sigma > 1.06 * lower:
        return "the spectrum has no floor, so all directions may have signal; sigma is at most this"
    return ""


def _spectrum(X: np.ndarray) -> np.ndarray:
    """Nonzero eigenvalues of the covariance, descending."""
    centred = X - X.mean(axis=0)
    n, d = len(X) - 1, X.shape[1]
    gram = centred.T @ centred if d <= n else centred @ centred.T
    return np.maximum(np.linalg.eigvalsh(gram)[::-1][: min(n, d)], 0) / max(n, 1)


def _count_signals(values: np.ndarray, n: int, d: int) -> tuple[int, float]:
    """The number of eigenvalues too large for noise of the variance of the rest, and that variance."""
    for rank in range(len(values)):
        if not _stands_out(values, rank, n, d):
            return rank, _rest(values, rank, n, d)
    return len(values) - 1, float(values[-1])


def _rest(values: np.ndarray, rank: int, n: int, d: int) -> float:
    """The variance of the directions from ``rank`` on, if they contain only noise."""
    return float(n * values[rank:].sum() / ((d - rank) * max(n - rank, 1)))


def _stands_out(values: np.ndarray, rank: int, n: int, d: int) -> bool:
    """Whether the eigenvalue of this rank is too large for noise of the variance from this rank on.

    Kritchman & Nadler (2009), with the law of the largest eigenvalue by Johnstone (2001).
    """
    p, m = d - rank, max(n - rank, 1)
    centre = (np.sqrt(m - 0.5) + np.sqrt(p - 0.5)) ** 2
    spread = np.sqrt(centre) * (1 / np.sqrt(m - 0.5) + 1 / np.sqrt(p - 0.5)) ** (1 / 3)
    return bool(n * values[rank] > _rest(values, rank, n, d) * (centre + EDGE * spread))


def _population(values: np.ndarray, n: int, start: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A population spectrum whose sample spectra look like the observed one, as near to the start as possible.

    It stops when the observed spectrum is as far from the mean of the simulated ones as each of them is (the
    discrepancy principle): more rounds would fit its sampling error.
    """
    population = start
    draws = [_wishart_factor(n, len(start), rng) for _ in range(DRAWS)]  # the same in all rounds, for convergence
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
    """Eigenvalues of the sample covariance of one draw from a population spectrum."""
    scaled = factor * np.sqrt(population)[:, None]
    return np.maximum(np.linalg.eigvalsh(scaled @ scaled.T)[::-1], 0) / n


def _sample(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if X.shape[0] > MOST_ROWS:
        X = X[np.sort(rng.choice(X.shape[0], MOST_ROWS, replace=False))]
    if X.shape[1] > MOST_COLUMNS:
        X = X[:, np.sort(rng.choice(X.shape[1], MOST_COLUMNS, replace=False))]
    return X
