"""A kernel PCA over few points."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import scipy.linalg

from preimage.decomposition import Decomposition, Expanded
from preimage.expansion import Expansion
from preimage.gram import tiles
from preimage.kernels.base import is_number
from preimage.reduced.base import ReducedSet
from preimage.reduced.sets import reduced_set


def compress(model: Decomposition, n_points: int, *, method: Any = "auto") -> tuple[Expanded, np.ndarray]:
    """A kernel PCA over ``n_points`` points, and the relative error for every size up to that.

    The mean φ̄ and the axes σₖVₖ, with σₖ the standard deviation of the codes, are reduced together: their summed
    squared error is the mean squared error of the projections φ̄ + Σₖ βₖVₖ. The new axes are then made orthonormal with
    the least change, V̂ ← (V̂V̂ᵀ)^(−1/2) V̂ (Löwdin 1950), so that the result is again a kernel PCA.
    """
    if not isinstance(model, Expanded):
        raise TypeError("a model on random features has no points to compress: use fewer features instead.")
    if is_number(n_points) and n_points < model.n_components:
        raise ValueError(
            f"n_points={n_points} is less than the {model.n_components} components: use at least as many points."
        )
    deviations = model.input_codes.std(axis=0)
    weights = np.vstack([model.mean_weights, (model.alphas * deviations).T])
    found = reduced_set(Expansion(model.kernel, model.points, weights), n_points, method=method)
    return _rebuilt(model, found, deviations), found.errors


def _rebuilt(model: Expanded, found: ReducedSet, deviations: np.ndarray) -> Expanded:
    points, dtype = found.expansion.points, model.alphas.dtype
    gram = tiles.gram(model.kernel, points).astype(float, copy=False)
    mean, axes = found.expansion.weights[0].astype(float), found.expansion.weights[1:] / deviations[:, None]
    axes = _inverse_square_root(axes @ gram @ axes.T) @ axes
    changed = {
        "points": points,
        "alphas": np.ascontiguousarray(axes.T, dtype=dtype),
        "mean_weights": mean.astype(dtype),
        "offsets": (axes @ gram @ mean).astype(dtype),
        "mean_norm2": float(mean @ gram @ mean),
    }
    return Expanded(**{field.name: getattr(model, field.name) for field in fields(Expanded)} | changed)


def _inverse_square_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
    if values[0] <= len(values) * np.finfo(float).eps * values[-1]:
        raise ValueError("the reduced set has too few points for all components: increase n_points.")
    return (vectors / np.sqrt(values)) @ vectors.T
