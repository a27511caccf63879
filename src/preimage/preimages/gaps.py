"""Rows with missing or grossly wrong entries: alternate between the subspace and the trusted part of the input.

Every round replaces the rest of each entry by the pre-image of the projection and projects again,

    x ← ω ∘ x₀ + (1 − ω) ∘ x̂(x),

with trust ω = 0 for a missing entry and 1 for an observed one; or, against outliers, with the weights of a
bounded loss e²/(e² + s²) of the misfit e = x₀ − x̂ (Nguyen & De la Torre 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg

from preimage import decomposition
from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, silenced
from preimage.gram import tiles
from preimage.kernels.scales import spread_rows
from preimage.preimages.base import InverseMap, PreimageMethod, dense_rows, find_in_batches
from preimage.preimages.bounds import principal_axes
from preimage.preimages.convex import minimise_on_simplex

SAMPLE = 600  # training rows whose entries are hidden to weigh the methods
FOLDS = 3
RATES = (0.1, 0.3, 0.5)  # shares of a row that are hidden
SHARES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)  # of a column's mean variance: noise of the Gaussian model
FACTORS = 256  # at most so many factors in the Gaussian model that fills gaps first
EARLIER = (ConvergenceWarning,)  # only the last round's failures matter
Filler: TypeAlias = Callable[[Array], Array]


def damp_outliers(project: Filler, X: Array, scale: float, n_rounds: int) -> Array:
    """Rows whose gross outliers are replaced step by step; what the subspace explains stays.

    While a row is far from its answer, its own median misfit serves as the scale, so that some of it is always trusted.
    """
    trusted = X
    for _ in range(n_rounds):
        with silenced(*EARLIER):
            answer = project(trusted)
        misfit = np.abs(X - answer)
        scales = np.maximum(1.4826 * np.median(misfit, axis=1, keepdims=True), scale)
        trust = (scales**2 / (scales**2 + misfit**2)) ** 2
        trusted = trust * X + (1 - trust) * answer
    return trusted


@dataclass(frozen=True)
class Imputation:
    """Fill gaps by a Gaussian model of the training rows, and by rounds of one or more pre-image methods.

    The answer is a weighted mean of theirs. Where there is only one method it has all the weight. Where there are more,
    entries of training rows are hidden, filled by models that were fitted without those rows, and the weights wₘ ≥ 0,
    Σw = 1, are those of the least squared error, separately for few, some and many hidden entries in a row.

    Parameters
    ----------
    methods : tuple of methods
    n_rounds : int
        How often the filled rows are projected and replaced by pre-images.
    """

    methods: tuple[PreimageMethod, ...]
    n_rounds: int = 5

    def prepare(self, model: Decomposition, rng: Generator) -> _ImputationMap:
        """Prepare the methods that have a weight."""
        rng = np.random.default_rng(0)  # the same hidden entries for every model: a loaded one answers as it did
        examples = dense_rows(model.inputs)
        if len(self.methods) > 1 and len(examples) > FOLDS:
            weights = self._weights(model, examples, rng)
        else:
            weights = np.tile(np.arange(1 + len(self.methods)) == 1, (len(RATES), 1)).astype(float)
        used = [bool(column.any()) for column in weights.T]
        fillers = self._fillers(model, examples, rng, used)
        return _ImputationMap(fillers, weights)

    def _fillers(self, model: Decomposition, examples: Array, rng: Generator, used: list[bool]) -> list[Filler | None]:
        """The Gaussian model and the methods, prepared where they are used."""
        first = GaussianModel.of(examples)
        fillers: list[Filler | None] = [first]
        for method, use in zip(self.methods, used[1:], strict=True):
            fillers.append(Rounds(first, model, method.prepare(model, rng), self.n_rounds) if use else None)
        return fillers

    def _weights(self, model: Decomposition, examples: Array, rng: Generator) -> Array:
        """One row of weights per rate, the Gaussian model's first."""
        rows = spread_rows(examples, SAMPLE)
        fold = rng.permutation(len(rows)) % FOLDS
        rest, held = rows[fold > 0], rows[fold == 0]
        n_components = min(model.n_components, len(rest) - 1)
        with silenced(FewerComponentsWarning, ConvergenceWarning):
            part = decomposition.fit(model.kernel, rest, n_components, center=model.is_centred, rng=rng)
            fillers = self._fillers(part, rest, rng, [True] * (1 + len(self.methods)))
            return np.stack([_best_mixture(fillers, held, rate, rng) for rate in RATES])


