"""What a stage makes of the rows it sees: kernel values with landmarks, the row itself, and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from preimage.gram import tiles
from preimage.kernels.geometry import squared_norms
from preimage.kernels.scales import resolve

__all__ = ["Features"]

KEPT = 0.99  # of the variance of what is seen; the rest of the directions is not looked at by the kernel
SPREAD = 0.3  # ℓ² of the kernel as a share of the total variance of what is seen


@dataclass(frozen=True, eq=False)
class Features:
    """φ(x) = [k(u, z₁) … k(u, z_m), x − x̄, 1] with the principal coordinates u = Bᵀ(x − x̄).

    The linear part lets the kernel spend itself on what is not linear. Few coordinates carry nearly all of what windows
    show, and they are what a kernel value costs.
    """

    kernel: Any
    mean: np.ndarray
    basis: np.ndarray
    landmarks: np.ndarray

    @classmethod
    def choose(cls, kernel: Any, rows: np.ndarray, landmarks: np.ndarray) -> Features:
        """From a sample of rows; ``landmarks`` are the numbers of those to compare with."""
        mean = rows.mean(axis=0)
        centred = rows - mean
        values, axes = np.linalg.eigh(np.asarray(centred.T @ centred / len(rows), dtype=float))
        values, axes = np.maximum(values[::-1], 0), axes[:, ::-1]
        total = float(values.sum())
        kept = int(np.searchsorted(np.cumsum(values), KEPT * total)) + 1
        basis = np.ascontiguousarray(axes[:, :kept], dtype=rows.dtype)
        if kernel.length_scale is None:
            kernel = replace(kernel, length_scale=float(np.sqrt(SPREAD * total)) or 1.0)
        coordinates = centred[landmarks] @ basis
        return cls(resolve(kernel, coordinates), mean, basis, coordinates)

    @property
    def n_kernel(self) -> int:
        """How many of the features are kernel values."""
        return len(self.landmarks)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The features of rows."""
        centred = rows - self.mean
        return np.concatenate([self._values(centred), centred, np.ones((len(rows), 1), dtype=rows.dtype)], axis=1)

    def times(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The features of rows times weights, without putting them side by side."""
        m, centred = self.n_kernel, rows - self.mean
        return self._values(centred) @ weights[:m] + centred @ weights[m:-1] + weights[-1]

    def _values(self, centred: np.ndarray) -> np.ndarray:
        """Kernel values, with −‖u − z‖²/c = [u, ‖u‖², 1]·[2z, −1, −‖z‖²]/c from one product."""
        inside = centred @ self.basis
        values = (
            np.column_stack([inside, squared_norms(inside), np.ones(len(inside), dtype=inside.dtype)]) @ self._right
        )
        for strip in tiles.strips(values):
            values[strip] = self.kernel.from_closeness(np.minimum(values[strip], 0))  # round-off may exceed 0
        return values

    @cached_property
    def _right(self) -> np.ndarray:
        ones = np.ones(len(self.landmarks), dtype=self.landmarks.dtype)
        right = np.column_stack([2 * self.landmarks, -ones, -squared_norms(self.landmarks)]) / self.kernel.unit
        return np.ascontiguousarray(right.T.astype(self.landmarks.dtype))
