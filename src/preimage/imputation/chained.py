"""Every column by kernel ridge regression on the others, one after the other, until the filled entries settle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.gram import tiles
from preimage.imputation.gaussian import GaussianModel
from preimage.kernels.scales import median, spread_rows

__all__ = ["ChainedRegression"]

ENTRIES, FEWEST, MOST = 60_000, 300, 1000  # of the rows that regressions learn from, and how many rows these are


@dataclass(frozen=True)
class ChainedRegression:
    """Kernel ridge regression of xⱼ on the other columns, with k(x, y) = exp(−‖x − y‖²/2ℓ²) + c xᵀy/d.

    Gaps are filled by a Gaussian model first. Each column in turn is then fitted where it is observed and predicted
    where it is not (van Buuren & Groothuis-Oudshoorn 2011), and the next column uses these predictions.

    Parameters
    ----------
    scale : float
        ℓ, in units of the median rule's.
    ridge : float
        λ of (K + λI).
    linear : float
        Weight c of the linear kernel.
    n_rounds : int
        How often all columns are predicted.
    """

    scale: float
    ridge: float
    linear: float = 0.3
    n_rounds: int = 2

    def fit(self, X: Array, first: GaussianModel, rng: Generator) -> ChainedMap:
        """The regressions of all columns."""
        some = spread_rows(X, int(np.clip(ENTRIES // X.shape[1], FEWEST, MOST)))
        missing, filled = np.isnan(some), first(some)
        width = self.scale**2 * 2 * (median(filled) or 1.0) ** 2
        weights, means = np.zeros_like(filled), np.zeros(filled.shape[1])
        for _ in range(self.n_rounds):
            pairs = _Pairs(filled, filled, width, self.linear)
            for j in np.argsort(missing.sum(axis=0), kind="stable"):
                lost = missing[:, j]
                kernel = pairs.without(j)
                seen = np.flatnonzero(~lost)
                means[j] = filled[seen, j].mean()
                weights[:, j] = 0
                weights[seen, j] = self._solve(kernel[np.ix_(seen, seen)], filled[seen, j] - means[j])
                pairs.replace(j, np.where(lost, means[j] + kernel @ weights[:, j], filled[:, j]))
        return ChainedMap(self, first, filled, weights, means, width)

    def _solve(self, matrix: Array, values: Array) -> Array:
        matrix[np.diag_indices(len(matrix))] += self.ridge
        found: Array = scipy.linalg.solve(matrix, values, assume_a="pos", overwrite_a=True)
        return found


@dataclass(frozen=True, eq=False)
class ChainedMap:
    """Fitted regressions: xⱼ = x̄ⱼ + Σᵢ wᵢⱼ k₋ⱼ(x, xᵢ)."""

    settings: ChainedRegression
    first: GaussianModel
    points: Array
    weights: Array
    means: Array
    width: float

    def __call__(self, X: Array) -> Array:
        filled, missing = self.first(X), np.isnan(X)
        for rows in tiles.row_blocks(len(X), 4 * len(self.points) * X.itemsize):
            self._fill(filled[rows], missing[rows])
        return filled

    def _fill(self, filled: Array, missing: Array) -> None:
        """Replace the missing entries of ``filled``, some rows of them."""
        pairs = _Pairs(filled, self.points, self.width, self.settings.linear)
        for j in self._order(missing):
            answers = self.means[j] + pairs.without(j) @ self.weights[:, j]
            pairs.replace(j, np.where(missing[:, j], answers, filled[:, j]))

    def _order(self, missing: Array) -> Iterator[int]:
        """Columns with gaps, as often as there are rounds."""
        for _ in range(self.settings.n_rounds):
            yield from np.flatnonzero(missing.any(axis=0)).tolist()


class _Pairs:
    """Kernel values of rows with points, of all columns but one; a column may be replaced at little cost.

    The values of a call last until the next one: all calls share their memory, which the system need not clear again.
    """

    def __init__(self, rows: Array, points: Array, width: float, linear: float):
        self.rows, self.points, self.width, self.linear = rows, points, width, linear / rows.shape[1]
        self.products = rows @ points.T
        self.others, self.values = np.empty_like(self.products), np.empty_like(self.products)

    def without(self, j: int) -> Array:
        """k₋ⱼ of all pairs, from −‖x − y‖² = 2xᵀy − ‖x‖² − ‖y‖² of the other columns."""
        others, values = np.subtract(self.products, self._column(j), out=self.others), self.values
        np.subtract(others, self._half_squares(self.rows, j)[:, None], out=values)
        values -= self._half_squares(self.points, j)
        values *= 2 / self.width
        np.exp(np.minimum(values, 0, out=values), out=values)
        others *= self.linear
        values += others
        return values

    def replace(self, j: int, column: Array) -> None:
        """Replace a column of the rows, and of the points where these are the same array."""
        self.products -= self._column(j)
        self.rows[:, j] = column
        self.products += self._column(j)

    def _column(self, j: int) -> Array:
        """What one column adds to the products."""
        return np.multiply(self.rows[:, j, None], self.points[:, j], out=self.others)

    @staticmethod
    def _half_squares(rows: Array, j: int) -> Array:
        """‖x‖²/2 of all columns but one."""
        found: Array = (np.einsum("ij,ij->i", rows, rows) - np.square(rows[:, j])) / 2
        return found
