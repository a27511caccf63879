"""Cached results of immutable objects: computed once for all callers and threads, and left out of pickles."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from threading import RLock
from typing import Any, TypeVar

Value = TypeVar("Value")
LONGEST = 100  # characters of a field that a representation shows


class Remembering:
    """A frozen dataclass that caches values computed from it.

    Copies, pickles and model files contain only its fields, so use does not make them larger.
    """

    def remembered(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The result of ``compute``, which runs at the first call only; other threads wait for it."""
        memory = self._memory
        if key not in memory.values:
            with memory.lock:
                if key not in memory.values:
                    memory.values[key] = compute()
        value: Value = memory.values[key]
        return value

    def recall(self, key: Hashable) -> Any:
        """The cached value of a key, or None."""
        return self._memory.values.get(key)

    def share_memory(self, other: Remembering) -> None:
        """Use the cache of another object, from which the same values would be computed."""
        vars(self)["_shared"] = other._memory

    @property
    def _memory(self) -> _Memory:
        memory: _Memory = vars(self).setdefault("_shared", _Memory())  # atomic, so all threads get the same one
        return memory

    def __repr__(self) -> str:
        """The fields, with arrays as their shapes and long values as their class names."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.repr}  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={_brief(value)}' for name, value in values.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), {item.name: getattr(self, item.name) for item in fields(self) if item.init})  # type: ignore[arg-type]


class _Memory:
    def __init__(self) -> None:
        self.lock, self.values = RLock(), dict[Hashable, Any]()


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if shape:
        return f"<{' x '.join(map(str, shape))}>"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{type(value).__name__}(...)"


def _rebuilt(made: type, given: dict[str, Any]) -> Any:
    return made(**given)
