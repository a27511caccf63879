"""What several test files share: the registry of kernels, data, prescribed spectra, Taylor slopes, subspaces."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from preimage.gram import tiles
from preimage.gram.triangle import Triangle
from preimage.kernels import (
    Cosine,
    Exponential,
    Function,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)


def _plain_gaussian(X, Y):
    return np.exp(-np.square(X[:, None] - Y[None]).sum(axis=2) / 5)


NAMED = {
    "linear": Linear(),
    "polynomial-2": Polynomial(gamma=0.3, coef0=1.0, degree=2),
    "polynomial-3": Polynomial(gamma=0.5, coef0=0.7, degree=3),
    "polynomial-homogeneous": Polynomial(gamma=0.4, coef0=0.0, degree=3),
    "sigmoid": Sigmoid(gamma=0.2, coef0=-0.3),
    "gaussian": Gaussian(1.3),
    "exponential": Exponential(1.7),
    "rational-quadratic": RationalQuadratic(1.1, alpha=0.7),
    "inverse-multiquadric": InverseMultiquadric(1.9),
    "matern-1/2": Matern(1.4, nu=0.5),
    "matern-3/2": Matern(1.4, nu=1.5),
    "matern-5/2": Matern(0.8, nu=2.5),
    "laplacian": Laplacian(0.35),
    "cosine": Cosine(),
}
COMPOSED = {
    "sum-radial": Gaussian(0.9) + Matern(2.0, nu=2.5),
    "sum-dot": Linear() + Polynomial(gamma=0.3, coef0=1.0, degree=2),
    "sum-mixed": Gaussian(1.2) + 0.5 * Linear(),
    "sum-spectral": 2 * Laplacian(0.2) + Gaussian(1.5),
    "product-radial": Gaussian(2.0) * RationalQuadratic(1.5, alpha=2.0),
    "product-dot": Linear() * Polynomial(gamma=0.5, coef0=1.0, degree=2),
    "product-mixed": Gaussian(1.6) * Polynomial(gamma=0.2, coef0=0.5, degree=2),
    "scaled-radial": 2.5 * Matern(1.3, nu=1.5),
    "scaled-dot": 0.3 * Polynomial(gamma=0.6, coef0=0.2, degree=3),
    "nested": 0.7 * (Gaussian(1.1) + 2 * (Exponential(2.0) * Matern(1.5, nu=2.5))),
    "nested-mixed": (Laplacian(0.3) + Cosine()) * (1.5 * Gaussian(2.2)),
    "indefinite-sum": Gaussian(1.0) + Sigmoid(gamma=0.3, coef0=0.1),
    "function": Function(_plain_gaussian),
}
KERNELS = NAMED | COMPOSED


def rows(n=40, d=3, seed=0, dtype=float):
    """Random rows, none of them zero."""
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def sparse_rows(n=40, d=12, seed=0, dtype=float, density=0.3):
    """Random rows with many zeros, as a CSR array."""
    X = rows(n, d, seed, dtype)
    X[np.random.default_rng(seed + 1).random((n, d)) > density] = 0
    X[:, 0] = np.linspace(1, 2, n)  # no row is all zero
    return sp.csr_array(X)


def rotation(d, seed=0):
    """A random orthogonal matrix."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def taylor_slope(function, gradient, x, direction, steps=None):
    """The order at which f(x ± hv) − f(x) ∓ h∇f·v vanish with h: 2 for a correct gradient, 1 for a wrong one."""
    steps = np.logspace(-1, -3, 9) if steps is None else steps
    along, start = np.sum(gradient * direction), function(x)
    remainders = [sum(abs(function(x + h * direction) - start - h * along) for h in (s, -s)) for s in steps]
    return np.polyfit(np.log(steps), np.log(remainders), 1)[0]


def prescribed(values, seed=0, dtype=float):
    """A symmetric matrix with these eigenvalues."""
    Q = rotation(len(values), seed)
    matrix = (Q * np.asarray(values)) @ Q.T
    return ((matrix + matrix.T) / 2).astype(dtype)


def groups_of_equal(values, rtol):
    """Slices of consecutive (descending) values that lie within ``rtol`` of the largest from their neighbours."""
    gaps = np.flatnonzero(-np.diff(values) > rtol * np.abs(values).max()) + 1
    edges = [0, *gaps, len(values)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def assert_same_codes(actual, expected, eigenvalues, atol, rtol_groups=1e-6):
    """Codes agree up to sign, and up to a rotation where eigenvalues meet: the outer products of every group agree."""
    assert actual.shape == expected.shape
    for group in groups_of_equal(eigenvalues, rtol_groups):
        a, b = actual[:, group], expected[:, group]
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=atol * np.abs(expected).max() ** 2)


def centring(n):
    """H = I − 11ᵀ/n."""
    return np.eye(n) - 1 / n


def triangle_of(matrix):
    """The tiles of a symmetric matrix on and above its diagonal."""
    places = tiles.upper_tiles(matrix)
    return Triangle(places, [matrix[place] for place in places])
