"""onnxruntime on one core beside our own ``transform``, for small batches: seconds of CPU time and their ratio.

python benchmarks/export.py [--points 100 1000] [--columns 64]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from preimage import KernelPCA, export
from preimage.export.onnx_file import onnx_model
from preimage.gram import threads

BATCHES = (1, 10, 100)
TRIALS, SHORTEST = 7, 0.05  # trials of which the best counts, and seconds of each


def seconds(function):
    """CPU seconds of one call, the best of several trials."""
    count, best = 1, np.inf
    for _ in range(TRIALS):
        start = time.process_time()
        for _ in range(count):
            function()
        spent = time.process_time() - start
        best = min(best, spent / count)
        count = max(count, int(SHORTEST / max(best, 1e-7)))
    return best


def session_of(model, dtype):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    proto = onnx_model(export.to_program(model, "transform", dtype), dtype)
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--columns", type=int, default=64)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print("points  precision  rows  ours, µs  onnxruntime, µs  ratio")
    for n in options.points:
        X = rng.standard_normal((n, options.columns))
        for dtype in (np.float64, np.float32):
            model = KernelPCA(16, random_state=0).fit(X.astype(dtype))
            session = session_of(model, dtype)
            for batch in BATCHES:
                rows = rng.standard_normal((batch, options.columns)).astype(dtype)
                with threads.limited(1):
                    own = seconds(lambda: model.transform(rows))  # noqa: B023
                other = seconds(lambda: session.run(None, {"X": rows}))  # noqa: B023
                name = np.dtype(dtype).name
                print(
                    f"{n:6}  {name:9}  {batch:4}  {own * 1e6:8.0f}  {other * 1e6:15.0f}  {own / other:5.1f}", flush=True
                )


if __name__ == "__main__":
    main()
