"""A computation as data: values computed from each other by a few primitive operations.

A :class:`Symbol` stands for an array that is not known yet. numpy's functions and operators take symbols, so a formula
of this library that is applied to one is recorded instead of computed:

    >>> import numpy as np
    >>> from preimage.export.program import Program, Symbol
    >>> x = Symbol.input("X")
    >>> program = Program("gaussian", x, np.exp(-0.5 * (x * x).sum(axis=1)))
    >>> print(program)
    multiply sum multiply exp
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

# The primitive operations, by their names in the array API, of numpy's functions; these have the same names there:
ALGEBRA = (np.add, np.subtract, np.multiply, np.matmul, np.negative, np.exp, np.log, np.sqrt, np.tanh, np.sin, np.cos)
COMPARISONS = (np.maximum, np.minimum, np.greater, np.less, np.greater_equal, np.less_equal, np.logical_and)
UFUNCS = {function: function.__name__ for function in ALGEBRA + COMPARISONS} | {
    np.true_divide: "divide",
    np.power: "pow",
    np.float_power: "pow",
    np.absolute: "abs",
    np.arctan2: "atan2",
    np.rint: "round",
    np.bitwise_and: "logical_and",
    np.bitwise_or: "logical_or",
    np.invert: "logical_not",
}
# Others are where, sum, argmin, smallest, take, concat, columns, column, transpose, loop, item, double and like.
# Functions composed of them:
COMPOSED: dict[Callable, Callable] = {
    np.square: lambda x: x * x,
    np.log1p: lambda x: np.log(x + 1.0),
    np.arcsin: lambda x: np.arctan2(x, np.sqrt((1.0 - x) * (1.0 + x))),
    np.hypot: lambda x, y: np.sqrt(x * x + y * y),
    np.logaddexp: lambda x, y: np.maximum(x, y) + np.log(1.0 + np.exp(-np.abs(x - y))),
    np.remainder: lambda x, y: x - y * np.rint(x / y - 0.5 + 1e-6),  # of whole numbers
    np.clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
    np.ones_like: lambda x: x * 0.0 + 1.0,
    np.where: lambda chosen, x, y: Symbol.of("where", chosen, x, y),
    np.concatenate: lambda parts, axis=0: Symbol.of("concat", *parts),
}


@dataclass(frozen=True, eq=False)
class Symbol(NDArrayOperatorsMixin):
    """The result of an operation on others; an ``input`` or a ``constant`` has none.

    Parameters
    ----------
    operation : str
    parts : tuple of Symbol
        The operands.
    setting : object
        A constant's array, an input's name, the axis of a sum, the columns taken, the body of a loop.
    rank : int
        The number of axes of an input.
    wide : bool
        Whether the result is in double precision, in whatever precision the program runs.
    """

    operation: str
    parts: tuple[Symbol, ...] = ()
    setting: Any = None
    rank: int = 2
    wide: bool = False

    dtype = np.dtype(float)  # for formulas that ask; programs run in any precision
    __hash__ = object.__hash__
    __eq__ = object.__eq__  # a symbol equals only itself
    __ne__ = object.__ne__

    @staticmethod
    def input(name: str) -> Symbol:
        """The input of a program, an array of rows."""
        return Symbol("input", setting=name)

    @staticmethod
    def of(operation: str, *parts: Any, setting: Any = None) -> Symbol:
        """An operation on symbols and arrays, in double precision if a symbol is."""
        wide = any(isinstance(part, Symbol) and part.wide for part in parts)
        return Symbol(operation, tuple(as_symbol(part, wide) for part in parts), setting, wide=wide)

    def __array_ufunc__(self, ufunc: Any, method: str, *parts: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc in COMPOSED:
            return COMPOSED[ufunc](*parts)
        return Symbol.of(UFUNCS[ufunc], *parts) if ufunc in UFUNCS else NotImplemented

    def __array_function__(self, function: Any, types: Any, parts: Any, options: Any) -> Any:
        return COMPOSED[function](*parts, **options) if function in COMPOSED else NotImplemented

    @cached_property
    def ndim(self) -> int:
        """The number of axes."""
        known = {
            "input": self.rank,
            "constant": np.ndim(self.setting),
            "argmin": 1,
            "smallest": 1,
            "sum": 1,
            "column": 2,
        }
        if self.operation in known:
            return known[self.operation]
        if self.operation == "item":
            return self.parts[0].parts[self.setting].ndim
        if self.operation == "matmul":
            return self.parts[1].ndim
        return max(part.ndim for part in self.parts)

    def sum(self, axis: int = 1) -> Symbol:
        """Sums of rows, one number each."""
        return Symbol.of("sum", self, setting=axis)

    def argmin(self) -> Symbol:
        """The index of the least entry of every row."""
        return Symbol.of("argmin", self)

    def smallest(self, count: int) -> Symbol:
        """The ``count``-th smallest entry of every row, counted from 1."""
        return Symbol.of("smallest", self, setting=count)

    def double(self) -> Symbol:
        """The values in double precision; so is what follows from them, and the arrays that it needs."""
        return Symbol("double", (self,), wide=True)

    def like(self, other: Symbol) -> Symbol:
        """The values in the precision of another symbol."""
        return Symbol("like", (self, other), wide=other.wide)

    def __getitem__(self, which: Any) -> Symbol:
        if which == (slice(None), None):
            return Symbol.of("column", self)
        rows, columns = which
        if rows != slice(None) or not isinstance(columns, slice):
            raise TypeError(f"columns of a symbol can be taken as [:, start:stop], not {which!r}.")
        return Symbol.of("columns", self, setting=(columns.start or 0, columns.stop))


def as_symbol(value: Any, wide: bool = False) -> Symbol:
    """The symbol of a value: itself, or a constant; an array in column order is the transpose of one in row order."""
    if isinstance(value, Symbol):
        return value
    array = np.asarray(value)
    array = array.astype(float) if array.dtype.kind in "iu" else array
    if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
        return Symbol("transpose", (as_symbol(array.T, wide),), wide=wide)
    return Symbol("constant", setting=array, wide=wide)


def take(rows: Any, numbers: Symbol) -> Symbol:
    """The rows with these numbers."""
    return Symbol.of("take", rows, numbers)


def loop(body: Callable[..., tuple[Symbol, ...]], start: Iterable[Any], most: int) -> tuple[Symbol, ...]:
    """The state after repeating ``body``, at most ``most`` times, as long as any row of its last part is true."""
    start = tuple(as_symbol(part) for part in start)
    state = tuple(Symbol("input", setting=f"state{number}", rank=part.ndim) for number, part in enumerate(start))
    repeated = Block(state, body(*state))
    whole = Symbol("loop", (*start, *repeated.captured), (repeated, most))
    return tuple(Symbol("item", (whole,), number) for number in range(len(start)))


@dataclass(frozen=True, eq=False)
class Block:
    """Results that follow from inputs; ``captured`` are outer symbols that they also need."""

    inputs: tuple[Symbol, ...]
    outputs: tuple[Symbol, ...]

    @cached_property
    def captured(self) -> tuple[Symbol, ...]:
        """Symbols, constants included, that do not depend on the inputs but are needed by symbols that do."""
        inside = set(self.inputs)
        order = _sorted(self.outputs)
        for symbol in order:
            if inside.intersection(symbol.parts):
                inside.add(symbol)
        needed = [part for symbol in order if symbol in inside for part in symbol.parts if part not in inside]
        needed += [symbol for symbol in self.outputs if symbol not in inside]
        return tuple(dict.fromkeys(needed))

    @cached_property
    def steps(self) -> tuple[Symbol, ...]:
        """Operations in order, each after its parts."""
        known = {*self.inputs, *self.captured}
        return tuple(symbol for symbol in _sorted(self.outputs, known) if symbol not in known)


@dataclass(frozen=True, eq=False)
class Program:
    """A method of a fitted model as a list of operations on arrays, from rows to the result.

    Parameters
    ----------
    name : str
        The names of the model and the method.
    input, output : Symbol
        The rows, and the last operation.
    columns : int, optional
        The number of columns of the input.
    about : dict of str
        What a file records about the model.

    See Also
    --------
    to_program : Returns it.
    evaluate : Runs it.

    Examples
    --------
    >>> from preimage import KernelPCA, export
    >>> kpca = KernelPCA(1, kernel="linear").fit([[0, 0], [1, 1], [2, 2]])
    >>> program = export.to_program(kpca)
    >>> program.name, program.columns
    ('KernelPCA.transform', 2)
    >>> str(program)
    'transpose matmul matmul column add matmul subtract'
    """

    name: str
    input: Symbol
    output: Symbol
    columns: int | None = None
    about: dict[str, str] = field(default_factory=dict)

    @cached_property
    def steps(self) -> tuple[Symbol, ...]:
        """All operations but the input, in order; constants are among them."""
        return tuple(symbol for symbol in _sorted((self.output,)) if symbol is not self.input)

    @cached_property
    def constants(self) -> dict[Symbol, tuple[str, np.ndarray]]:
        """The name and array of every constant; the same array has one name in each precision."""
        names: dict[Any, str] = {}
        found = {}
        for symbol in self.steps:
            if symbol.operation == "constant":
                array = symbol.setting
                key = (array.__array_interface__["data"][0], array.shape, array.strides) if array.ndim else array.item()
                found[symbol] = names.setdefault((key, symbol.wide), f"constant{len(names)}"), array
        return found

    def __str__(self) -> str:
        return " ".join(symbol.operation for symbol in self.steps if symbol.operation != "constant")


def _sorted(outputs: Iterable[Symbol], known: Iterable[Symbol] = ()) -> list[Symbol]:
    """All symbols that the outputs depend on, parts first."""
    done, order, stack = set(known), list(known), [*reversed(list(outputs))]
    while stack:
        symbol = stack[-1]
        missing = [part for part in symbol.parts if part not in done]
        if symbol not in done and missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if symbol not in done:
            done.add(symbol)
            order.append(symbol)
    return order
