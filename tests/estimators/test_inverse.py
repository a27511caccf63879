"""KernelPCA's way back: decoding, denoising, gaps, outliers, pictures of eigenvectors."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits

from preimage import KernelPCA
from preimage.datasets import half_circle
from preimage.exceptions import ConvergenceWarning, NothingFilteredWarning
from preimage.imputation import GaussianModel
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from preimage.noise import GaussianNoise, SaltAndPepper
from preimage.preimages import (
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    OneStep,
)
from preimage.statistics import metrics

METHODS = [FixedPoint(), Gradient(), Distance(), Learned(), Conformal(), OneStep(), ConvexCombination(), Nearest()]


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data / 16
    order = np.random.default_rng(0).permutation(len(X))
    return X[order[:600]], X[order[600:700]]


def snr(clean, denoised):
    return metrics.snr(clean, denoised).mean()


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_denoises_digits_by_decibels(digits, method):
    train, clean = digits
    noisy = clean + 0.25 * np.random.default_rng(1).standard_normal(clean.shape)
    kpca = KernelPCA(64, kernel=Gaussian(2.5), preimage=method).fit(train)
    found = kpca.find_preimages(noisy)
    np.testing.assert_array_equal(kpca.denoise(noisy), found.points)
    assert 1.5 < snr(clean, found.points) - snr(clean, noisy) < 9
    assert found.converged.mean() > 0.95
    assert (found.residual < 2).all()


@pytest.mark.parametrize("method", ["auto", *METHODS], ids=str)
def test_rows_of_single_precision_have_the_answers_of_double_precision(method):
    """Round-off moves codes by a few eps, and answers, which are least squares, by no more than √eps of the spread."""
    X = (half_circle(300, random_state=0).X @ np.random.default_rng(0).standard_normal((2, 4))).astype(np.float32)
    X += 0.1 * np.random.default_rng(1).standard_normal(X.shape).astype(np.float32)
    train, new, found = X[:250], X[250:], {}
    for dtype in (np.float64, np.float32):
        kpca = KernelPCA(8, kernel=Gaussian(1.0), preimage=method, random_state=0).fit(train.astype(dtype))
        found[dtype] = kpca.denoise(new.astype(dtype)), kpca.inverse_transform(kpca.transform(new.astype(dtype)))
    limit = np.sqrt(np.finfo("f4").eps) * X.std()
    for single, double in zip(found[np.float32], found[np.float64], strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=0, atol=limit)


@pytest.mark.slow
def test_knowing_the_noise_is_worth_a_decibel(digits):
    train, clean = digits
    noisy = clean + 0.35 * np.random.default_rng(1).standard_normal(clean.shape)
    kpca = KernelPCA(64, kernel=Gaussian(2.5), preimage=Learned(), random_state=0).fit(train)
    aware = clone(kpca).set_params(preimage__noise=GaussianNoise(0.35)).fit(train)
    assert snr(clean, aware.denoise(noisy)) > snr(clean, kpca.denoise(noisy)) + 1
    np.testing.assert_array_equal(aware.denoise(noisy[:5]), clone(aware).fit(train).denoise(noisy[:5]))


def test_decoding_reconstructs_digits_and_restores_the_mean(digits):
    train, clean = digits
    kpca = KernelPCA(100).fit(train)
    error = ((kpca.inverse_transform(kpca.transform(clean)) - clean) ** 2).mean()
    assert 0.0005 < error < 0.08 * clean.var()
    shifted = KernelPCA(40, kernel=Linear()).fit(train + 3)
    back = shifted.inverse_transform(shifted.transform(clean + 3))
    assert ((back - clean - 3) ** 2).mean() < 0.05 * clean.var()


@pytest.mark.parametrize("method", [Distance(), FixedPoint(), Gradient()])
def test_with_all_components_training_points_come_back(method):
    X = np.random.default_rng(0).standard_normal((40, 3))
    kpca = KernelPCA(kernel=Gaussian(0.7), preimage=method).fit(X)
    np.testing.assert_allclose(kpca.inverse_transform(kpca.transform(X)), X, atol=1e-5)


def test_batches_that_fit_the_memory_give_the_same_answers(digits):
    train, clean = digits
    kpca = KernelPCA(30, preimage=FixedPoint()).fit(train)
    whole = kpca.find_preimages(clean)
    with config_context(working_memory=0.25):
        found = kpca.find_preimages(clean)
        np.testing.assert_allclose(found.points, whole.points, atol=1e-6)
        np.testing.assert_allclose(found.residual, whole.residual, atol=1e-8)
    np.testing.assert_allclose(found.targets.codes, kpca.transform(clean), atol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_memory_stays_within_the_budget_and_none_is_kept(digits, method):
    """Weights of all rows on all points would take 9 MiB."""
    train, _ = digits
    rows = np.tile(train, (4, 1))[:2000] + 0.1 * np.random.default_rng(0).standard_normal((2000, 64))
    kpca = KernelPCA(8, kernel=Gaussian(2.5), preimage=method, random_state=0).fit(train)
    kpca.denoise(rows[:2])  # prepares the method
    with config_context(working_memory=1):
        tracemalloc.start()
        found = kpca.find_preimages(rows)
        kept, peak = (size / 2**20 for size in tracemalloc.get_traced_memory())
        tracemalloc.stop()
    answers = (found.points.nbytes + found.targets.codes.nbytes) / 2**20
    assert kept < 1.5 * answers
    assert peak < 2 + 3 * answers


def test_rows_that_fail_in_several_batches_give_one_warning(digits):
    train, clean = digits
    kpca = KernelPCA(30, preimage=FixedPoint(tol=1e-14, max_iter=1)).fit(train)
    with config_context(working_memory=0.25), pytest.warns(ConvergenceWarning, match="100 of 100") as caught:
        kpca.denoise(clean)
    assert len(caught) == 1


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_calls_leave_nothing_behind(digits, method):
    train, clean = digits
    kpca = KernelPCA(8, kernel=Gaussian(2.5), preimage=method, random_state=0).fit(train)
    before, attributes = pickle.dumps(kpca), set(vars(kpca))
    answer = kpca.denoise(clean)
    kpca.inverse_transform(kpca.transform(clean))
    kpca.impute(np.where(clean == 1, np.nan, clean))
    assert set(vars(kpca)) == attributes
    assert len(pickle.dumps(kpca)) == len(before)
    np.testing.assert_array_equal(pickle.loads(before).denoise(clean), answer)


@pytest.mark.parametrize("approximation", [None, 200])
def test_threads_may_share_a_model_and_its_method_is_prepared_once(digits, approximation, monkeypatch):
    train, clean = digits
    prepared, plain = [], Learned.prepare
    monkeypatch.setattr(Learned, "prepare", lambda *args: prepared.append(1) or plain(*args))
    settings = {"kernel": Gaussian(2.5), "approximation": approximation, "random_state": 0}
    methods = [Learned(), FixedPoint()]
    expected = [KernelPCA(16, preimage=method, **settings).fit(train).denoise(clean) for method in methods]
    models = [KernelPCA(16, preimage=method, **settings).fit(train) for method in methods]
    prepared.clear()
    parts = [slice(start, start + 10) for start in range(0, 100, 10)]
    with ThreadPoolExecutor(4) as pool:
        for model, answer in zip(models, expected, strict=True):
            found = list(pool.map(lambda part, model=model: model.find_preimages(clean[part]), parts))
            np.testing.assert_allclose(np.concatenate([part.points for part in found]), answer, atol=1e-9)
            codes = np.concatenate([part.targets.codes for part in found])
            np.testing.assert_allclose(codes, model.transform(clean), atol=1e-12)
    assert prepared == [1]


def test_codes_are_decoded_with_a_report(digits):
    train, clean = digits
    kpca = KernelPCA(16, preimage=FixedPoint()).fit(train)
    codes = kpca.transform(clean)
    found = kpca.find_preimages(codes=codes)
    np.testing.assert_array_equal(found.points, kpca.inverse_transform(codes))
    np.testing.assert_array_equal(found.targets.codes, codes)
    assert found.converged.all() and found.steps.max() > 1
    expected = kpca.project(clean).distances2(found.points).diagonal()
    np.testing.assert_allclose(found.residual, expected, atol=1e-10)
    for wrong in ({}, {"X": clean, "codes": codes}):
        with pytest.raises(ValueError, match="either the rows X"):
            kpca.find_preimages(**wrong)


@pytest.mark.parametrize(
    "method", [Gradient(box=[0, 1]), Learned(noise=GaussianNoise(0.1, clip=[-1, 1]))], ids=lambda m: type(m).__name__
)
def test_settings_given_as_lists_serve(digits, method):
    train, clean = digits
    kpca = KernelPCA(8, preimage=method, random_state=0).fit(train)
    assert kpca.denoise(clean[:5]).shape == (5, 64)
    assert isinstance(method.box if isinstance(method, Gradient) else method.noise.clip, tuple)


def test_denoising_with_all_components_warns(digits):
    with pytest.warns(NothingFilteredWarning, match="filters nothing"):
        KernelPCA().fit(digits[0][:50]).denoise(digits[0][:5])


@pytest.mark.parametrize(
    ("kernel", "method", "sentence"),
    [
        (Laplacian(), Distance(), "Gradient"),
        (Polynomial(), OneStep(), "Distance"),
        (lambda X, Y: X @ Y.T, Gradient(), "Learned"),
        ("precomputed", Learned(), "Nearest"),
    ],
)
def test_a_method_the_kernel_cannot_serve_is_refused_at_fit(kernel, method, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelPCA(2, kernel=kernel, preimage=method).fit(np.eye(5))


def test_a_precomputed_kernel_names_training_points(digits):
    train, _ = digits
    kernel = Gaussian(2.0)
    kpca = KernelPCA(200, kernel="precomputed").fit(kernel(train, train))
    found = kpca.denoise(kernel(train[:50], train))
    assert (found[:, 0] == np.arange(50)).mean() > 0.9
    assert found.dtype.kind == "i"


def test_gaps_are_filled_and_the_rest_is_left_alone(digits):
    train, clean = digits
    holes = np.random.default_rng(2).random(clean.shape) < 0.3
    gappy = np.where(holes, np.nan, clean)
    kpca = KernelPCA(200).fit(train)
    filled = kpca.impute(gappy)
    np.testing.assert_array_equal(filled[~holes], clean[~holes])
    error = np.sqrt(np.mean((filled - clean)[holes] ** 2))
    by_mean = np.sqrt(np.mean((train.mean(axis=0) - clean)[holes] ** 2))
    by_gaussian = np.sqrt(np.mean((GaussianModel.of(train)(gappy) - clean)[holes] ** 2))
    assert 0.4 * by_mean < error < 0.6 * by_mean
    assert error < 0.97 * by_gaussian
    np.testing.assert_array_equal(kpca.impute(clean), clean)


def test_gaps_at_fit_and_infinities_are_refused(digits):
    bad = digits[0].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelPCA(2).fit(bad)
    kpca = KernelPCA(2).fit(digits[0])
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        kpca.impute(bad)


def test_damping_outliers_helps_where_there_are_some_and_costs_little_where_not(digits):
    train, clean = digits
    spoilt = SaltAndPepper(0.15, low=-1, high=2)(clean, np.random.default_rng(3))
    kpca = KernelPCA(40, kernel=Gaussian(3.0), preimage=Learned()).fit(train)
    plain, damped = snr(clean, kpca.denoise(spoilt)), snr(clean, kpca.denoise(spoilt, outlier_scale="auto"))
    assert damped > plain + 3
    noisy = GaussianNoise(0.2)(clean, np.random.default_rng(4))
    plain, damped = snr(clean, kpca.denoise(noisy)), snr(clean, kpca.denoise(noisy, outlier_scale="auto"))
    assert damped > plain - 0.5
    with pytest.raises(ValueError, match="outlier_scale must be a positive"):
        kpca.denoise(clean, outlier_scale=-1)


def test_pictures_of_eigenvectors(digits):
    """With the linear kernel an axis is its own pre-image, and its basis projections are the axis again."""
    train, _ = digits
    kpca = KernelPCA(3, kernel=Linear()).fit(train)
    plus, minus = kpca.eigenvector_preimages()
    axes = np.linalg.svd(train - train.mean(0), full_matrices=False)[2][:3]
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", plus.points, axes)), 1, atol=1e-6)
    np.testing.assert_allclose(plus.points, -minus.points, atol=1e-8)
    np.testing.assert_allclose(kpca.basis_projections(), plus.points, atol=1e-8)
    forth, back = KernelPCA(3, kernel=Matern(nu=2.5)).fit(train).eigenvector_preimages(step=2.0)
    assert np.linalg.norm(forth.points - back.points, axis=1).min() > 0.5
    assert np.isfinite(forth.points).all()


def test_the_code_must_have_the_models_width(digits):
    kpca = KernelPCA(3).fit(digits[0])
    with pytest.raises(ValueError, match="2 columns, but this model has 3 components"):
        kpca.inverse_transform(np.zeros((1, 2)))
