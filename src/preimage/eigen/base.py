"""What an eigensolver is, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
import scipy.linalg

from preimage.eigen import lapack
from preimage.exceptions import ConvergenceWarning, warn
from preimage.gram import tiles
from preimage.gram.operators import Symmetric


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues (descending), eigenvectors as columns, and what happened.

    For every pair there is an eigenvalue within its residual ‖Au − λu‖ of λ.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    converged: bool
    steps: int


def check_count(solver, name: str) -> None:
    """Refuse a setting that is no whole number of at least 1; None where that is the default."""
    value = getattr(solver, name)
    if value is None and getattr(type(solver), name) is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")


class Solver(Protocol):
    """What every eigensolver does."""

    def solve(self, operator: Symmetric, k: int, rng: np.random.Generator) -> Eigenpairs:
        """The k largest eigenpairs of a symmetric operator."""


def as_eigenpairs(
    operator, values, vectors, bound: float, steps: int, wanted: int | None = None, residuals: np.ndarray | None = None
) -> Eigenpairs:
    """Eigenpairs in descending order with deterministic signs and residuals, which ``bound`` should bound.

    Residuals are measured where the solver does not know them.
    """
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    vectors = vectors * column_signs(vectors)
    scale = max(float(np.abs(values).max(initial=0)), np.finfo(float).tiny)
    residuals = _residuals(operator, values, vectors) if residuals is None else residuals[order]
    converged = len(values) >= (wanted or 0) and bool(np.all(residuals <= bound))
    if not converged:
        warn(
            f"the eigensolver stopped before its tolerance: {len(values)} eigenpairs, residuals up to "
            f"{residuals.max(initial=0) / scale:.1e} of the largest eigenvalue. "
            "Allow more steps, or take solver='dense'.",
            ConvergenceWarning,
        )
    return Eigenpairs(values, vectors, residuals, converged, steps)


def orthonormal(nearly: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and R with V = QR, of columns that are nearly orthonormal: the Cholesky factor R of VᵀV, and VR⁻¹."""
    if not nearly.shape[1]:  # which scipy before 1.14 refuses
        return nearly, np.zeros((0, 0), nearly.dtype)
    root = scipy.linalg.cholesky(nearly.T @ nearly, check_finite=False)
    return scipy.linalg.solve_triangular(root, nearly.T, trans="T", check_finite=False).T, root


def rayleigh_ritz(basis: np.ndarray, image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues (ascending), vectors and residuals of A within the space of orthonormal columns Q, from Q and AQ."""
    product = basis.T @ image
    values, weights = lapack.divide_and_conquer((product + product.T) / 2)
    vectors = basis @ weights
    return values, vectors, column_norms(image @ weights - vectors * values)


def _residuals(operator, values, vectors) -> np.ndarray:
    """‖Au − λu‖."""
    parts = [(values[part], vectors[:, part]) for part in tiles.slices(len(values), 256)]
    return np.concatenate([column_norms(operator @ v - v * w) for w, v in parts] or [np.zeros(0)])


def column_norms(V: np.ndarray) -> np.ndarray:
    """Norms of columns, in units of the largest entry, so that squares neither overflow nor vanish."""
    unit = np.abs(V).max(initial=0) or 1
    return unit * np.linalg.norm(V / unit, axis=0)


def column_signs(vectors: np.ndarray) -> np.ndarray:
    """±1 for every column, so that the column times its sign has a positive entry of largest size."""
    if not vectors.size:
        return np.ones(vectors.shape[1], dtype=vectors.dtype)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(largest < 0, -1, 1).astype(vectors.dtype)


def round_off(operator) -> float:
    """The relative residual that round-off leaves."""
    return 10 * np.sqrt(operator.shape[0]) * float(np.finfo(operator.dtype).eps)
