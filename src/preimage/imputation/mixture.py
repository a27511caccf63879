"""Weighted means of several imputations, with the weights of least squared error."""

from __future__ import annotations

import numpy as np

from preimage._typing import Array
from preimage.preimages.convex import minimise_on_simplex

PRIOR = 40  # weight of all columns together in the weights of one, in hidden entries


def best_weights(grams: Array) -> Array:
    """Weights w ≥ 0, Σw = 1 of least wᵀGw, for a batch of matrices G of products of errors; if G = 0, the first."""
    sizes = np.einsum("gii->g", grams)
    scaled = grams / np.where(sizes > 0, sizes, 1)[:, None, None]
    weights, _, _ = minimise_on_simplex(scaled, np.zeros(grams.shape[:2]), 1e-9, 5000)
    return np.where((sizes > 0)[:, None], weights, np.eye(grams.shape[1])[0])


def weights_by_column(errors: Array, hidden: Array) -> Array:
    """One row of weights per column, from errors of shape (methods, rows, columns) at hidden entries.

    The products of a column's errors are added to ``PRIOR`` times the mean products of all columns, so that columns
    with few hidden entries get weights that suit all.
    """
    errors = np.where(hidden, errors, 0)
    own = np.einsum("arj,brj->jab", errors, errors, optimize=True)
    return best_weights(own + PRIOR * own.sum(axis=0) / max(int(hidden.sum()), 1))
