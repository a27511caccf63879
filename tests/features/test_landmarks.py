import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context

from helpers import rows
from preimage import KernelPCA
from preimage.features import landmarks
from preimage.features.landmarks import KMeans, RPCholesky, Uniform, pivots
from preimage.kernels import Cosine, Gaussian, Linear, Polynomial, Sigmoid

every_sampler = pytest.mark.parametrize("sampler", [Uniform(), KMeans(), RPCholesky()], ids=repr)


def trace_error(kernel, X, points):
    """tr(K − K_XZ K_ZZ⁺ K_ZX) / tr K."""
    columns = kernel(X, points)
    inverse = np.linalg.pinv(kernel(points, points), rcond=1e-12, hermitian=True)
    return 1 - np.einsum("ij,jk,ik->", columns, inverse, columns) / kernel.diagonal(X).sum()


def clusters_with_outliers(seed):
    rng = np.random.default_rng(seed)
    centres = 10 * rng.standard_normal((6, 3))
    clustered = np.concatenate([centre + 0.1 * rng.standard_normal((150, 3)) for centre in centres])
    return np.concatenate([clustered, 60 * rng.standard_normal((30, 3))])


@every_sampler
def test_landmarks_are_as_many_as_asked_and_the_same_for_a_seed(sampler):
    X = rows(300, 4)
    first, second = (sampler.choose(Gaussian(1.0), X, 25, np.random.default_rng(5)) for _ in range(2))
    assert first.shape == (25, 4)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("sampler", [Uniform(), RPCholesky()], ids=repr)
def test_landmarks_are_different_rows_of_the_data(sampler):
    X = rows(200, 3)
    points = sampler.choose(Gaussian(1.0), X, 60, np.random.default_rng(0))
    assert len(np.unique(points, axis=0)) == 60
    assert all((point == X).all(axis=1).any() for point in points)


def test_rpcholesky_finds_rare_outliers_that_uniform_sampling_misses():
    errors = {"uniform": [], "rpc": []}
    for seed in range(5):
        X, kernel = clusters_with_outliers(seed), Gaussian(2.0)
        rng = np.random.default_rng(seed)
        errors["uniform"].append(trace_error(kernel, X, Uniform().choose(kernel, X, 50, rng)))
        errors["rpc"].append(trace_error(kernel, X, RPCholesky().choose(kernel, X, 50, rng)))
    assert np.mean(errors["rpc"]) <= 0.1 * np.mean(errors["uniform"])
    assert np.mean(errors["uniform"]) > 0.005  # the comparison is about something


def test_rpcholesky_draws_the_first_pivot_in_proportion_to_the_diagonal():
    X = np.diag([1.0, 2.0, 3.0])  # k(x, x) = 1, 4, 9
    drawn = [pivots(Linear(), X, 1, np.random.default_rng(seed))[0] for seed in range(2000)]
    share = np.bincount(drawn, minlength=3) / 2000
    np.testing.assert_allclose(share, np.array([1, 4, 9]) / 14, atol=4 * np.sqrt(0.25 / 2000))


def test_blocks_with_rejection_keep_the_law_of_one_at_a_time():
    """Two equal rows and one other, orthogonal: a second pivot is never the twin of the first."""
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for seed in range(50):
        chosen = pivots(Linear(), X, 2, np.random.default_rng(seed))
        assert len(chosen) == 2 and 2 in chosen


def test_the_second_pivot_follows_the_residual():
    X = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    seconds = [
        chosen[1] for seed in range(1200) if (chosen := pivots(Linear(), X, 3, np.random.default_rng(seed)))[0] == 0
    ]
    # After row 0 the residual diagonal is 0.64 and 1.
    np.testing.assert_allclose(np.mean(np.array(seconds) == 2), 1 / 1.64, atol=4 * np.sqrt(0.25 / len(seconds)))


def test_rpcholesky_stops_where_nothing_is_missed():
    X = rows(100, 3)
    assert len(RPCholesky().choose(Linear(), X, 40, np.random.default_rng(0))) == 3


