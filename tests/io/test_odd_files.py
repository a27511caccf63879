"""Files as other programs write them, and files that are broken: what each gives, through the command line.

`preimage impute` leaves every number that is there as it is, so that what goes in must come out.
"""

import csv
import os
import re
import zipfile
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageSequence
from scipy.io import wavfile

from console import call, run
from helpers import rows
from preimage import KernelPCA, io

GIVEN = Path(__file__).parents[1] / "data" / "odd"
FRAME = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": [4.5, 5.5, 6.5]})


@dataclass(frozen=True)
class Table:
    """A file that is read as a table: all its cells as they come out as CSV, and what the notes say."""

    make: Any
    cells: list[list[str]]
    note: str = ""
    options: tuple = ()
    width: int = 2


@dataclass(frozen=True)
class Bad:
    """A file that is refused, and the sentence that says why."""

    make: Any
    sentence: str
    options: tuple = ()


def text(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding))


def frame(table=FRAME, **options):
    writers = {".csv": "to_csv", ".xlsx": "to_excel", ".parquet": "to_parquet"}
    return lambda path: getattr(table, writers[path.suffix])(path, **options)


def sheets(*contents):
    """A workbook by openpyxl, one list of rows per sheet."""

    def make(path):
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for number, content in enumerate(contents, 1):
            sheet = book.create_sheet(f"sheet {number}")
            for row in content:
                sheet.append(row)
        book.save(path)

    return make


def arrow(**columns):
    def make(path):
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), path)

    return make


def cut(writer, share=0.5):
    def make(path):
        writer(path)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])

    return make


def twice_named(path):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_arrays([[1.5, 2.5], [3.5, 4.5]], names=["a", "a"]), path)


AB = [["a", "b"], ["1.5", "4.5"], ["2.5", "5.5"], ["3.5", "6.5"]]
MARKED = FRAME.assign(kind=["x", "y", "x"], good=[True, False, True])[["kind", "a", "good", "b"]]
DATED = FRAME.assign(when=pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]))
KEPT = [
    ["kind", "a", "good", "b"],
    ["x", "1.5", "True", "4.5"],
    ["y", "2.5", "False", "5.5"],
    ["x", "3.5", "True", "6.5"],
]

