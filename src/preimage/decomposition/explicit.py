"""Principal components of explicit feature vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array
from preimage.decomposition.exact import ROUND_OFF, count_wanted
from preimage.eigen import lapack
from preimage.eigen.base import column_signs
from preimage.gram import threads
from preimage.gram.operators import refuse_overflow


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of feature vectors: mean μ (r,), orthonormal axes (r, q), eigenvalues and their total."""

    mean: Array
    axes: Array
    eigenvalues: Array
    total: float

    @classmethod
    def of(cls, features: Array, n_components: int | float | None) -> Components:
        """The components of feature vectors, from their covariance, or from their Gram matrix if rows are fewer."""
        mean = features.mean(axis=0)
        centred = features - mean
        total = float(np.square(centred).sum(dtype=float))
        if not total > 0:
            raise ValueError("all rows are equal, so there is no variance to decompose.")
        wide = centred.shape[1] > centred.shape[0]
        values, vectors = leading_pairs(centred @ centred.T if wide else centred.T @ centred, n_components)
        values = np.maximum(values, 0)
        # The covariance has axes for directions of round-off too, so that all axes together lose nothing.
        available = int(np.sum(values > ROUND_OFF * np.finfo(values.dtype).eps * values[0])) if wide else len(values)
        q = count_wanted(values[:available], total, n_components)
        axes = centred.T @ (vectors[:, :q] / np.sqrt(values[:q])) if wide else vectors[:, :q]
        total = max(total, float(values[:q].sum(dtype=float)))  # round-off may make their sum larger
        return cls(mean, np.ascontiguousarray(axes * column_signs(axes)), values[:q], total)

    def codes(self, features: Array) -> Array:
        """Coordinates along the axes."""
        return (features - self.mean) @ self.axes

    def expand(self, codes: Array) -> Array:
        """The feature vectors with these coordinates."""
        return codes @ self.axes.T + self.mean


def leading_pairs(matrix: Array, n_components: int | float | None) -> tuple[Array, Array]:
    """Eigenpairs in descending order: ``n_components`` of them if it is a small whole number, else all."""
    refuse_overflow(float(matrix.sum()))
    with threads.single_threaded_blas():
        if isinstance(n_components, int) and n_components < len(matrix) // 4:
            values, vectors = lapack.leading(matrix, n_components)
        else:
            values, vectors = lapack.divide_and_conquer(matrix)
    return values[::-1], vectors[:, ::-1]
