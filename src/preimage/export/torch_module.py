"""Programs as torch modules."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from preimage.exceptions import installed
from preimage.export.arrays import evaluate, has_double
from preimage.export.models import precision_of, to_program
from preimage.export.program import Program, Symbol
from preimage.tensors import as_double


def to_torch(model: Any, method: str = "transform", dtype: Any = None) -> Any:
    """A ``torch.nn.Module`` that computes what a method of a fitted model does.

    The model's numbers are its buffers, so ``module.to(device)`` and ``module.float()`` work; gradients flow through
    it. ``dtype=numpy.float32`` is more accurate than ``module.float()``: it keeps the weights of a learned inverse map
    in double precision.

    Parameters
    ----------
    model : estimator
    method : str
        Such as "transform", "denoise", "score_samples", "inverse_transform" or "predict".
    dtype : numpy dtype, optional
        float32 or float64; None takes the model's own.

    See Also
    --------
    to_onnx : A file for runtimes without Python.
    to_program : The operations alone.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from preimage import KernelPCA, export
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    >>> kpca = KernelPCA(1).fit(X)
    >>> module = export.to_torch(kpca)
    >>> bool(np.allclose(module(torch.from_numpy(X)).detach(), kpca.transform(X)))
    True
    """
    kind = np.dtype(precision_of(model) if dtype is None else dtype)
    return _module(to_program(model, method, kind), kind)


@cache
def _module_class() -> type:
    """The class of modules, which cannot be defined before torch is imported."""
    torch: Any = installed("torch", "torch")

    class ProgramModule(torch.nn.Module):
        """A program whose constants are buffers."""

        def __init__(self, program: Program, kind: np.dtype):
            super().__init__()
            self.program, self.kind = program, kind
            for symbol, (name, array) in program.constants.items():
                held = (np.dtype(float) if symbol.wide else kind) if array.dtype.kind == "f" else None
                self.register_buffer(name, torch.as_tensor(np.array(array, dtype=held)))

        def forward(self, X: Any) -> Any:
            return evaluate(self.program, X, self._constant)

        def _constant(self, symbol: Symbol) -> Any:
            """A buffer; in double precision where the program needs it, also after ``module.float()``."""
            buffer = getattr(self, self.program.constants[symbol][0])
            return as_double(buffer) if symbol.wide and buffer.is_floating_point() and has_double(buffer) else buffer

        def __reduce__(self) -> Any:
            return _module, (self.program, self.kind), self.__getstate__()

    return ProgramModule


def _module(program: Program, kind: np.dtype) -> Any:
    """A new module of a program; unpickling then restores the buffers."""
    return _module_class()(program, kind)
