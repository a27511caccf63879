"""Tables, whose columns have different units and noise levels, scaled so that all have the same noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import erf

from preimage.denoising.learning import Learner, in_units
from preimage.denoising.stack import Stack
from preimage.denoising.views import Images
from preimage.exceptions import NoiseLevelWarning, silenced, warn
from preimage.noise import NoiseLaw
from preimage.statistics.noise_level import noise_level
from preimage.statistics.noise_level.frequencies import least_steps, tied_shares
from preimage.statistics.noise_level.spectrum import from_spectrum, signal_directions
from preimage.statistics.risk import Sure

__all__ = ["ColumnRisk", "ColumnUnits", "DenoisedTable", "column_noise", "given_noise"]

FEWEST_COLUMNS, FEWEST_ROWS = 3, 10  # needed to estimate the noise of a table
MOST_FOR_STEPS = 2000  # rows in which steps and ties are looked for
ROUGH = 3.0  # standard errors by which differences of neighbouring rows exceed white noise in a rough series
SERIES = 0.3  # most variance of such differences in a series, relative to that of the columns
TIES = 2.0  # standard errors by which a value is more frequent than noise allows
EVEN = 1e-3  # most deviation of the steps of an evenly spaced column, relative to their mean
MOST_DEVIATIONS = 8.0  # robust deviations from the median, beyond which a value is an outlier and clipped
WORTH = 0.99  # a column is denoised only if less than this share of its noise remains
FARTHEST = 5.0  # most change in σ: noise hardly ever exceeds it
NORMAL = 1.4826  # ratio of the standard deviation of a normal law to its median absolute deviation


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """z = (x − offset) / scale, column by column; noise has the standard deviation ``sigma`` in all columns of z.

    Attributes
    ----------
    offset, scale, deviation, noise : arrays of shape (d,)
        The deviation and the noise of a column are in its own units; a constant column has the deviation 1.
    used : boolean array
        The columns used: not constant, not evenly spaced, and with noise.
    reach : array
        The bounds in z beyond which a value is an outlier.
    sigma : float
        The noise in z.
    """

    offset: np.ndarray
    scale: np.ndarray
    deviation: np.ndarray
    noise: np.ndarray
    used: np.ndarray
    reach: np.ndarray
    sigma: float

    @classmethod
    def of(cls, X: np.ndarray, noise: np.ndarray) -> ColumnUnits:
        """The units of columns with this noise; if no column has noise, their standard deviations."""
        deviation = X.std(axis=0, dtype=float)
        noisy = noise > 1e-6 * deviation
        used = (deviation > 0) & ~_evenly_spaced(X) & (noisy if noisy.any() else True)
        shares = noise[used] / deviation[used] if noisy.any() else np.zeros(0)
        sigma = float(np.sqrt(np.mean(np.square(shares)))) if shares.size else 0.0
        scale = np.where(used, noise / sigma if sigma else deviation, 1.0)
        offset = X.mean(axis=0, dtype=float)
        median = np.median(X, axis=0)
        spread = NORMAL * np.median(np.abs(X - median), axis=0)
        reach = MOST_DEVIATIONS * np.maximum(spread, noise) / scale + np.abs(median - offset) / scale
        unit = np.where(deviation > 0, deviation, 1.0)
        return cls(offset, scale, unit, noise, used, np.where(spread > 0, reach, np.inf), sigma)

    def inside(self, images: Images) -> Images:
        """Rows in these units, with outliers clipped and unused columns 0."""
        z = np.clip((images - self.offset) / self.scale, -self.reach, self.reach)
        return np.where(self.used, z, 0).astype(np.float32)

    def outside(self, images: Images) -> Images:
        """Rows in the units of the columns, in double precision."""
        return self.offset + self.scale * images.astype(float)

    def cleaned(self, images: Images, denoise: Callable[[Images], Images], changed: np.ndarray) -> Images:
        """The denoised rows: the change of their clipped values is added to the rows; other columns stay unchanged."""
        moved = self.scale * self.change(self.inside(images), denoise)
        return np.where(changed & self.used, images + moved, images).astype(images.dtype)

    def change(self, inside: Images, denoise: Callable[[Images], Images]) -> np.ndarray:
        """The change that ``denoise`` makes, clipped to ``FARTHEST`` σ, since noise hardly ever exceeds that."""
        farthest = FARTHEST * self.sigma if self.sigma else np.inf
        return np.clip((denoise(inside) - inside).astype(float), -farthest, farthest)


@dataclass(frozen=True, eq=False)
class DenoisedTable:
    """A stack that denoises tables, in the units of their columns.

    Attributes
    ----------
    units : ColumnUnits
    stack : Stack
        In these units.
    columns : tuple of ColumnRisk
        The effect on each column.
    """

    units: ColumnUnits
    stack: Stack
    columns: tuple[ColumnRisk, ...]

    @classmethod
    def from_noisy(cls, rows: Images, noise: np.ndarray, learner: Learner, rng: np.random.Generator) -> DenoisedTable:
        """The denoiser learned from rows with this noise in their columns."""
        units = ColumnUnits.of(rows[:, 0], noise)
        if not units.sigma:
            return cls(units, Stack(risk=0.0), tuple(ColumnRisk(sigma, sigma, 0.0, False) for sigma in noise.tolist()))
        stack = learner.from_noisy(units.inside(rows), units.sigma, rng)
        return cls(units, stack, column_risks(units, rows, stack, rng))

    @classmethod
    def from_clean(cls, rows: Images, law: NoiseLaw, learner: Learner, rng: np.random.Generator) -> DenoisedTable:
        """The denoiser learned from clean rows, for this noise."""
        noisy = law(rows, rng)
        noise = np.sqrt(np.mean(np.square(noisy - rows), axis=(0, 1), dtype=float))
        units = replace(ColumnUnits.of(rows[:, 0], np.zeros(rows.shape[-1])), noise=noise)
        stack = learner.from_clean(units.inside(rows), in_units(law, units), rng)
        left = np.sqrt(np.mean(np.square(units.cleaned(noisy, stack, units.used) - rows), axis=(0, 1), dtype=float))
        return cls(units, stack, _by_column(noise, left, noise, units.used & (left < WORTH * noise)))

    @property
    def levels(self) -> tuple[Any, ...]:
        """The levels of the stack."""
        return self.stack.levels

    @property
    def risk(self) -> float:
        """The mean squared error that remains, in units of the columns' standard deviations."""
        shares = np.array([column.remaining for column in self.columns]) / self.units.deviation
        return float(np.mean(np.square(shares)))

    def __call__(self, rows: Images) -> Images:
        """The denoised rows, in the units of their columns."""
        return self.units.cleaned(rows, self.stack, np.array([column.cleaned for column in self.columns]))


