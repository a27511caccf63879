"""The classes that a model file may name: frozen dataclasses and estimators of these rooms, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from sklearn.base import BaseEstimator

# A class is known by its room and its name, so that files outlive a move from one module of a room to another.
ROOMS = (
    "scaling",
    "kernels",
    "noise",
    "eigen",
    "features",
    "invertible",
    "expansion",
    "decomposition",
    "preimages",
    "imputation",
    "reduced",
    "decoding",
    "denoising",
    "monitoring",
    "estimators",
    "compat",
)
# Rooms that have since become part of another: files written before the move name the old ones.
MOVED = {
    "landmarks": "features",
    "fourier": "features",
    "components": "decomposition",
    "approximate": "decomposition",
    "activations": "invertible",
    "machines": "reduced",
}
# Classes that had another name or room.
RENAMED = {
    "decomposition.Decomposition": "decomposition.Expanded",
    "denoising.Wiener": "denoising.LinearFilter",
    "invertible.Decoder": "invertible.AnchoredDecoder",
    "monitoring.Scaling": "scaling.Scaling",
    "preimages._LearnedMap": "preimages.LearnedMap",
    "reduced.Selection": "reduced.Selected",
}


@cache
def known_classes() -> dict[str, type]:
    """Classes by their names in files, such as ``kernels.Gaussian``."""
    return {
        f"{room}.{name}": value
        for room in ROOMS
        for module in _modules(room)
        for name, value in vars(module).items()
        if _is_ours(value, module)
    }


def class_of(name: str) -> type | None:
    """The class of a name in a file, which may be an old name or room; None for an unknown name."""
    room, _, own = name.partition(".")
    today = f"{MOVED.get(room, room)}.{own}"
    return known_classes().get(RENAMED.get(today, today))


def name_of(model_class: type) -> str | None:
    """The name of a class in files; None for an unknown class."""
    room = f"{model_class.__module__}..".split(".")[1]
    name = f"{room}.{model_class.__name__}"
    return name if known_classes().get(name) is model_class else None


def _modules(room: str) -> Iterator[ModuleType]:
    home = import_module(f"preimage.{room}")
    yield home
    for found in iter_modules(getattr(home, "__path__", ())):
        yield import_module(f"preimage.{room}.{found.name}")


def _is_ours(value: object, module: ModuleType) -> bool:
    if not isinstance(value, type) or value.__module__ != module.__name__:
        return False
    return is_dataclass(value) or issubclass(value, BaseEstimator)
