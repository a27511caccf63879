"""Fitted models as short lists of primitive operations, which numpy, ONNX and torch run.

from preimage import export

export.to_onnx(kpca, "model.onnx", method="denoise")
module = export.to_torch(kpca, method="transform")
program = export.to_program(kpca, method="score_samples")
export.evaluate(program, X)
"""

from __future__ import annotations

from preimage.export.arrays import evaluate
from preimage.export.models import to_program
from preimage.export.onnx_file import to_onnx
from preimage.export.program import Program
from preimage.export.tensors_in import answer_tensor as answer_tensor
from preimage.export.tensors_in import fit_tensor as fit_tensor
from preimage.export.torch_module import to_torch

__all__ = ["Program", "evaluate", "to_onnx", "to_program", "to_torch"]
