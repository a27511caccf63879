"""Kernel k-means against scikit-learn's k-means, brute force, planted clusters and its own identities."""

from itertools import product

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from helpers import rows, sparse_rows
from preimage import Expansion, KernelKMeans, clustering
from preimage.exceptions import ConvergenceWarning
from preimage.features import Nystrom, RandomFourier
from preimage.gram.operators import plain_gram
from preimage.kernels import Gaussian, Linear, Polynomial, Sigmoid
from preimage.preimages import Learned, Nearest


@parametrize_with_checks([KernelKMeans()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def check_names(estimator):
    return {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(estimator)}


def test_no_check_is_left_out_that_scikit_learns_kmeans_passes():
    assert check_names(KernelKMeans()) >= check_names(KMeans())


# Truth


def test_nested_circles_are_told_apart():
    X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    for scale in (0.2, 0.3):
        found = KernelKMeans(2, kernel=Gaussian(scale), random_state=0).fit(X)
        assert adjusted_rand_score(y, found.labels_) == 1.0
    assert adjusted_rand_score(y, KMeans(2, n_init=4, random_state=0).fit_predict(X)) < 0.1


def test_moons_are_told_apart_by_a_diffusion_kernel():
    """Weighted kernel k-means with weights D and kernel D⁻½(D⁻½KD⁻½)ᵗD⁻½ minimises a normalised cut (Dhillon 2004)."""
    X, y = make_moons(300, noise=0.05, random_state=0)
    K = Gaussian(0.15)(X, X)
    degrees = K.sum(axis=1)
    roots = np.sqrt(np.outer(degrees, degrees))
    diffused = np.linalg.matrix_power(K / roots, 16) / roots
    found = KernelKMeans(2, kernel="precomputed", random_state=0).fit((diffused + diffused.T) / 2, None, degrees)
    assert adjusted_rand_score(y, found.labels_) == 1.0


def test_planted_clusters_and_their_centroids_are_found():
    X, y = make_blobs(300, n_features=5, centers=6, cluster_std=0.3, random_state=1)
    found = KernelKMeans(6, random_state=0).fit(X)
    assert adjusted_rand_score(y, found.labels_) == 1.0
    means = np.array([X[found.labels_ == c].mean(axis=0) for c in range(6)])
    points = found.centroid_preimages().points
    assert np.abs(points - means).max() < 0.05
    assert np.abs(found.centroid_preimages("distance").points - means).max() < 0.3


def best_inertia(K, weights, k):
    """Over all partitions."""
    least = np.inf
    for labels in product(range(k), repeat=len(K)):
        H = np.eye(k)[list(labels)] * weights[:, None]
        masses = H.sum(axis=0)
        if masses.all():
            squares = np.einsum("ic,ij,jc->c", H, K, H)
            least = min(least, weights @ np.diag(K) - np.sum(squares / masses))
    return least


@pytest.mark.parametrize("seed", range(4))
def test_small_problems_are_solved_to_the_optimum(seed):
    X = rows(8, 2, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, 8)
    kernel = Gaussian(0.8)
    found = KernelKMeans(3, kernel=kernel, n_init=20, random_state=0).fit(X, sample_weight=weights)
    assert found.inertia_ == pytest.approx(best_inertia(kernel(X, X), weights, 3), rel=1e-9)


# Beside scikit-learn's k-means


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_with_the_linear_kernel_lloyds_phase_is_k_means_and_moves_only_improve_on_it(seed, weighted):
    X = rows(300, 4, seed=seed)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 3, len(X)) if weighted else np.ones(len(X))
    start = X[rng.choice(len(X), 7, replace=False)]
    theirs = KMeans(7, init=start, n_init=1, tol=0, max_iter=1000).fit(X, sample_weight=weights)
    ours = KernelKMeans(7, kernel="linear", init=start, tol=0).fit(X, sample_weight=weights)
    assert ours.inertia_history_[ours.n_iter_] == pytest.approx(theirs.inertia_, rel=1e-6)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-12)
    np.testing.assert_allclose(
        ours.centroid_preimages("gradient").points,
        [np.average(X[ours.labels_ == c], axis=0, weights=weights[ours.labels_ == c]) for c in range(7)],
        atol=1e-4,
    )


