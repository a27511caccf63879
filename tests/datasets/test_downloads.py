"""Downloads, with a server on this machine in the place of the public ones."""

import functools
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest

from preimage import datasets
from preimage.datasets import DatasetNotFound, downloads, physionet
from preimage.datasets.sources import digest

pooch = pytest.importorskip("pooch")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder that a server offers as every public folder; caches and data folders are empty."""
    for name in ("served", "cache", "own", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for folder in ("HEARTBEATS", "PLANT", "PICTURES", "MITBIH"):
        monkeypatch.setattr(downloads, folder, f"http://127.0.0.1:{server.server_port}/")
    yield tmp_path / "served"
    server.shutdown()
    server.server_close()


def in_format_212(samples):
    """Pairs of whole numbers of twelve bits, as three bytes each."""
    pairs = np.asarray(samples).reshape(-1, 2) % 4096
    low, high = pairs % 256, pairs >> 8
    return np.column_stack([low[:, 0], high[:, 0] | high[:, 1] << 4, low[:, 1]]).astype(np.uint8).tobytes()


def as_annotations(samples, code=physionet.NORMAL):
    """One word per annotation, a skip of 32 bits where the time does not fit, and a text as at a change of rhythm."""
    words = [28 << 10, physionet.AUX << 10 | 3, *np.frombuffer(b"(N\0\0", dtype="<u2")]
    for interval in np.diff(samples, prepend=0):
        if interval > 1023:
            words += [physionet.SKIP << 10, interval >> 16, interval % 65536, code << 10]
        else:
            words += [code << 10 | interval]
        words += [physionet.NUM << 10 | 1, physionet.CHANNEL << 10]
    return np.array([*words, 0], dtype="<u2").tobytes()


def test_format_212_holds_numbers_of_twelve_bits():
    samples = np.array([[-2048, 2047], [0, -1], [1024, 1224]])
    np.testing.assert_allclose(physionet.read_signals(in_format_212(samples)), (samples - 1024) / 200)


def test_annotations_keep_their_times_and_codes():
    samples = np.array([77, 370, 2000, 70_000, 70_001])
    found = physionet.read_annotations(as_annotations(samples))
    np.testing.assert_array_equal(found[physionet.NORMAL], samples)
    assert set(found) == {physionet.NORMAL, 28} and found[28].tolist() == [0]


def test_windows_that_reach_over_an_end_are_left_out():
    windows = physionet.windows(np.arange(10), np.array([1, 2, 7, 8]), before=2, after=3)
    np.testing.assert_array_equal(windows, [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])


def stored(file):
    """Arrays of a data file that is on this machine, read before the folders are replaced."""
    if not datasets.is_present(file):
        pytest.skip(f"needs {file} in the folder named by PREIMAGE_DATA")
    folder = next(folder for folder in datasets.sources._folders() if (folder / file).is_file())
    with np.load(folder / file) as arrays:
        return dict(arrays)


@pytest.fixture
def beats():
    return stored("mitbih_100_beats.npz")


def test_the_mitbih_record_becomes_the_known_beats(beats, served):
    record = np.full((650_000, 2), 1024)
    for beat, peak in zip(beats["beats"], beats["r_sample"], strict=True):
        record[peak - 108 : peak + 180, 0] = np.rint(200 * beat.astype(float)) + 1024
    peaks = np.array([77, *beats["r_sample"], 649_991])  # the first and the last window of the record are not whole
    (served / "100.dat").write_bytes(in_format_212(record))
    (served / "100.atr").write_bytes(as_annotations(peaks))
    np.testing.assert_array_equal(datasets.load_mitbih().X, beats["beats"])
    for path in served.iterdir():
        path.unlink()
    assert len(datasets.load_mitbih().X) == 2237  # from the cache


def test_a_download_that_has_changed_is_refused(beats, served):
    (served / "100.dat").write_bytes(in_format_212(np.full((650_000, 2), 1024)))
    (served / "100.atr").write_bytes(as_annotations(200 * np.arange(1, 2238)))
    with pytest.raises(DatasetNotFound, match="changed since this version was made"):
        datasets.load_mitbih()


@pytest.fixture
def heartbeats():
    return stored("cpsc_normal_beats.npz")


def test_the_heartbeats_of_the_paper_are_turned_into_rows(heartbeats, served):
    h5py = pytest.importorskip("h5py")
    with h5py.File(served / "cpsc_normal_beats.h5", "w") as file:
        for name, rows in heartbeats.items():
            file[name] = rows.T
    np.testing.assert_array_equal(datasets.load_ecg("b").X, heartbeats["ecg1_lead0"])


@pytest.fixture
def runs():
    return stored("tennessee_eastman.npz")


def test_the_runs_of_the_plant_are_one_sample_per_row(runs, served):
    for name, run in runs.items():
        np.savetxt(served / f"{name}.dat", run.T if name == "d00" else run, fmt="%.9e")
    found = datasets.load_tennessee_eastman()
    np.testing.assert_array_equal(found.train.normal, runs["d00"])
    np.testing.assert_array_equal(found.test.faulty[21], runs["d21_te"])


@pytest.fixture
def pictures():
    return stored("set12.npz")


def test_the_pictures_are_read_as_they_are(pictures, served):
    image = pytest.importorskip("PIL.Image")
    for name, picture in pictures.items():
        image.fromarray(picture).save(served / f"{name}.png")
    found = datasets.load_set12()
    assert digest(found) == digest(pictures) and list(found) == sorted(pictures)


def test_a_file_that_is_not_there_says_so(served):
    with pytest.raises(DatasetNotFound, match=r"the download failed \(404.*testsets/Set12"):
        datasets.load_set12()


def test_without_pooch_the_message_says_what_to_install(served, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(DatasetNotFound, match=r'pip install "preimage\[data\]"'):
        datasets.load_mitbih()


def test_a_file_in_the_own_folder_is_taken_first(served, tmp_path):
    np.savez(Path(tmp_path, "own", "mitbih_100_beats.npz"), beats=np.ones((2237, 288)))
    assert datasets.load_mitbih().X.mean() == 1