@dataclass(frozen=True)
class ColumnRisk:
    """The effect on one column, in its own units.

    Attributes
    ----------
    noise : float
        The noise of the column.
    remaining : float
        The expected root mean squared error after denoising.
    removed : float
        The root mean square of the change.
    cleaned : bool
        Whether the column was changed.
    """

    noise: float
    remaining: float
    removed: float
    cleaned: bool


def column_noise(X: np.ndarray) -> np.ndarray:
    """σ of every column, from the rows alone.

    If neighbouring rows differ little, as in a time series, it comes from second differences along the rows, as far as
    these are independent between columns. Otherwise the noise is assumed to be the same share of every standard
    deviation. That is the :func:`noise_level` of the standardised rows, the lower end of its interval if doubtful, or 0
    if no signal stands out. Columns of levels, or with a frequent value, have no noise: it would spread their values.
    """
    deviation, varies = X.std(axis=0, dtype=float), (np.ptp(X, axis=0) > 0) & ~_evenly_spaced(X)
    found = np.zeros(X.shape[1])
    if len(X) < FEWEST_ROWS or not varies.any():
        return found
    Z = (X[:, varies] - X[:, varies].mean(axis=0)) / deviation[varies]
    steps = np.diff(Z, n=2, axis=0) / np.sqrt(6)
    sizes = NORMAL * np.median(np.abs(steps), axis=0)
    if np.mean(np.square(sizes)) < SERIES:
        found[varies] = deviation[varies] * np.minimum(sizes, _whitest(steps, sizes)) * _own_share(steps)
    elif varies.sum() >= FEWEST_COLUMNS:
        found[varies] = deviation[varies] * _floor(Z)
    else:
        warn(
            "the noise of fewer than three columns can be estimated only for series: give noise=σ.",
            NoiseLevelWarning,
        )
    return np.where(_without_noise(X[:MOST_FOR_STEPS], found), 0.0, found)