TABLES = {
    # delimited text
    "pandas.csv": Table(frame(index=False), AB),
    "pandas_index.csv": Table(
        frame(),
        [["", "a", "b"], ["0", "1.5", "4.5"], ["1", "2.5", "5.5"], ["2", "3.5", "6.5"]],
        r"column 1 \(an index\)",
    ),
    "pandas_counted.csv": Table(
        frame(pd.DataFrame(FRAME.to_numpy())),
        [["", "0", "1"], ["0", "1.5", "4.5"], ["1", "2.5", "5.5"], ["2", "3.5", "6.5"]],
        "an index",
    ),
    "pandas_text.csv": Table(frame(MARKED, index=False), KEPT, r"'kind' \(text\), 'good' \(true or false\)"),
    "pandas_dates.csv": Table(
        frame(DATED, index=False),
        [[*AB[0], "when"], *([*row, f"2024-01-0{day}"] for day, row in enumerate(AB[1:], 1))],
        r"'when' \(dates\)",
    ),
    "pandas_semicolon.csv": Table(frame(index=False, sep=";", decimal=","), AB),
    "pandas_utf16.csv": Table(frame(index=False, encoding="utf-16"), AB),
    "bom.csv": Table(text("\ufeffa,b\r\n1.5,4.5\r\n"), AB[:2]),
    "utf16_without_mark.csv": Table(text("a,b\n1.5,4.5\n2.5,5.5\n", "utf-16-le"), AB[:3]),
    "latin.csv": Table(
        text("ä,b\n1.5,4.5\n", "cp1252"), [["ä", "b"], ["1.5", "4.5"]], options=("--encoding", "cp1252")
    ),
    "r_write_csv.csv": Table(
        text('"","a","b"\n"1",1.5,4.5\n"2",2.5,5.5\n'),
        [["", "a", "b"], ["1", "1.5", "4.5"], ["2", "2.5", "5.5"]],
        "an index",
    ),
    "r_write_table.txt": Table(
        text('"a" "b"\n"Mazda RX4" 1.5 4.5\n"Datsun 710" 2.5 5.5\n'),
        [["", "a", "b"], ["Mazda RX4", "1.5", "4.5"], ["Datsun 710", "2.5", "5.5"]],
        r"column 1 \(text\)",
    ),
    "r_write_csv2.csv": Table(text('"a";"b"\n1,5;4,5\n2,5;5,5\n'), AB[:3]),
    "numpy_savetxt.csv": Table(
        lambda path: np.savetxt(path, FRAME.to_numpy(), fmt="%.1f", delimiter=",", header="a,b"), AB
    ),
    "numpy_plain.txt": Table(lambda path: np.savetxt(path, FRAME.to_numpy(), fmt="%.1f"), AB[1:]),
    "excel_sep.csv": Table(text("sep=;\r\na;b\r\n1,5;4,5\r\n"), AB[:2]),
    "single_quotes.csv": Table(text("'a','b'\n'1.5','4.5'\n"), AB[:2]),
    "spaced_quotes.csv": Table(text('"a", "b, c"\n1.5, 4.5\n'), [["a", "b, c"], ["1.5", "4.5"]]),
    "quoted_line_end.csv": Table(
        text('kind,a,b\n"two\nlines",1.5,4.5\n"one",2.5,5.5\n'),
        [["kind", "a", "b"], ["two\nlines", "1.5", "4.5"], ["one", "2.5", "5.5"]],
        "'kind'",
    ),
    "old_mac.csv": Table(text("a,b\r1.5,4.5\r2.5,5.5\r"), AB[:3]),
    "tabs.tsv": Table(text("a\tb\n1.5\t4.5\n"), AB[:2]),
    "pipes.txt": Table(text("a|b\n1.5|4.5\n"), AB[:2]),
    "aligned.txt": Table(text("  1.5    4.5\n 22.5    5.5\n"), [["1.5", "4.5"], ["22.5", "5.5"]]),
    "comments.csv": Table(
        text("# made by a logger\n# at night\na,b\n1.5,4.5\n"), [["# made by a logger"], ["# at night"], *AB[:2]]
    ),
    "repeated_names.csv": Table(text("a,a,b\n1.5,2.5,4.5\n"), [["a", "a", "b"], ["1.5", "2.5", "4.5"]], width=3),
    "identifier.csv": Table(
        text("PassengerId,a,b\n7,1.5,4.5\n3,2.5,5.5\n9,3.5,6.5\n"),
        [["PassengerId", *AB[0]], ["7", *AB[1]], ["3", *AB[2]], ["9", *AB[3]]],
        r"'PassengerId' \(an identifier\)",
    ),
    "chosen.csv": Table(
        text("a,c,b\n1.5,9,4.5\n2.5,8,5.5\n"),
        [["a", "c", "b"], ["1.5", "9", "4.5"], ["2.5", "8", "5.5"]],
        options=("--columns", "a,b"),
    ),
    "kept.csv": Table(
        text("a,c,b\n1.5,x9,4.5\n2.5,8,5.5\n"),
        [["a", "c", "b"], ["1.5", "x9", "4.5"], ["2.5", "8", "5.5"]],
        options=("--keep", "c"),
    ),
    "counting_row.csv": Table(
        text("1,2,3\n4.5,5.5,6.5\n"),
        [["1.0", "2.0", "3.0"], ["4.5", "5.5", "6.5"]],
        "line [(]1, 2, 3, …[)] is read as numbers",
        width=3,
    ),
    "counting_names.csv": Table(
        text("1,2,3\n4.5,5.5,6.5\n"), [["1", "2", "3"], ["4.5", "5.5", "6.5"]], options=("--header",), width=3
    ),
    "counting_index.csv": Table(
        text(",0,1\n5,4.5,5.5\n6,2.5,3.5\n"),
        [["", "0", "1"], ["5", "4.5", "5.5"], ["6", "2.5", "3.5"]],
        "column 1 [(]an index[)]",
    ),
    "whole.csv": Table(text("a,b\n1,2\n3,4\n"), [["a", "b"], ["1", "2"], ["3", "4"]]),
    "wavelengths.csv": Table(
        text("sample,400,402\n1.5,4.5,2.5\n"), [["sample", "400", "402"], ["1.5", "4.5", "2.5"]], width=3
    ),
    # parquet
    "pandas.parquet": Table(frame(), AB),
    "pandas_text.parquet": Table(frame(MARKED), KEPT, "'kind'.*'good'"),
    "pandas_named_index.parquet": Table(
        frame(FRAME.set_index(pd.Index(["x", "y", "z"], name="who"))),
        [[*AB[0], "who"], [*AB[1], "x"], [*AB[2], "y"], [*AB[3], "z"]],
        r"'who' \(text\)",
    ),
    "categories.parquet": Table(
        frame(MARKED[["kind", "a", "b"]].astype({"kind": "category"})),
        [["kind", *AB[0]], ["x", *AB[1]], ["y", *AB[2]], ["x", *AB[3]]],
        r"'kind' \(categories\)",
    ),
    "whole.parquet": Table(arrow(a=[1, 2], b=[3, 4]), [["a", "b"], ["1", "3"], ["2", "4"]]),
    "repeated_names.parquet": Table(twice_named, [["a", "a"], ["1.5", "3.5"], ["2.5", "4.5"]]),
    # spreadsheets
    "pandas.xlsx": Table(frame(index=False), AB),
    "pandas_text.xlsx": Table(frame(MARKED, index=False), KEPT, "'kind'.*'good'"),
    "dates.xlsx": Table(
        sheets([["when", "a", "b"], [datetime(2024, 1, 2), 1.5, 4.5], [datetime(2024, 1, 3), 2.5, 5.5]]),
        [["when", *AB[0]], ["2024-01-02 00:00:00", *AB[1]], ["2024-01-03 00:00:00", *AB[2]]],
        r"'when' \(dates\)",
    ),
    "shifted.xlsx": Table(sheets([[], [None, None], ["a", "b"], [1.5, 4.5], []]), AB[:2]),
    "numbers_as_text.xlsx": Table(sheets([["a", "b"], ["1.5", 4.5], ["2.5", 5.5]]), AB[:3]),
    "two_sheets.xlsx": Table(
        sheets([["a", "b"], [1.5, 4.5]], [["c"], [1]]), AB[:2], "'sheet 1' is read, but not 'sheet 2'"
    ),
}

