"""Kernel PCA itself: fit, project, expand. No scikit-learn in it.

Eigenpairs K̃uₖ = λₖuₖ give the unit axes Vₖ = Σᵢ αₖᵢ φ(xᵢ), αₖ = uₖ/√λₖ (Schölkopf et al. 1998, eq. 2.13), the codes
βₖ = ⟨Vₖ, φ(x) − φ̄⟩ and the projection Pφ(x) = φ̄ + Σₖ βₖVₖ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg

from preimage.caching import Remembering
from preimage.eigen import Eigenpairs, Lanczos, Solver, as_solver, storage_for
from preimage.exceptions import FewerComponentsWarning, IndefiniteKernelWarning, warn
from preimage.expansion import Expansion, as_batch
from preimage.gram import tiles
from preimage.gram.operators import GramStatistics, Symmetric, gram_operator, matrix_operator
from preimage.kernels import Kernel, Precomputed

FULL_SPECTRUM = 2000  # up to so many rows the negative part of an unknown kernel's spectrum is computed whole
ROUND_OFF = 10  # times eps: eigenvalues relative to the largest that LAPACK's errors reach


@dataclass(frozen=True, eq=False)
class Decomposition(Remembering):
    """A fitted kernel PCA: orthonormal axes Vₖ and a mean φ̄, all expanded over the same points.

    Parameters
    ----------
    kernel, points
        The kernel, and the points xᵢ that carry the expansions: all training points, or landmarks.
    eigenvalues
        λₖ of the centred Gram matrix, n times the variance along the axes.
    alphas
        Weights of the axes, Vₖ = Σᵢ αᵢₖ φ(xᵢ), shape (points, q).
    mean_weights
        Weights of the mean, φ̄ = Σᵢ μᵢ φ(xᵢ): 1/n each, or 0 where nothing is centred.
    offsets
        ⟨Vₖ, φ̄⟩, shape (q,).
    mean_norm2, total_variance
        ‖φ̄‖², and n times the whole variance tr K̃.
    residuals
        ‖K̃uₖ − λₖuₖ‖ as the eigensolver left it.
    inputs
        Training rows for methods that learn from examples.
    """

    kernel: Kernel
    points: np.ndarray
    eigenvalues: np.ndarray
    alphas: np.ndarray
    mean_weights: np.ndarray
    offsets: np.ndarray
    mean_norm2: float
    total_variance: float
    residuals: np.ndarray
    inputs: np.ndarray

    @property
    def explained_variance_ratio(self) -> np.ndarray:
        """λₖ / tr K̃, exact whatever the number of components."""
        return self.eigenvalues / self.total_variance

    @property
    def n_components(self) -> int:
        """The number q of axes."""
        return self.alphas.shape[1]

    @property
    def is_complete(self) -> bool:
        """Whether the axes span all the variance there is."""
        return bool(self.eigenvalues.sum() >= (1 - 1e-9) * self.total_variance)

    @property
    def axes(self) -> Expansion:
        """The unit axes Vₖ."""
        return Expansion(self.kernel, self.points, self.alphas.T)

    @property
    def mean(self) -> Expansion:
        """The mean φ̄ of the training points in feature space."""
        return Expansion(self.kernel, self.points, self.mean_weights[None, :])

    @property
    def input_codes(self) -> np.ndarray:
        """Codes of the training rows ``inputs``."""
        return self.remembered("input_codes", lambda: self.codes(self.inputs))

    @property
    def axis_values(self) -> np.ndarray:
        """⟨Vₖ, φ(xᵢ)⟩ at the points themselves, shape (points, q)."""
        return self._point_values[0]

    @property
    def mean_values(self) -> np.ndarray:
        """⟨φ̄, φ(xᵢ)⟩ at the points themselves, shape (points,)."""
        return self._point_values[1]

    @property
    def _point_values(self) -> tuple[np.ndarray, np.ndarray]:
        def values() -> tuple[np.ndarray, np.ndarray]:
            weights = np.column_stack([self.alphas, self.mean_weights])
            products = tiles.multiply_symmetric(self.kernel, self.points, weights)
            return products[:, :-1], products[:, -1]

        return self.remembered("point_values", values)

    def codes(self, X) -> np.ndarray:
        """βₖ(x) = ⟨Vₖ, φ(x) − φ̄⟩ = αₖᵀkₓ − ⟨Vₖ, φ̄⟩."""
        codes = tiles.multiply(self.kernel, X, self.points, self.alphas)
        codes -= self.offsets
        return codes

    def expand(self, codes: np.ndarray) -> Projection:
        """The vectors φ̄ + Σₖ βₖVₖ for rows of codes."""
        return Projection(self, codes)

    def residual(self, X, diagonal: np.ndarray | None = None) -> np.ndarray:
        """‖φ(x) − Pφ(x)‖² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − ‖β‖², clipped at 0."""
        axes, means = self.products(X)
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return np.maximum(diagonal - 2 * means + self.mean_norm2 - np.square(axes - self.offsets).sum(axis=1), 0)

    def products(self, X) -> tuple[np.ndarray, np.ndarray]:
        """⟨Vₖ, φ(x)⟩, shape (rows, q), and ⟨φ̄, φ(x)⟩, from one pass over the kernel values."""
        products = tiles.multiply(self.kernel, X, self.points, np.column_stack([self.alphas, self.mean_weights]))
        return products[:, :-1], products[:, -1]

    def truncate(self, q: int) -> Decomposition:
        """The same model with its q leading axes."""
        return replace(
            self,
            eigenvalues=self.eigenvalues[:q],
            alphas=self.alphas[:, :q].copy(),
            offsets=self.offsets[:q],
            residuals=self.residuals[:q],
        )


@dataclass(frozen=True, eq=False)
class Exact(Decomposition):
    """Kernel PCA over all n training points, where the eigenvectors answer what else would cost n² kernel values.

    ``row_means`` are the means r of the Gram matrix's rows.
    """

    row_means: np.ndarray

    @property
    def training_codes(self) -> np.ndarray:
        """Codes of the training points, √λₖ uₖ = λₖαₖ."""
        return self.alphas * self.eigenvalues

    @property
    def input_codes(self) -> np.ndarray:
        """Codes of the training rows, without a kernel value."""
        return self.training_codes

    @property
    def axis_values(self) -> np.ndarray:
        """⟨Vₖ, φ(xᵢ)⟩ = λₖαᵢₖ + ⟨Vₖ, φ̄⟩."""
        return self.remembered("axis_values", lambda: self.training_codes + self.offsets)

    @property
    def mean_values(self) -> np.ndarray:
        """⟨φ̄, φ(xᵢ)⟩ = rᵢ."""
        return self.row_means


@dataclass(frozen=True, eq=False)
class Projection(Expansion):
    """Vectors φ̄ + Σₖ βₖVₖ of a kernel PCA's subspace: an expansion that also knows its codes.

    Over the training points its weights are γ̃ᵢ = Σₖ βₖαᵢₖ + 1/n (Kwok & Tsang 2003, eq. 6), and they sum to 1. What can
    be had from the codes alone is had so.

    Parameters
    ----------
    model : Decomposition
    codes : array of shape (m, q)
    """

    model: Decomposition
    codes: np.ndarray
    kernel: Kernel = field(init=False, repr=False)
    points: Any = field(init=False, repr=False)
    weights: np.ndarray = field(init=False, repr=False)  # made when they are first asked for

    def __post_init__(self):
        object.__setattr__(self, "kernel", self.model.kernel)
        object.__setattr__(self, "points", self.model.points)

    def __getattr__(self, name: str) -> Any:
        """The weights γ̃, shape (m, points)."""
        if name != "weights":
            raise AttributeError(f"a projection has no attribute {name!r}.")
        object.__setattr__(self, name, self.codes @ self.model.alphas.T + self.model.mean_weights)
        return self.weights

    def __len__(self) -> int:
        return self.codes.shape[0]

    def __getitem__(self, which) -> Projection:
        which = as_batch(which)
        return self._part(which, Projection(self.model, self.codes[which]))

    def inner(self, X) -> np.ndarray:
        """⟨Pφ, φ(x)⟩ through the axes: O(q) kernel products a point and not O(m)."""
        axes, means = self.model.products(X)
        return self.codes @ axes.T + means

    def inner_paired(self, X) -> np.ndarray:
        """⟨Pφⱼ, φ(xⱼ)⟩ through the axes."""
        axes, means = self.model.products(X)
        return np.einsum("jk,jk->j", self.codes, axes) + means

    def _inner_points(self) -> np.ndarray:
        """(Kγ̃)ᵢ without a kernel value."""
        return self.codes @ self.model.axis_values.T + self.model.mean_values

    def _norm2(self) -> np.ndarray:
        """‖φ̄ + Σₖ βₖVₖ‖² = ‖β‖² + ‖φ̄‖² + 2 Σₖ βₖ⟨Vₖ, φ̄⟩."""
        model = self.model
        return np.maximum(np.square(self.codes).sum(axis=1) + model.mean_norm2 + 2 * self.codes @ model.offsets, 0)


def fit(
    kernel: Kernel,
    X,
    n_components: int | float | None = None,
    *,
    center: bool = True,
    solver="auto",
    storage: str | None = None,
    rng: np.random.Generator | None = None,
    gram: Callable[..., tuple[Symmetric, GramStatistics]] = gram_operator,
) -> Exact:
    """Kernel PCA of the rows of X; of the matrix X itself where the kernel is precomputed.

    ``n_components`` is a number of axes, a fraction of the variance that the axes must reach, or None for all.
    ``storage`` of the kernel matrix is the solver's choice where it is None (see :class:`preimage.eigen.BlockKrylov`).
    ``gram`` makes the operator, where the matrix is to be elsewhere than in the memory of this process.
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
    values, vectors = pairs.values[:kept], pairs.vectors[:, :kept]
    alphas = np.ascontiguousarray(vectors / np.sqrt(values))
    if center:
        alphas -= alphas.mean(axis=0)  # their sum is 0 but for round-off; then the weights of a projection sum to 1
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


