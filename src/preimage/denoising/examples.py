"""Examples: the images that a stage learns from, and what is known of their truth.

Both kinds hold a block of images that run through the stages, ``images``, and give what a fit needs: the moments of
features with the truth, and the error of estimates. With noisy examples the block is twice as long: the images y, then
the same images moved, y + hb, whose differences give derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from preimage.denoising.stage_features import Features
from preimage.denoising.views import Images, Reader, View
from preimage.statistics.risk import Sure
from preimage.statistics.shrinkage import shrunken_spectrum


class Examples(Protocol):
    """Images to fit or to validate a stage on."""

    @property
    def images(self) -> Images:
        """The images that run through the stages."""

    @property
    def n(self) -> int:
        """How many images there are."""

    def moment(self, features: Features, phi: np.ndarray, read: Reader, view: View, places: np.ndarray) -> np.ndarray:
        """Σ φ xᵀ over places, or an unbiased estimate of it, with the features ``phi`` there."""

    def risk(self, estimates: Images) -> float:
        """The mean squared error, or an estimate of it."""

    def part(self, chosen: np.ndarray) -> Examples:
        """Some of the images."""

    def places(self, view: View) -> np.ndarray:
        """The indices of the places that can be learned from."""

    def covariances(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The means ȳ and x̄ of noisy rows and their truth, and the covariances C_yy and C_xy."""

    def points(self, maps: list[Images]) -> list[Images]:
        """The rows for kernel PCA: the truth if it is known, else the maps themselves."""


@dataclass(frozen=True, eq=False)
class Clean:
    """Clean images x and corrupted copies y: the read-out is a regression."""

    truth: Images
    images: Images

    @property
    def n(self) -> int:
        """How many images there are."""
        return len(self.truth)

    def moment(self, features, phi, read, view, places):
        return phi.T @ view.targets(self.truth)(places)

    def risk(self, estimates):
        return float(np.mean(np.square(estimates - self.truth), dtype=float))

    def part(self, chosen):
        return Clean(self.truth[chosen], self.images[chosen])

    def places(self, view):
        return np.arange(view.places(self.truth.shape))

    def covariances(self):
        x, y = (images.reshape(self.n, -1).astype(float) for images in (self.truth, self.images))
        means = y.mean(axis=0), x.mean(axis=0)
        y = y - means[0]
        return *means, y.T @ y / self.n, x.T @ y / self.n

    def points(self, maps):
        return [self.truth] * len(maps)


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy images y = x + σε alone: the read-out follows from Stein's identity.

        E[φ(y) xᵀ] = E[φ(y) yᵀ] − σ² E[∂φ/∂y],   E[∂φ/∂y] ≈ E[(φ(y + hb) − φ(y)) bᵀ]/h,   b = ±1

    for features that depend on the noise through y alone; their derivative is taken along one probe b per image,
    through all stages before. Stein's formula gives the error of an estimate (:class:`preimage.statistics.risk.Sure`).
    """

    sigma: float
    images: Images
    trusted: np.ndarray
    step: float = Sure.step

    @classmethod
    def draw(cls, images: Images, sigma: float, rng: np.random.Generator, trusted: np.ndarray | None = None) -> Noisy:
        """Examples with random probes; ``trusted`` marks the points whose noise is Gaussian, None for all."""
        trusted = np.ones(images.shape[:-1], dtype=bool) if trusted is None else trusted
        return cls(sigma, Sure(sigma).ask(images, rng).rows, trusted)

    @property
    def n(self) -> int:
        """How many images there are."""
        return len(self.images) // 2

    def moment(self, features, phi, read, view, places):
        still = self.images[: self.n]
        change = features(read(places + view.places(still.shape)))
        change -= phi
        slope = change.T @ view.targets(self._probe)(places) / (self.step * self.sigma)
        return phi.T @ view.targets(still)(places) - self.sigma**2 * slope

    def risk(self, estimates):
        """Stein's estimate, but at least (√E‖f(y) − y‖² − σ)²: a change beyond the noise level is an error.

        Stein's formula needs the slope of f. One probe measures the slope of a rough f poorly, so that such an f could
        be chosen by chance.
        """
        noisy, trusted = self.images[: self.n], self.trusted[..., None]
        stein = float(Sure(self.sigma, self.step).evaluate(noisy, self._probe, estimates, trusted).mean())
        removed = np.sqrt(np.mean(np.square(estimates[: self.n] - noisy), dtype=float, where=trusted))
        return max(stein, float(max(removed - self.sigma, 0) ** 2))

    def part(self, chosen):
        both = np.concatenate([chosen, chosen + self.n])
        return replace(self, images=self.images[both], trusted=self.trusted[chosen])

    def places(self, view):
        n = view.places((self.n, *self.images.shape[1:]))
        return np.flatnonzero(self.trusted) if n == self.trusted.size else np.arange(n)

    def covariances(self):
        """The means and covariances: C_yy with a shrunken spectrum, and the positive part of C_xy = C_yy − σ²I."""
        y = self.images[: self.n].reshape(self.n, -1).astype(float)
        mean = y.mean(axis=0)
        values, axes = np.linalg.eigh((y - mean).T @ (y - mean) / self.n)
        values = shrunken_spectrum(values, self.n - 1)
        inputs, cross = ((axes * part) @ axes.T for part in (values, np.maximum(values - self.sigma**2, 0)))
        return mean, mean, inputs, cross

    def points(self, maps):
        return [images[: self.n] for images in maps]

    @property
    def _probe(self) -> Images:
        return (self.images[self.n :] - self.images[: self.n]) / np.float32(self.step * self.sigma)
