"""Imputation from similar rows: a density with a Gaussian around every known row, given the observed entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.imputation.gaussian import GaussianModel
from preimage.kernels.scales import spread_rows

MOST = 2000  # known rows


@dataclass(frozen=True)
class LocalGaussians:
    """p(x) = Σᵢ N(x; xᵢ, h²(WWᵀ + Ψ) + κI) around the filled rows xᵢ, with the covariance of a Gaussian model.

    Given the observed entries, row i has the weight N(xₒ; xᵢₒ, Hₒₒ), and missing entries get their conditional mean.
    With h → 1 it becomes the Gaussian model, with h → 0 a mean of nearest neighbours. A row's own weight is 0.

    Parameters
    ----------
    width : float
        h.
    blur : float
        κ.
    """

    width: float
    blur: float

    def fit(self, X: Array, first: GaussianModel, rng: Generator) -> LocalMap:
        """The density of the rows."""
        rows = spread_rows(X, MOST)
        noise = self.width**2 * np.broadcast_to(first.variance, X.shape[1]) + self.blur
        return LocalMap(first, rows, first(rows), self.width * first.loadings, noise)


@dataclass(frozen=True, eq=False)
class LocalMap:
    """Known rows, as observed and filled, with the loadings and the noise of the Gaussian around each."""

    first: GaussianModel
    rows: Array
    filled: Array
    loadings: Array
    noise: Array

    def __call__(self, X: Array) -> Array:
        answers = np.array(X)
        patterns, group = np.unique(np.isnan(X), axis=0, return_inverse=True)
        for number, missing in enumerate(patterns):
            if missing.any():
                chosen = np.flatnonzero(group.ravel() == number)
                answers[np.ix_(chosen, missing)] = self._conditional(X[chosen], missing)
        return answers

    def _conditional(self, X: Array, missing: Array) -> Array:
        """Conditional means of rows with the same missing entries.

        With V = Ψ^−½W of observed entries, RRᵀ = VᵀV + I and u = Ψ^−½(x − xᵢ)ₒ, the distance is ‖u‖² − ‖R⁻¹Vᵀu‖².
        """
        seen, unit = ~missing, np.sqrt(self.noise[~missing])
        V = self.loadings[seen] / unit[:, None]
        root = np.linalg.cholesky(V.T @ V + np.eye(V.shape[1]))
        ours, known = X[:, seen] / unit, self.filled[:, seen] / unit
        inner = [scipy.linalg.solve_triangular(root, (part @ V).T, lower=True).T for part in (ours, known)]
        weights = self._weights(_squares(ours, known) - _squares(*inner), X, missing)
        means, codes = weights @ self.filled[:, missing], inner[0] - weights @ inner[1]
        lifted = scipy.linalg.solve_triangular(root, codes.T, lower=True, trans=1).T
        return means + lifted @ self.loadings[missing].T

    def _weights(self, distances: Array, X: Array, missing: Array) -> Array:
        """exp(−distance/2), normalised; 0 for the row itself, unless there is no other."""
        same = np.flatnonzero((np.isnan(self.rows) == missing).all(axis=1))
        itself = (X[:, None, ~missing] == self.rows[None, same][:, :, ~missing]).all(axis=2)
        distances[:, same] += np.where(itself, np.inf if len(self.rows) > 1 else 0, 0)
        distances -= distances.min(axis=1, keepdims=True)
        weights = np.exp(-distances / 2)
        return weights / weights.sum(axis=1, keepdims=True)


def _squares(A: Array, B: Array) -> Array:
    """Squared distances of all pairs."""
    return np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2 * A @ B.T
