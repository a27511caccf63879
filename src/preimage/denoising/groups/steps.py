"""Denoising of an image in two or more steps, by ridge regression within groups of similar patches.

The *first* step finds groups in the noisy image and denoises them by Stein's estimate. The *second* step finds groups
in this estimate, which then replaces the truth in the regression (Herbreteau & Kervrann 2022, NL-Ridge). *Gradual*
steps follow. Each removes a part of the noise, so that groups and pilot improve before the last noise is removed
(Herbreteau & Kervrann 2024, LIChI).

All channels are denoised one by one, in the groups of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preimage import progress
from preimage.denoising.groups.matching import PatchGroups, Search, find_groups
from preimage.denoising.groups.ridge import by_pilot, by_stein

EXTRA = 0.05  # α of the first step
LEFT = 0.75  # share of the noise with which the gradual steps begin

Variance = Callable[[np.ndarray | None], np.ndarray]


@dataclass(frozen=True)
class Steps:
    """The steps that denoise an image; searches adapt to its shape, see :meth:`Search.within`.

    Parameters
    ----------
    first, second : Search
        The search for groups in these steps.
    gradual : Search, optional
        The search in gradual steps, if there are any.
    n_gradual : int
        The number of gradual steps.
    renew : int
        The number of gradual steps between searches.
    last : Search, optional
        The search in one more step like the second, with the gradual estimate as the pilot.
    """

    first: Search
    second: Search
    gradual: Search | None = None
    n_gradual: int = 0
    renew: int = 2
    last: Search | None = None

    def __call__(self, noisy: np.ndarray, variance: Variance) -> dict[str, np.ndarray]:
        """The estimates of an image of shape (grid…, channels), in single precision, by name.

        There is one of the second step and, if the steps exist, one of the gradual steps and one of the last step.

        Parameters
        ----------
        noisy : array
            The image; groups are found in its first channel.
        variance : callable
            From an estimate of the image, None at first, to the variances of the noise: an array of its shape, or one
            per channel if the noise is the same everywhere.
        """
        noisy = noisy.astype(np.float32, copy=False)
        estimate = _one_step(partial(by_stein, extra=EXTRA), self.first, variance(None), noisy)
        progress.report("patches", 1, self.n_steps)
        estimate = _one_step(by_pilot, self.second, variance(estimate), estimate, noisy)
        progress.report("patches", 2, self.n_steps)
        found = {"two steps": estimate}
        if self.gradual:
            found["gradual"] = estimate = self._gradual(noisy, estimate, variance(estimate))
        if self.last:
            found["again"] = _one_step(by_pilot, self.last, variance(estimate), estimate, noisy)
            progress.report("patches", self.n_steps, self.n_steps)
        return found

    @property
    def n_steps(self) -> int:
        """The number of all steps."""
        return 2 + self.n_gradual + (self.last is not None)

    def each(self, change: Callable[[Search], Search]) -> Steps:
        """The same steps with all searches changed."""
        last = None if self.last is None else change(self.last)
        gradual = None if self.gradual is None else change(self.gradual)
        return replace(self, first=change(self.first), second=change(self.second), gradual=gradual, last=last)

    def _gradual(self, noisy: np.ndarray, pilot: np.ndarray, variances: np.ndarray) -> np.ndarray:
        assert self.gradual is not None
        cleaner = noisy
        for step in range(self.n_gradual):
            if step % self.renew == 0:
                groups = _groups(cleaner, self.gradual)
            rule = partial(_gradual_rule, LEFT * (1 - (step + 1) / self.n_gradual), groups.n)
            pilot, cleaner = _each_channel(groups, rule, variances, noisy, cleaner, pilot)
            progress.report("patches", 3 + step, self.n_steps)
        return cleaner


def _one_step(regression: Callable, search: Search, variances: np.ndarray, *maps: np.ndarray) -> np.ndarray:
    """The estimate by a regression within the groups of the first map, which takes the patches of all maps."""
    groups = _groups(maps[0], search)

    def rule(*patches):
        estimate, weights = regression(*patches[:-1], groups.n * patches[-1])
        return [estimate], weights

    return _each_channel(groups, rule, variances, *maps)[0]


def _gradual_rule(left: float, n: int, noisy, cleaner, pilot, variance):
    """One gradual step, for patches of n points: it removes noise until the share τ = ``left`` of σ remains.

    t = max(τ, 1 − rms(Y − Z)/σ) is the share of the noise that a group still has in Z. X̂ is the estimate from Z with
    noise of variance (tσ)², and Ẑ = (1 − τ/t)X̂ + (τ/t)Z keeps the share τ.
    """
    removed = np.mean(np.square(noisy - cleaner), axis=2) / variance
    share = np.maximum(left + 1e-6, 1 - np.sqrt(removed.mean(axis=1, keepdims=True)))
    estimate, weights = by_pilot(pilot, cleaner, n * np.square(share) * variance)
    kept = np.float32(left) / share[:, :, None]
    return [estimate, estimate + kept * (cleaner - estimate)], weights


def _groups(image: np.ndarray, search: Search) -> PatchGroups:
    """The groups of the first channel of an image (grid…, channels)."""
    return find_groups(image[..., 0], search.within(image.shape[:-1]))


def _each_channel(groups: PatchGroups, rule, variances: np.ndarray, *maps: np.ndarray) -> list[np.ndarray]:
    """The images from a rule applied to each channel of the maps."""
    found = []
    for channel in range(maps[0].shape[-1]):
        seen = [np.ascontiguousarray(image[..., channel]) for image in maps]
        variance = np.asarray(variances[..., channel], dtype=np.float32)
        if variance.ndim:
            found.append(groups.apply(rule, seen, np.ascontiguousarray(variance)))
        else:
            constant = variance.reshape(1, 1)
            found.append(groups.apply(lambda *patches, v=constant: rule(*patches, v), seen))
    return [np.stack(images, axis=-1) for images in zip(*found, strict=True)]
