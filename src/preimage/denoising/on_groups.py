"""A kernel stage on top of groups of similar patches.

It sees the window of every point in the noisy image and in the estimate by groups, and learns by Stein's identity.
Groups use what repeats, and the kernel what all windows have in common, such as two brightnesses of letters. Their
errors differ, so the mean of both is better than either.
"""

from __future__ import annotations

import numpy as np

from preimage.denoising.examples import Noisy
from preimage.denoising.pieces import middle
from preimage.denoising.stage import Recipe
from preimage.denoising.views import Images, Lens, Windows
from preimage.kernels import Gaussian

RECIPE = Recipe(Gaussian(), 300, 40_000)
VIEW = Windows((Lens(1.0, 1.0), Lens(3.0, 1.2)))  # of the noisy image, and of the estimate by groups
SQUARE = 32  # side of the squares of a chequerboard that splits an image into two halves
SHORTEST = 4 * SQUARE
VALIDATED = 192  # side of the middle part of an image on which the ridge is chosen


def fits(grid: tuple[int, ...]) -> bool:
    """Whether an image is large enough to learn from."""
    return len(grid) == 2 and min(grid) >= SHORTEST


def by_kernel(images: Images, groups: Images, sigma: float, step: float, rng: np.random.Generator) -> Images:
    """The stage's estimates of an image and of its moved copy, both of shape (height, width, channels).

    Each half of the image is estimated with weights learned on the other half, because weights overfit the noise that
    they were learned from.

    Parameters
    ----------
    images : array of shape (2, height, width, channels)
        The noisy image y, and y + hσb with a probe b = ±1.
    groups : array of the same shape
        The estimates of both by groups.
    sigma, step : float
        σ and h.
    """
    maps, half = [images, groups], _half(images.shape[1:-1])
    inner = (slice(None), *middle(images.shape[1:-1], VALIDATED))
    seen = [part[inner] for part in maps]
    stages = []
    for here in (half, ~half):
        validation = Noisy(sigma, images[inner], ~here[inner], step)
        stages.append(RECIPE.validated(VIEW, maps, Noisy(sigma, images, here, step), seen, validation, rng)[0])
    return np.where(half[..., None], stages[1](maps), stages[0](maps))


def _half(grid: tuple[int, ...]) -> np.ndarray:
    """The black squares of a chequerboard."""
    rows, columns = (np.arange(n) // SQUARE for n in grid)
    return ((rows[:, None] + columns) % 2 == 0)[None]