BAD = {
    "empty.csv": Bad(text(""), "is empty"),
    "only_comments.csv": Bad(text("# nothing\n"), "is empty"),
    "only_text.csv": Bad(text("a,b\nx,y\n"), "no column of numbers"),
    "latin_unnamed.csv": Bad(text("ä,b\n1,2\n", "cp1252"), "not text in UTF-8: give its encoding by --encoding"),
    "wrong_encoding.csv": Bad(text("a,b\n1,2"), "not text in utf-16", ("--encoding", "utf-16")),
    "mistyped_first_row.csv": Bad(text("1.0,2.O\n3,4\n5,6\n"), "line 1, column 2: '2.O' is not a number .--header"),
    "hexadecimal.csv": Bad(text("0x10,2\n3,4\n5,6\n"), "line 1, column 1: '0x10' is not a number"),
    "mistyped_later.csv": Bad(text("a,b\n1,2\n3,4\n5,6O\n"), "line 4, column 'b': '6O' is not a number .--keep 2"),
    "underscore.csv": Bad(text("a,b\n1_000,2\n3,4\n"), "'1_000' is not a number"),
    "ragged.csv": Bad(text("a,b\n1,2\n3,4\n5\n"), "line 4: 1 cells"),
    "long_cell.csv": Bad(text(f'a,b\n"{"x" * 140_000}",2\n'), "not a table in text: field larger"),
    "no_such_column.csv": Bad(text("a,b\n1,2\n"), "no column 'z'; it has 'a', 'b'", ("--columns", "a,z")),
    "two_of_a_name.csv": Bad(text("a,a\n1,2\n"), "2 columns 'a': give the number", ("--columns", "a")),
    "columns_of_an_array.npy": Bad(lambda path: np.save(path, rows(3, 2)), "is not a table", ("--columns", "1")),
    "infinite.csv": Bad(text("a,b\n1,inf\n"), "column 'b' is infinite"),
    "binary.csv": Bad(lambda path: path.write_bytes(bytes(range(256))), "not text|not a table|no column"),
    "text.xlsx": Bad(text("hello"), "no .xlsx file"),
    "cut.xlsx": Bad(cut(frame()), "no .xlsx file"),
    "blank.xlsx": Bad(sheets([[]]), "is empty"),
    "old.xls": Bad(text("x"), "save it as .xlsx or CSV"),
    "cut.parquet": Bad(cut(frame()), "no parquet file"),
    "only_text.parquet": Bad(arrow(a=["x"]), "no column of numbers"),
    "encrypted.npz": Bad(lambda path: path.write_bytes(encrypted()), "no .npz file"),
    "unpacked.npz": Bad(lambda path: np.savez(path, X=np.array([{}])), "no .npz file of numbers"),
    "lying_header.npz": Bad(lambda path: path.write_bytes(lying()), "no .npz file"),
    "damaged_zip.npz": Bad(lambda path: path.write_bytes(damaged_deflate()), "no .npz file"),
    "broken_header.npy": Bad(
        lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8 (  \n"), "no .npy file"
    ),
    "im_rgb16.png": Bad(GIVEN, "16-bit colour"),
    "sox_alaw.wav": Bad(GIVEN, "holds ALAW sound: save it as PCM"),
    "empty.wav": Bad(lambda path: wavfile.write(path, 8000, np.zeros(0, np.int16)), "is empty|no .wav"),
    "text.flac": Bad(text("hello"), "no .flac file"),
    "speech.mp3": Bad(text("x"), "save it as .wav or .flac"),
    "text.tif": Bad(text("hello"), "no image"),
    "cut.tif": Bad(cut(lambda path: Image.fromarray(np.ones((40, 40), np.uint8)).save(path)), "no image"),
    "unlike_pages.tif": Bad(lambda path: pages(path, (4, 3), (2, 2)), "page 2 differs from the first"),
    "bomb.png": Bad(lambda path: path.write_bytes(bomb()), "too large an image"),
    "pipe.csv": Bad(os.mkfifo, "is a device or a pipe, not a file; - reads CSV"),
}


def encrypted():
    stream = BytesIO()
    np.savez(stream, X=rows(3, 2))
    content = bytearray(stream.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    return bytes(content)


def archive(member):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X.npy", member)
    return stream.getvalue()


def lying():
    """An array that says it holds far more than it does."""
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**15, 3)})
    return archive(stream.getvalue() + bytes(48))


