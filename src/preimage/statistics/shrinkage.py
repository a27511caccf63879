"""Sample spectra corrected for a small number of rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from preimage._typing import Array

WIDEST = 0.4  # bandwidth relative to an eigenvalue; below 1/√5 the kernel does not reach 0


def shrunken_spectrum(values: Array, n: int) -> Array:
    """The variances dᵢ = uᵢᵀCuᵢ of new rows along the eigenvectors uᵢ of a sample covariance, from its eigenvalues.

    Large eigenvalues λ of a sample are too large and small ones too small, since the eigenvectors fit its noise. With
    the density f of the eigenvalues, its Hilbert transform Hf, and c their number divided by n,

        d = λ / ((πcλf(λ))² + (1 − c − πcλHf(λ))²)

    (Ledoit & Péché 2011), where f is estimated by Epanechnikov kernels of widths λn^−⅓ (Ledoit & Wolf 2020).

    Parameters
    ----------
    values : array
        Eigenvalues; those that are 0 up to round-off stay as they are.
    n : int
        The number of rows of the sample, minus one for their mean.
    """
    values = np.maximum(np.asarray(values, dtype=float), 0)
    seen = values > len(values) * np.finfo(np.float32).eps * values.max(initial=0.0)
    found, some = values.copy(), values[seen]
    if len(some) < 2 or n < 2:
        return found
    order = np.argsort(some)
    c = min(1.0, len(some) / n)
    density, transform = _density(some, min(n ** (-1 / 3), WIDEST))
    variances = some / ((np.pi * c * some * density) ** 2 + (1 - c - np.pi * c * some * transform) ** 2)
    variances[order] = isotonic_regression(variances[order]).x
    found[seen] = variances
    return found


def _density(values: Array, width: float) -> tuple[Array, Array]:
    """The density of the eigenvalues and its Hilbert transform, at each of them; ``width`` is relative to each.

    The kernel is K(x) = 3(1 − x²/5)₊/(4√5); its transform is −3x/(10π) + 3(1 − x²/5) log|(√5 − x)/(√5 + x)|/(4√5π).
    """
    root, widths = np.sqrt(5), width * values
    x = (values[:, None] - values) / widths
    bump = 3 / (4 * root) * (1 - np.square(x) / 5)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = bump * np.log(np.abs((root - x) / (root + x)))
    transform = (np.where(np.isclose(np.abs(x), root), 0.0, inner) - 0.3 * x) / np.pi
    return (np.maximum(bump, 0) / widths).mean(axis=1), (transform / widths).mean(axis=1)
