"""The interface and the result of eigensolvers, and the steps that they share."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Protocol

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.exceptions import ConvergenceWarning, warn
from preimage.gram import slicing
from preimage.gram.operators import Symmetric

NEAR = 1e-4  # of the largest eigenvalue: the residual up to which the lowest Ritz value counts as found


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues, eigenvectors, and whether the solver converged.

    For every pair there is an eigenvalue of the operator within the residual ‖Au − λu‖ of λ.

    Attributes
    ----------
    values : array of shape (k,)
        The eigenvalues λ, descending.
    vectors : array of shape (n, k)
        Unit eigenvectors u as columns.
    residuals : array of shape (k,)
        ‖Au − λu‖ of every pair.
    converged : bool
        Whether the residuals are within the tolerance.
    steps : int
        The number of products with the operator.
    lowest : array or None
        Ritz values from the other end of the spectrum: the i-th lowest is at least the i-th lowest eigenvalue. None if
        the solver did not come near that end.

    See Also
    --------
    Dense, BlockKrylov : Solvers that return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigen import Dense
    >>> from preimage.gram.operators import Stored
    >>> pairs = Dense().solve(Stored(np.diag([1.0, 3.0, 2.0])), 2, np.random.default_rng(0))
    >>> pairs.values.round(6), pairs.converged
    (array([3., 2.]), True)
    """

    values: Array
    vectors: Array
    residuals: Array
    converged: bool
    steps: int
    lowest: Array | None = None


def check_count(solver: object, name: str) -> None:
    """Refuse a setting that is not a whole number of at least 1, or None where that is the default."""
    value = getattr(solver, name)
    if value is None and getattr(type(solver), name) is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")


class Solver(Protocol):
    """The interface of an eigensolver: any object with this ``solve`` is one.

    See Also
    --------
    Eigenpairs : What ``solve`` returns.
    Dense, BlockKrylov, Lanczos, PowerDeflation : Solvers.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.eigen import Dense
    >>> class Verbose:
    ...     def solve(self, operator, k, rng):
    ...         print(f"{k} pairs of {operator.shape[0]} rows")
    ...         return Dense().solve(operator, k, rng)
    >>> kpca = KernelPCA(1, kernel="linear", solver=Verbose()).fit([[0, 0], [1, 1], [2, 2]])
    1 pairs of 3 rows
    """

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        """The k largest eigenpairs of a symmetric operator."""


def as_eigenpairs(
    operator: Symmetric | Array,
    values: Array,
    vectors: Array,
    bound: float,
    steps: int,
    wanted: int | None = None,
    residuals: Array | None = None,
    lowest: Array | None = None,
) -> Eigenpairs:
    """Eigenpairs in descending order, with deterministic signs; warn if a residual exceeds ``bound``.

    Residuals are computed unless the solver gives them.
    """
    residuals = _residuals(operator, values, vectors) if residuals is None else residuals
    ascending = bool(np.all(values[1:] >= values[:-1]))  # as LAPACK returns them; then vectors are copied only once
    order = slice(None, None, -1) if ascending else np.argsort(values)[::-1]
    values, vectors, residuals = values[order].copy(), vectors[:, order], residuals[order].copy()
    vectors = vectors * column_signs(vectors)
    scale = max(float(np.abs(values).max(initial=0)), np.finfo(float).tiny)
    converged = len(values) >= (wanted or 0) and bool(np.all(residuals <= bound))
    if not converged:
        warn(
            f"the eigensolver stopped before it reached its tolerance: {len(values)} eigenpairs have residuals up to "
            f"{residuals.max(initial=0) / scale:.1e} of the largest eigenvalue. "
            "Allow more steps, or use solver='dense'.",
            ConvergenceWarning,
        )
    return Eigenpairs(values, vectors, residuals, converged, steps, lowest)


def orthonormal(nearly: Array) -> tuple[Array, Array]:
    """Q and R with V = QR, for columns that are nearly orthonormal: R is the Cholesky factor of VᵀV, and Q = VR⁻¹."""
    if not nearly.shape[1]:  # scipy before 1.14 refuses an empty matrix
        return nearly, np.zeros((0, 0), nearly.dtype)
    root = scipy.linalg.cholesky(nearly.T @ nearly, check_finite=False)
    return scipy.linalg.solve_triangular(root, nearly.T, trans="T", check_finite=False).T, root


def rayleigh_ritz(basis: Array, image: Array) -> tuple[Array, Array, Array]:
    """Ritz values (ascending), vectors and residuals of A in the span of orthonormal columns Q, from Q and AQ."""
    product = basis.T @ image
    values, weights = lapack.divide_and_conquer((product + product.T) / 2)
    vectors = basis @ weights
    return values, vectors, column_norms(image @ weights - vectors * values)


def known_lowest(values: Array, residual: float, k: int) -> Array | None:
    """Ritz values (ascending) but the k largest, if the lowest one has a small residual; else None."""
    return values[:-k] if residual <= NEAR * abs(values[-1]) else None


def _residuals(operator: Symmetric | Array, values: Array, vectors: Array) -> Array:
    """‖Au − λu‖; for a matrix computed as ‖uᵀA − λuᵀ‖, in half the time."""
    left = isinstance(operator, np.ndarray)
    parts = [(values[part], vectors[:, part]) for part in slicing.slices(len(values), 256)]
    images = (((v.T @ operator).T if left else operator @ v) - v * w for w, v in parts)
    return np.concatenate([column_norms(image) for image in images] or [np.zeros(0)])


def sketched_residuals(matrix: Array, values: Array, vectors: Array, rng: Generator) -> Array:
    """‖Au − λu‖ to about a fifth, for many pairs: ‖S(AU − UΛ)‖ with 16 random rows S of variance 1/16.

    This costs O(n²), where AU costs O(n³). E‖Sr‖² = ‖r‖² for every vector r, with a relative variance of 2/16.
    """
    sketch = (rng.standard_normal((16, len(matrix))) / 4).astype(matrix.dtype)
    both = np.vstack([sketch @ matrix, sketch]) @ vectors  # reads the vectors once
    return column_norms(both[: len(sketch)] - both[len(sketch) :] * values)


def column_norms(V: Array) -> Array:
    """Norms of columns, computed in units of the largest entry, so that squares neither overflow nor underflow."""
    unit = float(np.abs(V).max(initial=0)) or 1.0
    scaled = V / unit
    norms: Array = np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
    return unit * norms


def column_signs(vectors: Array) -> Array:
    """±1 for every column: the sign of its entry of largest size."""
    if not vectors.size:
        return np.ones(vectors.shape[1], dtype=vectors.dtype)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return np.where(largest < 0, -1, 1).astype(vectors.dtype)


def round_off(operator: Symmetric) -> float:
    """The relative residual that round-off leaves."""
    return 10 * float(np.sqrt(operator.shape[0])) * float(np.finfo(operator.dtype).eps)
