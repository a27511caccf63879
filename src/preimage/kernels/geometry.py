"""Squared distances and inner products between the rows of two matrices, dense or sparse (CSR)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def inner_products(X, Y) -> np.ndarray:
    """The matrix X Yᵀ, always dense."""
    products = X @ Y.T
    return products.toarray() if sp.issparse(products) else np.asarray(products)


def squared_norms(X) -> np.ndarray:
    """‖x‖² for every row x."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def squared_distances(X, Y) -> np.ndarray:
    """‖x − y‖² for every pair of rows.

    Computed as ‖x‖² + ‖y‖² − 2xᵀy after moving the origin to the mean of Y, because far from the origin that sum
    cancels; clipped at 0. Where X is Y, the diagonal is exactly 0. Sparse rows stay where they are (moving them would
    fill them in).
    """
    same = X is Y
    if not (sp.issparse(X) or sp.issparse(Y)):
        origin = Y.mean(axis=0)
        Y = Y - origin
        X = Y if same else X - origin
    products = inner_products(X, Y)
    products *= -2
    products += squared_norms(X)[:, None]
    products += squared_norms(Y)
    np.maximum(products, 0, out=products)
    if same:
        np.fill_diagonal(products, 0)
    return products
