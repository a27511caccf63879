"""Lanczos with a proof that no eigenpair is missing."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.eigen import lapack
from preimage.eigen.base import Eigenpairs, as_eigenpairs, known_lowest
from preimage.eigen.dense import Dense
from preimage.gram import threads
from preimage.gram.operators import CentredStored, Symmetric

FIRST, LAST = (2, 15), (6, 60)  # (a, b) for a·k + b steps: before the first test, and until LAPACK is as fast
LEAST = 2  # steps between tests, which take as long
RATE = 1.5  # the least by which the logarithm of the error is expected to fall in a step
TINY = 1000  # times eps: smaller eigenvalues, relative to the largest, are more accurate by LAPACK
PROOF = (20, 14, 14)  # steps in the rest of the space before each attempt at a proof
RARELY = 1e-8  # the probability with which the proof may be wrong
FACTORED = 300  # rows up to which a Cholesky factor takes less time than such a proof


@dataclass(frozen=True)
class CertifiedLanczos:
    """Lanczos on a dense matrix, with LAPACK as the fallback if pairs may be missing.

    Lanczos from one vector may miss copies of an eigenvalue, so its pairs are returned only with a proof that no other
    eigenvalue exceeds them. In a basis [Q, Q⊥] that extends the one of the Krylov space, A has the blocks T = QᵀAQ,
    C = Q⊥ᵀAQ⊥ and, between the two, a single entry β. If no eigenvalue of C exceeds c < σ, A has at most as many
    eigenvalues above σ as T + β²/(σ − c) eeᵀ, with e the last unit vector (Haynsworth 1968). The means of C's
    eigenvalues and of their squares give such a c (Wolkowicz & Styan 1980); both follow from the trace and the sum of
    squares of A, less those of T.

    If that c is too large, a Cholesky factor of σI − A without the pairs found is the proof for a small matrix. For a
    larger one, Lanczos on C from a random vector gives a lower c, which is wrong with a probability of 1e-8
    (Kuczyński & Woźniakowski 1992).

    See Also
    --------
    Lanczos : ARPACK on products with any operator, without that proof.
    Dense : LAPACK, for small matrices or many pairs.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.eigen import CertifiedLanczos
    >>> X = s_curve(300, random_state=0).X
    >>> fast = KernelPCA(3, solver=CertifiedLanczos(), random_state=0).fit(X)
    >>> exact = KernelPCA(3, solver="dense").fit(X)
    >>> bool(abs(fast.eigenvalues_ - exact.eigenvalues_).max() < 1e-12 * exact.eigenvalues_[0])
    True
    """

    storage: ClassVar[str] = "square"

    def solve(self, operator: Symmetric, k: int, rng: Generator) -> Eigenpairs:
        with threads.single_threaded_blas():  # its products read all the matrix, which takes longer than computing
            space = _Krylov.with_pairs(operator, k)
            if space is not None and space.proves():
                values, vectors = space.pairs()
                return as_eigenpairs(
                    operator, values, vectors, np.inf, space.size, residuals=space.residuals, lowest=space.lowest
                )
        return Dense().solve(operator, k, rng)


class _Krylov:
    """An orthonormal basis Q (as rows) of [b, Ab, A²b, …] and the tridiagonal T = QᵀAQ: AQ = QT + βqeᵀ.

    A is the matrix, or HAH where ``center`` is set, without a centred copy.
    """

    def __init__(self, matrix: Array, room: int, *, center: bool) -> None:
        self.matrix, self.first, self.size, self.center = matrix, 0, 0, int(center)
        self.eps, n = float(np.finfo(matrix.dtype).eps), len(matrix)
        self.basis = np.empty((room + 2, n), dtype=matrix.dtype)
        self.alphas, self.betas = np.zeros(room), np.zeros(room)
        self._begin(_start(n, center))
        self.symv, self.gemv, self.norm = scipy.linalg.get_blas_funcs(("symv", "gemv", "nrm2"), dtype=matrix.dtype)
        self.trace, self.squares = float(matrix.trace(dtype=float)), _squares(matrix)
        self.floor = 10 * self.eps * np.sqrt(self.squares)  # a β below it is round-off
        self.noise = n * self.eps * self.squares  # round-off of the sum of squares
        if center:  # subtract the effect of centring
            self.means = means = self.symv(1, matrix.T, np.full(n, 1 / n, matrix.dtype)).astype(float)
            self.trace -= float(means.sum())
            self.squares += float(means.sum() ** 2 - 2 * n * (means @ means))

    def _begin(self, vector: Array) -> None:
        """Set the first vector; if the matrix is centred, a constant one follows the last, orthogonal to all."""
        self.basis[self.first] = vector
        self.basis[self.first + 1 : self.first + 1 + self.center] = 1 / np.sqrt(len(vector))

    @classmethod
    def with_pairs(cls, operator: Symmetric, k: int) -> _Krylov | None:
        """A space that contains the k leading eigenvectors up to round-off.

        None if that takes too many steps, or if an eigenvalue is tiny.
        """
        n, plain = operator.shape[0], operator.operator if isinstance(operator, CentredStored) else None
        center = plain is not None and plain.dtype == np.float64  # single precision would lose digits
        matrix = plain.matrix if plain is not None and center else operator.dense()
        room = min(n - 1, LAST[0] * k + LAST[1])
        space, limits = cls(matrix, room + sum(PROOF), center=center), np.finfo(matrix.dtype)
        if k > room or not limits.tiny / limits.eps**2 < space.squares < np.inf:
            return None
        found = space._finds(k, room) and space.values[0] > TINY * space.eps * space.values[-1]
        return space if found else None

    def _finds(self, k: int, most: int) -> bool:
        """Whether the residuals of the k leading pairs fall to round-off within ``most`` steps."""
        error, steps = 1 / self.eps, FIRST[0] * k + FIRST[1]
        while self.size < most and not self.is_invariant:
            before, size = error, self.size
            self.grow(min(steps, most - size))
            error = self._last_error(k)
            if error <= 1:
                error = self._error(k)
            if error <= 1:
                return True
            rate = np.log(before / error) / (self.size - size)  # of convergence
            steps = int(np.clip(np.log(error) / max(rate, RATE), LEAST, max(12, self.size // 4)))
        return False

    def grow(self, steps: int) -> None:
        """Multiply by A ``steps`` times, or fewer if the space becomes invariant or full."""
        for _ in range(min(steps, len(self.alphas) - self.size)):
            if self.is_invariant:
                return
            self._step()

    def _step(self) -> None:
        m, last = self.size, self.first + self.size
        basis = self.basis[: last + 1 + self.center]
        image = self.symv(1, self.matrix.T, basis[last])
        image, coupling = self._outside(image, basis[max(last - 1, 0) :])
        self.alphas[m] = coupling[-1 - self.center]
        before, beta = np.inf, self.norm(image)
        while self.floor < beta < 0.7 * before:  # full reorthogonalisation, again if much was subtracted
            image, _ = self._outside(image, basis)
            before, beta = beta, self.norm(image)
        self.betas[m] = beta = beta if beta > self.floor else 0.0
        if self.center:
            self.basis[last + 2] = basis[-1]
        np.multiply(image, 1 / beta if beta else 0, out=self.basis[last + 1])
        self.size = m + 1

    def _outside(self, image: Array, basis: Array) -> tuple[Array, Array]:
        """A vector less its part in the span of some rows, in the memory of the vector, and its products with them."""
        coupling = basis.dot(image)
        return self.gemv(-1, basis.T, coupling, 1, image, overwrite_y=True), coupling

    @property
    def is_invariant(self) -> bool:
        """Whether A maps the space to itself."""
        return self.size > 0 and self.betas[self.size - 1] == 0

    @property
    def T(self) -> tuple[Array, Array]:
        """The diagonal and the off-diagonal of T."""
        return self.alphas[: self.size], self.betas[: self.size - 1]

    def _last_error(self, k: int) -> float:
        """The error of the k-th pair alone, usually the last to converge, in a tenth of the time of :meth:`_error`."""
        if self.size < k:
            return 1 / self.eps
        (largest, _), (value, weights) = (lapack.tridiagonal_pair(*self.T, number) for number in (1, k))
        return float(self.betas[self.size - 1] * abs(weights[-1]) / (self.eps * largest)) if value > 0 else 1 / self.eps

    def _error(self, k: int) -> float:
        """The largest residual β|s| of the k leading pairs in units of round-off, with s a vector's last weight."""
        values, weights = lapack.tridiagonal(*self.T)
        residuals = self.betas[self.size - 1] * np.abs(weights[-1])
        self.lowest = known_lowest(values, float(residuals[0]), k)
        self.values, self.weights, largest = values[-k:], weights[:, -k:], residuals[-k:].max()
        self.residuals = residuals[-k:] + np.sqrt(len(self.matrix)) * self.eps * self.values[-1]  # with round-off
        return float(largest / (self.eps * self.values[-1])) if self.values[0] > 0 else 1 / self.eps

    def pairs(self) -> lapack.Pairs:
        """The leading eigenvalues that were found, ascending, and their vectors."""
        basis = self.basis[self.first : self.first + len(self.weights)]
        vectors: Array = self.weights.astype(basis.dtype).T @ basis
        return self.values.astype(basis.dtype), vectors.T

    def proves(self) -> bool:
        """Whether no other eigenvalue exceeds the least of those found."""
        level = float(self.values[0]) + len(self.matrix) * self.eps * float(self.values[-1])
        if self._excludes(level, self._bound_by_moments()):
            return True
        if len(self.matrix) <= FACTORED:
            return self._factors(level)
        rest = self._complement()
        for steps in PROOF:
            rest.grow(steps)
            if self._excludes(level, rest._bound_by_chance()):
                return True
        return False

    def _factors(self, level: float) -> bool:
        """Whether σI − A + VΛVᵀ, with V and Λ the pairs found, has a Cholesky factor: then none exceeds σ."""
        values, vectors = self.pairs()
        left, right = vectors * values, vectors
        if self.center:  # centring adds hᵢ + hⱼ
            halves, ones = self.means - self.means.mean() / 2, np.ones(len(vectors))
            left, right = np.column_stack([left, halves, ones]), np.column_stack([right, ones, halves])
        rest = left @ right.T - self.matrix
        rest.flat[:: len(rest) + 1] += level
        return lapack.is_positive_definite(rest)

    def _excludes(self, level: float, rest: float) -> bool:
        """Whether no eigenvalue above the level is missing, if none of C exceeds ``rest``."""
        return rest < level and self._count_above(level, rest) <= int(np.sum(self.values > level))

    def _count_above(self, level: float, rest: float) -> int:
        """A bound on the number of eigenvalues of A above σ, if none of C exceeds c: that of T + β²/(σ − c) eeᵀ."""
        diagonal, beside = self.T
        raised = diagonal.copy()
        raised[-1] += self.betas[self.size - 1] ** 2 / (level - rest)
        return int(np.sum(lapack.tridiagonal_values(raised, beside) > level))

    def _bound_by_moments(self) -> float:
        """A bound on the eigenvalues of C from their mean and the mean of their squares."""
        diagonal, beside, n_others = self.alphas[: self.size], self.betas[: self.size], len(self.matrix) - self.size
        squares = max(self.squares - float(diagonal @ diagonal) - 2 * float(beside @ beside), 0.0) + self.noise
        mean = (self.trace - float(diagonal.sum())) / n_others
        return mean + float(np.sqrt(max((n_others - 1) * (squares / n_others - mean**2), 0.0)))

    def _complement(self) -> _Krylov:
        """A space of C from a random vector, in the same memory: the last vector of this space is overwritten."""
        rest, inside = copy(self), self.basis[: self.first + self.size]
        rest.first, rest.size = len(inside), 0
        rest.alphas, rest.betas = self.alphas[self.size :], self.betas[self.size :]
        start = _start(len(self.matrix), bool(self.center), seed=1).astype(inside.dtype)
        for _ in range(2):
            start, _ = self._outside(start, inside)
        norm = float(self.norm(start))
        rest._begin(start / norm if norm > len(start) * self.eps else np.zeros_like(start))  # 0: nothing is outside
        return rest

    def _bound_by_chance(self) -> float:
        """A bound on the eigenvalues of the matrix from a random start; too low with a probability of RARELY.

        After j steps an extreme Ritz value is within ε(λ₁ − λₙ) of its eigenvalue but for a probability of
        1.648 √n exp(−√ε(2j − 1)) (Kuczyński & Woźniakowski 1992).
        """
        values = lapack.tridiagonal_values(*self.T)
        chance = 2 * 1.648 * np.sqrt(len(self.matrix)) / RARELY
        error = 0.0 if self.is_invariant else (np.log(chance) / (2 * self.size - 1)) ** 2
        return float(values[-1] + error / (1 - 2 * error) * (values[-1] - values[0])) if error < 0.5 else np.inf


def _squares(matrix: Array) -> float:
    """The sum of the squared entries, in double precision."""
    if matrix.dtype == np.float64:
        return float(np.vdot(matrix, matrix))
    return float(np.einsum("ij,ij->", matrix, matrix, dtype=float))


@lru_cache(maxsize=4)
def _start(n: int, center: bool, seed: int = 0) -> Array:
    """A random unit vector, the same every time, and orthogonal to 1 if the matrix is centred."""
    vector: Array = np.random.default_rng(seed).standard_normal(n)
    vector -= center * vector.mean()
    vector /= np.sqrt(vector @ vector)
    return vector
