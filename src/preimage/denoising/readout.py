"""Ridge read-outs: from features to the truth, for many ridges at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage.denoising.examples import Examples
from preimage.denoising.stage_features import Features
from preimage.denoising.views import Images, View
from preimage.gram import threads, tiles

__all__ = ["RIDGES", "SecondMoments", "gather"]

RIDGES = tuple(10.0**power for power in range(-8, 1))
BLOCK = 1024  # places whose features are held at once; four times as many while moments are gathered


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """The means of φφᵀ and φxᵀ."""

    features: np.ndarray
    truth: np.ndarray

    def weights(self, ridges, n_kernel: int) -> np.ndarray:
        """W = (E φφᵀ + λP)⁻¹ E φxᵀ for every ridge λ, all from the eigenpairs of P^(−½) E φφᵀ P^(−½).

        P holds little against the linear part and next to nothing against the constant. Returns an array of shape
        (ridges, features, answers).
        """
        linear = 0.01 * float(np.diag(self.features)[n_kernel:-1].mean())
        penalty = np.ones(len(self.features))
        penalty[n_kernel:] = max(linear, 1e-12)
        penalty[-1] = 1e-3
        root = 1 / np.sqrt(penalty)
        scaled = self.features * root * root[:, None]
        values, axes = scipy.linalg.eigh(scaled, overwrite_a=True, check_finite=False)
        inner = axes.T @ (root[:, None] * self.truth)
        values = np.maximum(values, 0)[:, None]
        return np.stack([root[:, None] * (axes @ (inner / (values + ridge))) for ridge in ridges])


def gather(features: Features, view: View, maps: list[Images], examples: Examples, places: np.ndarray) -> SecondMoments:
    """The moments over some places: products in the precision of the images, sums in double precision."""
    read = view.reader(maps)
    shares = [places[first :: threads.n_threads()] for first in range(threads.n_threads())]

    def total(share: np.ndarray):
        squares: np.ndarray | float = 0.0
        cross: np.ndarray | float = 0.0
        for block in tiles.slices(len(share), 4 * BLOCK):
            phi = features(read(share[block]))
            squares = squares + np.asarray(phi.T @ phi, dtype=float)
            cross = cross + np.asarray(examples.moment(features, phi, read, view, share[block]), dtype=float)
        return squares, cross

    found = threads.parallel_map(total, shares)
    squares, cross = (np.sum(parts, axis=0) / len(places) for parts in zip(*found, strict=True))
    return SecondMoments(squares, cross)
