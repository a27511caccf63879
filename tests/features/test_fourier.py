"""Random Fourier features, and kernel PCA on them."""

import tracemalloc

import numpy as np
import pytest

from preimage import KernelPCA, decomposition
from preimage.expansion import Explicit
from preimage.features import RandomFourier
from preimage.features.fourier import orthogonal_directions
from preimage.kernels import Exponential, Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from preimage.preimages import (
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    find_preimage,
)

KERNELS = [
    Gaussian(1.4),
    Exponential(2.0),
    Matern(1.5, nu=1.5),
    Matern(1.5, nu=2.5),
    RationalQuadratic(1.5, alpha=0.8),
    Laplacian(0.3),
    2.0 * Gaussian(1.0) + Laplacian(0.2),
    Gaussian(2.0) * Matern(3.0, nu=2.5),
]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def gap(kernel, X, n_features, draw, seeds):
    """The root mean squared difference of f(x)ᵀf(y) and k(x, y)."""
    gaps = []
    for seed in range(seeds):
        f = RandomFourier(n_features, draw).prepare(kernel, X, np.random.default_rng(seed))
        gaps.append(f(X) @ f(X).T - kernel(X, X))
    return np.sqrt(np.mean(np.square(gaps)))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("draw", ["plain", "orthogonal"])
def test_features_approach_the_kernel_like_one_over_the_root_of_their_number(kernel, d, draw):
    X = rows(25, d) * 0.7
    few, many = gap(kernel, X, 400, draw, 40), gap(kernel, X, 6400, draw, 40)
    assert 2.4 < few / many < 6.6  # √16 = 4
    assert many < 0.03 * kernel.diagonal(X).max()


@pytest.mark.parametrize("d", [3, 20])
def test_orthogonal_draws_have_the_lower_error_for_the_gaussian(d):
    X = rows(25, d) / np.sqrt(d)
    assert gap(Gaussian(1.0), X, 200, "orthogonal", 30) < 0.9 * gap(Gaussian(1.0), X, 200, "plain", 30)


