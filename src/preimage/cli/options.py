"""Types of options: kernels, numbers of components, pre-image methods, noise laws and others."""

from __future__ import annotations

import codecs
import csv
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import click

LAWS = {
    "gaussian": "GaussianNoise",
    "salt-and-pepper": "SaltAndPepper",
    "masking": "Masking",
    "poisson": "PoissonNoise",
    "speckle": "SpeckleNoise",
    "impulses": "RandomImpulses",
}


class _Typed(click.ParamType):
    """A type from a function whose ValueError or TypeError becomes a usage error."""

    def __init__(self, name: str, read: Callable[[str], Any]):
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except (ValueError, TypeError) as error:
            self.fail(str(error), param, ctx)


def _kernel(text: str) -> Any:
    from preimage.kernels import as_kernel

    name, settings = _split(text)
    return _with_settings(as_kernel(name), settings, text)


def _method(text: str) -> Any:
    from preimage.preimages import as_preimage_method

    name, settings = _split(text)
    return "auto" if text == "auto" else _with_settings(as_preimage_method(name), settings, text)


def _components(text: str) -> Any:
    if text in ("auto", "all"):
        return text
    number = _number(text)
    return int(number) if "." not in text and "e" not in text.lower() else number


def _approximation(text: str) -> Any:
    if text in ("auto", "none"):
        return None if text == "none" else "auto"
    kind, _, number = text.rpartition(":")
    if kind not in ("", "nystrom", "fourier") or not number.isdigit() or not int(number):
        raise ValueError(f"{text!r} is not an approximation; write auto, none, a number of landmarks, or fourier:1000.")
    if kind != "fourier":
        return int(number)
    from preimage.features import RandomFourier

    return RandomFourier(int(number))


def _noise(text: str) -> Any:
    if text == "auto":
        return "auto"
    from preimage import noise

    kind, _, number = text.rpartition(":")
    if kind and kind not in LAWS:
        raise ValueError(f"unknown noise {kind!r}; the laws are {', '.join(LAWS)}, such as gaussian:0.1.")
    return getattr(noise, LAWS[kind or "gaussian"])(_number(number))


def _memory(text: str) -> Any:
    from preimage.monitoring import CUSUM, EWMA

    kind, _, number = text.partition(":")
    known: dict[str, Any] = {"ewma": EWMA, "cusum": CUSUM}
    if kind not in known:
        raise ValueError(f"{text!r} is not a memory; write ewma or cusum, or with a number, such as ewma:0.2.")
    return known[kind](_number(number)) if number else known[kind]()


def _shape(text: str) -> Any:
    sizes = text.replace("x", ",").replace("×", ",").split(",")
    if not 1 <= len(sizes) <= 3 or not all(size.strip().isdigit() and int(size) for size in sizes):
        raise ValueError(f"{text!r} is not a shape; write height,width or height,width,channels, such as 28,28.")
    return tuple(int(size) for size in sizes)


def _names(text: str) -> Any:
    try:
        names = tuple(name.strip() for name in next(csv.reader([text])))
    except csv.Error as error:
        raise ValueError(f"{text!r} is not a list of names: put a name with a line end into quotes.") from error
    if not names:
        raise ValueError(f"{text!r} holds no name.")
    return names


def _delimiter(text: str) -> Any:
    found = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(found) != 1:
        raise ValueError(f"{text!r} is not a delimiter; write one character, tab or space.")
    return found


def _encoding(text: str) -> Any:
    try:
        return codecs.lookup(text).name
    except LookupError as error:
        raise ValueError(f"{text!r} is not an encoding; write utf-8, cp1252, latin-1 or the like.") from error


NAMES = _Typed("name,…", _names)
DELIMITER = _Typed("character", _delimiter)
ENCODING = _Typed("name", _encoding)
KERNEL = _Typed("name[:setting=value,…]", _kernel)
METHOD = _Typed("name[:setting=value,…]", _method)
COMPONENTS = _Typed("number|fraction|auto|all", _components)
APPROXIMATION = _Typed("auto|none|landmarks|fourier:features", _approximation)
MEMORY = _Typed("ewma[:weight]|cusum[:slack]", _memory)
NOISE = _Typed("auto|sigma|law:number", _noise)
SHAPE = _Typed("H,W[,C]", _shape)


def n_components(typed: Any) -> Any:
    """``n_components`` for what was typed: None for all."""
    return None if typed == "all" else typed


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    for key, equals, _ in pairs:
        if not equals:
            raise ValueError(f"{key!r} in {text!r} is not a setting; write it as setting=value.")
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def _with_settings(thing: Any, settings: dict[str, str], text: str) -> Any:
    known = {item.name for item in fields(thing) if item.init}
    for key in settings:
        if key not in known:
            have = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{type(thing).__name__} has no setting {key!r} in {text!r}; it has {have}.")
    return replace(thing, **{key: _value(value) for key, value in settings.items()})


def _value(text: str) -> Any:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a number.") from error
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not finite.")
    return number
