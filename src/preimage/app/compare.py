"""Compare: one noisy file denoised by every method, ranked by Stein's estimate of the remaining error.

The methods are those of ``preimage demo``, without clean examples. Pictures and signals are cut into overlapping
patches for methods that take only rows; their result at a point is the mean of all patches that cover it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from preimage import Denoiser, KernelPCA, progress
from preimage.app.denoise import estimated_level, read_noisy
from preimage.app.limits import Refused
from preimage.app.pictures import save_numbers, save_picture
from preimage.app.sources import read_dataset
from preimage.demo.digits import QUICK, Attempt, kernel_pca, linear_pca, scikit_pca
from preimage.exceptions import PreimageWarning, silenced
from preimage.io import Data, Form
from preimage.kernels.scales import median, spread_rows
from preimage.noise import GaussianNoise
from preimage.preimages import Distance, FixedPoint
from preimage.statistics.risk import Sure

SIDE = 192  # side of the part of a picture that is compared, in pixels
SAMPLES = 6000  # of a signal
ROWS = 800  # of a table
TRAIN = 500  # rows or patches that a kernel PCA learns from
PATCH = {1: (48, 6), 2: (8, 2)}  # side and stride, by the number of axes
NOISY = 0.5  # the noise added to our own datasets, in units of their standard deviation
IMAGES, LINES = 10, 3  # rows that are drawn

Method = tuple[str, str, Callable[[np.ndarray], np.ndarray], Callable[[], float] | None]


def compare(request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], None]:
    """Run every method on the same input; ``0.f32`` or ``0.png`` and so on hold results in the table's order."""
    progress.report("reading", 0)
    values, data, sigma = _input(request)
    methods = _of_rows(values, data.form.shape, sigma) if not data.form.alone else _of_whole(values)
    entries = []
    for number, method in enumerate(methods):
        progress.report(method[0], number, len(methods))
        with silenced(PreimageWarning):
            entries.append(_entry(method, values, sigma))
    entries.sort(key=lambda entry: entry["risk"])
    view = _view(values, [entry.pop("answer") for entry in entries], data.form, folder)
    resolution = sigma**2 * float(np.sqrt(2 / values.size))  # the deviation of the mean of squares of the noise
    return {"entries": entries, "sigma": sigma, "resolution": resolution, "view": view}, None


