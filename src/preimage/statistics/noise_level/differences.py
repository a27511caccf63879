"""The noise level from differences of neighbours, where rows are images or signals."""

from __future__ import annotations

from math import comb

import numpy as np

from preimage._typing import RowsLike
from preimage.statistics.noise_level.level import FLOOR, NoiseLevel, checked_rows

MOST_DIFFERENCES = 2_000_000
FLAT = 1.02  # positions are flat up to this energy, relative to the lowest twentieth
PRECISION = 0.015  # the relative standard error at which differences trade bias for variance


def from_differences(X: RowsLike, shape: tuple[int, ...], *, random_state: int = 0) -> NoiseLevel:
    """σ from differences of neighbours where the rows are flat.

    The differences r (mixed, of first order along both axes, for an image; of second order for a signal) are scaled to
    the variance of the noise. They are a mixture: σε where the row is flat, and more elsewhere. For a mixture of
    Gaussians with variances σ² + s² the characteristic function is φ(t) = E exp(−t²(σ² + s²)/2), in which flat places
    dominate as t grows: −2 d log φ/d(t²) → σ². The slope is taken at the largest t that the number of differences
    allows. If positions differ, it uses those of least energy, chosen on one half of the rows for the other half.

    It is reliable if much of the rows is locally flat, or linear for signals.

    See Also
    --------
    from_spectrum : For rows of any kind.
    noise_level : Chooses between the estimates.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import from_differences
    >>> rng = np.random.default_rng(0)
    >>> signals = np.sin(np.linspace(0, 6, 200) + rng.uniform(0, 6, (50, 1)))
    >>> found = from_differences(signals + 0.2 * rng.standard_normal((50, 200)), (200,))
    >>> round(found.sigma, 2), found.method
    (0.2, 'differences')
    """
    X, rng = checked_rows(X), np.random.default_rng(random_state)
    differences = _differences(X, shape)
    if not differences.size:
        raise ValueError(f"rows of shape {shape} are too short for differences of neighbours: omit shape.")
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


def from_flat_patches(X: RowsLike, shape: tuple[int, ...]) -> NoiseLevel:
    """σ from patches of one image or signal, by differences within small blocks of the flattest patches.

    A patch is cut into blocks of 2 × 2 points (3 along a signal). The means of the blocks show how flat it is, and
    their mixed differences (a − b − c + d)/2, or (a − 2b + c)/√6, show the noise. For white Gaussian noise the two are
    independent, so choosing flat patches does not favour patches of little noise.

    It is reliable if a fifth of the patches is flat.
    """
    X = checked_rows(X)
    means, differences = patch_moments(X, shape)
    unevenness = means.var(axis=1)
    flattest = differences[unevenness <= np.quantile(unevenness, FLOOR)]
    sigma = float(np.sqrt(np.mean(np.square(flattest))))
    error = 2 * np.hypot(np.sqrt(0.5 / flattest.size), 0.01)
    doubt = f"there are only {flattest.size} differences" if flattest.size < 1000 else ""
    return NoiseLevel(sigma, sigma * (1 - error), sigma * (1 + error), "flat patches", doubt)


def patch_moments(X: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Means and differences of the blocks of every row."""
    if int(np.prod(shape)) != X.shape[1] or min(shape) < 3:
        raise ValueError(f"rows of {X.shape[1]} numbers are not patches of shape {shape} with sides of at least 3.")
    if len(shape) == 1:
        blocks = X[:, : shape[0] // 3 * 3].reshape(len(X), -1, 3)
        return blocks.mean(axis=2), blocks @ np.array([1.0, -2.0, 1.0]) / np.sqrt(6)
    height, width = (side // 2 for side in shape)
    images = X.reshape(-1, *shape)[:, : 2 * height, : 2 * width]
    blocks = images.reshape(-1, height, 2, width, 2).transpose(0, 1, 3, 2, 4).reshape(len(X), height * width, 4)
    return blocks.mean(axis=2), blocks @ np.array([1.0, -1.0, -1.0, 1.0]) / 2


def _differences(X: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Differences along all axes with the variance of the noise, one row per row of X."""
    if int(np.prod(shape)) != X.shape[1]:
        raise ValueError(f"rows of {X.shape[1]} numbers do not have the shape {shape}.")
    order = 2 if len(shape) == 1 else 1
    found = X.reshape(-1, *shape)
    for axis in range(1, found.ndim):
        found = np.diff(found, n=order, axis=axis)
    return found.reshape(len(X), -1) / np.sqrt(comb(2 * order, order) ** len(shape))


def _flat_places(differences: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Differences at the positions of least energy, chosen on the other half of the rows; all, if energies agree."""
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
    few = values[: len(values) // 4 + 1] if len(values) > 200_000 else values  # enough to find the points t
    times = [_falls_to(few, level, crude) for level in (upper, lower)]
    heights = [np.log(max(float(np.cos(t * values).mean()), 1e-6)) for t in times]
    return 2 * (heights[0] - heights[1]) / (times[1] ** 2 - times[0] ** 2)


def _falls_to(values: np.ndarray, level: float, crude: float) -> float:
    low, high = 0.0, 10 / crude
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if np.cos(middle * values).mean() > level else (low, middle)
    return (low + high) / 2
