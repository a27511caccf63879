"""Standardised columns, constant columns, and columns on a grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

__all__ = ["Scaling", "grid", "on_grid"]

ROUND_OFF = 8  # units in the last place by which a constant may differ from itself


@dataclass(frozen=True, eq=False)
class Scaling:
    """z = (x − mean) / deviation, column by column.

    Parameters
    ----------
    mean, deviation : arrays of shape (d,)
        Of the training rows; the deviation of a constant column is 1.
    constant : boolean array of shape (d,)
        Which columns are constant in the training rows.
    """

    mean: np.ndarray
    deviation: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Scaling:
        """The scaling of these rows, with the unbiased variance Σ(x − mean)² / (n − 1)."""
        mean, deviation = X.mean(axis=0, dtype=float), X.std(axis=0, ddof=1, dtype=float)
        constant = _equal(X.max(axis=0), X.min(axis=0))
        return cls(np.where(constant, X[0], mean), np.where(constant, 1.0, deviation), constant)

    @classmethod
    def of_blocks(cls, blocks: Iterable[np.ndarray]) -> Scaling:
        """The scaling of all rows in the blocks, which are iterated twice."""
        count, total, low, high = 0, np.zeros(1), np.array(np.inf), np.array(-np.inf)
        for X in blocks:
            count, total = count + len(X), total + X.sum(axis=0, dtype=float)
            low, high = np.minimum(low, X.min(axis=0)), np.maximum(high, X.max(axis=0))
        mean, constant = total / count, _equal(high, low)
        squares = sum(np.square(X - mean).sum(axis=0) for X in blocks)
        deviation = np.sqrt(squares / max(count - 1, 1))
        return cls(np.where(constant, low, mean), np.where(constant, 1.0, deviation), constant)

    @classmethod
    def none(cls, d: int) -> Scaling:
        """Columns as they are."""
        return cls(np.zeros(d), np.ones(d), np.zeros(d, dtype=bool))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Rows in units of deviations; a constant column becomes 0, because its changes have no unit."""
        Z = (X - self.mean) / self.deviation
        Z[..., self.constant] = 0
        return Z

    def undo(self, Z: np.ndarray) -> np.ndarray:
        """Rows in the units of the columns."""
        return Z * self.deviation + self.mean

    def moved(self, X: np.ndarray) -> np.ndarray:
        """Where a column that was constant in training differs by more than round-off, shape (rows, d)."""
        return self.constant & ~_equal(X, self.mean.astype(X.dtype))


def grid(X: np.ndarray) -> np.ndarray:
    """A power of two for every column, 2⁻²² of the largest distance of its entries from their mean.

    Single precision holds multiples of it exactly, relative to a multiple near their mean.
    """
    reach = np.maximum(np.abs(X - X.mean(axis=0)).max(axis=0), 2.0**-30 * np.abs(X).max(axis=0))
    return np.ldexp(1.0, np.frexp(np.where(reach > 0, reach, 1.0))[1] - 22)


def on_grid(X: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The nearest multiples of the step of each column."""
    return np.rint(X / step) * step


def _equal(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.abs(X - Y) <= ROUND_OFF * np.finfo(X.dtype).eps * np.abs(Y)
