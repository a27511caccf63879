"""Files that claim more than they hold are refused before anything is expanded."""

import io as bytes_io
import json
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from preimage import io
from preimage.exceptions import DataFileError, ModelFileError
from preimage.io import bounds, models

MEBIBYTE = 2**20


def packed_zeros(path, size):
    """An archive with one array of so many bytes, all zero."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("X.npy", "w") as member:
        np.lib.format.write_array_header_1_0(
            member, {"descr": "<f8", "fortran_order": False, "shape": (size // 8 // 4, 4)}
        )
        for _ in range(size // MEBIBYTE):
            member.write(bytes(MEBIBYTE))


def plain_png(path, side):
    """A black RGB image of any side, in a few bytes for every row of pixels."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 3 * side)) for _ in range(side)) + packer.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def sparse_sheet(path):
    """A spreadsheet of two cells, the first and the last that a sheet can have."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = 1.0, 2.0
    book.save(path)


BOMBS = {
    "zeros.npz": lambda path: packed_zeros(path, 200 * MEBIBYTE),
    "black.png": lambda path: plain_png(path, 6000),
    "sparse.xlsx": sparse_sheet,
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_expands_to_more_than_a_file_can_hold_is_refused_at_no_cost(tmp_path, name):
    BOMBS[name](tmp_path / name)
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match="to be trusted"):
            io.read(tmp_path / name).whole()
        assert tracemalloc.get_traced_memory()[1] < 100 * MEBIBYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("channels", [1, 3])
def test_a_large_picture_takes_little_more_than_its_numbers(tmp_path, channels):
    shape = (1000, 1000, channels)[: 2 if channels == 1 else 3]
    levels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    pytest.importorskip("PIL.Image").fromarray(levels).save(tmp_path / "a.png", compress_level=0)
    tracemalloc.start()
    try:
        data = io.read(tmp_path / "a.png")
        assert tracemalloc.get_traced_memory()[1] < 2.5 * levels.size  # the pixels once, and a mask
        found = data.whole()
        assert tracemalloc.get_traced_memory()[1] < (8 + 2.5) * levels.size
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found.reshape(shape), levels / 255)


def test_scans_in_black_and_white_are_read_and_too_many_pages_of_nothing_are_not(tmp_path):
    """A page of 600 dpi takes 33 MiB as bytes, and a few kB in fax compression."""
    image = pytest.importorskip("PIL.Image")
    page = image.new("1", (4960, 7016), 1)
    page.paste(0, (100, 200, 700, 300))
    page.save(tmp_path / "scan.tif", compression="group4")
    assert (tmp_path / "scan.tif").stat().st_size < 10_000
    found = io.read(tmp_path / "scan.tif")
    assert found.form.shape == (7016, 4960)
    assert int((np.asarray(found.source) == 0).sum()) == 600 * 100
    page.save(tmp_path / "pages.tif", compression="group4", save_all=True, append_images=[page] * 9)
    with pytest.raises(DataFileError, match="to be trusted"):
        io.read(tmp_path / "pages.tif")


def test_packed_files_of_ordinary_size_are_read(tmp_path):
    packed_zeros(tmp_path / "zeros.npz", MEBIBYTE)
    assert io.read(tmp_path / "zeros.npz").shape == (MEBIBYTE // 32, 4)
    plain_png(tmp_path / "black.png", 300)
    assert io.read(tmp_path / "black.png").shape == (1, 300 * 300)


def test_large_files_may_expand_as_far_as_their_size_allows(monkeypatch):
    file = bounds.BoundedFile("large.npz", bytes_io.BytesIO(), 10**6)
    file.allow(bounds.RATIO * 10**6)
    with pytest.raises(DataFileError, match="1,000,000 bytes"):
        file.allow(bounds.RATIO * 10**6 + 1)
    monkeypatch.setattr(bounds, "free_memory", lambda: 10.0**8)
    with pytest.raises(DataFileError, match="too much for the memory"):
        file.allow(bounds.RATIO * 10**6)


def test_archives_of_too_many_entries_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as file:
        for number in range(bounds.ENTRIES + 1):
            file.writestr(f"{number}", "")
    with pytest.raises(DataFileError, match="10,001 entries"):
        io.read(tmp_path / "many.npz")
    with pytest.raises(ModelFileError, match="10,001 entries"):
        models.load(tmp_path / "many.npz")


def test_json_that_is_nested_too_deeply_is_refused():
    assert bounds.parsed('{"a": [1, {"b": 2}]}') == {"a": [1, {"b": 2}]}
    for depth in (bounds.DEPTH + 1, 10**5):
        with pytest.raises(ValueError, match="nested too deeply"):
            bounds.parsed("[" * depth + "]" * depth)


def test_text_without_line_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "LINE", 2**18)
    (tmp_path / "endless.csv").write_text("1,2\n3,4\n" + "5," * 2**18)
    with pytest.raises(DataFileError, match="a line has more than 262,144 bytes"):
        io.read(tmp_path / "endless.csv")
    (tmp_path / "long.csv").write_text("1.5,2.5\n" * 2**16)
    assert io.read(tmp_path / "long.csv").shape == (2**16, 2)


def test_reading_again_and_again_or_for_too_long_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(bytes(3 * bounds.BUFFER))
    monkeypatch.setattr(bounds, "FREELY", 0)
    with bounds.opened(tmp_path / "a.bin") as file, pytest.raises(DataFileError, match="again and again"):
        for _ in range(bounds.REREAD + 1):
            file.stream.seek(0)
            file.stream.read()
    monkeypatch.setattr(bounds, "SECONDS", -1.0)
    with bounds.opened(tmp_path / "a.bin") as file, pytest.raises(DataFileError, match="too long"):
        file.stream.read()


def claimed_zarr(path, rows, chunk):
    """A zarr store without a single chunk: all its numbers are the fill value."""
    path.mkdir()
    about = {"zarr_format": 2, "shape": [rows, 4], "chunks": [chunk, 4], "dtype": "<f8", "order": "C"}
    (path / ".zarray").write_text(json.dumps(about | {"fill_value": 0, "compressor": None, "filters": None}))


def claimed_hdf5(path, rows):
    """An HDF5 file of numbers that were never written."""
    with pytest.importorskip("h5py").File(path, "w") as file:
        file.create_dataset("X", (rows, 4), "f8", chunks=(1000, 4))


STORES = {
    "many.zarr": (lambda path: claimed_zarr(path, 700_000, 1), "700,000 chunks, too many to be trusted"),
    "empty.zarr": (lambda path: claimed_zarr(path, 10**9, 1), "bytes to .* MiB, too much to be trusted"),
    "empty.h5": (lambda path: claimed_hdf5(path, 10**13), "bytes to .* MiB, too much to be trusted"),
}


@pytest.mark.parametrize("name", STORES)
def test_stores_that_claim_what_they_do_not_hold_are_refused_at_no_cost(tmp_path, name):
    sources = pytest.importorskip("preimage.distributed.sources")
    make, message = STORES[name]
    make(tmp_path / name)
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=message):
            sources.open_store(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 100 * MEBIBYTE
    finally:
        tracemalloc.stop()


def test_stores_whose_chunks_no_memory_holds_are_refused(tmp_path, monkeypatch):
    sources = pytest.importorskip("preimage.distributed.sources")
    claimed_zarr(tmp_path / "a.zarr", 700_000, 700_000)
    assert sources.open_store(tmp_path / "a.zarr")[0].shape == (700_000, 4)
    monkeypatch.setattr(sources, "free_memory", lambda: 10.0**7)
    with pytest.raises(DataFileError, match="GiB, too much for the memory"):
        sources.open_store(tmp_path / "a.zarr")
