"""Many small images with clipped values: each is denoised together with the images most similar to it.

Kernel stages learn by Stein's identity, which needs Gaussian noise. Groups need only the mean and variance of the
noise, which are known for clipped values (:mod:`preimage.denoising.noise_curve`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from preimage import progress
from preimage.denoising.groups.ridge import by_pilot, by_stein
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.saturation import Limits, mean_excess
from preimage.denoising.views import Images
from preimage.gram import slicing

FIRST, SECOND = 16, 60  # rows in a group of the first and of the second step
EXTRA = 0.05
VALIDATION = 300  # rows on which the risk is estimated
BETWEEN = 0.3, 0.7  # shares of values at a limit between which a column determines its spread best
LOWEST = 0.1  # quantile of the columns' spreads that counts as noise alone


@dataclass(frozen=True, eq=False)
class SimilarRows:
    """Noisy rows, and the first step's estimates of them.

    Attributes
    ----------
    noisy, pilots : arrays of shape (rows, d)
    curve : NoiseCurve
        The law of the noise.
    risk : float
        The mean squared error of a value, measured on estimates with noise of this law added.
    """

    noisy: np.ndarray
    pilots: np.ndarray
    curve: NoiseCurve
    risk: float = float("nan")

    @classmethod
    def fit(cls, images: Images, curve: NoiseCurve, rng: np.random.Generator) -> SimilarRows:
        """The denoiser learned from noisy images."""
        noisy = images.reshape(len(images), -1).astype(np.float32)
        with progress.part_of("rows", 0, 3):
            found = cls(noisy, cls(noisy, noisy, curve)._first(noisy), curve)
        with progress.part_of("rows", 1, 3):
            some = found(images[rng.permutation(len(images))[:VALIDATION]])
        noise = np.sqrt(curve.before(some)) * rng.standard_normal(some.shape)
        with progress.part_of("rows", 2, 3):
            again = found(np.clip(some + noise, curve.limits.low, curve.limits.high).astype(np.float32))
        return replace(found, risk=float(np.mean(np.square(again - some), dtype=float)))

    @property
    def levels(self) -> tuple[SimilarRows]:
        """Itself, as the one level of a stack."""
        return (self,)

    def __call__(self, images: Images) -> Images:
        """The denoised images, by the images most similar to them."""
        rows = images.reshape(len(images), -1).astype(np.float32)
        with progress.part_of("rows", 0, 2):
            pilot = self._first(rows)
        with progress.part_of("rows", 1, 2):
            means = self._second(rows, pilot)  # of the noisy, clipped values given the truth
        return self.curve.undone(means).astype(np.float32).reshape(images.shape)

    def _second(self, rows: np.ndarray, pilot: np.ndarray) -> np.ndarray:
        """The estimate with the first step's estimates as pilots."""
        found = np.empty_like(rows)
        for block in self._blocks(rows, SECOND):
            near = self._nearest(pilot[block], self.pilots, rows[block], SECOND)
            X = np.concatenate([pilot[block][:, None], self.pilots[near]], axis=1)
            Y = np.concatenate([rows[block][:, None], self.noisy[near]], axis=1)
            found[block] = by_pilot(X, Y, self._noise(X))[0][:, 0]
        return found

    def _first(self, rows: np.ndarray) -> np.ndarray:
        """The estimate from the noisy rows alone, by Stein's formula."""
        found, mean = np.empty_like(rows), self.noisy.mean(axis=0)
        for block in self._blocks(rows, FIRST):
            near = self._nearest(rows[block], self.noisy, rows[block], FIRST)
            Y = np.concatenate([rows[block][:, None], self.noisy[near]], axis=1)
            smooth = np.broadcast_to((Y.mean(axis=1, keepdims=True) + mean) / 2, Y.shape)
            found[block] = by_stein(Y, self._noise(smooth), EXTRA)[0][:, 0]
        return found

    def _noise(self, means: np.ndarray) -> np.ndarray:
        """The total variance of the noise of rows."""
        return self.curve.variance(means).sum(axis=2).astype(np.float32)

    def _nearest(self, these: np.ndarray, those: np.ndarray, own: np.ndarray, k: int) -> np.ndarray:
        """The indices of the k − 1 rows nearest to each of these, without the row itself."""
        k = min(k, len(those) - 1)
        gaps = np.einsum("ij,ij->i", those, those) - 2 * (these @ those.T)
        same = np.einsum("ij,ij->i", own, own)[:, None] + np.einsum("ij,ij->i", self.noisy, self.noisy)
        gaps[np.abs(same - 2 * (own @ self.noisy.T)) <= 1e-5 * same] = np.inf
        return np.argpartition(gaps, k - 2, axis=1)[:, : k - 1]

    def _blocks(self, rows: np.ndarray, k: int) -> Iterator[slice]:
        for block in slicing.row_blocks(len(rows), 16 * k * rows.shape[1] + 16 * len(self.noisy)):
            yield block
            progress.report("rows", block.stop, len(rows))


def censored_level(rows: np.ndarray, limits: Limits) -> float | None:
    """σ from columns with about half of the values clipped at a limit; None if there are too few.

    The share Φ(−t) of values at the limit and the mean distance from it, σ(tΦ(t) + φ(t)), give t and σ (Tobin 1958). A
    column whose truth is constant has the σ of the noise alone; others have more.
    """
    found = []
    for sign, limit in ((1.0, limits.low), (-1.0, limits.high)):
        if np.isfinite(limit):
            beyond = sign * (rows - limit)
            share = np.mean(beyond <= 0, axis=0)
            here = (share > BETWEEN[0]) & (share < BETWEEN[1])
            t = ndtri(1 - share[here])
            found.append(beyond[:, here].mean(axis=0) / mean_excess(t))
    spreads = np.concatenate(found) if found else np.empty(0)
    return float(np.quantile(spreads, LOWEST)) if len(spreads) >= 3 else None
