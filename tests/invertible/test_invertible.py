"""Invertible kernel PCA: exact where nothing is dropped, a filter and a decoder, and never a NaN."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import InvertibleKernelPCA
from preimage.datasets import s_curve
from preimage.decomposition.explicit import Components
from preimage.invertible.activations import ReLU, Sine, as_activation
from preimage.kernels import Exponential, Gaussian, Laplacian, Matern, Polynomial, RationalQuadratic

ACTIVATIONS = {"sine": Sine(), "wide sine": Sine(Gaussian(4.0)), "matern": Sine(Matern(2.0)), "relu": ReLU()}


def rows(n=300, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 2


@parametrize_with_checks([InvertibleKernelPCA(), InvertibleKernelPCA(activation=ReLU())])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=ACTIVATIONS.keys())
@pytest.mark.parametrize("center", [True, False])
def test_with_all_components_and_no_ridge_every_row_comes_back(activation, center):
    ikpca = InvertibleKernelPCA(activation=activation, n_features=60, ridge=0.0, center=center, random_state=0)
    ikpca.fit(rows())
    for X in (rows(), rows(40, seed=7)):
        np.testing.assert_allclose(ikpca.denoise(X), X, atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.5),
        Exponential(2.0),
        Matern(1.5, nu=2.5),
        RationalQuadratic(1.5),
        Laplacian(0.3),
        Gaussian(1.0) * Matern(),
    ],
    ids=str,
)
def test_features_approach_the_kernel_like_one_over_the_root_of_their_number(kernel):
    X, errors = rows(30, 3), []
    activation = Sine(kernel)
    for r in (500, 8000):
        gaps = []
        for seed in range(6):
            W, b, resolved = activation.draw(r, X, np.random.default_rng(seed))
            F = activation.scale(r) * activation(X @ W.T + b)
            gaps.append(F @ F.T - resolved.kernel(X, X))
        errors.append(np.sqrt(np.mean(np.square(gaps))))
    assert 2.5 < errors[0] / errors[1] < 6.5  # √16 = 4


def test_relu_features_approach_the_arc_cosine_kernel():
    """(‖x‖‖y‖/π)(sin θ + (π − θ) cos θ), twice Cho & Saul's half because of the factor 2/r."""
    X = rows(12, 4)
    W, b, activation = ReLU().draw(200_000, X, np.random.default_rng(0))
    F = activation.scale(200_000) * activation(X @ W.T + b)
    norms = np.linalg.norm(X, axis=1)
    angle = np.arccos(np.clip(X @ X.T / np.outer(norms, norms), -1, 1))
    expected = np.outer(norms, norms) / np.pi * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    np.testing.assert_allclose(F @ F.T, expected, rtol=0.03)


@pytest.mark.parametrize("activation", [Sine(), ReLU()])
def test_the_bypass_and_the_value_give_the_argument_back(activation):
    a = np.linspace(-20, 20, 4001)
    np.testing.assert_allclose(activation.inverse(activation(a), activation.bypass(a)), a, atol=1e-7)


def test_values_out_of_range_are_brought_in():
    values = np.array([-3.0, -1.0, 1.0, 7.0])
    answer = Sine().inverse(values, np.zeros(4))
    np.testing.assert_allclose(answer, [-np.pi / 2, -np.pi / 2, np.pi / 2, np.pi / 2])


@pytest.mark.parametrize("shape", [(80, 20), (20, 80)])
def test_components_are_those_of_scikit_learns_pca_by_covariance_and_by_gram_matrix(shape):
    F = np.random.default_rng(0).standard_normal(shape) @ np.diag(np.linspace(2, 0.1, shape[1]))
    ours, theirs = Components.of(F, 5), PCA(5, svd_solver="full").fit(F)
    np.testing.assert_allclose(ours.eigenvalues / (len(F) - 1), theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.einsum("kr,rk->k", theirs.components_, ours.axes)), 1, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues / ours.total, theirs.explained_variance_ratio_, rtol=1e-10)