def _without_noise(X: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Columns that cannot have noise of this σ: their steps are wider, or one value is more frequent than it allows.

    Values x + σε rounded to steps of h agree with a probability of at most erf(h/(2√2σ)).
    """
    steps, tied = least_steps(X), tied_shares(X)
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = erf(steps / (np.sqrt(8) * sigma))
    return (sigma < steps / 2) | (tied - TIES * np.sqrt(tied / len(X)) > allowed)


def _floor(Z: np.ndarray) -> float:
    """The noise of standardised columns.

    If the estimate is doubtful, only part of the variation that the columns do not share counts as noise: the less they
    share, the smaller that part.
    """
    if not signal_directions(Z):
        warn(
            "the columns are not correlated, so noise and signal look alike and nothing is removed: give noise=σ.",
            NoiseLevelWarning,
        )
        return 0.0
    with silenced(NoiseLevelWarning):
        found = noise_level(Z)
    if found.trusted:
        return found.sigma
    assumed = found.low * max(0.0, 1 - found.sigma**4)
    warn(
        f"the noise level of the columns is doubtful: at most {found.sigma:.2g} of their standard deviations, of which "
        f"{assumed:.2g} is assumed. {found.doubt.capitalize()}. If you know the noise, give noise=σ.",
        NoiseLevelWarning,
    )
    return assumed


def _whitest(steps: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """σ of columns whose signal is rough, from second differences Δ²/√6; infinite for others.

    White noise has E Δ²yₜ Δ²yₜ₊₂ = σ², and the steps of a random walk add nothing to it. A column is rough if the
    variance of its differences clearly exceeds that, or somewhat exceeds it if all columns together are clearly rough.
    """
    products = 6 * steps[:-2] * steps[2:]
    blocks = np.array([part.mean(axis=0) for part in np.array_split(products, max(2, round(np.sqrt(len(products)))))])
    variance, error = blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks))
    excess = np.square(sizes) - variance
    together = excess.sum() > ROUGH * np.sqrt(np.square(error).sum())
    rough = excess > error * (1 if together else ROUGH)
    if rough.any():
        warn(
            f"neighbouring rows differ by more than white noise in {int(rough.sum())} of {rough.size} columns: less is "
            "removed there; give the level with noise=.",
            NoiseLevelWarning,
        )
    return np.where(rough, np.sqrt(np.maximum(variance, 0)), np.inf)


def _own_share(steps: np.ndarray) -> float:
    """The share of the differences of neighbouring rows that is independent between columns, at most 1."""
    sizes = steps.std(axis=0)
    if steps.shape[1] < FEWEST_COLUMNS or not np.all(sizes > 0):
        return 1.0
    apart = steps[::3] / sizes  # differences that share no row
    if not signal_directions(apart):
        return 1.0
    found = from_spectrum(apart)
    if found.doubt:
        warn(
            f"neighbouring rows differ by more than noise, whose level is doubtful: {found.doubt}. Give noise=σ.",
            NoiseLevelWarning,
        )
    return min(1.0, found.careful)


def _evenly_spaced(X: np.ndarray) -> np.ndarray:
    """Columns that rise or fall in equal steps, such as time and row numbers."""
    if len(X) < 3:
        return np.zeros(X.shape[1], dtype=bool)
    steps = np.diff(X, axis=0)
    mean = steps.mean(axis=0)
    return (mean != 0) & (np.abs(steps - mean).max(axis=0) <= EVEN * np.abs(mean))


def column_risks(
    units: ColumnUnits, rows: Images, denoise: Callable[[Images], Images], rng: np.random.Generator
) -> tuple[ColumnRisk, ...]:
    """The effect on every column by Stein's estimate; a column without gain is left unchanged.

    The risk of column j is E(fⱼ(y) − yⱼ)² − σ² + 2σ² E∂fⱼ/∂yⱼ, but at least (√E(fⱼ(y) − yⱼ)² − σ)²: a change beyond the
    noise level is an error.
    """
    inside, sigma = units.inside(rows), units.sigma
    probe = rng.choice(np.array([-1.0, 1.0], dtype=np.float32), size=inside.shape)
    step = np.float32(Sure.step * sigma)
    change, moved = (units.change(images, denoise) for images in (inside, inside + step * probe))
    axes = tuple(range(inside.ndim - 1))
    slopes = 1 + np.mean((moved - change) * probe, axis=axes) / step
    removed = np.mean(np.square(change), axis=axes)
    risks = np.maximum(removed - sigma**2 + 2 * sigma**2 * slopes, np.square(np.maximum(np.sqrt(removed) - sigma, 0)))
    cleaned = units.used & (risks < (WORTH * sigma) ** 2)
    return _by_column(units.noise, units.scale * np.sqrt(risks), units.scale * np.sqrt(removed), cleaned)


def _by_column(noise, remaining, removed, cleaned: np.ndarray) -> tuple[ColumnRisk, ...]:
    """The effect on every column; a column that is not cleaned keeps its noise."""
    parts = noise, np.where(cleaned, remaining, noise), np.where(cleaned, removed, 0.0), cleaned
    return tuple(map(ColumnRisk, *(part.tolist() for part in parts)))


def given_noise(noise: Any, d: int) -> np.ndarray:
    """One σ per column from a number or an array."""
    found = np.asarray(noise, dtype=float)
    if found.shape not in ((), (1,), (d,)) or not np.all(np.isfinite(found) & (found >= 0)):
        raise ValueError(f"noise must be one σ ≥ 0, or {d} values for {d} columns, not {noise!r}.")
    return np.array(np.broadcast_to(found, (d,)))
