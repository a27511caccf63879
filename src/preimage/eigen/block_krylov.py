"""Block Lanczos with full reorthogonalisation and thick restart: few, wide passes over the operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from preimage import progress
from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import (
    Eigenpairs,
    as_eigenpairs,
    check_count,
    column_norms,
    known_lowest,
    orthonormal,
    round_off,
)
from preimage.eigen.dense import Dense
from preimage.gram import slicing, threads
from preimage.gram.operators import Symmetric, Tiled, check_storage
from preimage.kernels.base import positive

STEPS = 12  # blocks that the basis holds besides the wanted vectors before a restart
TALL = 2500  # rows per task in products of tall matrices
LANDMARKS = 8  # landmarks of the Nyström start per column of the first block
SINGLE = 1e-6  # the least tolerance that passes in single precision usually reach
PATIENCE = 6  # passes in single precision without half the residual, after which round-off is all that is left


@dataclass(frozen=True)
class BlockKrylov:
    """Leading eigenpairs from the space of a block and its images, [B, AB, A²B, …] (Golub & Underwood 1977).

    Where passes are expensive, the first block is a Nyström approximation of the leading eigenvectors, plus a random
    part so that no eigenvector is orthogonal to it. If the matrix is stored in double precision, ``tol`` is at
    least 1e-6 and ``block_size`` is None, a copy in single precision takes all passes but the last, in less than half
    the time. The last pass, in double precision, gives the pairs and their residuals.

    Parameters
    ----------
    block_size : int, optional
        Columns per pass. By default k/2 if the matrix is stored, because many small blocks beat few large ones for the
        same number of products, and 2k if every pass recomputes the kernel, because more columns are then nearly free.
    tol : float, optional
        Bound on the residuals ‖Au − λu‖ relative to λ₁: by default 1e-6, and 2e-6 in float32. The error of an
        eigenvalue is of the order of its residual squared. The residual of a smaller λ is at most λ/10, or round-off.
    max_iter : int
        The most products with a block.
    storage : "auto", "memory" or "recompute"
        Whether to store one triangle of the kernel matrix or recompute it in every pass; "auto" stores it if it takes
        at most half of the free memory.

    See Also
    --------
    Dense : LAPACK, for small matrices or many pairs.
    choose_solver : Which solver "auto" takes.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.eigen import BlockKrylov
    >>> X = s_curve(600, random_state=0).X
    >>> fast = KernelPCA(3, solver=BlockKrylov(tol=1e-8), random_state=0).fit(X)
    >>> exact = KernelPCA(3, solver="dense").fit(X)
    >>> bool(abs(fast.eigenvalues_ - exact.eigenvalues_).max() < 1e-6 * exact.eigenvalues_[0])
    True
    """

    block_size: int | None = None
    tol: float | None = None
    max_iter: int = 100
    storage: str = "auto"

    def __post_init__(self) -> None:
        check_count(self, "block_size")
        check_count(self, "max_iter")
        if self.tol is not None:
            positive("tol", self.tol)
        check_storage(self.storage)

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        n, width = operator.shape[0], self.block_size or _block_size(operator, k)
        if k + 2 * width >= n:  # the basis would span the whole space
            return Dense().solve(operator, k, rng)
        tol = self.tol if self.tol is not None else (1e-6 if operator.dtype == np.float64 else 2e-6)
        with threads.single_threaded_blas():  # for the many small steps between passes; passes have their own threads
            start, done, watch = _start(operator, width, rng), 0, _Multiplicity(width, tol)
            rounded = operator.rounded() if self._may_round(tol) else None
            if rounded is not None:
                space, done = self._grow(rounded, k, start, watch, rng, range(1, self.max_iter), PATIENCE)
                start = space.vectors(space.leading(k)[1])
            space, done = self._grow(operator, k, start, watch, rng, range(done + 1, self.max_iter + 1))
            values, weights, residuals = space.leading(k)
            vectors, bound = space.vectors(weights), tol * abs(values).max(initial=0)
            return as_eigenpairs(
                operator,
                values.astype(operator.dtype),
                vectors,
                bound,
                done,
                wanted=k,
                residuals=residuals,
                lowest=None if rounded is not None else space.lowest(k),
            )

    def _may_round(self, tol: float) -> bool:
        """Whether passes in single precision reach the tolerance; the last pass takes as many columns as pairs."""
        return tol >= SINGLE and self.block_size is None and self.max_iter > 1

    def _grow(
        self,
        operator: Symmetric,
        k: int,
        start: Array,
        watch: _Multiplicity,
        rng: Generator,
        steps: range,
        patience: float = np.inf,
    ) -> tuple[_Space, int]:
        """A space that contains k eigenvectors, and the number of the last pass, one of ``steps``."""
        n, width = start.shape
        space = _Space(operator, start, room=min(n, k + (STEPS + 1) * width))
        least, stalled = np.inf, 0
        for step in steps:
            space.multiply()
            ritz = space.ritz(k)
            progress.report("eigenpairs", step)
            if ritz is not None:
                worst = float(ritz.residuals.max())
                least, stalled = (worst, 0) if worst < least / 2 else (least, stalled + 1)
            if ritz is not None and _are_found(ritz, watch.tol, operator):
                if watch.is_satisfied(ritz.values, step) or step == steps[-1]:
                    break
                space.restart(k, rng.standard_normal((n, width)))
            elif stalled >= patience:
                break
            elif step < steps[-1]:
                space.extend(k, rng)
        return space, step


@dataclass(frozen=True)
class _Ritz:
    values: Array
    residuals: Array


def _are_found(pairs: _Ritz, tol: float, operator: Symmetric) -> bool:
    """Whether residuals are at most tol·λ₁, and at most a tenth of their eigenvalue or round-off."""
    largest = abs(pairs.values).max()
    small = np.maximum(abs(pairs.values) / 10, round_off(operator) * largest)
    return bool(np.all(pairs.residuals <= np.minimum(tol * largest, small)))


class _Multiplicity:
    """Detects copies of an eigenvalue that a block may have missed: b columns find at most b copies.

    If b of the wanted values are equal, another random block is added, with as many steps as the first one took.
    """

    def __init__(self, width: int, tol: float):
        self.width, self.tol, self.seen, self.until, self.first = width, tol, width, 0, 0

    def is_satisfied(self, values: Array, step: int) -> bool:
        self.first = self.first or step
        if step < self.until:
            return False
        copies = values[: max(len(values) - self.seen + 1, 0)] - values[self.seen - 1 :]
        if not np.any(copies <= 10 * self.tol * abs(values).max()):
            return True
        self.seen, self.until = self.seen + self.width, step + self.first
        return False


class _Space:
    """An orthonormal basis Q, the matrix T = QᵀAQ, and the part PR of A times the last block outside the span of Q.

    AQ = QT + [0 … 0, PR]: A maps only the last block out of the space, also after a restart. The residual of a Ritz
    vector Qs is therefore ‖R s_last‖, without another product.
    """

    def __init__(self, operator: Symmetric, start: Array, room: int):
        self.operator = operator
        self.Q = np.empty((room, operator.shape[0]), dtype=operator.dtype).T
        self.T = np.zeros((room, room))
        self.size, self.width, self.scale = 0, 0, 0.0
        self.outside, self.R = self._orthonormal(start.astype(operator.dtype))[:2]
        self._append(self.outside)

    def multiply(self) -> None:
        """One pass: A times the last block."""
        last = slice(self.size - self.width, self.size)
        image = self.operator @ self.Q[:, last]
        self.scale = max(self.scale, float(column_norms(image).max(initial=0)))
        self.outside, self.R, coupling = self._orthonormal(image)
        self.T[: self.size, last] = coupling
        self.T[last, : self.size] = coupling.T
        self.T[last, last] = (coupling[last] + coupling[last].T) / 2

    def leading(self, k: int) -> tuple[Array, Array, Array]:
        """The k largest Ritz values, their weights in the basis, and their residuals."""
        T = self.T[: self.size, : self.size]
        values, weights = lapack.leading(T, min(k, self.size))
        residuals = column_norms(self.R @ weights[self.size - self.width :])
        return values, weights, residuals

    def lowest(self, k: int) -> Array | None:
        """The Ritz values but the k largest, ascending, if the lowest is close to an eigenvalue."""
        values, weights = lapack.divide_and_conquer(self.T[: self.size, : self.size])
        residuals = column_norms(self.R @ weights[self.size - self.width :, :1])
        return known_lowest(values, float(residuals[0]), k)

    def ritz(self, k: int) -> _Ritz | None:
        """The k largest Ritz values (descending) and their residuals; None while the space has fewer dimensions."""
        if self.size < k:
            return None
        values, _, residuals = self.leading(k)
        return _Ritz(values[::-1], residuals[::-1])

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
        self.size = kept
        self._append(outside)
        if fresh is not None:
            width = self.width
            self._append(self._orthonormal(fresh.astype(self.Q.dtype))[0])
            self.width += width if outside.shape[1] else 0

    def _append(self, block: Array) -> None:
        missing = self.size + block.shape[1] - self.Q.shape[1]
        if missing > 0:  # blocks grow when random columns are added
            self.Q = np.concatenate([self.Q.T, np.empty((missing, len(self.Q)), dtype=self.Q.dtype)]).T
            self.T = np.pad(self.T, (0, missing))
        self.Q[:, self.size : self.size + block.shape[1]] = block
        self.size, self.width = self.size + block.shape[1], block.shape[1]

    def _orthonormal(self, block: Array) -> tuple[Array, Array, Array]:
        """P, R and C with block = QC + PR, P orthonormal and orthogonal to Q; columns of round-off are dropped."""
        basis = self.Q[:, : self.size]
        coupling = _inner(basis, block)
        block = _without(block, basis, coupling)
        P, R, order = scipy.linalg.qr(block, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        floor = 10 * np.finfo(block.dtype).eps * self.scale
        rank = int(np.sum(np.abs(np.diagonal(R)) > floor))
        P, R = P[:, :rank], R[:rank, np.argsort(order)].astype(float)
        again = _inner(basis, P)  # again, because normalising P amplified its rounding errors
        P, second = orthonormal(_without(P, basis, again))
        return P, second @ R, coupling.astype(float) + again @ R


def _inner(basis: Array, block: Array) -> Array:
    """QᵀB for tall matrices, in blocks of rows on all cores."""
    product: Array = sum(
        threads.parallel_map(lambda rows: basis[rows].T @ block[rows], slicing.slices(len(block), TALL))
    )
    return product


def _without(block: Array, basis: Array, coupling: Array) -> Array:
    """B − QC, in blocks of rows on all cores."""
    out = np.empty_like(block)

    def fill(rows: slice) -> None:
        np.subtract(block[rows], basis[rows] @ coupling, out=out[rows])

    threads.parallel_map(fill, slicing.slices(len(block), TALL))
    return out


def _block_size(operator: Symmetric, k: int) -> int:
    if _is_recomputed(operator):
        return int(np.clip(2 * k, 16, 128))
    return int(np.clip(k // 2, 8, 64))


def _is_recomputed(operator: Symmetric) -> bool:
    return isinstance(getattr(operator, "operator", operator), Tiled)


def _start(operator: Symmetric, width: int, rng: Generator) -> Array:
    """A random block, plus a Nyström approximation of the leading eigenvectors where passes are expensive."""
    n = operator.shape[0]
    block: Array = rng.standard_normal((n, width)) / np.sqrt(n)
    if not _is_recomputed(operator):
        return block
    rows = rng.choice(n, min(LANDMARKS * width, n), replace=False)
    features = operator.features(rows)
    if features is None:
        return block
    values, axes = lapack.divide_and_conquer((features.T @ features).astype(float))
    few = min(width, int(np.sum(values > 0)))
    leading = features @ (axes[:, -few:] / np.sqrt(values[-few:])).astype(features.dtype)
    block *= 0.03  # enough to find what the landmarks miss, small compared to what they find
    block[:, :few] += leading
    return block
