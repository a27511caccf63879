"""The features of a stage: kernel values with landmarks, the row itself, and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from preimage.gram import slicing
from preimage.kernels.geometry import squared_norms
from preimage.kernels.scales import resolve

KEPT = 0.99  # share of the variance in the directions that the kernel uses
SPREAD = 0.3  # ℓ² of the kernel relative to the total variance of the rows


@dataclass(frozen=True, eq=False)
class Features:
    """φ(x) = [k(u, z₁) … k(u, z_m), x − x̄, 1] with the principal coordinates u = Bᵀ(x − x̄).

    The linear part leaves only the nonlinear part to the kernel. The cost of a kernel value grows with the number of
    coordinates, and a few of them have nearly all of the variance of windows.
    """

    kernel: Any
    mean: np.ndarray
    basis: np.ndarray
    landmarks: np.ndarray

    @classmethod
    def choose(cls, kernel: Any, rows: np.ndarray, landmarks: np.ndarray) -> Features:
        """The features from a sample of rows; ``landmarks`` are the indices of the landmarks."""
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
        """The number of features that are kernel values."""
        return len(self.landmarks)

    @property
    def n(self) -> int:
        """The number of features."""
        return len(self.landmarks) + len(self.mean) + 1

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The features of rows."""
        m = self.n_kernel
        found = np.empty((len(rows), self.n), dtype=rows.dtype)
        centred = np.subtract(rows, self.mean, out=found[:, m:-1])
        self._values(centred, found[:, :m])
        found[:, -1] = 1
        return found

    def times(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The features of rows times weights, without storing all features."""
        m, centred = self.n_kernel, rows - self.mean
        values = self._values(centred, np.empty((len(rows), m), dtype=rows.dtype))
        return values @ weights[:m] + centred @ weights[m:-1] + weights[-1]

    def _values(self, centred: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Kernel values, with −‖u − z‖²/c = [u, ‖u‖², 1]·[2z, −1, −‖z‖²]/c from one product, strip by strip."""
        inside = centred @ self.basis
        left = np.column_stack([inside, squared_norms(inside), np.ones(len(inside), dtype=inside.dtype)])
        for strip in slicing.strips(out):
            closeness = np.matmul(left[strip], self._right, out=out[strip])
            values = self.kernel.from_closeness(closeness)
            if values is not closeness:
                out[strip] = values
        return out

    @cached_property
    def _right(self) -> np.ndarray:
        """[2z, −1, −‖z‖²]/c, with norms raised by the round-off of the product, so that no distance is negative."""
        z, norms = self.landmarks, squared_norms(self.landmarks)
        longer = norms * (1 + 4 * (z.shape[1] + 2) * np.finfo(z.dtype).eps)
        right = np.column_stack([2 * z, -np.ones(len(z), dtype=z.dtype), -longer]) / self.kernel.unit
        return np.ascontiguousarray(right.T.astype(z.dtype))
