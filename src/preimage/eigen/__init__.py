"""Leading eigenpairs of a symmetric operator, each with its residual.

A solver is a small frozen object; ``solve(operator, k, rng)`` returns the k algebraically largest eigenvalues, in
descending order, with unit eigenvectors whose largest entry is positive.
"""

from __future__ import annotations

import numpy as np

from preimage.eigen.base import Eigenpairs, Solver
from preimage.eigen.block_krylov import BlockKrylov
from preimage.eigen.dense import Dense
from preimage.eigen.lanczos import Lanczos
from preimage.eigen.power import PowerDeflation
from preimage.gram.operators import choose_storage

__all__ = [
    "BlockKrylov",
    "Dense",
    "Eigenpairs",
    "Lanczos",
    "PowerDeflation",
    "Solver",
    "as_solver",
    "as_solver_object",
    "choose_solver",
]

NAMES = {"dense": Dense, "block_krylov": BlockKrylov, "lanczos": Lanczos, "power": PowerDeflation}


def as_solver(solver, n: int, k: int, dtype=float) -> Solver:
    """The solver for k of n eigenpairs, from what users type; ``"auto"`` leaves the choice to us."""
    automatic = isinstance(solver, str) and solver == "auto"
    return choose_solver(n, k, dtype) if automatic else as_solver_object(solver)


def as_solver_object(solver) -> Solver:
    """A solver from a name or an object with ``solve``."""
    if isinstance(solver, str):
        if solver not in NAMES:
            raise ValueError(f"unknown solver {solver!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[solver]()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver must be a name or an object of preimage.eigen such as Dense(), not {solver!r}.")
    return solver


def choose_solver(n: int, k: int, dtype=float) -> Solver:
    """The solver for k of n eigenpairs.

    * up to 500 rows, or more than a twentieth of all pairs where the matrix fits the memory budget: ``Dense``;
    * otherwise ``BlockKrylov``, which stores the matrix where it fits and computes it anew where it does not; up to
      5000 rows with residuals of 1e-10, because a few more passes cost little there and codes agree with LAPACK's to
      nine digits, and with its default above, where float64 is stored in halves.

    Measured on two cores (Gaussian kernel on MNIST, docs/benchmarks.md): up to 1000 rows the choice matters
    little for few pairs; from about a twentieth of the pairs on LAPACK is ahead.
    """
    if n <= 500 or (k > n // 20 and choose_storage("auto", n, dtype, square=True) == "memory"):
        return Dense()
    if np.dtype(dtype) != np.float64:
        return BlockKrylov()
    if n <= 5000:
        return BlockKrylov(tol=1e-10)
    return BlockKrylov(storage="halves" if choose_storage("auto", n, dtype) == "memory" else "auto")
