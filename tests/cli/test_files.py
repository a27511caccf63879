"""Nothing is lost in silence: what the command line does with files, links, names and places."""

import html
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.io import wavfile

import preimage
from console import NAMES, X, call, good, put, rows_of
from helpers import rows
from preimage import KernelPCA, io
from preimage.cli.common import as_typed
from preimage.exceptions import DataFileError, DataFileWarning
from preimage.io import models
from preimage.kernels import Gaussian, Polynomial

STACK = (115 + 20 * np.random.default_rng(0).standard_normal((6, 8, 8))).astype(np.uint8)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    kpca = KernelPCA(3, kernel=Gaussian(2.0), random_state=0).fit(X)
    kpca.feature_names_in_ = np.array(NAMES, dtype=object)
    kpca.save(path)
    return path


def nameless(path):
    """A model that takes plain arrays."""
    kpca = preimage.load(path)
    del kpca.feature_names_in_
    return kpca


def filling(path, width):
    """A model that fills gaps in rows of a width, and leaves all other numbers as they are."""
    KernelPCA(1, kernel="linear").fit(rows(5, width)).save(path)
    return path


# Pictures


@pytest.mark.parametrize("axes", [(6, 8, 8), (6, 8, 8, 1)])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64"])
def test_a_stack_of_grey_levels_is_written_as_it_is(axes, dtype, tmp_path):
    np.save(tmp_path / "s.npy", STACK.reshape(axes).astype(dtype))
    good("impute", filling(tmp_path / "m.npz", 64), tmp_path / "s.npy", "-o", tmp_path / "out")
    found = [np.asarray(Image.open(path)) for path in sorted((tmp_path / "out").iterdir())]
    np.testing.assert_array_equal(found, STACK)


