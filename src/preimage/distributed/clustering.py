"""Kernel k-means on explicit features that stay on the workers; labels and sums stay with the caller."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
import scipy.sparse as sp

from preimage._typing import RowsLike
from preimage.distributed import cluster
from preimage.estimators import conventions
from preimage.gram import threads
from preimage.gram.operators import FeatureGram, Symmetric


class ChunkedFeatureGram(FeatureGram):
    """FFᵀ for features F of the rows of a Dask array, in the chunks of the array.

    A product V ↦ F(FᵀV) sends V in chunks, sparse where it encodes labels, and returns n × k numbers.
    """

    def __init__(self, rows: Any, features_map: Any):
        Symmetric.__init__(self, rows.dtype, rows.shape[0])
        self.rows, self.map = rows, features_map
        job = cluster.once(features_map)
        self.chunks = cluster.keep(rows.map(_features, features_map=job, working_memory=cluster.budget()))
        self.starts = np.append(rows.starts[rows.sizes > 0], rows.shape[0])
        found = cluster.compute(*(_diagonals(chunk) for chunk in self.chunks))
        self.diagonal = np.concatenate([diagonal for diagonal, _ in found])
        self.own = np.concatenate([own for _, own in found])

    def columns(self, which: np.ndarray) -> np.ndarray:
        different, back = np.unique(which, return_inverse=True)
        return self._times(self.map(self.rows[different])[back].T)

    def _matmat(self, V):
        return self._times(self._weighted(V, np.arange(len(V))))

    def multiply_columns(self, which: np.ndarray, V: np.ndarray) -> np.ndarray:
        order = np.argsort(which, kind="stable")
        return self._times(self._weighted(V[order], which[order]))

    def combine(self, weights: np.ndarray) -> np.ndarray:
        return self._weighted(weights.T, np.arange(weights.shape[1])).T

    def _times(self, M: np.ndarray) -> np.ndarray:
        """F M."""
        shared = cluster.once(np.ascontiguousarray(M))
        return np.concatenate(cluster.compute(*(_times(chunk, shared) for chunk in self.chunks)))

    def _weighted(self, V: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Σ fᵢvᵢᵀ over rows with these ascending numbers."""
        cuts = np.searchsorted(numbers, self.starts)
        parts = [
            _transposed_times(chunk, numbers[i:j] - first, sp.csr_matrix(V[i:j]))
            for chunk, first, i, j in zip(self.chunks, self.starts, cuts, cuts[1:], strict=False)
            if j > i
        ]
        return cluster.compute(cluster.tree(parts, _sum))[0]


def fit_kernel_kmeans(estimator, X: RowsLike, y=None, sample_weight=None) -> None:
    """Fit a kernel k-means through landmarks."""
    from preimage.distributed.rows import ChunkedRows
    from preimage.estimators.kernel_kmeans import sample_weights

    rows = ChunkedRows.of(X)
    if estimator.approximation is None:
        raise ValueError("exact kernel k-means needs all rows at once: give approximation=1000 to fit a Dask array.")
    if not isinstance(estimator.init, str):
        raise ValueError('seeds are drawn on the cluster: give init="k-means++" or "random" to fit a Dask array.')
    weights = sample_weights(sample_weight, rows.shape[0])
    if not weights.all():
        raise ValueError("rows of weight 0 are not clustered: leave them out of the Dask array.")
    cluster.check_workers(estimator.kernel)
    conventions.remember_width(estimator, rows.shape[1])
    estimator._check(rows, weights)
    estimator._fit(rows, weights, conventions.generator(estimator.random_state))


def _features(block: np.ndarray, number: int, features_map, working_memory: float) -> tuple[np.ndarray, np.ndarray]:
    with cluster.as_one_of_many(working_memory):
        return features_map(block), np.asarray(features_map.kernel.diagonal(block))


@dask.delayed(pure=False)
def _diagonals(chunk) -> tuple[np.ndarray, np.ndarray]:
    F, own = chunk
    return np.einsum("ij,ij->i", F, F), own


@dask.delayed(pure=False)
def _times(chunk, M: np.ndarray) -> np.ndarray:
    with threads.single_threaded():
        return chunk[0] @ M


@dask.delayed(pure=False)
def _transposed_times(chunk, rows: np.ndarray, V) -> np.ndarray:
    F = chunk[0] if len(rows) == len(chunk[0]) else chunk[0][rows]
    return (V.T @ F).T


def _sum(parts: list[np.ndarray]) -> np.ndarray:
    return np.sum(parts, axis=0)
