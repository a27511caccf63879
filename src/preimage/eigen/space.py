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
MOSTLY = 0.7  # of a unit vector: what is left of it outside the span if it is not round-off
QUICK = 1e7  # multiplications in such a product that one thread does as fast as several


@dataclass(frozen=True)
class Ritz:
    """Ritz values, descending, their residuals, and the weights of their vectors."""

    values: Array
    residuals: Array
    weights: Array


class BlockSpace:
    """An orthonormal basis Q, of which A has multiplied the first ``size`` columns, and what is known of T = QᵀAQ.

    The other columns are the frontier: A maps the first ones, Q₁, into the span of all, AQ₁ = QT₁, also after a
    restart. Eigenpairs of T₁₁ are therefore Ritz pairs, and the residual of a Ritz vector Q₁s is ‖T₂₁s‖, with T₂₁ the
    rows of the frontier, without another product. A pass multiplies the first ``width`` columns of the frontier.
    """

    def __init__(self, operator: Symmetric, start: Array, k: int):
        self.operator, (n, self.block) = operator, start.shape
        room = min(n, k + (STEPS + 1) * self.block)
        self.Q = np.empty((room, n), dtype=operator.dtype).T
        self.T = np.zeros((room, room))
        self.size, self.total, self.width, self.scale = 0, 0, 0, 0.0
        self.pairs: lapack.Pairs | None = None
        self.add(start)

    @property
    def frontier(self) -> slice:
        """The columns that A has not yet multiplied."""
        return slice(self.size, self.total)

    def add(self, block: Array) -> None:
        """Append the part of a block outside the span to the frontier."""
        self._append(self._orthonormal(block.astype(self.Q.dtype))[0])

    def multiply(self) -> None:
        """One pass: A times the first columns of the frontier."""
        now = slice(self.size, self.size + self.width)
        image = self.operator @ self.Q[:, now]
        self.scale = max(self.scale, float(column_norms(image).max(initial=0)))
        outside, R, coupling = self._orthonormal(image)
        self._append(outside)
        columns = np.vstack([coupling, R])
        columns[now] = (columns[now] + columns[now].T) / 2
        self._set(slice(0, self.total), now, columns)
        self.size, self.width = now.stop, self.total - now.stop
        self.pairs = None

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """The k largest Ritz values, ascending, their weights in the basis, and their residuals."""
        values, weights = self._eigenpairs(k)
        values, weights = values[-k:], weights[:, -k:]
        return values, weights, column_norms(self._outside(weights))

    def lowest(self, k: int) -> Array | None:
        """The Ritz values but the k largest, ascending, if the lowest is close to an eigenvalue."""
        values, weights = self._eigenpairs(self.size)
        return known_lowest(values, float(column_norms(self._outside(weights[:, :1]))[0]), k)

    def _outside(self, weights: Array) -> Array:
        """The residuals of Ritz vectors, as combinations of the frontier."""
        outside: Array = self.T[self.frontier, : self.size] @ weights
        return outside

    def _eigenpairs(self, k: int) -> lapack.Pairs:
        """At least k leading eigenpairs of T₁₁, or all; they are computed once after every pass."""
        k = min(k, self.size)
        if self.pairs is None or len(self.pairs[0]) < k:
            T = self.T[: self.size, : self.size]
            self.pairs = lapack.leading(T, k)
        return self.pairs

    def ritz(self, k: int) -> Ritz | None:
        """The k largest Ritz values (descending) and their residuals; None while the space has fewer dimensions."""
        if self.size < k:
            return None
        values, weights, residuals = self.leading(k)
        return Ritz(values[::-1], residuals[::-1], weights[:, ::-1])

    def vectors(self, weights: Array) -> Array:
        """Combinations of the basis."""
        combined: Array = self.Q[:, : self.size] @ weights.astype(self.Q.dtype)
        return combined

    def narrow(self, weights: Array, width: int) -> None:
        """Let the next pass multiply a few combinations of the frontier: most of the residuals of some Ritz vectors."""
        if width < self.width:
            turn, front = np.linalg.svd(self._outside(weights))[0], self.frontier
            self.Q[:, front] = self.Q[:, front] @ turn.astype(self.Q.dtype)
            self._set(front, slice(0, self.size), turn.T @ self.T[front, : self.size])
            self.width = width

    def extend(self, k: int, rng: Generator) -> None:
        """Restart if the space is full; add random columns if A maps it to itself."""
        front = self.total - self.size
        if not front or self.size > k + STEPS * max(front, self.block):
            self.restart(k)
        if not front:
            self.add(rng.standard_normal((self.Q.shape[0], self.block)))

    def restart(self, k: int) -> None:
        """Keep the leading Ritz vectors and a few more, and the frontier."""
        outside = self.Q[:, self.frontier].copy()
        kept = min(k + outside.shape[1] // 2 + 1, self.size)
        values, weights, _ = self.leading(kept)
        coupling = self._outside(weights)
        self.Q[:, :kept] = self.vectors(weights)
        self.T[:] = 0
        self.T[range(kept), range(kept)] = values
        self.size, self.total, self.pairs = kept, kept, None
        self._append(outside)
        self._set(self.frontier, slice(0, kept), coupling)

    def _append(self, block: Array) -> None:
        """Append orthonormal columns to the frontier."""
        missing = self.total + block.shape[1] - self.Q.shape[1]
        if missing > 0:  # blocks grow when random columns are added
            self.Q = np.concatenate([self.Q.T, np.empty((missing, len(self.Q)), dtype=self.Q.dtype)]).T
            self.T = np.pad(self.T, (0, missing))
        self.Q[:, self.total : self.total + block.shape[1]] = block
        self.total += block.shape[1]
        self.width = self.total - self.size

    def _set(self, rows: slice, columns: slice, values: Array) -> None:
        """Set a part of T, and its transpose."""
        self.T[rows, columns] = values
        self.T[columns, rows] = values.T

    def _orthonormal(self, block: Array) -> tuple[Array, Array, Array]:
        """P, R and C with block = QC + PR, P orthonormal and orthogonal to Q; columns of round-off are dropped."""
        basis = self.Q[:, : self.total]
        coupling = _inner(basis, block)
        block = _without(block, basis, coupling)
        P, R, order = scipy.linalg.qr(block, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        floor = 10 * np.finfo(block.dtype).eps * self.scale
        rank = int(np.sum(np.abs(np.diagonal(R)) > floor))
        P, R = P[:, :rank], R[:rank, np.argsort(order)].astype(float)
        again = _inner(basis, P)  # again, because normalising P amplified its rounding errors
        P = _without(P, basis, again)
        outside = column_norms(P) > MOSTLY
        P, R, again = P[:, outside], R[outside], again[:, outside]
        P, second = orthonormal(P)
        return P, second @ R, coupling.astype(float) + again @ R


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
