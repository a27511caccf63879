"""The noise to remove from rows: given, or estimated from the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage.denoising.levels import warn_of_more
from preimage.denoising.pieces import small_patches
from preimage.denoising.saturation import Limits
from preimage.denoising.similar_rows import censored_level
from preimage.denoising.tables import column_noise, given_noise
from preimage.denoising.views import Images
from preimage.exceptions import NoiseLevelWarning, silenced, warn
from preimage.kernels.base import is_number
from preimage.noise import ColumnNoise, GaussianNoise, NoiseLaw
from preimage.noise.custom import as_noise
from preimage.statistics.noise_level import MOST_COLUMNS, NoiseLevel, from_flat_patches, noise_level

FEWEST_IMAGES = 40  # fewer images are cut into pieces, since they are too few to learn from as wholes
FEWEST_PATCHES = 20
STILL = 0.9  # share of images in which a point lies on a limit, above which it has no noise there
DOUBTFUL = 1.1  # warn if a given sigma exceeds the estimate by this factor
HEAVY_TAILS = 1.0  # excess kurtosis of the removed part above which it is not Gaussian noise


@dataclass(frozen=True, eq=False)
class Asked:
    """The parameters ``examples``, ``noise`` and ``geometry`` of a denoiser."""

    examples: str
    noise: Any
    geometry: tuple[int, ...] | None

    def __post_init__(self) -> None:
        if self.examples not in ("noisy", "clean"):
            raise ValueError(f'examples must be "noisy" or "clean", not {self.examples!r}.')

    @property
    def law(self) -> NoiseLaw | None:
        """The given law, or None if it must be estimated."""
        return None if isinstance(self.noise, str) and self.noise == "auto" else as_law(self.noise)

    def law_of(self, images: Images, limits: Limits | None) -> Any:
        """The noise of images, or of rows (n, 1, d)."""
        if self.examples == "clean":
            return self._clean_law()
        law = self.law
        if law is None:
            return self._estimated(images, limits)
        if not (isinstance(law, GaussianNoise) and law.clip is None):
            raise ValueError(
                f"without clean examples only Gaussian noise can be removed, not {law!r}. Give clean examples "
                "(examples='clean'), or transform the data: for counts y, 2√(y + 3/8) has σ = 1."
            )
        self._warn_of_doubtful(law.sigma, images, limits)
        return law

    def table_law(self, rows: Images) -> Any:
        """The noise of a table (n, 1, d): one σ per column, or with clean examples any law."""
        d = rows.shape[-1]
        if isinstance(self.noise, np.ndarray | list | tuple):
            return ColumnNoise(tuple(given_noise(self.noise, d)))
        if self.examples == "clean":
            return self._clean_law()
        if self.law is None:
            return ColumnNoise(tuple(column_noise(rows[:, 0])))
        return ColumnNoise(tuple(given_noise(self.law_of(rows, None).sigma, d)))

    def _clean_law(self) -> NoiseLaw:
        law = self.law
        if law is None:
            raise ValueError(
                "clean examples do not show the noise to remove: give it, as in "
                "Denoiser(examples='clean', noise=GaussianNoise(0.25))."
            )
        return law

    def _estimated(self, images: Images, limits: Limits | None) -> GaussianNoise:
        if limits and (sigma := censored_level(images.reshape(len(images), -1), limits)):
            return GaussianNoise(sigma)
        return GaussianNoise(self._level(images, limits).careful)

    def _level(self, images: Images, limits: Limits | None) -> NoiseLevel:
        """The noise level of rows, of images, or of small patches of images that are few, large or clipped."""
        rows = images.reshape(len(images), -1)
        if self.geometry is None:
            return noise_level(rows)
        if not limits and len(rows) >= FEWEST_IMAGES and images.shape[-1] == 1 and rows.shape[1] <= MOST_COLUMNS:
            return noise_level(rows, images.shape[1:-1])
        patches, sides = small_patches(images)
        inside = limits.inside(patches) if limits else np.ones(len(patches), dtype=bool)
        return from_flat_patches(patches[inside] if inside.sum() > FEWEST_PATCHES else patches, sides)

    def _warn_of_doubtful(self, sigma: float, images: Images, limits: Limits | None) -> None:
        with silenced(NoiseLevelWarning):
            level = self._level(images, limits)
        if level.trusted and sigma > DOUBTFUL * level.high:
            warn_of_more("the data show", level.sigma, sigma)


def as_law(noise: Any) -> NoiseLaw:
    """A noise law from a law, a function, or the σ of Gaussian noise."""
    return GaussianNoise(float(noise)) if is_number(noise) else as_noise(noise)


def limits_of(images: Images) -> Limits | None:
    """Where values were clipped; nowhere if a point lies on a limit in nearly all images, as noise would move it."""
    limits, rows = Limits.of(images), images.reshape(len(images), -1)
    if len(images) >= FEWEST_IMAGES:
        still = max(np.mean(rows == end, axis=0).max() for end in (limits.low, limits.high))
        limits = Limits() if still > STILL else limits
    return limits or None


def warn_of_tails(removed: Images) -> None:
    """Warn if the removed part has heavier tails than Gaussian noise."""
    square = float(np.mean(np.square(removed), dtype=float))
    if square > 0 and float(np.mean(removed.astype(float) ** 4)) / square**2 - 3 > HEAVY_TAILS:
        warn(
            "the removed noise has heavier tails than Gaussian noise: give clean examples (examples='clean').",
            NoiseLevelWarning,
        )
