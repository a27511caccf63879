"""Random Fourier features (Rahimi & Recht 2007): cosines and sines at frequencies drawn from the kernel's spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._typing import Rows
from preimage.kernels import Kernel, knows, require
from preimage.kernels.base import is_number


@dataclass(frozen=True)
class RandomFourier:
    """f(x) = √(k(0)/r) [cos Wx, sin Wx] with the rows of W drawn from the kernel's spectral law.

    Parameters
    ----------
    n_features : int
        The number of features, two for each of the r = n_features/2 frequencies.
    draw : "orthogonal" or "plain"
        "plain" draws frequencies independently. "orthogonal" makes the directions in each block of d orthogonal, and
        keeps the lengths of independent draws. Each frequency has the same law as before, and the error is lower (Yu et
        al. 2016). Kernels that are not functions of the Euclidean distance always use "plain".

    See Also
    --------
    Nystrom : Features from landmarks, which follow the data.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.features import RandomFourier
    >>> X = s_curve(500, random_state=0).X
    >>> exact = KernelPCA(2).fit(X).explained_variance_ratio_
    >>> close = KernelPCA(2, approximation=RandomFourier(2000), random_state=0).fit(X).explained_variance_ratio_
    >>> bool(abs(close - exact).max() < 0.02)
    True
    """

    n_features: int = 1000
    draw: str = "orthogonal"

    provides = frozenset({"codes", "gradient"})  # what vectors of a model on these features provide

    def __post_init__(self) -> None:
        if not is_number(self.n_features) or self.n_features < 2 or self.n_features != int(self.n_features):
            raise ValueError(f"n_features must be a whole number of at least 2, not {self.n_features!r}.")
        if self.draw not in ("orthogonal", "plain"):
            raise ValueError(f'draw must be "orthogonal" or "plain", not {self.draw!r}.')

    def check(self, kernel: Kernel) -> None:
        """Refuse kernels without a spectral law."""
        serve = "Gaussian, Exponential, Laplacian, Matern and RationalQuadratic have them; Nystrom() takes any kernel."
        require(kernel, "RandomFourier", "frequencies", serve=serve)

    def prepare(self, kernel: Kernel, X: Rows, rng: np.random.Generator) -> FourierMap:
        """Draw the frequencies."""
        count, dim = int(self.n_features) // 2, X.shape[1]
        assert knows(kernel, "frequencies")  # see check
        weights = kernel.frequencies(count, dim, rng)
        if self.draw == "orthogonal" and kernel.argument == "distance":
            weights = np.linalg.norm(weights, axis=1)[:, None] * orthogonal_directions(count, dim, rng)
        level = float(kernel.diagonal(np.zeros((1, dim)))[0])
        return FourierMap(kernel, weights.astype(X.dtype), float(np.sqrt(level / count)))


def orthogonal_directions(n: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform unit vectors, n rows, orthogonal within blocks of dim; a block of m takes 2·dim·m² operations."""
    blocks, rest = divmod(n, dim)
    shapes = [(blocks, dim, dim)] * bool(blocks) + [(dim, rest)] * bool(rest)
    return np.concatenate([_orthonormal(rng.standard_normal(shape)).reshape(-1, dim) for shape in shapes])


def _orthonormal(draws: np.ndarray) -> np.ndarray:
    """Uniformly distributed orthonormal vectors: the Q of a QR factorisation of normal draws, with diag(R) > 0."""
    Q, R = np.linalg.qr(draws)
    signs = np.where(np.diagonal(R, axis1=-2, axis2=-1) < 0, -1, 1)
    return np.swapaxes(Q * signs[..., None, :], -1, -2)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """f(x) = amplitude · [cos Wx, sin Wx]; f(x)ᵀf(x) is exactly k(x, x)."""

    kernel: Kernel
    frequencies: np.ndarray
    amplitude: float

    @property
    def width(self) -> int:
        """The number of features."""
        return 2 * len(self.frequencies)

    def __call__(self, X: Rows) -> np.ndarray:
        phases = np.asarray(X @ self.frequencies.T)
        return self.amplitude * np.hstack([np.cos(phases), np.sin(phases)])

    def gradient(self, X: Rows, coordinates: np.ndarray) -> np.ndarray:
        """∇ₓ of f(x)ᵀc for row x of X with row c of the coordinates."""
        phases = X @ self.frequencies.T
        even, odd = np.split(coordinates, 2, axis=1)
        return self.amplitude * (odd * np.cos(phases) - even * np.sin(phases)) @ self.frequencies

    def columns(self, X: Rows) -> np.ndarray:
        return self(X)

    def finish(self, mean: np.ndarray, scatter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mean, scatter

    def same_as(self, other: Any) -> bool:
        same = isinstance(other, FourierMap) and self.kernel == other.kernel
        return same and np.array_equal(self.frequencies, other.frequencies)