def test_single_moves_leave_a_poor_optimum_of_lloyds_steps():
    """Lloyd stands still at {0}, {0.9, 2}, because 0.9 is as near to 1.45 as to 0; {0, 0.9}, {2} is better."""
    X = np.array([[0.0], [0.9], [2.0]])
    ours = KernelKMeans(2, kernel="linear", init=[[0.0], [1.45]], tol=0).fit(X)
    assert ours.inertia_history_[ours.n_iter_] == pytest.approx(2 * 0.55**2)
    assert ours.inertia_ == pytest.approx(2 * 0.45**2)


# Identities


def random_partition(gram, n, k, seed=0):
    rng = np.random.default_rng(seed)
    return clustering.Partition(gram, rng.uniform(0.5, 2, n), rng.integers(k, size=n), k)


@pytest.mark.parametrize("storage", ["memory", "square", "recompute"])
def test_distances_inertia_and_moves_are_what_they_say(storage):
    X, kernel = rows(60, 3), Gaussian(1.2)
    part = random_partition(plain_gram(kernel, X, storage), 60, 4)
    w, labels = part.weights, part.labels
    H = np.eye(4)[labels] * w[:, None]
    centroids = Expansion(kernel, X, (H / H.sum(axis=0)).T)
    np.testing.assert_allclose(part.distances2(), centroids.distances2(X).T, atol=1e-12)
    assert part.inertia == pytest.approx(w @ part.distances2()[np.arange(60), labels])
    i, target, change = part.best_move()
    assert change < 0
    before = part.inertia
    part.move(i, target)
    assert part.inertia - before == pytest.approx(change, rel=1e-9)
    fresh = clustering.Partition(part.gram, w, part.labels, 4)
    np.testing.assert_allclose(part.sums, fresh.sums, atol=1e-12)
    assert fresh.inertia == pytest.approx(part.inertia)


def test_no_single_move_gains_at_the_end():
    X = rows(120, 2)
    gram = plain_gram(Gaussian(0.7), X)
    found = clustering.cluster(gram, np.ones(120), 5, [lambda: np.arange(120) % 5])
    assert found.partition.best_move()[2] >= -1e-10
    np.testing.assert_array_equal(found.partition.distances2().argmin(axis=1), found.partition.labels)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(0.3, 1.0, 2)])
def test_the_objective_never_rises(kernel):
    for seed in range(3):
        history = KernelKMeans(6, kernel=kernel, random_state=seed, n_init=1).fit(rows(200, 3, seed)).inertia_history_
        assert len(history) > 3
        assert np.all(np.diff(history) <= 1e-12 * history[0])


def test_nor_does_it_rise_where_an_indefinite_kernel_lies_about_distances():
    for seed in range(3):
        found = KernelKMeans(4, kernel=Sigmoid(2.0, -1.0), random_state=seed).fit(rows(100, 3, seed))
        assert np.all(np.diff(found.inertia_history_) <= 1e-9)
        assert set(found.labels_) == {0, 1, 2, 3}


def test_stored_and_tiled_agree(monkeypatch):
    X = rows(700, 3)
    stored = KernelKMeans(5, random_state=0).fit(X)
    monkeypatch.setattr("preimage.gram.operators.free_memory", lambda: 1e6)
    with sklearn.config_context(working_memory=1):
        tiled = KernelKMeans(5, random_state=0).fit(X)
    np.testing.assert_array_equal(stored.labels_, tiled.labels_)
    assert tiled.inertia_ == pytest.approx(stored.inertia_, rel=1e-12)


def test_the_kernel_matrix_is_not_built_where_it_does_not_fit(monkeypatch):
    monkeypatch.setattr("preimage.gram.operators.free_memory", lambda: 1e6)
    monkeypatch.setattr("preimage.gram.tiles.gram", lambda *_: pytest.fail("the whole matrix was asked for"))
    KernelKMeans(3, kernel=Gaussian(1.0), random_state=0, n_init=1).fit(rows(600, 2))


def test_all_landmarks_are_the_exact_method():
    X = rows(150, 3)
    start = X[:4]
    exact = KernelKMeans(4, kernel=Gaussian(1.5), init=start).fit(X)
    landmarks = KernelKMeans(4, kernel=Gaussian(1.5), init=start, approximation=Nystrom(X)).fit(X)
    np.testing.assert_array_equal(exact.labels_, landmarks.labels_)
    assert landmarks.inertia_ == pytest.approx(exact.inertia_, rel=1e-8)
    np.testing.assert_allclose(landmarks.transform(X), exact.transform(X), atol=1e-6)


