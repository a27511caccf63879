"""Model files and data files, mutated: only the library's own errors, and no answer that is not finite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from mutations import changed_bytes, changed_model
from tally import Tally, generator

import preimage
from preimage import Denoiser, Imputer, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, io
from preimage.exceptions import DataFileError, ModelFileError, PreimageWarning, silenced
from preimage.features import RandomFourier
from preimage.io import Form, models, stores

FORMATS = (".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".wav", ".flac", ".png", ".jpg", ".tif", ".bmp")
MODELS = (
    KernelPCA(2),
    KernelPCA(2, approximation=8, random_state=0),
    KernelPCA(2, approximation=RandomFourier(20), random_state=0),
    KernelKMeans(2, random_state=0),
    InvertibleKernelPCA(2, n_features=20, random_state=0),
    Denoiser(noise=0.1, n_landmarks=8, n_stages=1, random_state=0),
    Imputer(random_state=0),
    Monitor(random_state=0),
)
PICTURES, SOUNDS = (".png", ".jpg", ".tif", ".bmp"), (".wav", ".flac")


def model_files(cases: int, seed: int) -> list[Tally]:
    """``load`` and ``inspect`` of mutated files, and the methods of those that load."""
    tally, rng = Tally("model files"), generator(seed, "models")
    X = rng.standard_normal((20, 3))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.npz"
        with silenced(PreimageWarning):
            whole = [_saved(model.fit(X), path) for model in MODELS]
        for number in range(cases):
            change = changed_model if rng.random() < 0.8 else changed_bytes
            path.write_bytes(change(whole[int(rng.integers(len(whole)))], rng))
            tally.attempt(f"inspect {number}", lambda: models.describe(path), (ModelFileError,))
            refusals = (ModelFileError, ValueError, TypeError)
            tally.attempt(f"load {number}", lambda: _use(preimage.load(path), X, tally), refusals, quiet=False)
    return [tally]


def _saved(model: Any, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def _use(model: object, X: np.ndarray, tally: Tally) -> None:
    """Every answer of a loaded model; errors of a wrong setting are ValueError or TypeError."""
    for name in ("transform", "predict", "score_samples", "denoise", "impute"):
        if hasattr(model, name) and hasattr(model, "n_features_in_"):
            answer = getattr(model, name)(X[:4])
            wrong = np.isnan(answer) if name == "score_samples" else ~np.isfinite(answer)  # a score may be −∞
            tally.check(not wrong.any(), "not finite", f"{name} of {model!r}")


def data_files(cases: int, seed: int) -> list[Tally]:
    """``cases`` mutated files of every format, read whole."""
    return _mutated(FORMATS, cases, seed)


def data_folders(cases: int, seed: int) -> list[Tally]:
    """The same of folders and stores, of which one file is mutated."""
    return _mutated(("", *STORES), cases, seed)


def _mutated(endings: Iterable[str], cases: int, seed: int) -> list[Tally]:
    found = []
    with TemporaryDirectory() as folder:
        for ending in endings:
            tally, rng = Tally(f"data {ending or 'pictures'}"), generator(seed, ending)
            place = Path(folder) / f"rows{ending}"
            _write_sound(place, rng)
            parts = {file: file.read_bytes() for file in (place, *sorted(place.rglob("*"))) if file.is_file()}
            for number in range(cases):
                path = list(parts)[int(rng.integers(len(parts)))]
                path.write_bytes(changed_bytes(parts[path], rng))
                tally.attempt(f"case {number}", lambda place=place: _read(place), (DataFileError,))
                path.write_bytes(parts[path])
            found.append(tally)
    return found


def _read(place: Path) -> Any:
    with stores.opened(str(place)) as data:
        return data.whole(gaps=True) if isinstance(data, io.Data) else list(data.answered(lambda array: array))


def _write_sound(place: Path, rng: np.random.Generator) -> None:
    form, rows = Form(columns=("a", "b", "c")), rng.standard_normal((12, 3))
    if write_store := STORES.get(place.name.removeprefix("rows")):
        write_store(place, rows)
        return
    if place.suffix in PICTURES:
        form, rows = Form(shape=(8, 8), alone="image"), rng.random((1, 64))
    elif not place.suffix:
        form, rows = Form(shape=(8, 8)), rng.random((3, 64))
    elif place.suffix in SOUNDS:
        form, rows = Form(rate=8000, sample="int16", alone="signal"), rng.uniform(-1, 1, (300, 1))
    with io.writing(place, form, overwrite=True) as write:
        write([rows])


def _write_zarr(place: Path, rows: np.ndarray, version: int) -> None:
    import zarr

    zarr.create_array(str(place), data=rows, chunks=(4, 3), zarr_format=version)


def _write_hdf5(place: Path, rows: np.ndarray) -> None:
    import h5py

    with h5py.File(place, "w") as file:
        file.create_dataset("X", data=rows, chunks=(4, 3), compression="gzip")


def _write_arrays(place: Path, rows: np.ndarray) -> None:
    place.mkdir()
    for number, part in enumerate(np.split(rows, 3)):
        np.save(place / f"{number}.npy", part)


STORES = {
    ".zarr": lambda place, rows: _write_zarr(place, rows, 3),
    ".v2.zarr": lambda place, rows: _write_zarr(place, rows, 2),
    ".h5": _write_hdf5,
    "arrays": _write_arrays,
}
