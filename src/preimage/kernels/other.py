"""Kernels without a profile: of the L1 distance, of the angle, user-defined, and precomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from preimage._typing import Array, Generator, Points, Rows
from preimage.kernels.base import Kernel, number, positive
from preimage.kernels.geometry import inner_products, squared_norms


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(−γ‖x − y‖₁), as in scikit-learn.

    Parameters
    ----------
    gamma : float or None
        γ > 0; None is 1/d.

    See Also
    --------
    Exponential : The same function of the Euclidean distance.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Laplacian
    >>> Laplacian(gamma=0.1)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(3)
    array([[0.497]])
    """

    gamma: float | None = None

    accepts_sparse = False

    def __post_init__(self) -> None:
        if self.gamma is not None:
            positive("gamma", self.gamma)

    @property
    def _gamma(self) -> float:
        return number(self, "gamma")

    def __call__(self, X: Rows, Y: Rows) -> Array:
        values: Array = cdist(X, Y, "cityblock").astype(np.result_type(X, Y), copy=False)
        values *= -self._gamma
        return np.exp(values, out=values)

    def diagonal(self, X: Rows) -> Array:
        return np.ones(X.shape[0], dtype=X.dtype)

    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """−γ Σᵢ wᵢkᵢ sign(z − xᵢ), one column at a time."""
        weights = -self._gamma * W * self(Z, X)
        columns = [np.einsum("ji,ji->j", weights, np.sign(z[:, None] - x)) for z, x in zip(Z.T, X.T, strict=True)]
        return np.stack(columns, axis=1)

    def diagonal_gradient(self, Z: Points) -> Array:
        return np.zeros_like(Z)

    def frequencies(self, n: int, dim: int, rng: Generator) -> Array:
        """Independent Cauchy draws of scale γ in every coordinate."""
        return self._gamma * rng.standard_cauchy((n, dim))


def _unit(X: Rows) -> Rows:
    """Rows divided by their norm; rows of zeros stay zero."""
    norms = np.sqrt(squared_norms(X))
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)
    if isinstance(X, np.ndarray):
        return X * scale[:, None]
    return sp.csr_array((X.data * np.repeat(scale, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


@dataclass(frozen=True)
class Cosine(Kernel):
    """xᵀy / ‖x‖‖y‖, the cosine of the angle between two rows.

    See Also
    --------
    Linear : The inner product, which depends on the lengths of the rows too.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Cosine
    >>> Cosine()(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [3.0, 4.0]]))
    array([[1. , 0.6]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return inner_products(_unit(X), _unit(Y))

    def diagonal(self, X: Rows) -> Array:
        return (squared_norms(X) > 0).astype(X.dtype)

    def gradient(self, Z: Points, X: Rows, W: Array) -> Array:
        """Σᵢ wᵢ (vᵢ − (uᵀvᵢ)u)/‖z‖ for the directions u of z and vᵢ of xᵢ."""
        pulled = W @ _unit(X)
        directions = _unit(Z)
        pulled -= np.einsum("ij,ij->i", pulled, directions)[:, None] * directions
        norms = np.sqrt(squared_norms(Z))[:, None]
        gradient: Array = np.divide(pulled, norms, out=np.zeros_like(pulled), where=norms > 0)
        return gradient

    def diagonal_gradient(self, Z: Points) -> Array:
        return np.zeros_like(Z)


@dataclass(frozen=True)
class Function(Kernel):
    """A user-defined kernel: any callable on two matrices that returns the matrix of values.

    Each value may depend only on its pair of rows, because values are computed in blocks. Estimators take the callable
    itself, ``kernel=function``, and wrap it.

    Parameters
    ----------
    function : callable
        Takes matrices X and Y, and returns the matrix of all k(xᵢ, yⱼ).

    See Also
    --------
    Radial, DotProduct : Base classes of your own kernels that also have gradients.
    Precomputed : Kernel values computed elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Function
    >>> shared = Function(lambda X, Y: np.minimum(X[:, None], Y[None]).sum(axis=2))  # histogram intersection
    >>> shared(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0], [0.0, 4.0]]))
    array([[3., 3.]])
    """

    function: Callable[[Any, Any], Array]

    positive_definite = False  # unknown

    def __call__(self, X: Rows, Y: Rows) -> Array:
        values = np.asarray(self.function(X, Y))
        if values.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for {X.shape[0]} and {Y.shape[0]} rows; "
                f"it must return one value per pair, shape {(X.shape[0], Y.shape[0])}."
            )
        if values.dtype.kind not in "fiub":
            raise TypeError(f"the kernel function returned values of type {values.dtype}; they must be real numbers.")
        return values.astype(np.result_type(X.dtype, Y.dtype), copy=False)

    def diagonal(self, X: Rows) -> Array:
        return np.array([self(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])], dtype=X.dtype)


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A precomputed kernel matrix. The points of an expansion are indices of training rows.

    Called with indices on both sides, it looks up ``matrix``. Called with rows of kernel values (one column per
    training row) on the left, it selects the columns of the points on the right.

    Parameters
    ----------
    matrix : array of shape (n, n), optional
        The kernel values of the training rows; ``fit`` sets it.

    See Also
    --------
    Function : A kernel computed by a function.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.kernels import Linear
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    >>> from_values = KernelPCA(1, kernel="precomputed").fit(Linear()(X, X))
    >>> from_rows = KernelPCA(1, kernel="linear").fit(X)
    >>> bool(np.allclose(from_values.eigenvalues_, from_rows.eigenvalues_))
    True
    """

    matrix: Array | None = field(default=None, repr=False)

    positive_definite = False  # unknown
    accepts_sparse = False

    def __call__(self, X: Rows, Y: Rows) -> Array:
        columns = Y[:, 0]
        if X.dtype.kind not in "iu":
            return X[:, columns]
        return self._known[X[:, 0]][:, columns]

    def diagonal(self, X: Rows) -> Array:
        values: Array = self._known[X[:, 0], X[:, 0]]
        return values

    @property
    def _known(self) -> Array:
        if self.matrix is None:
            raise ValueError("this precomputed kernel has no matrix yet: fit a model with the kernel matrix first.")
        return self.matrix
