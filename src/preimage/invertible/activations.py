"""Activations σ of explicit features σ(Wx + b), and their inverses (Gedon et al. 2023, §III).

An activation is one-to-one only on a part of the line. What it loses, the ``bypass``, comes from another point: the
input itself when filtering, the nearest known point when decoding. A user's own activation has the methods of
:class:`Activation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from preimage.kernels import Kernel, as_kernel, knows, require
from preimage.kernels.scales import resolve


class Activation(Protocol):
    """A scalar function with a partial inverse, and the random linear map before it."""

    def draw(self, n: int, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any]:
        """Weights W (n, d), offsets b (n,), and the activation with numbers for all its parameters."""

    def scale(self, n: int) -> float:
        """The factor that makes inner products of n features approach the kernel."""

    def __call__(self, a: np.ndarray) -> np.ndarray:
        """σ(a)."""

    def bypass(self, a: np.ndarray) -> np.ndarray:
        """What σ(a) loses of a."""

    def inverse(self, values: np.ndarray, bypass: np.ndarray) -> np.ndarray:
        """The arguments a with σ(a) = values on the branch of the bypass; values out of range are clipped."""


@dataclass(frozen=True)
class Sine:
    """sin(Wx + b) with W drawn from the spectral law of a kernel and b uniform: random Fourier features.

    The sine is one-to-one on (−π/2, π/2]; the bypass is the number k of the half-wave, a = (−1)ᵏ arcsin(sin a) + kπ.

    See Also
    --------
    ReLU : Features of the arc-cosine kernel.
    preimage.InvertibleKernelPCA : The estimator that uses an activation.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invertible import Sine
    >>> a = np.array([0.5, 3.0])
    >>> Sine()(a).round(3)
    array([0.479, 0.141])
    >>> Sine().inverse(Sine()(a), Sine().bypass(a)).round(3)
    array([0.5, 3. ])
    """

    kernel: Any = "gaussian"

    def draw(self, n: int, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Sine]:
        kernel: Kernel = resolve(as_kernel(self.kernel), X)
        require(kernel, "Sine", "frequencies", serve="Gaussian, Matern, RationalQuadratic and Laplacian have them.")
        assert knows(kernel, "frequencies")
        weights = kernel.frequencies(n, X.shape[1], rng).astype(X.dtype)
        return weights, rng.uniform(-np.pi, np.pi, n).astype(X.dtype), Sine(kernel)

    def scale(self, n: int) -> float:
        return float(np.sqrt(2 / n))

    def __call__(self, a: np.ndarray) -> np.ndarray:
        return np.sin(a)

    def quadrature(self, a: np.ndarray) -> np.ndarray:
        """The sine a quarter wave later; together they give a phase and an amplitude."""
        return np.cos(a)

    def bypass(self, a: np.ndarray) -> np.ndarray:
        return np.rint(a / np.pi)

    def inverse(self, values: np.ndarray, bypass: np.ndarray) -> np.ndarray:
        return (1 - 2 * (bypass % 2)) * np.arcsin(np.clip(values, -1, 1)) + bypass * np.pi


@dataclass(frozen=True)
class ReLU:
    """max(Wx, 0) with Gaussian W, whose kernel is the arc-cosine kernel of order 1 (Cho & Saul 2009).

    It is one-to-one on [0, ∞); the bypass is the negative part min(a, 0).

    See Also
    --------
    Sine : Random Fourier features.
    preimage.InvertibleKernelPCA : The estimator that uses an activation.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invertible import ReLU
    >>> a = np.array([-2.0, 3.0])
    >>> ReLU()(a)
    array([0., 3.])
    >>> ReLU().inverse(ReLU()(a), ReLU().bypass(a))
    array([-2.,  3.])
    """

    def draw(self, n: int, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, ReLU]:
        return rng.standard_normal((n, X.shape[1])).astype(X.dtype), np.zeros(n, dtype=X.dtype), self

    def scale(self, n: int) -> float:
        return float(np.sqrt(2 / n))

    def __call__(self, a: np.ndarray) -> np.ndarray:
        return np.maximum(a, 0)

    def bypass(self, a: np.ndarray) -> np.ndarray:
        return np.minimum(a, 0)

    def inverse(self, values: np.ndarray, bypass: np.ndarray) -> np.ndarray:
        return values + bypass


NAMES = {"sine": Sine, "relu": ReLU}


def as_activation(activation: Any) -> Activation:
    """The activation for a parameter: an object, or a name."""
    if isinstance(activation, str):
        if activation not in NAMES:
            raise ValueError(f"unknown activation {activation!r}; the names are {', '.join(NAMES)}.")
        return NAMES[activation]()
    if isinstance(activation, type) or not hasattr(activation, "bypass"):
        raise TypeError(f"activation must be a name or an object such as Sine(), not {activation!r}.")
    return activation
