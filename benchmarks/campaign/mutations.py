"""Bytes changed at random, and header trees with one node replaced."""

from __future__ import annotations

import copy
import json
import zipfile
from io import BytesIO
from typing import Any

import numpy as np

ODD = [None, True, -1, 0, 10**10, 2**70, 1.5, -0.0, 1e308, "", "x", "auto", [], {}, [[]], {"float": "nan"}, {"same": 0}]
ODD += [{"array": 0}, {"array": 99}, {"tuple": []}, {"dict": [[1, 2]]}, {"object": ["kernels.Linear", {}]}]


def changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """A file with some bytes replaced, cut out, doubled, swapped or appended."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        first, last = np.sort(rng.integers(0, len(data) + 1, 2))
        kind = rng.integers(6)
        if kind == 0 and data:
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[first : first + 8] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 2:
            del data[first : min(last, first + 64)]
        elif kind == 3:
            data[first:first] = data[first : min(last, first + 64)]
        elif kind == 4:
            data[first : first + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, b"NaN,", b"1e999"])
        else:
            del data[last:]
        data = data or bytearray(b"\0")
    return bytes(data)


def changed_model(content: bytes, rng: np.random.Generator) -> bytes:
    """A model file with a node of its tree, or an array, replaced; everything else agrees with it."""
    with zipfile.ZipFile(BytesIO(content)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    header = json.loads(parts.pop("header.json"))
    arrays = [np.load(BytesIO(parts[f"{number}.npy"])) for number in range(len(parts))]
    if arrays and rng.random() < 0.4:
        number = int(rng.integers(len(arrays)))
        arrays[number] = _changed_array(arrays[number], rng)
        header["arrays"][number] = [arrays[number].dtype.str, list(arrays[number].shape)]
    else:
        _replace_node(header["model"], rng)
    return _packed(header, arrays)


def _changed_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    kind = rng.integers(6)
    if kind == 0:
        return array[..., :0]
    if kind == 1:
        return np.repeat(array[None], 2, axis=0)
    if kind == 2 and array.ndim:
        return array[: len(array) // 2]
    if kind == 3:
        return array.astype("<U3")
    if kind == 4 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[int(rng.integers(array.size))] = rng.choice([np.nan, np.inf, 1e30, -1.0])
        return array
    return np.zeros((1000000, 0, 1, 1000000)) if rng.random() < 0.2 else array.astype("<i8", casting="unsafe")


def _replace_node(tree: Any, rng: np.random.Generator) -> None:
    """Replace, rename or remove one node; where it hangs is drawn evenly over all places."""
    places = list(_places(tree))
    owner, key = places[int(rng.integers(len(places)))]
    kind = rng.integers(4)
    if kind == 0 and isinstance(owner, dict):
        del owner[key]
    elif kind == 1 and isinstance(owner, dict):
        owner["n_components_" if rng.random() < 0.3 else f"{key}x"] = owner.pop(key)
    elif kind == 2:
        other, name = places[int(rng.integers(len(places)))]
        owner[key] = copy.deepcopy(other[name])
    else:
        owner[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])


def _places(node: Any) -> Any:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield node, key
        yield from _places(child)


def _packed(header: dict, arrays: list[np.ndarray]) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        file.writestr("header.json", json.dumps(header))
        for number, array in enumerate(arrays):
            with file.open(f"{number}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return content.getvalue()
