"""Random number generators by their state: numpy's default one, and RandomState."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.exceptions import ModelFileError

LENGTH = 624  # words in the state of the Mersenne twister


def state(source: np.random.Generator | np.random.RandomState, place: str) -> dict[str, Any]:
    """The state of a generator as plain values."""
    if isinstance(source, np.random.RandomState):
        name, key, position, has_gauss, gauss = source.get_state(legacy=True)
        if name == "MT19937":
            return {"kind": name, "key": key, "position": position, "has_gauss": has_gauss, "gauss": gauss}
    elif type(source.bit_generator) is np.random.PCG64:
        return {"kind": "PCG64", **source.bit_generator.state}
    raise ModelFileError(f"{place} is a generator of a rare kind; give a number, or numpy.random.default_rng(number).")


def restored(values: dict[str, Any]) -> np.random.Generator | np.random.RandomState:
    """The generator with this state, which is checked here because compiled code trusts it."""
    if values["kind"] == "PCG64":
        generator: Any = np.random.PCG64(0)
        generator.state = {key: value for key, value in values.items() if key != "kind"}
        return np.random.Generator(generator)
    key, position = np.asarray(values["key"], dtype=np.uint32), values["position"]
    if values["kind"] != "MT19937" or key.shape != (LENGTH,) or not 0 <= position <= LENGTH:
        raise ModelFileError("the state of its random number generator is not valid.")
    source = np.random.RandomState(0)
    source.set_state(("MT19937", key, int(position), int(values["has_gauss"]), float(values["gauss"])))
    return source
