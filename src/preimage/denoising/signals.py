"""Denoising of a single signal, of one channel or several, by groups of similar patches along time.

Every channel is divided by its noise, and all are rotated to their principal axes, which keeps the noise white; groups
are found along the first axis, the one of most variance. Patches of several lengths are tried, and Stein's estimate of
the risk decides. For a short recording it uses all samples, and the result is a weighted mean of the estimates. For a
long one it uses some parts, and the best length denoises the recording piece by piece, in memory that does not grow
with it. The unchanged signal is a candidate too, so that a signal that no estimate improves stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from preimage import progress
from preimage.denoising.groups import Search, Steps
from preimage.denoising.levels import warn_of_more
from preimage.denoising.pictures import CombinationRisk
from preimage.denoising.recording import Recording
from preimage.exceptions import NoiseLevelWarning, warn
from preimage.noise import GaussianNoise, NoiseLaw
from preimage.statistics.noise_level.along_time import FRAME, SignalNoise

PIECE, MARGIN = 2**17, 2**12  # samples denoised at once, and the margin on either side
SAMPLED, SAMPLES = 2**13, 8  # length of the parts of a long recording on which patches are tried, and their number
SHORT = 2**16  # samples up to which a recording is denoised as a whole
LENGTHS = {"quick": (64, 128), "standard": (64, 128, 256), "best": (32, 64, 128, 256)}  # of patches, by effort
LONG = (64, 128)  # lengths of patches for long recordings
REACH = 24  # window of the search, in lengths of a patch
STEP = 0.05  # length of the probe in σ
SHORTEST = 2 * FRAME  # samples needed to estimate the noise
FAR_MORE = 1.5  # warn if a given σ exceeds the estimate by this factor
FAINT = 1e-6  # noise relative to the spread of a channel, up to which there is none
ABSENT = 0.1  # share of the least that must be removed if there is noise; if less is removed, there is none
AS_IT_IS = "as it is"


@dataclass(frozen=True, eq=False)
class DenoisedSignal:
    """A denoised signal.

    Attributes
    ----------
    parts : function
        Yields the estimate, in new arrays of shape (some length, channels).
    noise : SignalNoise
        The noise of every channel.
    risk : float
        Stein's estimate of the mean squared error that remains.
    candidates : dict of floats
        The risk of every estimate that was tried, and of the unchanged signal.
    """

    parts: Callable[[], Iterator[np.ndarray]]
    noise: SignalNoise
    risk: float = 0.0
    candidates: dict[str, float] = field(default_factory=dict)


def denoised_signal(signal: Recording, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> DenoisedSignal:
    """The denoised signal; channels without noise stay unchanged.

    Parameters
    ----------
    law : NoiseLaw, optional
        The noise; None to estimate it.
    effort : one of ``EFFORTS``
    """
    noise = _estimated(signal) if law is None else _given(signal, law)
    noisy = noise.sigmas > FAINT * signal.deviations()
    if not noisy.any():
        return DenoisedSignal(lambda: _unchanged(signal), noise)
    if noisy.all():
        return _NoisySignal(signal, noise).denoised(effort, rng)
    found = _NoisySignal(signal.of(noisy), noise.of(noisy)).denoised(effort, rng)
    return replace(found, parts=lambda: _with_others(found.parts(), noisy, signal), noise=noise)


def _unchanged(signal: Recording) -> Iterator[np.ndarray]:
    return (part.copy() for part in signal.parts())


def _with_others(parts: Iterator[np.ndarray], noisy: np.ndarray, signal: Recording) -> Iterator[np.ndarray]:
    """Parts of all channels, from denoised parts of the noisy ones."""
    start = 0
    for part in parts:
        found = signal.part(start, start + len(part)).copy()
        found[:, noisy] = part
        yield found
        start += len(part)


@dataclass(frozen=True, eq=False)
class _NoisySignal:
    """A signal of which all channels are noisy."""

    signal: Recording
    noise: SignalNoise

    def denoised(self, effort: str, rng: np.random.Generator) -> DenoisedSignal:
        n = len(self.signal)
        ways = steps_to_try(effort, n)
        trial = _Trial.of([self._part(*ends) for ends in _sampled(n)], ways, rng)
        unit = float(np.mean(np.square(self.noise.sigmas)))
        candidates = {name: unit * risk for name, risk in trial.risks.items()}
        if trial.removes_nothing:
            most = unit * trial.most_removed
            return DenoisedSignal(lambda: _unchanged(self.signal), self.noise, most, {AS_IT_IS: most})
        if n <= SHORT:
            weights = trial.risk.least(len(trial.risk.slopes))
            found = self._outside(np.tensordot(weights.astype(np.float32), trial.estimates, axes=1))
            return DenoisedSignal(lambda: iter([found]), self.noise, unit * trial.risk_of(weights), candidates)
        best = min(candidates, key=candidates.__getitem__)
        steps = ways.get(best)  # None for the unchanged signal
        return DenoisedSignal(
            lambda: _unchanged(self.signal) if steps is None else self._in_pieces(steps),
            self.noise,
            candidates[best],
            candidates,
        )

    def _in_pieces(self, steps: Steps) -> Iterator[np.ndarray]:
        """The estimate of a long recording, piece by piece, with margins."""
        n = len(self.signal)
        starts = range(0, n, PIECE)
        for number, start in enumerate(starts):
            stop, first = min(start + PIECE, n), max(start - MARGIN, 0)
            with progress.part_of("pieces", number, len(starts)):
                *_, estimate = self._part(first, min(stop + MARGIN, n)).estimates(steps).values()
            yield self._outside(estimate[start - first : stop - first])

    def _part(self, start: int, stop: int) -> _Part:
        values = self.signal.part(start, stop).astype(float)
        inside = ((values - self._offset) / self.noise.sigmas) @ self._axes
        if self.noise.is_constant:
            return _Part(inside.astype(np.float32), np.ones(inside.shape[1], np.float32))
        variances = self.noise.variances(start, stop) / np.square(self.noise.sigmas)
        return _Part(inside.astype(np.float32), (variances @ np.square(self._axes)).astype(np.float32))

    def _outside(self, inside: np.ndarray) -> np.ndarray:
        values = (inside.astype(float) @ self._axes.T) * self.noise.sigmas + self._offset
        return values.astype(self.signal.dtype)

    @cached_property
    def _offset(self) -> np.ndarray:
        return self.signal.means()

    @cached_property
    def _axes(self) -> np.ndarray:
        """The principal axes of the channels in units of their noise, the one of most variance first."""
        some = self.signal.every(max(1, len(self.signal) // PIECE))
        covariance = np.atleast_2d(np.cov((some - self._offset) / self.noise.sigmas, rowvar=False))
        return np.linalg.eigh(covariance)[1][:, ::-1]


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of a signal along the axes, and the variances of its noise: one per axis, or one per value."""

    noisy: np.ndarray
    variances: np.ndarray

    def estimates(self, steps: Steps, moved: np.ndarray | float = 0.0) -> dict[str, np.ndarray]:
        """The estimates of the part, or of the part plus ``moved``."""
        return steps(self.noisy + moved, lambda estimate: self.variances)


