"""Model files and data files, mutated: only the library's own errors, and no answer that is not finite."""

from __future__ import annotations

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
from preimage.io import Form, models

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
            tally.check(bool(np.isfinite(answer).all()), "not finite", f"{name} of {model!r}")


def data_files(cases: int, seed: int) -> list[Tally]:
    """``cases`` mutated files of every format, read whole."""
    found = []
    with TemporaryDirectory() as folder:
        for ending in FORMATS:
            tally, rng = Tally(f"data {ending}"), generator(seed, ending)
            path = Path(folder) / f"rows{ending}"
            whole = _sound_file(path, rng)
            for number in range(cases):
                path.write_bytes(changed_bytes(whole, rng))
                tally.attempt(f"case {number}", lambda path=path: io.read(path).whole(gaps=True), (DataFileError,))
            found.append(tally)
    return found


def _sound_file(path: Path, rng: np.random.Generator) -> bytes:
    form, rows = Form(columns=("a", "b", "c")), rng.standard_normal((12, 3))
    if path.suffix in PICTURES:
        form, rows = Form(shape=(8, 8), alone="image"), rng.random((1, 64))
    elif path.suffix in SOUNDS:
        form, rows = Form(rate=8000, sample="int16", alone="signal"), rng.uniform(-1, 1, (300, 1))
    with io.writing(path, form, overwrite=True) as write:
        write([rows])
    return path.read_bytes()