def test_orthogonal_directions_are_orthogonal_within_blocks_and_uniform_over_all():
    Q = orthogonal_directions(4000, 4, np.random.default_rng(0))
    blocks = Q.reshape(-1, 4, 4)
    np.testing.assert_allclose(blocks @ blocks.transpose(0, 2, 1), np.broadcast_to(np.eye(4), blocks.shape), atol=1e-12)
    np.testing.assert_allclose(Q.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(Q.T @ Q / len(Q), np.eye(4) / 4, atol=0.02)


def test_the_diagonal_is_exact():
    X = rows(10, 3)
    f = RandomFourier(64).prepare(2.5 * Gaussian(1.0), X, np.random.default_rng(0))
    np.testing.assert_allclose(np.square(f(X)).sum(axis=1), 2.5)


def test_eigenvalues_approach_the_exact_ones():
    X = rows(300, 3)
    exact = decomposition.fit(Gaussian(1.5), X, 5).eigenvalues
    errors = []
    for n_features in (100, 6400):
        kpcas = [
            KernelPCA(5, kernel=Gaussian(1.5), approximation=RandomFourier(n_features), random_state=s)
            for s in range(4)
        ]
        errors.append(np.mean([np.abs(kpca.fit(X).eigenvalues_ / exact - 1).mean() for kpca in kpcas]))
    assert errors[1] < 0.35 * errors[0]
    assert errors[1] < 0.02


@pytest.mark.parametrize("center", [True, False])
def test_covariance_and_gram_matrix_give_the_same_components(center):
    X = rows(200, 3)
    settings = {"n_components": 6, "kernel": Gaussian(1.5), "center": center, "random_state": 0}
    wide = KernelPCA(approximation=RandomFourier(250), **settings).fit(X)
    narrow = KernelPCA(approximation=RandomFourier(250), **settings)
    narrow.partial_fit(np.vstack([X, X]))  # the same directions, twice the variance, by the covariance
    np.testing.assert_allclose(narrow.eigenvalues_, 2 * wide.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(narrow.transform(X)), np.abs(wide.transform(X)), atol=1e-7)
    with pytest.raises(ValueError, match="fewer rows than features"):
        wide.partial_fit(X)


def test_halves_merged_are_one_fit():
    X = rows(400, 4)
    make = lambda: KernelPCA(5, kernel=Gaussian(2.0), approximation=RandomFourier(60), random_state=0)  # noqa: E731
    whole, left, right = make().fit(X), make().partial_fit(X[:250]), make().partial_fit(X[250:])
    merged = left.merge(right)
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(merged.transform(X), whole.transform(X), atol=1e-9)


def test_explicit_vectors_answer_as_their_features_say():
    X, Z = rows(40, 3), rows(7, 3, seed=1)
    f = RandomFourier(50).prepare(Gaussian(1.0), X, np.random.default_rng(0))
    C = np.random.default_rng(2).standard_normal((7, 50))
    vectors = Explicit(Gaussian(1.0), X, f, C)
    np.testing.assert_allclose(vectors.inner(X), C @ f(X).T)
    np.testing.assert_allclose(vectors.inner_paired(Z), np.diag(vectors.inner(Z)))
    np.testing.assert_allclose(vectors.norm2(), np.square(C).sum(axis=1))
    np.testing.assert_allclose(vectors.distances2(Z), [[np.sum((c - g) ** 2) for g in f(Z)] for c in C], rtol=1e-9)
    direction, gradient = rows(7, 3, seed=3), vectors.gradient(Z)
    steps, along = np.array([1e-3, 1e-4]), np.sum(gradient * direction, axis=1)
    remainders = [
        np.linalg.norm(vectors.inner_paired(Z + h * direction) - vectors.inner_paired(Z) - h * along) for h in steps
    ]
    assert np.log10(remainders[0] / remainders[1]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(
    "method", ["auto", Learned(), Conformal(), Distance(), Gradient(), ConvexCombination(), Nearest()]
)
def test_every_method_that_applies_decodes_near_the_exact_models_answer(method):
    t = np.random.default_rng(0).uniform(0, np.pi, 300)
    X = np.column_stack([np.cos(t), np.sin(t)]) + 0.05 * rows(300, 2)
    kpca = KernelPCA(8, kernel=Gaussian(0.8), approximation=RandomFourier(1000), preimage=method, random_state=0).fit(X)
    back = kpca.inverse_transform(kpca.transform(X[:50]))
    assert np.sqrt(np.mean((back - X[:50]) ** 2)) < 0.12
    denoised = kpca.denoise(X[:50])
    assert np.abs(np.linalg.norm(denoised, axis=1) - 1).mean() < 0.06


def test_what_random_features_cannot_do_gets_a_sentence():
    X = rows(30, 3)
    with pytest.raises(ValueError, match="Distance"):
        KernelPCA(2, approximation=RandomFourier(20), preimage=FixedPoint()).fit(X)
    with pytest.raises(ValueError, match="Nystrom"):
        KernelPCA(2, kernel=Linear(), approximation=RandomFourier(20)).fit(X)
    with pytest.raises(ValueError, match="n_features"):
        RandomFourier(1)
    with pytest.raises(ValueError, match="draw"):
        RandomFourier(10, "both")
    axes = KernelPCA(2, approximation=RandomFourier(20)).fit(X).components_
    assert np.isfinite(find_preimage(axes).points).all()


def test_few_orthogonal_directions_of_many_columns_take_no_square_of_the_columns():
    """10 of 3000 columns: 10 × 3000 numbers and not 3000 × 3000."""
    tracemalloc.start()
    try:
        Q = orthogonal_directions(10, 3000, np.random.default_rng(0))
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 8 * Q.nbytes
    np.testing.assert_allclose(Q @ Q.T, np.eye(10), atol=1e-13)


def test_a_part_of_a_block_is_uniform_too():
    """First and second moments of the entries of a single vector and of two: E q = 0, E q² = 1/d, E q₁ᵢq₂ᵢ = 0."""
    rng, d, n = np.random.default_rng(0), 5, 20_000
    Q = np.stack([orthogonal_directions(2, d, rng) for _ in range(n)])
    bound = 5 / np.sqrt(d * n)  # five standard deviations of a mean of entries, whose variance is 1/d
    assert np.abs(Q.mean(axis=0)).max() < bound
    np.testing.assert_allclose(np.square(Q).mean(axis=0), 1 / d, atol=bound)
    assert np.abs((Q[:, 0] * Q[:, 1]).mean(axis=0)).max() < bound
