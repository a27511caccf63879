"""Tensors in, tensors out: torch and array-api-strict against numpy, and gradients against finite differences."""

import pickle

import numpy as np
import pytest
from sklearn import config_context

from preimage import Decoder, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, Standardised, export
from preimage.features import Nystrom, RandomFourier
from preimage.kernels import Gaussian, Matern, Polynomial, RationalQuadratic
from preimage.preimages import Conformal, FixedPoint, Learned, OneStep, Wiener
from preimage.tensors import as_numpy

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((120, 3)) @ RNG.standard_normal((3, 6)) / 2 + RNG.normal(0, 0.2, (120, 6))
NEW, ROWS = ROWS[:20] + 0.05, ROWS[20:]
MODELS = [None, Nystrom(ROWS[::4]), RandomFourier(60)]


@pytest.fixture(params=["torch", "array_api_strict"])
def tensor(request):
    library = pytest.importorskip(request.param)
    return lambda X, dtype=np.float64: library.asarray(np.array(X, dtype=dtype))


def close(found, expected, like, rtol):
    assert type(found) is type(like) and found.dtype == like.dtype
    np.testing.assert_allclose(as_numpy(found), expected, rtol=0, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("preimage", [Conformal(), Learned()], ids=["conformal", "learned"])
@pytest.mark.parametrize("approximation", MODELS, ids=["exact", "landmarks", "Fourier"])
def test_kernel_pca_follows_its_rows(approximation, preimage, tensor):
    model = KernelPCA(3, kernel=Gaussian(2.0), approximation=approximation, preimage=preimage, random_state=0)
    model.fit(ROWS)
    codes = model.transform(NEW)
    for dtype, rtol in ((np.float64, 1e-9), (np.float32, 1e-4)):
        X, Z = tensor(NEW, dtype), tensor(codes, dtype)
        close(model.transform(X), codes, X, rtol)
        close(model.score_samples(X), model.score_samples(NEW), X, rtol)
        close(model.denoise(X), model.denoise(NEW), X, rtol)
        close(model.inverse_transform(Z), model.inverse_transform(codes), X, rtol)


@pytest.mark.parametrize("approximation", MODELS, ids=["exact", "landmarks", "Fourier"])
def test_a_fit_on_tensors_is_the_fit_on_their_numbers(approximation, tensor):
    def make():
        return KernelPCA(3, kernel=Gaussian(2.0), approximation=approximation, random_state=0)

    ours, theirs = make().fit(ROWS), make().fit(tensor(ROWS))
    np.testing.assert_allclose(theirs.eigenvalues_, ours.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(theirs.score_samples(NEW), ours.score_samples(NEW), atol=1e-9)


def test_other_estimators_follow_their_rows(tensor):
    X = tensor(NEW)
    clusters = KernelKMeans(3, kernel=Gaussian(2.0), random_state=0).fit(tensor(ROWS))
    np.testing.assert_array_equal(as_numpy(clusters.predict(X)), clusters.predict(NEW))
    inverted = InvertibleKernelPCA(3, n_features=40, random_state=0).fit(ROWS)
    close(inverted.denoise(X), inverted.denoise(NEW), X, 1e-9)
    decoder = Decoder("learned").fit(tensor(ROWS[:, :2]), tensor(ROWS))
    close(decoder.predict(tensor(NEW[:, :2])), decoder.predict(NEW[:, :2]), X, 1e-9)


def test_standardised_models_and_monitors_follow_their_rows(tensor):
    X = tensor(NEW)
    model = Standardised(KernelPCA(3, random_state=0)).fit(ROWS)
    codes = model.transform(NEW)
    for method, rows in (("transform", X), ("score_samples", X), ("denoise", X), ("inverse_transform", tensor(codes))):
        close(getattr(model, method)(rows), getattr(model, method)(as_numpy(rows)), X, 1e-9)
    close(model.model_.transform(X), model.model_.transform(NEW), X, 1e-9)
    monitor = Monitor(KernelPCA(3, random_state=0), alpha=0.05).fit(ROWS)
    labels = monitor.predict(X)
    assert type(labels) is type(X)
    np.testing.assert_array_equal(as_numpy(labels), monitor.predict(NEW))


@pytest.mark.parametrize("approximation", MODELS, ids=["exact", "landmarks", "Fourier"])
def test_codes_of_training_tensors_are_tensors(approximation, tensor):
    model = KernelPCA(3, kernel=Gaussian(2.0), approximation=approximation, random_state=0)
    X = tensor(ROWS)
    close(model.fit_transform(X), model.transform(ROWS), X, 1e-9)


def test_tensors_that_are_not_finite_are_refused(tensor):
    model = KernelPCA(3, kernel=Polynomial(degree=3)).fit(ROWS)
    for value in (np.nan, np.inf):
        rows = NEW.copy()
        rows[1, 2] = value
        for method in ("transform", "score_samples", "denoise"):
            with pytest.raises(ValueError, match="X contains NaN or infinity"):
                getattr(model, method)(tensor(rows))
    with pytest.raises(ValueError, match=r"KernelPCA.transform overflows for these rows"):
        model.transform(tensor(NEW * 1e150))


def test_what_tensors_cannot_have_is_refused(tensor):
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(ROWS)
    with pytest.raises(ValueError, match="rows of 6 columns are needed"):
        model.transform(tensor(NEW[:, :2]))
    with pytest.raises(ValueError, match="denoise takes no outlier_scale with a tensor"):
        model.denoise(tensor(NEW), outlier_scale=1.0)
    with pytest.raises(TypeError, match="float32 or float64"):
        model.transform(tensor(NEW, np.int64))


def test_scikit_learns_dispatch_changes_nothing(monkeypatch):
    library = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X = library.asarray(NEW)
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(ROWS)
    try:
        with config_context(array_api_dispatch=True):
            found = KernelPCA(3, kernel=Gaussian(2.0)).fit(library.asarray(ROWS)).transform(X)
            close(model.transform(X), model.transform(NEW), X, 1e-9)
    except (RuntimeError, ImportError) as error:
        pytest.skip(str(error))  # scipy reads the variable when imported, scikit-learn 1.6 needs array_api_compat
    np.testing.assert_allclose(np.abs(as_numpy(found)), np.abs(model.transform(NEW)), atol=1e-9)


@pytest.mark.parametrize("method", ["transform", "score_samples", "denoise"])
@pytest.mark.parametrize("preimage", [Learned(), Conformal(), Wiener(), OneStep(), FixedPoint(max_iter=5)], ids=repr)
def test_gradients_are_those_of_finite_differences(method, preimage):
    check_gradient(KernelPCA(3, kernel=Gaussian(2.0), preimage=preimage), method)


@pytest.mark.parametrize("method", ["transform", "denoise"])
@pytest.mark.parametrize(
    "kernel", [Polynomial(gamma=0.1, degree=3), Matern(2.0, nu=2.5), RationalQuadratic(2.0)], ids=str
)
def test_gradients_of_other_kernels(method, kernel):
    check_gradient(KernelPCA(3, kernel=kernel, preimage=FixedPoint(max_iter=5)), method)


@pytest.mark.parametrize("method", ["transform", "denoise"])
@pytest.mark.parametrize("approximation", MODELS[1:], ids=["landmarks", "Fourier"])
def test_gradients_of_models_on_features(method, approximation):
    check_gradient(KernelPCA(3, kernel=Gaussian(2.0), approximation=approximation, preimage=Conformal()), method)


def check_gradient(model, method):
    """The gradient of a random combination of the answers, by torch and by central differences of numpy's program."""
    torch = pytest.importorskip("torch")
    model.set_params(random_state=0).fit(ROWS)
    module, program = export.to_torch(model, method), export.to_program(model, method)
    X = torch.tensor(NEW[:3], requires_grad=True)
    answer = module(X)
    weights = np.random.default_rng(1).standard_normal(tuple(answer.shape))
    (answer * torch.tensor(weights)).sum().backward()
    step, slopes = 1e-5, np.empty((3, 6))
    for i, j in np.ndindex(3, 6):
        moved = np.zeros((3, 6))
        moved[i, j] = step
        ends = [np.sum(weights * export.evaluate(program, NEW[:3] + sign * moved)) for sign in (1, -1)]
        slopes[i, j] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(X.grad.numpy(), slopes, rtol=0, atol=1e-5 * np.abs(slopes).max())


def test_gradients_are_finite_at_training_rows_of_kernels_with_roots():
    torch = pytest.importorskip("torch")
    X = torch.tensor(ROWS[:5], requires_grad=True)
    export.to_torch(KernelPCA(3, kernel=Matern(2.0, nu=1.5)).fit(ROWS))(X).sum().backward()
    assert torch.isfinite(X.grad).all()


def test_a_module_moves_to_single_precision():
    torch = pytest.importorskip("torch")
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(ROWS)
    module = export.to_torch(model).float()
    assert module(torch.tensor(NEW, dtype=torch.float32)).dtype == torch.float32
    assert all(buffer.dtype == torch.float32 for buffer in module.buffers())


def test_a_module_of_single_precision_keeps_the_weights_of_a_learned_map_in_double():
    torch = pytest.importorskip("torch")
    model = KernelPCA(3, kernel=RationalQuadratic(2.0, alpha=0.7), preimage=Learned()).fit(ROWS)
    module, X = export.to_torch(model, "denoise", np.float32), torch.tensor(NEW, dtype=torch.float32)
    close(module(X), model.denoise(NEW), X, 1e-4)
    assert {buffer.dtype for buffer in module.buffers()} == {torch.float32, torch.float64}
    assert module.float()(X).dtype == torch.float32


def test_a_module_can_be_pickled():
    torch = pytest.importorskip("torch")
    module = export.to_torch(KernelPCA(3, kernel=Gaussian(2.0)).fit(ROWS), "denoise").float()
    copied = pickle.loads(pickle.dumps(module))
    X = torch.tensor(NEW, dtype=torch.float32)
    assert type(copied) is type(module) and torch.equal(copied(X), module(X))


def test_a_module_says_which_rows_it_takes():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"X has the shape \(20, 2\), but rows of 6 columns are needed"):
        export.to_torch(KernelPCA(3).fit(ROWS))(torch.tensor(NEW[:, :2]))