@pytest.mark.parametrize(
    ("stack", "sentence"),
    [
        (np.zeros((3, 4, 4, 5)), "one channel or three, not 5"),
        (300.5 * np.ones((3, 4, 4)), "images hold numbers in \\[0, 1\\]"),
    ],
)
def test_a_stack_that_makes_no_pictures_is_refused_before_the_work(stack, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr(KernelPCA, "impute", lambda *_: pytest.fail("the work began"))
    np.save(tmp_path / "s.npy", stack)
    done = call("impute", filling(tmp_path / "m.npz", stack[0].size), tmp_path / "s.npy", "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert re.search(sentence, done.stderr)


def test_rows_of_a_table_are_written_as_pictures_with_their_grey_levels(tmp_path):
    rng = np.random.default_rng(0)
    images = np.outer(rng.random(40), np.linspace(0, 200, 64)) + rng.integers(0, 40, (40, 64))
    put(tmp_path / "t.csv", np.rint(images), None)
    good("denoise", tmp_path / "t.csv", "-o", tmp_path / "out", "--shape", "8,8", "--components", 3)
    found = np.stack([np.asarray(Image.open(path)).ravel() for path in sorted((tmp_path / "out").iterdir())])
    assert np.abs(found - images).mean() < 20


def test_a_picture_keeps_its_resolution_camera_and_transparency(tmp_path):
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "a camera", 6
    rgba = np.dstack([np.random.default_rng(0).integers(0, 255, (6, 5, 3), dtype=np.uint8), np.full((6, 5), 77, "u1")])
    Image.fromarray(rgba).save(tmp_path / "a.png", dpi=(300, 300), exif=exif)
    good("impute", filling(tmp_path / "m.npz", 90), tmp_path / "a.png", "-o", tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as image:
        np.testing.assert_array_equal(np.asarray(image), np.rot90(rgba, -1))  # turned as the camera says
        assert round(image.info["dpi"][0]) == 300
        assert dict(image.getexif()) == {0x010F: "a camera"}
    done = call("impute", tmp_path / "m.npz", tmp_path / "a.png", "-o", tmp_path / "b.jpg")
    assert done.exit_code == 1
    assert "cannot hold the transparent parts" in done.stderr


def test_grey_that_is_stored_as_colour_stays_grey(tmp_path):
    clean = np.tile(np.linspace(60, 200, 48), (48, 1))
    noisy = np.clip(clean + 15 * np.random.default_rng(0).standard_normal((48, 48)), 0, 255).astype(np.uint8)
    Image.fromarray(np.dstack([noisy] * 3)).save(tmp_path / "a.png")
    good("denoise", tmp_path / "a.png", "-o", tmp_path / "b.png")
    found = np.asarray(Image.open(tmp_path / "b.png")).astype(float)
    assert found.shape == (48, 48, 3)
    assert np.ptp(found, axis=2).max() == 0
    assert np.square(found[..., 0] - clean).mean() < 0.5 * np.square(noisy - clean).mean()


def test_fewer_bits_are_noted(tmp_path):
    Image.fromarray(np.full((3, 4), 40_000, np.uint16)).save(tmp_path / "a.png")
    done = good("impute", filling(tmp_path / "m.npz", 12), tmp_path / "a.png", "-o", tmp_path / "b.jpg")
    assert "keeps 8 bits of the 16" in done.stderr


def folder_of_images(path, labels=True):
    path.mkdir()
    for number, image in enumerate(STACK):
        Image.fromarray(image).save(path / f"{number}.png")
    if labels:
        np.save(path / "labels.npy", np.zeros((6, 2)))
    return path


def test_a_folder_of_images_is_read_whatever_else_lies_in_it(tmp_path):
    done = good("fit", folder_of_images(tmp_path / "in"), "-o", tmp_path / "m.npz", "--components", 1, "--json")
    assert json.loads(done.stdout)["columns"] == 64
    assert "but not labels.npy" in done.stderr


def test_scores_of_a_folder_name_its_files(tmp_path):
    folder_of_images(tmp_path / "in", labels=False)
    good("fit", tmp_path / "in", "-o", tmp_path / "m.npz", "--components", 1)
    lines = good("score", tmp_path / "m.npz", tmp_path / "in").stdout.splitlines()
    assert lines[0] == "file,score"
    assert [line.split(",")[0] for line in lines[1:]] == [f"{number}.png" for number in range(6)]
    codes = good("transform", tmp_path / "m.npz", tmp_path / "in").stdout.splitlines()
    assert codes[0] == "file,kernelpca0"


@pytest.mark.parametrize("name", ["a.png", "a.wav"])
def test_a_noise_level_in_the_wrong_unit_is_refused(name, tmp_path):
    Image.fromarray(STACK[0]).save(tmp_path / "a.png")
    wavfile.write(tmp_path / "a.wav", 8000, np.zeros(400, np.int16))
    done = call("denoise", tmp_path / name, "-o", tmp_path / f"out{name}", "--noise", 30)
    assert done.exit_code == 2
    assert f"for 30 of {255 if name == 'a.png' else 32768} write 0." in " ".join(done.stderr.split())


# Tables


def test_an_empty_line_is_a_gap_and_shifts_nothing(tmp_path):
    (tmp_path / "s.csv").write_text("mv,mw\n1,2\n2,3\n\n4,5\n5,6\n\n")
    done = call("fit", tmp_path / "s.csv", "-o", tmp_path / "m.npz")
    assert done.exit_code == 1
    assert "row 3, column 'mv' is missing" in done.stderr
    filled = good("impute", filling(tmp_path / "f.npz", 2), tmp_path / "s.csv").stdout.splitlines()
    assert [line for number, line in enumerate(filled) if number != 3] == ["mv,mw", "1,2", "2,3", "4,5", "5,6"]
    assert np.isfinite([float(cell) for cell in filled[3].split(",")]).all()
    (tmp_path / "one.csv").write_text("mv\n1\n2\n\n4\n5\n")
    assert io.read(tmp_path / "one.csv").shape == (5, 1)


@pytest.mark.parametrize("mark", ["?", "NA", "-", "#N/A", "NULL", "-999"])
def test_marks_of_missing_values_are_gaps(mark, tmp_path):
    (tmp_path / "s.csv").write_text(f"a,b\n1,2\n{mark},3\n4,5\n")
    data = io.read(tmp_path / "s.csv", io.Reading(missing=("-999",)))
    assert np.isnan(data.whole(gaps=True)).tolist() == [[False, False], [True, False], [False, False]]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_columns_are_matched_by_name_and_stay_in_their_places(ending, model, tmp_path):
    order = [3, 1, 0, 2]
    put(tmp_path / f"in{ending}", X[:, order], tuple(NAMES[place] for place in order))
    good("transform", model, tmp_path / f"in{ending}", "-o", tmp_path / "codes.npy")
    np.testing.assert_allclose(np.load(tmp_path / "codes.npy"), nameless(model).transform(X), atol=1e-12)
    good("impute", model, tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}")
    data = io.read(tmp_path / f"out{ending}")
    assert data.form.columns == tuple(NAMES[place] for place in order)
    np.testing.assert_allclose(data.whole(), X[:, order], rtol=1e-15)  # openpyxl writes 16 digits


def mixed(n_rows=40):
    """A table with everything in it."""
    frame = pd.DataFrame(X[:n_rows], columns=NAMES)
    frame.insert(1, "who", [f"person, {number}" for number in range(n_rows)])
    frame.insert(0, "Id", np.arange(n_rows)[::-1] + 100)
    frame["good"] = frame["a"] > 0
    frame["when"] = pd.date_range("2024-02-27", periods=n_rows, tz="Europe/Paris")
    frame["size"] = pd.Categorical(np.where(frame["b"] > 0, "large", "small"))
    return frame


OTHERS = ["Id", "who", "good", "when", "size"]


def test_what_is_no_number_comes_through_a_parquet_file_unchanged(model, tmp_path):
    frame = mixed().set_index(pd.Index([f"r{number}" for number in range(40)], name="row name"))
    frame.to_parquet(tmp_path / "in.parquet")
    good("reconstruct", model, tmp_path / "in.parquet", "-o", tmp_path / "out.parquet")
    found = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(found[OTHERS], frame[OTHERS])
    assert list(found.columns) == list(frame.columns)
    kpca = nameless(model)
    np.testing.assert_allclose(found[list(NAMES)], kpca.inverse_transform(kpca.transform(X)), atol=1e-9)


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_what_is_no_number_comes_through_text_and_sheets_unchanged(ending, model, tmp_path):
    frame = mixed().assign(when=pd.date_range("2024-02-27", periods=40)).astype({"size": str})
    writer, reader = {".csv": ("to_csv", pd.read_csv), ".xlsx": ("to_excel", pd.read_excel)}[ending]
    getattr(frame, writer)(tmp_path / f"in{ending}", index=False)
    good("impute", model, tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}")
    pd.testing.assert_frame_equal(reader(tmp_path / f"out{ending}"), reader(tmp_path / f"in{ending}"))


def test_codes_and_scores_stand_beside_what_names_their_rows(model, tmp_path):
    mixed().to_csv(tmp_path / "in.csv", index=False)
    done = good("transform", model, tmp_path / "in.csv", "-o", tmp_path / "codes.csv", "--json")
    assert json.loads(done.stdout)["carried"] == OTHERS
    codes = pd.read_csv(tmp_path / "codes.csv")
    assert list(codes.columns) == [*OTHERS, "kernelpca0", "kernelpca1", "kernelpca2"]
    assert list(codes["who"]) == list(mixed()["who"])
    good("reconstruct", model, tmp_path / "codes.csv", "--codes", "-o", tmp_path / "back.csv")
    kpca = nameless(model)
    found = pd.read_csv(tmp_path / "back.csv")[list(NAMES)]
    np.testing.assert_allclose(found, kpca.inverse_transform(kpca.transform(X)), atol=1e-7)
    done = good("score", model, tmp_path / "in.csv", "-o", tmp_path / "s.npy")
    assert "holds only numbers, so 'Id', 'who'" in done.stderr


def test_text_is_written_in_the_dialect_it_was_read_in(tmp_path):
    content = "größe;b;wer\n1,5;4,5;Jörg\n2,5;5,5;Zoë\n"
    (tmp_path / "in.csv").write_bytes(content.encode("cp1252"))
    options = ["--encoding", "cp1252"]
    good("impute", filling(tmp_path / "m.npz", 2), tmp_path / "in.csv", "-o", tmp_path / "out.csv", *options)
    assert (tmp_path / "out.csv").read_bytes().decode("cp1252") == content


@pytest.mark.parametrize("ending", [".parquet", ".xlsx", ".csv"])
def test_repeated_names_are_kept_where_tables_may_have_them_and_told_apart_elsewhere(ending, tmp_path):
    (tmp_path / "in.csv").write_text("a,a,b,a_2\n1.5,2.5,3.5,4.5\n")
    done = good("impute", filling(tmp_path / "m.npz", 4), tmp_path / "in.csv", "-o", tmp_path / f"out{ending}")
    data = io.read(tmp_path / f"out{ending}")
    apart = ending == ".parquet"
    assert data.form.columns == (("a", "a_3", "b", "a_2") if apart else ("a", "a", "b", "a_2"))
    assert data.whole().tolist() == [[1.5, 2.5, 3.5, 4.5]]
    assert ("equal column names are made distinct: column 'a_3'" in done.stderr) == apart
    if apart:
        assert pd.read_parquet(tmp_path / "out.parquet").columns.tolist() == ["a", "a_3", "b", "a_2"]


def test_columns_of_equal_names_are_counted_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, (60, 1))
    put(tmp_path / "in.csv", np.hstack([t, t**2, np.sin(t)]) + 0.1 * rng.standard_normal((60, 3)), ("a", "a", "b"))
    done = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--effort", "quick", "--json")
    assert list(json.loads(done.stdout)["columns_cleaned"]) == ["a", "a_2", "b"]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_pyarrow_reads_what_our_own_reader_reads(delimiter, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(np.where(rng.random((300, 4)) < 0.2, np.nan, rng.standard_normal((300, 4))), columns=NAMES)
    frame.insert(2, "who", [f'the "{number}"{delimiter} there' for number in range(300)])
    frame.to_csv(tmp_path / "a.csv", sep=delimiter, decimal="," if delimiter == ";" else ".", na_rep="NaN", index=False)
    found = []
    for size in (10**9, 0):
        monkeypatch.setattr("preimage.io.delimited.ARROW", size)
        with pytest.warns(DataFileWarning, match="'who'"):
            data = io.read(tmp_path / "a.csv")
        found.append((data.whole(gaps=True), [str(x) for block in data.form.table.walk() for x in block[0]]))
    np.testing.assert_array_equal(found[0][0], frame[list(NAMES)].to_numpy())
    np.testing.assert_array_equal(found[1][0], found[0][0])
    assert found[0][1] == found[1][1] == list(frame["who"])


@pytest.mark.parametrize("content", ["a,b\n1,2\n+3,4\n\n5,6\n", "a,b\n1,2\n3,NoNe\n5,6\n"])
def test_our_own_reader_goes_on_where_pyarrow_fails(content, tmp_path, monkeypatch):
    monkeypatch.setattr("preimage.io.delimited.ARROW", 0)
    (tmp_path / "a.csv").write_text(content)
    own = pd.read_csv(tmp_path / "a.csv", skip_blank_lines=False, na_values=["NoNe"]).to_numpy()
    np.testing.assert_array_equal(io.read(tmp_path / "a.csv").whole(gaps=True), own)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n5,x7\n")
    with pytest.raises(DataFileError, match="line 4, column 'b': 'x7'"):
        io.read(tmp_path / "a.csv")


# Answers that are no numbers


def test_an_answer_that_is_not_finite_is_an_error_and_writes_nothing(tmp_path):
    KernelPCA(2, kernel=Polynomial(degree=3)).fit(rows(20, 3)).save(tmp_path / "m.npz")
    for verb in ("transform", "score"):
        done = call(verb, tmp_path / "m.npz", "-", input="1,2,5\n1e155,1,2\n")
        assert done.exit_code == 1
        assert done.stderr.startswith("Error: the numbers of X reach 1e+155, and their squares overflow: ")
        assert done.stdout == ""


def test_a_command_that_fails_at_the_first_rows_writes_no_header(model):
    done = call("score", model, "-", input="a,b,c,d\n1,2,,4\n")
    assert done.exit_code == 1
    assert done.stdout == ""


def test_a_number_of_components_must_be_finite(tmp_path):
    put(tmp_path / "in.npy")
    done = call("fit", tmp_path / "in.npy", "-o", tmp_path / "m.npz", "--components", "inf")
    assert done.exit_code == 2
    assert "'inf' is not finite" in done.stderr


# Places


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["denoise", "in.csv", "-o", "in.csv", "--force"], "in.csv is both the input and the output"),
        (["denoise", "in.csv", "-o", "link.csv", "--force"], "link.csv is both the input and the output"),
        (["denoise", "in.csv", "-o", "o.csv", "--train", "o.csv"], "o.csv is both the train and the output"),
        (["denoise", "in.csv", "-o", "o.csv", "--report", "o.csv"], "o.csv is both the output and the report"),
        (["transform", "m.npz", "in.csv", "-o", "m.npz", "--force"], "m.npz is both the model and the output"),
        (["denoise", "folder", "-o", "folder/out"], "lies inside the input folder"),
        (["fit", "in.csv", "-o", "m.csv"], "a model file ends in .npz"),
    ],
)
def test_an_output_that_would_destroy_an_input_is_refused(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in.csv")
    os.mkdir("folder")
    os.symlink("in.csv", "link.csv")
    before = (tmp_path / "in.csv").read_text()
    done = call(*arguments)
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())
    assert (tmp_path / "in.csv").read_text() == before
    assert sorted(os.listdir()) == ["folder", "in.csv", "link.csv"]


