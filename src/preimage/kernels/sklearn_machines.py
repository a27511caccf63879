"""The dual form of scikit-learn's fitted kernel machines: a kernel, points, weights and intercepts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._typing import Array, Rows
from preimage.kernels import (
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

__all__ = ["Dual", "dual_form"]

READABLE = "SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge and GaussianProcessRegressor"


class Dual(NamedTuple):
    """fⱼ(x) = Σᵢ wⱼᵢ k(xᵢ, x) + bⱼ.

    For a classifier of more than two classes there is one function per pair of classes, in the order (0, 1), (0, 2), …,
    (1, 2), …, positive where the first of the two wins; for two classes there is one, positive for the second.
    """

    kernel: Kernel
    points: Rows
    weights: Array
    intercepts: Array


def dual_form(model: Any) -> Dual:
    """The dual form of a fitted model."""
    for classes, reader in _readers().items():
        if isinstance(model, classes):
            check_is_fitted(model)
            return reader(model)
    raise TypeError(f"{type(model).__name__} is not supported; {READABLE} are.")


def _readers() -> dict[tuple[type, ...], Callable[[Any], Dual]]:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

    return {
        (SVC, NuSVC): _read_classifier,
        (SVR, NuSVR, OneClassSVM): _read_support_vectors,
        (KernelRidge,): _read_ridge,
        (GaussianProcessRegressor,): _read_process,
    }


def _read_support_vectors(model: Any) -> Dual:
    return Dual(_named_kernel(model, model._gamma), model.support_vectors_, _dense(model.dual_coef_), model.intercept_)


def _read_classifier(model: Any) -> Dual:
    """One row of weights per pair of classes, all over the same support vectors.

    Support vectors are ordered by class; each column of ``dual_coef_`` holds the coefficients of one of them against
    the other classes, in order.
    """
    if len(model.classes_) == 2:
        return _read_support_vectors(model)
    coefficients, edges = _dense(model.dual_coef_), np.concatenate([[0], np.cumsum(model.n_support_)])
    pairs = list(combinations(range(len(model.classes_)), 2))
    weights = np.zeros((len(pairs), coefficients.shape[1]))
    for row, (i, j) in zip(weights, pairs, strict=True):
        ours, theirs = slice(*edges[i : i + 2]), slice(*edges[j : j + 2])
        row[ours], row[theirs] = coefficients[j - 1, ours], coefficients[i, theirs]
    return Dual(_named_kernel(model, model._gamma), model.support_vectors_, weights, model.intercept_)


def _read_ridge(model: Any) -> Dual:
    gamma = 1 / model.X_fit_.shape[1] if model.gamma is None else model.gamma
    weights = np.atleast_2d(model.dual_coef_.T)
    points = model.X_fit_.copy()  # the model holds the user's own array
    return Dual(_named_kernel(model, gamma), points, weights, np.zeros(len(weights)))


def _read_process(model: Any) -> Dual:
    """K α times the standard deviation of the targets, plus their mean (both from ``normalize_y``)."""
    weights = np.atleast_2d(model.alpha_.T) * np.reshape(model._y_train_std, (-1, 1))
    return Dual(
        _process_kernel(model.kernel_), model.X_train_, weights, np.broadcast_to(model._y_train_mean, len(weights))
    )


def _named_kernel(model: Any, gamma: float) -> Kernel:
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "rbf": lambda: Gaussian.from_gamma(gamma),
        "poly": lambda: Polynomial(gamma, model.coef0, model.degree),
        "polynomial": lambda: Polynomial(gamma, model.coef0, model.degree),
        "sigmoid": lambda: Sigmoid(gamma, model.coef0),
        "laplacian": lambda: Laplacian(gamma),
        "cosine": Cosine,
    }
    if not isinstance(model.kernel, str) or model.kernel not in makers:
        raise ValueError(
            f"the kernel {model.kernel!r} of this {type(model).__name__} is not supported; use one of "
            f"{', '.join(makers)}."
        )
    return makers[model.kernel]()


def _process_kernel(kernel: Any) -> Kernel:
    """The kernel of a Gaussian process between different points, where white noise contributes 0."""
    found = _process_term(kernel)
    if isinstance(found, Kernel):
        return found
    raise ValueError(
        f"the kernel {kernel} of this Gaussian process is not supported; use RBF, Matern (nu 0.5, 1.5 or 2.5) or "
        "RationalQuadratic with one length scale, DotProduct, or their sums, products and multiples."
    )


def _process_term(kernel: Any) -> Kernel | float | None:
    """A kernel, a number for a constant kernel (0 for white noise), or None for an unsupported one."""
    from sklearn.gaussian_process import kernels as theirs

    if isinstance(kernel, theirs.Sum | theirs.Product):
        return _combined(_process_term(kernel.k1), _process_term(kernel.k2), isinstance(kernel, theirs.Sum))
    if isinstance(kernel, theirs.ConstantKernel):
        return float(kernel.constant_value)
    if isinstance(kernel, theirs.WhiteKernel):
        return 0.0
    if np.size(getattr(kernel, "length_scale", 1.0)) > 1:
        return None
    scale = float(np.squeeze(getattr(kernel, "length_scale", 1.0)))
    if type(kernel) is theirs.RBF:
        return Gaussian(scale)
    if type(kernel) is theirs.Matern and kernel.nu in (0.5, 1.5, 2.5):
        return Matern(scale, nu=kernel.nu)
    if type(kernel) is theirs.RationalQuadratic:
        return RationalQuadratic(scale, alpha=float(kernel.alpha))
    if type(kernel) is theirs.DotProduct:
        return Polynomial(gamma=1.0, coef0=float(kernel.sigma_0) ** 2, degree=1)
    return None


def _combined(left: Kernel | float | None, right: Kernel | float | None, add: bool) -> Kernel | float | None:
    if left is None or right is None:
        return None
    if isinstance(left, Kernel) and isinstance(right, Kernel):
        return left + right if add else left * right
    if isinstance(left, Kernel) or isinstance(right, Kernel):
        kernel, number = (left, right) if isinstance(left, Kernel) else (right, left)
        assert isinstance(kernel, Kernel) and not isinstance(number, Kernel)
        if add:  # no kernel here is a constant, so only 0 can be added
            return kernel if number == 0 else None
        return kernel * number if number > 0 else 0.0
    return left + right if add else left * right


def _dense(matrix: Rows) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
