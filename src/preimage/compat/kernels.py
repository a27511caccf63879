"""The kernels of scikit-learn's ``KernelPCA`` as kernels of this library."""

from __future__ import annotations

from functools import partial

import numpy as np

from preimage.kernels import Cosine, Function, Gaussian, Kernel, Linear, Polynomial, Sigmoid
from preimage.kernels.pairwise import Pairwise


def named(name: str, gamma: float, coef0: float, degree: float) -> Kernel:
    """The kernel with this name; constant at γ = 0 or degree 0, which scikit-learn accepts and our kernels refuse."""
    if name in ("linear", "cosine"):
        return Linear() if name == "linear" else Cosine()
    if gamma == 0 or (name == "poly" and degree == 0):
        return _constant({"rbf": 1.0, "poly": np.power(coef0, degree), "sigmoid": np.tanh(coef0)}[name])
    if name == "rbf":
        return Gaussian.from_gamma(gamma)
    return Sigmoid(gamma, coef0) if name == "sigmoid" else Polynomial(gamma, coef0, degree)


def wrapped(function, params: dict) -> Kernel:
    """A callable as a kernel on matrices."""
    from sklearn.gaussian_process.kernels import Kernel as ProcessKernel  # slow to import

    call = partial(function, **params)
    return Function(call) if isinstance(function, Kernel | ProcessKernel) else Pairwise(call)


def _constant(value: float) -> Kernel:
    return Function(lambda X, Y: np.full((X.shape[0], Y.shape[0]), value))