def test_force_is_named_where_a_file_is_left_as_it_is(model, tmp_path):
    put(tmp_path / "in.csv")
    (tmp_path / "out.csv").write_text("kept")
    assert "--force" in call("transform", model, tmp_path / "in.csv", "-o", tmp_path / "out.csv").stderr


def test_a_file_that_comes_into_a_folder_during_the_work_is_not_lost(tmp_path):
    form = io.Form(shape=(2, 2), names=("a.png",))
    with io.writing(tmp_path / "out", form) as write:
        write([np.zeros((1, 4))])
    with (
        pytest.raises(DataFileError, match=r"such as thesis.tex"),
        io.writing(tmp_path / "out", form, overwrite=True) as write,
    ):
        write([np.ones((1, 4))])
        (tmp_path / "out" / "thesis.tex").write_text("dear")
    assert (tmp_path / "out" / "thesis.tex").read_text() == "dear"
    assert os.listdir(tmp_path) == ["out"]


def test_names_that_steer_a_terminal_are_shown_harmlessly(tmp_path):
    kpca = KernelPCA(1, kernel="linear").fit(X)
    kpca.save(tmp_path / "m\x1b[31m.npz")
    done = good("inspect", tmp_path / "m\x1b[31m.npz")
    assert "\x1b" not in done.stdout
    done = call("fit", tmp_path / "no\x1b[2J.csv", "-o", tmp_path / "m.npz")
    assert "\x1b" not in done.stderr
    assert "no\\x1b[2J.csv does not exist" in done.stderr


