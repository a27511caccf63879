"""Training of a stack: the images it learns from, the validation images, and the budget of each level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preimage.denoising.examples import Clean, Examples, Noisy
from preimage.denoising.saturation import Limits, Mending
from preimage.denoising.stack import Stack, StackPlan
from preimage.denoising.stage import Recipe
from preimage.denoising.views import Images
from preimage.exceptions import NoiseLevelWarning, warn
from preimage.kernels import Radial
from preimage.noise import NoiseLaw

ENOUGH, MOST_COPIES = 6000, 6  # corrupted images that a level learns from, and the most copies of one image
VALIDATION, VALIDATION_POINTS = 300, 80_000  # the most images, and points in them, held out to choose settings
FEWEST_NUMBERS = 400  # in these, unless that takes more than a third of the images
FOLDS = 4
PLACES_A_LANDMARK = 150  # noisy places needed to determine the weight of a landmark
FEW = 300  # landmarks allowed with any number of places
CAREFUL = 0.95  # most share of σ removed on average, because σ is an estimate from a sample of the rows
ENOUGH_FOR_HALVES = 8000  # points needed to fit a stage on each half
POSITION = 0.5  # weight of the coordinates of a place relative to its windows


@dataclass(frozen=True)
class Units:
    """Units in which all values of the data have mean 0 and standard deviation 1, in single precision."""

    offset: float
    scale: float

    @classmethod
    def of(cls, images: Images) -> Units:
        """The units of these images: the mean of all values, and their standard deviation."""
        return cls(float(np.mean(images, dtype=float)), float(np.std(images, dtype=float)) or 1.0)

    def inside(self, images: Images) -> Images:
        """Images in these units."""
        return ((images - self.offset) / self.scale).astype(np.float32)

    def outside(self, images: Images) -> Images:
        """Images in the units of the data, in double precision."""
        return self.offset + self.scale * images.astype(float)


def in_units(law: NoiseLaw, units) -> Callable[[Images, np.random.Generator], Images]:
    """The law for images in other units."""
    return lambda images, rng: units.inside(law(units.outside(images), rng))


@dataclass(frozen=True)
class Budget:
    """The size of the stages of a stack.

    Attributes
    ----------
    n_landmarks : int
        The landmarks of a stage.
    shares : tuple of floats
        For noisy examples, which determine fewer weights, the share of landmarks in the second stage of each level;
        higher levels find what lower ones miss. Their number is the most levels.
    places : int
        The most places on which a stage is fitted.
    """

    n_landmarks: int
    shares: tuple[float, ...]
    places: int = 150_000

    @property
    def n_levels(self) -> int:
        """The most levels."""
        return len(self.shares)

    def resized(self, n_landmarks: int | None, n_stages: int | None) -> Budget:
        """The budget with other numbers: fewer levels keep the last shares, more levels repeat the last share."""
        n_levels = n_stages or self.n_levels
        if n_landmarks is not None:
            return replace(self, n_landmarks=n_landmarks, shares=(1.0,) * n_levels)
        more = self.shares[-1:] * (n_levels - self.n_levels)
        return replace(self, shares=(self.shares + more)[-n_levels:])

    def sizes(self, n_points: int | None = None) -> tuple[int, ...]:
        """The landmarks of the second stages, for this many noisy points, or for clean examples if None."""
        if n_points is None:
            return (self.n_landmarks,) * self.n_levels
        return tuple(self.determined(round(share * self.n_landmarks), n_points) for share in self.shares)

    def determined(self, n_landmarks: int, n_places: int) -> int:
        """``n_landmarks``, or fewer if the noisy places do not determine the weights of all."""
        return min(n_landmarks, max(min(n_places, self.places) // PLACES_A_LANDMARK, FEW))


BUDGETS = {
    "quick": Budget(250, (0.6, 1.0), 40_000),
    "standard": Budget(1200, (1 / 4, 1 / 2, 2 / 3, 3 / 4)),
    "best": Budget(1600, (3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 1.0), 250_000),
}


@dataclass(frozen=True, eq=False)
class Learner:
    """Settings: the kernel, the budget, and whether stages see whole images, windows, or both.

    With ``anywhere``, windows have no coordinates, so that images of any size can be denoised.
    """

    kernel: Radial
    budget: Budget
    wholes: bool
    windows: bool
    anywhere: bool = False

    def from_noisy(self, images: Images, sigma: float, rng: np.random.Generator, limits: Limits | None = None) -> Stack:
        """A stack learned from images with Gaussian noise, clipped at limits; on average it removes less than σ."""
        trusted = limits.trusted(images, sigma) if limits else np.ones(images.shape[:-1], dtype=bool)
        enough = _enough(trusted)
        useful, trusted = images[enough], trusted[enough]
        if len(useful) < 2:
            warn(
                "nearly all values are clipped at the ends of their range, so nothing can be learned from them and "
                "they are left unchanged: give clean examples.",
                NoiseLevelWarning,
            )
            return Stack(risk=sigma**2)
        held_out, teaching = _split(useful.shape, rng)
        validation, teachers = (Noisy.draw(useful[some], sigma, rng, trusted[some]) for some in (held_out, teaching))
        fold, n_points = _folds(len(teaching), rng), trusted[teaching].size
        settings = {
            "mending": Mending(limits, sigma) if limits else None,
            "at_large": max(0.6, 8 * sigma - 1.7),  # with more noise, wider surroundings help more
            "in_halves": not self.wholes and ENOUGH_FOR_HALVES <= n_points <= self.budget.places,
        }
        sizes, whole = self.budget.sizes(n_points), self.budget.n_landmarks
        if self.windows:  # the second stages see the details
            whole = self.budget.determined(whole, len(teaching))
        stack = self._fit(lambda: (teachers, fold), whole, sizes, validation, rng, **settings)
        if stack.is_linear:
            stack = stack.linear_again(Noisy.draw(useful, sigma, rng, trusted))
        return _careful(stack, images[:VALIDATION], sigma)

    def from_clean(self, images: Images, noise: Callable, rng: np.random.Generator) -> Stack:
        """A stack learned from clean images, with new noise at every level."""
        held_out, teaching = _split(images.shape, rng)
        copies = int(np.clip(round(ENOUGH / len(teaching)), 1, MOST_COPIES))
        truth, fold = np.concatenate([images[teaching]] * copies), np.tile(_folds(len(teaching), rng), copies)
        validation = Clean(images[held_out], noise(images[held_out], rng))
        budget = self.budget
        return self._fit(
            lambda: (Clean(truth, noise(truth, rng)), fold), budget.n_landmarks, budget.sizes(), validation, rng
        )

    def _fit(self, draw: Callable, whole: int, sizes: tuple[int, ...], validation: Examples, rng, **settings) -> Stack:
        """A stack with ``whole`` landmarks in the first stages and ``sizes`` landmarks in the second ones."""
        budget = self.budget
        recipes = tuple(Recipe(self.kernel, size, budget.places) for size in sizes)
        plan = StackPlan(
            Recipe(self.kernel, whole, budget.places) if self.wholes else None,
            recipes if self.windows else (),
            1 if settings.get("mending") else budget.n_levels,  # validation ignores clipped values
            0.0 if self.anywhere else POSITION,
            **settings,
        )
        return plan.fit(draw, validation, rng)


def _careful(stack: Stack, images: Images, sigma: float) -> Stack:
    """The stack, which removes on average at most the share ``CAREFUL`` of σ from these images."""
    removed = float(np.sqrt(np.mean(np.square(stack(images) - images), dtype=float)))
    return replace(stack, share=min(1.0, CAREFUL * sigma / removed)) if removed > 0 else stack


def _split(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The indices of the validation images, and of the others."""
    n, points = shape[0], int(np.prod(shape[1:-1]))
    order = rng.permutation(n)
    enough = max(n // 8, min(n // 3, FEWEST_NUMBERS // (points * shape[-1])))
    n_validation = max(1, min(enough, VALIDATION, VALIDATION_POINTS // points))
    return order[:n_validation], order[n_validation:]


def _enough(trusted: np.ndarray) -> np.ndarray:
    """The images with enough trusted points to learn from; at least the best two, if they have any."""
    share = trusted.reshape(len(trusted), -1).mean(axis=1)
    return (share > 0) & ((share >= 0.1) | (share >= np.sort(share)[-2:].min()))


def _folds(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(n) % min(FOLDS, n)
