"""Block Lanczos with full reorthogonalisation and thick restart: few, wide passes over the operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage import progress
from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import Eigenpairs, as_eigenpairs, check_count, column_norms, round_off
from preimage.eigen.dense import Dense
from preimage.eigen.space import BlockSpace, Ritz
from preimage.gram import threads
from preimage.gram.operators import Symmetric, Tiled, check_storage
from preimage.kernels.base import positive

LANDMARKS = 8  # landmarks of a Nyström start per column of the first block
FEW = 4  # rows whose images make up the first block, per column
MISSED = 0.03  # the size of the random part of the first block: small beside what these rows find
SINGLE = 1e-6  # the least tolerance that passes in single precision usually reach
NEARLY = 100  # times its limit: a residual that usually takes two or three passes more
UNROLLED = 4  # columns that BLAS multiplies at once
PATIENCE = 6  # passes in single precision without half the residual, after which round-off is all that is left


@dataclass(frozen=True)
class BlockKrylov:
    """Leading eigenpairs from the space of a block and its images, [B, AB, A²B, …] (Golub & Underwood 1977).

    The first block comes from a few rows: the images of random numbers there or, where passes are expensive, a Nyström
    approximation of the leading eigenvectors. A random part is added, so that no eigenvector is orthogonal to it.

    If the matrix is stored in double precision, ``tol`` is at least 1e-6 and ``block_size`` is None, a copy in single
    precision takes all passes but the last, in less than half the time. The last pass, in double precision, gives the
    pairs and their residuals.

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
            rounded = operator.rounded() if self._may_round(tol) else None
            start = _start(operator if rounded is None else rounded, width, rng)
            done, watch = 0, _Multiplicity(width, tol)
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
    ) -> tuple[BlockSpace, int]:
        """A space that contains k eigenvectors, and the number of the last pass, one of ``steps``."""
        n, width = start.shape
        space = BlockSpace(operator, start, k)
        least, stalled = np.inf, 0
        for step in steps:
            space.multiply()
            ritz = space.ritz(k)
            progress.report("eigenpairs", step)
            if ritz is not None:
                worst = float(ritz.residuals.max())
                least, stalled = (worst, 0) if worst < least / 2 else (least, stalled + 1)
            if ritz is not None and np.all(ritz.residuals <= _limits(ritz, watch.tol, operator)):
                if watch.is_satisfied(ritz.values, step) or step == steps[-1]:
                    break
                space.restart(k)
                space.add(rng.standard_normal((n, width)))
            elif stalled >= patience:
                break
            elif step < steps[-1]:
                if ritz is not None and not _is_recomputed(operator):
                    _narrow(space, ritz, _limits(ritz, watch.tol, operator))
                space.extend(k, rng)
        return space, step


def _limits(pairs: Ritz, tol: float, operator: Symmetric) -> Array:
    """The residuals at which pairs count as found: tol·λ₁, or a tenth of their eigenvalue (at least round-off)."""
    largest = abs(pairs.values).max()
    small = np.maximum(abs(pairs.values) / 10, round_off(operator) * largest)
    limits: Array = np.minimum(tol * largest, small)
    return limits


def _narrow(space: BlockSpace, pairs: Ritz, limits: Array) -> None:
    """If all pairs are nearly found, go on with half as many columns as pairs are unfinished.

    These are the strongest directions of their residuals; the others wait in the frontier.
    """
    if np.all(pairs.residuals <= NEARLY * limits):
        unfinished = pairs.weights[:, pairs.residuals > limits]
        space.narrow(unfinished, UNROLLED * -(-unfinished.shape[1] // (2 * UNROLLED)))


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


def _block_size(operator: Symmetric, k: int) -> int:
    if _is_recomputed(operator):
        return int(np.clip(2 * k, 16, 128))
    return int(np.clip(k // 2, 8, 64))


def _is_recomputed(operator: Symmetric) -> bool:
    return isinstance(getattr(operator, "operator", operator), Tiled)


def _start(operator: Symmetric, width: int, rng: Generator) -> Array:
    """A block rich in the leading eigenvectors, from a few rows, and a random part for what these rows miss."""
    n = operator.shape[0]
    block: Array = rng.standard_normal((n, width)) / np.sqrt(n)
    rich = (_nystrom if _is_recomputed(operator) else _image)(operator, width, rng)
    if rich is not None:
        block *= MISSED
        block[:, : rich.shape[1]] += rich
    return block


def _image(operator: Symmetric, width: int, rng: Generator) -> Array | None:
    """The image of random columns that are 0 but for a few rows: as good as a pass, at a fraction of its cost."""
    rows = _some_rows(operator, FEW * width, rng)
    columns = rng.standard_normal((len(rows), width))
    image = operator.multiply_columns(rows, (columns - columns.mean(axis=0)).astype(operator.dtype))
    return None if image is None else image / np.maximum(column_norms(image), np.finfo(image.dtype).tiny)


def _nystrom(operator: Symmetric, width: int, rng: Generator) -> Array | None:
    """A Nyström approximation of the leading eigenvectors, where every pass recomputes the kernel."""
    features = operator.features(_some_rows(operator, LANDMARKS * width, rng))
    if features is None:
        return None
    values, axes = lapack.divide_and_conquer((features.T @ features).astype(float))
    few = min(width, int(np.sum(values > 0)))
    leading: Array = features @ (axes[:, -few:] / np.sqrt(values[-few:])).astype(features.dtype)
    return leading


def _some_rows(operator: Symmetric, most: int, rng: Generator) -> Array:
    n = operator.shape[0]
    rows: Array = rng.choice(n, min(most, n), replace=False)
    return rows
