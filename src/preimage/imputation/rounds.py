"""Gaps filled by rounds of kernel PCA: project, take the pre-image, put known entries back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage import decomposition
from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, silenced
from preimage.imputation.gaussian import GaussianModel
from preimage.kernels import Gaussian
from preimage.kernels.scales import median, spread_rows
from preimage.preimages import Learned
from preimage.preimages.base import InverseMap, find_in_batches

MOST = 400  # rows of a fit
SETTLED = 1e-2  # change of filled entries, in standard deviations, below which they have settled


@dataclass(frozen=True, eq=False)
class Rounds:
    """Fills gaps by a Gaussian model, then by rounds of a prepared method; known entries are put back.

    Every round replaces x by ω ∘ x₀ + (1 − ω) ∘ x̂(x), with ω = 1 for an observed entry and 0 for a missing one.
    """

    first: GaussianModel
    model: Decomposition
    inverse_map: InverseMap
    n_rounds: int

    def __call__(self, X: Array) -> Array:
        missing, filled = np.isnan(X), self.first(X)
        for left in reversed(range(self.n_rounds)):
            targets = self.model.expand(self.model.codes(filled))
            with silenced(*(ConvergenceWarning,) if left else ()):
                filled = np.where(missing, find_in_batches(self.inverse_map, targets, filled).points, X)
        return filled


@dataclass(frozen=True)
class RefittedKernelPCA:
    """Kernel PCA fitted on rows with gaps: filled, fitted, filled again, until the filled entries settle.

    Parameters
    ----------
    scale : float
        The length scale, relative to that of the median rule on the filled rows.
    share : float
        The share of the variance that the components reach.
    n_rounds, max_fits : int
        Rounds of a fitted model, and the most fits.
    """

    scale: float
    share: float
    n_rounds: int = 2
    max_fits: int = 2

    def fit(self, X: Array, first: GaussianModel, rng: Generator) -> Rounds:
        """The rounds of the last fitted model."""
        X = spread_rows(X, MOST)
        filled = first(X)
        for _ in range(self.max_fits):
            kernel = Gaussian(self.scale * (median(filled) or 1.0))
            with silenced(FewerComponentsWarning, ConvergenceWarning):
                model = decomposition.fit(kernel, filled, self.share, center=True, rng=rng)
                rounds = Rounds(first, model, Learned().prepare(model, rng), self.n_rounds)
                before, filled = filled, rounds(X)
            if np.sqrt(np.mean(np.square(filled - before))) < SETTLED:
                break
        return rounds
