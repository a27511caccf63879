import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone

from helpers import rows
from preimage import KernelPCA
from preimage.exceptions import PoorApproximationWarning
from preimage.features import Moments, Nystrom, NystromMap, accumulate, as_approximation
from preimage.features.landmarks import KMeans, RPCholesky, Uniform
from preimage.gram import slicing, threads
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial

KERNELS = {
    "gaussian": Gaussian(1.5),
    "laplacian": Laplacian(0.3),
    "polynomial": Polynomial(gamma=0.3, degree=2),
    "linear": Linear(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@every_kernel
@pytest.mark.parametrize("center", [True, False])
def test_all_points_as_landmarks_is_exact(kernel, center):
    X, new = rows(250, 3), rows(40, 3, seed=1)
    exact = KernelPCA(3, kernel=kernel, center=center, solver="dense").fit(X)
    model = KernelPCA(3, kernel=kernel, center=center, approximation=Nystrom(X)).fit(X)
    scale = exact.eigenvalues_[0]
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, atol=1e-8 * scale)
    np.testing.assert_allclose(model.explained_variance_ratio_, exact.explained_variance_ratio_, atol=1e-8)
    signs = np.sign(np.sum(model.transform(X) * exact.transform(X), axis=0))
    np.testing.assert_allclose(model.transform(new), signs * exact.transform(new), atol=1e-8 * np.sqrt(scale))
    np.testing.assert_allclose(model.score_samples(new), exact.score_samples(new), atol=1e-8 * scale)
    np.testing.assert_allclose(
        model.project(new).inner(X[:5]), exact.project(new).inner(X[:5]), atol=1e-8 * kernel.diagonal(X).max()
    )
    assert model.trace_error_ < 1e-9


def test_it_is_centred_over_all_rows_and_not_over_the_landmarks():
    X = np.concatenate([rows(300, 2), 4 + rows(30, 2, seed=1)])
    landmarks = X[::3]  # a third of them, from both clusters
    model = KernelPCA(4, kernel=Gaussian(2.0), approximation=Nystrom(landmarks)).fit(X)
    np.testing.assert_allclose(model.transform(X).mean(axis=0), 0, atol=1e-10)
    assert np.abs(model.transform(landmarks).mean(axis=0)).max() > 1e-4


def test_features_give_the_kernel_back_on_the_landmarks():
    X, kernel = rows(60, 3), Gaussian(1.0)
    features = NystromMap.on(kernel, X[:25])
    np.testing.assert_allclose(features(X[:25]) @ features(X).T, kernel(X[:25], X), atol=1e-10)


def test_eigenvalues_are_lower_bounds_within_the_trace_error():
    """0 ≤ λₖ(K̃) − λ̂ₖ ≤ tr(K − K̂)."""
    X, kernel = rows(400, 3), Gaussian(1.0)
    exact = KernelPCA(12, kernel=kernel, solver="dense").fit(X).eigenvalues_
    for sampler in (Uniform(), KMeans(), RPCholesky()):
        model = KernelPCA(12, kernel=kernel, approximation=Nystrom(80, sampler), random_state=0).fit(X)
        gap = exact - model.eigenvalues_
        assert np.all(gap >= -1e-9) and np.all(gap <= model.trace_error_ * 400)


def test_the_trace_error_is_that_of_the_whole_matrix():
    X, kernel, points = rows(300, 3), Gaussian(1.0), rows(40, 3, seed=2)
    columns = kernel(X, points)
    approximate = columns @ np.linalg.solve(kernel(points, points), columns.T)
    model = KernelPCA(3, kernel=kernel, approximation=Nystrom(points)).fit(X)
    np.testing.assert_allclose(model.trace_error_, 1 - np.trace(approximate) / 300, rtol=1e-8)


def test_landmarks_may_repeat_and_be_linearly_dependent():
    X = rows(120, 3)
    once = KernelPCA(5, kernel=Gaussian(1.5), approximation=Nystrom(X[:40])).fit(X)
    twice = KernelPCA(5, kernel=Gaussian(1.5), approximation=Nystrom(np.repeat(X[:40], 2, axis=0))).fit(X)
    np.testing.assert_allclose(twice.eigenvalues_, once.eigenvalues_, rtol=1e-8)
    linear = KernelPCA(3, kernel="linear", approximation=Nystrom(X[:40])).fit(X)  # rank 3 of 40
    np.testing.assert_allclose(linear.eigenvalues_, 120 * np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1], rtol=1e-10)


