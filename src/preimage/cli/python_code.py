"""The lines of Python that do what a command did."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preimage.cli.denoise_run import DenoiseRun
    from preimage.cli.monitor_run import Trained
    from preimage.io import Reading


def constructed(model: Any) -> str:
    """The expression that makes a model, with the settings that are not its defaults."""
    defaults = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
    given = [
        (name, value) for name, value in model.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    ]
    return f"{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


def denoising(run: DenoiseRun, reading: Reading, input: str, train: str | None) -> str:
    """The lines that denoise a file as ``preimage denoise`` did."""
    rows = [f"data = {_read(input, reading)}"]
    if train is not None:
        rows.append(f"examples = {_read(train, reading, expected='data.form.columns')}")
    rows += [f"model = {constructed(run.model)}", *_verbs(run)]
    numpy = ["import numpy as np"] if any("np." in row for row in rows) else []
    return "\n".join([*numpy, *_imports(_classes(run.model)), "", *rows])


def monitoring(model: Trained, reading: Reading, new: str) -> str:
    """The lines that list the alarms of a file as ``preimage monitor`` did, with normal rows or with a model file."""
    if model.from_file:
        fitted = [f"monitor = preimage.load({model.name!r})"]
        wanted = "None" if model.names is None else "tuple(monitor.columns_)"
    else:
        fitted = [f"normal = {_read(model.name, reading)}", "X = normal.whole(gaps=True)"]
        fitted.append(f"monitor = {constructed(model.monitor)}.fit(X[np.isfinite(X).all(axis=1)])")
        wanted = "normal.form.columns"
    return "\n".join(
        [
            "import numpy as np",
            *_imports(_classes(model.monitor)),
            "import preimage",
            "from preimage import plot",
            "",
            *fitted,
            f"X = {_read(new, reading, expected=wanted)}.whole(gaps=True)",
            "X = X[np.isfinite(X).all(axis=1)]",
            "alarms = monitor.predict(X) == -1",
            "table = monitor.diagnose(X)",
            "plot.chart(monitor, X)",
        ]
    )


def _verbs(run: DenoiseRun) -> list[str]:
    from preimage.cli.denoise_run import SAMPLE

    if run.form.alone == "image":
        return ["denoised = model.denoise_image(data.whole().reshape(data.form.shape))"]
    if run.form.alone == "signal":
        return _along_time(run)
    examples, verb = "data" if run.train is None else "examples", "denoise" if run.is_plain else "transform"
    if run.data.is_large or run.examples.is_large:
        some = "" if run.is_plain else f".sample({SAMPLE}, np.random.default_rng(0))"
        fitted = f"model.fit({examples}.to_fit(){some if run.examples.is_large else ''})"
        return [fitted, f"denoised = np.concatenate([model.{verb}(block) for block in data.blocks()])"]
    if run.train is None and not run.is_plain:
        return ["denoised = model.fit_transform(data.whole())"]
    return [f"denoised = model.fit({examples}.whole()).{verb}(data.whole())"]


def _along_time(run: DenoiseRun) -> list[str]:
    """The lines that denoise a signal, first without hum and baseline if these were removed."""
    if run.mains is None and not run.baseline:
        return ["denoised = model.denoise_signal(data.whole())"]
    lines = ["from preimage.denoising import without_baseline, without_mains", "signal = data.whole()"]
    if run.mains is not None:
        lines.append(f"signal = without_mains(signal, {run.rate:g}, {run.mains:g})")
    if run.baseline:
        lines.append(f"signal = without_baseline(signal, {run.rate:g})")
    return [*lines, "denoised = model.denoise_signal(signal)"]


def _read(path: str, reading: Reading, *, expected: str | None = None) -> str:
    """The expression that reads a file; ``expected`` is an expression for the columns to read."""
    given = [
        f"{item.name}={value!r}" for item in fields(reading) if (value := getattr(reading, item.name)) != item.default
    ]
    given += [f"expected={expected}"] if expected and reading.columns is None else []
    return f"io.read({path!r}" + (f", io.Reading({', '.join(given)}))" if given else ")")


def _imports(classes: set[type]) -> list[str]:
    """The lines that import classes, each from its public module, and :mod:`preimage.io`."""
    rooms: dict[str, list[str]] = {}
    for found in classes:
        first, *rest = found.__module__.split(".")
        room = first if rest[0] == "estimators" else f"{first}.{rest[0]}"
        rooms.setdefault(room, []).append(found.__name__)
    rooms.setdefault("preimage", []).append("io")
    return [f"from {room} import {', '.join(sorted(names))}" for room, names in sorted(rooms.items())]


def _classes(value: Any) -> set[type]:
    """The classes of an estimator and of all objects it is made of."""
    if is_dataclass(value):
        inner = [getattr(value, item.name) for item in fields(value)]
    elif hasattr(value, "get_params"):
        inner = list(value.get_params(deep=False).values())
    else:
        return set()
    return {type(value)}.union(*map(_classes, inner))
