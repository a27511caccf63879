import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets
import sklearn.decomposition
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from helpers import assert_same_codes, rows, sparse_rows
from preimage import Denoiser, Expansion, InvertibleKernelPCA, KernelKMeans, KernelPCA, compat
from preimage.eigen import Dense, Lanczos
from preimage.exceptions import FewerComponentsWarning, IndefiniteKernelWarning
from preimage.features import Nystrom
from preimage.kernels import (
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    scales,
)
from preimage.preimages import Learned, Nearest

# Conventions


@parametrize_with_checks([KernelPCA()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def check_names(estimator):
    return {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(estimator)}


def test_no_check_is_left_out_that_scikit_learns_kernel_pca_passes():
    assert check_names(KernelPCA()) >= check_names(sklearn.decomposition.KernelPCA())
    assert KernelPCA().__sklearn_tags__().input_tags.sparse
    assert KernelPCA(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
    assert not KernelPCA().__sklearn_tags__().input_tags.pairwise


# scikit-learn as the oracle

ORACLES = {
    "linear": (Linear(), {"kernel": "linear"}),
    "poly": (Polynomial(0.1, 1.0, 3), {"kernel": "poly", "gamma": 0.1, "coef0": 1.0, "degree": 3}),
    "rbf": (Gaussian.from_gamma(0.05), {"kernel": "rbf", "gamma": 0.05}),
    "sigmoid": (Sigmoid(0.02, 0.1), {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1}),
    "cosine": (Cosine(), {"kernel": "cosine"}),
}


def quietly(estimator, X):
    """Fit without the remark that the sigmoid is indefinite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        return estimator.fit(X)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_numbers_are_those_of_scikit_learns_dense_solver(name, form, solver):
    kernel, settings = ORACLES[name]
    X, Y = sparse_rows(150, 20, seed=3), sparse_rows(30, 20, seed=4)
    if form == "dense":
        X, Y = X.toarray(), Y.toarray()
    theirs = sklearn.decomposition.KernelPCA(8, eigen_solver="dense", **settings).fit(X)
    if form == "precomputed":
        X, Y, kernel = kernel(X, X), kernel(Y, X), "precomputed"
    ours = quietly(KernelPCA(8, kernel=kernel, solver=solver, random_state=0), X)
    largest = theirs.eigenvalues_[0]
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=0, atol=1e-9 * largest)
    plain = theirs.transform(Y if form != "precomputed" else sparse_rows(30, 20, seed=4))
    assert_same_codes(ours.transform(Y), plain, theirs.eigenvalues_, atol=1e-9)
    train = theirs.transform(X if form != "precomputed" else sparse_rows(150, 20, seed=3))
    assert_same_codes(ours.transform(X), train, theirs.eigenvalues_, atol=1e-9)


@pytest.mark.parametrize("name", ORACLES)
def test_the_solver_chosen_for_more_rows_gives_scikit_learns_numbers(name):
    kernel, settings = ORACLES[name]
    X, Y = rows(1100, 6) * np.arange(6, 0, -1), rows(30, 6, seed=1)
    theirs = sklearn.decomposition.KernelPCA(5, eigen_solver="dense", **settings).fit(X)
    ours = quietly(KernelPCA(5, kernel=kernel, random_state=0), X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=0, atol=1e-9 * theirs.eigenvalues_[0])
    assert_same_codes(ours.transform(Y), theirs.transform(Y), theirs.eigenvalues_, atol=1e-9)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "cosine"])
def test_all_components_are_those_of_scikit_learn(name):
    kernel, settings = ORACLES[name]
    X, Y = rows(60, 5), rows(20, 5, seed=1)
    theirs = sklearn.decomposition.KernelPCA(eigen_solver="dense", remove_zero_eig=True, **settings).fit(X)
    ours = KernelPCA(kernel=kernel).fit(X)
    q = min(ours.n_components_, len(theirs.eigenvalues_))
    atol = 1e-9 * theirs.eigenvalues_[0]
    np.testing.assert_allclose(ours.eigenvalues_[:q], theirs.eigenvalues_[:q], rtol=0, atol=atol)
    assert np.all(ours.eigenvalues_[q:] <= atol) and np.all(theirs.eigenvalues_[q:] <= atol)
    a, b = ours.transform(Y)[:, :q], theirs.transform(Y)[:, :q]
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-9 * np.square(b).sum(axis=1).max())


def test_the_linear_kernel_is_pca_and_brings_the_mean_back():
    X = rows(200, 4) * [4, 3, 2, 1] + 3
    pca, model = PCA(2).fit(X), KernelPCA(2, kernel="linear").fit(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(pca.transform(X)), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-10)
    back = model.inverse_transform(model.transform(X))
    expected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(back.mean(axis=0), X.mean(axis=0), atol=0.02)
    assert np.mean((back - expected) ** 2) < 0.1 * np.mean((X - expected) ** 2)
    theirs = sklearn.decomposition.KernelPCA(2, kernel="linear", fit_inverse_transform=True).fit(X)
    assert np.mean((theirs.inverse_transform(theirs.transform(X)) - X) ** 2) > 9  # they lose it


# Number of components


def test_n_components_as_a_number_a_fraction_and_none():
    X = rows(60, 3)
    full = KernelPCA(kernel=Gaussian(1.0)).fit(X)
    assert full.n_components_ == 59
    np.testing.assert_allclose(full.explained_variance_ratio_.sum(), 1, rtol=1e-12)
    some = KernelPCA(7, kernel=Gaussian(1.0)).fit(X)
    assert some.n_components_ == 7 == some.transform(X).shape[1]
    np.testing.assert_allclose(some.explained_variance_ratio_, full.explained_variance_ratio_[:7], rtol=1e-10)
    share = KernelPCA(0.8, kernel=Gaussian(1.0)).fit(X)
    cumulated = full.explained_variance_ratio_.cumsum()
    assert share.n_components_ == np.searchsorted(cumulated, 0.8) + 1
    assert KernelPCA(np.int64(7)).fit(X).n_components_ == 7
    assert KernelPCA(np.float64(0.5)).fit(X).n_components_ < 59


def test_too_many_components_for_the_data_are_told():
    with pytest.warns(FewerComponentsWarning, match="10 components were asked for, but the kernel matrix has only 3"):
        assert KernelPCA(10, kernel="linear").fit(rows(30, 3)).n_components_ == 3


def test_fit_transform_is_fit_and_transform():
    X = rows(60, 3)
    for kernel in (Gaussian(1.0), Polynomial(0.3), Laplacian(0.4)):
        np.testing.assert_allclose(
            KernelPCA(5, kernel=kernel).fit_transform(X), KernelPCA(5, kernel=kernel).fit(X).transform(X), atol=1e-10
        )


def test_uncentred_codes_are_plain_inner_products():
    X = rows(50, 3) + 1
    model = KernelPCA(3, kernel=Gaussian(1.5), center=False).fit(X)
    K = Gaussian(1.5)(X, X)
    values = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(model.components_.inner(X).T, model.transform(X), rtol=1e-9, atol=1e-10)


# Attributes


def test_attributes_of_a_fitted_model():
    X = rows(60, 3)
    model = KernelPCA(4, kernel="gaussian").fit(X)
    assert isinstance(model.kernel_, Gaussian) and model.kernel_.length_scale > 0
    assert model.kernel == "gaussian"  # as it was typed
    axes = model.components_
    assert isinstance(axes, Expansion) and len(axes) == 4
    np.testing.assert_allclose(axes.norm2(), 1, rtol=1e-9)
    np.testing.assert_allclose(axes.inner_expansion(axes), np.eye(4), atol=1e-9)
    assert model.n_features_in_ == 3
    projection = model.project(X)
    np.testing.assert_allclose(projection.weights.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(projection.codes, model.transform(X), rtol=1e-12)


def test_scores_are_minus_the_distance_and_find_an_outlier():
    X = rows(100, 2) * [1, 0.1]
    model = KernelPCA(5, kernel=Gaussian(1.0)).fit(X)
    projection = model.project(X)
    distances = 1 - 2 * projection.inner_paired(X) + projection.norm2()
    np.testing.assert_allclose(model.score_samples(X), -distances, atol=1e-12)
    outlier = np.array([[0.0, 2.0]])
    assert model.score_samples(outlier)[0] < model.score_samples(X).min() - 0.1
    assert -2 <= model.score_samples(np.array([[50.0, 50.0]]))[0] < -1
    assert np.all(model.score_samples(X) <= 0)


def test_scores_of_a_precomputed_kernel_need_the_diagonal():
    X, Y, kernel = rows(60, 2), rows(10, 2, seed=1), Gaussian(1.0)
    plain = KernelPCA(5, kernel=kernel).fit(X)
    model = KernelPCA(5, kernel="precomputed").fit(kernel(X, X))
    scores = model.score_samples(kernel(Y, X), diagonal=kernel.diagonal(Y))
    np.testing.assert_allclose(scores, plain.score_samples(Y), atol=1e-12)
    with pytest.raises(ValueError, match=r"cannot compute k\(x, x\) of the rows: pass it as diagonal="):
        model.score_samples(kernel(Y, X))


# Pre-images


def test_digits_come_back_better_than_their_mean_and_worse_than_themselves():
    X = sklearn.datasets.load_digits().data[:400] / 16
    train, test = X[:300], X[300:]
    model = KernelPCA(40, random_state=0).fit(train)
    error = np.mean((model.inverse_transform(model.transform(test)) - test) ** 2)
    of_the_mean = np.mean((train.mean(axis=0) - test) ** 2)
    best_of_40 = np.mean((PCA(40).fit(test).inverse_transform(PCA(40).fit_transform(test)) - test) ** 2)
    assert best_of_40 < error < 0.35 * of_the_mean


def test_codes_far_from_all_others_decode_to_the_mean_not_to_zero():
    X = rows(100, 3) + 3
    model = KernelPCA(4, random_state=0, preimage=Learned()).fit(X)
    np.testing.assert_allclose(model.inverse_transform(np.full((1, 4), 1e3)), X.mean(axis=0)[None], atol=1e-6)


def test_the_way_back_is_fitted_once():
    X = rows(100, 3)
    model = KernelPCA(4, random_state=0).fit(X)
    first = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(first, model.inverse_transform(model.transform(X)))
    np.testing.assert_array_equal(first, KernelPCA(4, random_state=0).fit(X).inverse_transform(model.transform(X)))


# Estimator habits


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(3),
        KernelPCA(3, kernel=Matern(2.0, nu=2.5), solver=Lanczos(tol=1e-8), preimage=Learned(ridge=0.1), random_state=1),
        KernelPCA(0.9, kernel=Gaussian("mean") + 2 * Linear(), center=False),
    ],
    ids=["default", "objects", "composed"],
)
def test_clone_and_pickle(model):
    X, Y = rows(60, 3), rows(10, 3, seed=1)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and copy is not model
    fitted = copy.fit(X)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.transform(Y), fitted.transform(Y))
    codes = fitted.transform(Y)
    np.testing.assert_array_equal(restored.inverse_transform(codes), fitted.inverse_transform(codes))


def test_get_params_lists_what_objects_hold():
    params = KernelPCA(
        kernel=2 * Gaussian(1.5) + Matern(nu=2.5), solver=Lanczos(tol=1e-4), preimage=Learned()
    ).get_params()
    expected = {
        "kernel__left__scale": 2,
        "kernel__left__part__length_scale": 1.5,
        "kernel__right__length_scale": None,
        "kernel__right__nu": 2.5,
        "solver__tol": 1e-4,
        "solver__max_iter": None,
        "preimage__ridge": "auto",
    }
    assert expected.items() <= params.items()
    assert not any("__" in name for name in KernelPCA().get_params(deep=False))
    assert KernelPCA(kernel="matern").get_params()["kernel__nu"] == 1.5
    assert not any(name.startswith("solver__") for name in KernelPCA().get_params())  # "auto" stands for no object


def test_set_params_replaces_frozen_objects():
    kernel = Gaussian(1.0)
    model = KernelPCA(kernel=kernel)
    assert model.set_params(kernel__length_scale=2.0) is model
    assert model.kernel == Gaussian(2.0) and kernel == Gaussian(1.0)
    model.set_params(kernel="poly").set_params(kernel__degree=5, kernel__gamma=0.1)
    assert model.kernel == Polynomial(0.1, 1.0, 5)
    model.set_params(kernel__coef0=3.0, kernel=Polynomial(degree=2))  # the object first, whatever the order
    assert model.kernel == Polynomial(None, 3.0, 2)
    model.set_params(kernel=Gaussian(1.0) + Linear(), kernel__left__length_scale=4.0)
    assert model.kernel == Gaussian(4.0) + Linear()
    model.set_params(solver="lanczos", solver__tol=1e-3, n_components=3)
    assert model.solver == Lanczos(tol=1e-3) and model.n_components == 3


@pytest.mark.parametrize(
    "settings, sentence",
    [
        (
            {"kernel__gamma": 1.0},
            r"cannot set 'kernel__gamma': Gaussian.* has no parameter 'gamma' \(it has length_scale\)",
        ),
        ({"kernel__length_scale__deep": 1.0}, "cannot set 'kernel__length_scale__deep'"),
        ({"solver__tol": 1.0}, r"'solver__tol': Automatic.* has no parameter 'tol' \(.*give an object first\)"),
        ({"gamma": 1.0}, "Invalid parameter 'gamma' for estimator KernelPCA"),
        ({"colour__shade": 1.0}, "KernelPCA has no parameter 'colour__shade'"),
        ({"kernel__length_scale": -1.0}, "length_scale must be a positive finite number"),
    ],
)
def test_unknown_parameters_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelPCA().set_params(**settings)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.LengthScaleWarning")  # of 1e-3
@pytest.mark.parametrize("kernel", ["gaussian", "rbf", Gaussian(1.0)], ids=str)
def test_grid_search_over_a_nested_length_scale(kernel):
    X, angle = rows(120, 2), np.linspace(0, 2 * np.pi, 120)
    X = 0.1 * X + np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(np.arange(120) % 2, 1, 3)[:, None]
    y = np.arange(120) % 2
    pipeline = make_pipeline(KernelPCA(4, kernel=kernel), StandardScaler(), LogisticRegression())
    grid = {"kernelpca__kernel__length_scale": [1e-3, 1.0, "median"], "kernelpca__n_components": [2, 4]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert search.best_params_["kernelpca__kernel__length_scale"] != 1e-3
    best = search.best_estimator_[0]
    assert best.kernel == Gaussian(search.best_params_["kernelpca__kernel__length_scale"])
    # A linear model of the raw rows cannot tell the two circles apart.
    assert LogisticRegression().fit(X, y).score(X, y) < 0.7


def test_output_with_names():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rows(40, 3), columns=["a", "b", "c"])
    model = KernelPCA(2).set_output(transform="pandas").fit(X)
    table = model.transform(X)
    assert list(table.columns) == list(model.get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    np.testing.assert_array_equal(table.to_numpy(), KernelPCA(2).fit(X).transform(X))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    plain = KernelPCA(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.project(X).weights, plain.project(X).weights)
    named = KernelPCA(2, random_state=0).set_output(transform="pandas").fit(X)
    back = named.inverse_transform(named.transform(X))
    np.testing.assert_array_equal(np.asarray(back), plain.inverse_transform(plain.transform(X)))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(X.rename(columns={"a": "z"}))


def test_a_seed_repeats_the_fit():
    X = rows(600, 3)
    models = [KernelPCA(5, solver="lanczos", random_state=seed).fit(X) for seed in (3, 3, np.random.RandomState(3))]
    for model in models[1:]:
        np.testing.assert_array_equal(model.transform(X[:5]), models[0].transform(X[:5]))
    generator = KernelPCA(5, solver="lanczos", random_state=np.random.default_rng(0)).fit(X)
    np.testing.assert_allclose(generator.transform(X[:5]), models[0].transform(X[:5]), atol=1e-9)


def test_float32_is_kept_through_all_verbs():
    X = rows(80, 3, dtype="f4")
    model = KernelPCA(4, random_state=0).fit(X)
    codes = model.transform(X)
    for result in (codes, model.fit_transform(X), model.score_samples(X), model.inverse_transform(codes)):
        assert result.dtype == np.float32


# Odd input that works


def test_one_feature():
    X = rows(40, 1)
    codes = KernelPCA(3).fit_transform(X)
    assert codes.shape == (40, 3)
    linear = KernelPCA(1, kernel="linear").fit_transform(X)
    np.testing.assert_allclose(np.abs(linear), np.abs(X - X.mean()), rtol=1e-9)


def test_duplicated_rows_get_equal_codes():
    X = np.repeat(rows(15, 3), 4, axis=0)
    model = KernelPCA(kernel=Gaussian(1.0)).fit(X)
    assert model.n_components_ == 14
    codes = model.transform(X).reshape(15, 4, -1)
    np.testing.assert_allclose(codes, codes[:, :1].repeat(4, axis=1), atol=1e-9)
    assert KernelPCA(3).fit(X).kernel_.length_scale > 0


def test_whole_numbers_and_objects_that_hold_numbers():
    X = np.random.default_rng(0).integers(0, 9, (40, 3))
    expected = KernelPCA(3).fit_transform(X.astype(float))
    np.testing.assert_array_equal(KernelPCA(3).fit_transform(X), expected)
    np.testing.assert_array_equal(KernelPCA(3).fit_transform(X.astype(object)), expected)
    np.testing.assert_array_equal(KernelPCA(3).fit_transform(X.tolist()), expected)
    np.testing.assert_array_equal(KernelPCA(3).fit_transform(X > 4), KernelPCA(3).fit_transform((X > 4).astype(float)))


def test_two_rows():
    X = rows(2, 3)
    model = KernelPCA(kernel=Gaussian(1.0)).fit(X)
    assert model.n_components_ == 1
    distance = 2 - 2 * Gaussian(1.0)(X[:1], X[1:])[0, 0]
    np.testing.assert_allclose(np.abs(np.diff(model.transform(X), axis=0)), np.sqrt(distance), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e-8, 1e8, 1e100, 1e150])
def test_a_gaussian_takes_its_scale_from_the_data(scale):
    X = rows(60, 4)
    reference, scaled = KernelPCA(3).fit(X), KernelPCA(3).fit(scale * X)
    np.testing.assert_allclose(scaled.eigenvalues_, reference.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(scaled.transform(scale * X), reference.transform(X), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e70, 1e150])
def test_the_linear_kernel_at_any_scale(scale):
    X = rows(60, 4)
    reference = KernelPCA(3, kernel="linear", solver="dense").fit(X)
    for solver in ("dense", "lanczos", "block_krylov"):
        scaled = KernelPCA(3, kernel="linear", solver=solver, random_state=0).fit(scale * X)
        np.testing.assert_allclose(scaled.eigenvalues_ / scale**2, reference.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(
            np.abs(scaled.transform(scale * X) / scale), np.abs(reference.transform(X)), atol=1e-8
        )


def test_a_callable_kernel_on_two_matrices():
    X, Y = rows(40, 3), rows(10, 3, seed=1)
    model = KernelPCA(3, kernel=lambda A, B: (A @ B.T + 1) ** 2).fit(X)
    expected = KernelPCA(3, kernel=Polynomial(1.0, 1.0, 2)).fit(X)
    np.testing.assert_allclose(model.transform(Y), expected.transform(Y), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(Y), expected.score_samples(Y), atol=1e-8)


def test_a_precomputed_kernel_fits_by_its_name_alone():
    X = rows(40, 3)
    model = KernelPCA(3, kernel="precomputed").fit(Gaussian(1.0)(X, X))
    assert isinstance(model.kernel_, Precomputed)
    expected = KernelPCA(3, kernel=Gaussian(1.0)).fit_transform(X)
    np.testing.assert_allclose(model.transform(Gaussian(1.0)(X, X)), expected, atol=1e-10)


# Bad input

NAN, INF = rows(20, 3), rows(20, 3)
NAN[3, 1], INF[4, 2] = np.nan, -np.inf

BAD_DATA = {
    "nan": (NAN, ValueError, "Input X contains NaN"),
    "infinity": (INF, ValueError, "Input X contains infinity"),
    "empty": (np.empty((0, 3)), ValueError, r"Found array with 0 sample\(s\)"),
    "no features": (np.empty((5, 0)), ValueError, r"0 feature\(s\)"),
    "one row": (rows(1, 3), ValueError, "minimum of 2 is required"),
    "one dimension": (np.arange(5.0), ValueError, "Expected 2D array, got 1D array of 5 values"),
    "three dimensions": (np.zeros((3, 3, 3)), ValueError, "dim 3"),
    "words": (np.array([["a", "b"], ["c", "d"]], dtype=object), ValueError, "could not convert string to float"),
    "complex": (rows(20, 3) * 1j, ValueError, "Complex data not supported"),
    "constant": (np.full((20, 3), 0.1), ValueError, "all rows are equal, so no length scale can be computed from them"),
    "huge": (
        1e200 * rows(20, 3),
        ValueError,
        "their squares overflow: bring the columns to a smaller scale",
    ),
    "nothing": (None, ValueError, "Expected 2D array"),
}


@pytest.mark.parametrize("X, error, sentence", BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_are_refused_with_a_sentence(X, error, sentence):
    with pytest.raises(error, match=sentence):
        KernelPCA(2).fit(X)


def test_constant_data_with_a_number_for_the_scale():
    with pytest.raises(ValueError, match="all rows are equal for this kernel, so there is no variance to decompose"):
        KernelPCA(2, kernel=Gaussian(1.0)).fit(np.full((20, 3), 0.1))


@pytest.mark.parametrize("kernel", [Polynomial(degree=3), Polynomial(degree=2), Linear() * Linear()], ids=repr)
@pytest.mark.parametrize("n", [30, 600])
def test_a_polynomial_that_overflows_is_refused_with_a_sentence(kernel, n):
    with pytest.raises(ValueError, match="infinite or not numbers: bring the columns to a smaller scale"):
        KernelPCA(2, kernel=kernel).fit(1e150 * rows(n, 3))


@pytest.mark.parametrize(
    "settings, error, sentence",
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, not 0"),
        ({"n_components": -1}, ValueError, "n_components must be at least 1, not -1"),
        ({"n_components": 21}, ValueError, "n_components=21 is more than 20 rows allow: at most 19 components"),
        ({"n_components": 21, "center": False}, ValueError, "n_components=21 is more .* at most 20 components"),
        ({"n_components": 1.5}, ValueError, r"fraction of variance must lie between 0 and 1, not 1\.5"),
        ({"n_components": 1.0}, ValueError, r"fraction of variance must lie between 0 and 1, not 1\.0"),
        ({"n_components": 0.0}, ValueError, "fraction of variance must lie between 0 and 1"),
        ({"n_components": True}, TypeError, "n_components must be a whole number, a fraction .* not True"),
        ({"n_components": "two"}, TypeError, "n_components must be a whole number, a fraction .* not 'two'"),
        ({"n_components": np.nan}, TypeError, "n_components must be a whole number, a fraction"),
        ({"n_components": [2]}, TypeError, "n_components must be a whole number, a fraction"),
        ({"kernel": "gausian"}, ValueError, "unknown kernel 'gausian'; the names are"),
        ({"kernel": Gaussian}, TypeError, r"kernel must be an object, not a class: write Gaussian\(\.\.\.\)"),
        ({"kernel": 3}, TypeError, "kernel must be a name, a kernel object or a callable, not 3"),
        ({"kernel": Gaussian("medium")}, ValueError, "unknown rule 'medium' for a length scale"),
        ({"solver": "arpack"}, ValueError, "unknown solver 'arpack'; the names are auto, dense, .*lanczos"),
        ({"solver": Dense}, TypeError, "solver must be a name or an object of preimage.eigen"),
        ({"preimage": "guess"}, ValueError, "unknown pre-image method 'guess'; the names are auto"),
        ({"preimage": Learned}, TypeError, "preimage must be a name or a"),
        ({"random_state": "seed"}, ValueError, "cannot be used to seed"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_at_fit_with_a_sentence(settings, error, sentence):
    model = KernelPCA(**settings)  # a constructor stores what it is given
    with pytest.raises(error, match=sentence):
        model.fit(rows(20, 3))


@pytest.mark.parametrize("settings", [{"solver": "arpack"}, {"preimage": "guess"}, {"n_components": 0}], ids=str)
def test_bad_settings_are_refused_before_any_work(settings):
    def never(X, Y):
        raise AssertionError("a kernel value was computed")

    with pytest.raises(ValueError, match=r"unknown|at least"):
        KernelPCA(kernel=never, **settings).fit(rows(20, 3))


def test_an_unknown_argument_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gamma'"):
        KernelPCA(gamma=1.0)
    with pytest.raises(TypeError, match="positional"):
        KernelPCA(2, "rbf")


def test_new_rows_must_have_the_width_of_the_training_rows():
    model = KernelPCA(2).fit(rows(20, 3))
    for verb in (model.transform, model.project, model.score_samples, model.denoise):
        with pytest.raises(ValueError, match="X has 4 features, but KernelPCA is expecting 3 features"):
            verb(rows(5, 4))
        with pytest.raises(ValueError, match="Input X contains NaN"):
            verb(NAN)
    with pytest.raises(ValueError, match=r"ha(s|ve) 3 columns, but this model has 2 components"):
        model.inverse_transform(rows(5, 3))
    with pytest.raises(ValueError, match="contains NaN"):
        model.inverse_transform(np.full((2, 2), np.nan))


def test_a_model_must_be_fitted_before_use():
    model = KernelPCA(2)
    for verb in (model.transform, model.project, model.score_samples, model.inverse_transform, model.denoise):
        with pytest.raises(NotFittedError, match="This KernelPCA instance is not fitted yet"):
            verb(rows(5, 2))
    with pytest.raises((NotFittedError, AttributeError)):
        model.components_
    with pytest.raises((NotFittedError, AttributeError)):
        model.get_feature_names_out()


def test_a_precomputed_matrix_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match=r"must be square at fit, not of shape \(20, 3\)"):
        KernelPCA(2, kernel="precomputed").fit(rows(20, 3))
    K = Gaussian(1.0)(rows(600, 3), rows(600, 3))
    value = K[3, 590]
    K[3, 590] += 0.25
    with pytest.raises(ValueError, match=r"not symmetric: entries differ from their mirror image by up to 0\.25"):
        KernelPCA(2, kernel="precomputed").fit(K)
    K[3, 590] = value + 1e-15  # round-off is allowed
    assert KernelPCA(2, kernel="precomputed").fit(K).n_components_ == 2
    with pytest.raises(TypeError, match=r"Precomputed\(\) needs dense rows; convert the sparse matrix with X\.toarray"):
        KernelPCA(2, kernel="precomputed").fit(sp.csr_array(np.eye(5)))


@pytest.mark.parametrize(
    "function, error, sentence",
    [
        (lambda A, B: A[:, 0], ValueError, r"the kernel function returned shape \(\d+,\) for \d+ and \d+ rows"),
        (lambda A, B: (A @ B.T)[:-1], ValueError, "it must return one value per pair, shape"),
        (lambda A, B: 1.0, ValueError, r"the kernel function returned shape \(\)"),
        (lambda A, B: 1j * (A @ B.T), TypeError, "returned values of type complex128; they must be real numbers"),
        (lambda A, B: (A @ B.T).astype(str), TypeError, "they must be real numbers"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), ValueError, "infinite or not numbers"),
    ],
    ids=["one dimension", "a row short", "a number", "complex", "words", "nan"],
)
@pytest.mark.parametrize("n", [20, 600])
def test_a_callable_that_returns_nonsense_is_refused(function, error, sentence, n):
    with pytest.raises(error, match=sentence):
        KernelPCA(2, kernel=function).fit(rows(n, 3))


def test_sparse_rows_for_a_kernel_that_needs_dense_ones():
    X = sparse_rows(30)
    for kernel in ("laplacian", Laplacian(0.1) + Gaussian(1.0)):
        with pytest.raises(
            TypeError, match=r"Laplacian.* needs dense rows; convert the sparse matrix with X\.toarray\(\)"
        ):
            KernelPCA(2, kernel=kernel).fit(X)
    model = KernelPCA(2, kernel="laplacian").fit(X.toarray())
    with pytest.raises(TypeError, match="needs dense rows"):
        model.transform(X)
    assert KernelPCA(2).fit(X).transform(X.toarray()).shape == (30, 2)


def test_a_precomputed_kernel_brings_back_numbers_of_training_points():
    X = rows(40, 3)
    K = Gaussian(0.7)(X, X)
    model = KernelPCA(20, kernel="precomputed", preimage=Nearest()).fit(K)
    found = model.inverse_transform(model.transform(K))[:, 0]
    assert np.mean(found == np.arange(40)) > 0.9


# Habits of scikit-learn


@pytest.mark.parametrize("kind", [KernelPCA, InvertibleKernelPCA, compat.KernelPCA])
def test_inverse_transform_takes_x_by_that_name_and_routes_nothing(kind):
    X = rows(30, 3)
    settings = {"fit_inverse_transform": True} if kind is compat.KernelPCA else {}
    model = kind(2, **settings).fit(X)
    codes = model.transform(X)
    np.testing.assert_array_equal(model.inverse_transform(X=codes), model.inverse_transform(codes))
    assert not hasattr(kind, "set_inverse_transform_request")
    assert not hasattr(kind, "set_transform_request")


def test_nan_names_what_fills_gaps():
    X = rows(30, 3)
    model = KernelPCA(2).fit(X)
    for verb in (model.transform, model.denoise, model.project, model.score_samples):
        with pytest.raises(ValueError, match=r"contains NaN\. KernelPCA\.impute fills the gaps of rows"):
            verb(NAN)
    for estimator in (KernelPCA(2), KernelKMeans(2), InvertibleKernelPCA(2), Denoiser()):
        sentence = rf"contains NaN\. {type(estimator).__name__} is fitted on complete rows: .* with preimage\.Imputer"
        with pytest.raises(ValueError, match=sentence):
            estimator.fit(NAN)
    with pytest.raises(ValueError, match=r"contains NaN\. KernelPCA is fitted on complete rows"):
        KernelPCA(2, approximation=10).partial_fit(NAN)
    with pytest.raises(ValueError, match=r"contains NaN\. KernelKMeans takes complete rows"):
        KernelKMeans(2).fit(X).predict(NAN)
    with pytest.raises(ValueError, match=r"contains NaN\. A kernel matrix must be complete"):
        KernelPCA(2, kernel="precomputed").fit(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        model.denoise(np.full((2, 3), np.inf))


@pytest.mark.parametrize("approximation", [None, 10])
@pytest.mark.parametrize("settings", [{"center": "no"}, {"copy_X": 1}, {"copy_X": None}], ids=str)
def test_flags_are_true_or_false(settings, approximation):
    ((name, value),) = settings.items()
    with pytest.raises(TypeError, match=rf"{name} must be True or False, not {value!r}\."):
        KernelPCA(2, approximation=approximation, **settings).fit(rows(20, 3))
    if approximation is None:
        with pytest.raises(TypeError, match=rf"{name} must be True or False, not {value!r}\."):
            InvertibleKernelPCA(2, **settings).fit(rows(20, 3))


def test_values_k_x_x_of_a_precomputed_kernel_are_one_per_row():
    K = rows(20, 3) @ rows(20, 3).T
    with pytest.raises(ValueError, match=r"diagonal must hold one value per row, shape \(20,\), not \(3,\)"):
        KernelPCA(2, kernel="precomputed").fit(K).score_samples(K, np.ones(3))


# Fitted again


def test_a_refit_leaves_nothing_of_a_compression_or_an_approximation():
    X = rows(60, 3)
    small = KernelPCA(3, approximation=30, random_state=0).fit(X).compress(20)
    assert not hasattr(small, "trace_error_")
    assert len(small.compression_errors_) == 20
    small.fit(X)
    assert not hasattr(small, "compression_errors_")
    assert hasattr(small, "trace_error_")
    assert not hasattr(small.set_params(approximation=None).fit(X), "trace_error_")


# A kernel of one's own


class Bell(Kernel):
    """A Gaussian that is no dataclass."""

    def __call__(self, X, Y):
        return np.exp(-np.square(X[:, None] - Y[None]).sum(axis=2) / 5)

    def diagonal(self, X):
        return np.ones(X.shape[0], dtype=X.dtype)


def test_a_kernel_that_is_no_dataclass_serves_like_any_other():
    X, same = rows(60, 3), Gaussian(np.sqrt(2.5))
    for approximation in (None, Nystrom(X[:40])):
        own, ours = (
            KernelPCA(3, kernel=kernel, approximation=approximation, random_state=0).fit(X) for kernel in (Bell(), same)
        )
        np.testing.assert_allclose(own.transform(X), ours.transform(X), atol=1e-9)
    assert own.denoise(X[:5]).shape == (5, 3)
    labels = [KernelKMeans(3, kernel=kernel, random_state=0).fit(X).labels_ for kernel in (Bell(), same)]
    np.testing.assert_array_equal(*labels)
    summed = KernelPCA(2, kernel=Bell() + Gaussian()).fit(X)
    assert summed.kernel_.right.length_scale > 0
    assert not scales.takes_rows(Bell())
