"""Kernel PCA of the rows of a Dask array: one pass that adds up moments, on landmarks or frequencies sent once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from preimage import decomposition, eigen, kernels
from preimage.decomposition import on_features
from preimage.distributed import cluster
from preimage.distributed.gram import gram_on_cluster
from preimage.distributed.rows import Rows
from preimage.eigen import BlockKrylov
from preimage.estimators import conventions
from preimage.features import Moments
from preimage.kernels import scales

ENOUGH = 50_000  # rows up to which rules for length scales look at all of them


@cluster.sized
@dataclass(frozen=True, eq=False)
class Part:
    """What some of the chunks give: the moments of their features, and those of their rows that were asked for."""

    moments: Moments
    sample: np.ndarray

    @property
    def n_told(self) -> int:
        """Rows, for the progress of one chunk; parts that were added tell nothing."""
        return self.moments.n

    def __add__(self, other: Part) -> Part:
        return Sum(self.moments + other.moments, np.concatenate([self.sample, other.sample]))


class Sum(Part):
    """Parts put together."""

    n_told = 0


@cluster.sized
@dataclass(frozen=True, eq=False)
class Job:
    """What every chunk is told: the feature map, the rows to keep, and the memory budget."""

    features: Any
    inside: list[np.ndarray]
    working_memory: float

    def __call__(self, block: np.ndarray, number: int) -> Part:
        with cluster.as_one_of_many(self.working_memory):
            moments = on_features.accumulate(self.features, [block])
        cluster.tell(len(block))
        return Part(moments, block[self.inside[number]])


def fit(estimator, X, y=None) -> None:
    """Fit a kernel PCA; with ``approximation=None`` the leading components of the whole kernel matrix."""
    rows = Rows.of(X)
    if rows.shape[0] < 2:
        raise ValueError(f"kernel PCA needs at least 2 rows, and the Dask array has {rows.shape[0]}.")
    cluster.check_workers()
    rng = conventions.generator(estimator.random_state)
    estimator.n_features_in_ = rows.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    if estimator.approximation is None:
        fit_exact(estimator, rows, rng)
        return
    feature_map = estimator._prepare(rows, rng, scaled_by=examples(estimator.kernel, rows))
    part = accumulate(feature_map, rows, rng)
    estimator._adopt_moments(feature_map, part.moments, part.sample, rng)


def accumulate(feature_map, rows: Rows, rng: np.random.Generator) -> Part:
    """The moments of all rows, and a uniform sample of them, from one pass."""
    n = rows.shape[0]
    chosen = np.arange(n) if n <= on_features.SAMPLE else np.sort(rng.choice(n, on_features.SAMPLE, replace=False))
    job = cluster.once(Job(feature_map, rows.local(chosen), cluster.budget()))
    return cluster.compute(cluster.tree(rows.map(_part, job=job), _sum), total=n)[0]


def fit_exact(estimator, rows: Rows, rng: np.random.Generator) -> None:
    """The leading components of the kernel matrix of all rows, which stays on the workers.

    The fitted model holds all rows, because its axes are expansions over them.
    """
    kernel = estimator._check_settings()
    if isinstance(kernel, kernels.Precomputed):
        raise ValueError("a precomputed kernel matrix must be in memory: give a kernel and the rows themselves.")
    solver = eigen.as_solver(estimator.solver)
    if isinstance(solver, eigen.Automatic):
        solver = BlockKrylov(tol=1e-10) if rows.shape[0] <= 5000 else BlockKrylov()  # as eigen.choose_solver does
    if not isinstance(solver, BlockKrylov):
        raise ValueError(f"a kernel matrix on many machines needs solver=BlockKrylov(), not {solver!r}.")
    X = rows[:]
    kernel = scales.resolve(kernel, X)
    wanted = conventions.find_component_number(estimator.n_components, kernel, X, len(X), estimator.center, rng)
    model = decomposition.fit(kernel, X, wanted, center=estimator.center, solver=solver, rng=rng, gram=gram_on_cluster)
    estimator._adopt(model, rng)


def examples(kernel, rows: Rows) -> np.ndarray | Rows:
    """Rows that length scales are taken from, where any is: all of a few, and evenly spaced ones of many."""
    if not scales.takes_rows(kernels.as_kernel(kernel)):
        return rows
    return rows[:] if rows.shape[0] <= ENOUGH else scales.spread_rows(rows, scales.SAMPLE)


def _part(block: np.ndarray, number: int, job: Job) -> Part:
    return job(block, number)


def _sum(parts: list[Part]) -> Part:
    return reduce(add, parts)
