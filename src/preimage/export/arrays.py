"""Programs run on arrays of any library that follows the array API: numpy, which is the reference, torch and others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from preimage.export.program import Block, Program, Symbol
from preimage.tensors import as_double, cast, is_tensor, namespace

Constant = Callable[[Symbol], Any]

# Functions of the array API that torch has under another name.
TORCH: dict[str, Callable[..., Any]] = {
    "take": lambda x, numbers, axis: x[numbers],
    "sort": lambda x, axis: x.sort(dim=axis).values,
}


def evaluate(program: Program, X: Any, constant: Constant | None = None) -> Any:
    """The result of a program on rows, as an array of their library, device and precision.

    Parameters
    ----------
    program : Program
    X : array of shape (rows, columns)
        Of numpy, torch or another library that follows the array API.
    constant : callable, optional
        Returns the arrays of constants; None converts numpy's to the rows' library.

    See Also
    --------
    to_program : Makes the program.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, export
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    >>> kpca = KernelPCA(2).fit(X)
    >>> bool(np.allclose(export.evaluate(export.to_program(kpca), X), kpca.transform(X)))
    True
    """
    X = X if is_tensor(X) else _floats(X)
    check_shape(program, X)
    xp = namespace(X)
    fetch = constant or constants_like(program, X)
    values = {program.input: X}
    for symbol in program.steps:
        values[symbol] = fetch(symbol) if symbol.operation == "constant" else _apply(xp, symbol, values)
    return values[program.output]


def check_shape(program: Program, X: Any) -> None:
    """Refuse an array that does not hold rows of the program's columns."""
    if X.ndim != 2 or program.columns not in (None, X.shape[1]):
        raise ValueError(f"X has the shape {tuple(X.shape)}, but rows of {program.columns} columns are needed.")


def _floats(X: Any) -> np.ndarray:
    """Rows in single or double precision: constants are cast to their type, and integers would truncate them."""
    array = np.asarray(X)
    return array if array.dtype in (np.float32, np.float64) else array.astype(float)


def constants_like(program: Program, X: Any) -> Constant:
    """The constants of a program in the library, device and precision of X, each converted once."""
    xp, made = namespace(X), {}

    def constant(symbol: Symbol) -> Any:
        name, array = program.constants[symbol]
        if name not in made:
            kind = xp.float64 if symbol.wide and has_double(X) else X.dtype
            made[name] = xp.asarray(np.array(array), dtype=kind if array.dtype.kind == "f" else None, device=X.device)
        return made[name]

    return constant


def has_double(X: Any) -> bool:
    """Whether the device of an array computes in double precision; Apple's graphics processors do not."""
    return getattr(X.device, "type", "") != "mps"


def _function(xp: Any, name: str) -> Any:
    return TORCH[name] if xp is sys.modules.get("torch") and name in TORCH else getattr(xp, name)


def _apply(xp: Any, symbol: Symbol, values: Mapping[Symbol, Any]) -> Any:
    parts = [values[part] for part in symbol.parts]
    own = OWN.get(symbol.operation)
    return _function(xp, symbol.operation)(*parts) if own is None else own(xp, symbol.setting, *parts)


def _loop(xp: Any, setting: tuple[Block, int], *parts: Any) -> tuple[Any, ...]:
    block, most = setting
    state, captured = parts[: len(block.inputs)], parts[len(block.inputs) :]
    surroundings = dict(zip(block.captured, captured, strict=True))
    for _ in range(most):
        if not bool(xp.any(state[-1])):
            break
        values = surroundings | dict(zip(block.inputs, state, strict=True))
        for symbol in block.steps:
            values[symbol] = _apply(xp, symbol, values)
        state = tuple(values[symbol] for symbol in block.outputs)
    return state


# Operations that need more than their parts: (namespace, setting, parts) → value.
OWN: dict[str, Callable[..., Any]] = {
    "where": lambda xp, _, chosen, x, y: xp.where(chosen, x, y),
    "sum": lambda xp, axis, x: xp.sum(x, axis=axis),
    "argmin": lambda xp, _, x: xp.argmin(x, axis=1),
    "smallest": lambda xp, count, x: _function(xp, "sort")(x, axis=1)[:, count - 1],
    "take": lambda xp, _, x, numbers: _function(xp, "take")(x, numbers, axis=0),
    "concat": lambda xp, _, *parts: xp.concat(list(parts), axis=1),
    "columns": lambda xp, ends, x: x[:, ends[0] : ends[1]],
    "column": lambda xp, _, x: x[:, None],
    "transpose": lambda xp, _, x: x.T,
    "loop": _loop,
    "item": lambda xp, number, state: state[number],
    "double": lambda xp, _, x: as_double(x) if has_double(x) else x,
    "like": lambda xp, _, x, other: cast(x, other.dtype),
}
