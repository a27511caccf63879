"""Kernel PCA itself: fit, project, expand. No scikit-learn in it.

Eigenpairs K̃uₖ = λₖuₖ give the unit axes Vₖ = Σᵢ αₖᵢ φ(xᵢ), αₖ = uₖ/√λₖ (Schölkopf et al. 1998, eq. 2.13), the codes
βₖ = ⟨Vₖ, φ(x) − φ̄⟩ and the projection Pφ(x) = φ̄ + Σₖ βₖVₖ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from preimage import tiles
from preimage.eigen import Dense, Eigenpairs, Lanczos, as_solver
from preimage.exceptions import FewerComponentsWarning, IndefiniteKernelWarning
from preimage.expansion import Expansion
from preimage.kernels import Kernel, Precomputed
from preimage.operators import GramStatistics, Symmetric, gram_operator, matrix_operator

FULL_SPECTRUM = 2000  # up to so many rows the negative part of an unknown kernel's spectrum is computed whole


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A fitted kernel PCA.

    Parameters
    ----------
    kernel, points
        The kernel and the n training points.
    eigenvalues, alphas
        λₖ of the centred Gram matrix, and αₖ = uₖ/√λₖ as the columns of an (n, q) array.
    statistics
        Row means of the Gram matrix and its trace.
    residuals
        ‖K̃uₖ − λₖuₖ‖ as the eigensolver left it.
    """

    kernel: Kernel
    points: np.ndarray
    eigenvalues: np.ndarray
    alphas: np.ndarray
    statistics: GramStatistics
    residuals: np.ndarray

    @property
    def explained_variance_ratio(self) -> np.ndarray:
        """λₖ / tr K̃, exact whatever the number of components."""
        total = self.statistics.total_variance
        return self.eigenvalues / total if total > 0 else np.zeros_like(self.eigenvalues)

    @property
    def n_components(self) -> int:
        """The number q of axes."""
        return self.alphas.shape[1]

    @property
    def is_complete(self) -> bool:
        """Whether the axes span all the variance there is."""
        return bool(self.eigenvalues.sum() >= (1 - 1e-9) * self.statistics.total_variance)

    @property
    def axes(self) -> Expansion:
        """The unit axes Vₖ."""
        return Expansion(self.kernel, self.points, self.alphas.T)

    @property
    def mean(self) -> Expansion:
        """The mean φ̄ of the training points in feature space (the zero vector where nothing was centred)."""
        n = self.points.shape[0]
        return Expansion(self.kernel, self.points, np.full((1, n), self.statistics.mean_weight, self.alphas.dtype))

    @property
    def inputs(self):
        """The training points."""
        return self.points

    @cached_property
    def offsets(self) -> np.ndarray:
        """⟨Vₖ, φ̄⟩ = αₖᵀr."""
        return self.alphas.T @ self.statistics.row_means

    @cached_property
    def training_codes(self) -> np.ndarray:
        """Codes of the training points, √λₖ uₖ."""
        return self.alphas * self.eigenvalues

    def codes(self, X) -> np.ndarray:
        """βₖ(x) = αₖᵀkₓ − αₖᵀr; the other terms of the centring vanish because αₖᵀ1 = 0."""
        return tiles.multiply(self.kernel, X, self.points, self.alphas) - self.offsets

    def expand(self, codes: np.ndarray) -> Projection:
        """The vectors φ̄ + Σₖ βₖVₖ for rows of codes."""
        return Projection(self, codes)

    def residual(self, X, diagonal: np.ndarray | None = None) -> np.ndarray:
        """‖φ(x) − Pφ(x)‖² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − ‖β‖², clipped at 0."""
        statistics = self.statistics
        ones = np.full((self.points.shape[0], 1), statistics.mean_weight, dtype=self.alphas.dtype)
        products = tiles.multiply(self.kernel, X, self.points, np.hstack([self.alphas, ones]))
        codes, means = products[:, :-1] - self.offsets, products[:, -1]
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return np.maximum(diagonal - 2 * means + statistics.grand_mean - np.square(codes).sum(axis=1), 0)

    def truncate(self, q: int) -> Decomposition:
        """The same model with its q leading axes."""
        return replace(
            self, eigenvalues=self.eigenvalues[:q], alphas=self.alphas[:, :q].copy(), residuals=self.residuals[:q]
        )


class Projection(Expansion):
    """Vectors φ̄ + Σₖ βₖVₖ of a kernel PCA's subspace: an expansion that also knows its codes.

    Its weights over the training points are γ̃ᵢ = γᵢ + (1 − Σγ)/n with γ = Σₖ βₖαₖ (Kwok & Tsang 2003, eq. 6); they
    sum to 1. What can be had from the codes alone is had so.
    """

    model: Decomposition
    codes: np.ndarray

    def __init__(self, model: Decomposition, codes: np.ndarray):
        self.__dict__.update(kernel=model.kernel, points=model.points, model=model, codes=codes)

    @cached_property
    def weights(self) -> np.ndarray:
        """γ̃, shape (m, n)."""
        gamma = self.codes @ self.model.alphas.T
        gamma += self.model.statistics.mean_weight * (1 - gamma.sum(axis=1, keepdims=True))
        return gamma

    def __len__(self) -> int:
        return self.codes.shape[0]

    def __getitem__(self, which) -> Projection:
        return Projection(self.model, np.atleast_2d(self.codes[which]))

    def inner(self, X) -> np.ndarray:
        """⟨Pφ, φ(x)⟩ through the axes: O(nq) a point and not O(nm)."""
        model = self.model
        ones = np.full((self.points.shape[0], 1), model.statistics.mean_weight, dtype=self.codes.dtype)
        products = tiles.multiply(self.kernel, X, self.points, np.hstack([model.alphas, ones]))
        return self.codes @ products[:, :-1].T + products[:, -1]

    def inner_points(self) -> np.ndarray:
        """Kγ̃ through the eigenvectors: ⟨Vₖ, φ(xᵢ)⟩ = λₖαₖᵢ + ⟨Vₖ, φ̄⟩, and ⟨φ̄, φ(xᵢ)⟩ = rᵢ."""
        model = self.model
        products = self.codes @ model.training_codes.T
        products += (self.codes @ model.offsets)[:, None]
        products += model.statistics.row_means
        return products

    def norm2(self) -> np.ndarray:
        """‖φ̄ + Σₖ βₖVₖ‖² = ‖β‖² + s̄ + 2 Σₖ βₖ⟨Vₖ, φ̄⟩."""
        model = self.model
        squares = np.square(self.codes).sum(axis=1)
        return np.maximum(squares + model.statistics.grand_mean + 2 * self.codes @ model.offsets, 0)


