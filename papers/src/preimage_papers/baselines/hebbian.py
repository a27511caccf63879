"""Principal components learned one example at a time: Hebbian networks, in input space and in feature space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage.expansion import Expansion
from preimage.gram import tiles
from preimage.kernels import Kernel
from preimage.preimages import FixedPoint, find_preimage


@dataclass(frozen=True)
class Hebbian:
    """The generalised Hebbian algorithm W ← W + η (y xᵀ − LT[y yᵀ] W), y = g(Wx), LT the lower triangle.

    If g is the identity and there is one unit, this is Oja's rule, whose limit is the first principal axis; more units
    give the leading axes in order. With g = tanh it is a nonlinear variant that gives far points less weight; its units
    still see projections onto lines, and it reconstructs from these.

    Parameters
    ----------
    n_units : int
    activation : callable
        g.
    rate : float
        η at the start, relative to 1 / E‖x‖²; it falls with the epochs.
    n_epochs : int
        Passes over the rows, each in a new order.

    References
    ----------
    Oja (1982); Sanger (1989); Schölkopf et al. (1998), §6.3.1.
    """

    n_units: int = 1
    activation: Callable[[np.ndarray], np.ndarray] = np.tanh
    rate: float = 0.2
    n_epochs: int = 100

    def fit(self, X: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Learn the axes; return a function that reconstructs rows from their units."""
        mean, axes = X.mean(axis=0), self.axes(X, rng)
        codes = self.activation((X - mean) @ axes.T)
        decoder = np.linalg.lstsq(codes, X - mean, rcond=None)[0]
        return lambda rows: mean + self.activation((rows - mean) @ axes.T) @ decoder

    def axes(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The weights W of the units, one per row."""
        centred = X - X.mean(axis=0)
        W = rng.standard_normal((self.n_units, X.shape[1]))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        for rate, row in _schedule(self.rate / np.square(centred).sum(axis=1).mean(), self.n_epochs, centred, rng):
            y = self.activation(W @ row)
            W += rate * (np.outer(y, row) - np.tril(np.outer(y, y)) @ W)
        return W


@dataclass(frozen=True)
class KernelHebbian:
    """The kernel Hebbian algorithm A ← A + η (y eₜᵀ − LT[y yᵀ] A), y = A k̃(xₜ): kernel PCA one example at a time.

    Row k of A holds the weights of the k-th axis over the centred training points; its limit is that of kernel PCA.

    Parameters
    ----------
    kernel : Kernel
    n_units : int
        The number of axes.
    rate : float
        η at the start, relative to 1 / E k̃(x, x); it falls with the epochs.
    n_epochs : int
        Passes over the rows.

    References
    ----------
    Kim, Franz and Schölkopf (2005).
    """

    kernel: Kernel
    n_units: int = 2
    rate: float = 0.5
    n_epochs: int = 200

    def fit(self, X: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Learn the axes; return a function that projects rows onto them and maps them back by the fixed point."""
        weights = self.axes(X, rng)
        K = tiles.cross(self.kernel, X, X)
        norms = np.sqrt(np.einsum("ki,ij,kj->k", weights, K, weights))
        weights /= norms[:, None]
        offsets = weights @ K.mean(axis=1)

        def reconstruct(rows: np.ndarray) -> np.ndarray:
            codes = tiles.cross(self.kernel, rows, X) @ weights.T - offsets
            targets = Expansion(self.kernel, X, codes @ weights + 1 / len(X))
            return find_preimage(targets, FixedPoint(), starts=rows).points

        return reconstruct

    def axes(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Weights of the axes over the training points, one axis per row, each summing to 0."""
        K = tiles.cross(self.kernel, X, X)
        K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean()
        A = rng.standard_normal((self.n_units, len(X)))
        A /= np.sqrt(np.einsum("ki,ij,kj->k", A, K, A))[:, None]
        numbers = np.arange(len(X))
        for rate, t in _schedule(self.rate / np.trace(K) * len(X), self.n_epochs, numbers, rng):
            y = A @ K[t]
            A -= rate * np.tril(np.outer(y, y)) @ A
            A[:, t] += rate * y
        return A - A.mean(axis=1, keepdims=True)


def _schedule(rate: float, n_epochs: int, rows: np.ndarray, rng: np.random.Generator):
    """Pairs of a falling rate and a row; every epoch takes the rows in a new order."""
    for epoch in range(n_epochs):
        current = rate / (1 + 10 * epoch / n_epochs) ** 2
        for row in rows[rng.permutation(len(rows))]:
            yield current, row
