"""Ridge read-outs: from features to the truth, for many ridges at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage import progress
from preimage.denoising.examples import Examples
from preimage.denoising.stage_features import Features
from preimage.denoising.views import Reader, View
from preimage.gram import slicing, threads

RIDGES = tuple(10.0**power for power in range(-8, 1))
AT_ONCE = 16 * 2048  # places between two reports of progress
BLOCK = 2048  # places whose features are held in memory at once


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """The means of φφᵀ and φxᵀ."""

    features: np.ndarray
    truth: np.ndarray

    def weights(self, ridges, n_kernel: int) -> np.ndarray:
        """W = (E φφᵀ + λP)⁻¹ E φxᵀ for every ridge λ, all from the eigenpairs of P^(−½) E φφᵀ P^(−½).

        P penalises the linear part little and the constant hardly at all. The shape is (ridges, features, targets).
        """
        linear = 0.01 * float(np.diag(self.features)[n_kernel:-1].mean())
        penalty = np.ones(len(self.features))
        penalty[n_kernel:] = max(linear, 1e-12)
        penalty[-1] = 1e-3
        root = 1 / np.sqrt(penalty)
        scaled = self.features * root * root[:, None]
        values, axes = scipy.linalg.eigh(scaled, overwrite_a=True, check_finite=False, driver="evd")
        inner = axes.T @ (root[:, None] * self.truth)
        shrunk = inner / (np.maximum(values, 0)[:, None] + np.reshape(ridges, (-1, 1, 1)))
        axes *= root[:, None]
        return axes @ shrunk


def gather(features: Features, view: View, read: Reader, examples: Examples, places: np.ndarray) -> SecondMoments:
    """The moments over some places: products in the precision of the images, sums in double precision.

    ``read`` is the view's reader of the examples' maps.
    """
    n_shares = threads.n_threads()

    def total(share: np.ndarray):
        squares, cross = np.zeros((features.n, features.n)), np.zeros((features.n, 1))
        for block in slicing.slices(len(share), BLOCK):
            phi = features(read(share[block]))
            squares += phi.T @ phi
            cross = cross + examples.moment(features, phi, read, view, share[block])
        return squares, cross

    squares, cross = np.zeros((features.n, features.n)), np.zeros((features.n, 1))
    for part in slicing.slices(len(places), AT_ONCE):
        for found in threads.parallel_map(total, [places[part][first::n_shares] for first in range(n_shares)]):
            squares, cross = squares + found[0], cross + found[1]
        progress.report("places", part.stop, len(places))
    return SecondMoments(squares / len(places), cross / len(places))
