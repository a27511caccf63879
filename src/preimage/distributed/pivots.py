"""Randomly pivoted Cholesky on rows that are spread over machines.

The factor G of K ≈ GᵀG stays with the rows: every machine holds its columns. Workers and caller exchange only the sums
of the residual diagonal, the proposed rows, and the new landmarks. In exact arithmetic, and with the same generator,
the chosen rows are those of :func:`preimage.features.landmarks.pivots` for any chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
import scipy.linalg

from preimage import progress
from preimage.distributed import cluster
from preimage.features.landmarks import accepted_proposals, block_size, value_round_off
from preimage.gram import slicing, tiles

GROUPS = 32  # parts at most


@cluster.sized
@dataclass(frozen=True, eq=False)
class Factor:
    """Rows X, the columns of G for them in blocks, and the residual diagonal d = diag(K) − Σ G²."""

    X: np.ndarray
    blocks: tuple[np.ndarray, ...]
    missing: np.ndarray

    @classmethod
    def start(cls, parts: list[np.ndarray], kernel) -> Factor:
        """Rows before the first landmark."""
        X = np.concatenate(parts)
        return cls(X, (), np.maximum(kernel.diagonal(X), 0).astype(float))

    def total(self) -> tuple[float, float, float]:
        """The sum and the maximum of the residual diagonal, and the round-off of kernel values."""
        return float(self.missing.sum()), float(self.missing.max(initial=0)), value_round_off(self.X)

    def at(self, levels: np.ndarray) -> Proposed:
        """The rows at which the running sum of the residual diagonal passes the levels."""
        numbers = np.searchsorted(np.cumsum(self.missing), levels, side="right").clip(max=len(self.X) - 1)
        columns = [block[:, numbers] for block in self.blocks] or [np.empty((0, len(numbers)))]
        return Proposed(numbers, self.X[numbers], np.concatenate(columns))

    def extended(self, new: New, own: np.ndarray) -> Factor:
        """The factor with rows L⁻¹(K_new − CᵀG) for new landmarks, of which ``own`` are rows of this part."""
        rows = tiles.cross(new.kernel, self.X, new.points).astype(float, copy=False).T
        first = 0
        for block in self.blocks:
            rows -= new.columns[first : first + len(block)].T @ block
            first += len(block)
        rows = scipy.linalg.solve_triangular(new.root, rows, lower=True, check_finite=False)
        missing = np.maximum(self.missing - np.einsum("ij,ij->j", rows, rows), 0)
        missing[own] = 0
        return replace(self, blocks=(*self.blocks, rows), missing=missing)


@cluster.sized
@dataclass(frozen=True, eq=False)
class Proposed:
    """Proposed rows X, their numbers in their part, and their columns of G."""

    numbers: np.ndarray
    X: np.ndarray
    columns: np.ndarray


@cluster.sized
@dataclass(frozen=True, eq=False)
class New:
    """Landmarks to add: their points, their columns C of G so far, and the root L of their residual matrix LLᵀ."""

    kernel: Any
    points: np.ndarray
    columns: np.ndarray
    root: np.ndarray


def choose_pivots(kernel, parts: list, m: int, rng: np.random.Generator, tol: float) -> np.ndarray:
    """At most m landmarks among the rows of lazy parts (Epperly, Tropp & Webber 2024, alg. 2)."""
    parts = cluster.keep([_start(group, kernel, cluster.budget()) for group in _groups(parts)])
    totals, largest, noise = np.array(cluster.compute(*(part.total() for part in parts))).T
    found: list[np.ndarray] = []
    count, enough, floor = 0, max(tol, noise.max()) * totals.sum(), noise.max() * largest.max()
    while count < m and totals.sum() > enough:
        where, proposed = _propose(parts, totals, rng.random(block_size(m)))
        H = np.asarray(kernel(proposed.X, proposed.X), dtype=float) - proposed.columns.T @ proposed.columns
        taken = accepted_proposals(H, rng, floor)[: m - count]
        if not taken:
            break
        root = np.linalg.cholesky(H[np.ix_(taken, taken)])
        new = cluster.once(New(kernel, proposed.X[taken], proposed.columns[:, taken], root))
        owners = [proposed.numbers[taken][where[taken] == part] for part in range(len(parts))]
        parts = cluster.keep(
            [_extend(part, new, own, cluster.budget()) for part, own in zip(parts, owners, strict=True)]
        )
        totals = np.array(cluster.compute(*(part.total() for part in parts)))[:, 0]
        found.append(proposed.X[taken])
        count += len(taken)
        progress.report("landmarks", count, m)
    return np.concatenate(found) if found else np.empty((0, 0))


def _propose(parts: list, totals: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, Proposed]:
    """The part of each proposed row, and the rows, drawn in proportion to the residual diagonal, in drawing order."""
    ends = np.cumsum(totals)
    levels = uniform * ends[-1]
    where = np.searchsorted(ends, levels, side="right").clip(max=int(np.flatnonzero(totals)[-1]))
    asked = np.unique(where)
    answers = cluster.compute(*(parts[part].at(levels[where == part] - (ends - totals)[part]) for part in asked))
    order = np.argsort(np.concatenate([np.flatnonzero(where == part) for part in asked]))
    return where, Proposed(
        np.concatenate([answer.numbers for answer in answers])[order],
        np.concatenate([answer.X for answer in answers])[order],
        np.concatenate([answer.columns for answer in answers], axis=1)[:, order],
    )


def _groups(parts: list) -> list[list]:
    """Parts merged into a few groups, because each holds few rows."""
    return [parts[some] for some in slicing.slices(len(parts), -(-len(parts) // GROUPS))]


@dask.delayed(pure=False)
def _start(parts: list[np.ndarray], kernel, working_memory: float) -> Factor:
    with cluster.as_one_of_many(working_memory):
        return Factor.start(parts, kernel)


@dask.delayed(pure=False)
def _extend(part: Factor, new: New, own: np.ndarray, working_memory: float) -> Factor:
    with cluster.as_one_of_many(working_memory):
        return part.extended(new, own)
