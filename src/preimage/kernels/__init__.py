"""Kernels, their abilities, and the names by which users choose them."""

from __future__ import annotations

from collections.abc import Callable

from preimage.kernels.base import DotProduct, Kernel, Radial, knows
from preimage.kernels.base import require as require
from preimage.kernels.composites import Product, Scaled, Sum
from preimage.kernels.dot import Linear, Polynomial, Sigmoid
from preimage.kernels.other import Cosine, Function, Laplacian, Precomputed
from preimage.kernels.radial import Exponential, Gaussian, InverseMultiquadric, Matern, RationalQuadratic

__all__ = [
    "Cosine",
    "DotProduct",
    "Exponential",
    "Function",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "knows",
]

NAMES: dict[str, Callable[[], Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "exponential": Exponential,
    "laplacian": Laplacian,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "rational_quadratic": RationalQuadratic,
    "inverse_multiquadric": InverseMultiquadric,
    "matern": Matern,
    "precomputed": Precomputed,
}


def as_kernel(kernel: object) -> Kernel:
    """A kernel from a kernel object, a name, or a callable on two matrices."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in NAMES:
            raise ValueError(f"unknown kernel {kernel!r}; the names are {', '.join(sorted(NAMES))}.")
        return NAMES[kernel]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel must be an object, not a class: write {kernel.__name__}(...).")
    if callable(kernel):
        return Function(kernel)
    raise TypeError(f"kernel must be a name, a kernel object or a callable, not {kernel!r}.")