@dataclass(frozen=True, eq=False)
class _Trial:
    """The joined estimates of some parts, and Stein's estimate of their risk and of that of their combinations."""

    estimates: list[np.ndarray]
    risk: CombinationRisk
    names: list[str]

    @classmethod
    def of(cls, parts: Sequence[_Part], ways: dict[str, Steps], rng: np.random.Generator) -> _Trial:
        found = [_stein(part, ways, rng, number, len(parts)) for number, part in enumerate(parts)]
        names = list(found[0])
        noisy = np.concatenate([part.noisy for part in parts])
        estimates = [np.concatenate([part[name][0] for part in found]) for name in names]
        sizes = [part.noisy.size / noisy.size for part in parts]
        slopes = [sum(size * part[name][1] for size, part in zip(sizes, found, strict=True)) for name in names]
        gaps = [estimate - noisy for estimate in estimates]
        return cls(estimates, CombinationRisk.of(gaps, slopes, slopes[names.index(AS_IT_IS)]), names)

    @property
    def most_removed(self) -> float:
        """The largest mean square that an estimate removes."""
        return float(np.diag(self.risk.squares).max())

    @property
    def removes_nothing(self) -> bool:
        """Whether an estimate removes far less than noise of σ would make it remove; then there is no such noise.

        Since no risk is negative, E‖f(y) − y‖²/n ≥ σ²(1 − 2 div f/n).
        """
        least = self.risk.variance - 2 * self.risk.slopes
        return bool(np.any(np.diag(self.risk.squares) < ABSENT * least))

    @property
    def risks(self) -> dict[str, float]:
        """The risk of every estimate."""
        return {name: self.risk_of(one) for name, one in zip(self.names, np.eye(len(self.names)), strict=True)}

    def risk_of(self, weights: np.ndarray) -> float:
        """The risk of a combination, but at least √(2/n)σ², the standard error of Stein's estimate from n values."""
        return max(self.risk(weights), float(np.sqrt(2 / self.estimates[0].size)) * self.risk.variance)


