"""Locally linear PCA: a linear PCA for every region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LocalPCA:
    """A linear PCA in each region of k-means; the patches of neighbouring regions are blended.

    A row is reconstructed as the mean of its projections onto the patches. The weights are a Gaussian of its distance
    to their centres, as wide as the average region.

    Parameters
    ----------
    n_regions : int
    n_components : int
        Components in every region.

    References
    ----------
    Bregler and Omohundro (1994); Schölkopf et al. (1998), §6.3.4.
    """

    n_regions: int = 6
    n_components: int = 1

    def fit(self, X: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Find the patches; return a function that reconstructs rows."""
        from sklearn.cluster import KMeans

        found = KMeans(self.n_regions, n_init=3, random_state=int(rng.integers(2**31))).fit(X)
        centers = found.cluster_centers_
        axes = [_axes(X[found.labels_ == region], self.n_components) for region in range(self.n_regions)]
        width2 = found.inertia_ / len(X)

        def reconstruct(rows: np.ndarray) -> np.ndarray:
            patches = np.stack([c + (rows - c) @ a.T @ a for c, a in zip(centers, axes, strict=True)], axis=1)
            far = np.square(rows[:, None] - centers).sum(axis=2)
            weights = np.exp(-(far - far.min(axis=1, keepdims=True)) / (2 * width2))
            return np.einsum("nr,nrd->nd", weights / weights.sum(axis=1, keepdims=True), patches)

        return reconstruct


def _axes(rows: np.ndarray, count: int) -> np.ndarray:
    return np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:count]
