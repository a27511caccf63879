"""The space of a block and its images under a symmetric operator, with thick restarts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import column_norms, known_lowest, orthonormal
from preimage.gram import slicing, threads
from preimage.gram.operators import Symmetric

STEPS = 12  # blocks that the basis holds besides the wanted vectors before a restart
TALL = 5000  # rows per task in products of tall matrices
QUICK = 1e7  # multiplications in such a product that one thread does as fast as several


@dataclass(frozen=True)
class Ritz:
    """Ritz values, descending, and their residuals."""

    values: Array
    residuals: Array


class BlockSpace:
    """An orthonormal basis Q, the matrix T = QᵀAQ, and the part PR of A times the last block outside the span of Q.

    AQ = QT + [0 … 0, PR]: A maps only the last block out of the space, also after a restart. The residual of a Ritz
    vector Qs is therefore ‖R s_last‖, without another product. For the same reason T couples the last block only to
    itself and to the columns from ``near`` on: the block before, or all after a restart.
    """

    def __init__(self, operator: Symmetric, start: Array, k: int):
        room = min(operator.shape[0], k + (STEPS + 1) * start.shape[1])
        self.operator = operator
        self.Q = np.empty((room, operator.shape[0]), dtype=operator.dtype).T
        self.T = np.zeros((room, room))
        self.size, self.width, self.near, self.scale = 0, 0, 0, 0.0
        self.pairs: lapack.Pairs | None = None
        self.outside, self.R = self._orthonormal(start.astype(operator.dtype))[:2]
        self._append(self.outside)

    def multiply(self) -> None:
        """One pass: A times the last block."""
        last = slice(self.size - self.width, self.size)
        image = self.operator @ self.Q[:, last]
        self.scale = max(self.scale, float(column_norms(image).max(initial=0)))
        self.outside, self.R, coupling = self._orthonormal(image, self.near)
        self.T[: self.size, last] = coupling
        self.T[last, : self.size] = coupling.T
        self.T[last, last] = (coupling[last] + coupling[last].T) / 2
        self.pairs = None

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """The k largest Ritz values, ascending, their weights in the basis, and their residuals."""
        values, weights = self._eigenpairs(k)
        values, weights = values[-k:], weights[:, -k:]
        return values, weights, self._residuals(weights)

    def lowest(self, k: int) -> Array | None:
        """The Ritz values but the k largest, ascending, if the lowest is close to an eigenvalue."""
        values, weights = self._eigenpairs(self.size)
        return known_lowest(values, float(self._residuals(weights[:, :1])[0]), k)

    def _residuals(self, weights: Array) -> Array:
        return column_norms(self.R @ weights[self.size - self.width :])

    def _eigenpairs(self, k: int) -> lapack.Pairs:
        """At least k leading eigenpairs of T, or all; they are computed once after every pass."""
        k = min(k, self.size)
        if self.pairs is None or len(self.pairs[0]) < k:
            T = self.T[: self.size, : self.size]
            self.pairs = lapack.leading(T, k) if lapack.FEW * k <= self.size else lapack.divide_and_conquer(T)
        return self.pairs

    def ritz(self, k: int) -> Ritz | None:
        """The k largest Ritz values (descending) and their residuals; None while the space has fewer dimensions."""
        if self.size < k:
            return None
        values, _, residuals = self.leading(k)
        return Ritz(values[::-1], residuals[::-1])

    def vectors(self, weights: Array) -> Array:
        """Combinations of the basis."""
        combined: Array = self.Q[:, : self.size] @ weights.astype(self.Q.dtype)
        return combined

    def extend(self, k: int, rng: Generator) -> None:
        """Append the part outside the span as the next block, or random columns if there is none."""
        if not self.outside.shape[1]:
            self.restart(k, rng.standard_normal((self.Q.shape[0], self.width)))
        elif self.size > k + STEPS * self.outside.shape[1]:
            self.restart(k)
        else:
            self._append(self.outside)

    def restart(self, k: int, fresh: Array | None = None) -> None:
        """Keep the leading Ritz vectors and a few more, the part outside the span, and fresh columns if given."""
        outside = self.outside
        kept = min(k + outside.shape[1] // 2 + 1, self.size)
        values, weights, _ = self.leading(kept)
        self.Q[:, :kept] = self.vectors(weights)
        self.T[:] = 0
        self.T[range(kept), range(kept)] = values
        self.size, self.width = kept, kept
        self._append(outside)
        if fresh is not None:
            width = self.width
            self._append(self._orthonormal(fresh.astype(self.Q.dtype))[0])
            self.near, self.width = 0, self.width + (width if outside.shape[1] else 0)

    def _append(self, block: Array) -> None:
        missing = self.size + block.shape[1] - self.Q.shape[1]
        if missing > 0:  # blocks grow when random columns are added
            self.Q = np.concatenate([self.Q.T, np.empty((missing, len(self.Q)), dtype=self.Q.dtype)]).T
            self.T = np.pad(self.T, (0, missing))
        self.Q[:, self.size : self.size + block.shape[1]] = block
        self.near, self.pairs = self.size - self.width, None
        self.size, self.width = self.size + block.shape[1], block.shape[1]

    def _orthonormal(self, block: Array, near: int = 0) -> tuple[Array, Array, Array]:
        """P, R and C with block = QC + PR, P orthonormal and orthogonal to Q; columns of round-off are dropped.

        The first ``near`` rows of C are known to be round-off.
        """
        basis = self.Q[:, : self.size]
        coupling = np.zeros((self.size, block.shape[1]))
        coupling[near:] = own = _inner(basis[:, near:], block)
        block = _without(block, basis[:, near:], own)
        P, R, order = scipy.linalg.qr(block, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        floor = 10 * np.finfo(block.dtype).eps * self.scale
        rank = int(np.sum(np.abs(np.diagonal(R)) > floor))
        P, R = P[:, :rank], R[:rank, np.argsort(order)].astype(float)
        again = _inner(basis, P)  # again, because normalising P amplified its rounding errors
        P, second = orthonormal(_without(P, basis, again))
        return P, second @ R, coupling + again @ R


def _inner(basis: Array, block: Array) -> Array:
    """QᵀB for tall matrices, in blocks of rows on all cores."""
    parts = threads.parallel_map(lambda rows: basis[rows].T @ block[rows], _parts(basis, block))
    product: Array = sum(parts[1:], start=parts[0])
    return product


def _without(block: Array, basis: Array, coupling: Array) -> Array:
    """B − QC, in blocks of rows on all cores."""
    out, weights = np.empty_like(block), coupling.T

    def fill(rows: slice) -> None:
        np.subtract(block[rows].T, weights @ basis[rows].T, out=out[rows].T)

    threads.parallel_map(fill, _parts(basis, block))
    return out


def _parts(basis: Array, block: Array) -> list[slice]:
    """Blocks of rows for a product of two tall matrices; all rows if it is small."""
    return slicing.slices(len(block), TALL if basis.shape[1] * block.size > QUICK else len(block))
