import io
import json
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.svm import SVC

import preimage
from helpers import COMPOSED, NAMED, rows, sparse_rows
from preimage import Denoiser, InvertibleKernelPCA, KernelKMeans, KernelPCA, compat
from preimage.exceptions import ModelFileError, PreimageWarning
from preimage.features import Nystrom, RandomFourier
from preimage.features.landmarks import KMeans
from preimage.invertible.activations import ReLU, Sine
from preimage.io import models
from preimage.io.models.classes import RENAMED, class_of, known_classes, name_of
from preimage.io.models.tree import TreeReader, TreeWriter
from preimage.kernels import Gaussian, Kernel, Laplacian, Matern
from preimage.noise import CustomNoise, GaussianNoise, SaltAndPepper
from preimage.preimages import Conformal, ConvexCombination, FixedPoint, Gradient, Learned
from preimage.reduced import machines

SAVEABLE = NAMED | {name: kernel for name, kernel in COMPOSED.items() if name != "function"}
VERBS = ("transform", "denoise", "impute", "score_samples", "predict", "score")
X, NEW = rows(60, 4), rows(9, 4, seed=1)

ESTIMATORS = {
    "exact": KernelPCA(5),
    "all components": KernelPCA(),
    "not centred": KernelPCA(0.9, center=False, solver="lanczos", random_state=3),
    "fixed point": KernelPCA(5, preimage=FixedPoint()),
    "gradient": KernelPCA(5, preimage=Gradient(box=(-3, 3))),
    "convex": KernelPCA(5, preimage=ConvexCombination()),
    "conformal": KernelPCA(5, preimage=Conformal()),
    "learned from noise": KernelPCA(5, preimage=Learned(noise=GaussianNoise(0.2, clip=(-4, 4))), random_state=0),
    "landmarks": KernelPCA(5, approximation=20, random_state=0),
    "landmarks by k-means": KernelPCA(4, approximation=Nystrom(20, sampler=KMeans()), random_state=0),
    "given landmarks": KernelPCA(5, approximation=Nystrom(X[:25])),
    "random features": KernelPCA(5, approximation=RandomFourier(40), preimage="gradient", random_state=0),
    "wide random features": KernelPCA(5, approximation=RandomFourier(400), random_state=0),
    "invertible": InvertibleKernelPCA(6, n_features=50, random_state=0),
    "invertible, Laplacian": InvertibleKernelPCA(6, activation=Sine(Laplacian(0.2)), n_features=50, random_state=0),
    "invertible, ReLU": InvertibleKernelPCA(0.95, activation=ReLU(), n_features=50, ridge=0.1, random_state=0),
    "clusters": KernelKMeans(3, random_state=0),
    "clusters on landmarks": KernelKMeans(3, approximation=20, init="random", random_state=0),
    "denoiser": Denoiser(noise=0.3, n_landmarks=30, n_stages=2, random_state=0),
    "denoiser taught by clean rows": Denoiser(
        examples="clean", noise=SaltAndPepper(0.2, -1, 1), kernel=Matern(), n_landmarks=30, n_stages=1, random_state=0
    ),
    "compat": compat.KernelPCA(5, kernel="rbf", fit_inverse_transform=True),
    "compat, polynomial": compat.KernelPCA(5, kernel="poly", degree=2, eigen_solver="arpack", random_state=1),
}


def again(model, folder):
    models.save(model, folder / "model.npz")
    return preimage.load(folder / "model.npz")