def test_a_name_that_is_no_utf_8_survives_with_its_report(tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/sch\xf6n.csv")
    put(tmp_path / "in.csv")
    os.rename(tmp_path / "in.csv", name)
    done = good("denoise", name, "-o", tmp_path / "out.csv", "--report", tmp_path / "page.html", "--components", 2)
    assert "wrote" in done.stdout
    assert "sch\\udcf6n.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_long_names_can_be_written(model, tmp_path):
    put(tmp_path / "in.csv")
    good("transform", model, tmp_path / "in.csv", "-o", tmp_path / f"{'n' * 250}.csv")


@pytest.mark.parametrize("name", ["exceptions", "report"])
def test_rooms_that_the_documents_use_are_found(name):
    code = f"import preimage; print(preimage.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"preimage.{name}"


# Model files


def test_inspect_knows_generators_and_bounds_its_words(tmp_path):
    KernelPCA(1, kernel="linear", random_state=np.random.default_rng(1)).fit(X).save(tmp_path / "g.npz")
    assert "a random number generator" in good("inspect", tmp_path / "g.npz").stdout
    words = models.tree.TreeWords([])
    node = {"object": ["kernels." + "N" * 10**6, {}]}
    assert len(words.tell({"tuple": [node, *[{"same": 0}] * 1000]})) < 2000


def test_a_pipe_is_no_model_file(tmp_path):
    os.mkfifo(tmp_path / "m.npz")
    done = call("inspect", tmp_path / "m.npz")
    assert done.exit_code == 1
    assert "is a device or a pipe, not a file. " in done.stderr


# Demo and reproduce


def test_demo_and_reproduce_replace_nothing_without_force(tmp_path, monkeypatch):
    monkeypatch.setattr("preimage.demo.digits.demonstrate", lambda seed: pytest.fail("the work began"))
    monkeypatch.setattr("preimage_papers.runs.Run.results", lambda *_: pytest.fail("the work began"))
    (tmp_path / "report.html").write_text("kept")
    for arguments in (["demo"], ["reproduce", "chapter"]):
        done = call(*arguments, "--out", tmp_path)
        assert done.exit_code == 1
        assert "exists already" in done.stderr
        assert "--force" in done.stderr
    assert (tmp_path / "report.html").read_text() == "kept"


# The report's Python


def sines(n_rows=80, length=16):
    rng = np.random.default_rng(3)
    phase = rng.uniform(0, 6, (n_rows, 1))
    return 0.5 + 0.3 * np.sin(np.linspace(0, 6, length) + phase) + 0.05 * rng.standard_normal((n_rows, length))


def write_inputs():
    np.save("t.npy", sines())
    np.savez("t.npz", X=sines())
    np.save("clean.npy", sines() - 0.01)
    np.save("wave.npy", sines(1, 2000)[0])
    np.save("wide.npy", sines(3, 2000).T)
    frame = pd.DataFrame(sines()[:, ::4], columns=list(NAMES))
    frame.insert(0, "who", "x")
    frame.to_csv("t.csv", sep=";", decimal=",")
    frame.to_csv("clean.csv", index=False)
    frame.to_parquet("t.parquet")
    frame.to_excel("t.xlsx", index=False)
    put("wave.csv", sines(1, 2000).T, ("millivolt",))
    wavfile.write("wave.wav", 8000, np.rint(20_000 * sines(2, 2000).T).astype(np.int16))
    waves = np.outer(np.sin(np.arange(40) / 9), np.cos(np.arange(40) / 7))
    noisy = 0.5 + 0.3 * waves + 0.05 * np.random.default_rng(0).standard_normal(waves.shape)
    grey = np.rint(255 * np.clip(noisy, 0, 1)).astype(np.uint8)
    Image.fromarray(grey).save("grey.png")
    Image.fromarray(np.dstack([grey, grey.T, 255 - grey])).save("colour.png")
    Image.fromarray(257 * grey.astype(np.uint16)).save("deep.tif")
    os.mkdir("folder")
    for number, image in enumerate(np.rint(255 * np.clip(sines(60, 36), 0, 1)).astype(np.uint8).reshape(-1, 6, 6)):
        Image.fromarray(image).save(f"folder/{number:02d}.png")


RUNS = {
    "array": ["t.npy"],
    "archive": ["t.npz"],
    "signals": ["t.npy", "--shape", "16"],
    "images": ["t.npy", "--shape", "4,4"],
    "noise given": ["t.npy", "--noise", "0.05"],
    "clean examples": ["t.npy", "--train", "clean.npy"],
    "clean examples and a law": ["t.npy", "--train", "clean.npy", "--noise", "salt-and-pepper:0.1"],
    "components": ["t.npy", "--components", "3"],
    "a kernel": ["t.npy", "--kernel", "matern:nu=2.5,length_scale=3", "--components", "3"],
    "a pre-image method": ["t.npy", "--components", "3", "--preimage", "learned:ridge=0.1", "--noise", "0.05"],
    "text": ["t.csv"],
    "chosen columns": ["t.csv", "--columns", "b,d,a"],
    "text and examples": ["t.csv", "--train", "clean.csv", "--components", "2"],
    "parquet": ["t.parquet"],
    "sheet": ["t.xlsx"],
    "one column": ["wave.csv"],
    "one axis": ["wave.npy"],
    "sound": ["wave.wav"],
    "hum and baseline": ["wave.wav", "--mains", "400", "--baseline"],
    "channels": ["wide.npy", "--signal", "--rate", "500", "--baseline", "--effort", "quick"],
    "grey": ["grey.png"],
    "colour": ["colour.png", "--seed", "3"],
    "16 bits": ["deep.tif"],
    "folder": ["folder"],
}


@pytest.mark.filterwarnings("ignore::preimage.exceptions.PreimageWarning")
@pytest.mark.parametrize("name", RUNS)
def test_the_lines_of_a_report_do_what_the_command_did(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_inputs()
    facts = json.loads(good("denoise", *RUNS[name], "-o", "out.npy", "--report", "page.html", "--json").stdout)
    code = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", (tmp_path / "page.html").read_text(), re.DOTALL).group(1))
    found = {}
    exec(re.sub(r"<[^>]*>", "", code), found)
    expected = np.load("out.npy")
    np.testing.assert_allclose(found["denoised"].reshape(expected.shape), expected, atol=1e-9)
    assert facts["removed"] > 0


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_gaps_in_text_of_few_levels_are_filled_and_other_text_is_carried_along(ending, tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "dog"], 60)
    size = np.where(kind == "cat", 1.0, 3.0) + 0.1 * rng.standard_normal(60)
    whole = pd.DataFrame({"name": [f"n{i}" for i in range(60)], "size": size, "kind": kind, "wild": size > 2})
    gappy = whole.astype({"wild": object})
    gappy.loc[::5, "kind"] = None
    gappy.loc[3::7, "wild"] = None
    gappy.loc[1::6, "size"] = np.nan
    kind_of_file = "excel" if ending == ".xlsx" else ending[1:]
    getattr(gappy, f"to_{kind_of_file}")(tmp_path / f"in{ending}", index=False)
    done = good("impute", tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}", "--json")
    facts, filled = json.loads(done.stdout), getattr(pd, f"read_{kind_of_file}")(tmp_path / f"out{ending}")
    assert (facts["categories"], facts["carried"], list(filled.columns)) == (["kind", "wild"], ["name"], list(whole))
    for name in ("name", "kind", "wild"):
        assert (filled[name].astype(str) == whole[name].astype(str)).all()
    there = gappy["size"].notna()
    np.testing.assert_allclose(filled["size"][there], whole["size"][there], rtol=1e-15)
    assert np.abs(filled["size"] - whole["size"]).max() < 0.5
    good("impute", tmp_path / f"in{ending}", "-o", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").size == 60  # no text in arrays


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx", ".npy"])
def test_a_column_without_any_entry_stays_empty_and_is_named(ending, tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 60)
    table = np.column_stack([t, np.sin(t), np.full(60, np.nan), t**2])
    table[::6, 1] = np.nan
    put(tmp_path / f"in{ending}", table)
    done = good("impute", tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}", "--json")
    named = ending != ".npy"
    all_columns = io.Reading(columns=("1", "2", "3", "4")) if named else io.Reading()
    filled = io.read(tmp_path / f"out{ending}", all_columns).whole(gaps=True)
    np.testing.assert_array_equal(np.isnan(filled), np.isnan(table) & [False, False, True, False])
    told = "carried along unchanged: 'c' (empty)" if named else "no entry to learn from in column '3'; left empty"
    assert told in done.stderr
    assert json.loads(done.stdout)["gaps"] == 10
    if ending == ".csv":
        assert (tmp_path / "out.csv").read_text().splitlines()[1].split(",")[2] == ""


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_an_empty_column_stops_nothing(ending, tmp_path):
    """As of remarks that nobody made."""
    columns = list(X.T[:3])
    put(tmp_path / f"in{ending}", np.column_stack([*columns[:2], np.full(len(X), np.nan), columns[2]]))
    done = good("fit", tmp_path / f"in{ending}", "-o", tmp_path / "m.npz")
    assert "carried along unchanged: 'c' (empty)" in done.stderr
    assert list(preimage.load(tmp_path / "m.npz").feature_names_in_) == ["a", "b", "d"]
    good("denoise", tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}", "--effort", "quick")
    cleaned = io.read(tmp_path / f"out{ending}", io.Reading(columns=("c",)))
    assert np.isnan(cleaned.whole(gaps=True)).all()


def test_a_column_whose_entries_come_late_is_not_taken_for_empty(tmp_path):
    late = np.column_stack([np.arange(20_000.0) % 7, np.full((20_000, 2), np.nan), np.arange(20_000.0) % 5])
    late[-1, 2] = 3.0
    put(tmp_path / "in.csv", late)
    with pytest.warns(DataFileWarning, match=r"unchanged: 'b' \(empty\)"):
        assert io.read(tmp_path / "in.csv").form.columns == ("a", "c", "d")


def test_a_comma_at_the_end_of_every_line_stops_nothing_and_stays(tmp_path):
    lines = ["a,b,c", *(",".join(map(str, row)) for row in X[:, :3])]
    (tmp_path / "in.csv").write_text("".join(f"{line},\n" for line in lines))
    good("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "in.csv").read_text()
    assert "column 4 (empty)" in good("fit", tmp_path / "in.csv", "-o", tmp_path / "m.npz").stderr


def test_gaps_at_the_end_of_one_column_are_rows(tmp_path):
    """pandas writes a gap in the only column as an empty text in quotes, which is no empty line."""
    pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0, np.nan, np.nan]}).to_csv(tmp_path / "in.csv", index=False)
    assert io.read(tmp_path / "in.csv").shape == (6, 1)