def test_a_wide_kernel_without_ridge_filters_like_linear_pca():
    X = s_curve(400, random_state=0).X
    noisy = s_curve(100, random_state=1).X
    linear = PCA(2).fit(X)
    expected = linear.inverse_transform(linear.transform(noisy))
    ikpca = InvertibleKernelPCA(2, activation=Sine(Gaussian(300.0)), n_features=3000, ridge=0.0, random_state=0).fit(X)
    gap = np.sqrt(np.mean((ikpca.denoise(noisy) - expected) ** 2))
    assert gap < 0.2 * np.sqrt(np.mean((noisy - expected) ** 2))


def test_it_denoises_the_s_curve_and_too_much_ridge_spoils_it():
    train, test = (s_curve(1000, noise=0.25, random_state=seed) for seed in (0, 1))
    base = InvertibleKernelPCA(6, activation=Sine(Gaussian.from_gamma(0.5)), n_features=500, ridge=1.0, random_state=0)

    def error(model):
        return np.mean((model.fit(train.X).denoise(test.X) - test.clean) ** 2)

    noisy = np.mean((test.X - test.clean) ** 2)
    assert 0.5 * noisy < error(base) < 0.9 * noisy
    assert error(clone(base).set_params(ridge=1e4)) > 2 * noisy


def test_a_code_alone_is_decoded_as_well_as_an_input_is_filtered():
    digits = load_digits()
    X = digits.data[digits.target == 3] / 16
    train, clean = X[:130], X[130:]
    noisy = clean + 0.25 * np.random.default_rng(0).standard_normal(clean.shape)
    ikpca = InvertibleKernelPCA(20, n_features=2000, random_state=0).fit(train)
    codes = ikpca.transform(noisy)
    filtered, decoded = (
        np.mean((ikpca.denoise(noisy) - clean) ** 2),
        np.mean((ikpca.inverse_transform(codes) - clean) ** 2),
    )
    assert decoded < filtered < np.mean((noisy - clean) ** 2)
    assert decoded < 0.3 * clean.var()


def test_decoding_does_not_depend_on_the_batch():
    X = rows()
    ikpca = InvertibleKernelPCA(8, n_features=300, random_state=0).fit(X)
    codes = ikpca.transform(X[:9])
    together = ikpca.inverse_transform(codes)
    np.testing.assert_allclose(np.vstack([ikpca.inverse_transform(c[None]) for c in codes]), together, atol=1e-4)


def test_the_chosen_ridge_is_the_best_of_its_grid_on_rows_left_out():
    X = s_curve(400, noise=0.1, random_state=0).X
    ikpca = InvertibleKernelPCA(5, n_features=400, random_state=3).fit(X)
    unit = np.square(ikpca.map_.weights).sum() / 3
    assert 1e-4 <= ikpca.ridge_ / unit <= 100
    fresh = s_curve(400, noise=0.1, random_state=9).X
    chosen = np.mean((ikpca.denoise(fresh) - fresh) ** 2)
    others = [np.mean((ikpca.map_.with_ridge(r * unit).filter(fresh) - fresh) ** 2) for r in (1e-4, 1e-2, 1, 100)]
    assert chosen <= 1.02 * min(others)


NASTY = {
    "fewer features than columns": ({"n_features": 3}, rows(50, 8)),
    "one component": ({"n_components": 1}, rows(50, 3)),
    "constant columns": ({}, np.column_stack([rows(40, 2), np.ones(40), np.zeros(40)])),
    "two rows": ({}, rows(2, 3)),
    "duplicates": ({}, np.repeat(rows(4, 3), 10, axis=0)),
    "float32": ({}, rows(60, 4).astype(np.float32)),
    "far from the origin": ({}, rows(60, 4) + 1e6),
}


@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize("activation", ["sine", "relu"])
def test_never_nan(case, activation):
    settings, X = NASTY[case]
    ikpca = InvertibleKernelPCA(activation=activation, random_state=0, **settings).fit(X)
    far = X + 1000
    for answer in (ikpca.denoise(X), ikpca.denoise(far), ikpca.inverse_transform(ikpca.transform(X))):
        assert np.isfinite(answer).all()
        assert answer.dtype == X.dtype