def _enough_pairs(operator: Symmetric, statistics, n_components, most: int, solver: Solver, rng) -> Eigenpairs:
    """As many eigenpairs as the number of components may need; for a fraction, twice as many until they reach it."""
    k = _first_number(n_components, most)
    while True:
        pairs = solver.solve(operator, k, rng)
        if k == most or not isinstance(n_components, float):
            return pairs
        if pairs.values.sum() >= n_components * statistics.total_variance:
            return pairs
        k = min(2 * k, most)


def _first_number(n_components, most: int) -> int:
    """How many eigenpairs to compute at first."""
    if n_components is None:
        return most
    return min(32 if isinstance(n_components, float) else int(n_components), most)


def count_components(values, residuals, n: int, scale: float, total_variance: float, n_components) -> int:
    """How many components to keep: those that are not round-off, and no more than were asked for.

    ``scale`` is the size of what was subtracted to centre: beside it, variance as small as round-off is none. A pair
    whose residual exceeds its eigenvalue may belong to the eigenvalue 0.
    """
    largest = float(values.max(initial=0))
    if largest <= ROUND_OFF * np.finfo(values.dtype).eps * scale:
        raise ValueError(
            "all rows are equal for this kernel, so that there is no variance to decompose: check the data and the "
            "kernel's parameters."
        )
    uncertain = values <= np.maximum(residuals, _round_off(values, n, scale))
    available = max(int(np.argmax(uncertain)), 1) if uncertain.any() else len(values)
    if n_components is None:
        return available
    if isinstance(n_components, float):
        reached = np.cumsum(values[:available]) >= n_components * total_variance
        return int(np.argmax(reached)) + 1 if reached.any() else available
    if available < n_components:
        warn(
            f"{n_components} components were asked for, but this kernel finds only {available} above round-off; "
            f"{available} are kept.",
            FewerComponentsWarning,
        )
    return min(available, n_components)


