import os
import warnings
import zipfile
from dataclasses import replace
from io import BytesIO, StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image
from scipy.io import wavfile

from helpers import rows
from preimage import io
from preimage.exceptions import DataFileError
from preimage.io import Form, Reading, base, delimited, sound
from preimage.io.chunks import Chunks

X = rows(7, 3)
TABLES = ["a.npy", "a.npz", "a.csv", "a.tsv", "a.txt", "a.parquet"]


def put(path, blocks, form=None, **options):
    with io.writing(path, form or Form(), **options) as write:
        write(blocks)
    return path


def pixels(*shape, dtype=np.uint8, seed=0):
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


# What is written is read


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_come_back_number_for_number(name, dtype, tmp_path):
    values = X.astype(dtype)
    data = io.read(put(tmp_path / name, [values[:4], values[4:]]))
    assert data.shape == (7, 3)
    np.testing.assert_array_equal(data.whole().astype(dtype), values)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet"])
def test_names_of_columns_are_kept(name, tmp_path):
    names = ("heart rate", "a,b", 'ü"')
    data = io.read(put(tmp_path / name, [X], Form(columns=names)))
    assert data.form.columns == names
    np.testing.assert_array_equal(data.whole(), X)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_stacks_of_images_keep_their_shape(name, tmp_path):
    np.save(tmp_path / "in.npy", X.reshape(7, 3, 1))
    data = io.read(tmp_path / "in.npy")
    assert (data.shape, data.form.shape) == ((7, 3), (3, 1))
    put(tmp_path / name, data.blocks(), data.form)
    found = np.load(tmp_path / name)
    np.testing.assert_array_equal(found if name == "a.npy" else found["X"], X.reshape(7, 3, 1))


def test_rows_that_were_flat_stay_flat_though_they_are_images(tmp_path):
    form = Form().with_shape((3, 1))
    np.testing.assert_array_equal(np.load(put(tmp_path / "a.npy", [X], form)), X)
    put(tmp_path / "images", [np.clip(X, 0, 1)], form)
    assert io.read(tmp_path / "images").form.shape == (3, 1)


def test_the_array_of_an_npz_keeps_its_name(tmp_path):
    np.savez(tmp_path / "in.npz", digits=X)
    data = io.read(tmp_path / "in.npz")
    put(tmp_path / "out.npz", data.blocks(), data.form)
    assert np.load(tmp_path / "out.npz").files == ["digits"]
    np.savez(tmp_path / "in.npz", X=X, y=np.zeros(7))
    np.testing.assert_array_equal(io.read(tmp_path / "in.npz").whole(), X)


@given(values=arrays(np.float64, array_shapes(min_dims=2, max_dims=2), elements=st.floats(width=64, allow_nan=False)))
@settings(max_examples=50)
def test_text_keeps_every_digit(values):
    finite = np.where(np.isfinite(values), values, 0.5)
    stream = StringIO()
    delimited._write(stream, [finite], Form(columns=tuple(f"c{i}" for i in range(finite.shape[1]))), ",", ".")
    read = delimited._read("text", lambda: BytesIO(stream.getvalue().encode()), 0, Reading())
    np.testing.assert_array_equal(read.whole(), finite)


@pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.parquet"])
def test_one_column_is_a_signal(name, tmp_path):
    put(tmp_path / name, [X[:, :1]], Form(columns=("millivolt",)))
    data = io.read(tmp_path / name)
    assert data.form.alone == "signal"
    assert data.shape == (7, 1)


def test_a_signal_without_columns_stays_an_array_of_one_axis(tmp_path):
    np.save(tmp_path / "in.npy", X[:, 0])
    data = io.read(tmp_path / "in.npy")
    put(tmp_path / "out.npy", data.blocks(), data.form)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), X[:, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32])
