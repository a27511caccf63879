"""Ridge regression within groups of similar patches (Herbreteau & Kervrann 2022, 2024).

The rows of a group's Y = X + noise are its noisy patches; row j has noise of the total variance dⱼ, D = diag(d). Every
row is estimated by a combination of all, X̂ = ΘY with rows of Θ that sum to 1. The risk E‖ΘY − X‖² is least at

    Θ = I − D(Q⁻¹ − uuᵀ/1ᵀu),   u = Q⁻¹1,   Q = XXᵀ + D.

Scaled to noise of variance 1, Ỹ = D^(−½)(Y − 1mᵀ) about the mean m with weights 1/d, this is plain ridge regression,
X̂ = 1mᵀ + D^½ X̃(X̃ᵀX̃ + I)⁻¹X̃ᵀỸ. Constants are kept, and the smaller system is solved, of n or of k equations.
"""

from __future__ import annotations

import numpy as np


def by_pilot(pilot: np.ndarray, noisy: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The estimates with a pilot in place of the truth X, and their weights 1/(dⱼ‖Θ̃ⱼ‖²).

    Parameters
    ----------
    pilot, noisy : arrays of shape (groups, k, n)
    d : array that broadcasts to (groups, k)
        The summed noise variances of the points of each patch.
    """
    scale, share = _scales(d, noisy.shape[:2])
    X, _ = _centred(pilot, scale, share)
    Y, mean = _centred(noisy, scale, share)
    k, n = X.shape[1:]
    Xt = X.transpose(0, 2, 1)
    if n < k:
        U = X @ _inverse(Xt @ X, 1.0)
        about_mean, norms = U @ (Xt @ Y), np.einsum("gkn,gkn->gk", U, X - U)
    else:
        R = _inverse(X @ Xt, 1.0)
        theta = np.eye(k, dtype=X.dtype) - R
        about_mean, norms = theta @ Y, np.einsum("gij,gij->gi", theta, theta)
    return mean + about_mean / scale, _weights(norms + share, scale, k)


def by_stein(noisy: np.ndarray, d: np.ndarray, extra: float) -> tuple[np.ndarray, np.ndarray]:
    """The estimates of least Stein risk from the noisy patches alone, Q = YYᵀ + αD and Θ = I − (1 + α)DQ⁻¹.

    The extra noise α = ``extra`` keeps Q well conditioned.
    """
    k = noisy.shape[1]
    scale, share = _scales(d, noisy.shape[:2])
    Y, mean = _centred(noisy, scale, share)
    R = (1 + extra) * _inverse(Y @ Y.transpose(0, 2, 1), extra)
    root = np.sqrt(share)
    theta = np.eye(k, dtype=Y.dtype) - R + (1 + 1 / extra) * root[:, :, None] * root[:, None, :]
    return mean + (Y - R @ Y) / scale, _weights(np.einsum("gij,gij->gi", theta, theta), scale, k)


def _inverse(gram: np.ndarray, ridge: float) -> np.ndarray:
    """(G + λI)⁻¹, with λ raised to the rounding error of G."""
    least = np.finfo(gram.dtype).eps * np.trace(gram, axis1=1, axis2=2)
    at = np.arange(gram.shape[-1])
    gram[:, at, at] += (ridge + least)[:, None]
    return np.linalg.inv(gram)


def _scales(d: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """d^(−½), and the weights of the mean, one per patch."""
    inverse = np.broadcast_to(np.float32(1) / d, shape)
    return np.sqrt(inverse)[:, :, None], inverse / inverse.sum(axis=1, keepdims=True)


def _centred(rows: np.ndarray, scale: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows about their weighted mean in units of the noise, and that mean."""
    mean = share[:, None, :] @ rows
    return (rows - mean) * scale, mean


def _weights(norms: np.ndarray, scale: np.ndarray, k: int) -> np.ndarray:
    return np.square(scale[:, :, 0]) / np.clip(norms, 1 / k, 1)
