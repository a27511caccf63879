"""Fitted models as short lists of primitive operations, which numpy, ONNX and torch carry out.

    from preimage import export

    export.to_onnx(kpca, "model.onnx", method="denoise")
    module = export.to_torch(kpca, method="transform")
    program = export.describe(kpca, method="score_samples")
    export.run(program, X)
"""

from __future__ import annotations

from preimage.export.arrays import run
from preimage.export.models import describe
from preimage.export.onnx_file import to_onnx
from preimage.export.program import Program
from preimage.export.tensors_in import call, fit_tensor
from preimage.export.torch_module import to_torch

__all__ = ["Program", "call", "describe", "fit_tensor", "run", "to_onnx", "to_torch"]
