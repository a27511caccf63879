"""Rows with missing or grossly wrong entries: alternate between the subspace and what is trusted of the input.

Every round replaces the distrusted part of each entry by the way back's answer and projects again,

    x ← ω ∘ x₀ + (1 − ω) ∘ x̂(x),

with trust ω = 0 for a missing entry and 1 for an observed one; or, where outliers are feared, with the weights of a
bounded loss e²/(e² + s²) of the misfit e = x₀ − x̂ (Nguyen & De la Torre 2008).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from preimage import tiles
from preimage.exceptions import ConvergenceWarning, silenced

FACTORS = 256  # at most so many factors in the Gaussian model that fills gaps first
EARLIER = (ConvergenceWarning,)  # rounds before the last say nothing of how it went in the end
Rows = Callable[[np.ndarray], np.ndarray]
Factors = tuple[np.ndarray, np.ndarray, float]  # mean, loadings, noise variance


def fill_gaps(bring_back: Rows, X: np.ndarray, factors: Factors, n_rounds: int) -> np.ndarray:
    """Rows with NaN completed: first by the conditional mean of a Gaussian model, then by rounds of the way back."""
    missing = np.isnan(X)
    filled = conditional_means(X, factors)
    for left in reversed(range(n_rounds)):
        with silenced(*EARLIER if left else ()):
            filled = np.where(missing, bring_back(filled), X)
    return filled


def damp_outliers(bring_back: Rows, X: np.ndarray, scale: float, n_rounds: int) -> np.ndarray:
    """Rows whose gross outliers are replaced little by little; what the subspace explains is left as it is.

    While a row is far from its answer, its own median misfit serves as the scale, so that not all of it is distrusted.
    """
    trusted = X
    for _ in range(n_rounds):
        with silenced(*EARLIER):
            answer = bring_back(trusted)
        misfit = np.abs(X - answer)
        scales = np.maximum(1.4826 * np.median(misfit, axis=1, keepdims=True), scale)
        trust = (scales**2 / (scales**2 + misfit**2)) ** 2
        trusted = trust * X + (1 - trust) * answer
    return trusted


def conditional_means(X: np.ndarray, factors: Factors) -> np.ndarray:
    """E[missing | observed] under the Gaussian x = μ + Wz + noise of :func:`fit_factors`.

    With the rows of W at observed entries, z = (WₒᵀWₒ + σ²I)⁻¹Wₒᵀ(xₒ − μₒ) (probabilistic PCA).
    """
    mean, loadings, variance = factors
    identity = variance * np.eye(loadings.shape[1], dtype=loadings.dtype)

    def fill(rows: slice) -> np.ndarray:
        filled = np.array(X[rows])
        for row in filled:
            seen = ~np.isnan(row)
            known = loadings[seen]
            z = scipy.linalg.solve(known.T @ known + identity, known.T @ (row[seen] - mean[seen]), assume_a="pos")
            row[~seen] = mean[~seen] + loadings[~seen] @ z
        return filled

    return np.concatenate(tiles.map_rows(fill, len(X), X.shape[1] * X.itemsize))


def fit_factors(examples: np.ndarray) -> Factors:
    """Mean, loadings W = V(Λ − σ²)^½ and noise variance σ² of probabilistic PCA; σ² at least 1e-3 of a variance."""
    mean = examples.mean(axis=0)
    _, singular, axes = scipy.linalg.svd(examples - mean, full_matrices=False)
    variances = singular**2 / len(examples)
    kept, rest = variances[:FACTORS], variances[FACTORS:]
    floor = 1e-3 * variances.sum() / examples.shape[1]
    variance = float(max(rest.sum() / max(examples.shape[1] - FACTORS, 1), floor, np.finfo(examples.dtype).tiny))
    return mean, axes[:FACTORS].T * np.sqrt(np.maximum(kept - variance, 0)), variance