def fit(
    kernel: Kernel,
    X,
    n_components: int | float | None = None,
    *,
    center: bool = True,
    solver="auto",
    storage: str = "auto",
    rng: np.random.Generator | None = None,
) -> Decomposition:
    """Kernel PCA of the rows of X; of the matrix X itself where the kernel is precomputed.

    ``n_components`` is a number of axes, a fraction of the variance that the axes must reach, or None for all.
    """
    rng = rng or np.random.default_rng(0)
    if isinstance(kernel, Precomputed):
        operator, statistics = matrix_operator(X, center=center)
        kernel, X = Precomputed(X), np.arange(X.shape[0])[:, None]
    else:
        operator, statistics = gram_operator(kernel, X, center=center, storage=storage)
    pairs = _enough_pairs(operator, statistics, n_components, solver, rng)
    _warn_if_indefinite(kernel, operator, pairs, rng)
    kept = _count(pairs.values, statistics, n_components)
    values, vectors = pairs.values[:kept], pairs.vectors[:, :kept]
    alphas = np.ascontiguousarray(vectors / np.sqrt(values))
    return Decomposition(kernel, X, values, alphas, statistics, pairs.residuals[:kept])


def _enough_pairs(operator: Symmetric, statistics, n_components, solver, rng) -> Eigenpairs:
    """As many eigenpairs as the number of components may need; for a fraction, twice as many until they reach it."""
    n = operator.shape[0]
    most = n - 1 if statistics.mean_weight and n > 1 else n
    if n_components is None:
        return as_solver(solver, n, most).solve(operator, most, rng)
    if not isinstance(n_components, float):
        k = min(int(n_components), most)
        return as_solver(solver, n, k).solve(operator, k, rng)
    k = min(32, most)
    while True:
        pairs = as_solver(solver, n, k).solve(operator, k, rng)
        if k == most or pairs.values.sum() >= n_components * statistics.total_variance:
            return pairs
        k = min(2 * k, most)


def _count(values: np.ndarray, statistics: GramStatistics, n_components) -> int:
    """How many components to keep: those that are not round-off, and no more than were asked for."""
    n, largest = len(statistics.row_means), float(values.max(initial=0))
    scale = max(abs(statistics.trace), n * abs(statistics.grand_mean))
    floor = n * np.finfo(values.dtype).eps
    if largest <= floor * scale:
        raise ValueError(
            "all rows are equal for this kernel, so that there is no variance to decompose: check the data and the "
            "kernel's parameters."
        )
    available = int(np.sum(values > floor * largest))
    if n_components is None:
        return available
    if isinstance(n_components, float):
        reached = np.cumsum(values[:available]) >= n_components * statistics.total_variance
        return int(np.argmax(reached)) + 1 if reached.any() else available
    if available < n_components:
        warnings.warn(
            f"{n_components} components were asked for, but this kernel finds only {available} in the data; "
            f"{available} are kept.",
            FewerComponentsWarning,
            stacklevel=4,
        )
    return min(available, n_components)


def _warn_if_indefinite(kernel: Kernel, operator: Symmetric, pairs: Eigenpairs, rng) -> None:
    """Say how much of the spectrum is negative, where the kernel is not known to be positive definite."""
    n = operator.shape[0]
    if kernel.positive_definite or n < 2:
        return
    if len(pairs.values) >= n - 1:
        spectrum, extent = pairs.values, ""
    elif n <= FULL_SPECTRUM:
        spectrum, extent = Dense().solve(operator, n, rng).values, ""
    else:
        lowest = Lanczos(tol=1e-3).solve(_Negated(operator), 6, rng)
        spectrum, extent = np.concatenate([pairs.values, -lowest.values]), "at least "
    largest, negative = spectrum.max(), spectrum[spectrum < 0]
    if -negative.min(initial=0) <= n * np.finfo(spectrum.dtype).eps * abs(spectrum).max():
        return
    share = -negative.sum() / abs(spectrum).sum()
    warnings.warn(
        f"the kernel matrix is indefinite: {extent}{len(negative)} of {n} eigenvalues are negative, {extent}"
        f"{share:.1%} of the spectrum by size, the lowest {negative.min() / largest:.2g} "
        "times the largest. They are left out; distances in feature space are then approximate.",
        IndefiniteKernelWarning,
        stacklevel=3,
    )


class _Negated(Symmetric):
    """−A, whose leading eigenpairs are the lowest of A."""

    def __init__(self, operator: Symmetric):
        super().__init__(operator.dtype, operator.shape[0])
        self.operator = operator

    def _matmat(self, V):
        return -(self.operator @ V)
