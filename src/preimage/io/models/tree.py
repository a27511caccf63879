"""A model as a tree of plain JSON: numbers, strings, lists, and nodes of one entry for everything else.

==================================  ==================================================================================
node                                stands for
==================================  ==================================================================================
``{"float": "nan"}``                a float that JSON lacks
``{"tuple": [...]}``                a tuple
``{"dict": [[key, value], ...]}``   a dictionary
``{"array": 3}``                    the array in member ``3.npy``; a numpy number where it has no axes
``{"strings": [shape, [...]]}``     an array of Python strings
``{"sparse": [class, shape, ...]}`` a CSR matrix by its data, indices and row ends
``{"object": [class, {...}]}``      a frozen dataclass by its fields
``{"estimator": [class, {}, {}]}``  an estimator by its parameters and its fitted attributes
``{"random": [class, ...]}``        a random number generator by its state
``{"same": 2}``                     the third completed object or estimator again
==================================  ==================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from preimage.exceptions import ModelFileError
from preimage.io.models import randomness
from preimage.io.models.classes import class_of, name_of

FORMER = {"_prepared"}  # attributes in older files that models no longer have
ATTRIBUTE = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*_|_[A-Za-z][A-Za-z0-9_]*")
MOST_NODES = 10**6  # of a tree; shared ones count every time
LONGEST_WORDS = 1000
RENAMED = dict.fromkeys(("max_passes", "max_restarts", "max_steps"), "max_iter") | {  # fields in older files
    "alphas": "axis_coordinates",
    "mean_weights": "mean_coordinates",
}
LONGEST_NAME = 100
LABELLED = ("reduced.", "machines.")  # rooms whose objects hold labels, which may be text
TYPES: dict[str, Any] = {
    "Array": np.ndarray,
    "np.ndarray": np.ndarray,
    "float": (int, float, np.number),
    "int": (int, np.integer),
}
FLOATS = {text: float(text) for text in ("nan", "inf", "-inf")}  # those that JSON lacks
SPARSE = {found.__name__: found for found in (sp.csr_array, sp.csr_matrix)}


class TreeWriter:
    """From objects to a tree and a list of arrays; shared objects are written once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is reused while we work

    def encode(self, value: Any, place: str) -> Any:
        """The node of a value; ``place`` says in messages where it was found."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": repr(value)}
        if type(value) in (list, tuple):
            items = [self.encode(item, f"{place}[{number}]") for number, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            return {"dict": [[self.encode(k, place), self.encode(v, f"{place}[{k!r}]")] for k, v in value.items()]}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, place)
        if sp.issparse(value):
            return self._sparse(value, place)
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return {"random": self.encode(randomness.state(value, place), place)}
        return self._object(value, place)

    def _array(self, value: Any, place: str) -> dict:
        array = np.asarray(value)
        if array.dtype == object and all(type(item) is str for item in array.flat):
            return {"strings": [list(array.shape), array.ravel().tolist()]}
        if array.dtype.kind not in "biufcSU" or not array.dtype.itemsize:
            raise ModelFileError(f"{place} is an array of type {array.dtype}, which a model file cannot hold.")
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.arrays)
            self.arrays.append(array)
            self._alive.append(value)
        return {"array": self._numbers[id(value)]}

    def _sparse(self, value: Any, place: str) -> dict:
        name = type(value).__name__
        if name not in SPARSE:
            raise ModelFileError(f"{place} is a {name}, but model files hold sparse matrices as {' or '.join(SPARSE)}.")
        parts = [self._array(part, place) for part in (value.data, value.indices, value.indptr)]
        return {"sparse": [name, list(value.shape), *parts]}

    def _object(self, value: Any, place: str) -> dict:
        if id(value) in self._known:
            return {"same": self._known[id(value)]}
        name = name_of(type(value))
        if name is None:
            raise ModelFileError(_refusal(value, place))
        node = self._estimator(value, name) if isinstance(value, BaseEstimator) else self._fields(value, name, place)
        self._known[id(value)] = len(self._known)
        self._alive.append(value)
        return node

    def _fields(self, value: Any, name: str, place: str) -> dict:
        found = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
        return {"object": [name, {key: self.encode(part, f"{place}.{key}") for key, part in found.items()}]}

    def _estimator(self, value: BaseEstimator, name: str) -> dict:
        short = type(value).__name__
        parameters = value.get_params(deep=False)
        state = {key: part for key, part in vars(value).items() if key not in parameters}
        parts = [{key: self.encode(v, f"{short}.{key}") for key, v in part.items()} for part in (parameters, state)]
        return {"estimator": [name, *parts]}


def _refusal(value: Any, place: str) -> str:
    if callable(value) and not hasattr(value, "__dataclass_fields__"):
        return f"{place} is a function, but model files hold no code: use an object of this library instead."
    return (
        f"{place} is of the class {type(value).__module__}.{type(value).__qualname__}, but model files hold only "
        "numbers, strings and objects of this library."
    )


class TreeReader:
    """From a tree and its arrays back to objects."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self._arrays = arrays
        self._known: list[tuple[Any, int]] = []  # with the number of nodes of each
        self._count = 0
        self._readers: dict[str, Callable[[Any], Any]] = {
            "float": FLOATS.__getitem__,
            "tuple": lambda items: tuple(self.decode(item) for item in _listed(items)),
            "dict": lambda pairs: {self.decode(key): self.decode(value) for key, value in _listed(pairs)},
            "array": self._array,
            "strings": self._strings,
            "sparse": self._sparse,
            "object": self._object,
            "estimator": self._estimator,
            "random": lambda state: randomness.restored(self.decode(state)),
            "same": self._same,
        }

    def decode(self, node: Any) -> Any:
        """The value of a node."""
        self._visit(1)
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((kind, payload),) = node.items()
        if kind not in self._readers:
            raise ModelFileError(f"its tree has a node of the unknown kind {kind!r:.80}.")
        return self._readers[kind](payload)

    def _visit(self, nodes: int) -> None:
        """Count nodes: a few that share others can stand for more than a comparison or a hash could ever visit."""
        self._count += nodes
        if self._count > MOST_NODES:
            raise ModelFileError("its tree is too large.")

    def _same(self, number: int) -> Any:
        value, nodes = self._known[_index(number)]
        self._visit(nodes)
        return value

    def _array(self, number: int) -> Any:
        array = self._arrays[_index(number)]
        return array if array.ndim else array[()]

    def _strings(self, payload: Any) -> np.ndarray:
        shape, items = payload
        if not all(type(item) is str for item in _listed(items)):
            raise ModelFileError("an array of strings holds other values.")
        return np.array(items, dtype=object).reshape(shape)

    def _sparse(self, payload: Any) -> Any:
        name, shape, *parts = payload
        data, indices, indptr = (self.decode(part) for part in parts)
        matrix = SPARSE[name]((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # compiled code trusts the indices
        return matrix

    def _object(self, payload: Any) -> Any:
        name, given = payload
        found = _class(name)
        known = {item.name: item for item in fields(found) if item.init} if is_dataclass(found) else {}
        given = {RENAMED.get(key, key) if key not in known else key: node for key, node in given.items()}
        needed = {key for key, item in known.items() if item.default is MISSING and item.default_factory is MISSING}
        if not is_dataclass(found) or not needed <= set(given) <= set(known):
            raise ModelFileError(f"the fields {list(given)!r:.200} are not those of {name}.")
        before = self._count
        values = {key: self.decode(node) for key, node in given.items()}
        arrays = [value for value in values.values() if isinstance(value, np.ndarray)]
        if not name.startswith(LABELLED) and any(array.dtype.kind in "SU" for array in arrays):
            raise ModelFileError(f"an array of {name} holds text instead of numbers.")
        for key, part in values.items():
            if not isinstance(part, TYPES.get(str(known[key].type), object)):
                raise ModelFileError(f"{key} of {name} is not of the type {known[key].type}.")
        return self._completed(found(**values), before)

    def _estimator(self, payload: Any) -> Any:
        name, parameters, state = payload
        found: Any = _class(name)
        if not issubclass(found, BaseEstimator) or not set(parameters) <= set(found._get_param_names()):
            raise ModelFileError(f"the parameters {list(parameters)!r:.200} are not those of {name}.")
        before = self._count
        estimator = found(**{key: self.decode(node) for key, node in parameters.items()})
        for key, node in state.items():
            if not ATTRIBUTE.fullmatch(key) or hasattr(found, key):
                raise ModelFileError(f"{name} has no fitted attribute {key!r:.80}.")
            part = self.decode(node)
            if key not in FORMER:
                setattr(estimator, key, part)
        return self._completed(estimator, before)

    def _completed(self, value: Any, before: int) -> Any:
        self._known.append((value, self._count - before + 1))
        return value


class TreeWords:
    """Describes a tree as Python code would, with types and shapes in place of arrays."""

    def __init__(self, shapes: Sequence[tuple[np.dtype, tuple[int, ...]]]):
        self._shapes, self._known = shapes, []  # type: ignore[var-annotated]

    def tell(self, node: Any) -> str:
        """A node in words."""
        if isinstance(node, list):
            return f"[{_joined(map(self.tell, node))}]"
        if not isinstance(node, dict):
            return repr(node)
        ((kind, payload),) = node.items()
        if kind in ("object", "estimator"):
            settings = _joined(f"{key}={self.tell(value)}" for key, value in payload[1].items())
            self._known.append(f"{payload[0].split('.')[-1][:LONGEST_NAME]}({settings})")
            return self._known[-1]
        return self._plain(kind, payload)

    def _plain(self, kind: str, payload: Any) -> str:
        if kind == "same":
            return self._known[_index(payload)]
        if kind == "array":
            dtype, shape = self._shapes[_index(payload)]
            return f"{dtype} {'×'.join(map(str, shape))}".strip()
        if kind == "tuple":
            return f"({_joined(map(self.tell, payload))})"
        if kind == "dict":
            return "{" + _joined(f"{self.tell(key)}: {self.tell(value)}" for key, value in payload) + "}"
        if kind == "sparse":
            return f"sparse {'×'.join(map(str, payload[1]))}"
        if kind == "strings":
            return f"{len(payload[-1])} names"
        return str(payload) if kind == "float" else "a random number generator"


def _joined(words: Iterable[str]) -> str:
    """The words joined by commas, or … if too long; all are consumed, because later nodes may refer to them."""
    kept, length = list[str](), 0
    for word in words:
        length += len(word) + 2
        if length <= LONGEST_WORDS:
            kept.append(word)
    return ", ".join(kept) if length <= LONGEST_WORDS else "…"


def is_plain(node: Any) -> bool:
    """Whether a node is a value that JSON has, or a list of such values."""
    return not isinstance(node, dict) and not (
        isinstance(node, list) and any(isinstance(item, list | dict) for item in node)
    )


def _class(name: Any) -> type:
    found = class_of(name) if isinstance(name, str) else None
    if found is None:
        raise ModelFileError(f"it names the class {name!r:.80}, which is not one of this library's models.")
    return found


def _listed(items: Any) -> list:
    if not isinstance(items, list):
        raise ModelFileError("its tree has a node of the wrong form.")
    return items


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ModelFileError("its tree refers to a part that does not exist.")
    return number
