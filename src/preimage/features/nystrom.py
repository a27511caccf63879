"""Nyström features: kernel values with a few landmarks.

An approximation is a small frozen object; ``prepare(kernel, X, rng)`` returns a feature map for rows like those of X.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Rows
from preimage.features.landmarks import RPCholesky
from preimage.gram import threads, tiles
from preimage.gram.operators import inverse_root, refuse_overflow
from preimage.kernels import Kernel, Precomputed
from preimage.kernels.base import is_number

WELL_CONDITIONED = 1e-6  # reciprocal condition number above which sums of kernel columns keep nine digits


@dataclass(frozen=True, eq=False)
class Nystrom:
    """Features from the kernel values with a few landmarks, f(x) = Tᵀk_Z(x) with TTᵀ = K_ZZ⁺ (Williams & Seeger 2001).

    Parameters
    ----------
    n_landmarks : int or array of shape (m, d)
        How many landmarks to choose, or the landmarks themselves.
    sampler : Uniform, KMeans, RPCholesky, or an object with the same ``choose``
        How to choose them, see :mod:`preimage.features.landmarks`.

    See Also
    --------
    RandomFourier : Features without landmarks.
    Uniform, KMeans, RPCholesky : Samplers of landmarks.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.features import KMeans, Nystrom
    >>> X = s_curve(500, random_state=0).X
    >>> kpca = KernelPCA(4, approximation=Nystrom(100, KMeans()), random_state=0).fit(X)
    >>> len(kpca.components_.points), bool(kpca.trace_error_ < 1e-4)
    (100, True)
    """

    n_landmarks: Any = 1000
    sampler: Any = field(default_factory=RPCholesky)

    def __post_init__(self) -> None:
        if is_number(self.n_landmarks):
            if self.n_landmarks < 1 or self.n_landmarks != int(self.n_landmarks):
                raise ValueError(f"n_landmarks must be a whole number of at least 1, not {self.n_landmarks!r}.")
        elif np.ndim(self.n_landmarks) != 2:
            raise TypeError(f"n_landmarks must be a number or a matrix of points, not {self.n_landmarks!r}.")

    @property
    def is_given(self) -> bool:
        """Whether the landmarks are the user's own."""
        return not is_number(self.n_landmarks)

    def check(self, kernel: Kernel) -> None:
        """Refuse a precomputed kernel, which has no values for new points."""
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "an approximation needs the rows themselves, which a precomputed kernel matrix does not contain: give "
                "a kernel and the rows, or use approximation=None."
            )

    def prepare(self, kernel: Kernel, X: Rows, rng: np.random.Generator) -> NystromMap:
        """The map on landmarks chosen among the rows of X, or on the given ones; it copies them."""
        if self.is_given:
            points = np.array(self.n_landmarks, dtype=X.dtype)
            if points.shape[1] != X.shape[1]:
                raise ValueError(
                    f"the landmarks have {points.shape[1]} columns, but the rows have {X.shape[1]}: they must agree."
                )
        elif self.n_landmarks >= X.shape[0]:
            points = X[:].copy()
        else:
            points = self.sampler.choose(kernel, X, int(self.n_landmarks), rng)
        return NystromMap.on(kernel, points)


@dataclass(frozen=True, eq=False)
class NystromMap:
    """f(x) = Tᵀk_Z(x) for landmarks Z with the root T of shape (m, r).

    If K_ZZ is well conditioned, its root is triangular. Moments are then summed over raw kernel columns, and multiplied
    by T only at the end (``turned_late``), which saves a product with T for every row. Otherwise the root comes from
    the eigenvectors of K_ZZ, the leading ones first.
    """

    kernel: Kernel
    landmarks: Any
    root: np.ndarray
    turned_late: bool

    @classmethod
    def on(cls, kernel: Kernel, landmarks: Rows) -> NystromMap:
        """The map on given landmarks; directions of round-off are dropped."""
        gram = tiles.gram(kernel, landmarks).astype(float, copy=False)
        refuse_overflow(float(gram.sum()))
        eps = np.finfo(tiles.value_dtype(landmarks, landmarks)).eps
        with threads.single_threaded_blas():  # BLAS threads that wait for busy cores cost more than they gain
            root = _triangular_root(gram, max(WELL_CONDITIONED, len(gram) * eps))
            if root is not None:
                return cls(kernel, landmarks, root, True)
            # Rounding the kernel values moves eigenvalues by up to eps·tr K_ZZ/√m.
            root = inverse_root(gram, eps * float(np.trace(gram)) / np.sqrt(len(gram)))
        if not root.shape[1]:
            raise ValueError(
                "the kernel matrix of the landmarks has no positive eigenvalue, so there is no variance to decompose: "
                "check the data and the kernel's parameters."
            )
        return cls(kernel, landmarks, root, False)

    @property
    def width(self) -> int:
        """The number of landmarks."""
        return self.landmarks.shape[0]

    def __call__(self, X: Rows) -> np.ndarray:
        return tiles.cross(self.kernel, X, self.landmarks).astype(float, copy=False) @ self.root

    def columns(self, X: Rows) -> np.ndarray:
        return tiles.cross(self.kernel, X, self.landmarks).astype(float, copy=False) if self.turned_late else self(X)

    def finish(self, mean: np.ndarray, scatter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.turned_late:
            return mean, scatter
        return mean @ self.root, self.root.T @ scatter @ self.root

    def same_as(self, other: Any) -> bool:
        return (
            isinstance(other, NystromMap)
            and self.kernel == other.kernel
            and self.landmarks.shape == other.landmarks.shape
            and bool(np.all(self.landmarks == other.landmarks))
        )


def _triangular_root(gram: np.ndarray, least: float) -> np.ndarray | None:
    """R⁻¹ with K = RᵀR, or None if the reciprocal condition number of K is below ``least``."""
    factor, failed = scipy.linalg.lapack.dpotrf(gram)
    if failed or scipy.linalg.lapack.dpocon(factor, np.linalg.norm(gram, 1))[0] < least:
        return None
    return scipy.linalg.lapack.dtrtri(factor)[0]


def as_approximation(approximation: Any) -> Any:
    """The approximation for a parameter: an object with ``prepare``, a number of landmarks, or None for exact."""
    if approximation is None or (hasattr(approximation, "prepare") and not isinstance(approximation, type)):
        return approximation
    if is_number(approximation):
        return Nystrom(approximation)
    raise TypeError(
        "approximation must be None, a number of landmarks or an object of preimage.features such as Nystrom(1000), "
        f"not {approximation!r}."
    )
