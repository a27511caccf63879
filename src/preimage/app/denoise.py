"""Denoise: a denoised copy of a user's file, and what is known about the noise."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from preimage import io, progress
from preimage.app import limits
from preimage.app.limits import Refused
from preimage.app.pictures import save_numbers, save_picture
from preimage.app.sources import open_file
from preimage.cli.denoise_run import DenoiseRun, law_in_words
from preimage.cli.python_code import denoising
from preimage.denoising import small_patches
from preimage.exceptions import NoiseLevelWarning, silenced
from preimage.io import Data, Reading
from preimage.noise import GaussianNoise
from preimage.statistics.noise_level import NoiseLevel, from_flat_patches, noise_level

EFFORTS = ("quick", "standard", "best")
LINES = 6  # columns or channels that are drawn
IMAGES = 12  # rows that are drawn as pictures


def denoise(request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], None]:
    """Denoise a file; write the denoised copy and what the page draws to the folder."""
    progress.report("reading", 0)
    data = read_noisy(request)
    noise, shape = _given_noise(request.get("noise")), request.get("shape")
    run = DenoiseRun(data, None, noise=noise, shape=shape, effort=_effort(request), seed=0)
    output = _written(run, folder, str(request["name"]))
    progress.report("pictures", 0)
    facts = run.facts()
    return {
        "words": run.words(),
        "noise": _noise(run, data),
        "remaining": facts["remaining_error"],
        "removed": facts["removed"],
        "method": facts["method"],
        "view": _view(run, folder),
        "output": output,
        "python": denoising(run, Reading(), str(request["name"]), None),
        "command": _command(request),
    }, None


def read_noisy(request: dict[str, Any]) -> Data:
    """The file of a request, if it is not too large."""
    if not request.get("path"):
        raise Refused(400, "Choose a picture, a signal or a table first.")
    data = open_file(Path(request["path"]), str(request["name"]))
    n, d = data.shape
    if n * d > (limits.PIXELS if data.form.alone == "image" else limits.NUMBERS):
        raise Refused(413, f"{request['name']} holds {n * d} numbers, more than the app takes: use the command line.")
    return data


def _effort(request: dict[str, Any]) -> str:
    effort = str(request.get("effort", "standard"))
    if effort not in EFFORTS:
        raise Refused(400, f"The effort must be one of {', '.join(EFFORTS)}.")
    return effort


def _given_noise(sigma: Any) -> Any:
    if sigma in (None, "", "auto"):
        return "auto"
    if not (isinstance(sigma, int | float) and 0 < sigma < np.inf):
        raise Refused(400, "The noise level must be a positive number.")
    return GaussianNoise(float(sigma))


def _written(run: DenoiseRun, folder: Path, name: str) -> str:
    """Write the file to download and return its name; a folder of pictures is packed into an archive."""
    several = bool(run.form.names)
    output = folder / ("cleaned" if several else f"cleaned-{name}")
    with io.writing(output, run.form) as write:
        write(run.blocks())
    if several:
        shutil.make_archive(str(output), "zip", output)
        shutil.rmtree(output)
        return "cleaned.zip"
    return output.name


def _command(request: dict[str, Any]) -> str:
    name, effort, noise = str(request["name"]), _effort(request), request.get("noise")
    words = ["preimage", "denoise", name, "-o", f"cleaned-{name}"]
    words += ["--effort", effort] if effort != "standard" else []
    words += ["--noise", f"{noise:g}"] if isinstance(noise, int | float) else []
    words += ["--shape", ",".join(map(str, request["shape"]))] if request.get("shape") else []
    return shlex.join(words)


def _noise(run: DenoiseRun, data: Data) -> dict[str, Any]:
    """The noise law in words, its σ if it has one, the range of several, and an interval of about 95 %."""
    law = getattr(run.model, "noise_", run.noise)
    sigma = float(getattr(law, "sigma", 0.0)) or None
    level = estimated_level(data) if sigma and isinstance(run.noise, str) else None
    if level is None or not level.sigma or sigma is None:
        sigmas, words = getattr(law, "sigmas", None), law_in_words(law, of_one=False) or repr(law)
        return {"law": words, "sigma": sigma, "sigmas": sigmas and [min(sigmas), max(sigmas)], "interval": None}
    return {"law": "", "sigma": sigma, "interval": [sigma * end / level.sigma for end in (level.low, level.high)]}


def estimated_level(data: Data) -> NoiseLevel | None:
    """The noise level of a file; None if the file is too small to estimate it."""
    form, values = data.form, data.whole()
    with silenced(NoiseLevelWarning):
        if form.alone == "image":
            image = values.reshape(form.shape or ())
            return _of_patches(image[None] if image.ndim == 3 else image[None, ..., None])
        if form.alone == "signal":
            return _of_patches(values[None])
        shape = form.shape if form.shape is not None and len(form.shape) < 3 else None
        return noise_level(values, shape) if len(values) > 2 else None


def _of_patches(images: np.ndarray) -> NoiseLevel | None:
    return from_flat_patches(*small_patches(images)) if min(images.shape[1:-1]) >= 3 else None


def _view(run: DenoiseRun, folder: Path) -> dict[str, Any]:
    """What the page draws: one picture, some pictures, or lines."""
    before, after, form = np.array(run.before), np.array(run.after), run.form
    if form.alone == "image":
        shape = form.shape or ()
        return _picture(before.reshape(shape), after.reshape(shape), folder)
    if form.shape is not None and len(form.shape) > 1:
        before, after = before[:IMAGES], after[:IMAGES]
        save_numbers(folder, {"before": before, "after": after})
        return {"kind": "images", "shape": form.shape, "count": len(before)}
    if form.shape is not None:
        return _lines(before[:LINES], after[:LINES], [f"row {n + 1}" for n in range(LINES)], folder)
    columns = np.sort(np.argsort(-run.removed, kind="stable")[:LINES])
    names = [form.columns[k] if form.columns else f"column {k + 1}" for k in columns]
    if form.alone == "signal":
        names = [f"channel {k + 1}" for k in columns] if len(columns) > 1 else ["signal"]
    return _lines(before.T[columns], after.T[columns], names, folder, form.rate)


def _picture(before: np.ndarray, after: np.ndarray, folder: Path) -> dict[str, Any]:
    low, high = min(0.0, float(before.min())), max(1.0, float(before.max()))
    residual = before - after
    largest = float(np.quantile(np.abs(residual), 0.999)) or 1.0
    save_picture(folder / "before.png", before, low, high)
    save_picture(folder / "after.png", after, low, high)
    grey = residual.mean(axis=2) if residual.ndim == 3 else residual  # nothing was removed where it is grey
    save_picture(folder / "residual.png", grey, -largest, largest)
    return {"kind": "image", "width": before.shape[1], "height": before.shape[0], "residual": largest}


def _lines(before: np.ndarray, after: np.ndarray, names: list[str], folder: Path, rate: int = 0) -> dict[str, Any]:
    save_numbers(folder, {"before": before, "after": after})
    return {"kind": "lines", "names": names[: len(before)], "length": before.shape[1], "rate": rate}