@pytest.mark.parametrize("channels", [1, 2])
def test_sound_keeps_rate_samples_and_type(dtype, channels, tmp_path):
    wave = np.sin(np.outer(np.arange(400) / 9, np.arange(1, channels + 1)))
    kind, integral = np.dtype(dtype), np.dtype(dtype).kind != "f"
    half = 2.0 ** (8 * kind.itemsize - 1) if integral else 1.0
    samples = (0.9 * half * wave + (half if kind.kind == "u" else 0)).astype(dtype)
    wavfile.write(tmp_path / "in.wav", 8000, samples.squeeze())
    data = io.read(tmp_path / "in.wav")
    assert (data.form.alone, data.form.rate, data.shape) == ("signal", 8000, (400, channels))
    assert isinstance(data.source.values, np.memmap)  # a long recording is never in memory as a whole
    np.testing.assert_allclose(data.whole(), 0.9 * wave, atol=1.01 / half if half > 1 and half < 2**31 else 1e-6)
    put(tmp_path / "out.wav", data.blocks(), data.form)
    rate, found = wavfile.read(tmp_path / "out.wav")
    assert rate == 8000
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, samples.squeeze())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("channels", [1, 3])
def test_floats_are_written_as_scipy_writes_them(dtype, channels, tmp_path):
    samples = np.random.default_rng(0).standard_normal((50, channels)).astype(dtype)
    wavfile.write(tmp_path / "scipy.wav", 44_100, samples.astype(np.dtype(dtype).newbyteorder("<")).squeeze())
    form = Form(alone="signal", rate=44_100, sample=samples.dtype.name)
    put(tmp_path / "ours.wav", [samples[:30], samples[30:]], form)
    assert (tmp_path / "ours.wav").read_bytes() == (tmp_path / "scipy.wav").read_bytes()


@pytest.mark.parametrize("sample", ["int16", "int24", "float32"])
def test_sound_longer_than_its_file_can_hold_gets_a_sentence_and_no_file(sample, tmp_path, monkeypatch):
    monkeypatch.setattr(sound, "LONGEST", 100 * sound.BYTES.get(sample, 4))
    form, blocks = Form(alone="signal", rate=8000, sample=sample), [np.zeros((50, 1), np.float32)] * 3
    put(tmp_path / "fits.wav", blocks[:2], form)
    with pytest.raises(DataFileError, match=r"longer than a .wav file can be, 4 GiB: write .npy"):
        put(tmp_path / "long.wav", blocks, form)
    assert [path.name for path in tmp_path.iterdir()] == ["fits.wav"]


def test_sound_that_is_too_loud_is_clipped_and_does_not_wrap(tmp_path):
    form = Form(alone="signal", rate=100, sample="int16")
    put(tmp_path / "a.wav", [np.array([[2.0], [-2.0], [0.0]])], form)
    assert wavfile.read(tmp_path / "a.wav")[1].tolist() == [32767, -32768, 0]


PICTURES = {
    "grey": pixels(6, 5),
    "colour": pixels(6, 5, 3),
    "grey of 16 bits": pixels(6, 5, dtype=np.uint16),
}


@pytest.mark.parametrize("kind", PICTURES)
@pytest.mark.parametrize("ending", [".png", ".tiff"])
def test_one_image_keeps_its_pixels(kind, ending, tmp_path):
    Image.fromarray(PICTURES[kind]).save(tmp_path / f"in{ending}")
    data = io.read(tmp_path / f"in{ending}")
    assert (data.form.alone, data.form.shape) == ("image", PICTURES[kind].shape)
    values, depth = data.whole(), np.iinfo(PICTURES[kind].dtype).max
    np.testing.assert_allclose(values.ravel() * depth, PICTURES[kind].ravel(), atol=1e-9 * depth)
    put(tmp_path / f"out{ending}", [values], data.form)
    with Image.open(tmp_path / f"out{ending}") as image:
        np.testing.assert_array_equal(np.asarray(image), PICTURES[kind])


def test_other_kinds_of_images_are_brought_to_grey_and_colour(tmp_path):
    grey, colour = Image.fromarray(PICTURES["grey"]), Image.fromarray(PICTURES["colour"])
    shades = {
        "opaque.png": (colour.convert("RGBA"), (6, 5, 3)),
        "palette.png": (colour.quantize(8), (6, 5, 3)),
        "bits.png": (grey.convert("1"), (6, 5)),
        "press.jpg": (colour.convert("CMYK"), (6, 5, 3)),
    }
    for name, (image, shape) in shades.items():
        image.save(tmp_path / name)
        assert io.read(tmp_path / name).form.shape == shape


def test_photographs_are_turned_as_their_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PICTURES["grey"]).save(tmp_path / "a.jpg", exif=exif)
    assert io.read(tmp_path / "a.jpg").form.shape == (5, 6)