def _best_mixture(fillers: list[Filler | None], rows: Array, rate: float, rng: Generator) -> Array:
    """Weights of the fillers that make the least squared error at hidden entries."""
    hidden = rng.random(rows.shape) < rate
    hidden[hidden.all(axis=1), 0] = rows.shape[1] == 1
    known = np.where(hidden, np.nan, rows)
    misfits = np.stack([(fill(known) - rows)[hidden] for fill in fillers if fill is not None]).astype(float)
    gram = misfits @ misfits.T
    size = np.trace(gram)
    if not size > 0:
        first: Array = np.eye(len(fillers))[0]
        return first
    weights, _, _ = minimise_on_simplex(gram[None] / size, np.zeros((1, len(fillers))), 1e-9, 5000)
    best: Array = weights[0]
    return best


@dataclass(frozen=True, eq=False)
class _ImputationMap:
    fillers: list[Filler | None]
    weights: Array  # one row per rate, one column per filler

    def __call__(self, X: Array) -> Array:
        missing = np.isnan(X)
        nearest = np.abs(missing.mean(axis=1)[:, None] - RATES).argmin(axis=1)
        shares = self.weights[nearest].astype(X.dtype)
        filled = np.zeros_like(X)
        for fill, share in zip(self.fillers, shares.T, strict=True):
            if fill is not None and share.any():
                filled += share[:, None] * fill(X)
        return np.where(missing, filled, X)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Gaps filled at first by a Gaussian model, then by rounds of a prepared method; known entries are put back."""

    first: GaussianModel
    model: Decomposition
    inverse_map: InverseMap
    n_rounds: int

    def __call__(self, X: Array) -> Array:
        missing, filled = np.isnan(X), self.first(X)
        for left in reversed(range(self.n_rounds)):
            targets = self.model.expand(self.model.codes(filled))
            with silenced(*EARLIER if left else ()):
                filled = np.where(missing, find_in_batches(self.inverse_map, targets, filled).points, X)
        return filled


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """x = μ + Wz + noise with variance σ²: probabilistic PCA of example rows."""

    mean: Array
    loadings: Array
    variance: float

    @classmethod
    def of(cls, examples: Array) -> GaussianModel:
        """The σ² whose model predicts entries of held-out examples best, each from the others of its row."""
        held = np.arange(len(examples)) % FOLDS == 0
        shares = [share for share in SHARES if share > len(examples[0]) * np.finfo(examples.dtype).eps]
        if len(examples) > FOLDS:
            axes = principal_axes(examples[~held])
            share = min(shares, key=lambda share: cls._of(*axes, share).left_out_error(examples[held]))
        else:
            share = shares[0]
        return cls._of(*principal_axes(examples), share)

    @classmethod
    def _of(cls, mean: Array, variances: Array, axes: Array, share: float) -> GaussianModel:
        """Loadings W = V(Λ − σ²)^½, σ² the mean of the variances left out, and at least a share of a column's.

        Nor is σ² less than the least variance, which changes nothing, but for the condition of what is solved.
        """
        kept, rest = variances[:FACTORS], variances[FACTORS:]
        left_out = rest.sum() / (len(mean) - FACTORS) if len(rest) else 0.0
        least = variances[-1] if len(variances) == len(mean) else 0.0
        floor = share * variances.sum() / len(mean)
        variance = float(max(left_out, least, floor, np.finfo(mean.dtype).tiny))
        return cls(mean, axes[:, :FACTORS] * np.sqrt(np.maximum(kept - variance, 0)), variance)

    def left_out_error(self, rows: Array) -> float:
        """The mean squared error of entries that are predicted from the others of their row.

        With the precision matrix P = (WWᵀ + σ²I)⁻¹ it is the mean of ((P(x − μ))ⱼ/Pⱼⱼ)².
        """
        W, gaps = self.loadings, rows - self.mean
        inner = scipy.linalg.solve(W.T @ W + self._ridge, W.T, assume_a="pos")
        scaled = gaps - (gaps @ W) @ inner  # σ²P(x − μ)
        diagonal = np.maximum(1 - np.einsum("jk,kj->j", W, inner), np.finfo(W.dtype).eps)  # σ²Pⱼⱼ ≤ 1
        return float(np.mean(np.square(scaled / diagonal)))

    @property
    def _ridge(self) -> Array:
        return self.variance * np.eye(self.loadings.shape[1], dtype=self.loadings.dtype)

    def __call__(self, X: Array) -> Array:
        """The rows with NaN filled by E[missing | observed].

        With the rows of W at observed entries, z = (WₒᵀWₒ + σ²I)⁻¹Wₒᵀ(xₒ − μₒ).
        """
        mean, loadings = self.mean, self.loadings
        ridge = self._ridge

        def fill(rows: slice) -> Array:
            filled = np.array(X[rows])
            for row in filled:
                seen = ~np.isnan(row)
                known = loadings[seen]
                z = scipy.linalg.solve(known.T @ known + ridge, known.T @ (row[seen] - mean[seen]), assume_a="pos")
                row[~seen] = mean[~seen] + loadings[~seen] @ z
            return filled

        return np.concatenate(tiles.map_rows(fill, len(X), X.shape[1] * X.itemsize))