def test_a_column_that_is_named_twice_is_refused(tmp_path):
    put(tmp_path / "in.csv", X)
    for options in (("--columns", "a,a"), ("--columns", "a,1"), ("--columns", "a,b", "--keep", "b")):
        done = call("fit", tmp_path / "in.csv", "-o", tmp_path / "m.npz", *options)
        assert done.exit_code == 1
        assert "is named twice" in done.stderr


def test_a_line_that_repeats_the_header_is_told(tmp_path):
    """As tables have it that were put one after the other."""
    (tmp_path / "in.csv").write_text("a,b\n1,2\n3,4\na,b\n5,6\n")
    done = call("fit", tmp_path / "in.csv", "-o", tmp_path / "m.npz")
    assert done.exit_code == 1
    advice = "this line repeats the names of the columns: delete it"
    assert f"line 4, column 'a': 'a' is not a number ({advice})" in done.stderr


def test_a_table_of_gaps_alone_is_refused_in_a_sentence(tmp_path):
    for table in ("a,b\n,\n,\n", "a\nNA\nNA\nNA\n"):
        (tmp_path / "in.csv").write_text(table)
        done = call("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
        assert done.exit_code == 1
        assert "no entry in any column" in done.stderr


def test_one_column_is_filled_along_its_rows_if_they_are_a_series(tmp_path):
    rng = np.random.default_rng(0)
    wave, lost = np.sin(np.arange(200) / 9), rng.random(200) < 0.1
    put(tmp_path / "in.csv", np.where(lost, np.nan, wave)[:, None], ("u",))
    done = good("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert f"{lost.sum()} gaps filled on lines between their neighbours" in done.stdout
    filled = rows_of(tmp_path / "out.csv")[:, 0]
    # Between samples h steps apart, a line misses a wave of curvature at most 1/9² by h²/8 of it.
    longest = max(map(len, "".join("x" if gap else " " for gap in lost).split())) + 1
    assert np.abs(filled - wave)[lost].max() <= longest**2 / 8 / 81
    np.testing.assert_array_equal(filled[~lost], wave[~lost])
    values = rng.standard_normal(200)
    put(tmp_path / "in.csv", np.where(lost, np.nan, values)[:, None], ("u",))
    done = good("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--force")
    assert "filled by the mean, as the rows are not a series" in done.stdout
    np.testing.assert_allclose(rows_of(tmp_path / "out.csv")[lost, 0], values[~lost].mean(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_columns_of_a_table_that_are_series_are_filled_along_the_rows(seed, tmp_path):
    rng, t = np.random.default_rng(seed), np.arange(300) / 300
    values = rng.standard_normal(300)
    whole = np.column_stack([np.sin(12 * t), np.cumsum(rng.standard_normal(300)), values, values + np.cos(5 * t)])
    lost = rng.random(whole.shape) < 0.2
    for order, is_series in ((np.arange(300), True), (rng.permutation(300), False)):
        table, gaps = whole[order], lost[order]
        put(tmp_path / "in.csv", np.where(gaps, np.nan, table))
        done = good("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--force", "--json")
        facts, filled = json.loads(done.stdout), rows_of(tmp_path / "out.csv")
        assert facts["along_rows"] == (["a", "b"] if is_series else [])
        np.testing.assert_array_equal(filled[~gaps], table[~gaps])
        if is_series:  # a step of the walk has the variance 1, and a sample between two others misses half of that
            assert np.sqrt(np.mean(np.square(filled - table)[gaps[:, 1], 1])) < 1.2
            assert np.abs(filled - table)[gaps[:, 0], 0].max() < 0.05


def test_a_long_gap_of_a_rough_series_is_not_filled_along_the_rows(tmp_path):
    """Single entries that are left out lie near their neighbours, and the middle of a long gap does not."""
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal(400))
    table = np.column_stack([walk, walk + 0.5 * rng.standard_normal(400), rng.standard_normal(400)])
    gappy = table.copy()
    gappy[100:220, 0] = np.nan
    put(tmp_path / "in.csv", gappy, NAMES[:3])
    done = good("impute", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--json")
    assert json.loads(done.stdout)["along_rows"] == []


COMMENTED = "# spectrometer, room 3\n# 2024-05-01\nu,v,w\n" + "".join(f"{t * t},{t % 7},{t % 3}.5\n" for t in range(30))


@pytest.mark.parametrize("table", [COMMENTED, "\n".join(f"# line {n}" for n in range(99)) + "\n1,2\n3,5\n7,8\n"])
def test_comments_before_a_table_come_through(table, tmp_path):
    (tmp_path / "in.csv").write_text(table)
    width = io.read(tmp_path / "in.csv").shape[1]
    good("impute", filling(tmp_path / "m.npz", width), tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    kept = [line for line in table.splitlines() if line.startswith("#")]
    written = (tmp_path / "out.csv").read_text().splitlines()
    assert [line for line in written if line.startswith("#")] == written[: len(kept)] == kept
    np.testing.assert_array_equal(rows_of(tmp_path / "out.csv"), rows_of(tmp_path / "in.csv"))


def test_comments_that_a_format_cannot_hold_are_told(tmp_path):
    (tmp_path / "in.csv").write_text(COMMENTED)
    done = good("impute", filling(tmp_path / "m.npz", 3), tmp_path / "in.csv", "-o", tmp_path / "out.parquet")
    assert "the comments before the table are left out (lines: 2)" in done.stderr


def test_a_comment_that_names_the_columns_is_the_header_and_a_label_is_not(tmp_path):
    numbers = "400.0,1.5\n401.0,2.5\n402.0,1.0\n"
    (tmp_path / "in.csv").write_text("# made by hand\n# nu,counts\n" + numbers)
    assert io.read(tmp_path / "in.csv").form.columns == ("nu", "counts")
    good("impute", filling(tmp_path / "m.npz", 2), tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "# made by hand\nnu,counts\n" + numbers
    for label in ("##XUNITS= 1/CM", "##TITLE= a, b"):
        (tmp_path / "in.csv").write_text(f"{label}\n{numbers.replace(',', ' ') if 'CM' in label else numbers}")
        data = io.read(tmp_path / "in.csv")
        assert (data.form.columns, data.shape) == (None, (3, 2))


def test_an_evenly_spaced_column_beside_channels_is_their_time(tmp_path):
    x = np.linspace(4000, 400, 701)
    clean = 100 * np.exp(-(((x - 2000) / 60) ** 2))
    noisy = np.column_stack([x, clean + 4 * np.random.default_rng(1).standard_normal(701)])
    put(tmp_path / "in.csv", noisy, ("wavenumber", "intensity"))
    done = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--signal")
    found = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    assert "'wavenumber' (evenly spaced)" in done.stderr
    np.testing.assert_array_equal(found[:, 0], x)
    assert np.sqrt(np.mean(np.square(found[:, 1] - clean))) < 4 / 2
    np.save(tmp_path / "y.npy", noisy[:, 1])
    good("denoise", tmp_path / "y.npy", "-o", tmp_path / "alone.npy")
    np.testing.assert_allclose(found[:, 1], np.load(tmp_path / "alone.npy"), atol=1e-9)


@pytest.mark.parametrize(("x", "reason"), [("2,4,6,8,10", "evenly spaced"), ("9,7,4,3.5,1", "falling")])
def test_what_says_where_samples_lie_is_carried_along_unless_it_is_all_there_is(x, reason, tmp_path):
    values = x.split(",")
    table = "".join(f"{a},{b},{c}\n" for a, b, c in zip(values, "31425", "12345", strict=True))
    (tmp_path / "in.csv").write_text(table)
    with pytest.warns(DataFileWarning, match=rf"column 1 \({reason}\), column 3 \(evenly spaced\)"):
        found = io.read(tmp_path / "in.csv", io.Reading(signal=True))
    assert (found.shape, found.form.alone) == ((5, 1), "signal")
    (tmp_path / "in.csv").write_text("\n".join(values) + "\n")
    assert io.read(tmp_path / "in.csv", io.Reading(signal=True)).shape == (5, 1)


def test_the_noise_of_every_channel_is_told(tmp_path):
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(2000) / 40)[:, None]
    put(tmp_path / "in.csv", wave + [0.1, 0.4] * rng.standard_normal((2000, 2)), ("u", "v"))
    words = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--signal", "--effort", "quick").stdout
    found = [float(text) for text in re.search(r"noise of σ = ([\d., ]+), removed", words).group(1).split(", ")]
    # A level from k independent squares has relative standard error 1/√(2k); the flattest frames show at least 16·48.
    np.testing.assert_allclose(found, [0.1, 0.4], rtol=5 / np.sqrt(2 * 16 * 48))


# Sentences


@pytest.mark.parametrize(
    ("spelt", "typed"),
    [
        ("a.csv exists already; overwrite=True replaces it.", "a.csv exists already; --force replaces it."),
        ("(keep=('3',) carries it along).", "(--keep 3 carries it along)."),
        ("header=True takes it for names.", "--header takes it for names."),
        ("give noise=σ.", "give --noise σ."),
        ("by encoding=, such as cp1252.", "by --encoding, such as cp1252."),
        ("noise=0.12 takes more.", "--noise 0.12 takes more."),
        ("thousands=',' if that separates thousands", "--thousands ',' if that separates thousands"),
        ("clean examples (examples='clean').", "clean examples (--train)."),
    ],
)
def test_settings_are_spelt_as_options_on_the_command_line(spelt, typed):
    assert as_typed(spelt) == typed


def test_thousands_are_read_where_their_sign_is_named(tmp_path):
    cells = ["1,173.48", "2.5", "12,001,000.25", "7"]
    lines = [f'"{cell}",{number}.5' for number, cell in enumerate(cells * 3)]
    (tmp_path / "in.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    done = call("fit", tmp_path / "in.csv", "-o", tmp_path / "m.npz")
    assert "'1,173.48' is not a number (--thousands ',' if that separates thousands)" in done.stderr
    rows = io.read(tmp_path / "in.csv", io.Reading(thousands=",")).whole()
    np.testing.assert_array_equal(rows[:4, 0], [1173.48, 2.5, 12001000.25, 7])
    good("fit", tmp_path / "in.csv", "-o", tmp_path / "m.npz", "--thousands", ",")
    (tmp_path / "in.csv").write_text("a;b\n1.173,48;2\n5,5;3\n")
    rows = io.read(tmp_path / "in.csv", io.Reading(thousands=".")).whole()
    np.testing.assert_array_equal(rows, [[1173.48, 2], [5.5, 3]])
    (tmp_path / "in.csv").write_text('a,b\n"1,1735.2",2\n5.5,3\n')
    with pytest.raises(DataFileError, match="is not a number"):
        io.read(tmp_path / "in.csv", io.Reading(thousands=","))


@pytest.mark.parametrize(("name", "words"), [("one.csv", "one row"), ("one", "one image")])
def test_a_single_row_or_image_is_refused_in_a_sentence_that_helps(name, words, tmp_path):
    (tmp_path / "one").mkdir()
    Image.fromarray(STACK[0]).save(tmp_path / "one" / "a.png")
    (tmp_path / "one.csv").write_text("a,b\n1.5,2.5\n")
    done = call("denoise", tmp_path / name, "-o", tmp_path / f"out{name[3:]}")
    assert done.exit_code == 2
    assert f"holds {words}" in " ".join(done.stderr.split())
    assert "--train" in done.stderr


def test_words_name_images_and_leave_out_what_mixed_units_do_not_tell(tmp_path):
    np.save(tmp_path / "s.npy", np.tile(STACK / 255, (5, 2, 2)).astype(np.float32))
    words = good(
        "denoise", tmp_path / "s.npy", "-o", tmp_path / "out.npy", "--effort", "quick", "--noise", "0.1"
    ).stdout
    assert "30 images denoised" in words
    put(tmp_path / "t.csv", X * [1, 10, 100, 1000])
    words = good("denoise", tmp_path / "t.csv", "-o", tmp_path / "out.csv", "--components", "2").stdout
    assert words.endswith("40 rows denoised by KernelPCA\n")
    Image.fromarray(1000 * STACK[0].astype(np.float32)).resize((64, 64)).save(tmp_path / "f.tif")
    words = good(
        "denoise", tmp_path / "f.tif", "-o", tmp_path / "out.tif", "--noise", "5000", "--effort", "quick"
    ).stdout
    assert "PSNR" not in words


def test_a_signal_too_short_to_tell_its_noise_names_the_option(tmp_path):
    put(tmp_path / "in.csv", rows(100, 1), ("u",))
    done = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert "100 samples is too short to estimate its noise: give --noise σ." in done.stderr
    assert "one signal left as it is: no noise was measured" in done.stdout
    good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--noise", "0.1", "--force", "--effort", "quick")


def test_a_column_without_order_is_told_where_it_is_taken_for_a_signal(tmp_path):
    values = np.random.default_rng(0).standard_normal((200, 1))
    put(tmp_path / "in.csv", values, ("u",))
    done = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--effort", "quick")
    assert "if the order of its rows means nothing" in done.stderr
    put(tmp_path / "in.csv", np.sin(np.arange(200) / 9)[:, None] + 0.2 * values, ("u",))
    done = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--effort", "quick", "--force")
    assert "order" not in done.stderr
