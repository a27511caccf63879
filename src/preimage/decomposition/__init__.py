"""Kernel PCA itself, without scikit-learn: exact, on explicit features, and the projections onto its subspace."""

from preimage.decomposition.base import Decomposition, OnFeatures
from preimage.decomposition.exact import Exact, count_components, fit
from preimage.decomposition.expanded import Expanded, Projection

__all__ = ["Decomposition", "Exact", "Expanded", "OnFeatures", "Projection", "count_components", "fit"]
