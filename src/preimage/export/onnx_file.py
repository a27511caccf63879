"""Programs as ONNX files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from preimage.exceptions import installed
from preimage.export.arrays import evaluate
from preimage.export.models import precision_of, to_program
from preimage.export.program import Block, Program, Symbol
from preimage.io.atomic import written

OPSET, IR_VERSION = 18, 9
# Names of operations in ONNX; those not listed, such as Add, differ from ours by the capital letter alone.
NAMES = {
    "subtract": "Sub",
    "matmul": "MatMul",
    "negative": "Neg",
    "maximum": "Max",
    "minimum": "Min",
    "greater_equal": "GreaterOrEqual",
    "less_equal": "LessOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_not": "Not",
    "take": "Gather",
}


def to_onnx(
    model: Any,
    path: str | os.PathLike[str],
    method: str = "transform",
    dtype: Any = None,
    *,
    overwrite: bool = True,
) -> None:
    """Write a method of a fitted model to an ONNX file, whole or not at all.

    The file takes any number of rows. Its metadata hold the model's class, the method, this library's version and the
    names of columns.

    Parameters
    ----------
    model : estimator
    path : path
    method : str
        Such as "transform", "denoise", "score_samples", "inverse_transform" or "predict".
    dtype : numpy dtype, optional
        float32 or float64; None takes the model's own.
    overwrite : bool
        Whether an existing file may be replaced.

    See Also
    --------
    to_torch : A module that can be trained further.
    to_program : The operations alone.

    Examples
    --------
    >>> import os, tempfile
    >>> import onnx
    >>> from preimage import KernelPCA, export
    >>> kpca = KernelPCA(1, kernel="linear").fit([[0, 0], [1, 1], [2, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.onnx")
    ...     export.to_onnx(kpca, path)
    ...     written = onnx.load(path)
    >>> {entry.key: entry.value for entry in written.metadata_props}["method"]
    'transform'
    """
    kind = np.dtype(precision_of(model) if dtype is None else dtype)
    proto = onnx_model(to_program(model, method, kind), kind)
    with written(path, overwrite=overwrite) as unfinished, open(unfinished, "wb") as stream:
        stream.write(proto.SerializeToString())


def onnx_model(program: Program, dtype: Any = np.float64) -> Any:
    """The ONNX model of a program, checked."""
    onnx = installed("onnx", "onnx")
    graph = _Graph(onnx, np.dtype(dtype))
    graph.program(program)
    found = onnx.helper.make_model(
        graph.finished(program), opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    found.producer_name = "preimage"
    shapes = {"rows": str(program.columns), "result": str(_shape(program)[1:])}
    onnx.helper.set_model_props(found, program.about | shapes)
    onnx.checker.check_model(found, full_check=True)
    return found


def _shape(program: Program) -> tuple[int, ...]:
    """The shape of the result for one row."""
    with np.errstate(all="ignore"):
        return tuple(evaluate(program, np.zeros((1, program.columns or 1))).shape)


class _Graph:
    """Nodes of a graph, and the names of the symbols that they make."""

    def __init__(self, onnx: Any, dtype: np.dtype, outer: _Graph | None = None, prefix: str = ""):
        self.onnx, self.dtype, self.prefix = onnx, dtype, prefix
        self.nodes: list[Any] = []
        self.multiplied: set[Symbol] = set()  # parts of matrix products
        self.names: dict[Symbol, str] = dict(outer.names) if outer else {}
        self.constants: dict[str, Any] = outer.constants if outer else {}  # shared with the bodies of loops
        self.held: dict[str, str] = {}  # the program's constants, by their names there
        self.used: set[str] = outer.used if outer else set()

    def program(self, program: Program) -> None:
        """Add nodes for all steps of a program."""
        self.names[program.input] = str(program.input.setting)
        for symbol, (name, array) in program.constants.items():
            self.names[symbol] = self.held.get(name) or self.hold(name, array, self.kind(symbol))
        self.steps(symbol for symbol in program.steps if symbol.operation != "constant")

    def steps(self, symbols: Any) -> None:
        """Add nodes for these symbols, whose parts are known."""
        symbols = tuple(symbols)
        self.multiplied = {part for symbol in symbols if symbol.operation == "matmul" for part in symbol.parts}
        for symbol in symbols:
            parts = [self.names[part] for part in symbol.parts if part.operation != "loop"]
            operation = symbol.operation
            own: Callable | None = getattr(self, f"_{operation}", None)
            made = own(symbol, *parts) if own else self.node(NAMES.get(operation, operation.capitalize()), *parts)
            self.names[symbol] = made

    def node(self, kind: str, *parts: str, **settings: Any) -> str:
        """Add one node; return the name of its result."""
        name = f"{self.prefix}v{len(self.nodes)}"
        self.add(kind, parts, [name], **settings)
        return name

    def add(self, kind: str, parts: Iterable[str], results: list[str], **settings: Any) -> None:
        """Add a node whose results have these names."""
        self.used.update(parts)
        self.nodes.append(self.onnx.helper.make_node(kind, list(parts), results, **settings))

    def kind(self, symbol: Symbol) -> np.dtype:
        """The type of a symbol's numbers."""
        return np.dtype(np.float64) if symbol.wide else self.dtype

    def constant(self, name: str, array: Any, kind: np.dtype | None = None) -> str:
        """Add an array to the file, floats as numbers of this type or of the file's; return its name."""
        array = np.asarray(array)
        array = array.astype(kind or self.dtype) if array.dtype.kind == "f" else array
        self.constants[name] = self.onnx.numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def hold(self, name: str, array: np.ndarray, kind: np.dtype) -> str:
        """Add a constant; a matrix of doubles that single precision holds exactly takes half the bytes."""
        array = np.asarray(array)
        short = array.astype(np.float32) if kind == np.float64 and array.ndim == 2 else array
        self.held[name] = name
        if short is not array and np.array_equal(short, array):
            self.constants[name] = self.onnx.numpy_helper.from_array(np.array(short, order="C"), name)
            self.held[name] = self.node("Cast", name, to=self.onnx.TensorProto.DOUBLE)
        else:
            self.constant(name, array, kind)
        return self.held[name]

    def number(self, value: Any, kind: np.dtype | None = None) -> str:
        """Add a small constant that only the graph needs; return its name."""
        array = np.asarray(value)
        kind = (kind or self.dtype) if array.dtype.kind == "f" else array.dtype
        return self.constant(f"{kind}_{'_'.join(map(str, array.ravel()))}_{array.ndim}", array, kind)

    def finished(self, program: Program) -> Any:
        """The graph of a program."""
        result = "label" if program.output.operation == "argmin" else "result"
        self.add("Identity", [self.names[program.output]], [result])
        tensor = self.onnx.helper.make_tensor_value_info
        inputs = [tensor(str(program.input.setting), self.float_type, ["rows", program.columns])]
        kind = self.onnx.TensorProto.INT64 if result == "label" else self.float_type
        outputs = [tensor(result, kind, ["rows", *_shape(program)[1:]])]
        held = [array for name, array in self.constants.items() if name in self.used]
        return self.onnx.helper.make_graph(self.nodes, program.name, inputs, outputs, held)

    @property
    def float_type(self) -> int:
        """The type of numbers in the file."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype))

    def _multiply(self, symbol: Symbol, x: str, y: str) -> str:
        """Multiply; a number beside a matrix product is split into the sum of two in single precision.

        Runtimes merge such a number into the product, as a setting in single precision even among doubles.
        """
        for factor, other, name in zip(symbol.parts, reversed(symbol.parts), (y, x), strict=True):
            beside = other.operation == "matmul" or symbol in self.multiplied
            if factor.operation == "constant" and factor.ndim == 0 and beside:
                high = np.float64(np.float32(factor.setting))
                low = np.float64(factor.setting) - high
                if low and self.kind(symbol) == np.float64:
                    numbers = (self.number(part, self.kind(symbol)) for part in (high, low))
                    return self.node("Add", *(self.node("Mul", name, number) for number in numbers))
        return self.node("Mul", x, y)

    def _divide(self, symbol: Symbol, x: str, y: str) -> str:
        divisor = symbol.parts[1]
        if divisor.operation == "constant" and divisor.ndim == 0:
            inverse = Symbol("constant", setting=1 / divisor.setting, wide=symbol.wide)
            product = Symbol("multiply", (symbol.parts[0], inverse), wide=symbol.wide)
            return self._multiply(product, x, self.number(inverse.setting, self.kind(symbol)))
        return self.node("Div", x, y)

    def _double(self, symbol: Symbol, x: str) -> str:
        return x if self.dtype == np.float64 else self.node("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def _like(self, symbol: Symbol, x: str, other: str) -> str:
        return x if self.dtype == np.float64 else self.node("CastLike", x, other)

    def _sum(self, symbol: Symbol, x: str) -> str:
        return self.node("ReduceSum", x, self.number(np.array([symbol.setting])), keepdims=0)

    def _argmin(self, symbol: Symbol, x: str) -> str:
        return self.node("ArgMin", x, axis=1, keepdims=0)

    def _smallest(self, symbol: Symbol, x: str) -> str:
        least = f"{self.prefix}least{len(self.nodes)}"
        self.add("TopK", [x, self.number(np.array([symbol.setting]))], [least, f"{least}_where"], largest=0)
        return self.node("Gather", least, self.number(np.array(symbol.setting - 1)), axis=1)

    def _concat(self, symbol: Symbol, *parts: str) -> str:
        return self.node("Concat", *parts, axis=1)

    def _column(self, symbol: Symbol, x: str) -> str:
        return self.node("Unsqueeze", x, self.number(np.array([1])))

    def _columns(self, symbol: Symbol, x: str) -> str:
        start, stop = symbol.setting
        return self.node("Slice", x, *(self.number(np.array([end])) for end in (start, stop, 1)))

    def _atan2(self, symbol: Symbol, y: str, x: str) -> str:
        """2 atan(y / (r + x)), or with x < 0 sign(y)π − 2 atan(y / (r − x)), in single precision; then one Newton step.

        Runtimes lack the arc tangent of doubles. If θ is off by e, the step removes sin e / cos e = e + O(e³).
        """
        node, number = self.node, lambda value: self.number(np.array(value, dtype=self.dtype))
        single = self.onnx.TensorProto.FLOAT
        left = node("Less", x, number(0.0))
        r = node("Sqrt", node("Add", node("Mul", x, x), node("Mul", y, y)))
        ratio = node("Div", y, node("Max", node("Add", r, node("Abs", x)), number(1e-30)))
        half = node("Cast", node("Atan", node("Cast", ratio, to=single)), to=self.float_type)
        angle = node("Mul", number(2.0), half)
        upper = node("Where", node("Less", y, number(0.0)), number(-np.pi), number(np.pi))
        angle = node("Where", left, node("Sub", upper, angle), angle)
        cosine, sine = node("Cos", angle), node("Sin", angle)
        across = node("Sub", node("Mul", y, cosine), node("Mul", x, sine))
        along = node("Add", node("Mul", x, cosine), node("Mul", y, sine))
        return node("Add", angle, node("Div", across, node("Max", along, number(1e-30))))

    def _loop(self, symbol: Symbol, *parts: str) -> str:
        block, most = symbol.setting
        first = f"{self.prefix}loop{len(self.nodes)}"
        state = parts[: len(block.inputs)]
        body = self._body(block, f"{first}_")
        results = [f"{first}_state{number}" for number in range(len(state))]
        start = [self.number(np.array(most)), self._any(state[-1]), *state]
        self.add("Loop", start, results, body=body)
        return first

    def _item(self, symbol: Symbol, *parts: str) -> str:
        return f"{self.names[symbol.parts[0]]}_state{symbol.setting}"

    def _any(self, name: str) -> str:
        """Whether any of the booleans is true."""
        as_number = self.node("Cast", name, to=self.float_type)
        return self.node("Greater", self.node("ReduceMax", as_number, keepdims=0), self.number(self.dtype.type(0)))

    def _body(self, block: Block, prefix: str) -> Any:
        inner = _Graph(self.onnx, self.dtype, self, prefix)
        for number, part in enumerate(block.inputs):
            inner.names[part] = f"{prefix}in{number}"
        inner.steps(block.steps)
        going = inner._any(inner.names[block.outputs[-1]])
        outputs = [going, *(inner.node("Identity", inner.names[part]) for part in block.outputs)]
        tensor, proto = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        kinds = [self.float_type] * (len(block.inputs) - 1) + [proto.BOOL]
        names = [inner.names[part] for part in block.inputs]
        inputs = [tensor(f"{prefix}i", proto.INT64, []), tensor(f"{prefix}go", proto.BOOL, [])]
        inputs += [tensor(name, kind, None) for name, kind in zip(names, kinds, strict=True)]
        results = [tensor(name, kind, None) for name, kind in zip(outputs, [proto.BOOL, *kinds], strict=True)]
        return self.onnx.helper.make_graph(inner.nodes, prefix, inputs, results)
