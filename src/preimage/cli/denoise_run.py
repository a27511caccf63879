"""The work of ``preimage denoise``: choose a model, and denoise the data block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import click
import numpy as np

from preimage import Denoiser, KernelPCA, Standardised, progress
from preimage.cli.apply import check_finite
from preimage.cli.common import counted
from preimage.cli.fit import EXACT, LANDMARKS, is_scaled
from preimage.cli.options import n_components
from preimage.cli.python_code import constructed
from preimage.denoising import Recording, without_baseline, without_mains
from preimage.io import Data, Form
from preimage.io.base import note
from preimage.io.columns import distinct
from preimage.io.pixels import grey_levels
from preimage.noise import GaussianNoise, PoissonGaussianNoise, RandomImpulses, SaltAndPepper, SpeckleNoise
from preimage.preimages import Learned, Wiener
from preimage.statistics.noise_level import noise_level

SHOWN = 200  # rows kept for the report
SAMPLES = 3000  # samples of a signal kept for the report
NAMED = 5  # columns named in one line
MOSTLY = 0.5  # share of variance removed above which a single column may not be a signal
SAMPLE = 20_000  # rows of a large file that a Denoiser learns from


class DenoiseRun:
    """Noisy data, and the model that denoises them.

    If a kernel, components or a pre-image method are given for rows, the model is one :class:`preimage.KernelPCA` with
    these; otherwise it is a :class:`preimage.Denoiser`, which chooses for itself.

    Parameters
    ----------
    data, train : Data
        The noisy data, and clean examples or None.
    noise, shape, kernel, components, method, effort, scale, signal, rate, mains, baseline, seed
        The options; None if not given.
    """

    def __init__(
        self,
        data: Data,
        train: Data | None,
        *,
        noise: Any,
        shape: Any,
        seed: int,
        kernel: Any = None,
        components: Any = None,
        method: Any = None,
        effort: str = "standard",
        scale: str = "auto",
        signal: bool = False,
        rate: float | None = None,
        mains: float | None = None,
        baseline: bool = False,
    ):
        self.data, self.train, self.effort, self.scale = data, train, effort, scale
        self.form = data.form if shape is None else _shaped(data, shape)
        self._is_declared = signal or bool(self.form.rate)  # the user or the file says that it is a signal
        if signal:
            self.form = replace(self.form, alone="signal")
        self.rate, self.mains, self.baseline = rate or self.form.rate or 0.0, mains, baseline
        self.kernel, self.components, self.method, self.noise = kernel, components, method, noise
        self._check()
        self.model = self._kernel_pca(seed) if self.is_plain else self._denoiser(seed)
        self.before: list[np.ndarray] = []
        self.after: list[np.ndarray] = []
        self.removed = np.zeros(data.shape[1])  # mean squares, one per column

    @property
    def examples(self) -> Data:
        """The data to learn from."""
        return self.data if self.train is None else self.train

    @property
    def is_plain(self) -> bool:
        """Whether the model is a single kernel PCA."""
        return not self.form.alone and (self.kernel, self.components, self.method) != (None, None, None)

    def blocks(self) -> Iterator[np.ndarray]:
        """The denoised rows; what the report and the summary need is gathered on the way."""
        done = 0
        for before, after in self._pairs():
            check_finite(after, self.data.name, done)
            done += len(after)
            self.removed += np.square(before - after).sum(axis=0, dtype=float) / self.data.shape[0]
            wanted = (SAMPLES if self.form.alone == "signal" else SHOWN) - len(self.before)
            self.before += list(before[:wanted])
            self.after += list(after[:wanted])
            yield after

    def facts(self) -> dict[str, Any]:
        """The results, for a program."""
        model, noise = self.model, _in_python_numbers(getattr(self.model, "noise_", self.noise))
        risk, stack = getattr(model, "risk_", None), getattr(model, "stack_", None)
        facts: dict[str, Any] = {
            "method": type(getattr(model, "model", model)).__name__,
            "examples": "noisy" if self.train is None else "clean",
            "noise": noise if isinstance(noise, str) else repr(noise),
            "levels": None if stack is None else len(stack.levels),
            "remaining_error": None if risk is None else float(risk),
            "candidates": {name: float(value) for name, value in (getattr(model, "candidates_", None) or {}).items()},
            "removed": float(np.sqrt(self.removed.mean())),
            "model": constructed(model),
        }
        if self.columns is not None:
            facts["columns_cleaned"] = {name: vars(column) for name, column in self.columns.items()}
        return facts

    @property
    def columns(self) -> dict[str, Any] | None:
        """The results for the columns of a scaled table, by name; None for other data."""
        found = getattr(self.model, "summary_", None)
        if found is None:
            return None
        names = self.form.columns or tuple(f"column {number + 1}" for number in range(len(found)))
        return dict(zip(distinct(names), found.values(), strict=True))

    def words(self) -> str:
        """The results in words."""
        if self.columns is not None:
            return self._table_words(self.columns)
        facts = self.facts()
        one = "image" if self.form.shape is not None else "row"
        what = f"one {self.form.alone}" if self.form.alone else counted(self.data.shape[0], one)
        if self.form.alone and not facts["removed"]:
            silent = not getattr(self.model.noise_, "sigma", 1.0)
            return f"{what} left as it is" + (
                ": no noise was measured" if silent else f"{self._noise_words()}: no estimate has a lower risk"
            )
        words = f"{what} denoised by {facts['method']}{self._noise_words()}"
        if not isinstance(self.model, Standardised):  # whose columns differ in unit
            words += f", removed {facts['removed']:.3g} rms"
        if self.form.alone == "image" and self.data.scale > 1 and facts["remaining_error"]:
            return f"{words}, estimated PSNR {-10 * np.log10(facts['remaining_error']):.1f} dB"
        return words + (
            "" if facts["remaining_error"] is None else f", remaining error about {facts['remaining_error'] ** 0.5:.3g}"
        )

    def _noise_words(self) -> str:
        """The noise in words, of every channel of a signal; empty if it is not known."""
        law = getattr(self.model, "noise_", self.noise)
        channels = getattr(self.model, "noise_along_time_", None)
        if channels is not None and 1 < len(channels.sigmas) <= NAMED:
            return f", noise of σ = {', '.join(f'{sigma:.3g}' for sigma in channels.sigmas)}"
        return "" if isinstance(law, str) else f", noise {law_in_words(law, of_one=self.data.scale > 1) or repr(law)}"

    def _table_words(self, columns: dict[str, Any]) -> str:
        """How many columns of a table were denoised, by how much, and which were left alone."""
        cleaned = [one for one in columns.values() if one.cleaned]
        left = [name for name, one in columns.items() if not one.cleaned]
        words = f"{counted(self.data.shape[0], 'row')}, {len(cleaned)} of {counted(len(columns), 'column')} denoised"
        if cleaned:
            ratios = [one.remaining / one.noise if one.noise else 1.0 for one in cleaned]
            words += f", error about {np.mean(ratios):.0%} of the noise"
        if left and cleaned:
            words += f", left alone: {', '.join(left[:NAMED])}" + (" and others" if len(left) > NAMED else "")
        return words

    def _pairs(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self.form.alone == "image":
            image = self.data.whole()
            yield image, self.model.denoise_image(image.reshape(self.form.shape or ())).reshape(1, -1)
        elif self.form.alone == "signal":
            yield from self._along_time()
        elif self.train is None and not self.is_plain and not self.data.is_large:
            rows = self.data.whole()
            yield rows, self.model.fit_transform(rows)
        else:
            yield from self._in_blocks()

    def _along_time(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All channels of a signal at once, first without hum and baseline if that is asked."""
        given = Recording(self.data.sliceable())
        signal = self._without_interference(given)
        done, removed, total, means = 0, 0.0, 0.0, signal.means()
        for after in self.model.denoise_recording(signal.source):
            stop = done + len(after)
            before = signal.part(done, stop)
            removed += float(np.square(before - after).sum())
            total += float(np.square(before - means.mean()).sum())
            yield given.part(done, stop), after
            done = stop
        share = removed / max(total, 1e-300)
        if share > MOSTLY and not self._is_declared:
            note(
                f"{self.data.name}: one column is taken for a signal, and {share:.0%} of its variance for noise; if "
                "the order of its rows means nothing, do not use the result."
            )

    def _without_interference(self, given: Recording) -> Recording:
        if self.mains is None and not self.baseline:
            return given
        signal = given.part(0, len(given))
        if self.mains is not None:
            signal = without_mains(signal, self.rate, self.mains)
        return Recording(without_baseline(signal, self.rate) if self.baseline else signal)

    def _in_blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if not self.is_plain and isinstance(self.noise, str):  # the data show the noise, clean examples do not
            self.model.set_params(noise=self._estimated_noise())
        self.model.fit(self.examples.to_fit() if self.is_plain else _some(self.examples))
        answer = self.model.denoise if self.is_plain else self.model.transform
        done = 0
        for block in self.data.blocks():
            yield block, answer(block)
            done += len(block)
            progress.report("rows", done, self.data.shape[0])

    def _estimated_noise(self) -> GaussianNoise:
        shape = self.form.shape if self.form.shape is not None and len(self.form.shape) < 3 else None
        return GaussianNoise(noise_level(_some(self.data), shape).sigma)

    def _check(self) -> None:
        if self.train is not None and self.form.alone:
            raise click.UsageError(f"--train needs rows, but {self.data.name} is one {self.form.alone}.")
        if self.form.alone and (self.kernel, self.components, self.method) != (None, None, None):
            raise click.UsageError(
                f"--kernel, --components and --preimage need rows, but {self.data.name} is one image or signal."
            )
        if (self.mains is not None or self.baseline) and not (self.form.alone == "signal" and self.rate):
            raise click.UsageError(
                f"--mains and --baseline need a signal and its rate: add --rate to {self.data.name}, and --signal if "
                "its columns are channels."
            )
        gaussian = isinstance(self.noise, str | GaussianNoise)
        self._check_unit()
        self._check_examples()
        if self.train is None and not gaussian and not self.is_plain and self.form.alone != "image":
            raise click.UsageError(
                f"without clean examples only Gaussian noise can be removed, not {self.noise!r}: add --train."
            )
        if self.train is not None and self.train.shape[1] != self.data.shape[1]:
            raise ValueError(
                f"{self.data.name} has {self.data.shape[1]} columns, but the clean examples in {self.train.name} have "
                f"{self.train.shape[1]}."
            )

    def _check_examples(self) -> None:
        """Refuse to learn from a single row."""
        if self.examples.shape[0] == 1 and not self.form.alone:
            advice = "name its file, or " if self.train is None and self.form.names else ""
            raise click.UsageError(
                f"{self.examples.name} holds one {'image' if self.form.shape else 'row'}, and others like it are "
                f"needed to learn from: {advice}give clean examples with --train."
            )

    def _check_unit(self) -> None:
        """Refuse a noise level in grey levels or samples: here pixels lie in [0, 1], and sound in [−1, 1]."""
        scaled = self.data.scale if self.data.scale > 1 else 2.0**15 if self.form.rate else 0.0
        if scaled and isinstance(self.noise, GaussianNoise) and self.noise.sigma >= 1:
            raise click.UsageError(
                f"--noise {self.noise.sigma:g} is more than white or full volume, which are 1: for "
                f"{self.noise.sigma:g} of {scaled:g} write {self.noise.sigma / scaled:.3g}."
            )

    def _denoiser(self, seed: int) -> Any:
        return Denoiser(
            examples="noisy" if self.train is None else "clean",
            noise=self.noise,
            geometry=None if self.form.alone else self.form.shape,
            scale=self.scale,
            **({} if self.kernel is None else {"kernel": self.kernel}),
            effort=self.effort,
            random_state=seed,
        )

    def _kernel_pca(self, seed: int) -> Any:
        model = KernelPCA(
            n_components(self.components or "auto"),
            kernel=self.kernel or "gaussian",
            approximation=LANDMARKS if self.examples.shape[0] > EXACT else None,
            preimage=self._preimage_method(),
            random_state=seed,
        )
        knows_noise = not isinstance(self.noise, str)  # whose σ is in the units of the file
        if knows_noise and self.scale == "standard":
            raise click.UsageError("with a single kernel PCA, --noise needs --scale none: all columns share its σ.")
        scaled = not knows_noise and self.form.shape is None and is_scaled(self.data, self.scale)
        return Standardised(model) if scaled else model

    def _preimage_method(self) -> Any:
        """The pre-image method, with the noise law if one is given."""
        if isinstance(self.noise, str):
            by_rows = "auto" if self.train else Wiener(noise="implied")  # its training rows are noisy too
            return by_rows if self.method in (None, "auto") else self.method
        method = Learned() if self.method in (None, "auto") else self.method
        if not isinstance(method, Learned):
            raise click.UsageError("with a single kernel PCA, --noise needs --preimage learned.")
        return replace(method, noise=self.noise)