def _stein(part: _Part, ways: dict[str, Steps], rng, number: int, n_parts: int) -> dict[str, tuple[np.ndarray, float]]:
    """Every estimate of a part, with the mean of its slope times the variance, tr(V ∂f/∂y)/n."""
    size = np.sqrt(np.broadcast_to(part.variances, part.noisy.shape))
    probe = np.where(rng.random(part.noisy.shape) < 0.5, -size, size)
    found = {AS_IT_IS: (part.noisy, float(np.mean(np.square(size), dtype=float)))}
    for way, (length, steps) in enumerate(ways.items()):
        with progress.part_of("patches", 2 * (number * len(ways) + way), 2 * n_parts * len(ways)):
            still = part.estimates(steps)
        with progress.part_of("patches", 2 * (number * len(ways) + way) + 1, 2 * n_parts * len(ways)):
            moved = part.estimates(steps, STEP * probe)
        for name in still:
            slope = float(np.mean(probe * (moved[name] - still[name]), dtype=float)) / STEP
            found[length if len(still) == 1 else f"{length}, {name}"] = (still[name], slope)
    return found


def _estimated(signal: Recording) -> SignalNoise:
    if len(signal) < SHORTEST:
        warn(f"a signal of {len(signal)} samples is too short to estimate its noise: give noise=σ.", NoiseLevelWarning)
        return SignalNoise.given(0.0, signal.n_channels)
    noise = SignalNoise.estimated(signal.part, len(signal))
    if rough := sum(track.is_rough for track in noise.tracks):
        warn(
            f"{rough} of {len(noise.tracks)} channels are rough by themselves, as a random walk is: less is removed "
            "there; give the level with noise=.",
            NoiseLevelWarning,
        )
    return noise


def _given(signal: Recording, law: NoiseLaw) -> SignalNoise:
    """The given noise, with a warning if it far exceeds the noise in the signal."""
    if not (isinstance(law, GaussianNoise) and law.clip is None):
        raise ValueError(
            f"only Gaussian noise can be removed from a single signal, not {law!r}: give noise=σ or a GaussianNoise."
        )
    shown = SignalNoise.estimated(signal.part, len(signal)).sigma if len(signal) >= SHORTEST else np.inf
    if 0 < FAR_MORE * shown < law.sigma:
        warn_of_more("the signal shows", shown, law.sigma)
    return SignalNoise.given(law.sigma, signal.n_channels)


def steps_to_try(effort: str, n: int) -> dict[str, Steps]:
    """The steps to try on a signal of n samples, by the length of patches; only two steps if it is long."""
    lengths = LONG if n > SHORT else LENGTHS[effort]
    thorough = n <= SHORT and effort != "quick"
    return {f"patches of {length}": _thorough(length) if thorough else _quick(length) for length in lengths}


def _quick(length: int) -> Steps:
    reach = REACH * length
    return Steps(Search(length, 16, reach, 3 * length // 4), Search(length, 32, reach, 5 * length // 8))


def _thorough(length: int) -> Steps:
    reach, stride = REACH * length, length // 2
    similar = Search(length, 64, reach, stride)
    return Steps(Search(length, 18, reach, stride), similar, similar, 4, 4)


def _sampled(n: int) -> list[tuple[int, int]]:
    """The ends of the parts of a signal of n samples on which patches are tried."""
    if n <= SHORT:
        return [(0, n)]
    return [(int(start), int(start) + SAMPLED) for start in np.linspace(0, n - SAMPLED, SAMPLES)]
