"""A stack of levels: each sees the noisy images and the estimate of the level below.

A level has two stages. The first sees whole images: their content, but few details. It is fitted in folds, so that its
estimates of the training images are no better than those of new ones. The second sees the surroundings of every point:
in the noisy image, in the first stage's estimate, and in the estimate of the level below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from preimage import progress
from preimage.denoising.examples import Examples
from preimage.denoising.linear import LinearFilter
from preimage.denoising.saturation import Mending
from preimage.denoising.stage import Crossed, Recipe, Stage
from preimage.denoising.views import Images, Lens, Whole, Windows

NOISY, NOISY_FIRST = Lens(1.0, 1.0), Lens(1.0, 1.1)
WHOLE, BELOW = Lens(0.8, 1.8), Lens(3.0, 1.2)
BLURRED_WIDTH = 0.8
HALVES = 2  # each is estimated by the stage fitted on the other
WORTH = 0.998  # a level must lower the risk below this share of it


@dataclass(frozen=True)
class Blurred:
    """Blurred images: the wider surroundings of a point, used if there are too few images to learn from wholes."""

    widths: tuple[float, ...] = (2.0, 4.0, 8.0)

    def __call__(self, maps: list[Images]) -> Images:
        """The last map, blurred by each width."""
        images = maps[-1]
        blurs = [gaussian_filter(images, (0, *(width,) * (images.ndim - 2), 0)) for width in self.widths]
        return np.concatenate(blurs, axis=-1)

    def left_out(self, maps: list[Images], fold: np.ndarray) -> Images:
        """The same images: nothing was fitted."""
        return self(maps)


Sight = Crossed | Blurred | LinearFilter


@dataclass(frozen=True, eq=False)
class Level:
    """One or two stages, and the risk of their estimate."""

    whole: Sight
    local: Stage | Crossed | None
    risk: float = float("nan")
    mending: Mending | None = None

    def __call__(self, noisy: Images, below: Images | None, fold: np.ndarray | None = None) -> Images:
        """The estimate; ``fold`` for images that the level was fitted on."""
        return self.after(seen(self.whole, noisy, below, fold), fold)

    def after(self, maps: list[Images], fold: np.ndarray | None = None) -> Images:
        """The estimate from the maps that the second stage sees."""
        if isinstance(self.local, Crossed) and fold is not None:
            estimate = self.local.left_out(maps, fold % HALVES)
        else:
            estimate = self.local(maps) if self.local is not None else maps[1]
        return estimate if self.mending is None else self.mending(maps[0], estimate)


@dataclass(frozen=True, eq=False)
class Stack:
    """Levels, from the first to the last; an empty stack leaves images unchanged.

    Attributes
    ----------
    levels : tuple of Level
        Each sees the estimate of the one before.
    risk : float
        The mean squared error of a value, estimated on the validation images.
    share : float
        The share of the levels' change that is applied.
    """

    levels: tuple[Level, ...] = ()
    risk: float = float("nan")
    share: float = 1.0

    def __call__(self, noisy: Images, fold: np.ndarray | None = None) -> Images:
        """The estimate; ``fold`` for images that the levels were fitted on."""
        estimate = None
        for level in self.levels:
            estimate = level(noisy, estimate, fold)
        if estimate is None:
            return noisy
        return estimate if self.share == 1 else noisy + np.float32(self.share) * (estimate - noisy)

    @property
    def is_linear(self) -> bool:
        """Whether the stack is a single linear filter."""
        return len(self.levels) == 1 and isinstance(self.levels[0].whole, LinearFilter) and self.levels[0].local is None

    def linear_again(self, examples: Examples) -> Stack:
        """The linear filter refitted on all examples, including the validation ones."""
        return replace(self, levels=(replace(self.levels[0], whole=LinearFilter.fit(examples)),))


@dataclass(frozen=True, eq=False)
class StackPlan:
    """Settings for fitting a stack.

    Parameters
    ----------
    whole : Recipe or None
        For the first stages; None blurs images instead.
    local : tuple of Recipe
        For the second stages, level by level; an empty tuple leaves them out.
    n_levels : int
        The most levels; one that does not lower the risk ends the stack.
    position : float
        Weight of the coordinates of a place.
    mending : Mending, optional
        Repairs points with clipped values.
    at_large : float
        Weight of the blurred images, if there are too few images to learn from wholes.
    in_halves : bool
        Whether to fit a second stage on each half of the images, so that levels above see each half through the stage
        of the other. With few places, a stage overfits its own images.
    """

    whole: Recipe | None
    local: tuple[Recipe, ...]
    n_levels: int
    position: float
    mending: Mending | None = None
    at_large: float = 1.0
    in_halves: bool = False

    def fit(
        self, draw: Callable[[], tuple[Examples, np.ndarray]], validation: Examples, rng: np.random.Generator
    ) -> Stack:
        """A stack for the examples that ``draw`` returns with their folds, validated on others.

        Every level calls ``draw``, so that clean examples can have new noise.
        """
        stack, taught = Stack(risk=validation.risk(validation.images)), _Taught()
        validated, last = _Taught(validation), None
        n_stages = 2 * self.n_levels
        for number in range(self.n_levels):
            with progress.part_of("stages", 2 * number, n_stages + 1):
                taught = taught.under(stack, *draw())
                whole = self._whole(taught, rng)
                taught, validated = taught.seen_by(whole), validated.seen_by(whole)
            with progress.part_of("stages", 2 * number + 1, n_stages + 1):
                level = self._level(number, whole, taught, validated, rng)
            if not level.risk < WORTH * stack.risk:
                break
            stack, last = Stack((*stack.levels, level), level.risk), (taught, validated)
            validated = replace(validated, below=level.after(validated.maps))
        with progress.part_of("stages", n_stages, n_stages + 1):
            return stack if last is None else self._finished(stack, *last, rng)

    def _level(self, number: int, whole: Sight, taught: _Taught, validated: _Taught, rng) -> Level:
        """A level with this first stage, and a second one fitted by the recipe of this number."""
        validation = validated.examples
        if not self.local:
            return Level(whole, None, validation.risk(validated.maps[1]))
        view, recipe = Windows(self._lenses(taught.below is not None), self.position), self.local[number]
        if self.in_halves:
            halves = taught.fold[: taught.examples.n] % HALVES
            local: Any = recipe.crossed(view, taught.maps, taught.examples, halves, rng)
            risk = validation.risk(local(validated.maps))
        else:
            local, risk = recipe.validated(view, taught.maps, taught.examples, validated.maps, validation, rng)
        return Level(whole, local, risk, self.mending)

    def _finished(self, stack: Stack, taught: _Taught, validated: _Taught, rng) -> Stack:
        """The stack with its last level refitted by the last recipe, if it ended before that and the risk falls."""
        if not self.local or self.local[len(stack.levels) - 1].n_landmarks == self.local[-1].n_landmarks:
            return stack
        level = self._level(-1, stack.levels[-1].whole, taught, validated, rng)
        return Stack((*stack.levels[:-1], level), level.risk) if level.risk < stack.risk else stack

    def _lenses(self, has_below: bool) -> tuple[Lens, ...]:
        """The lenses through which the second stage of a level sees its maps."""
        whole = Lens(self.at_large, BLURRED_WIDTH) if self.whole is None else WHOLE
        return (NOISY if has_below else NOISY_FIRST, whole, *(BELOW,) * has_below)

    def _whole(self, taught: _Taught, rng) -> Sight:
        """The first stage of a level; without second stages, as for tables, the first level is a linear filter."""
        examples, below = taught.examples, taught.below
        fold = taught.fold[: examples.n]
        if self.whole is None:
            return Blurred()
        if below is not None:
            view = Whole((0.0, 1.0), with_values=not self.local)
            return self.whole.crossed(view, [examples.images, below], examples, fold, rng)
        if not self.local:
            return LinearFilter.fit(examples)
        return self.whole.crossed(Whole((1.0,)), [examples.images], examples, fold, rng)


@dataclass(frozen=True, eq=False)
class _Taught:
    """Examples, the fold of each image, the estimate of a stack, and the maps that a level sees."""

    examples: Any = None
    fold: Any = None
    below: Images | None = None
    maps: Any = None

    def under(self, stack: Stack, examples: Examples, fold: np.ndarray) -> _Taught:
        """The examples with the estimate of the stack; for the same examples as before, only the last level runs."""
        if examples is self.examples:
            return replace(self, below=stack.levels[-1].after(self.maps, self.fold))
        fold = np.tile(fold, len(examples.images) // examples.n)
        return _Taught(examples, fold, stack(examples.images, fold) if stack.levels else None)

    def seen_by(self, whole: Sight) -> _Taught:
        """The same images with the maps of a level with this first stage."""
        return replace(self, maps=seen(whole, self.examples.images, self.below, self.fold))


def seen(whole: Sight, noisy: Images, below: Images | None, fold: np.ndarray | None = None) -> list[Images]:
    """The maps for the second stage of a level: noisy images, the first stage's estimate, and the estimate below."""
    maps = [noisy] if below is None else [noisy, below]
    estimate = whole(maps) if fold is None else whole.left_out(maps, fold)
    return [noisy, estimate, *maps[1:]]