def _input(request: dict[str, Any]) -> tuple[np.ndarray, Data, float]:
    """The input, as rows or as one array of shape (grid…, channels), its data, and its noise level."""
    data = read_noisy(request) if request.get("path") else _noisy_dataset(request)
    level = estimated_level(data)
    if level is None or not level.sigma > 0:
        raise Refused(400, f"{data.name} shows no noise, so there is nothing to compare.")
    values, form = data.whole().astype(float), data.form
    if form.alone == "image":
        image = values.reshape(form.shape or ())
        image = image if image.ndim == 3 else image[..., None]
        top, left = (max(0, (size - SIDE) // 2) for size in image.shape[:2])
        return image[top : top + SIDE, left : left + SIDE], data, level.sigma
    if form.alone == "signal":
        return values[:SAMPLES], data, level.sigma
    if len(values) < 40:
        raise Refused(400, f"{data.name} has {len(values)} rows; at least 40 are needed to compare methods.")
    return spread_rows(values, ROWS), data, level.sigma


def _noisy_dataset(request: dict[str, Any]) -> Data:
    """One of our datasets with Gaussian noise."""
    found = read_dataset(request)
    rows = spread_rows(found.X, ROWS)
    noisy = GaussianNoise(NOISY * float(rows.std()))(rows, np.random.default_rng(0))
    return Data(found.name, noisy, noisy.shape, Form(shape=found.shape))


def _entry(method: Method, values: np.ndarray, sigma: float) -> dict[str, Any]:
    """The result of a method, Stein's estimate of its error, and its time."""
    name, settings, function, own_risk = method
    start = time.perf_counter()
    answer = function(values)
    seconds = time.perf_counter() - start
    risk = own_risk() if own_risk else stein(function, values, answer, sigma)
    return {"method": name, "settings": settings, "risk": max(risk, 0.0), "seconds": seconds, "answer": answer}


def stein(function: Callable[[np.ndarray], np.ndarray], values: np.ndarray, answer: np.ndarray, sigma: float) -> float:
    """Stein's risk of a function of the whole input, from one random probe."""
    question = Sure(sigma).ask(values[None], np.random.default_rng(0))
    moved = function(question.rows[1])
    return float(question.evaluate(np.stack([answer, moved]))[0])


def _of_rows(rows: np.ndarray, shape: tuple[int, ...] | None, sigma: float) -> list[Method]:
    denoiser = ("Denoiser", "quick settings", _crossed(lambda a, b: _denoised(a, b, shape, sigma)), None)
    return [("noisy input", "", lambda Y: Y, None), *_contest(rows, _crossed), denoiser]


def _of_whole(values: np.ndarray) -> list[Method]:
    patches = Patches(values.shape, *PATCH[values.ndim - 1])
    rows = patches.cut(values)
    if values.ndim == 3:
        own = [_picture_method(effort) for effort in ("quick", "standard")]
    else:
        own = [("Denoiser", "defaults", _signal, None)]
    return [("noisy input", "", lambda Y: Y, None), *_contest(rows, patches.wrapped), *own]


def _contest(rows: np.ndarray, wrapped: Callable[[Callable], Callable]) -> list[Method]:
    """The methods of the demonstration, with settings found from the rows."""
    some = spread_rows(rows, TRAIN)
    with silenced(PreimageWarning):
        few = KernelPCA("auto", kernel="linear").fit(some).n_components_
        many = KernelPCA("auto").fit(some).n_components_
    scale = median(some)
    attempts: list[Callable[[np.ndarray, np.ndarray], Attempt]] = [
        lambda train, noisy: linear_pca(train, noisy, few),
        lambda train, noisy: scikit_pca(train, noisy, many, 1.0, 1.0),
        lambda train, noisy: kernel_pca("fixed point (Mika et al. 1998)", FixedPoint(), train, noisy, scale, many),
        lambda train, noisy: kernel_pca("distances (Kwok & Tsang 2003)", Distance(), train, noisy, scale, many),
    ]
    titles = [attempt(some, some)[:2] for attempt in attempts]
    return [
        (*title, wrapped(lambda train, noisy, attempt=attempt: attempt(train, noisy)[2]()), None)
        for title, attempt in zip(titles, attempts, strict=True)
    ]


def _crossed(fitted: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of all rows that denoises each half with a model learned from the other half."""

    def function(Y: np.ndarray) -> np.ndarray:
        answer = np.empty_like(Y)
        for ours in (slice(0, None, 2), slice(1, None, 2)):
            theirs = slice(1 - ours.start, None, 2)
            answer[ours] = fitted(spread_rows(Y[theirs], TRAIN), Y[ours])
        return answer

    return function


def _denoised(train: np.ndarray, rows: np.ndarray, shape: tuple[int, ...] | None, sigma: float) -> np.ndarray:
    return Denoiser(noise=sigma, geometry=shape, **QUICK, random_state=0).fit(train).transform(rows)


def _picture_method(effort: str) -> Method:
    model = Denoiser(effort=effort, random_state=0)
    return "Denoiser", effort, model.denoise_image, lambda: float(model.risk_)


def _signal(values: np.ndarray) -> np.ndarray:
    channels = [Denoiser(random_state=0, **QUICK).denoise_signal(channel) for channel in values.T]
    return np.stack(channels, axis=1)


@dataclass(frozen=True)
class Patches:
    """Overlapping patches of values (grid…, channels), one per row."""

    shape: tuple[int, ...]
    side: int
    stride: int

    def cut(self, values: np.ndarray) -> np.ndarray:
        """All patches whose corners lie on a grid of this stride."""
        axes = tuple(range(values.ndim - 1))
        windows = sliding_window_view(values, (self.side,) * len(axes), axis=axes)
        chosen = windows[(slice(None, None, self.stride),) * len(axes)]
        return chosen.reshape(-1, values.shape[-1] * self.side ** len(axes)).copy()

    def joined(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The mean of the patches over every point; points that none covers stay as they are."""
        total, count = np.zeros(self.shape), np.zeros(self.shape)
        grid = tuple((length - self.side) // self.stride + 1 for length in self.shape[:-1])
        parts = rows.reshape(*grid, self.shape[-1], *(self.side,) * len(grid))
        for offset in np.ndindex(*(self.side,) * len(grid)):
            span = zip(offset, grid, strict=True)
            place = tuple(slice(at, at + self.stride * (number - 1) + 1, self.stride) for at, number in span)
            total[place] += parts[(..., *offset)]
            count[place] += 1
        return np.where(count > 0, total / np.maximum(count, 1), values)

    def wrapped(self, fitted: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        """A function of all values that denoises patch by patch, and learns from some of the patches."""

        def function(values: np.ndarray) -> np.ndarray:
            rows = self.cut(values)
            return self.joined(fitted(spread_rows(rows, TRAIN), rows), values)

        return function


def _view(values: np.ndarray, answers: list[np.ndarray], form: Form, folder: Path) -> dict[str, Any]:
    if form.alone == "image":
        for number, answer in enumerate(answers):
            save_picture(folder / f"{number}.png", answer, 0.0, max(1.0, float(values.max())))
        return {"kind": "image", "width": values.shape[1], "height": values.shape[0]}
    as_rows = form.shape and not form.alone
    shown = [answer[:IMAGES] if as_rows else answer.T[:LINES] for answer in answers]
    save_numbers(folder, {str(number): part for number, part in enumerate(shown)})
    kind = "images" if form.shape is not None and len(form.shape) > 1 else "lines"
    return {"kind": kind, "shape": form.shape, "count": len(shown[0]), "length": shown[0].shape[1]}
