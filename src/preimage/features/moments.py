"""Feature maps, and the moments of features over a stream of rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from preimage import progress
from preimage._typing import Array, Rows
from preimage.gram import slicing, threads
from preimage.kernels import Kernel


class FeatureMap(Protocol):
    """A map to coordinates whose moments give a kernel PCA."""

    kernel: Kernel

    @property
    def width(self) -> int:
        """The number of columns summed."""

    def __call__(self, X: Rows) -> Array:
        """f(x) for every row, shape (rows, r)."""

    def columns(self, X: Rows) -> Array:
        """The columns to sum over the rows: the features, or values whose linear functions are the features."""

    def finish(self, mean: Array, scatter: Array) -> tuple[Array, Array]:
        """Mean and scatter of the features, from those of the columns."""

    def same_as(self, other: Any) -> bool:
        """Whether another map equals this one, so that their moments may be added."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and scatter Σ(c − c̄)(c − c̄)ᵀ of columns over the rows so far, and the sum of k(x, x).

    Moments of two sets of rows add up to those of all rows (Chan, Golub & LeVeque 1983).
    """

    n: int
    mean: Array
    scatter: Array
    trace: float

    @classmethod
    def of(cls, features: FeatureMap, X: Rows) -> Moments:
        """Moments of a block of rows."""
        columns = features.columns(X)
        mean = columns.mean(axis=0)
        columns -= mean
        return cls(len(columns), mean, columns.T @ columns, float(np.sum(features.kernel.diagonal(X), dtype=float)))

    def second(self) -> Array:
        """Σ ccᵀ, not centred."""
        return self.scatter + self.n * np.outer(self.mean, self.mean)

    def __add__(self, other: Moments) -> Moments:
        n, gap = self.n + other.n, other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += (self.n * other.n / n) * np.outer(gap, gap)
        return Moments(n, self.mean + gap * (other.n / n), scatter, self.trace + other.trace)


def accumulate(
    features: FeatureMap, blocks: Iterable[Any], moments: Moments | None = None, total: int | None = None
) -> Moments:
    """Moments of all rows in the blocks, added to the given ones."""
    for block in blocks:
        for rows in slicing.row_blocks(block.shape[0], 12 * 8 * features.width):
            new = _moments(features, block[rows])
            moments = new if moments is None else moments + new
            progress.report("rows", moments.n, total)
    if moments is None:
        raise ValueError("there are no rows to fit.")
    return moments


def _moments(features: FeatureMap, X: Rows) -> Moments:
    """Moments of some rows, computed on all cores if the memory budget holds a matrix for each."""
    n, parts = X.shape[0], threads.n_threads()
    if n < parts * slicing.TILE or 4 * parts * 8 * features.width**2 > threads.working_bytes():
        return Moments.of(features, X)
    shares = slicing.slices(n, -(-n // parts))
    return reduce(operator.add, threads.parallel_map(lambda rows: Moments.of(features, X[rows]), shares))
