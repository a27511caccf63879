"""Leading eigenpairs of a symmetric operator, each with its residual.

A solver is a small frozen object; ``solve(operator, k, rng)`` returns the k algebraically largest eigenvalues, in
descending order, with unit eigenvectors whose largest entry is positive.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from preimage import tiles
from preimage.exceptions import ConvergenceWarning
from preimage.operators import Symmetric


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


class Solver(Protocol):
    """What every eigensolver does."""

    def solve(self, operator: Symmetric, k: int, rng: np.random.Generator) -> Eigenpairs:
        """The k largest eigenpairs of a symmetric operator."""


@dataclass(frozen=True)
class Dense:
    """LAPACK on the dense matrix: exact, O(n³), a subset where k is smaller than n.

    It works in the operator's own matrix and restores it afterwards, so that no second matrix is held.
    """

    def solve(self, operator: Symmetric, k: int, rng: np.random.Generator) -> Eigenpairs:
        matrix, n = operator.dense(), operator.shape[0]
        diagonal = matrix.diagonal().copy()
        # The transpose of a C-ordered matrix is what LAPACK reads without copying. "U" of it is our lower triangle.
        values, vectors = scipy.linalg.eigh(
            matrix.T, lower=False, subset_by_index=(n - k, n - 1), driver="evr", overwrite_a=True, check_finite=False
        )
        _restore_lower(matrix, diagonal)
        return _report(matrix, values, vectors, tolerance=np.inf, steps=1)


@dataclass(frozen=True)
class Lanczos:
    """ARPACK's restarted Lanczos iteration on products with the operator.

    ``tol`` bounds the residual ‖Au − λu‖ relative to the eigenvalue; 0 asks for machine precision.
    """

    tol: float = 0.0
    max_restarts: int | None = None

    def solve(self, operator: Symmetric, k: int, rng: np.random.Generator) -> Eigenpairs:
        n = operator.shape[0]
        if k >= n:  # ARPACK's space must be smaller than the whole
            return Dense().solve(operator, k, rng)
        counted = _Counted(operator)
        start = rng.standard_normal(n).astype(operator.dtype)
        try:
            values, vectors = eigsh(counted, k, which="LA", v0=start, tol=self.tol, maxiter=self.max_restarts)
        except ArpackNoConvergence as stopped:
            values, vectors = stopped.eigenvalues, stopped.eigenvectors
        tolerance = max(self.tol, 100 * n * np.finfo(operator.dtype).eps)
        return _report(operator, values, vectors, tolerance, counted.products, wanted=k)


@dataclass(frozen=True)
class PowerDeflation:
    """Power iteration, one eigenvector at a time, each deflated from the operator (Schölkopf et al. 1998, §4.1).

    Slow where eigenvalues lie close together; a cross-check of the other solvers, sharing no code with them. An
    eigenvalue that dominates by its size but is negative is deflated as well and left out.
    """

    tol: float = 1e-10
    max_steps: int = 10_000

    def solve(self, operator: Symmetric, k: int, rng: np.random.Generator) -> Eigenpairs:
        n, steps = operator.shape[0], 0
        found: list[tuple[float, np.ndarray]] = []
        for _ in range(n):
            value, vector, taken = self._dominant(operator, found, rng)
            steps += taken
            found.append((value, vector))
            if sum(value > 0 for value, _ in found) >= k:
                break
        kept = sorted(found, key=lambda pair: -pair[0])[:k]
        values, vectors = np.array([value for value, _ in kept]), np.stack([vector for _, vector in kept], axis=1)
        return _report(operator, values[::-1], vectors[:, ::-1], max(self.tol, _floor(operator)), steps)

    def _dominant(self, operator, found, rng) -> tuple[float, np.ndarray, int]:
        """The eigenpair of largest size that is orthogonal to those found."""
        basis = np.stack([v for _, v in found], axis=1) if found else np.zeros((operator.shape[0], 0), operator.dtype)
        vector = _orthogonal_unit(rng.standard_normal(operator.shape[0]).astype(operator.dtype), basis)
        scale = max((abs(value) for value, _ in found), default=0.0)
        value = 0.0
        for step in range(1, self.max_steps + 1):
            product = operator @ vector
            product -= basis @ (basis.T @ product)
            value = float(vector @ product)
            scale = max(scale, abs(value))
            if np.linalg.norm(product - value * vector) <= max(self.tol, _floor(operator)) * scale:
                return value, vector, step
            vector = _orthogonal_unit(product, basis)
        return value, vector, self.max_steps


NAMES = {"dense": Dense, "lanczos": Lanczos, "power": PowerDeflation}


def as_solver(solver, n: int, k: int) -> Solver:
    """The solver for k of n eigenpairs, from what users type; ``"auto"`` leaves the choice to us."""
    automatic = isinstance(solver, str) and solver == "auto"
    return choose_solver(n, k) if automatic else as_solver_object(solver)


def as_solver_object(solver) -> Solver:
    """A solver from a name or an object with ``solve``."""
    if isinstance(solver, str):
        if solver not in NAMES:
            raise ValueError(f"unknown solver {solver!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[solver]()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver must be a name or an object of preimage.eigen such as Dense(), not {solver!r}.")
    return solver


def choose_solver(n: int, k: int) -> Solver:
    """The solver for k of n eigenpairs.

    * up to 500 rows, or more than a tenth of all pairs: ``Dense`` (LAPACK is fastest there);
    * otherwise: ``Lanczos`` (products with the operator only).
    """
    return Dense() if n <= 500 or k > n // 10 else Lanczos()


def _report(operator, values, vectors, tolerance: float, steps: int, wanted: int | None = None) -> Eigenpairs:
    """Eigenpairs in descending order with deterministic signs and measured residuals."""
    order = np.argsort(values)[::-1]
    values, vectors = values[order], _fix_signs(vectors[:, order])
    residuals = np.concatenate(
        [_residuals(operator, values[part], vectors[:, part]) for part in tiles.slices(len(values), 256)]
        or [np.zeros(0)]
    )
    scale = max(float(np.abs(values).max(initial=0)), np.finfo(float).tiny)
    converged = len(values) >= (wanted or 0) and bool(np.all(residuals <= tolerance * scale))
    if not converged:
        warnings.warn(
            f"the eigensolver stopped before its tolerance: {len(values)} eigenpairs, residuals up to "
            f"{residuals.max(initial=0) / scale:.1e} of the largest eigenvalue. "
            "Allow more steps, or take solver='dense'.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Eigenpairs(values, vectors, residuals, converged, steps)


def _residuals(operator, values, vectors) -> np.ndarray:
    return np.linalg.norm(operator @ vectors - vectors * values, axis=0)


def _fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Columns turned so that their entry of largest size is positive."""
    if not vectors.size:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1, 1).astype(vectors.dtype)


def _restore_lower(matrix: np.ndarray, diagonal: np.ndarray) -> None:
    """The lower triangle and the diagonal, which LAPACK overwrote, from the upper triangle and a copy."""
    blocks = tiles.slices(matrix.shape[0])
    for i, rows in enumerate(blocks):
        upper = np.triu(matrix[rows, rows], 1)
        matrix[rows, rows] = upper + upper.T
        for columns in blocks[:i]:
            matrix[rows, columns] = matrix[columns, rows].T
    np.fill_diagonal(matrix, diagonal)


def _orthogonal_unit(vector: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """The vector made orthogonal to the basis (twice, for round-off) and of length one; a zero vector stays zero."""
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


def _floor(operator) -> float:
    """The relative residual that round-off leaves."""
    return 10 * np.sqrt(operator.shape[0]) * float(np.finfo(operator.dtype).eps)


class _Counted(Symmetric):
    """An operator that counts its products."""

    def __init__(self, operator: Symmetric):
        super().__init__(operator.dtype, operator.shape[0])
        self.operator, self.products = operator, 0

    def _matmat(self, V):
        self.products += V.shape[1]
        return self.operator @ V
