"""An upper bound of Gaussian noise from the distributions of the columns."""

from __future__ import annotations

import numpy as np

from preimage._typing import RowsLike
from preimage.statistics.noise_level.level import NoiseLevel, checked_rows

__all__ = ["from_frequencies", "least_steps", "tied_shares"]

FREQUENCIES = np.geomspace(1, 100, 32)  # in units of 1 / standard deviation
MOST_ROWS, MOST_COLUMNS, FEWEST_ROWS = 4000, 64, 40
TIED = 0.1  # share of rows with one value, above which a column holds levels, counts or gaps, not rounded noise
CHANCE = 0.01  # probability that any |φ| in the search exceeds its sampling error although φ is 0
ERRORS = 2.0  # standard errors subtracted from |φ|
DOUBT = "the distributions of the columns exclude more Gaussian noise; sigma is at most this"


def from_frequencies(X: RowsLike, *, random_state: int = 0) -> NoiseLevel:
    """An upper bound of σ for rows x + σε with Gaussian ε and any law of x.

    The characteristic function φ(t) = E exp(ity) of a column y is at most exp(−σ²t²/2) in absolute value, so

        σ² ≤ −2 log|φ(t)| / t²      for all t

    For Gaussian columns the bound is their variance; the less Gaussian x is, the nearer it comes to σ. One half of the
    rows chooses column and frequency, and the other half gives the bound, with the modulus of φ reduced by two standard
    errors. Columns that often repeat a value cannot have such noise and are ignored.

    The lower end of the interval is half of that variance, see :class:`NoiseLevel`.

    See Also
    --------
    from_spectrum : An estimate from correlated columns.
    noise_level : Uses the lower of both.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import from_frequencies
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([0.0, 1.0, 4.0], (2000, 3)) + 0.2 * rng.standard_normal((2000, 3))
    >>> bool(0.2 < from_frequencies(X).sigma < 0.25)
    True
    """
    X, rng = checked_rows(X), np.random.default_rng(random_state)
    X, sigma = X[np.sort(rng.permutation(len(X))[:MOST_ROWS])], float(X.std(axis=0).max(initial=0.0))
    X = X[:, (np.ptp(X, axis=0) > 0) & (tied_shares(X) < TIED)]
    X = X[:, np.sort(rng.permutation(X.shape[1])[:MOST_COLUMNS])]
    if X.size and len(X) >= FEWEST_ROWS:
        order, steps = rng.permutation(len(X)), least_steps(X)
        halves = X[order[::2]], X[order[1::2]]
        sigma = min(sigma, float(np.mean([_bound(*pair, steps) for pair in (halves, halves[::-1])])))
    return NoiseLevel(sigma, sigma / np.sqrt(2), sigma, "frequencies", DOUBT)


def least_steps(X: np.ndarray) -> np.ndarray:
    """The least distance of two different values in every column; 0 for a constant column."""
    gaps = np.diff(np.sort(X, axis=0), axis=0)
    least: np.ndarray = np.where(gaps > 0, gaps, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)


def tied_shares(X: np.ndarray) -> np.ndarray:
    """The share of rows with the most frequent value, for every column."""
    return np.array([np.unique(column, return_counts=True)[1].max() / len(column) for column in X.T])


def _bound(ours: np.ndarray, theirs: np.ndarray, steps: np.ndarray) -> float:
    """The upper bound of σ from the rows of ``theirs``, at the column and frequency that are best for ``ours``.

    Below t = π/2 divided by the step, rounding has no effect.
    """
    frequencies = FREQUENCIES / ours.std(axis=0)[:, None]
    sizes = np.stack([_size(column, t) for column, t in zip(ours.T, frequencies, strict=True)])
    by_chance = np.sqrt(np.log(sizes.size / CHANCE) / len(ours))  # n|φ̂|² is exponential where φ is 0
    allowed = frequencies * steps[:, None] <= np.pi / 2
    found = np.where(allowed, _noise(sizes - by_chance, frequencies), np.inf)
    column, place = np.unravel_index(np.argmin(found), found.shape)
    t = frequencies[column, place : place + 1]
    return float(_noise(_size(theirs[:, column], t) - ERRORS / np.sqrt(2 * len(theirs)), t)[0])


def _size(values: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """|φ| at every frequency."""
    n = len(values)
    square = np.square(np.abs(np.exp(1j * np.outer(frequencies, values)).mean(axis=1)))
    return np.sqrt(np.maximum(n * square - 1, 0) / (n - 1))


def _noise(sizes: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The largest σ that allows |φ| of these sizes; infinite where they are not positive."""
    with np.errstate(divide="ignore"):
        return np.sqrt(-2 * np.log(np.maximum(sizes, 0))) / frequencies
