"""Leading eigenpairs of a symmetric operator, each with its residual.

A solver is a small frozen object; ``solve(operator, k, rng)`` returns the k algebraically largest eigenvalues, in
descending order, with unit eigenvectors whose largest entry is positive.
"""

from __future__ import annotations

from preimage.eigen.base import Eigenpairs, Solver
from preimage.eigen.block_krylov import BlockKrylov
from preimage.eigen.dense import Dense
from preimage.eigen.lanczos import Lanczos
from preimage.eigen.power import PowerDeflation

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


def as_solver(solver, n: int, k: int) -> Solver:
    """The solver for k of n eigenpairs, from what users type; ``"auto"`` leaves the choice to us."""
    automatic = isinstance(solver, str) and solver == "auto"
    return choose_solver(n, k) if automatic else as_solver_object(solver)


def as_solver_object(solver) -> Solver:
    """A solver from a name or an object with ``solve``."""
    if isinstance(solver, str):
        if solver not in NAMES:
            raise ValueError(f"unknown solver {solver!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[solver]()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver must be a name or an object of preimage.eigen such as Dense(), not {solver!r}.")
    return solver


def choose_solver(n: int, k: int) -> Solver:
    """The solver for k of n eigenpairs.

    * up to 500 rows, or more than a tenth of all pairs: ``Dense`` (LAPACK is fastest there);
    * otherwise: ``Lanczos`` (products with the operator only).
    """
    return Dense() if n <= 500 or k > n // 10 else Lanczos()
