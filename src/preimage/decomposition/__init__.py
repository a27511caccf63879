"""Kernel PCA itself, without scikit-learn: exact, on explicit features, and the projections onto its subspace."""

from __future__ import annotations

from preimage.decomposition.exact import Decomposition, Exact, Projection, count_components, fit

__all__ = ["Decomposition", "Exact", "Projection", "count_components", "fit"]
