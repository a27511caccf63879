"""Principal components of explicit feature vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.eigen import lapack


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of feature vectors: mean μ (r,), orthonormal axes (r, q), eigenvalues and their total."""

    mean: np.ndarray
    axes: np.ndarray
    eigenvalues: np.ndarray
    total: float

    @classmethod
    def of(cls, features: np.ndarray, n_components: int | float | None) -> Components:
        """By the covariance if features are fewer than rows, else by the Gram matrix."""
        mean = features.mean(axis=0)
        centred = features - mean
        wide = centred.shape[1] > centred.shape[0]
        values, vectors = lapack.divide_and_conquer(centred @ centred.T if wide else centred.T @ centred)
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        total = float(np.square(centred).sum(dtype=float))
        if not total > 0:
            raise ValueError("all rows are equal, so that there is no variance to decompose.")
        # With the covariance even directions of round-off have an axis, and with all of them nothing is lost.
        available = int(np.sum(values > 10 * np.finfo(values.dtype).eps * values[0])) if wide else len(values)
        q = _count(values[:available], total, n_components)
        axes = centred.T @ (vectors[:, :q] / np.sqrt(values[:q])) if wide else vectors[:, :q]
        largest = axes[np.abs(axes).argmax(axis=0), np.arange(q)]
        return cls(
            mean, np.ascontiguousarray(axes * np.where(largest < 0, -1, 1)).astype(axes.dtype), values[:q], total
        )

    def codes(self, features: np.ndarray) -> np.ndarray:
        """Coordinates along the axes."""
        return (features - self.mean) @ self.axes

    def expand(self, codes: np.ndarray) -> np.ndarray:
        """The feature vectors with these coordinates."""
        return codes @ self.axes.T + self.mean


def _count(values: np.ndarray, total: float, n_components) -> int:
    if n_components is None:
        return len(values)
    if isinstance(n_components, float):
        reached = np.cumsum(values) >= n_components * total
        return int(np.argmax(reached)) + 1 if reached.any() else len(values)
    return min(n_components, len(values))