def _some(data: Data) -> np.ndarray:
    """All rows, or a sample of many."""
    rows = data.to_fit()
    return rows if isinstance(rows, np.ndarray) else rows.sample(SAMPLE, np.random.default_rng(0))


def _shaped(data: Data, shape: tuple[int, ...]) -> Form:
    if int(np.prod(shape)) != data.shape[1]:
        raise ValueError(
            f"--shape {','.join(map(str, shape))} asks for {int(np.prod(shape))} columns, but {data.name} has "
            f"{data.shape[1]}."
        )
    some = next(data.source()) if callable(data.source) else data.source
    return data.form.with_shape(shape, grey_levels(some))


def law_in_words(law: Any, of_one: bool) -> str:
    """The noise law in words; ``of_one`` if white is 1."""
    if isinstance(law, GaussianNoise):
        return f"{law.sigma:.3g} of 1" if of_one else f"of σ = {law.sigma:.3g}"
    if isinstance(law, PoissonGaussianNoise):
        return f"of variance {law.a:.3g}·x + {law.b:.3g} at brightness x"
    if isinstance(law, SpeckleNoise):
        return f"of variance {law.c:.3g}·x² + {law.b:.3g} at brightness x"
    return f"at {100 * law.p:.3g} % of the points" if isinstance(law, (SaltAndPepper, RandomImpulses)) else ""


def _in_python_numbers(law: Any) -> Any:
    """The noise law with Python's floats in place of numpy's, as a reader would write them."""
    if isinstance(law, str):
        return law
    found = {item.name: getattr(law, item.name) for item in fields(law)}
    return replace(law, **{name: float(value) for name, value in found.items() if isinstance(value, np.floating)})