def test_the_trace_error_falls_with_every_landmark_and_ends_at_zero():
    X, kernel = rows(80, 2), Gaussian(0.5)
    order = pivots(kernel, X, 80, np.random.default_rng(0))
    errors = [trace_error(kernel, X, X[order[:m]]) for m in (5, 10, 20, 40, len(order))]
    assert np.all(np.diff(errors) < 1e-9) and abs(errors[-1]) < 1e-9


def test_rows_are_drawn_from_what_is_quick_and_fits_the_budget(monkeypatch):
    X, seen = rows(3000, 3), []

    class Counted(Gaussian):
        def diagonal(self, X):
            seen.append(X.shape[0])
            return super().diagonal(X)

    with config_context(working_memory=1):
        RPCholesky().choose(Counted(1.0), X, 20, np.random.default_rng(0))
    assert seen.pop(0) == 2**20 // 4 // (8 * 20)  # a quarter of one MiB
    RPCholesky(n_rows=500).choose(Counted(1.0), X, 20, np.random.default_rng(0))
    assert seen.pop(0) == 500
    RPCholesky().choose(Counted(1.0), X, 20, np.random.default_rng(0))
    assert seen.pop(0) == 3000  # all of them cost next to nothing
    monkeypatch.setattr(landmarks, "QUICK", 2000)
    RPCholesky().choose(Counted(1.0), X, 20, np.random.default_rng(0))
    assert seen.pop(0) == 3000 // 20
    RPCholesky().choose(Counted(1.0), X, 200, np.random.default_rng(0))
    assert seen.pop(0) == 4 * 200


def test_kmeans_landmarks_are_cluster_centres():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0], [10, 0], [0, 10]])
    X = np.concatenate([centre + 0.1 * rng.standard_normal((100, 2)) for centre in centres])
    found = KMeans().choose(Gaussian(1.0), X, 3, rng)
    gaps = np.linalg.norm(found[:, None] - centres, axis=2).min(axis=0)
    assert gaps.max() < 0.1


def test_sparse_rows():
    X = sp.random_array((200, 30), density=0.2, format="csr", random_state=np.random.default_rng(0))
    for sampler in (Uniform(), RPCholesky()):
        assert sampler.choose(Gaussian(1.0), X, 20, np.random.default_rng(0)).shape == (20, 30)
    with pytest.raises(TypeError, match="dense rows"):
        KMeans().choose(Gaussian(1.0), X, 20, np.random.default_rng(0))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "kernel, rank",
    [(Cosine(), 4), (Linear(), 4), (Polynomial(0.3, 1.0, 2), 15)],
    ids=["cosine", "linear", "polynomial"],
)
def test_pivoting_ends_where_the_rank_is_reached(kernel, rank, dtype):
    for seed in range(12):
        X = rows(60, 4, seed, dtype)
        chosen = pivots(kernel, X, 30, np.random.default_rng(seed))
        assert len(chosen) == rank == len(set(chosen))
        missed = trace_error(kernel, X.astype(float), X[chosen].astype(float))
        assert abs(missed) <= 1e3 * np.finfo(dtype).eps


@pytest.mark.parametrize("approximation", [10, 100])
def test_landmark_fits_explain_what_exact_fits_explain(approximation):
    with pytest.raises(ValueError, match="there is no variance to decompose: check the data"):
        KernelPCA(3, kernel="linear", approximation=approximation).fit(np.zeros((40, 3)))


@pytest.mark.filterwarnings("ignore")
def test_kernels_without_a_positive_diagonal_have_landmarks_too():
    X, kernel = rows(60, 4), Sigmoid(1.0, -5.0)
    assert RPCholesky().choose(kernel, 0.1 * X, 10, np.random.default_rng(0)).shape == (10, 4)
    exact, few = (KernelPCA(3, kernel=kernel, approximation=m, random_state=0).fit(X) for m in (None, 60))
    np.testing.assert_allclose(few.eigenvalues_, exact.eigenvalues_, rtol=0.05)