def test_few_landmarks_carry_the_centroids():
    X, y = make_blobs(2000, centers=5, n_features=4, cluster_std=0.5, random_state=2)
    found = KernelKMeans(5, approximation=60, random_state=0).fit(X)
    assert adjusted_rand_score(y, found.labels_) == 1.0
    assert found.centroids_.points.shape == (60, 4)
    nearest = found.transform(X).min(axis=1)
    assert found.inertia_ == pytest.approx(np.square(nearest).sum(), rel=1e-8)
    exact = KernelKMeans(5, kernel=found.kernel_, random_state=0).fit(X)
    assert exact.inertia_ <= found.inertia_ <= 1.02 * exact.inertia_


def test_transform_gives_distances_in_feature_space_and_predict_the_nearest():
    X, new, kernel = rows(100, 3), rows(20, 3, seed=5), Gaussian(1.3)
    found = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
    np.testing.assert_allclose(found.transform(new) ** 2, found.centroids_.distances2(new).T, atol=1e-12)
    np.testing.assert_array_equal(found.predict(new), found.transform(new).argmin(axis=1))
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert found.score(X) == pytest.approx(-found.inertia_)
    np.testing.assert_array_equal(np.bincount(found.labels_), np.sort(np.bincount(found.labels_))[::-1])


def test_precomputed_and_sparse_rows_agree_with_dense_ones():
    X, kernel = sparse_rows(80), Gaussian(2.0)
    dense = X.toarray()
    plain = KernelKMeans(3, kernel=kernel, random_state=0).fit(dense)
    sparse = KernelKMeans(3, kernel=kernel, random_state=0).fit(X)
    K = kernel(dense, dense)
    given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    for other in (sparse, given):
        np.testing.assert_array_equal(other.labels_, plain.labels_)
        assert other.inertia_ == pytest.approx(plain.inertia_)
    np.testing.assert_array_equal(given.predict(K), plain.labels_)
    np.testing.assert_allclose(given.transform(K, np.diag(K)), plain.transform(dense), atol=1e-6)
    np.testing.assert_allclose(given.fit_transform(K), plain.transform(dense), atol=1e-6)
    assert given.centroid_preimages(Nearest()).points.shape == (3, 1)
    with pytest.raises(ValueError, match="diagonal="):
        given.transform(K)


def test_weights_are_repetitions_and_rows_of_weight_zero_have_no_part():
    X = rows(60, 2)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    start = X[weights > 0][:4]
    weighted = KernelKMeans(4, init=start).fit(X, sample_weight=weights)
    repeated = KernelKMeans(4, init=start).fit(np.repeat(X, weights, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-10)
    np.testing.assert_array_equal(weighted.labels_[weights > 0], repeated.predict(X[weights > 0]))
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))
    assert weighted.centroids_.points.shape[0] == np.count_nonzero(weights)
    K = Gaussian(1.0)(X, X)
    given = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K, sample_weight=weights)
    np.testing.assert_array_equal(given.labels_, given.predict(K))


def test_empty_clusters_are_repaired():
    X = rows(50, 2)
    far = np.vstack([X[:1], X[:1], X[:1], X[:1] + 100])  # three equal seeds and one that no point is near
    found = KernelKMeans(4, kernel="linear", init=far).fit(X)
    assert np.bincount(found.labels_, minlength=4).min() > 0
    assert np.all(np.diff(found.inertia_history_) <= 1e-12 * found.inertia_history_[0])


def test_as_many_clusters_as_points_cost_nothing():
    X = rows(12, 2)
    found = KernelKMeans(12, kernel=Gaussian(1.0), random_state=0).fit(X)
    assert found.inertia_ == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(np.sort(found.labels_), np.arange(12))


def test_fewer_different_points_than_clusters_still_fill_all_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    found = KernelKMeans(3, kernel=Gaussian(1.0), random_state=0).fit(X)
    assert found.inertia_ == pytest.approx(0, abs=1e-12)
    assert set(found.labels_) == {0, 1, 2}


def test_float32_rows_give_float32_distances():
    X = rows(100, 3).astype(np.float32)
    found = KernelKMeans(3, random_state=0).fit(X)
    assert found.transform(X).dtype == np.float32
    exact = KernelKMeans(3, kernel=found.kernel_, random_state=0).fit(X.astype(float))
    assert found.inertia_ == pytest.approx(exact.inertia_, rel=1e-4)


def test_random_seeds_and_repeated_runs():
    X = rows(80, 2)
    first = KernelKMeans(4, init="random", random_state=3).fit(X)
    second = KernelKMeans(4, init="random", random_state=3).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    one, many = (KernelKMeans(6, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 20))
    assert many <= one


