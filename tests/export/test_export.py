"""Programs against the estimators that they describe; ONNX and torch against numpy, on every supported combination."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.decomposition import PCA

from preimage import Decoder, Denoiser, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, export
from preimage.decoding import Mean
from preimage.exceptions import NotExpressible
from preimage.export.onnx_file import onnx_model
from preimage.export.program import Program, Symbol, loop
from preimage.features import Nystrom, RandomFourier
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid
from preimage.preimages import Conformal, Distance, FixedPoint, Learned, Nearest, OneStep, Wiener

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

BATCHES = (1, 7, 1000)
PRECISIONS = {np.float64: 1e-9, np.float32: 1e-4}


def _rows(n, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ np.random.default_rng(9).standard_normal((3, 6)) / 2 + rng.normal(
        0, 0.2, (n, 6)
    )


ROWS, NEW = _rows(80, 0), _rows(1000, 1)
KERNELS = {
    "gaussian": Gaussian(2.0),
    "polynomial": Polynomial(gamma=0.1, coef0=1.0, degree=3),
    "linear": Linear(),
    "sigmoid": Sigmoid(gamma=0.05, coef0=0.1),
    "matern-1/2": Matern(2.0, nu=0.5),
    "matern-3/2": Matern(2.0, nu=1.5),
    "matern-5/2": Matern(2.0, nu=2.5),
    "rational-quadratic": RationalQuadratic(2.0, alpha=0.7),
    "sum": Gaussian(2.0) + 0.3 * Linear(),
    "product": Gaussian(3.0) * Matern(2.0, nu=2.5),
}
METHODS = [Learned(), Conformal(), Wiener(), OneStep(), FixedPoint(), FixedPoint(memory=0), Nearest()]


def run_onnx(program, X):
    model = onnx_model(program, X.dtype)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return [session.run(None, {name: X[:count]})[0] for count in BATCHES if count <= len(X)]


def run_torch(program, X):
    """By torch, where it is installed."""
    if find_spec("torch") is None:
        return []
    rows = import_module("torch").asarray(X)
    return [export.evaluate(program, rows[:count]).numpy() for count in BATCHES if count <= len(X)]


def check(model, method, X, expected, accuracy=1e-9):
    """The program answers as the estimator does, in both precisions, and ONNX and torch as the program does."""
    size = np.abs(expected).max()
    for dtype, bound in PRECISIONS.items():
        program, rows = export.to_program(model, method, dtype), X.astype(dtype)
        found = export.evaluate(program, rows)
        assert np.abs(found - expected).max() <= max(bound, accuracy) * size
        for answer in (*run_onnx(program, rows), *run_torch(program, rows)):
            assert answer.dtype == found.dtype and answer.shape == (len(answer), *found.shape[1:])
            assert np.abs(answer - found[: len(answer)]).max() <= bound * size


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
def test_codes_and_scores(kernel):
    model = KernelPCA(3, kernel=kernel).fit(ROWS)
    check(model, "transform", NEW, model.transform(NEW))
    check(model, "score_samples", NEW, model.score_samples(NEW))


@pytest.mark.parametrize("approximation", [Nystrom(ROWS[::4]), RandomFourier(200)], ids=["landmarks", "Fourier"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(3.0, nu=1.5)], ids=["gaussian", "matern"])
def test_models_on_features(approximation, kernel):
    model = KernelPCA(3, kernel=kernel, approximation=approximation, random_state=0).fit(ROWS)
    check(model, "transform", NEW, model.transform(NEW))
    check(model, "score_samples", NEW, model.score_samples(NEW))
    check(model, "denoise", NEW, model.denoise(NEW))
    codes = model.transform(NEW)
    check(model, "inverse_transform", codes, model.inverse_transform(codes))


@pytest.mark.parametrize(
    "kernel", ["gaussian", "polynomial", "rational-quadratic", "matern-3/2", "matern-5/2", "product"]
)
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.filterwarnings("ignore::preimage.exceptions.ConvergenceWarning")
def test_preimages(kernel, method):
    kernel = KERNELS[kernel]
    if isinstance(method, OneStep) and not hasattr(kernel, "log_slope"):
        pytest.skip("OneStep needs a kernel of the distance with an inverse")
    model = KernelPCA(3, kernel=kernel, preimage=method).fit(ROWS)
    rows = NEW[:60] if isinstance(method, FixedPoint) else NEW
    reached = np.ones(len(rows), dtype=bool)
    if isinstance(method, FixedPoint):  # rows that fail are started again by the estimator alone
        found = model.find_preimages(rows)
        reached = found.converged & (found.steps < method.max_iter)
    check(model, "denoise", rows[reached], model.denoise(rows[reached]))


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_codes_are_decoded(method):
    model = KernelPCA(3, kernel=Gaussian(2.0), preimage=method).fit(ROWS)
    codes = model.transform(NEW[:60])
    iterated = isinstance(method, FixedPoint)  # the program starts elsewhere, and stops within the tolerance of a step
    check(model, "inverse_transform", codes, model.inverse_transform(codes), accuracy=1e-2 if iterated else 1e-9)


def test_clusters():
    model = KernelKMeans(3, kernel=Gaussian(2.0), random_state=0).fit(ROWS)
    check(model, "transform", NEW, model.transform(NEW))
    program = export.to_program(model, "predict")
    np.testing.assert_array_equal(export.evaluate(program, NEW), model.predict(NEW))
    for labels in (*run_onnx(program, NEW), *run_torch(program, NEW)):
        np.testing.assert_array_equal(labels, model.predict(NEW)[: len(labels)])


@pytest.mark.parametrize("activation", ["sine", "relu"])
def test_invertible_kernel_pca(activation):
    model = InvertibleKernelPCA(3, activation=activation, n_features=60, random_state=0).fit(ROWS)
    codes = model.transform(NEW)
    check(model, "transform", NEW, codes)
    for method, X in (("denoise", NEW), ("inverse_transform", codes)):
        check(model, method, X, getattr(model, method)(X))


def test_decoder_monitor_and_denoiser():
    learned, near, both = (Decoder(method).fit(ROWS[:, :2], ROWS) for method in ("learned", "neighbors", "learned"))
    both.map_ = Mean(learned.map_, near.map_)
    for decoder in (learned, near, both):
        check(decoder, "predict", NEW[:, :2], decoder.predict(NEW[:, :2]))
    monitor = Monitor(KernelPCA(3, kernel=Gaussian(3.0)), alpha=0.05).fit(ROWS)
    check(monitor, "statistics", NEW, np.column_stack(monitor.statistics(NEW)))
    check(monitor, "score_samples", NEW, monitor.score_samples(NEW))
    denoiser = Denoiser(examples="clean", noise=0.5, n_landmarks=30, random_state=0).fit(ROWS)
    assert denoiser.stack_.levels
    check(denoiser, "transform", NEW, denoiser.transform(NEW), accuracy=1e-4)  # it computes in single precision


def test_what_cannot_be_expressed_is_refused_with_what_can():
    model = KernelPCA(3, kernel=Laplacian(0.1), preimage="learned").fit(ROWS)
    with pytest.raises(NotExpressible, match="Kernels of the distance"):
        export.to_program(model)
    model = KernelPCA(3, kernel=Gaussian(2.0), preimage=Distance()).fit(ROWS)
    with pytest.raises(NotExpressible, match=r"Distance\(\) cannot be exported; Learned\(\), Conformal\(\)"):
        export.to_program(model, "denoise")
    model = KernelPCA(3, kernel=Gaussian(2.0), preimage="convex").fit(ROWS)
    with pytest.raises(NotExpressible, match=r"ConvexCombination\(\) cannot be exported"):
        export.to_program(model, "denoise")
    with pytest.raises(NotExpressible, match=r"KernelPCA.impute cannot be exported; transform, score_samples"):
        export.to_program(model, "impute")
    with pytest.raises(NotExpressible, match="PCA cannot be exported; KernelPCA, Standardised, KernelKMeans"):
        export.to_program(PCA(2).fit(ROWS))
    with pytest.raises(NotExpressible, match="random features have no points"):
        rf = KernelPCA(3, kernel=Gaussian(2.0), approximation=RandomFourier(50), preimage="nearest").fit(ROWS)
        export.to_program(rf, "denoise")
    cusp = KernelPCA(3, kernel=Matern(2.0, nu=0.5), preimage=FixedPoint()).fit(ROWS)
    assert export.evaluate(export.to_program(cusp, "denoise"), NEW).shape == NEW.shape
    with pytest.raises(NotExpressible, match=r"FixedPoint\(\) cannot be exported in float32 .*: export it in float64"):
        export.to_program(cusp, "denoise", np.float32)
    with pytest.raises(NotExpressible, match="lags or a memory"):
        export.to_program(Monitor("linear", lags=1, alpha=0.05, random_state=0).fit(ROWS), "statistics")
    with pytest.raises(NotExpressible, match="distances of a Decoder cannot be exported"):
        export.to_program(Decoder("distances").fit(ROWS[:, :2], ROWS), "predict")


@pytest.mark.parametrize(
    "method",
    [Learned(n_landmarks=100), Conformal(), OneStep(), FixedPoint(), Nearest()],
    ids=lambda m: type(m).__name__,
)
def test_files_are_small_and_tell_what_they_are(method, tmp_path):
    X = np.random.default_rng(0).standard_normal((120, 64))
    model = KernelPCA(10, kernel=Gaussian(8.0), preimage=method).fit(X).compress(100)
    for asked in ("transform", "score_samples", "denoise", "inverse_transform"):
        path = tmp_path / f"{asked}.onnx"
        export.to_onnx(model, path, asked)
        assert path.stat().st_size < 100_000
        props = {prop.key: prop.value for prop in onnx.load(path).metadata_props}
        assert props["model"] == "KernelPCA" and props["method"] == asked
        assert props["rows"] == ("10" if asked == "inverse_transform" else "64")


def test_matrices_that_single_precision_holds_take_half_the_bytes_and_lose_nothing():
    rng = np.random.default_rng(0)
    short, exact = rng.standard_normal((30, 40)).astype(np.float32).astype(float), rng.standard_normal((30, 40))
    X, sizes, rows = Symbol.input("X"), [], rng.standard_normal((7, 30))
    for matrix in (short, exact):
        program = Program("product", X, X @ matrix + X @ matrix, 30)
        sizes.append(onnx_model(program).ByteSize())
        np.testing.assert_allclose(run_onnx(program, rows)[-1], 2 * rows @ matrix, rtol=0, atol=1e-13)
    assert 1150 * 4 < sizes[1] - sizes[0] <= 1200 * 4


def test_formulas_are_recorded_and_loops_stop_when_all_rows_have():
    X = Symbol.input("X")

    def halve(Z, going):
        return np.where(going[:, None], Z / 2.0, Z), going & ((Z * Z).sum(axis=1) > 4.0)

    program = Program("halve", X, loop(halve, (X, (X * X).sum(axis=1) > 1.0), 50)[0], 1)
    starts = np.array([[0.5], [3.0], [100.0]])
    expected = [[0.5], [0.75], [100.0 / 2**7]]
    np.testing.assert_allclose(export.evaluate(program, starts), expected)
    np.testing.assert_allclose(run_onnx(program, starts)[0], expected[:1])
    assert "loop" in str(program)


def test_programs_read_rows_as_estimators_do():
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(ROWS)
    program, whole = export.to_program(model), np.arange(12).reshape(2, 6)
    for rows in (whole, whole.tolist(), whole.astype(np.float16)):
        np.testing.assert_allclose(export.evaluate(program, rows), model.transform(whole), atol=1e-12)
    with pytest.raises(ValueError, match="rows of 6 columns are needed"):
        export.evaluate(program, whole[:, :2])
    with pytest.raises(TypeError, match="float32 or float64, not float16"):
        export.to_program(model, dtype="float16")
    with pytest.raises(TypeError, match="float32 or float64, not int64"):
        export.to_program(model, dtype=np.int64)


def test_the_arc_tangent_of_doubles_is_exact_in_every_quadrant():
    angles = np.linspace(-np.pi, np.pi, 401)[1:]
    rows = np.column_stack([np.sin(angles), np.cos(angles)]) * np.linspace(0.1, 9, 400)[:, None]
    X = Symbol.input("X")
    program = Program("angle", X, np.arctan2(X[:, 0:1], X[:, 1:2]), 2)
    model = onnx_model(program)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": rows})[0][:, 0], angles, atol=1e-14)
