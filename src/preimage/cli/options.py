"""Kernels, numbers of components, pre-image methods and noise laws as they are typed on the command line."""

from __future__ import annotations

import codecs
import csv
import math
from dataclasses import fields, replace
from typing import Any, ClassVar

import click

__all__ = [
    "APPROXIMATION",
    "COMPONENTS",
    "DELIMITER",
    "ENCODING",
    "KERNEL",
    "MEMORY",
    "METHOD",
    "NAMES",
    "NOISE",
    "SHAPE",
    "n_components",
]


class _Typed(click.ParamType):
    """A type whose ``read`` raises ValueError or TypeError with a sentence, which becomes wrong usage."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except (ValueError, TypeError) as error:
            self.fail(str(error), param, ctx)

    def read(self, text: str) -> Any:
        raise NotImplementedError


class _Kernel(_Typed):
    name = "name[:setting=value,…]"

    def read(self, text: str) -> Any:
        from preimage.kernels import as_kernel

        name, settings = _split(text)
        return _with_settings(as_kernel(name), settings, text)


class _Method(_Typed):
    name = "name[:setting=value,…]"

    def read(self, text: str) -> Any:
        from preimage.preimages import as_preimage_method

        name, settings = _split(text)
        return "auto" if text == "auto" else _with_settings(as_preimage_method(name), settings, text)


class _Components(_Typed):
    name = "number|fraction|auto|all"

    def read(self, text: str) -> Any:
        if text in ("auto", "all"):
            return text
        number = _number(text)
        return int(number) if "." not in text and "e" not in text.lower() else number


class _Approximation(_Typed):
    name = "auto|none|landmarks|fourier:features"

    def read(self, text: str) -> Any:
        if text in ("auto", "none"):
            return None if text == "none" else "auto"
        kind, _, number = text.rpartition(":")
        if kind not in ("", "nystrom", "fourier") or not number.isdigit() or not int(number):
            raise ValueError(f"{text!r} is no approximation; write auto, none, a number of landmarks, or fourier:1000.")
        if kind != "fourier":
            return int(number)
        from preimage.features import RandomFourier

        return RandomFourier(int(number))


class _Noise(_Typed):
    name = "auto|sigma|law:number"
    laws: ClassVar = {
        "gaussian": "GaussianNoise",
        "salt-and-pepper": "SaltAndPepper",
        "masking": "Masking",
        "poisson": "PoissonNoise",
        "speckle": "SpeckleNoise",
        "impulses": "RandomImpulses",
    }

    def read(self, text: str) -> Any:
        if text == "auto":
            return "auto"
        from preimage import noise

        kind, _, number = text.rpartition(":")
        if kind and kind not in self.laws:
            raise ValueError(f"unknown noise {kind!r}; the laws are {', '.join(self.laws)}, such as gaussian:0.1.")
        return getattr(noise, self.laws[kind or "gaussian"])(_number(number))


class _Memory(_Typed):
    name = "ewma[:weight]|cusum[:slack]"

    def read(self, text: str) -> Any:
        from preimage.monitoring import CUSUM, EWMA

        kind, _, number = text.partition(":")
        known: dict[str, Any] = {"ewma": EWMA, "cusum": CUSUM}
        if kind not in known:
            raise ValueError(f"{text!r} is no memory; write ewma or cusum, or with a number, such as ewma:0.2.")
        return known[kind](_number(number)) if number else known[kind]()


class _Shape(_Typed):
    name = "H,W[,C]"

    def read(self, text: str) -> Any:
        sizes = text.replace("x", ",").replace("×", ",").split(",")
        if not 1 <= len(sizes) <= 3 or not all(size.strip().isdigit() and int(size) for size in sizes):
            raise ValueError(f"{text!r} is no shape; write height,width or height,width,channels, such as 28,28.")
        return tuple(int(size) for size in sizes)


class _Names(_Typed):
    name = "name,…"

    def read(self, text: str) -> Any:
        try:
            names = tuple(name.strip() for name in next(csv.reader([text])))
        except csv.Error as error:
            raise ValueError(f"{text!r} is no list of names: put a name with a line end into quotes.") from error
        if not names:
            raise ValueError(f"{text!r} holds no name.")
        return names


class _Delimiter(_Typed):
    name = "character"

    def read(self, text: str) -> Any:
        found = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}.get(text, text)
        if len(found) != 1:
            raise ValueError(f"{text!r} is no delimiter; write one character, tab or space.")
        return found


class _Encoding(_Typed):
    name = "name"

    def read(self, text: str) -> Any:
        try:
            return codecs.lookup(text).name
        except LookupError as error:
            raise ValueError(f"{text!r} is no encoding; write utf-8, cp1252, latin-1 or the like.") from error


NAMES, DELIMITER, ENCODING = _Names(), _Delimiter(), _Encoding()
KERNEL, METHOD, COMPONENTS = _Kernel(), _Method(), _Components()
APPROXIMATION, MEMORY, NOISE, SHAPE = _Approximation(), _Memory(), _Noise(), _Shape()


def n_components(typed: Any) -> Any:
    """The library's number of components for what was typed, where None is all of them."""
    return None if typed == "all" else typed


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    pairs = [item.partition("=") for item in rest.split(",") if item]
    for key, equals, _ in pairs:
        if not equals:
            raise ValueError(f"{key!r} in {text!r} is no setting; write it as setting=value.")
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def _with_settings(thing: Any, settings: dict[str, str], text: str) -> Any:
    known = {item.name for item in fields(thing) if item.init}
    for key in settings:
        if key not in known:
            have = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{type(thing).__name__} has no setting {key!r} in {text!r}; it has {have}.")
    return replace(thing, **{key: _value(value) for key, value in settings.items()})


def _value(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no number.") from error
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not finite.")
    return number
