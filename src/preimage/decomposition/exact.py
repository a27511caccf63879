"""Exact kernel PCA: the eigenpairs of the centred Gram matrix of all training points.

Eigenpairs K̃uₖ = λₖuₖ give the unit axes Vₖ = Σᵢ αₖᵢ φ(xᵢ), αₖ = uₖ/√λₖ (Schölkopf et al. 1998, eq. 2.13).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator, Rows
from preimage.decomposition.expanded import Expanded
from preimage.eigen import BlockKrylov, Eigenpairs, Solver, as_solver, storage_for
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, IndefiniteKernelWarning, silenced, warn
from preimage.gram.operators import GramStatistics, Symmetric, gram_operator, matrix_operator
from preimage.kernels import Kernel, Precomputed

FULL_SPECTRUM = 150  # rows up to which all negative eigenvalues of a kernel are computed
ROUND_OFF = 10  # times eps: LAPACK's error of eigenvalues relative to the largest


@dataclass(frozen=True, eq=False, repr=False)
class Exact(Expanded):
    """Kernel PCA over all n training points; its eigenvectors also give the inner products with these points.

    ``row_means`` are the means r of the Gram matrix's rows.
    """

    row_means: Array

    @property
    def training_codes(self) -> Array:
        """Codes of the training points, √λₖ uₖ = λₖαₖ."""
        return self.alphas * self.eigenvalues

    @property
    def input_codes(self) -> Array:
        """Codes of the training rows, without a kernel value."""
        return self.training_codes

    @property
    def axis_values(self) -> Array:
        """⟨Vₖ, φ(xᵢ)⟩ = λₖαᵢₖ + ⟨Vₖ, φ̄⟩."""
        return self.remembered("axis_values", lambda: self.training_codes + self.offsets)

    @property
    def mean_values(self) -> Array:
        """⟨φ̄, φ(xᵢ)⟩ = rᵢ."""
        return self.row_means


def fit(
    kernel: Kernel,
    X: Rows,
    n_components: int | float | None = None,
    *,
    center: bool = True,
    solver: Any = "auto",
    storage: str | None = None,
    rng: Generator | None = None,
    gram: Callable[..., tuple[Symmetric, GramStatistics]] = gram_operator,
) -> Exact:
    """Kernel PCA of the rows of X, or of the kernel matrix X if the kernel is precomputed.

    ``n_components`` is a number of axes, a fraction of the variance that the axes must reach, or None for all. The
    solver chooses the ``storage`` of the kernel matrix if it is None (see :class:`preimage.eigen.BlockKrylov`).
    ``gram`` makes the operator if the matrix is not in the memory of this process.
    """
    rng, solver = rng or np.random.default_rng(0), as_solver(solver)
    most = max(1, X.shape[0] - 1) if center and kernel.positive_definite else X.shape[0]
    if isinstance(kernel, Precomputed):
        operator, statistics = matrix_operator(X, center=center)
        kernel, X = Precomputed(X), np.arange(X.shape[0])[:, None]
    else:
        storage = storage or storage_for(solver, X.shape[0], _first_number(n_components, most), X.dtype)
        operator, statistics = gram(kernel, X, center=center, storage=storage)
    pairs = _enough_pairs(operator, statistics, n_components, most, solver, rng)
    kept = count_components(
        pairs.values, pairs.residuals, X.shape[0], _scale(statistics), statistics.total_variance, n_components
    )
    if not kernel.positive_definite:
        _warn_if_indefinite(operator, statistics, pairs, rng)
    return _model(kernel, X, pairs, kept, statistics)


def _model(kernel: Kernel, X: Any, pairs: Eigenpairs, kept: int, statistics: GramStatistics) -> Exact:
    """The model of the leading eigenpairs."""
    values, vectors = pairs.values[:kept], pairs.vectors[:, :kept]
    alphas = np.divide(vectors, np.sqrt(values), out=np.empty(vectors.shape, dtype=vectors.dtype))  # in C order
    if statistics.mean_weight:
        alphas -= alphas.mean(axis=0)  # makes their sum exactly 0, so that the weights of a projection sum to 1
    return Exact(
        kernel=kernel,
        points=X,
        eigenvalues=values,
        alphas=alphas,
        mean_weights=np.full(X.shape[0], statistics.mean_weight, dtype=alphas.dtype),
        offsets=alphas.T @ statistics.row_means,
        mean_norm2=statistics.grand_mean,
        total_variance=statistics.total_variance,
        residuals=pairs.residuals[:kept],
        inputs=X,
        row_means=statistics.row_means,
    )


def _enough_pairs(
    operator: Symmetric, statistics: GramStatistics, n_components: Any, most: int, solver: Solver, rng: Generator
) -> Eigenpairs:
    """As many eigenpairs as the components may need; for a fraction of variance, double k until they reach it."""
    k = _first_number(n_components, most)
    while True:
        pairs = solver.solve(operator, k, rng)
        if k == most or not isinstance(n_components, float):
            return pairs
        if pairs.values.sum() >= n_components * statistics.total_variance:
            return pairs
        k = min(2 * k, most)


def _first_number(n_components: Any, most: int) -> int:
    """How many eigenpairs to compute at first."""
    if n_components is None:
        return most
    return min(32 if isinstance(n_components, float) else int(n_components), most)


def count_components(
    values: Array, residuals: Any, n: int, scale: float, total_variance: float, n_components: int | float | None
) -> int:
    """The number of components to keep: those above round-off, and no more than wanted.

    ``scale`` is the size of what centring subtracted: variance below its round-off counts as 0. A pair whose residual
    exceeds its eigenvalue may belong to the eigenvalue 0.
    """
    largest = float(values.max(initial=0))
    if largest <= ROUND_OFF * np.finfo(values.dtype).eps * scale:
        raise ValueError(
            "all rows are equal for this kernel, so there is no variance to decompose: check the data and the "
            "kernel's parameters."
        )
    uncertain = values <= np.maximum(residuals, _round_off(values, n, scale))
    available = max(int(np.argmax(uncertain)), 1) if uncertain.any() else len(values)
    if n_components is not None and available < n_components:
        rounded = values[available] <= _round_off(values, n, scale) if available < len(values) else True
        cause = "above round-off" if rounded else "above the error of this solver"
        warn(
            f"{n_components} components were asked for, but the kernel matrix has only {available} {cause}; "
            f"{available} are kept.",
            FewerComponentsWarning,
        )
    return count_wanted(values[:available], total_variance, n_components)


def count_wanted(values: Array, total_variance: float, n_components: int | float | None) -> int:
    """The number of components wanted: a number, those that reach a fraction of variance, or all."""
    if isinstance(n_components, float):
        reached = np.cumsum(values) >= n_components * total_variance
        return int(np.argmax(reached)) + 1 if reached.any() else len(values)
    return len(values) if n_components is None else min(n_components, len(values))


def _round_off(values: np.ndarray, n: int, scale: float) -> float:
    """The largest eigenvalue that round-off alone can produce: a few eps·λ₁ in LAPACK, ‖E‖ in the kernel values.

    The error E has independent entries of up to 2 eps times the size of the values, scale/n, from inner products, and
    as much again from centring. Such a matrix has ‖E‖ = 2√n times an entry, 8 eps·scale/√n in all.
    """
    return float(np.finfo(values.dtype).eps * max(ROUND_OFF * np.abs(values).max(), 8 * scale / np.sqrt(n)))


def _scale(statistics: GramStatistics) -> float:
    """The size of the kernel values times the number of rows."""
    return max(abs(statistics.trace), len(statistics.row_means) * abs(statistics.grand_mean))


def _warn_if_indefinite(operator: Symmetric, statistics: GramStatistics, pairs: Eigenpairs, rng: Generator) -> None:
    """Warn if a kernel that may not be positive definite has negative eigenvalues."""
    n, extent = operator.shape[0], ""
    if len(pairs.values) == n:
        spectrum = pairs.values
    elif n <= FULL_SPECTRUM:
        spectrum = scipy.linalg.eigvalsh(operator.dense(), check_finite=False)
    else:
        extent, known = "at least ", pairs.lowest
        lowest = _lowest(operator, float(pairs.values[0]), rng) if known is None else known
        spectrum = np.concatenate([pairs.values, lowest])
    negative = spectrum[spectrum < -_round_off(spectrum, n, _scale(statistics))]
    if not negative.size:
        return
    # Σ|λ| is the trace plus twice the negative part; if only some negative values are known, this is a lower bound.
    size = -float(negative.sum())
    share = size / max(statistics.total_variance + 2 * size, size)
    warn(
        f"the kernel matrix is indefinite: {extent}{len(negative)} of {n} eigenvalues are negative, {extent}"
        f"{share:.1%} of the sum of absolute eigenvalues, the lowest {negative.min() / spectrum.max():.2g} "
        "times the largest. They are left out, which makes distances in feature space approximate.",
        IndefiniteKernelWarning,
    )


def _lowest(operator: Symmetric, largest: float, rng: Generator) -> Array:
    """Upper bounds of the lowest eigenvalues: Ritz values, which are bounds at every step."""
    with silenced(ConvergenceWarning):
        return largest - BlockKrylov(tol=1e-4, max_iter=10).solve(_Flipped(operator, largest), 6, rng).values


class _Flipped(Symmetric):
    """σI − A with σ the largest eigenvalue of A: its leading eigenpairs are the lowest of A."""

    def __init__(self, operator: Symmetric, sigma: float) -> None:
        super().__init__(operator.dtype, operator.shape[0])
        self.operator, self.sigma = operator, sigma

    def rounded(self) -> _Flipped | None:
        rounded = self.operator.rounded()
        return None if rounded is None else _Flipped(rounded, self.sigma)

    def _matmat(self, V: Array) -> Array:
        return self.sigma * V - self.operator @ V
