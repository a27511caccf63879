"""ARPACK with few restarts on a small stored matrix, and a check of what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.eigen.base import Eigenpairs, Solver
from preimage.eigen.dense import Dense
from preimage.eigen.lanczos import Lanczos
from preimage.exceptions import ConvergenceWarning, silenced
from preimage.gram.operators import Stored, Symmetric

RESTARTS = 10  # by then LAPACK would have taken as long
PLAIN = 1000  # rows up to which centring a matrix costs less than centring all vectors that it is multiplied by
PROBES = 40  # most steps that look for a missed eigenvalue


@dataclass(frozen=True)
class CheckedLanczos:
    """:class:`Lanczos` where it converges soon; another solver where it does not, or has missed an eigenvalue.

    From a single start vector ARPACK finds a repeated eigenvalue once, and its copies by round-off alone, so that it
    may return smaller eigenvalues instead of them. A few Lanczos steps on the matrix without the pairs found would show
    a larger eigenvalue than the last of them.
    """

    otherwise: Solver

    storage: ClassVar[str] = Dense.storage

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        tol = 1e-10 if operator.dtype == np.float64 else 1e-6
        operator = Stored(operator.dense()) if operator.shape[0] <= PLAIN else operator
        with silenced(ConvergenceWarning):
            pairs = Lanczos(tol, RESTARTS).solve(operator, k, rng)
        if pairs.converged and not misses(operator, pairs, tol * float(pairs.values[0]), rng):
            return pairs
        return self.otherwise.solve(operator, k, rng)


def misses(operator: Symmetric, pairs: Eigenpairs, slack: float, rng: Generator) -> bool:
    """Whether A − UΛUᵀ has an eigenvalue above the last one found, by Lanczos steps on it.

    They end as soon as the largest Ritz value plus its residual stays below the last eigenvalue found, else after
    ``PROBES`` steps, when the Ritz value itself is compared. It is at most the largest eigenvalue, and on average at
    least nine tenths of it after 20 steps for n = 1000, whatever the spectrum (Kuczyński & Woźniakowski 1992).
    """
    steps = min(PROBES, operator.shape[0])
    last, diagonal, off = float(pairs.values[-1]), np.zeros(steps), np.zeros(steps)
    before, vector = np.zeros(operator.shape[0]), _unit(rng.standard_normal(operator.shape[0]))[0]
    for step in range(steps):
        product = _deflated(operator, pairs, vector)
        diagonal[step] = vector @ product
        after, off[step] = _unit(product - diagonal[step] * vector - off[step - 1] * before)
        before, vector = vector, after
        if step % 5 == 4 and step > 5 and sum(_largest(diagonal[: step + 1], off[: step + 1])) <= last:
            return False
    return _largest(diagonal, off)[0] > last + slack


def _largest(diagonal: Array, off: Array) -> tuple[float, float]:
    """The largest Ritz value of Lanczos' tridiagonal matrix, and its residual."""
    unit, last = float(max(abs(diagonal).max(), off.max())) or 1.0, (len(diagonal) - 1,) * 2  # LAPACK squares them
    value, weights = scipy.linalg.eigh_tridiagonal(
        diagonal / unit, off[:-1] / unit, select="i", select_range=last, check_finite=False
    )
    return unit * float(value[0]), float(off[-1] * abs(weights[-1, 0]))


def _deflated(operator: Symmetric, pairs: Eigenpairs, v: Array) -> Array:
    product: Array = operator.matvec(v.astype(operator.dtype)) - pairs.vectors @ (pairs.values * (v @ pairs.vectors))
    return product


def _unit(v: Array) -> tuple[Array, float]:
    """A vector of length one, and its length before; a zero vector stays zero."""
    length = float(scipy.linalg.norm(v, check_finite=False))
    return (v / length if length else v), length