def answers(model, new=NEW):
    """All that a fitted model says of new rows, pre-images included, whatever it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreimageWarning)
        found = {verb: getattr(model, verb)(new) for verb in VERBS if hasattr(model, verb)}
        if getattr(model, "fit_inverse_transform", True) and hasattr(model, "inverse_transform"):
            found["inverse_transform"] = model.inverse_transform(found["transform"])
    return found


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for verb, value in expected.items():
        np.testing.assert_array_equal(actual[verb], value, err_msg=verb)
        assert np.asarray(actual[verb]).dtype == np.asarray(value).dtype


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_answers_bit_for_bit(name, tmp_path):
    model = ESTIMATORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreimageWarning)
        model.fit(X)
    fresh = again(model, tmp_path)  # before a pre-image method was prepared
    expected = answers(model)
    assert_same(answers(fresh), expected)
    assert_same(answers(again(model, tmp_path)), expected)  # and after
    assert_same(answers(again(fresh, tmp_path)), expected)
    assert type(fresh) is type(model)
    assert set(vars(fresh)) == set(vars(model))


def test_projections_are_saved_replaced_and_pickled_by_model_and_codes(tmp_path):
    import pickle
    from dataclasses import replace

    projection = KernelPCA(3).fit(X).project(NEW)
    expected = projection.inner(X)
    for copied in (again(projection, tmp_path), pickle.loads(pickle.dumps(projection)), replace(projection)):
        assert type(copied) is type(projection)
        np.testing.assert_array_equal(copied.codes, projection.codes)
        np.testing.assert_array_equal(copied.inner(X), expected)
        np.testing.assert_array_equal(copied.weights, projection.weights)
    some = replace(projection, codes=projection.codes[:2])
    np.testing.assert_allclose(some.norm2(), projection.norm2()[:2])
    assert len(some) == 2
    with pytest.raises(AttributeError, match="no attribute 'wieghts'"):
        some.wieghts


@pytest.mark.parametrize("name", SAVEABLE)
def test_every_kernel_comes_back_equal_and_serves_a_model(name, tmp_path):
    kernel = SAVEABLE[name]
    loaded = again(kernel, tmp_path)
    assert loaded == kernel
    assert type(loaded) is type(kernel)
    np.testing.assert_array_equal(loaded(X, NEW), kernel(X, NEW))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreimageWarning)
        model = KernelPCA(3, kernel=kernel, preimage="learned").fit(X)
    assert_same(answers(again(model, tmp_path)), answers(model))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_and_names_of_columns_are_kept(dtype, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X.astype(dtype), columns=["a", "b", "c", "ü"])
    model = KernelPCA(4).fit(frame).set_output(transform="pandas")
    loaded = again(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "ü"]
    assert loaded.feature_names_in_.dtype == object
    assert loaded.decomposition_.alphas.dtype == dtype
    pd.testing.assert_frame_equal(loaded.transform(frame), model.transform(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[["b", "a", "c", "ü"]])


@pytest.mark.parametrize("made", [sp.csr_array, sp.csr_matrix])
def test_models_of_sparse_rows_come_back(made, tmp_path):
    S, new = made(sparse_rows()), made(sparse_rows(7, seed=5))
    model = KernelPCA(4).fit(S)
    loaded = again(model, tmp_path)
    assert type(loaded.decomposition_.points) is type(model.decomposition_.points)
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    np.testing.assert_array_equal(loaded.denoise(new), model.denoise(new))


def test_a_precomputed_kernel_comes_back_with_its_matrix(tmp_path):
    gram, cross = Gaussian(1.5)(X, X), Gaussian(1.5)(NEW, X)
    model = KernelPCA(4, kernel="precomputed").fit(gram)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.transform(cross), model.transform(cross))
    np.testing.assert_array_equal(loaded.denoise(cross), model.denoise(cross))
    assert loaded.kernel_ is loaded.decomposition_.kernel  # one kernel, as in the model
    clusters = KernelKMeans(3, kernel="precomputed", random_state=0).fit(gram)
    np.testing.assert_array_equal(again(clusters, tmp_path).predict(cross), clusters.predict(cross))


def test_a_stream_goes_on_from_the_file(tmp_path):
    whole = KernelPCA(4, approximation=Nystrom(X[:15]), kernel=Gaussian(2.0), random_state=0)
    first = KernelPCA(4, approximation=Nystrom(X[:15]), kernel=Gaussian(2.0), random_state=0)
    whole.partial_fit(X[:30]).partial_fit(X[30:])
    resumed = again(first.partial_fit(X[:30]), tmp_path).partial_fit(X[30:])
    np.testing.assert_array_equal(resumed.transform(NEW), whole.transform(NEW))


def test_compressed_and_truncated_models_and_machines_come_back(tmp_path):
    model = KernelPCA(6).fit(X)
    assert_same(answers(again(model.compress(12), tmp_path)), answers(model.compress(12)))
    assert_same(answers(again(model.truncate(3), tmp_path)), answers(model.truncate(3)))
    machine = machines.from_sklearn(SVC().fit(X, np.sign(X[:, 0])))
    np.testing.assert_array_equal(again(machine, tmp_path).predict(NEW), machine.predict(NEW))


@pytest.mark.parametrize("geometry", [(16,), (4, 4)])
def test_denoisers_of_signals_and_images_come_back(geometry, tmp_path):
    noisy = np.sin(np.linspace(0, 6, 16) + 6 * rows(200, 1)) + 0.3 * rows(200, 16)
    denoiser = Denoiser(geometry=geometry, noise=0.3, n_landmarks=40, n_stages=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PreimageWarning)
        denoiser.fit(noisy)
    loaded = again(denoiser, tmp_path)
    np.testing.assert_array_equal(loaded.transform(noisy), denoiser.transform(noisy))
    assert len(loaded.stack_.levels) == len(denoiser.stack_.levels) > 0


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on_where_it_was(source, tmp_path):
    state = source(5)
    state.normal(size=3)
    loaded = again(KernelKMeans(2, random_state=state), tmp_path).random_state
    np.testing.assert_array_equal(loaded.normal(size=8), state.normal(size=8))


def test_an_unfitted_estimator_keeps_its_parameters(tmp_path):
    model = KernelPCA(0.9, kernel=Gaussian("mika") + 2 * Laplacian(), approximation=Nystrom(7), random_state=4)
    loaded = again(model, tmp_path)
    assert repr(loaded) == repr(model)
    model.set_params(approximation=50), loaded.set_params(approximation=50)
    assert_same(answers(loaded.fit(X)), answers(model.fit(X)))


def test_shared_arrays_are_written_once(tmp_path):
    big = rows(500, 40)
    KernelPCA(2).fit(big).save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 1.5 * big.nbytes
    loaded = preimage.load(tmp_path / "model.npz")
    assert loaded.decomposition_.points is loaded.decomposition_.inputs


def test_equal_models_make_equal_files(tmp_path):
    KernelPCA(3).fit(X).save(tmp_path / "a.npz")
    KernelPCA(3).fit(X).save(tmp_path / "b.npz")
    a, b = ((tmp_path / name).read_bytes() for name in ("a.npz", "b.npz"))
    seeds = [json.loads(np.load(io.BytesIO(f))["header.json"])["model"]["estimator"][2]["_seed"] for f in (a, b)]
    assert seeds[0] != seeds[1]  # drawn afresh, as random_state=None asks
    KernelPCA(3, random_state=0).fit(X).save(tmp_path / "a.npz")
    KernelPCA(3, random_state=0).fit(X).save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (KernelPCA(2, kernel=lambda A, B: A @ B.T), "KernelPCA.kernel is a function"),
        (KernelPCA(2, kernel=preimage.kernels.Function(np.dot)), "KernelPCA.kernel.function is a function"),
        (KernelPCA(2, preimage=Learned(noise=CustomNoise(np.add))), "KernelPCA.preimage.noise.function is a function"),
        (compat.KernelPCA(2, kernel=lambda x, y: x @ y), "KernelPCA.kernel is a function"),
        (Denoiser(noise=lambda X, rng: X), "Denoiser.noise is a function"),
        (KernelPCA(2, random_state=np.random.Generator(np.random.SFC64(1))), "generator of a rare kind"),
        (KernelPCA(2, kernel=np.array([object()])), "array of type object"),
        (KernelPCA(2, kernel={1, 2}), "class builtins.set"),
        (type("Mine", (KernelPCA,), {})(2), "Mine is of the class"),
    ],
)
def test_what_holds_code_is_refused_and_leaves_no_file(model, place, tmp_path):
    with pytest.raises(ModelFileError, match=place):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["model.pkl", "model", "model.npy"])
def test_a_name_with_another_ending_is_refused_in_python_too(name, tmp_path):
    with pytest.raises(ValueError, match=r"a model file ends in \.npz"):
        KernelPCA(2).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        preimage.load(tmp_path / "none.npz")
    with pytest.raises(IsADirectoryError):
        preimage.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="folder"):
        KernelPCA(2).save(tmp_path / "nowhere" / "model.npz")


def test_the_header_tells_what_is_in_a_file(tmp_path):
    KernelPCA(3, kernel=Gaussian("mika")).fit(X).save(tmp_path / "model.npz")
    found = models.describe(tmp_path / "model.npz")
    assert (found.version, found.library, found.name) == (1, preimage.__version__, "estimators.KernelPCA")
    assert found.parameters["kernel"] == "Gaussian(length_scale='mika')"
    assert found.fitted["eigenvalues_"] == "float64 3"
    assert found.fitted["kernel_"] == repr(preimage.load(tmp_path / "model.npz").kernel_)
    assert "points=float64 60×4" in found.fitted["decomposition_"]
    assert not any(name.startswith("_") for name in found.fitted)


def test_names_in_files_are_unique_and_only_ours():
    for name, found in known_classes().items():
        assert name_of(found) == name
        assert found.__module__.split(".")[0] == "preimage"
    assert {name_of(type(model)) for model in ESTIMATORS.values()} <= set(known_classes())
    assert all(name_of(found) is None for found in (Path, SVC, dict, Kernel, zipfile.ZipFile))


# Versions


def test_a_file_of_the_first_version_loads():
    """Made by version 0.1.0 of the library; it must load for ever."""
    model = preimage.load(Path(__file__).parents[1] / "data" / "model_v1.npz")
    grid = np.array([[0.0, 0.5], [1.0, -0.25]])
    codes = [[0.04004949823980977, 0.19262405807013086], [-0.5113825332204982, -0.5427322763377396]]
    points = [[-0.01604918659411849, 0.6504517751056251], [0.9554105107395329, -0.23851242643398884]]
    np.testing.assert_allclose(model.transform(grid), codes, atol=1e-12)
    np.testing.assert_allclose(model.denoise(grid), points, atol=1e-9)


V01 = Path(__file__).parents[1] / "data" / "v0.1"


@pytest.mark.parametrize("name", sorted(path.stem for path in V01.glob("*.npz") if path.stem != "answers"))
def test_every_kind_of_model_written_by_the_first_version_gives_its_answers(name):
    """The rows of ``new`` by each model, as version 0.1.0 gave them."""
    answers = np.load(V01 / "answers.npz")
    model = preimage.load(V01 / f"{name}.npz")
    found = getattr(model, "values" if name in {"classifier", "regressor", "detector"} else "transform")(answers["new"])
    single = name.startswith("denoiser")  # computes in single precision
    np.testing.assert_allclose(found, answers[name], atol=np.sqrt(np.finfo(np.float32).eps) if single else 1e-9)


def test_older_versions_are_upgraded_step_by_step(tmp_path, monkeypatch):
    model = KernelPCA(3).fit(X)
    model.save(tmp_path / "model.npz")

    def renamed(header):
        text = json.dumps(header).replace('"n_components_"', '"count_"')
        return json.loads(text)

    monkeypatch.setattr(models, "UPGRADES", {1: renamed, 2: lambda header: header})
    monkeypatch.setattr(models, "VERSION", 3)
    loaded = preimage.load(tmp_path / "model.npz")
    assert loaded.count_ == 3
    assert not hasattr(loaded, "n_components_")


@pytest.mark.parametrize("old", sorted(RENAMED))
def test_a_class_that_had_another_name_or_room_is_found(old):
    assert class_of(old) is not None


def test_a_field_that_an_older_version_lacked_takes_its_default():
    node = {"object": ["preimages.Learned", {"ridge": 0.5}]}
    assert TreeReader([]).decode(node) == Learned(ridge=0.5)


@pytest.mark.parametrize(
    "name, old",
    [
        ("eigen.BlockKrylov", "max_passes"),
        ("eigen.Lanczos", "max_restarts"),
        ("eigen.PowerDeflation", "max_steps"),
        ("preimages.FixedPoint", "max_steps"),
        ("preimages.Gradient", "max_steps"),
        ("preimages.ConvexCombination", "max_steps"),
    ],
)
def test_a_field_that_has_another_name_since_is_found(name, old):
    node = {"object": [name, {"tol": 1e-3, old: 7}]}
    assert TreeReader([]).decode(node).max_iter == 7


@pytest.mark.parametrize(("version", "sentence"), [(99, "update this library"), (0, "is unknown"), ("1", "is unknown")])
def test_other_versions_are_refused_with_a_sentence(version, sentence, tmp_path):
    forge(tmp_path / "m.npz", lambda header: header | {"version": version})
    with pytest.raises(ModelFileError, match=sentence):
        preimage.load(tmp_path / "m.npz")


# Hostile files


def members_of(model):
    """Header and members of a model's file."""
    encoder = TreeWriter()
    tree = encoder.encode(model, "model")
    stored = []
    for array in encoder.arrays:
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, allow_pickle=False)
        stored.append(stream.getvalue())
    header = {"format": "preimage model", "version": 1, "library": "0.1.0", "model": tree}
    header["arrays"] = [[array.dtype.str, list(array.shape)] for array in encoder.arrays]
    return header, {f"{number}.npy": content for number, content in enumerate(stored)}