def test_nested_parameters():
    found = KernelKMeans(2, approximation=Nystrom(20)).set_params(
        kernel__length_scale=0.5, approximation__n_landmarks=30
    )
    assert found.kernel == Gaussian(0.5)
    assert found.fit(rows(100, 2)).centroids_.points.shape == (30, 2)


# Bad input


@pytest.mark.parametrize(
    ("settings", "weights", "sentence"),
    [
        ({"n_clusters": 11}, None, "n_clusters=11 is more than n_samples=10, the number of rows"),
        (
            {"n_clusters": 4},
            np.eye(10)[0] + np.eye(10)[1],
            "more than n_samples=2, the number of rows of positive weight",
        ),
        ({"n_clusters": 0}, None, "n_clusters must be a whole number of at least 1, not 0"),
        ({"n_clusters": 2.5}, None, "n_clusters must be a whole number"),
        ({"n_init": 0}, None, "n_init must be a whole number"),
        ({"max_iter": 0}, None, "max_iter must be a whole number"),
        ({"tol": -1}, None, "tol must be a number of at least 0"),
        ({"init": "best"}, None, 'init must be "k-means\\+\\+", "random" or an array'),
        ({"init": np.zeros((2, 2))}, None, "init must hold one point per cluster, shape \\(3, 2\\)"),
        ({}, -np.ones(10), "finite numbers that are not negative"),
        ({}, np.full(10, np.nan), "finite numbers that are not negative"),
        ({}, np.zeros(10), "zero everywhere"),
        ({}, np.ones(9), "one weight per row"),
    ],
)
def test_bad_input_gets_a_sentence(settings, weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelKMeans(**{"n_clusters": 3, "kernel": Gaussian(1.0)} | settings).fit(rows(10, 2), sample_weight=weights)


def test_equal_points_get_a_sentence():
    for kernel in (Gaussian(1.0), "gaussian", "linear"):
        with pytest.raises(ValueError, match="all rows are equal"):
            KernelKMeans(2, kernel=kernel).fit(np.ones((10, 2)))
    assert KernelKMeans(1, kernel="linear").fit(np.ones((10, 2))).inertia_ == 0


def test_what_cannot_be_done_is_refused_before_any_work():
    X = rows(20, 2)
    with pytest.raises(TypeError, match="needs landmarks"):
        KernelKMeans(2, approximation=RandomFourier(10)).fit(X)
    with pytest.raises(TypeError, match="cannot take a bare expansion"):
        KernelKMeans(2).fit(X).centroid_preimages(Learned())
    with pytest.raises(ValueError, match="no values for given points"):
        KernelKMeans(2, kernel="precomputed", init=X[:2]).fit(X @ X.T)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KernelKMeans(5, max_iter=1, n_init=1, random_state=0).fit(rows(500, 3))


def test_a_score_of_a_precomputed_kernel_takes_the_values_k_x_x():
    X = rows(60, 3)
    K = Gaussian(1.5)(X, X)
    given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    plain = KernelKMeans(3, kernel=Gaussian(1.5), random_state=0).fit(X)
    np.testing.assert_allclose(given.score(K, diagonal=np.ones(60)), plain.score(X), rtol=1e-12)
    np.testing.assert_allclose(-given.score(K, diagonal=np.ones(60)), given.inertia_, rtol=1e-9)
    with pytest.raises(ValueError, match="pass it as diagonal="):
        given.score(K)


def test_names_of_columns_are_those_of_the_fitted_clusters():
    model = KernelKMeans(3, random_state=0).fit(rows(60, 3)).set_params(n_clusters=5)
    assert len(model.get_feature_names_out()) == model.transform(rows(4, 3)).shape[1] == 3


@pytest.mark.parametrize(
    "settings, weights",
    [
        ({"kernel": Polynomial(degree=0.5, gamma=1.0)}, None),
        ({"kernel": Polynomial(degree=400, gamma=10.0)}, None),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, None),
        ({"kernel": Gaussian(1.0)}, 1e308),
        ({"kernel": Gaussian(1.0), "init": "random"}, 1e308),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_are_not_finite_are_refused(settings, weights):
    model = KernelKMeans(2, random_state=0).set_params(**settings)
    with pytest.raises(ValueError, match="infinite or not numbers"):
        model.fit(rows(30, 3), sample_weight=weights)
    assert not hasattr(model, "labels_")
