"""Reduced sets without optimisation: some of the expansion's own points, with weights refitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.expansion import Expansion
from preimage.kernels import Kernel
from preimage.reduced.base import Growth, ReducedSet


@dataclass(frozen=True)
class Selected:
    """Points of the expansion by pivoted Cholesky, weights by least squares; for any positive semidefinite kernel.

    The pivot is the point that lowers the error of the vectors most, Σₖ ⟨Ψₖ − Ψ̂ₖ, φ(x)⟩² / ‖φ(x) − its projection‖²
    (orthogonal least squares, Chen, Billings & Luo 1989), not the one farthest from the span. It takes n² kernel values
    once, and n per point.

    See Also
    --------
    Greedy : Optimised points, with a smaller error.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, reduced_set
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced import Selected
    >>> X = np.array([[0.0], [0.1], [5.0]])
    >>> vector = Expansion(Gaussian(1.0), X, np.array([[1.0, 1.0, 1.0]]))
    >>> found = reduced_set(vector, 2, method=Selected())
    >>> bool(np.isin(found.expansion.points, X).all()), bool(found.error < 0.1)
    (True, True)
    """

    def check(self, kernel: Kernel) -> None:
        """Accept any kernel; ``reduce`` refuses one that turns out to be indefinite."""

    def reduce(self, expansion: Expansion, n_points: int) -> ReducedSet:
        """Points of the expansion and their weights."""
        growth, chosen = Growth(expansion, n_points), []
        for _ in range(n_points):
            gains = growth.gains()
            best = int(np.argmax(gains))
            if gains[best] <= 0 or not growth.add(growth.image(best)):
                break
            chosen.append(best)
        weights = growth.weights().astype(expansion.weights.dtype, copy=False)
        return ReducedSet(Expansion(expansion.kernel, expansion.points[chosen], weights), growth.errors())
