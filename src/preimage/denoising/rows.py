"""Learning to denoise rows: many images or signals, pieces of a few large ones, or a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage import progress
from preimage.denoising.learning import Budget, Learner, Units, in_units
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.noise_law import FEWEST_IMAGES, Asked, limits_of, warn_of_tails
from preimage.denoising.pieces import cut
from preimage.denoising.saturation import Limits
from preimage.denoising.similar_rows import SimilarRows
from preimage.denoising.stack import Stack
from preimage.denoising.tables import DenoisedTable
from preimage.denoising.views import Images
from preimage.kernels import Radial

__all__ = ["LearnedRows", "learned_images", "learned_table"]

FEWEST_POINTS = 1000
CHECKED = 100  # images on which the removed noise is tested
LEAST_SIGMA = 1e-3  # relative to the spread of all values
NO_NOISE = 1e-6  # σ, relative to the spread, below which nothing is removed


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """A fitted denoiser of rows: its stack, the noise, the mean squared error that remains, and the stack's units."""

    stack: DenoisedTable | SimilarRows | Stack
    noise: Any
    risk: float
    units: Any = None


def learned_table(rows: Images, asked: Asked, kernel: Radial, budget: Budget, rng: np.random.Generator) -> LearnedRows:
    """The denoiser of a table, rows of shape (n, 1, d), whose columns have different units."""
    learner = Learner(kernel, budget, wholes=True, windows=False)
    law = asked.table_law(rows)
    if asked.examples == "clean":
        table = DenoisedTable.from_clean(rows, law, learner, rng)
    else:
        table = DenoisedTable.from_noisy(rows, np.array(law.sigmas), learner, rng)
    return LearnedRows(table, law, table.risk)


def learned_images(
    images: Images, asked: Asked, kernel: Radial, budget: Budget, rng: np.random.Generator
) -> LearnedRows:
    """The denoiser of images or signals, by wholes and windows; of a few large ones, by windows of their pieces."""
    windows = asked.geometry is not None
    wholes = not windows or len(images) >= FEWEST_IMAGES
    if not wholes:
        images = np.concatenate([cut(image) for image in images])
    if windows and images.size < FEWEST_POINTS * images.shape[-1]:
        raise ValueError(
            f"{images.size // images.shape[-1]} points in all are too few to learn from: give more rows, a larger "
            "image or a longer signal."
        )
    limits = limits_of(images) if windows and asked.examples == "noisy" else None
    law, units = asked.law_of(images, limits), Units.of(images)
    inside, learner = units.inside(images), Learner(kernel, budget, wholes, windows, anywhere=not wholes)
    if asked.examples == "clean":
        stack: Any = learner.from_clean(inside, in_units(law, units), rng)
    elif limits and wholes:
        stack = _by_similar_rows(inside, law.sigma, limits, units, rng)
    else:
        stack = _from_noisy(inside, law.sigma / units.scale, limits and limits.within(units), learner, rng)
    return LearnedRows(stack, law, max(stack.risk, 0.0) * units.scale**2, units)


def _by_similar_rows(inside: Images, sigma: float, limits: Limits, units: Units, rng) -> SimilarRows:
    """The denoiser of images with clipped values."""
    curve = NoiseCurve(0.0, max(sigma, LEAST_SIGMA * units.scale) ** 2, limits)
    with progress.part_of("rows", 0, 2):
        found = SimilarRows.fit(inside, curve.within(units), rng)
    with progress.part_of("rows", 1, 2):
        warn_of_tails(inside[:CHECKED] - found(inside[:CHECKED]))
    return found


def _from_noisy(inside: Images, sigma: float, limits: Limits | None, learner: Learner, rng) -> Stack:
    if sigma <= NO_NOISE:
        return Stack(risk=0.0)
    stack = learner.from_noisy(inside, sigma, rng, limits)
    some = inside[:: max(1, len(inside) // CHECKED)]
    warn_of_tails(some - stack(some))
    return stack