def folder_of(path, *images, ending=".png"):
    path.mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(path / f"{number:03d}{ending}")
    return path


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 3)])
def test_a_folder_is_one_image_a_row(shape, tmp_path):
    images = [pixels(*shape, seed=seed) for seed in range(5)]
    folder_of(tmp_path / "in", *images)
    (tmp_path / "in" / "notes.md").write_text("passed over")
    data = io.read(tmp_path / "in")
    assert (data.shape, data.form.shape, len(data.form.names)) == ((5, int(np.prod(shape))), shape, 5)
    put(tmp_path / "out", data.blocks(), data.form)
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]
    assert sorted(os.listdir(tmp_path / "out")) == [f"{n:03d}.png" for n in range(5)]
    for number, image in enumerate(images):
        with Image.open(tmp_path / "out" / f"{number:03d}.png") as found:
            np.testing.assert_array_equal(np.asarray(found), image)
    put(tmp_path / "rows.npy", data.blocks(), data.form)
    assert np.load(tmp_path / "rows.npy").shape == (5, *shape)


# Large files


def test_wide_rows_are_walked_in_blocks_of_a_byte_budget(tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros((700, 20_000), np.float32))
    sizes = [block.nbytes for block in io.read(tmp_path / "wide.npy").blocks()]
    assert max(sizes) <= 64 * 2**20
    assert sum(sizes) == 4 * 700 * 20_000


def test_large_files_are_walked_in_blocks_and_give_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LARGE", 50)
    monkeypatch.setattr(delimited, "LARGE", 50)
    monkeypatch.setattr("preimage.io.chunks.BLOCK", 2)
    for name in ("a.npy", "a.csv", "a.parquet"):
        data = io.read(put(tmp_path / name, [X], Form(columns=("x", "y", "z")), overwrite=True))
        assert [len(block) for block in data.blocks()] == [2, 2, 2, 1]
        walked = data.to_fit()
        assert isinstance(walked, Chunks)
        assert walked.shape == (7, 3)
        for _ in range(2):
            np.testing.assert_array_equal(np.concatenate(list(walked)), X)


def test_an_npy_file_is_mapped_and_not_read(tmp_path):
    np.save(tmp_path / "a.npy", X)
    assert isinstance(io.read(tmp_path / "a.npy").source, np.memmap)


# What cannot be read is told in a sentence


def text(content):
    return lambda path: path.write_text(content)


def image_file(array, **options):
    return lambda path: Image.fromarray(array).save(path, **options)


def damaged_png(path):
    Image.fromarray(pixels(40, 40)).save(path)
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(30)
    path.write_bytes(content)


def cut(writer, name, share):
    def make(path):
        writer(path)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])

    return make


def transparent(path):
    image = Image.fromarray(pixels(4, 4, 3)).convert("RGBA")
    image.putalpha(Image.fromarray(pixels(4, 4)))
    image.save(path)


def deep_colour(path):
    """A colour PNG of 16 bits, which pillow reads as one of 8: its header is enough to refuse it."""
    Image.fromarray(pixels(4, 4, 3)).save(path)
    content = bytearray(path.read_bytes())
    content[24] = 16
    import zlib

    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    path.write_bytes(content)


def parquet_of(**columns):
    def make(path):
        import pandas as pd

        pd.DataFrame(columns).to_parquet(path)

    return make


