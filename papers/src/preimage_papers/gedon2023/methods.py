"""The three methods that the paper compares, each as a function of noisy rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from preimage import InvertibleKernelPCA, KernelPCA
from preimage.invertible import InvertibleMap
from preimage.invertible.activations import Sine
from preimage.kernels import Gaussian

Denoise = Callable[[np.ndarray], np.ndarray]


def invertible(q: int, gamma: float, n_features: int, ridge: float, seed: Any) -> InvertibleKernelPCA:
    """ikPCA: q components of sin(Wx + b) for exp(−γ‖x − y‖²), with the ridge λ in the last step of the inverse map."""
    activation = Sine(Gaussian.from_gamma(gamma))
    return InvertibleKernelPCA(q, activation=activation, n_features=n_features, ridge=ridge, random_state=seed)


def filtered(fitted: InvertibleMap, X: np.ndarray, q: int, ridges: Sequence[float]) -> list[np.ndarray]:
    """Rows filtered by the first q components (eq. 4), once for every λ, on which only the last step depends."""
    whole = fitted.components
    few = replace(whole, axes=whole.axes[:, :q], eigenvalues=whole.eigenvalues[:q])
    small = replace(fitted, components=few)
    arguments = small.arguments(X)
    values = small.components.expand(small.components.codes(small.scale * small.activation(arguments))) / small.scale
    back = small.activation.inverse(values, small.activation.bypass(arguments)) - small.offsets
    eigenvalues, vectors = fitted.gram_pairs
    turned = (back @ small.weights) @ vectors
    floor = len(eigenvalues) * np.finfo(eigenvalues.dtype).eps * eigenvalues[-1]
    return [small.center + (turned / np.maximum(eigenvalues + ridge, floor)) @ vectors.T for ridge in ridges]


def supervised(numbers: Iterable[int], gamma: float, alpha: float, train: np.ndarray) -> dict[int, Denoise]:
    """KPCA + SL: kernel PCA, and kernel ridge regression from codes to rows with the same kernel, for every q.

    That is scikit-learn's ``fit_inverse_transform``; rows are centred first, as its regression has no constant.
    """
    from sklearn.kernel_ridge import KernelRidge

    mean, numbers = train.mean(axis=0), list(numbers)
    kpca = KernelPCA(max(numbers), kernel=Gaussian.from_gamma(gamma), random_state=0)
    codes = kpca.fit_transform(train - mean)

    def of(q: int) -> Denoise:
        ridge = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(codes[:, :q], train - mean)
        return lambda X: mean + ridge.predict(kpca.transform(X - mean)[:, :q])

    return {q: of(q) for q in numbers}


def linear(numbers: Iterable[int], train: np.ndarray) -> dict[int, Denoise]:
    """PCA, for every q."""
    from sklearn.decomposition import PCA

    pca = PCA().fit(train)

    def of(q: int) -> Denoise:
        axes = pca.components_[:q]
        return lambda X: pca.mean_ + (X - pca.mean_) @ axes.T @ axes

    return {q: of(q) for q in numbers if q <= len(pca.components_)}