def _round_off(values: np.ndarray, n: int, scale: float) -> float:
    """Eigenvalues that round-off alone can make: a few eps·λ₁ by LAPACK, and ‖E‖ by rounding the kernel values.

    E has independent entries of a few eps times the values' size, scale/n, so that ‖E‖ is a few eps·scale/√n.
    """
    return float(np.finfo(values.dtype).eps * max(ROUND_OFF * np.abs(values).max(), 4 * scale / np.sqrt(n)))


def _scale(statistics: GramStatistics) -> float:
    """The size of the kernel values, times their number a row."""
    return max(abs(statistics.trace), len(statistics.row_means) * abs(statistics.grand_mean))


def _warn_if_indefinite(operator: Symmetric, statistics: GramStatistics, pairs: Eigenpairs, rng) -> None:
    """Say how much of the spectrum is negative, of a kernel that is not known to be positive definite."""
    n, extent = operator.shape[0], ""
    if len(pairs.values) == n:
        spectrum = pairs.values
    elif n <= FULL_SPECTRUM:
        spectrum = scipy.linalg.eigvalsh(operator.dense(), check_finite=False)
    else:
        largest, extent = float(pairs.values[0]), "at least "
        lowest = largest - Lanczos(tol=1e-4).solve(_Flipped(operator, largest), 6, rng).values
        spectrum = np.concatenate([pairs.values, lowest])
    negative = spectrum[spectrum < -_round_off(spectrum, n, _scale(statistics))]
    if not negative.size:
        return
    # The sum of the sizes is the trace and twice the negative part; a part of that gives less than the whole share.
    size = -float(negative.sum())
    share = size / max(statistics.total_variance + 2 * size, size)
    warn(
        f"the kernel matrix is indefinite: {extent}{len(negative)} of {n} eigenvalues are negative, {extent}"
        f"{share:.1%} of the spectrum by size, the lowest {negative.min() / spectrum.max():.2g} "
        "times the largest. They are left out; distances in feature space are then approximate.",
        IndefiniteKernelWarning,
    )


class _Flipped(Symmetric):
    """σI − A with σ the largest eigenvalue of A: its leading eigenpairs are the lowest of A, and none is near 0."""

    def __init__(self, operator: Symmetric, sigma: float):
        super().__init__(operator.dtype, operator.shape[0])
        self.operator, self.sigma = operator, sigma

    def _matmat(self, V):
        return self.sigma * V - self.operator @ V
