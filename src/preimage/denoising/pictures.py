"""Denoising of a single image by groups of similar patches, with an estimate of the remaining error.

An orthonormal cosine transform turns the channels into their mean and differences, for three the opponent colours, and
groups are found in the mean. Stein's formula estimates the remaining error, from a second estimate of the image with a
small probe added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy.fft import dct
from scipy.ndimage import gaussian_filter

from preimage import progress
from preimage.denoising import coarse, on_groups
from preimage.denoising.groups import Search, Steps, Variance
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.pieces import middle
from preimage.noise import NoiseLaw

EFFORTS = ("quick", "standard", "best")
MOST_POINTS, TILE, MARGIN = 1_500_000, 768, 48  # most points of an image without tiles; side and margin of tiles
STEP = 0.15  # length of the probe in σ: shorter probes give noisier slopes
EXCESS = {"quick": 0.036, "standard": 0.033, "best": 0.024}  # slope minus risk, relative to the variance
SPREAD = 0.1  # standard error of the risk implied by the slope, relative to the slope
LEAST = 0.1  # least risk relative to the slope, as for white noise alone
BLUR = 1.5  # width of the blur that replaces the first estimate
FINE, MIDDLE = 0.07, 0.15  # noise relative to the range up to which patches are small, and medium
PAPER, CONTRAST = 0.8, 1.75  # least share of a drawing within 2σ of its median, and least spread of its values in σ
ENOUGH = 1024  # side of the middle part of an image from which the plan is made
WIDE = 61  # corners along a window in drawings, where letters repeat far away


@dataclass(frozen=True, eq=False)
class DenoisedImage:
    """A denoised image.

    Attributes
    ----------
    image : array
        The estimate.
    risk : float
        Its estimated mean squared error.
    candidates : dict of floats
        The risk of every estimate in the combination.
    noise : NoiseLaw, optional
        The noise that was removed.
    """

    image: np.ndarray
    risk: float
    candidates: dict[str, float]
    noise: NoiseLaw | None = None


@dataclass(frozen=True, eq=False)
class NoisyPicture:
    """A noisy image of shape (grid…, channels), and the law of its noise."""

    image: np.ndarray
    curve: NoiseCurve

    def plan(self, effort: str) -> PicturePlan:
        """The plan that suits the middle part of the image, the same for all tiles."""
        seen = replace(self, image=self.image[middle(self.image.shape[:-1], ENOUGH)])
        return PicturePlan(effort, seen._level, seen._is_drawn, self.curve.doubt)

    def denoised(self, plan: PicturePlan, rng: np.random.Generator) -> DenoisedImage:
        """The estimate by patches, with its risk."""
        inside = ((self.image - self._offset) @ self._basis.T).astype(np.float32)
        found = combined(inside, self._variances, plan, rng)
        return replace(found, image=self.curve.undone(self._means(found.image)).astype(self.image.dtype))

    @cached_property
    def _basis(self) -> np.ndarray:
        return dct(np.eye(self.image.shape[-1]), norm="ortho", axis=0)

    @cached_property
    def _offset(self) -> np.ndarray:
        return self.image.mean(axis=tuple(range(self.image.ndim - 1)), dtype=float)

    @property
    def _level(self) -> float:
        """The noise relative to the range of the image."""
        blurred = gaussian_filter(self.image.mean(axis=-1), 2.0)
        variance = float(np.mean(self.curve.variance(blurred)))
        return float(np.sqrt(variance)) / max(float(np.ptp(blurred)), np.sqrt(variance))

    @property
    def _is_drawn(self) -> bool:
        """Whether most of the image has one level, such as paper, and the rest differs clearly from it."""
        grey = self.image.mean(axis=-1)
        paper = np.median(grey)
        sigma = np.sqrt(self.curve.variance(paper) / self.image.shape[-1])
        return bool(np.mean(np.abs(grey - paper) < 2 * sigma) > PAPER and grey.std() > CONTRAST * sigma)

    def _means(self, inside: np.ndarray) -> np.ndarray:
        return inside.astype(float) @ self._basis + self._offset

    def _variances(self, estimate: np.ndarray | None) -> np.ndarray:
        """The noise variances, one per channel or one per value."""
        if self.curve.is_constant:
            return np.full(self.image.shape[-1], self.curve.floor, dtype=np.float32)
        if estimate is None:
            means = gaussian_filter(self.image, (*(BLUR,) * (self.image.ndim - 1), 0))
        else:
            means = self._means(estimate)
        return (self.curve.variance(means) @ np.square(self._basis).T).astype(np.float32)


def in_tiles(denoise: Callable[[np.ndarray], DenoisedImage], image: np.ndarray) -> DenoisedImage:
    """The result of a function on an image; a large image is cut into tiles with margins."""
    grid = image.shape[:-1]
    sides = [length if np.prod(grid) <= MOST_POINTS else min(TILE, length) for length in grid]
    starts = [range(0, length, side) for length, side in zip(grid, sides, strict=True)]
    corners = list(product(*starts))
    if len(corners) == 1:
        return denoise(image)
    found, risk, candidates = np.empty(image.shape, dtype=np.float32), 0.0, dict[str, float]()
    for number, corner in enumerate(corners):
        inner = [slice(at, min(at + side, n)) for at, side, n in zip(corner, sides, grid, strict=True)]
        outer = [slice(max(part.start - MARGIN, 0), part.stop + MARGIN) for part in inner]
        cut = tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(inner, outer, strict=True))
        with progress.part_of("tiles", number, len(corners)):
            tile = denoise(image[tuple(outer)])
        found[tuple(inner)] = tile.image[cut]
        share = float(np.prod([part.stop - part.start for part in inner]) / np.prod(grid))
        risk += share * tile.risk
        candidates = {name: candidates.get(name, 0.0) + share * value for name, value in tile.candidates.items()}
    return DenoisedImage(found, risk, candidates)


@dataclass(frozen=True)
class PicturePlan:
    """Settings for denoising an image.

    Parameters
    ----------
    effort : one of ``EFFORTS``
    level : float
        The noise relative to the range of the image.
    drawn : bool
        Whether it is a drawing or text.
    doubt : float
        The relative standard error of the variance of the noise.
    """

    effort: str
    level: float
    drawn: bool = False
    doubt: float = 0.0

    @property
    def steps(self) -> Steps:
        """The steps that denoise the image."""
        side = 7 if self.level <= FINE else 9 if self.level <= MIDDLE else 11
        if self.effort == "quick":
            steps = Steps(Search(side, 16, 21, 7), Search(7, 32, 21, 7))
        elif self.effort == "standard":
            steps = Steps(Search(side, 18, 31, 5), Search(7, 64, 31, 5), Search(6, 64, 37, 6), 4, 4)
        else:
            first, second, last = Search(side, 18, 37, 4), Search(7, 64, 37, 4), Search(9, 90, 37, 5)
            steps = Steps(first, second, Search(6, 64, 45, 4), 6, 3, last)
        return steps.each(lambda search: replace(search, window=WIDE)) if self.drawn else steps


def combined(
    noisy: np.ndarray,
    variances: Variance,
    plan: PicturePlan,
    rng: np.random.Generator,
    weights: np.ndarray | float = 1.0,
) -> DenoisedImage:
    """The estimates by patches, combined with the nonnegative weights of least Stein risk.

    Parameters
    ----------
    noisy : array of shape (grid…, channels)
        The image; groups are found in the first channel.
    variances : callable
        As in :class:`preimage.denoising.groups.Steps`.
    weights : float, or an array with one number per channel
        The weights of the channels' squared errors in the risk, which is a mean over all values.
    """
    probe = np.where(rng.random(noisy.shape) < 0.5, -1, 1).astype(np.float32)
    size = np.sqrt(np.broadcast_to(variances(None), noisy.shape)).astype(np.float32)
    starts = noisy, noisy + STEP * size * probe
    with progress.part_of("patches", 0, 2):
        still = _estimates(noisy, variances, plan)
    with progress.part_of("patches", 1, 2):
        moved = _estimates(starts[1], lambda estimate: (1 + STEP**2) * variances(estimate), plan)  # the probe is noise
    n_groups = len(still)
    if plan.effort == "best" and np.ptp(size) == 0 and on_groups.fits(noisy.shape[:-1]):
        groups = np.stack([still["two steps"], moved["two steps"]])
        still["kernel"], moved["kernel"] = on_groups.by_kernel(np.stack(starts), groups, float(size.flat[0]), STEP, rng)
    counted = np.broadcast_to(weights, noisy.shape[-1:]).astype(np.float32)
    gaps = [np.sqrt(counted) * (estimate - noisy) for estimate in still.values()]
    changes = (counted * size * probe * (moved[name] - still[name]) for name in still)
    slopes = [float(np.mean(change, dtype=float)) / STEP for change in changes]
    risk = CombinationRisk.of(gaps, slopes, float(np.mean(counted * np.square(size), dtype=float)))
    best = risk.least(n_groups)
    weighted = zip(best, still.values(), strict=True)
    image = np.sum([np.float32(weight) * estimate for weight, estimate in weighted], axis=0)
    error = float(np.hypot(plan.doubt, np.sqrt(2 / noisy.size)))
    *alone, found = (risk.estimate(mean, EXCESS[plan.effort], error) for mean in (*np.eye(len(still)), best))
    return DenoisedImage(image, found, dict(zip(still, alone, strict=True)))


def _estimates(noisy: np.ndarray, variances: Variance, plan: PicturePlan) -> dict[str, np.ndarray]:
    """The estimates of all steps; unless quick, also the last one with the lowest frequencies of the coarse image."""
    found = plan.steps(noisy, variances)
    if plan.effort != "quick" and coarse.fits(noisy.shape[:-1]):
        *_, last = found.values()
        at_quarter = replace(plan, level=plan.level / coarse.QUARTER)
        found["coarse"] = coarse.with_coarse_frequencies(last, noisy, variances(last), at_quarter.steps)
    return found


@dataclass(frozen=True, eq=False)
class CombinationRisk:
    """Stein's estimate of the error of a weighted mean of estimates fᵢ.

    ‖Σ wᵢfᵢ − y‖² + 2 Σ wᵢ tr(V ∂fᵢ/∂y) − tr V, each a mean over all values
    """

    squares: np.ndarray
    slopes: np.ndarray
    variance: float

    @classmethod
    def of(cls, gaps: Sequence[np.ndarray], slopes: Sequence[float], variance: float) -> CombinationRisk:
        """The risk from the gaps fᵢ − y and the slopes of the estimates."""
        flat = [np.ravel(gap) for gap in gaps]
        return cls(np.array([[float(a @ b) / a.size for b in flat] for a in flat]), np.array(slopes), variance)

    def __call__(self, weights: np.ndarray) -> float:
        return float(weights @ self.squares @ weights + 2 * self.slopes @ weights - self.variance)

    def estimate(self, weights: np.ndarray, excess: float, error: float) -> float:
        """The reported risk: Stein's estimate and the one implied by the slope, each weighted by its accuracy.

        Stein's estimate has the full relative ``error`` of the variance: that of its estimate, and that of chance,
        √(2/n) for n values. The mean of the truth given y has the risk tr(V ∂f/∂y) (Tweedie), which hardly depends on
        it. Ours is lower, by the share ``excess`` of the variance: similar patches also have similar noise, which
        raises the slope but not the risk.
        """
        slope = max(float(self.slopes @ weights), 0.0)
        expected = slope - excess * self.variance
        trust = 1 / (1 + (error * self.variance / max(SPREAD * slope, 1e-12 * self.variance)) ** 2)
        return max(expected + trust * (self(weights) - expected), LEAST * slope)

    def least(self, n_groups: int) -> np.ndarray:
        """The nonnegative weights of least risk for the first ``n_groups`` estimates, with sum 1.

        A further estimate gets half of the weight if that lowers the risk. It gets no more, because Stein's formula is
        too optimistic about it: its inputs were matched in the same noise. It is left out if its slope is negative,
        since no mean of the truth given y has a negative slope.
        """
        rest = np.zeros(len(self.slopes) - n_groups)
        corners = _corners(self.squares[:n_groups, :n_groups], self.slopes[:n_groups])
        best = min((np.append(weights, rest) for weights in corners), key=self)
        halved = np.append(0.5 * best[:n_groups], rest + 0.5)
        return halved if rest.size and self.slopes[-1] > 0 and self(halved) < self(best) else best


def _corners(squares: np.ndarray, slopes: np.ndarray):
    """The weights of least risk on every face of the simplex, if they lie inside the face."""
    m = len(slopes)
    for number in range(1, 2**m):
        face = [i for i in range(m) if number >> i & 1]
        k = len(face)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k], system[:k, k], system[k, :k] = 2 * squares[np.ix_(face, face)], 1, 1
        found = np.linalg.lstsq(system, np.append(-2 * slopes[face], 1), rcond=None)[0][:k]
        if (found >= 0).all():
            weights = np.zeros(m)
            weights[face] = found / found.sum()
            yield weights