BAD = {
    "empty.csv": (text(""), "is empty"),
    "blank.csv": (text("\n  \n"), "is empty"),
    "header.csv": (text("a,b\n"), "a header but no rows"),
    "ragged.csv": (text("a,b\n1,2\n3\n"), "line 3: 1 cells, but the first line has 2"),
    "long.csv": (text("1,2\n3,4,5\n"), "line 2: 3 cells"),
    "words.csv": (text("a,b\n1,2\n\n3,x7\n"), "line 4, column 'b': 'x7' is not a number"),
    "nameless.csv": (text("1,2\n3,x7\n"), "line 2, column 2: 'x7' is not a number"),
    "gap.csv": (text("a,b\n1,2\n3,\n"), "row 2, column 'b' is missing .*preimage impute"),
    "infinite.csv": (text("a,b\n1,inf\n"), "row 1, column 'b' is infinite"),
    "latin.csv": (lambda path: path.write_bytes("a,b\n1,\xe9".encode("latin-1")), "not text in UTF-8"),
    "empty.npy": (text(""), "empty, damaged"),
    "text.npy": (text("hello"), "empty, damaged"),
    "names.npy": (lambda path: np.save(path, np.array(["a", "b"])), "type <U1, not numbers"),
    "pickle.npy": (lambda path: np.save(path, np.array([{}]), allow_pickle=True), "no .npy file of numbers"),
    "none.npy": (lambda path: np.save(path, np.zeros((0, 3))), "is empty"),
    "number.npy": (lambda path: np.save(path, np.float64(3)), "0 axes"),
    "gap.npy": (lambda path: np.save(path, np.array([[1, 2], [np.nan, 0]])), "row 2, column 1 is missing"),
    "cut.npy": (cut(lambda path: np.save(path, X), "cut.npy", 0.7), "empty, damaged"),
    "text.npz": (text("hello"), "no .npz file"),
    "two.npz": (lambda path: np.savez(path, a=X, b=X), "holds the arrays a, b"),
    "cut.npz": (cut(lambda path: np.savez(path, a=X), "cut.npz", 0.7), "no .npz file"),
    "text.parquet": (text("hello"), "no parquet file"),
    "words.parquet": (parquet_of(b=["x"]), "has no column of numbers"),
    "gap.parquet": (parquet_of(a=[1.0, None]), "row 2, column 'a' is missing"),
    "text.wav": (text("hello"), "no .wav file"),
    "cut.wav": (cut(lambda path: wavfile.write(path, 8000, np.zeros(50, np.int16)), "cut.wav", 0.2), "damaged"),
    "text.png": (text("hello"), "damaged, or no image"),
    "damaged.png": (damaged_png, "damaged, or no image"),
    "cut.jpg": (cut(image_file(pixels(40, 40)), "cut.jpg", 0.5), "damaged, or no image"),
    "clear": (lambda path: (path.mkdir(), transparent(path / "a.png")), "transparent parts"),
    "deep.png": (deep_colour, "16-bit colour"),
    "unknown.xyz": (text("1,2"), "unknown ending '.xyz'"),
    "missing.csv": (lambda path: None, "does not exist"),
    "nothing": (lambda path: path.mkdir(), "holds no images"),
    "sizes": (
        lambda path: folder_of(path, pixels(4, 4), pixels(4, 5)),
        r"001.png is 4 high and 5 wide, grey .* 000.png is 4 high and 4 wide",
    ),
    "shades": (
        lambda path: folder_of(path, pixels(4, 4), pixels(4, 4, 3)),
        "001.png is 4 high and 4 wide, colour of 8 bits",
    ),
    "depths": (lambda path: folder_of(path, pixels(4, 4), pixels(4, 4, dtype=np.uint16)), "001.png is .*16 bits"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_told_in_one_sentence(name, tmp_path):
    make, sentence = BAD[name]
    make(tmp_path / name)
    with pytest.raises(DataFileError, match=sentence) as told:
        io.read(tmp_path / name).whole()
    assert name.split(".")[0] in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["gap.csv", "gap.npy", "gap.parquet"])
def test_gaps_are_read_where_they_are_allowed(name, tmp_path):
    BAD[name][0](tmp_path / name)
    assert np.isnan(io.read(tmp_path / name).whole(gaps=True)).sum() == 1


@pytest.mark.parametrize(
    ("content", "columns", "first"),
    [
        ("1;2\n3;4\n", None, [1, 2]),
        ("a;b\n1.5;2\n", ("a", "b"), [1.5, 2]),
        ("1  2\n3 4\n", None, [1, 2]),
        ("heart rate\n70\n71\n", ("heart rate",), [70]),
        ('"a","b"\n"1","2"\n', ("a", "b"), [1, 2]),
        ("\ufeffa,b\r\n1,2\r\n", ("a", "b"), [1, 2]),
        ("-1e-3,+2.\n", None, [-0.001, 2]),
    ],
)
def test_text_is_read_as_it_is_found(content, columns, first, tmp_path):
    (tmp_path / "a.csv").write_bytes(content.encode())
    data = io.read(tmp_path / "a.csv")
    assert data.form.columns == columns
    assert data.whole()[0].tolist() == first


def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch):
    import sys

    (tmp_path / "a.parquet").write_text("")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataFileError, match=r"pip install preimage\[io\]"):
        io.read(tmp_path / "a.parquet")


# What cannot be written is told before the work, and leaves nothing

IMAGE = Form(shape=(2, 2), alone="image")
STACK = Form(shape=(2, 2))


