"""fit, transform, reconstruct, impute, score and inspect: through the console entry, and all the formats in process."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import preimage
from console import ENVIRONMENT, NAMES, PREIMAGE, X, call, good, put, rows_of, run
from helpers import rows
from preimage import KernelKMeans, KernelPCA, Standardised, compat, io
from preimage.kernels import Gaussian, Polynomial


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    KernelPCA(3, kernel=Gaussian(2.0), random_state=0).fit(X).save(path)
    return path


# Through the console entry


def test_a_table_goes_in_and_comes_back_through_the_console(tmp_path):
    done = run("fit", put(tmp_path / "in.csv"), "-o", tmp_path / "m.npz", "--components", "3", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["rows"], facts["columns"], facts["components"]) == (40, 4, 3)
    piped = run("transform", tmp_path / "m.npz", "-", input=(tmp_path / "in.csv").read_text())
    assert piped.returncode == 0, piped.stderr
    header, *lines = piped.stdout.splitlines()
    assert header == "kernelpca0,kernelpca1,kernelpca2"
    codes = [[float(number) for number in line.split(",")] for line in lines]
    np.testing.assert_allclose(codes, Standardised(KernelPCA(3)).fit(X).transform(X), atol=1e-12)
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "m.npz"]


def test_what_fails_ends_with_one_sentence_and_its_exit_code(tmp_path):
    for arguments, code, sentence in (
        (["transform", tmp_path / "no.npz", "x.csv"], 1, "no such file"),
        (["fit", tmp_path / "no.csv", "-o", tmp_path / "m.npz"], 1, "does not exist"),
        (["fit", "x.csv", "-o", "m.npz", "--kernel", "gausian"], 2, "unknown kernel 'gausian'"),
    ):
        done = run(*arguments)
        assert done.returncode == code
        assert done.stdout == ""
        assert sentence in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    done = run("inspect", tmp_path / "no.npz", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def interrupted(command, number, folder):
    """Send a signal to a command that has begun to write; its exit code and what it told."""
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while len(os.listdir(folder)) < 3 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(number)
        told = process.communicate(timeout=120)[1]
    return process.returncode, told


def test_an_interruption_of_the_process_leaves_the_folder_as_it_was(tmp_path):
    put(tmp_path / "in.npy", rows(3000, 30))
    command = [PREIMAGE, "fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", "--force", "--components", "all"]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        found = 0
        for _ in range(5):  # on a busy machine, it may end before the signal comes
            (tmp_path / "m.npz").write_text("before")
            found, told = interrupted(command, number, tmp_path)
            if found:
                break
        assert found == code
        assert told == ("interrupted\n" if number == signal.SIGINT else "")
        assert sorted(os.listdir(tmp_path)) == ["in.npy", "m.npz"]
        assert (tmp_path / "m.npz").read_text() == "before"


# Formats


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".tsv", ".parquet"])
def test_every_table_is_fitted_transformed_reconstructed_and_scored(ending, tmp_path):
    table, file = put(tmp_path / f"in{ending}"), tmp_path / "m.npz"
    good("fit", table, "-o", file, "--components", 3, "--seed", 4)
    kpca = KernelPCA(3, random_state=4)
    kpca = (kpca if ending in (".npy", ".npz") else Standardised(kpca)).fit(X)
    expected = {
        "transform": kpca.transform(X),
        "reconstruct": kpca.inverse_transform(kpca.transform(X)),
        "score": kpca.score_samples(X)[:, None],
    }
    for verb, values in expected.items():
        out = tmp_path / f"{verb}{ending}"
        facts = json.loads(good(verb, file, table, "-o", out, "--json").stdout)
        assert facts.pop("carried") == []
        assert facts == {"input": str(table), "output": str(out), "rows": 40, "columns": values.shape[1]}
        np.testing.assert_allclose(rows_of(out), values, rtol=1e-9, atol=1e-9)
    named = io.read(tmp_path / f"reconstruct{ending}").form.columns
    assert named == (None if ending in (".npy", ".npz") else NAMES)
    good("reconstruct", file, tmp_path / f"transform{ending}", "--codes", "-o", tmp_path / f"decoded{ending}")
    np.testing.assert_allclose(rows_of(tmp_path / f"decoded{ending}"), expected["reconstruct"], rtol=1e-7, atol=1e-7)


def test_a_folder_of_images_is_fitted_and_reconstructed_as_images(tmp_path):
    (tmp_path / "in").mkdir()
    pixels = np.random.default_rng(0).integers(0, 255, (12, 5, 4), dtype=np.uint8)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / "in" / f"{number:02d}.png")
    good("fit", tmp_path / "in", "-o", tmp_path / "m.npz", "--components", "all", "--preimage", "learned")
    good("reconstruct", tmp_path / "m.npz", tmp_path / "in", "-o", tmp_path / "out")
    assert len(os.listdir(tmp_path / "out")) == 12
    with Image.open(tmp_path / "out" / "03.png") as image:
        assert image.size == (4, 5)
        np.testing.assert_allclose(np.asarray(image, dtype=float), pixels[3], atol=8)  # all components keep all
    one = good("score", tmp_path / "m.npz", tmp_path / "in" / "03.png")
    assert one.stdout.splitlines()[0] == "score"
    assert abs(float(one.stdout.splitlines()[1])) < 1e-6


@pytest.mark.parametrize("ending", [".csv", ".npy", ".parquet"])
def test_gaps_are_filled_and_all_other_numbers_stay(ending, model, tmp_path):
    holes = np.random.default_rng(1).random(X.shape) < 0.2
    gappy = np.where(holes, np.nan, X)
    good("impute", model, put(tmp_path / f"in{ending}", gappy), "-o", tmp_path / f"out{ending}")
    filled = rows_of(tmp_path / f"out{ending}")
    np.testing.assert_array_equal(filled[~holes], X[~holes])
    np.testing.assert_allclose(filled, preimage.load(model).impute(gappy), rtol=1e-9)
    by_means = np.square(np.nanmean(gappy, axis=0) - X)[holes].mean()
    assert np.square(filled - X)[holes].mean() < 1.5 * by_means


def test_large_files_are_walked_in_blocks_to_the_same_result(model, tmp_path, monkeypatch):
    whole = good("transform", model, put(tmp_path / "in.csv")).stdout
    monkeypatch.setattr("preimage.io.chunks.BLOCK", 7)
    for module in ("base", "delimited"):
        monkeypatch.setattr(f"preimage.io.{module}.LARGE", 100)
    walked = good("transform", model, tmp_path / "in.csv").stdout
    a, b = ([[float(x) for x in line.split(",")] for line in text.splitlines()[1:]] for text in (whole, walked))
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    done = call("fit", tmp_path / "in.csv", "-o", tmp_path / "big.npz", "--approximation", "none", "--components", 2)
    assert done.exit_code == 1
    assert "approximation" in done.stderr
    good("fit", tmp_path / "in.csv", "-o", tmp_path / "big.npz", "--approximation", 40, "--components", 2)
    big = preimage.load(tmp_path / "big.npz")
    exact = Standardised(KernelPCA(2, kernel=big.kernel_)).fit(X)
    np.testing.assert_allclose(big.decomposition_.eigenvalues, exact.decomposition_.eigenvalues, rtol=1e-6)


def test_many_rows_take_landmarks_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr("preimage.cli.fit.EXACT", 30)
    monkeypatch.setattr("preimage.cli.fit.LANDMARKS", 25)
    put(tmp_path / "in.npy")
    facts = json.loads(good("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", "--components", 2, "--json").stdout)
    assert facts["approximation"] == "25"
    options = ["--approximation", "none", "--force", "--json", "--components", 2]
    facts = json.loads(good("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", *options).stdout)
    assert facts["approximation"] is None


def test_options_reach_the_model(tmp_path):
    options = ["--kernel", "polynomial:degree=2,coef0=0.5", "--components", 0.8, "--preimage", "learned:ridge=0.1"]
    good("fit", put(tmp_path / "in.npy"), "-o", tmp_path / "m.npz", *options, "--seed", 3)
    kpca = preimage.load(tmp_path / "m.npz")
    assert kpca.kernel == Polynomial(degree=2, coef0=0.5)
    assert kpca.kernel_.gamma == 0.25
    assert (kpca.n_components, kpca.preimage.ridge, kpca.random_state) == (0.8, 0.1, 3)
    good("fit", tmp_path / "in.npy", "-o", tmp_path / "f.npz", "--approximation", "fourier:60", "--components", 2)
    assert preimage.load(tmp_path / "f.npz").approximation.n_features == 60


def test_inspect_tells_what_is_in_a_file(model):
    facts = json.loads(good("inspect", model, "--json").stdout)
    assert (facts["name"], facts["version"], facts["library"]) == ("estimators.KernelPCA", 1, preimage.__version__)
    assert facts["bytes"] == model.stat().st_size
    assert facts["fitted"]["kernel_"] == "Gaussian(length_scale=2.0)"
    assert facts["parameters"] == {
        "n_components": 3,
        "kernel": "Gaussian(length_scale=2.0)",
        "approximation": None,
        "solver": "auto",
        "preimage": "auto",
        "center": True,
        "random_state": 0,
        "copy_X": True,
        "n_jobs": None,
    }
    words = good("inspect", model).stdout
    assert "KernelPCA" in words
    assert "Gaussian(length_scale=2.0)" in words
    assert max(map(len, words.splitlines()[1:])) <= 100


def test_other_models_do_what_they_can(tmp_path):
    KernelKMeans(2, random_state=0).fit(X).save(tmp_path / "k.npz")
    compat.KernelPCA(2, kernel="rbf").fit(X).save(tmp_path / "c.npz")
    put(tmp_path / "in.npy")
    good("transform", tmp_path / "k.npz", tmp_path / "in.npy", "-o", tmp_path / "d.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), preimage.load(tmp_path / "k.npz").transform(X))
    good("transform", tmp_path / "c.npz", tmp_path / "in.npy", "-o", tmp_path / "z.npy")
    refused = call("impute", tmp_path / "k.npz", tmp_path / "in.npy")
    assert refused.exit_code == 1
    assert "holds a KernelKMeans, which has no impute" in refused.stderr


def test_warnings_of_the_library_are_notes(tmp_path):
    put(tmp_path / "in.npy", np.repeat(X[:3], 5, axis=0))
    done = good("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", "--components", 9, "--kernel", "linear")
    assert done.stderr.startswith("note: 9 components were asked for")
    assert done.stderr.count("\n") == 1
    assert done.stdout.startswith("wrote ")


# What is wrong


def corrupt(path):
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:40])


def different_sizes(path):
    path.mkdir()
    for number, side in enumerate((2, 3)):
        Image.fromarray(np.zeros((side, side), np.uint8)).save(path / f"{number}.png")


BAD_INPUT = {
    "missing.csv": (lambda path: None, "does not exist"),
    "empty.csv": (lambda path: path.write_text(""), "is empty"),
    "ragged.csv": (lambda path: path.write_text("5,2,3,4\n1,2,3\n"), "line 2: 3 cells"),
    "text.csv": (
        lambda path: path.write_text("a,b,c,d\n1,2,3,4\n1,2,x,4\n"),
        "line 3, column 'c': 'x' is not a number",
    ),
    "gap.csv": (lambda path: path.write_text("a,b,c,d\n1,2,,4\n5,6,7,8\n"), "column 'c' is missing"),
    "nan.npy": (lambda path: np.save(path, np.where(np.eye(4) > 0, np.nan, 1.0)), "row 1, column 1 is missing"),
    "sizes": (different_sizes, "1.png is 3 high and 3 wide, grey"),
    "corrupt.png": (corrupt, "damaged, or no image"),
    "wide.npy": (lambda path: np.save(path, np.zeros((3, 5))), "has 5 columns, but the model was fitted on 4"),
    "other.csv": (lambda path: path.write_text("a,b,c,e\n1,2,3,4\n"), "no column 'd', but the model was fitted on one"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
@pytest.mark.parametrize("verb", ["fit", "transform", "reconstruct", "score", "impute"])
def test_bad_input_is_a_sentence_and_leaves_nothing(verb, name, tmp_path):
    make, sentence = BAD_INPUT[name]
    if (verb == "fit" and name in ("wide.npy", "other.csv")) or (verb == "impute" and name in ("gap.csv", "nan.npy")):
        pytest.skip("this is good input for the command")
    kpca = KernelPCA(2, kernel=Gaussian(2.0)).fit(X)
    kpca.feature_names_in_ = np.array(NAMES, dtype=object)
    kpca.save(tmp_path / "model.npz")
    make(tmp_path / name)
    before = sorted(os.listdir(tmp_path))
    leading = ["fit"] if verb == "fit" else [verb, tmp_path / "model.npz"]
    done = call(*leading, tmp_path / name, "-o", tmp_path / ("new.npz" if verb == "fit" else "new.csv"))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    import re

    assert re.search(sentence, done.stderr)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_damaged_model_is_a_sentence(model, tmp_path):
    put(tmp_path / "in.npy")
    model.write_bytes(model.read_bytes()[:-50])
    for verb in (["transform", model, tmp_path / "in.npy"], ["inspect", model]):
        done = call(*verb)
        assert done.exit_code == 1
        assert done.stderr.startswith(f"Error: {model} cannot be loaded")
        assert done.stderr.count("\n") == 1


OUTPUTS = {
    "there.csv": "exists already",
    "folder": "names a folder, but these rows are not images",
    "nowhere/out.csv": "nowhere does not exist",
    "out.xyz": "unknown ending '.xyz'",
    "out.png": "these rows are not images",
    "out.wav": "only sound",
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("verb", ["transform", "reconstruct", "score", "impute"])
def test_a_place_that_cannot_be_written_is_a_sentence(verb, name, model, tmp_path):
    put(tmp_path / "in.csv")
    (tmp_path / "there.csv").write_text("kept")
    (tmp_path / "folder").mkdir()
    before = sorted(os.listdir(tmp_path))
    done = call(verb, model, tmp_path / "in.csv", "-o", tmp_path / name)
    assert done.exit_code == 1
    assert OUTPUTS[name] in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "there.csv").read_text() == "kept"


@pytest.mark.parametrize(("name", "sentence"), [("there.npz", "exists already"), ("folder", "is a folder")])
def test_a_model_file_replaces_nothing_without_force(name, sentence, tmp_path):
    put(tmp_path / "in.npy")
    (tmp_path / "there.npz").write_text("kept")
    (tmp_path / "folder").mkdir()
    done = call("fit", tmp_path / "in.npy", "-o", tmp_path / name, "--components", 2)
    assert done.exit_code == 1
    assert sentence in done.stderr
    assert (tmp_path / "there.npz").read_text() == "kept"
    assert not os.listdir(tmp_path / "folder")
    good("fit", tmp_path / "in.npy", "-o", tmp_path / "there.npz", "--components", 2, "--force")
    assert preimage.load(tmp_path / "there.npz").n_components_ == 2


def test_no_permission_is_a_sentence_that_names_the_folder(model, tmp_path, monkeypatch):
    def refuse(self, mode, exist_ok):
        raise PermissionError(13, "Permission denied", str(self))

    put(tmp_path / "in.npy")
    monkeypatch.setattr("pathlib.Path.touch", refuse)
    for arguments in (["transform", model, tmp_path / "in.npy"], ["fit", tmp_path / "in.npy"]):
        done = call(*arguments, "-o", tmp_path / "out.npz")
        assert done.exit_code == 1
        assert done.stderr == f"Error: cannot write to the folder {tmp_path}: permission denied.\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_files_that_may_not_be_read_or_written_are_sentences(model, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    put(tmp_path / "in.npy").chmod(0o000)
    assert "permission" in call("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz").stderr
    (tmp_path / "in.npy").chmod(0o600)
    assert "permission" in call("transform", model, tmp_path / "in.npy", "-o", locked / "out.csv").stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["transform", "m.npz"], "Missing argument 'INPUT'"),
        (["fit", "x.npy"], "Missing option '-o'"),
        (["fit", "x.npy", "-o", "-"], "cannot go to standard output"),
        (["transform", "m.npz", "x.npy", "--json"], "both go to standard output"),
        (["fit", "x.npy", "-o", "m.npz", "--kernel", "gaussian:length=2"], "has no setting 'length'"),
        (["fit", "x.npy", "-o", "m.npz", "--kernel", "gaussian:2"], "write it as setting=value"),
        (["fit", "x.npy", "-o", "m.npz", "--kernel", "gaussian:length_scale=-2"], "positive"),
        (["fit", "x.npy", "-o", "m.npz", "--preimage", "magic"], "unknown pre-image method 'magic'"),
        (["fit", "x.npy", "-o", "m.npz", "--components", "many"], "'many' is not a number"),
        (["fit", "x.npy", "-o", "m.npz", "--approximation", "few"], "'few' is not an approximation"),
        (["fit", "x.npy", "-o", "m.npz", "--columns", "a\rb"], "put a name with a line end into quotes"),
        (["fit", "x.npy", "-o", "m.npz", "--columns", ""], "'' holds no name"),
        (["fit", "x.npy", "-o", "m.npz", "--approximation", "0"], "'0' is not an approximation"),
        (["fit", "x.npy", "-o", "m.npz", "--seed", "-1"], "--seed"),
        (["score", "m.npz", "x.npy", "--quick"], "No such option"),
    ],
)
def test_wrong_usage_is_a_sentence_with_exit_code_2(arguments, sentence):
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_numbers_of_components_that_cannot_be_are_sentences(tmp_path):
    put(tmp_path / "in.npy")
    for number, sentence in ((100, "more than 40 rows allow"), (0, "at least 1"), (1.5, "between 0 and 1")):
        done = call("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", "--components", number)
        assert done.exit_code == 1
        assert sentence in done.stderr
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize(
    ("verb", "inner"),
    [
        ("fit", "fit"),
        ("transform", "transform"),
        ("reconstruct", "inverse_transform"),
        ("impute", "impute"),
        ("score", "score_samples"),
    ],
)
@pytest.mark.parametrize("output", ["new.npz", "there.npz"])
def test_an_interruption_in_the_midst_of_the_work_leaves_the_folder_as_it_was(
    verb, inner, output, model, tmp_path, monkeypatch
):
    method = getattr(KernelPCA, inner)

    def interrupted(self, X, *arguments):
        if len(X) < 10:  # a model is tried on a few rows when it is loaded
            return method(self, X, *arguments)
        assert len(os.listdir(tmp_path)) == 4  # the unfinished file is there
        raise KeyboardInterrupt

    put(tmp_path / "in.npy")
    (tmp_path / "there.npz").write_text("kept")
    monkeypatch.setattr(KernelPCA, inner, interrupted)
    leading = ["fit"] if verb == "fit" else [verb, model]
    done = call(*leading, tmp_path / "in.npy", "-o", tmp_path / output, "--force")
    assert done.exit_code == 130
    assert done.stderr == "interrupted\n"
    assert sorted(os.listdir(tmp_path)) == ["in.npy", "model.npz", "there.npz"]
    assert (tmp_path / "there.npz").read_text() == "kept"


def test_unexpected_errors_are_one_line_and_a_traceback_only_with_debug(model, tmp_path, monkeypatch):
    transform = KernelPCA.transform

    def broken(self, X):
        if len(X) < 10:  # a model is tried on a few rows when it is loaded
            return transform(self, X)
        raise ZeroDivisionError("of\nour own making")

    put(tmp_path / "in.npy")
    monkeypatch.setattr(KernelPCA, "transform", broken)
    done = call("transform", model, tmp_path / "in.npy")
    assert done.exit_code == 1
    assert done.stderr == "Error: ZeroDivisionError: of our own making; --debug shows where.\n"
    assert isinstance(call("transform", model, tmp_path / "in.npy", "--debug").exception, ZeroDivisionError)


# Progress


def test_a_bar_is_drawn_only_for_long_work_on_a_terminal(monkeypatch):
    import io

    from preimage import progress
    from preimage.cli import common

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def drawn(stream, seconds):
        clock = iter([0.0] + [seconds] * 100)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("time.monotonic", lambda: next(clock))
        with common.shown_progress():
            for done in range(4):
                progress.report("rows", done, 4)
        monkeypatch.undo()
        return stream.getvalue()

    assert "rows" in drawn(Terminal(), 2.0)
    assert drawn(Terminal(), 0.5) == ""
    assert drawn(io.StringIO(), 2.0) == ""


def test_a_model_is_exported_and_runs_without_this_library(model, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    for method in ("transform", "denoise", "score_samples"):
        done = good("export", model, "-o", tmp_path / f"{method}.onnx", "--method", method, "--json")
        assert json.loads(done.stdout)["bytes"] == (tmp_path / f"{method}.onnx").stat().st_size
        session = onnxruntime.InferenceSession(tmp_path / f"{method}.onnx", providers=["CPUExecutionProvider"])
        expected = getattr(preimage.load(model), method)(X)
        np.testing.assert_allclose(session.run(None, {"X": X})[0], expected, atol=1e-9 * np.abs(expected).max())
    for arguments, sentence in (
        (["-o", tmp_path / "x.bin"], "an ONNX file ends in .onnx"),
        (["-o", tmp_path / "x.onnx", "--method", "impute"], "KernelPCA.impute cannot be exported; transform"),
        (["-o", tmp_path / "x.onnx", "--method", "predict"], "KernelPCA.predict cannot be exported; transform"),
        (["-o", tmp_path / "transform.onnx"], "exists"),
    ):
        failed = call("export", model, *arguments)
        assert failed.exit_code and sentence in failed.output and not (tmp_path / "x.onnx").exists()