def test_summing_raw_columns_and_summing_features_agree():
    X, points = rows(500, 8), rows(60, 8, seed=1)
    early = NystromMap.on(Gaussian(2.0), points)
    assert early.turned_late  # these landmarks are well conditioned
    late = NystromMap(early.kernel, early.landmarks, early.root, turned_late=False)
    a, b = (Moments.of(features, X) for features in (early, late))
    for found, expected in zip(early.finish(a.mean, a.scatter), (b.mean, b.scatter), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert not NystromMap.on(Gaussian(20.0), rows(60, 2)).turned_late


@pytest.mark.parametrize(("kernel", "triangular"), [(Gaussian(2.0), True), (Gaussian(50.0), False)])
def test_roots_are_those_of_the_inverse_by_either_factorisation(kernel, triangular):
    Z, X = rows(60, 8), rows(30, 8, seed=1)
    found = NystromMap.on(kernel, Z)
    assert found.turned_late == triangular == bool(np.allclose(found.root, np.triu(found.root)))
    K, k = kernel(Z, Z), kernel(X, Z)
    np.testing.assert_allclose(found(X) @ found(X).T, k @ np.linalg.pinv(K, rcond=1e-14) @ k.T, atol=1e-5)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.PoorApproximationWarning")
def test_few_components_are_the_first_of_all():
    X = rows(400, 4)
    few, all_of_them = (KernelPCA(n, kernel=Gaussian(2.0), approximation=80, random_state=0).fit(X) for n in (5, 60))
    np.testing.assert_allclose(few.eigenvalues_, all_of_them.eigenvalues_[:5], rtol=1e-10)
    np.testing.assert_allclose(few.transform(X), all_of_them.transform(X)[:, :5], atol=1e-7)


def test_moments_of_parts_add_up():
    features, X = NystromMap.on(Gaussian(1.0), rows(10, 2)), rows(90, 2, seed=3)
    whole, parts = Moments.of(features, X), Moments.of(features, X[:7]) + Moments.of(features, X[7:])
    assert parts.n == whole.n == 90
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(parts.scatter, whole.scatter, atol=1e-12)
    np.testing.assert_allclose(parts.trace, whole.trace)


@pytest.mark.parametrize("thread_count", [1, 3])
@pytest.mark.parametrize("budget", [0.001, 0.2, 1024])
def test_rows_shared_among_cores_have_the_moments_of_all(thread_count, budget, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: thread_count)
    monkeypatch.setattr(slicing, "TILE", 16)
    X = rows(300, 3) + 5
    features = NystromMap.on(Gaussian(1.0), X[:20])
    expected = Moments.of(features, X)
    with sklearn.config_context(working_memory=budget):
        found = accumulate(features, [X[:100], X[100:]])
    assert found.n == 300 and found.trace == pytest.approx(300)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-11)


def test_residuals_are_those_of_the_covariance_operator():
    """On all rows: n‖CVₖ − (λₖ/n)Vₖ‖ = ‖K̃uₖ·√… ‖, here from the whole kernel matrix."""
    X, kernel = rows(500, 2), Gaussian(0.7)
    model = KernelPCA(6, kernel=kernel, approximation=Nystrom(X[:25])).fit(X).decomposition_
    R = kernel(X, X) - model.features(X) @ model.features(X).T
    expected = np.sqrt(np.einsum("ik,ij,jk->k", model.codes(X), R, model.codes(X)))
    np.testing.assert_allclose(model.residuals, expected, rtol=0.1)


def test_variance_ratios_are_honest():
    """The total is that of the kernel and not of the features."""
    X, kernel = rows(1000, 6), Gaussian(1.5)
    exact = KernelPCA(5, kernel=kernel).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorApproximationWarning)
        model = KernelPCA(5, kernel=kernel, approximation=60, random_state=0).fit(X)
    assert model.trace_error_ > 0.2
    np.testing.assert_allclose(model.decomposition_.total_variance, exact.decomposition_.total_variance, rtol=1e-3)


def test_a_poor_approximation_warns_and_names_a_number_that_does():
    X = rows(600, 3)
    with pytest.warns(PoorApproximationWarning, match=r"30 landmarks are too few.*Use about \d+ landmarks") as seen:
        KernelPCA(20, kernel=Gaussian(0.3), approximation=30, random_state=0).fit(X)
    enough = int(str(seen[0].message).split("about ")[1].split()[0])
    assert 30 < enough <= 600
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(20, kernel=Gaussian(0.3), approximation=enough, random_state=0).fit(X)


def test_every_way_back_works_on_landmarks():
    X = rows(300, 3)
    exact = KernelPCA(8, kernel=Gaussian(2.0), solver="dense").fit(X)
    model = KernelPCA(8, kernel=Gaussian(2.0), approximation=Nystrom(X)).fit(X)
    np.testing.assert_allclose(model.denoise(X[:10]), exact.denoise(X[:10]), atol=1e-3)
    assert model.inverse_transform(model.transform(X[:4])).shape == (4, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_are_preserved(dtype):
    X = rows(300, 4).astype(dtype)
    model = KernelPCA(4, approximation=100, random_state=0).fit(X)
    assert model.transform(X).dtype == dtype and model.fit_transform(X).dtype == dtype
    exact = KernelPCA(4, approximation=100, random_state=0).fit(X.astype(float))
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-4)


def test_sparse_rows():
    X = sp.random_array((200, 20), density=0.3, format="csr", random_state=np.random.default_rng(0))
    sparse = KernelPCA(4, kernel=Gaussian(1.0), approximation=80, random_state=0).fit(X)
    dense = KernelPCA(4, kernel=Gaussian(1.0), approximation=80, random_state=0).fit(X.toarray())
    np.testing.assert_allclose(sparse.eigenvalues_, dense.eigenvalues_, rtol=1e-9)


def test_nested_parameters_and_clones():
    model = KernelPCA(approximation=100)
    model.set_params(approximation__n_landmarks=50, approximation__sampler=Uniform())
    assert model.approximation.n_landmarks == 50 and model.approximation.sampler == Uniform()
    assert clone(model).get_params()["approximation__n_landmarks"] == 50
    assert KernelPCA(approximation=Nystrom(7)).get_params()["approximation__sampler__tol"] == 1e-13


def test_what_is_no_approximation_is_refused():
    for value in (0, -3, 2.5):
        with pytest.raises(ValueError, match="n_landmarks must be a whole number"):
            KernelPCA(approximation=value).fit(rows(20, 2))
    with pytest.raises(TypeError, match="approximation must be"):
        as_approximation("many")
    with pytest.raises(TypeError, match="matrix of points"):
        Nystrom("all")
    with pytest.raises(ValueError, match="3 columns, but the rows have 2"):
        KernelPCA(approximation=Nystrom(rows(5, 3))).fit(rows(20, 2))
    with pytest.raises(ValueError, match="needs the rows themselves"):
        KernelPCA(kernel="precomputed", approximation=5, preimage="nearest").fit(np.eye(20))
