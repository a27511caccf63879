"""The lines of Python that do what a command did."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preimage.cli.cleaning import Cleaning
    from preimage.io import Reading


def constructed(model: Any) -> str:
    """The expression that makes a model, with the settings that are not its defaults."""
    defaults = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
    given = [
        (name, value) for name, value in model.get_params(deep=False).items() if repr(value) != repr(defaults[name])
    ]
    return f"{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"


def denoising(cleaning: Cleaning, reading: Reading, input: str, train: str | None) -> str:
    """The lines that clean a file as ``preimage denoise`` did."""
    rows = ["", f"data = {_read(input, reading)}"]
    if train is not None:
        rows.append(f"examples = {_read(train, reading, examples=True)}")
    return "\n".join(
        [*_imports(_classes(cleaning.model)), *rows, f"model = {constructed(cleaning.model)}", *_verbs(cleaning)]
    )


def _verbs(cleaning: Cleaning) -> list[str]:
    from preimage.cli.cleaning import SAMPLE

    if cleaning.form.alone == "image":
        return ["image = data.whole().reshape(data.form.shape)", "cleaned = model.denoise_image(image)"]
    if cleaning.form.alone == "signal":
        return [*_first_removed(cleaning), "cleaned = model.denoise_signal(signal)"]
    examples, verb = "data" if cleaning.train is None else "examples", "denoise" if cleaning.is_plain else "transform"
    if cleaning.data.is_large or (cleaning.train is not None and cleaning.train.is_large):
        some = "" if cleaning.is_plain else f".sample({SAMPLE}, np.random.default_rng(0))"
        source = cleaning.data if cleaning.train is None else cleaning.train
        fitted = f"model.fit({examples}.to_fit(){some if source.is_large else ''})"
        return [fitted, f"cleaned = np.concatenate([model.{verb}(block) for block in data.blocks()])"]
    if cleaning.train is None and not cleaning.is_plain:
        return ["cleaned = model.fit_transform(data.whole())"]
    return [f"cleaned = model.fit({examples}.whole()).{verb}(data.whole())"]


def _first_removed(cleaning: Cleaning) -> list[str]:
    """The signal, without hum and baseline where these were removed."""
    lines = ["signal = data.whole()"]
    if cleaning.mains is not None or cleaning.baseline:
        lines.insert(0, "from preimage.denoising import without_baseline, without_mains")
    if cleaning.mains is not None:
        lines.append(f"signal = without_mains(signal, {cleaning.rate:g}, {cleaning.mains:g})")
    if cleaning.baseline:
        lines.append(f"signal = without_baseline(signal, {cleaning.rate:g})")
    return lines


def _read(path: str, reading: Reading, *, examples: bool = False) -> str:
    """The expression that reads a file; examples have the columns of the data."""
    given = [
        f"{item.name}={value!r}" for item in fields(reading) if (value := getattr(reading, item.name)) != item.default
    ]
    given += ["expected=data.form.columns"] if examples and reading.columns is None else []
    return f"io.read({path!r}" + (f", io.Reading({', '.join(given)}))" if given else ")")


def _imports(classes: set[type]) -> list[str]:
    """The lines that import classes, each from the room that shows it, beside what is always needed."""
    rooms: dict[str, list[str]] = {}
    for found in classes:
        first, *rest = found.__module__.split(".")
        room = first if rest[0] == "estimators" else f"{first}.{rest[0]}"
        rooms.setdefault(room, []).append(found.__name__)
    rooms.setdefault("preimage", []).append("io")
    return ["import numpy as np"] + [
        f"from {room} import {', '.join(sorted(names))}" for room, names in sorted(rooms.items())
    ]


def _classes(value: Any) -> set[type]:
    """The classes of an estimator and of all objects it is made of."""
    if is_dataclass(value):
        inner = [getattr(value, item.name) for item in fields(value)]
    elif hasattr(value, "get_params"):
        inner = list(value.get_params(deep=False).values())
    else:
        return set()
    return {type(value)}.union(*map(_classes, inner))
