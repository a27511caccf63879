"""From a noisy image to its answer in two steps and more, by ridge regression within groups of similar patches.

The *first* step finds groups in the noisy image and answers them by Stein's estimate. The *second* finds them anew in
the first answer, which now stands in for the truth (Herbreteau & Kervrann 2022, NL-Ridge). *Gradual* steps go on from
there. Each removes a part of the noise and leaves the rest, so that groups and pilot get better before the last noise
goes (Herbreteau & Kervrann 2024, LIChI).

The channels of an image are answered one by one in groups that are found in the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preimage import progress
from preimage.denoising.groups.matching import PatchGroups, Search, find_groups
from preimage.denoising.groups.ridge import by_pilot, by_stein

EXTRA = 0.05  # α of the first step
LEFT = 0.75  # the share of the noise that gradual steps begin with

Variance = Callable[[np.ndarray | None], np.ndarray]


@dataclass(frozen=True)
class Steps:
    """How an image is answered.

    Parameters
    ----------
    first, second : Search
        Where groups are found.
    gradual : Search, optional
        And for the gradual steps, if there are any.
    n_gradual : int
        How many there are.
    renew : int
        After so many of these, groups are found anew.
    last : Search, optional
        For one more step like the second, with their answer as the pilot.
    """

    first: Search
    second: Search
    gradual: Search | None = None
    n_gradual: int = 0
    renew: int = 2
    last: Search | None = None

    def __call__(self, noisy: np.ndarray, variance: Variance) -> dict[str, np.ndarray]:
        """The answers to an image of shape (grid…, channels), in single precision, each by its name.

        Those of the second, the last gradual and the last step, as far as there are such.

        Parameters
        ----------
        noisy : array
            Its first channel is the one in which groups are found.
        variance : callable
            From an estimate of the image, None at first, to the variances of the noise: an array of its shape, or
            one per channel where the noise is the same everywhere.
        """
        noisy = noisy.astype(np.float32, copy=False)
        estimate = self._first(noisy, variance(None))
        progress.report("patches", 1, self.n_steps)
        estimate = self._second(noisy, estimate, variance(estimate), self.second)
        progress.report("patches", 2, self.n_steps)
        found = {"two steps": estimate}
        if self.gradual:
            found["gradual"] = estimate = self._gradual(noisy, estimate, variance(estimate))
        if self.last:
            found["again"] = self._second(noisy, estimate, variance(estimate), self.last)
            progress.report("patches", self.n_steps, self.n_steps)
        return found

    @property
    def n_steps(self) -> int:
        """How many steps there are in all."""
        return 2 + self.n_gradual + (self.last is not None)

    def within(self, grid: tuple[int, ...]) -> Steps:
        """The same steps for an image of this shape."""
        return self.each(lambda search: search.within(grid))

    def each(self, change: Callable[[Search], Search]) -> Steps:
        """The same steps with all searches changed."""
        last = None if self.last is None else change(self.last)
        gradual = None if self.gradual is None else change(self.gradual)
        return replace(self, first=change(self.first), second=change(self.second), gradual=gradual, last=last)

    def _first(self, noisy: np.ndarray, variances: np.ndarray) -> np.ndarray:
        groups = find_groups(noisy[..., 0], self.first)

        def rule(patches, variance):
            answer, weights = by_stein(patches, groups.n * variance, EXTRA)
            return [answer], weights

        return _each_channel(groups, rule, variances, noisy)[0]

    def _second(self, noisy: np.ndarray, pilot: np.ndarray, variances: np.ndarray, search: Search) -> np.ndarray:
        groups = find_groups(pilot[..., 0], search)

        def rule(pilots, patches, variance):
            answer, weights = by_pilot(pilots, patches, groups.n * variance)
            return [answer], weights

        return _each_channel(groups, rule, variances, pilot, noisy)[0]

    def _gradual(self, noisy: np.ndarray, pilot: np.ndarray, variances: np.ndarray) -> np.ndarray:
        assert self.gradual is not None
        cleaner = noisy
        for step in range(self.n_gradual):
            if step % self.renew == 0:
                groups = find_groups(cleaner[..., 0], self.gradual)
            left = LEFT * (1 - (step + 1) / self.n_gradual)
            rule = _Gradual(left, groups.n)
            pilot, cleaner = _each_channel(groups, rule, variances, noisy, cleaner, pilot)
            progress.report("patches", 3 + step, self.n_steps)
        return cleaner


@dataclass(frozen=True)
class _Gradual:
    """One gradual step: noise is taken out of what is left of it, until the share τ = ``left`` of σ remains.

    t = max(τ, 1 − rms(Y − Z)/σ) is the share of the noise that a group still has in Z; its answer X̂ has noise of
    variance (tσ)² taken out of Z, and Ẑ = (1 − τ/t)X̂ + (τ/t)Z keeps the share τ.
    """

    left: float
    n: int

    def __call__(self, noisy, cleaner, pilot, variance):
        removed = np.mean(np.square(noisy - cleaner), axis=2) / variance
        share = np.maximum(self.left + 1e-6, 1 - np.sqrt(removed.mean(axis=1, keepdims=True)))
        answer, weights = by_pilot(pilot, cleaner, self.n * np.square(share) * variance)
        kept = np.float32(self.left) / share[:, :, None]
        return [answer, answer + kept * (cleaner - answer)], weights


def _each_channel(groups: PatchGroups, rule, variances: np.ndarray, *maps: np.ndarray) -> list[np.ndarray]:
    """The images that a rule makes of the channels of maps."""
    found = []
    for channel in range(maps[0].shape[-1]):
        seen = [np.ascontiguousarray(image[..., channel]) for image in maps]
        variance = np.asarray(variances[..., channel], dtype=np.float32)
        if variance.ndim:
            found.append(groups.answer(rule, seen, np.ascontiguousarray(variance)))
        else:
            constant = variance.reshape(1, 1)
            found.append(groups.answer(lambda *patches, v=constant: rule(*patches, v), seen))
    return [np.stack(images, axis=-1) for images in zip(*found, strict=True)]
