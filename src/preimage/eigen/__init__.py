"""Leading eigenpairs of a symmetric operator, each with its residual.

A solver is a small frozen object; ``solve(operator, k, rng)`` returns the k algebraically largest eigenvalues, in
descending order, with unit eigenvectors whose largest entry is positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import DTypeLike

from preimage._typing import Generator
from preimage.eigen.base import Eigenpairs, Solver
from preimage.eigen.block_krylov import BlockKrylov
from preimage.eigen.certified import CertifiedLanczos
from preimage.eigen.dense import Dense
from preimage.eigen.lanczos import Lanczos
from preimage.eigen.power import PowerDeflation
from preimage.gram.operators import Symmetric, choose_storage

__all__ = [
    "BlockKrylov",
    "CertifiedLanczos",
    "Dense",
    "Eigenpairs",
    "Lanczos",
    "PowerDeflation",
    "Solver",
    "choose_solver",
]


@dataclass(frozen=True)
class Automatic:
    """The solver that suits the matrix and the number of pairs, see :func:`choose_solver`."""

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        return choose_solver(operator.shape[0], k, operator.dtype).solve(operator, k, rng)


NAMES: dict[str, Callable[[], Solver]] = {
    "auto": Automatic,
    "dense": Dense,
    "block_krylov": BlockKrylov,
    "lanczos": Lanczos,
    "power": PowerDeflation,
}


def as_solver(solver: object) -> Solver:
    """The solver for a parameter: a name, or an object with ``solve``."""
    if isinstance(solver, str):
        if solver not in NAMES:
            raise ValueError(f"unknown solver {solver!r}; the names are {', '.join(NAMES)}.")
        return NAMES[solver]()
    if isinstance(solver, type) or not hasattr(solver, "solve"):
        raise TypeError(f"solver must be a name or an object of preimage.eigen such as Dense(), not {solver!r}.")
    return cast(Solver, solver)


def choose_solver(n: int, k: int, dtype: DTypeLike = float) -> Solver:
    """The solver for k of n eigenpairs.

    * 150 to 2500 rows and at most 150 pairs or an eighth of all (a twelfth below 300 rows): ``CertifiedLanczos``;
    * up to 500 rows, and for more than a twentieth of all pairs where the matrix fits the memory budget: ``Dense``;
    * otherwise ``BlockKrylov``, which stores the matrix if it fits and else recomputes it. Up to 5000 rows in float64
      its tolerance is 1e-10: a few more passes cost little there, and codes agree with LAPACK's to nine digits.

    These limits come from measurements with ``benchmarks/scale.py`` and ``benchmarks/small.py``.

    See Also
    --------
    Dense, CertifiedLanczos, BlockKrylov : The solvers that it chooses from.

    Examples
    --------
    >>> from preimage.eigen import choose_solver
    >>> choose_solver(300, 10)
    CertifiedLanczos()
    >>> choose_solver(20_000, 10)
    BlockKrylov(block_size=None, tol=None, max_iter=100, storage='auto')
    """
    if 150 <= n <= 2500 and k <= min(n // 8 if n >= 300 else n // 12, 150):
        return CertifiedLanczos()
    if n <= 500 or (k > n // 20 and choose_storage("auto", n, dtype, square=True) == "memory"):
        return Dense()
    return BlockKrylov(tol=1e-10) if n <= 5000 and np.dtype(dtype) == np.float64 else BlockKrylov()


def storage_for(solver: Solver, n: int, k: int, dtype: DTypeLike = float) -> str:
    """The storage of a kernel matrix that suits a solver for k of its n eigenpairs."""
    chosen = choose_solver(n, k, dtype) if isinstance(solver, Automatic) else solver
    return str(getattr(chosen, "storage", "auto"))
