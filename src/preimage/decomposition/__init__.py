"""Kernel PCA itself, without scikit-learn: exact, on explicit features, and the projections onto its subspace."""

from __future__ import annotations

from preimage.decomposition.base import Decomposition, Expanded, Projection
from preimage.decomposition.exact import Exact, count_components, fit

__all__ = ["Decomposition", "Exact", "Expanded", "Projection", "count_components", "fit"]