FITTED = KernelPCA(3, random_state=0).fit(X)
HEADER, MEMBERS = members_of(FITTED)


def forge(path, change=lambda header: header, members=None, compression=zipfile.ZIP_STORED):
    """A model file with a changed header or members."""
    header = change(json.loads(json.dumps(HEADER)))
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as file:
        warnings.simplefilter("ignore", UserWarning)  # a member of the same name
        file.writestr("header.json", header if isinstance(header, bytes) else json.dumps(header))
        for name, content in (MEMBERS if members is None else members).items():
            file.writestr(name, content)
    return path


def model_with(**changes):
    """A change of header that replaces fitted attributes by other nodes."""

    def change(header):
        header["model"]["estimator"][2].update(changes)
        return header

    return change


def swapped(number, content):
    return MEMBERS | {f"{number}.npy": content}


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


class Exploit:
    """Unpickling it would leave a mark."""

    def __reduce__(self):
        return (exec, ("import builtins; builtins.preimage_exploited = True",))


def claimed(shape):
    """A member that claims a shape which it does not have."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + b"\0" * 64


def declare(number, dtype, shape):
    def change(header):
        header["arrays"][number] = [dtype, shape]
        return header

    return change


def model(node):
    return lambda header: header | {"model": node}


DEEP = b'{"format": "preimage model", "version": 1, "arrays": [], "model": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
HOSTILE = {
    "no JSON": lambda p: forge(p, lambda h: b"\xff\xfe not json"),
    "JSON, but no header": lambda p: forge(p, lambda h: [1, 2]),
    "another format": lambda p: forge(p, lambda h: h | {"format": "something"}),
    "no model": lambda p: forge(p, lambda h: {k: v for k, v in h.items() if k != "model"}),
    "no arrays": lambda p: forge(p, lambda h: {k: v for k, v in h.items() if k != "arrays"}),
    "deep nesting": lambda p: forge(p, lambda h: DEEP, {}),
    "nested just below the parser's limit": lambda p: forge(
        p, lambda h: DEEP.replace(b"[" * 100_000, b"[" * 900).replace(b"]" * 100_000, b"]" * 900), {}
    ),
    "NaN in the header": lambda p: forge(p, lambda h: json.dumps(h | {"model": float("nan")}).encode()),
    "a number of a million digits": lambda p: forge(p, lambda h: b'{"version": 1' + b"0" * 10**6 + b"}"),
    "a class of the standard library": lambda p: forge(p, model({"object": ["subprocess.Popen", {"args": "true"}]})),
    "a function of ours": lambda p: forge(p, model({"object": ["persistence.load", {"path": "x"}]})),
    "a class that is abstract": lambda p: forge(p, model({"object": ["kernels._Pair", {"left": 1, "right": 2}]})),
    "a name that is no name": lambda p: forge(p, model({"object": [["kernels"], {}]})),
    "an estimator as an object": lambda p: forge(p, model({"object": ["estimators.KernelPCA", {}]})),
    "a kernel as an estimator": lambda p: forge(p, model({"estimator": ["kernels.Gaussian", {}, {}]})),
    "fields of another class": lambda p: forge(p, model({"object": ["kernels.Gaussian", {"gamma": 1}]})),
    "a field too few": lambda p: forge(p, model({"object": ["features.Moments", {"n": 1}]})),
    "a value that a kernel refuses": lambda p: forge(p, model({"object": ["kernels.Gaussian", {"length_scale": -1}]})),
    "an attribute that hides a method": lambda p: forge(p, model_with(_rows=1)),
    "an attribute of the language": lambda p: forge(p, model_with(__class__=1)),
    "a parameter that is none": lambda p: forge(p, model({"estimator": ["estimators.KernelPCA", {"x": 1}, {}]})),
    "an unknown node": lambda p: forge(p, model({"pickle": "gASV"})),
    "a node of two entries": lambda p: forge(p, model({"array": 0, "tuple": []})),
    "an array that is not there": lambda p: forge(p, model({"array": 10_000})),
    "a negative number of an array": lambda p: forge(p, model({"array": -1})),
    "an object that is not there yet": lambda p: forge(p, model({"tuple": [{"same": 0}]})),
    "a dictionary with lists as keys": lambda p: forge(p, model({"dict": [[[1], 2]]})),
    "an object array": lambda p: forge(p, members=swapped(0, npy(np.array([Exploit()] * 9), allow_pickle=True))),
    "an object array, declared": lambda p: forge(
        p, declare(0, "|O8", [9]), swapped(0, npy(np.array([Exploit()] * 9), allow_pickle=True))
    ),
    "a pickle in the place of an array": lambda p: forge(p, members=swapped(0, pickle.dumps(Exploit()))),
    "a pickle in the place of the header": lambda p: forge(p, lambda h: pickle.dumps(Exploit())),
    "another shape": lambda p: forge(p, members=swapped(0, npy(np.zeros((5, 48))))),
    "another type": lambda p: forge(p, members=swapped(0, npy(np.zeros((60, 4), dtype=int)))),
    "a huge shape in the member": lambda p: forge(p, members=swapped(0, claimed((10**9, 10**6)))),
    "a huge shape everywhere": lambda p: forge(
        p, declare(0, "<f8", [10**9, 10**6]), swapped(0, claimed((10**9, 10**6)))
    ),
    "a shape whose size overflows": lambda p: forge(p, declare(0, "<f8", [2**61, 8]), swapped(0, claimed((2**61, 8)))),
    "a negative shape": lambda p: forge(p, declare(0, "<f8", [-60, -4])),
    "a shape of fractions": lambda p: forge(p, declare(0, "<f8", [60.0, 4.0])),
    "a shape that is text": lambda p: forge(p, declare(0, "<f8", "64")),
    "a type of records": lambda p: forge(p, declare(0, "f8,f8", [60, 2])),
    "text without length": lambda p: forge(p, declare(0, "<U0", [2**40])),
    "a member of a path outside": lambda p: forge(p, members=MEMBERS | {"../../evil.npy": b"x"}),
    "a member of an absolute path": lambda p: forge(p, members=MEMBERS | {"/tmp/evil.npy": b"x"}),
    "a member too few": lambda p: forge(p, members={k: v for k, v in MEMBERS.items() if k != "0.npy"}),
    "the header twice": lambda p: forge(p, members=MEMBERS | {"header.json": b"{}"}),
    "a compressed file": lambda p: forge(p, compression=zipfile.ZIP_DEFLATED),
    "a bomb": lambda p: forge(p, lambda h: b" " * 2**26, {}, zipfile.ZIP_DEFLATED),
    "a bomb of arrays": lambda p: forge(p, members=swapped(0, b"\0" * 2**26), compression=zipfile.ZIP_LZMA),
    "a header that is too long": lambda p: forge(p, lambda h: b" " * (2**24 + 1), {}),
    "an ordinary npz": lambda p: np.savez(p, a=np.zeros(3)),
    "text": lambda p: p.write_text("a,b\n1,2\n"),
    "nothing": lambda p: p.write_bytes(b""),
}


def attempt(path):
    """Load a file that may be damaged: a ModelFileError, or the very model."""
    try:
        found = preimage.load(path)
    except ModelFileError as error:
        return str(error)
    np.testing.assert_array_equal(found.transform(NEW), FITTED.transform(NEW))
    return None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_our_own_error_and_runs_nothing(name, tmp_path):
    import builtins

    HOSTILE[name](tmp_path / "m.npz")
    for reader in (preimage.load, models.describe) if "unknown" not in name else (preimage.load,):
        try:
            found = reader(tmp_path / "m.npz")
        except ModelFileError as error:
            assert str(error).startswith(str(tmp_path / "m.npz"))
        else:  # the header alone does not tell everything, and a list of lists is harmless
            assert reader is models.describe or name.startswith("nested")
            assert found is not None
    assert not hasattr(builtins, "preimage_exploited")
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_huge_claims_allocate_nothing(tmp_path):
    import tracemalloc

    claims = ["a huge shape everywhere", "a bomb", "a bomb of arrays", "a shape whose size overflows", "deep nesting"]
    paths = [tmp_path / f"{number}.npz" for number in range(len(claims))]
    for claim, path in zip(claims, paths, strict=True):
        HOSTILE[claim](path)
    tracemalloc.start()
    try:
        for path in paths:
            with pytest.raises(ModelFileError):
                preimage.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


def test_few_nodes_that_stand_for_many_are_refused_at_once(tmp_path):
    """Each sum is twice the one before; to hash or to print the last would take for ever."""
    node = {"object": ["kernels.Gaussian", {"length_scale": 1.0}]}
    for number in range(60):
        node = {"object": ["kernels.Sum", {"left": node, "right": {"same": number}}]}
    forge(tmp_path / "m.npz", model({"dict": [[node, 1]]}))
    with pytest.raises(ModelFileError, match="too large"):
        preimage.load(tmp_path / "m.npz")
    forge(tmp_path / "m.npz", model(node))
    assert len(str(models.describe(tmp_path / "m.npz"))) < 10_000


def test_models_larger_than_memory_are_refused_before_reading(tmp_path, monkeypatch):
    forge(tmp_path / "m.npz")
    monkeypatch.setattr("preimage.io.models.archive.free_memory", lambda: 1000.0)
    with pytest.raises(ModelFileError, match="more memory than is free"):
        preimage.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    "indices", [np.full(3, 10**6, dtype=np.int32), np.array([0, -5, 1], dtype=np.int32)], ids=["far", "negative"]
)
def test_sparse_indices_out_of_range_are_refused(indices, tmp_path):
    encoder = TreeWriter()
    node = encoder.encode(sp.csr_array(np.eye(3)), "eye")
    encoder.arrays[node["sparse"][3]["array"]] = indices
    with pytest.raises(ValueError, match="ind"):
        TreeReader(encoder.arrays).decode(node)


@pytest.mark.parametrize("change", [{"position": 10**6}, {"position": -1}, {"key": [1, 2]}, {"kind": "SFC64"}])
def test_states_of_generators_that_are_none_are_refused(change):
    encoder = TreeWriter()
    state = {"kind": "MT19937", "key": np.zeros(624, dtype=np.uint32), "position": 5, "has_gauss": 0, "gauss": 0.0}
    node = {"random": encoder.encode(state | change, "state")}
    with pytest.raises(ModelFileError):
        TreeReader(encoder.arrays).decode(node)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "model.npz"
    FITTED.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "model.npz"


@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=60)
def test_truncated_files_are_refused(share, whole, scratch):
    scratch.write_bytes(whole[: int(share * len(whole))])
    assert attempt(scratch)


@given(data=st.data())
@settings(max_examples=200)
def test_flipped_bits_are_refused_or_change_nothing(data, whole, scratch):
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        near_an_end = data.draw(st.booleans())  # the directory and the headers are a small part of the file
        place = data.draw(st.integers(0, 600) if near_an_end else st.integers(0, len(whole) - 1))
        place = len(whole) - 1 - place if data.draw(st.booleans()) else place
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    scratch.write_bytes(bytes(content))
    attempt(scratch)


@given(content=st.binary(max_size=400), prefix=st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY"]))
@settings(max_examples=150)
def test_random_bytes_are_refused(content, prefix, scratch):
    scratch.write_bytes(prefix + content)
    assert attempt(scratch)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KINDS = ["float", "tuple", "dict", "array", "strings", "sparse", "object", "estimator", "random", "same", "other"]
NAMES = st.sampled_from(sorted(known_classes()))


def branches(inner):
    fields = st.dictionaries(st.text(max_size=8) | st.sampled_from(["kernel", "points", "n_components"]), inner)
    return (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KINDS), inner, max_size=2)
        | st.builds(lambda name, part: {"object": [name, part]}, NAMES, fields)
        | st.builds(lambda name, a, b: {"estimator": [name, a, b]}, NAMES, fields, fields)
    )


@given(node=st.recursive(LEAVES, branches, max_leaves=12))
@settings(max_examples=200)
def test_random_trees_are_refused_or_made_of_our_own_classes(node, scratch):
    forge(scratch, model(node))
    for reader in (preimage.load, models.describe):
        try:
            found = reader(scratch)
        except ModelFileError:
            continue
        plain = (type(None), bool, int, float, str, list, tuple, dict, np.ndarray, np.generic)
        assert isinstance(found, plain) or type(found).__module__.startswith("preimage.")


VALUES = arrays.arrays(
    dtype=st.sampled_from([np.float64, np.float32, np.int32, np.uint8, np.bool_, np.dtype("<U3"), np.dtype(">f8")]),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | VALUES
TREES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers(), st.text()), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(value=TREES)
@settings(max_examples=150)
def test_any_plain_values_come_back(value, scratch):
    models.save(value, scratch)
    assert_equal(preimage.load(scratch), value)


def assert_equal(actual, expected):
    if isinstance(expected, np.ndarray) and expected.ndim:
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
    elif isinstance(expected, list | tuple):
        assert type(actual) is type(expected)
        for a, b in zip(actual, expected, strict=True):
            assert_equal(a, b)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert_equal(actual[key], value)
    else:
        np.testing.assert_equal(actual, expected if not isinstance(expected, np.ndarray) else expected[()])


def _with_state(path, **changed):
    """Change fitted attributes in the header of a model file."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    header = json.loads(parts["header.json"])
    header["model"]["estimator"][2] |= changed
    with zipfile.ZipFile(path, "w") as file:
        for name, content in (parts | {"header.json": json.dumps(header).encode()}).items():
            file.writestr(name, content)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n_components_": 10**10}, "does not match its arrays"),
        ({"n_features_in_": "four"}, "does not match its arrays"),
        ({"n_features_in_": 3}, "do not fit together"),
        ({"decomposition_": {"tuple": [1, 2]}, "kernel_": None}, "do not fit together"),
    ],
)
def test_a_model_that_could_not_be_used_is_refused_when_it_is_loaded(changed, sentence, tmp_path):
    KernelPCA(2).fit(X).save(tmp_path / "m.npz")
    _with_state(tmp_path / "m.npz", **changed)
    with pytest.raises(ModelFileError, match=sentence):
        preimage.load(tmp_path / "m.npz")


def test_matrices_that_are_not_finite_are_refused(tmp_path):
    model = KernelPCA(2).fit(X.copy())
    model.decomposition_.points[3, 1] = np.inf
    model.save(tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="not finite"):
        preimage.load(tmp_path / "m.npz")
