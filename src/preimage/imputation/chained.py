"""Kernel ridge regression of every column on the others, one after the other, in several rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage import progress
from preimage._typing import Array, Generator
from preimage.gram import slicing
from preimage.imputation.gaussian import GaussianModel
from preimage.kernels.scales import spread_rows

ENTRIES, FEWEST, MOST = 60_000, 300, 1000  # entries of the rows that regressions learn from; fewest and most rows
MOST_RELATED = 256  # the most columns that a regression uses


@dataclass(frozen=True)
class ChainedRegression:
    """Kernel ridge regression of xⱼ on the other columns, with k(x, y) = exp(−‖x − y‖²/2ℓ²) + c xᵀy/d.

    In ‖·‖² and xᵀy, columns have the p-th power of their correlation with xⱼ as weight: a pixel's neighbours predict it
    better than pixels far away. A Gaussian model, which also gives the correlations, fills the gaps first. Each column
    in turn is then fitted where it is observed and predicted where it is not (van Buuren & Groothuis-Oudshoorn 2011),
    and the next column uses these predictions.

    Parameters
    ----------
    scale : float
        ℓ, relative to that of the median rule.
    ridge : float
        λ of (K + λI).
    linear : float
        Weight c of the linear kernel.
    n_rounds : int
        How many times all columns are predicted.
    related : float
        p; with 0 all other columns have equal weight.
    """

    scale: float
    ridge: float
    linear: float = 0.3
    n_rounds: int = 2
    related: float = 0.0

    def fit(self, X: Array, first: GaussianModel, rng: Generator) -> ChainedMap:
        """The regressions of all columns."""
        some = spread_rows(X, int(np.clip(ENTRIES // X.shape[1], FEWEST, MOST)))
        missing, filled = np.isnan(some), first(some)
        n, d = filled.shape
        pairs = [_Pairs.of(first, j, self) for j in range(d)]
        weights, means, widths, above = np.zeros((n, d)), np.zeros(d), np.ones(d), np.tri(n, k=-1, dtype=bool).T
        for number in range(self.n_rounds):
            for done, j in enumerate(np.argsort(missing.sum(axis=0), kind="stable")):
                progress.report("columns", number * d + done, self.n_rounds * d)
                lost, seen = missing[:, j], np.flatnonzero(~missing[:, j])
                distances, products = pairs[j](filled, filled)
                widths[j] = self.scale**2 * (np.median(distances[above]) or 1.0)
                kernel = pairs[j].values(distances, products, widths[j])
                means[j], weights[:, j] = filled[seen, j].mean(), 0
                weights[seen, j] = self._solve(kernel[np.ix_(seen, seen)], filled[seen, j] - means[j])
                filled[lost, j] = means[j] + kernel[lost] @ weights[:, j]
        return ChainedMap(self, first, filled, weights, means, widths)

    def _solve(self, matrix: Array, values: Array) -> Array:
        matrix[np.diag_indices(len(matrix))] += self.ridge
        return scipy.linalg.solve(matrix, values, assume_a="pos", overwrite_a=True)


@dataclass(frozen=True, eq=False)
class ChainedMap:
    """Fitted regressions: xⱼ = x̄ⱼ + Σᵢ wᵢⱼ kⱼ(x, xᵢ)."""

    settings: ChainedRegression
    first: GaussianModel
    points: Array
    weights: Array
    means: Array
    width: Array | float

    def __call__(self, X: Array) -> Array:
        filled, missing = self.first(X), np.isnan(X)
        pairs = {j: _Pairs.of(self.first, j, self.settings) for j in np.flatnonzero(missing.any(axis=0)).tolist()}
        for rows in slicing.row_blocks(len(X), 4 * len(self.points) * X.itemsize):
            self._fill(filled[rows], missing[rows], pairs)
            progress.report("rows", rows.stop, len(X))
        return filled

    def _fill(self, filled: Array, missing: Array, pairs: dict[int, _Pairs]) -> None:
        """Replace the missing entries of some rows in ``filled``."""
        widths = np.broadcast_to(self.width, self.means.shape)
        for j in np.flatnonzero(missing.any(axis=0)).tolist() * self.settings.n_rounds:
            lost = missing[:, j]
            kernel = pairs[j].values(*pairs[j](filled[lost], self.points), widths[j])
            filled[lost, j] = self.means[j] + kernel @ self.weights[:, j]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Distances, products and kernel values of pairs of rows, in the regression of one column."""

    columns: Array
    roots: Array  # square roots of the weights of these columns, whose mean is 1
    linear: float

    @classmethod
    def of(cls, model: GaussianModel, j: int, settings: ChainedRegression) -> _Pairs:
        """The pairs weighted by the correlations of a Gaussian model."""
        related = np.abs(model.correlations(j))
        related[j] = -1.0
        kept = len(related) - 1 if settings.related == 0 else min(len(related) - 1, MOST_RELATED)
        columns = np.sort(np.argsort(-related, kind="stable")[:kept])
        weights = np.maximum(related[columns], np.finfo(float).eps) ** settings.related
        return cls(columns, np.sqrt(weights / weights.mean()), settings.linear / len(related))

    def __call__(self, rows: Array, points: Array) -> tuple[Array, Array]:
        """Squared distances and products of all pairs."""
        ours, theirs = (part[:, self.columns] * self.roots for part in (rows, points))
        products = ours @ theirs.T
        squares = [np.einsum("ij,ij->i", part, part) for part in (ours, theirs)]
        distances: Array = -2 * products
        distances += squares[0][:, None]
        distances += squares[1]
        return np.maximum(distances, 0, out=distances), products

    def values(self, distances: Array, products: Array, width: float) -> Array:
        """The kernel of all pairs, written over their distances."""
        found: Array = np.divide(distances, -width, out=distances)
        np.exp(found, out=found)
        found += np.multiply(products, self.linear, out=products)
        return found
