"""The inverse of any embedding: values against the formulas, planted maps, and what other packages embed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import TSNE, Isomap

from preimage import Decoder, Invertible, decoding, load
from preimage.datasets import load_digits, s_curve
from preimage.decoding import Distances, Known, Mean, Neighbours, fit_learned, left_out_errors
from preimage.kernels import Gaussian

METHODS = ("learned", "neighbors", "distances")


@pytest.fixture(scope="module")
def digits():
    X = load_digits().X
    return X[np.random.default_rng(0).permutation(len(X))[:400]]  # the writers come one after the other


@pytest.fixture(scope="module")
def pairs(digits):
    return PCA(6, svd_solver="full").fit_transform(digits), digits


def planted(n=200, seed=0):
    """Codes in the plane and rows that are a smooth function of them."""
    Z = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return Z, np.column_stack([Z, np.sin(2 * Z[:, 0]), Z[:, 0] * Z[:, 1]])


def test_a_smooth_map_is_found():
    Z, X = planted()
    new, truth = planted(100, seed=1)
    inside = np.abs(new).max(axis=1) < 0.9
    found = Decoder("learned").fit(Z, X).predict(new)
    assert np.abs(found - truth)[inside].max() < 1e-2


def test_the_regression_is_kernel_ridge_regression(pairs):
    Z, X = pairs
    found = Decoder("learned", kernel=Gaussian(2.0)).fit(Z, X)
    oracle = KernelRidge(alpha=found.map_.ridge, kernel="rbf", gamma=1 / 8).fit(Z, X - X.mean(axis=0))
    np.testing.assert_allclose(found.predict(Z[:50] + 0.1), X.mean(axis=0) + oracle.predict(Z[:50] + 0.1), atol=1e-6)


def test_left_out_errors_are_those_of_fits_without_the_row(pairs):
    Z, X = pairs[0][:60], pairs[1][:60]
    found = fit_learned(Known(Z, X), Gaussian(2.0), np.random.default_rng(0))
    unit = found.ridge  # the diagonal of a Gaussian is 1
    for row in (0, 17, 59):
        others = np.arange(60) != row
        mean = X.mean(axis=0)
        oracle = KernelRidge(alpha=unit, kernel="rbf", gamma=1 / 8).fit(Z[others], X[others] - mean)
        gap = oracle.predict(Z[[row]])[0] + mean - X[row]
        assert left_out_errors(found)[row] == pytest.approx(np.mean(gap**2), rel=1e-4)


def weighted_mean(Z, X, code, count):
    """The formula for one code."""
    distances = np.linalg.norm(Z - code, axis=1)
    near = np.argsort(distances)[: 3 * count]
    weights = np.exp(-np.square(distances[near] / distances[near[count - 1]]) / 2)
    return weights @ X[near] / weights.sum()


def test_neighbours_are_averaged_by_weight_and_without_the_row_itself(pairs):
    Z, X = pairs
    found = Neighbours.fit(Known(Z, X))
    expected = [weighted_mean(Z, X, code, found.count) for code in Z[:20] + 0.01]
    np.testing.assert_allclose(found.values(Z[:20] + 0.01), expected, atol=1e-12)
    others = np.arange(len(Z)) != 3
    gap = weighted_mean(Z[others], X[others], Z[3], found.count) - X[3]
    assert left_out_errors(found)[3] == pytest.approx(np.mean(gap**2))


def test_only_rows_of_the_same_code_count_where_several_share_it():
    Z = np.repeat(np.arange(6.0), 20)[:, None]
    np.testing.assert_array_equal(Neighbours(Known(Z, Z), 2, Z).values(np.array([[3.0]])), [[3.0]])


def test_distances_find_rows_that_are_scaled_and_rotated_codes():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((150, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    found = Distances.fit(Known(Z, 5 * Z @ turn + 2))
    np.testing.assert_allclose(found.values(Z[:10] * 0.9), 5 * (0.9 * Z[:10]) @ turn + 2, atol=1e-6)
    assert left_out_errors(found).max() < 1e-10


def test_the_method_with_the_least_left_out_error_is_taken(pairs):
    errors = {method: Decoder(method).fit(*pairs).error_ for method in METHODS}
    assert Decoder().fit(*pairs).error_ <= decoding.TIE * min(errors.values())


def test_the_mean_of_two_maps_has_the_left_out_error_of_their_mean(pairs):
    Z, X = pairs
    first, second = (Decoder(method, kernel=Gaussian(2.0)).fit(Z, X).map_ for method in METHODS[:2])
    both = Mean(first, second)
    np.testing.assert_allclose(both.values(Z[:5]), (first.values(Z[:5]) + second.values(Z[:5])) / 2)
    bound = (left_out_errors(first) + left_out_errors(second)) / 2  # by convexity
    assert np.all(left_out_errors(both) <= bound + 1e-15)


def test_left_out_errors_tell_the_error_of_new_rows(pairs):
    Z, X = pairs
    for method in METHODS:
        fitted = Decoder(method).fit(Z[:300], X[:300])
        new = np.square(fitted.predict(Z[300:]) - X[300:]).mean(axis=1)
        assert abs(new.mean() - fitted.error_) < 4 * new.std() / np.sqrt(len(new))


def test_sparse_rows_give_the_same_answers(pairs):
    Z, X = pairs
    for method in METHODS:
        dense, sparse = (Decoder(method, kernel=Gaussian(2.0)).fit(Z, rows) for rows in (X, sp.csr_matrix(X)))
        np.testing.assert_allclose(sparse.predict(Z[:30]), dense.predict(Z[:30]), atol=1e-7)


def test_errors_of_many_columns_are_unbiased_estimates(pairs):
    Z, X = pairs
    wide = np.hstack([X] * 12)  # 768 columns, of which random combinations are looked at
    assert Decoder("neighbors").fit(Z, wide).error_ == pytest.approx(Decoder("neighbors").fit(Z, X).error_, rel=0.1)


def test_pairs_beyond_those_learned_from_show_the_error_as_well(pairs, monkeypatch):
    Z, X = pairs
    monkeypatch.setattr(decoding, "LANDMARKS", 100)
    monkeypatch.setattr(decoding, "ENOUGH", 300)
    found = Decoder("learned", kernel=Gaussian(2.0), random_state=0).fit(Z, X)
    assert len(found.map_.landmarks) == 100
    unseen = np.random.default_rng(np.random.RandomState(0).randint(2**31)).permutation(400)[300:]
    np.testing.assert_allclose(
        left_out_errors(found.map_)[unseen], np.square(found.predict(Z) - X).mean(axis=1)[unseen]
    )


def test_uncertainty_finds_where_rows_scatter():
    rng = np.random.default_rng(4)
    Z = rng.uniform(-1, 1, (600, 2))
    deviation = np.where(Z[:, :1] > 0, 0.6, 0.2)
    X = np.sin(Z @ rng.standard_normal((2, 12))) + deviation * rng.standard_normal((600, 12))
    doubt = Decoder(random_state=0).fit(Z[:500], X[:500]).uncertainty(Z[500:])
    right, left = (doubt[side].mean() for side in (Z[500:, 0] > 0.2, Z[500:, 0] < -0.2))
    assert right / left == pytest.approx(3, rel=0.2)  # the ratio of the deviations
    assert doubt.mean() == pytest.approx(
        np.sqrt(np.square(deviation[500:]).mean() / np.square(deviation).mean()), rel=0.2
    )


def test_uncertainty_ranks_errors_and_grows_with_the_distance(pairs):
    Z, X = pairs
    fitted = Decoder().fit(Z[:300], X[:300])
    errors = np.square(fitted.predict(Z[300:]) - X[300:]).mean(axis=1)
    assert spearmanr(fitted.uncertainty(Z[300:]), errors)[0] > 0.4
    assert fitted.uncertainty(Z[:300]).mean() == pytest.approx(1, abs=0.3)
    ray = np.outer([10, 100, 1000], np.eye(6)[0])
    far = fitted.uncertainty(ray)
    assert far[1] / far[0] == pytest.approx(10, rel=0.3) and far[2] / far[1] == pytest.approx(10, rel=0.05)


def test_a_decoder_is_saved_and_answers_as_before(pairs, tmp_path):
    for method in METHODS:
        fitted = Decoder(method).fit(pairs[0][:80], pairs[1][:80])
        fitted.save(tmp_path / "decoder.npz")
        again = load(tmp_path / "decoder.npz")
        np.testing.assert_array_equal(again.predict(pairs[0][80:90]), fitted.predict(pairs[0][80:90]))
        np.testing.assert_array_equal(again.uncertainty(pairs[0][80:90]), fitted.uncertainty(pairs[0][80:90]))


def test_what_makes_no_sense_is_refused(pairs):
    Z, X = pairs
    with pytest.raises(ValueError, match="method must be one of auto, learned, neighbors, distances"):
        Decoder("knn").fit(Z, X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Decoder().fit(Z[:-1], X)
    with pytest.raises(ValueError, match="needs the training inputs"):
        Decoder(kernel="precomputed").fit(Z, X)
    with pytest.raises(ValueError, match="expecting 6 features"):
        Decoder("neighbors").fit(Z, X).predict(Z[:, :2])


@pytest.mark.parametrize("embedding", [Isomap(n_components=2), TSNE(perplexity=15, random_state=0)], ids=type)
def test_an_embedding_gets_an_inverse_whether_it_is_fitted_or_not(embedding):
    X = s_curve(150, random_state=0).X
    unfitted = Invertible(embedding, decoder=Decoder("neighbors"))
    Z = unfitted.fit_transform(X)
    assert not hasattr(embedding, "embedding_")
    fitted = Invertible(clone(embedding).fit(X), decoder=Decoder("neighbors")).fit(X)
    np.testing.assert_allclose(fitted.codes_, Z)
    np.testing.assert_allclose(fitted.inverse_transform(Z), unfitted.inverse_transform(Z))
    spread = np.sqrt(X.var(axis=0).sum())
    assert np.linalg.norm(fitted.inverse_transform(Z) - X, axis=1).mean() < 0.35 * spread


def test_only_embeddings_with_a_transform_take_new_rows():
    X = s_curve(100, random_state=0).X
    flat = Invertible(Isomap(n_components=2)).fit(X)
    np.testing.assert_allclose(flat.transform(X[:5]), flat.embedding_model_.transform(X[:5]))
    with pytest.raises(TypeError, match=r"embedding must be a transformer such as UMAP\(\), not 3"):
        Invertible(3).fit(X)
    with pytest.raises(AttributeError, match="has no attribute 'transform'"):
        Invertible(TSNE()).transform
    with pytest.raises(ValueError, match="holds the codes of 100 rows, but X has 50"):
        Invertible(TSNE(perplexity=10, random_state=0).fit(X)).fit(X[:50])


@pytest.mark.parametrize("sparse", [False, True])
def test_repeated_pairs_change_nothing(sparse):
    t = np.sort(np.random.default_rng(0).uniform(0, 6.28, 30))[:, None]
    X = np.hstack([np.cos(t), np.sin(t), t])
    new, copies = np.linspace(0.2, 6, 50)[:, None], np.tile(np.arange(30), 3)
    rows = sp.csr_array(X) if sparse else X
    once, often = (Decoder(random_state=0).fit(t[which], rows[which]) for which in (np.arange(30), copies))
    np.testing.assert_array_equal(often.predict(new), once.predict(new))
    np.testing.assert_array_equal(often.codes_, t)


def test_equal_codes_of_different_rows_are_kept():
    t = np.repeat(np.linspace(0, 3, 20), 2)[:, None]
    X = np.hstack([t, t**2]) + 0.1 * np.random.default_rng(0).standard_normal((40, 2))
    assert len(Decoder(random_state=0).fit(t, X).codes_) == 40


def test_the_argument_of_inverse_transform_is_scikit_learns():
    X = s_curve(60, noise=0, random_state=0).X
    flat = Invertible(PCA(2)).fit(X)
    Z = flat.transform(X)
    np.testing.assert_array_equal(flat.inverse_transform(X=Z), flat.inverse_transform(Z))
    np.testing.assert_array_equal(flat.decoder_.inverse_transform(X=Z), flat.decoder_.predict(Z))


def test_an_embedding_of_rows_with_gaps_gets_a_sentence():
    X = s_curve(60, noise=0, random_state=0).X
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN\. Invertible is fitted on complete rows"):
        Invertible(PCA(2)).fit(X)