def damaged_deflate():
    stream = BytesIO()
    np.save(stream, rows(40, 3))
    content = bytearray(archive(stream.getvalue()))
    content[200:260] = bytes(60)
    return bytes(content)


def bomb():
    """A PNG of 11000 × 11000 pixels, by its header."""
    import zlib

    stream = BytesIO()
    Image.fromarray(np.zeros((1, 1), np.uint8)).save(stream, "PNG")
    content = bytearray(stream.getvalue())
    content[16:24] = (11_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


def pages(path, *shapes):
    images = [Image.fromarray(np.full(shape, 9, np.uint8)) for shape in shapes]
    images[0].save(path, save_all=True, append_images=images[1:])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models that fill gaps of rows of a given width."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def model(width):
        if width not in made:
            made[width] = folder / f"{width}.npz"
            KernelPCA(1, kernel="linear").fit(rows(5, width)).save(made[width])
        return made[width]

    return model


def put(make, path):
    path.write_bytes((make / path.name).read_bytes()) if isinstance(make, Path) else make(path)
    return path


@pytest.mark.parametrize("name", TABLES)
def test_a_table_comes_out_as_it_went_in(name, models, tmp_path):
    odd = TABLES[name]
    done = call("impute", models(odd.width), put(odd.make, tmp_path / name), *odd.options)
    assert done.exit_code == 0, done.stderr
    assert list(csv.reader(StringIO(done.stdout, newline=""))) == odd.cells
    assert done.stderr.count("note:") == bool(odd.note)
    assert re.search(odd.note, done.stderr)


@pytest.mark.parametrize("name", BAD)
def test_a_broken_file_is_refused_in_one_sentence(name, models, tmp_path):
    odd = BAD[name]
    put(odd.make, tmp_path / name)
    done = call("impute", models(2), tmp_path / name, "-o", tmp_path / "out.csv", *odd.options)
    assert done.exit_code == 1, done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert re.search(odd.sentence, done.stderr), done.stderr
    assert done.stdout == ""
    assert os.listdir(tmp_path) == [name]


# Pictures and sound


def pixels_of(path, name):
    """The pixels of a file, read by other libraries."""
    import tifffile

    if name in ("im_rgb16.tif", "im_grey16_msb.tif"):
        return tifffile.imread(path)
    with Image.open(path) as image:
        if getattr(image, "n_frames", 1) > 1:
            return np.stack([np.asarray(page) for page in ImageSequence.Iterator(image)])
        mode = "RGBA" if "transparency" in image.info else "RGB"
        return np.asarray(image.convert(mode) if image.mode == "P" else image)


# Fixtures of other programs, with the shape and the type that they must keep.
PICTURES = {
    "im_rgb16.tif": ((3, 4, 3), "uint16", ".tif"),
    "im_pages_lzw.tif": ((2, 3, 4), "uint8", ".tif"),
    "im_grey16_msb.tif": ((3, 4), "uint16", ".tif"),
    "im_float32.tif": ((3, 4), "float32", ".tif"),
    "gimp_like_rgba_lzw.tif": ((3, 4, 4), "uint8", ".tif"),
    "im_alpha.png": ((3, 4, 4), "uint8", ".png"),
    "im_grey16.png": ((3, 4), "uint16", ".png"),
    "im_interlaced.png": ((3, 4, 3), "uint8", ".png"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_another_program_keeps_its_pixels(name, models, tmp_path):
    shape, dtype, ending = PICTURES[name]
    data = io.read(put(GIVEN, tmp_path / name))
    done = call("impute", models(data.shape[1]), tmp_path / name, "-o", tmp_path / f"out{ending}")
    assert done.exit_code == 0, done.stderr
    found, expected = (pixels_of(path, name) for path in (tmp_path / f"out{ending}", tmp_path / name))
    assert (found.shape, found.dtype.name) == (shape, dtype)
    np.testing.assert_array_equal(found, expected)


def wide(dtype, *values):
    return np.resize(np.array(values, dtype), (3, 4))


MADE = {
    "int32.tif": wide("int32", 70_000, -5, 0, 3),
    "uint32.tif": wide("uint32", 3_000_000_000, 5),
    "float64.tif": wide("float64", 0.1, -7.25, 1e6),
    "float16.tif": wide("float16", 0.5, -7.25),
    "pages16.tif": np.stack([wide("uint16", 1, 60_000), wide("uint16", 7, 9)]),
    "colour_pages16.tif": np.random.default_rng(0).integers(0, 65535, (2, 3, 4, 3), dtype="uint16"),
}


@pytest.mark.parametrize("name", MADE)
def test_a_tiff_of_any_type_keeps_its_numbers(name, models, tmp_path):
    import tifffile

    kind = "rgb" if MADE[name].shape[-1] == 3 else "minisblack"
    tifffile.imwrite(tmp_path / name, MADE[name], photometric=kind)
    data = io.read(tmp_path / name)
    assert data.shape[0] == (len(MADE[name]) if name.startswith(("pages", "colour")) else 1)
    done = call("impute", models(data.shape[1]), tmp_path / name, "-o", tmp_path / "out.tif")
    assert done.exit_code == 0, done.stderr
    found = tifffile.imread(tmp_path / "out.tif")
    assert found.dtype == MADE[name].dtype
    np.testing.assert_array_equal(found, MADE[name])


SOUNDS = {
    "sox8.wav": ("uint8", 8),
    "sox24.wav": ("int24", 24),
    "sox32_stereo.wav": ("int32", 32),
    "ffmpeg_float.wav": ("float32", 32),
    "ffmpeg_double.wav": ("float64", 64),
    "ffmpeg_pipe.wav": ("int16", 16),
    "sox16.flac": ("int16", 16),
    "sox24.flac": ("int24", 24),
}


@pytest.mark.parametrize("name", SOUNDS)
def test_sound_of_another_program_keeps_its_samples(name, models, tmp_path):
    import soundfile

    path = put(GIVEN, tmp_path / name)
    data = io.read(path)
    assert data.form.sample == SOUNDS[name][0]
    out = tmp_path / f"out{path.suffix}"
    done = call("impute", models(data.shape[1]), path, "-o", out)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    assert soundfile.info(out).subtype == soundfile.info(path).subtype
    found, expected = soundfile.read(out, dtype="float64"), soundfile.read(path, dtype="float64")
    assert found[1] == expected[1]
    np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("sample", ["int24", "int16"])
def test_sound_that_was_cut_is_read_with_a_note(sample, models, tmp_path):
    wavfile.write(tmp_path / "int16.wav", 8000, np.arange(80, dtype=np.int16))
    content = (GIVEN / "sox24.wav" if sample == "int24" else tmp_path / "int16.wav").read_bytes()
    width = 3 if sample == "int24" else 2
    (tmp_path / "half.wav").write_bytes(content[: len(content) - 40 * width])
    done = call("impute", models(1), tmp_path / "half.wav", "-o", tmp_path / "out.wav")
    assert done.exit_code == 0, done.stderr
    assert "is shorter than its header says: it holds 40 samples" in done.stderr


@pytest.mark.parametrize("name", ["pandas_text.csv", "cut.xlsx", "im_rgb16.tif"])
def test_odd_files_through_the_console(name, models, tmp_path):
    make = TABLES[name].make if name in TABLES else BAD[name].make if name in BAD else GIVEN
    put(make, tmp_path / name)
    width = 36 if name == "im_rgb16.tif" else 2
    done = run("impute", models(width), tmp_path / name, "-o", tmp_path / ("out" + Path(name).suffix))
    assert "Traceback" not in done.stderr
    assert done.returncode == (name in BAD), done.stderr
    assert (tmp_path / ("out" + Path(name).suffix)).exists() == (name not in BAD)