@pytest.mark.parametrize(
    ("name", "form", "error", "sentence"),
    [
        ("there.csv", Form(), FileExistsError, "exists already"),
        ("nowhere/a.csv", Form(), FileNotFoundError, "does not exist"),
        ("nowhere/images", STACK, DataFileError, "does not exist"),
        ("a.xyz", Form(), DataFileError, "unknown ending"),
        ("a.png", Form(), DataFileError, "are not images"),
        ("a.png", STACK, DataFileError, "need a .tif file or a folder"),
        ("a.wav", Form(alone="signal"), DataFileError, "only sound"),
        ("folder", STACK, FileExistsError, "exists already"),
        ("images", Form(), DataFileError, "are not images"),
        ("images", IMAGE, DataFileError, "this is one image"),
    ],
)
def test_a_place_that_cannot_hold_the_rows_is_told_before_the_work(name, form, error, sentence, tmp_path):
    (tmp_path / "there.csv").write_text("kept")
    (tmp_path / "folder").mkdir()
    with pytest.raises(error, match=sentence), io.writing(tmp_path / name, form):
        pytest.fail("the block ran")
    assert sorted(os.listdir(tmp_path)) == ["folder", "there.csv"]
    assert (tmp_path / "there.csv").read_text() == "kept"


@pytest.mark.parametrize("name", [*TABLES, "a.png", "a.wav", "a.npz"])
def test_nothing_to_write_is_told_and_no_file_appears(name, tmp_path):
    form = replace(IMAGE, alone="signal" if name == "a.wav" else "image", rate=9, sample="f4")
    with pytest.raises(DataFileError, match="there are no rows to write"):
        put(tmp_path / name, iter([]), form)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", [*TABLES, "a.png", "a.wav", "images"])
@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt])
def test_an_interrupted_writer_leaves_nothing(name, end, tmp_path):
    form = replace(
        IMAGE, alone="" if name == "images" else "signal" if name == "a.wav" else "image", rate=9, sample="f4"
    )

    def blocks():
        yield np.zeros((1, 4))
        raise end

    with pytest.raises(end):
        put(tmp_path / name, blocks(), form)
    assert not os.listdir(tmp_path)


def test_a_folder_is_replaced_only_if_nothing_else_is_lost(tmp_path):
    form = replace(STACK, names=("a.png", "b.png"))
    put(tmp_path / "out", [np.zeros((2, 4))], form)
    put(tmp_path / "out", [np.ones((2, 4))], form, overwrite=True)
    with Image.open(tmp_path / "out" / "b.png") as image:
        assert np.asarray(image).min() == 255
    (tmp_path / "out" / "thesis.tex").write_text("dear")
    with pytest.raises(DataFileError, match=r"holds other files, such as thesis.tex"):
        put(tmp_path / "out", [np.ones((2, 4))], form, overwrite=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "dear"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_came_into_the_folder_while_we_worked_is_not_lost(tmp_path):
    form = replace(STACK, names=("a.png", "b.png"))
    put(tmp_path / "out", [np.zeros((2, 4))], form)

    def blocks():
        yield np.ones((1, 4))
        (tmp_path / "out" / "thesis.tex").write_text("dear")
        yield np.ones((1, 4))

    with pytest.raises(DataFileError, match=r"holds other files, such as thesis.tex"):
        put(tmp_path / "out", blocks(), form, overwrite=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "dear"
    with Image.open(tmp_path / "out" / "b.png") as image:
        assert np.asarray(image).max() == 0
    assert os.listdir(tmp_path) == ["out"]


@given(content=st.binary(max_size=200), ending=st.sampled_from([".npy", ".npz", ".csv", ".parquet", ".wav", ".png"]))
@settings(max_examples=150)
def test_random_bytes_are_a_sentence_or_numbers(content, ending, scratch):
    path = scratch.with_suffix(ending)
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            assert io.read(path).whole(gaps=True).dtype.kind == "f"
        except DataFileError as error:
            assert "\n" not in str(error)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch") / "data"


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_a_damaged_header_is_one_sentence_without_pythons_own_warnings(name, tmp_path, recwarn):
    content = BytesIO()
    np.save(content, np.zeros((3, 2)))
    damaged = content.getvalue().replace(b"'descr'", rb"'des\c'")
    if name == "a.npy":
        (tmp_path / name).write_bytes(damaged)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("X.npy", damaged)
    with pytest.raises(DataFileError, match="damaged"):
        io.read(tmp_path / name)
    assert not recwarn.list
