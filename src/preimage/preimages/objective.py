"""The distance ρ(z) = ‖φ(z) − Ψ‖² as a function of z, for a batch of targets, with its gradient and a curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage._typing import Array
from preimage.gram import slicing
from preimage.kernels import knows
from preimage.kernels.geometry import inner_products, squared_distances, squared_norms
from preimage.preimages.base import dense_rows

WEAK = 1e-3  # Σw below this fraction of Σ|w| makes a fixed-point step unsafe: take a gradient step


class FeatureDistance:
    """ρ(z) = k(z, z) − 2⟨φ(z), Ψ⟩ + ‖Ψ‖², plus pull ‖z − z₀‖² with the anchor z₀.

    With this curvature, a step −∇ρ/curvature is the fixed-point iteration of the kernel's family:

    * distances: 4Σw, w = −γ κ′(‖z − x‖²), so that z⁺ = Σwx / Σw (Mika et al. 1998, eq. 10);
    * inner products: 2κ′(zᵀz), so that z⁺ = Σγ κ′(zᵀx) x / κ′(zᵀz);
    * any other kernel: unknown.
    """

    def __init__(self, targets: Any, pull: float = 0.0, anchor: Array | None = None):
        self.targets, self.kernel = targets, targets.kernel
        self.points = dense_rows(targets.points)
        self.norm2 = targets.norm2()
        self.pull, self.anchor = pull, anchor
        self.spread = rms_radius(self.points)
        self.scale = self.norm2 + float(np.abs(self.kernel.diagonal(self.points)).mean())
        self.family = self.kernel.argument if "weights" in targets.provides else None

    def __call__(self, Z: Array, rows: Array) -> tuple[Array, Array, Array]:
        if self.family is None:
            value, gradient, curvature = self._general(Z, rows)
        else:
            family = self._radial if self.family == "distance" else self._dot
            row_bytes = 6 * Z.itemsize * len(self.points)
            parts = slicing.map_rows(lambda part: family(Z[part], rows[part]), len(rows), row_bytes)
            value, gradient, curvature = (np.concatenate(part) for part in zip(*parts, strict=True))
        value = value + self.norm2[rows]
        if self.pull and self.anchor is not None:
            gap = Z - self.anchor[rows]
            value = value + self.pull * squared_norms(gap)
            gradient = gradient + 2 * self.pull * gap
            curvature = curvature + 2 * self.pull
        return value, gradient, curvature

    def _radial(self, Z: Array, rows: Array) -> tuple[Array, Array, Array]:
        kernel, weights = self.kernel, self.targets.weights[rows]
        distances = squared_distances(Z, self.points)
        value = kernel.diagonal(Z) - 2 * np.einsum("ij,ij->i", weights, kernel.profile(distances))
        pulls = -weights * kernel.derivative(distances)
        total, size = pulls.sum(axis=1), np.abs(pulls).sum(axis=1)
        gradient = 4 * (total[:, None] * Z - pulls @ self.points)
        return value, gradient, 4 * np.where(total > WEAK * size, total, size)

    def _dot(self, Z: Array, rows: Array) -> tuple[Array, Array, Array]:
        kernel, weights = self.kernel, self.targets.weights[rows]
        products, squares = inner_products(Z, self.points), squared_norms(Z)
        value = kernel.profile(squares) - 2 * np.einsum("ij,ij->i", weights, kernel.profile(products))
        own = kernel.derivative(squares)
        gradient = 2 * (own[:, None] * Z - (weights * kernel.derivative(products)) @ self.points)
        return value, gradient, np.where(own > 0, 2 * own, np.nan)

    def _general(self, Z: Array, rows: Array) -> tuple[Array, Array, Array]:
        targets = self.targets[rows]
        value = self.kernel.diagonal(Z) - 2 * targets.inner_paired(Z)
        gradient = self.kernel.diagonal_gradient(Z) - 2 * targets.gradient(Z)
        return value, gradient, np.full(len(Z), np.nan)

    def approach(self, Z: Array) -> Array:
        """The starts, moved to where the kernel does not underflow to 0.

        Far from all points, all weights w underflow. Their ratios to the largest are still known, and one fixed-point
        step with these ratios leads to the points nearest to the start.
        """
        if self.family != "distance" or not knows(self.kernel, "log_slope"):
            return Z
        Z = np.array(Z)
        for rows in slicing.slices(len(Z), 256):
            distances = squared_distances(Z[rows], self.points)
            logs = self.kernel.log_slope(distances)
            peak = logs.max(axis=1, keepdims=True)
            lost = np.flatnonzero(peak[:, 0] < np.log(np.finfo(Z.dtype).tiny) / 2)
            if lost.size:
                relative = np.abs(self.targets.weights[rows][lost]) * np.exp(logs[lost] - peak[lost])
                size = relative.sum(axis=1, keepdims=True)
                Z[rows.start + lost] = np.where(size > 0, relative @ self.points / np.where(size > 0, size, 1), 0)
        return Z


def rms_radius(points: Array) -> float:
    """The root mean squared distance of the points from their mean; if all are equal, their norm, or 1."""
    deviation = float(np.sqrt(np.var(points, axis=0, dtype=float).sum()))
    return deviation or float(np.sqrt(np.square(points[0], dtype=float).sum())) or 1.0
