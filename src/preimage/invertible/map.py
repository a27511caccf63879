"""Kernel PCA on explicit features σ(Wx + b), inverted step by step (Gedon et al. 2023), without scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Rows
from preimage.decomposition.explicit import Components
from preimage.kernels.geometry import squared_distances

COPIES = 8  # arrays of a row's features, or of its distances to known codes, in memory at once
REFINEMENTS = 20  # the most steps of the phase decoder


@dataclass(frozen=True, eq=False)
class InvertibleMap:
    """x ↦ σ(W(x − x̄) + b) ↦ code, and both inverse maps.

    Parameters
    ----------
    center, weights, offsets, activation
        x̄ (d,), W (r, d), b (r,) and σ.
    components
        The principal components of the training rows' features.
    ridge
        λ of the last step of the inverse.
    """

    center: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    activation: Any
    components: Components
    ridge: float

    @property
    def scale(self) -> float:
        """The factor of the features."""
        return self.activation.scale(len(self.offsets))

    def arguments(self, X: Rows) -> np.ndarray:
        """A = W(x − x̄) + b (eq. 2a)."""
        return (X - self.center) @ self.weights.T + self.offsets

    def features(self, X: Rows) -> np.ndarray:
        """σ(a), scaled (eq. 2b)."""
        return self.scale * self.activation(self.arguments(X))

    def codes(self, X: Rows) -> np.ndarray:
        """Z = P(σ(a) − μ) (eq. 2c)."""
        return self.components.codes(self.features(X))

    def filter(self, X: Rows) -> np.ndarray:
        """The rows after projection: the three steps inverted, with the bypass of the rows themselves (eq. 4a–c)."""
        arguments = self.arguments(X)
        codes = self.components.codes(self.scale * self.activation(arguments))
        return self.undo(codes, self.activation.bypass(arguments))

    def undo(self, codes: np.ndarray, bypass: np.ndarray) -> np.ndarray:
        """The points with these codes: the three steps inverted (eq. 4a–c)."""
        values = self.components.expand(codes) / self.scale
        return self.center + (self.activation.inverse(values, bypass) - self.offsets) @ self.linear_inverse

    @cached_property
    def gram_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenpairs of W⊤W, shared by all λ."""
        return scipy.linalg.eigh(self.weights.T @ self.weights, check_finite=False)

    @cached_property
    def linear_inverse(self) -> np.ndarray:
        """W(W⊤W + λI)⁻¹ =: M, shape (r, d): aM minimises ‖Wx − a‖² + λ‖x‖²; directions of round-off drop out."""
        values, vectors = self.gram_pairs
        floor = len(values) * np.finfo(values.dtype).eps * values[-1]
        damped = np.where(values > floor, 1 / np.maximum(values + self.ridge, floor), 0)
        return self.weights @ ((vectors * damped) @ vectors.T).astype(self.weights.dtype)

    def with_ridge(self, ridge: float) -> InvertibleMap:
        """The same map with another λ."""
        other = replace(self, ridge=ridge)
        other.__dict__["gram_pairs"] = self.gram_pairs  # known already
        return other


@dataclass(frozen=True, eq=False)
class AnchoredDecoder:
    """Decodes codes without rows, with the point of the nearest known code as an anchor.

    If the activation has a quadrature (the sine), a linear map predicts from the code a complex number ĉ for every
    feature, as the components predict the feature itself. Its phase relative to the anchor, Δ, measures how far the
    point lies along the feature's direction, and its amplitude ``|ĉ|`` is the weight of that measurement. The decoder
    reduces Σⱼ ``|ĉⱼ|`` Δⱼ² by steps with the ridge inverse of W (:attr:`InvertibleMap.linear_inverse`)::

        x̂ = anchor + δ,  δ = argmin Σⱼ (wⱼᵀδ − |ĉⱼ|Δⱼ / mean |ĉ|)² + λ‖δ‖²,

    with x̂ as the next anchor, until the steps vanish. For other activations it inverts the three steps with the
    anchor's bypass.
    """

    map: InvertibleMap
    points: np.ndarray
    codes: np.ndarray
    regression: np.ndarray | None

    @classmethod
    def of(cls, mapping: InvertibleMap, X: Rows) -> AnchoredDecoder:
        """A decoder with the rows of X as anchors."""
        codes = mapping.codes(X)
        if not hasattr(mapping.activation, "quadrature"):
            return cls(mapping, X, codes, None)
        other = mapping.activation.quadrature(mapping.arguments(X))
        design = np.column_stack([codes, np.ones(len(codes), dtype=codes.dtype)])
        return cls(mapping, X, codes, scipy.linalg.lstsq(design, other, check_finite=False)[0])

    @property
    def row_bytes(self) -> float:
        """The memory to decode a row: distances to all known codes, then features."""
        return COPIES * max(self.map.offsets.nbytes, len(self.codes) * self.codes.itemsize)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        anchors = self.points[np.argmin(squared_distances(codes, self.codes), axis=1)]
        if self.regression is None:
            return self.map.undo(codes, self.map.activation.bypass(self.map.arguments(anchors)))
        return self._follow_phases(codes, anchors)

    def _follow_phases(self, codes: np.ndarray, Z: np.ndarray) -> np.ndarray:
        sine = self.map.components.expand(codes) / self.map.scale
        cosine = codes @ self.regression[:-1] + self.regression[-1]  # type: ignore[index]
        amplitude = np.hypot(sine, cosine)
        worth = amplitude.mean(axis=1, keepdims=True)
        worth = amplitude / np.where(worth > 0, worth, 1)
        phase = np.arctan2(sine, cosine)
        Z, spread = np.array(Z), np.sqrt(np.var(self.points, axis=0).sum()) or 1.0
        moving = np.arange(len(Z))
        for _ in range(REFINEMENTS):
            gap = phase[moving] - self.map.arguments(Z[moving])
            gap -= 2 * np.pi * np.rint(gap / (2 * np.pi))
            gap *= worth[moving]
            step = gap @ self.map.linear_inverse
            Z[moving] += step
            moving = moving[np.linalg.norm(step, axis=1) > 1e-6 * spread]  # every row stops on its own
            if not len(moving):
                break
        return Z