class Cube:
    """A user's own activation: one-to-one, so that nothing is bypassed."""

    def draw(self, n, X, rng):
        return rng.standard_normal((n, X.shape[1])), rng.standard_normal(n), self

    def scale(self, n):
        return 1 / n

    def __call__(self, a):
        return a**3

    def bypass(self, a):
        return np.zeros_like(a)

    def inverse(self, values, bypass):
        return np.cbrt(values)


def test_a_users_own_activation():
    X = rows()
    ikpca = InvertibleKernelPCA(activation=Cube(), n_features=40, ridge=0.0, random_state=0).fit(X)
    np.testing.assert_allclose(ikpca.denoise(X), X, atol=1e-6)
    np.testing.assert_allclose(ikpca.inverse_transform(ikpca.transform(X)), X, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"activation": "tanh"}, "unknown activation 'tanh'; the names are sine, relu"),
        ({"activation": Sine(Polynomial())}, "needs a kernel with frequencies"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1"),
        ({"ridge": -1}, "ridge must be a number of at least 0"),
        ({"ridge": "some"}, "ridge must be a number of at least 0"),
        ({"n_components": 0}, "n_components must be at least 1"),
    ],
)
def test_bad_settings_get_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        InvertibleKernelPCA(**settings).fit(rows())


def test_constant_rows_and_wrong_codes_get_a_sentence():
    with pytest.raises(ValueError, match="all rows are equal"):
        InvertibleKernelPCA(activation=ReLU()).fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="1 columns, but this model has 2 components"):
        InvertibleKernelPCA(2).fit(rows()).inverse_transform([[0.0]])
    with pytest.raises(TypeError, match="a name or an object"):
        as_activation(Sine)


def test_nested_parameters_reach_the_kernel():
    ikpca = InvertibleKernelPCA(activation=Sine(Gaussian(1.0))).set_params(activation__kernel__length_scale=5.0)
    assert ikpca.activation == Sine(Gaussian(5.0))
    assert ikpca.get_params()["activation__kernel__length_scale"] == 5.0


def test_a_refused_fit_leaves_the_model_as_it_was():
    model = InvertibleKernelPCA(3, n_features=30, random_state=0).fit(rows(50, 3))
    before = model.transform(rows(5, 3))
    model.set_params(n_components=100)
    with pytest.raises(ValueError, match="n_components=100"):
        model.fit(rows(40, 5))
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(rows(5, 3)), before)


@pytest.mark.parametrize("activation", ["sine", "relu"])
def test_answers_stay_within_the_budget(activation):
    X = np.random.default_rng(0).standard_normal((3000, 10))
    model = InvertibleKernelPCA(10, activation=activation, n_features=300, ridge=0.1, random_state=0).fit(X)
    Z = model.transform(X)
    expected = {"transform": Z, "denoise": model.denoise(X), "inverse_transform": model.inverse_transform(Z)}
    for name, whole in expected.items():
        with sklearn.config_context(working_memory=8):
            tracemalloc.start()
            try:
                found = getattr(model, name)(Z if name == "inverse_transform" else X)
                used = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert used <= 8 * 2**20 + 3 * found.nbytes
        np.testing.assert_allclose(found, whole, atol=1e-9 * np.abs(whole).max())  # whatever the blocks are


def test_the_rows_of_the_fit_belong_to_the_model():
    X = np.random.default_rng(0).standard_normal((100, 3))
    model = InvertibleKernelPCA(3, random_state=0).fit(X)
    Z = model.transform(X)
    before = model.inverse_transform(Z)
    X *= 0
    np.testing.assert_array_equal(model.inverse_transform(Z), before)


def test_n_jobs_of_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs must be"):
        InvertibleKernelPCA(2, n_jobs=0).fit(np.random.default_rng(0).standard_normal((20, 3)))


def test_rows_come_back_in_frames_where_set_output_asks_for_them():
    X = pd.DataFrame(s_curve(60, random_state=0).X, columns=list("abc"))
    model = InvertibleKernelPCA(2, n_features=50, random_state=0).set_output(transform="pandas").fit(X)
    for found in (model.denoise(X.iloc[5:]), model.inverse_transform(model.transform(X.iloc[5:]))):
        assert list(found.columns) == ["a", "b", "c"] and list(found.index) == list(X.index[5:])
