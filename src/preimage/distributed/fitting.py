"""Kernel PCA of the rows of a Dask array: one pass adds up the moments; landmarks or frequencies are sent once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from preimage import eigen
from preimage._typing import Generator
from preimage.decomposition import Decomposition, Exact, on_features
from preimage.distributed import cluster
from preimage.distributed.gram import gram_on_cluster
from preimage.distributed.rows import ChunkedRows
from preimage.eigen import BlockKrylov
from preimage.estimators.fitting import Settings, fit_exact, fit_moments, prepare_features
from preimage.features import FeatureMap, Moments, accumulate
from preimage.io.chunks import drawn_numbers
from preimage.kernels import Kernel, Precomputed, scales

ENOUGH = 50_000  # up to this number, length-scale rules use all rows


@cluster.sized
@dataclass(frozen=True, eq=False)
class ChunkMoments:
    """The moments of the features of some chunks, and sampled rows of them."""

    moments: Moments
    sample: np.ndarray

    @property
    def n_done(self) -> int:
        """The rows that a chunk adds to the progress; sums add none."""
        return self.moments.n

    def __add__(self, other: ChunkMoments) -> ChunkMoments:
        return _SummedMoments(self.moments + other.moments, np.concatenate([self.sample, other.sample]))


class _SummedMoments(ChunkMoments):
    """The moments of several chunks."""

    n_done = 0


@cluster.sized
@dataclass(frozen=True, eq=False)
class Job:
    """The work for every chunk: the feature map, the rows to keep, and the memory budget."""

    features: Any
    inside: list[np.ndarray]
    working_memory: float

    def __call__(self, block: np.ndarray, number: int) -> ChunkMoments:
        with cluster.as_one_of_many(self.working_memory):
            moments = accumulate(self.features, [block])
        cluster.report_rows(len(block))
        return ChunkMoments(moments, block[self.inside[number]])


def fit_kernel_pca(settings: Settings, X: Any, rng: Generator) -> Decomposition:
    """The model of the rows of a Dask array; with ``approximation=None`` that of the whole kernel matrix."""
    rows = ChunkedRows.of(X)
    if rows.shape[0] < 2:
        raise ValueError(f"kernel PCA needs at least 2 rows, but the Dask array has {rows.shape[0]}.")
    cluster.check_workers(settings.kernel)
    if settings.approximation is None:
        return _fit_exact(settings, rows, rng)
    feature_map = prepare_features(settings, rows, rng, scaled_by=examples(settings.kernel, rows))
    found = moments_and_sample(feature_map, rows, rng)
    return fit_moments(settings, feature_map, found.moments, found.sample, rng)


def moments_and_sample(feature_map: FeatureMap, rows: ChunkedRows, rng: Generator) -> ChunkMoments:
    """The moments of all rows, and a uniform sample of them, from one pass."""
    n = rows.shape[0]
    inside = rows.local(drawn_numbers(n, on_features.SAMPLE, rng))
    job = cluster.once(Job(feature_map, inside, cluster.budget()))
    return cluster.compute(cluster.tree(rows.map(job), _sum), total=n)[0]


def _fit_exact(settings: Settings, rows: ChunkedRows, rng: Generator) -> Exact:
    """The leading components of the kernel matrix of all rows, which stays on the workers.

    The fitted model holds all rows, because its axes are expansions over them.
    """
    if isinstance(settings.kernel, Precomputed):
        raise ValueError("a precomputed kernel matrix must be in memory: give a kernel and the rows themselves.")
    solver = settings.solver
    if isinstance(solver, eigen.Automatic):
        solver = BlockKrylov(tol=1e-10) if rows.shape[0] <= 5000 else BlockKrylov()  # as eigen.choose_solver does
    if not isinstance(solver, BlockKrylov):
        raise ValueError(f"a kernel matrix on many machines needs solver=BlockKrylov(), not {solver!r}.")
    return fit_exact(settings, rows[:], rng, solver=solver, gram=gram_on_cluster)


def examples(kernel: Kernel, rows: ChunkedRows) -> np.ndarray | ChunkedRows:
    """Rows for length-scale rules: all if they are few, else evenly spaced ones; ``rows`` if there are no rules."""
    if not scales.takes_rows(kernel):
        return rows
    return rows[:] if rows.shape[0] <= ENOUGH else scales.spread_rows(rows, scales.SAMPLE)


def _sum(parts: list[ChunkMoments]) -> ChunkMoments:
    return reduce(add, parts)
