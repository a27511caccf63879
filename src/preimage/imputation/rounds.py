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

MOST = 400  # rows that it is fitted on
SETTLED = 1e-2  # of a standard deviation: filled entries that move less have settled


@dataclass(frozen=True, eq=False)
class Rounds:
    """Gaps filled at first by a Gaussian model, then by rounds of a prepared method; known entries are put back.

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
        The length scale, in units of the median distance of the filled rows.
    share : float
        The share of the variance that the components reach.
    n_rounds, max_fits : int
        Rounds of a fitted model, and how often it is fitted at most.
    """

    scale: float
    share: float
    n_rounds: int = 2
    max_fits: int = 2

    def fit(self, X: Array, first: GaussianModel, rng: Generator) -> Rounds:
        """The model of the rows."""
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
