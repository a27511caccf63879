"""ONNX files: how large they are, and onnxruntime on one core beside our own ``transform``, for small batches.

    python benchmarks/export.py [--points 100 1000] [--columns 64] [--record]

Sizes are those of digits, compressed to 100 points. Times are CPU time, the best of several trials.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from figures import record

from preimage import KernelPCA, export
from preimage.datasets import load_digits
from preimage.export.onnx_file import onnx_model
from preimage.gram import threads
from preimage.preimages import Learned

BATCHES = (1, 10, 100)
TRIALS, SHORTEST = 7, 0.05  # trials of which the best counts, and seconds of each
METHODS = ("transform", "score_samples", "denoise", "inverse_transform")
PRECISIONS = {"double": np.float64, "single": np.float32}


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


def sizes():
    """Kilobytes of the files of a compressed model."""
    model = KernelPCA(10, preimage=Learned(n_landmarks=100), random_state=0).fit(load_digits().X).compress(100)
    for method in METHODS:
        files = [onnx_model(export.to_program(model, method, dtype), dtype) for dtype in PRECISIONS.values()]
        yield [f"`{method}`", *(f"{file.ByteSize() / 1000:.0f} kB" for file in files)]


def speeds(points, columns):
    """Microseconds of our own transform and of onnxruntime's."""
    rng = np.random.default_rng(0)
    for n in points:
        X = rng.standard_normal((n, columns))
        for name, dtype in PRECISIONS.items():
            model = KernelPCA(16, random_state=0).fit(X.astype(dtype))
            session = session_of(model, dtype)
            for batch in BATCHES:
                rows = rng.standard_normal((batch, columns)).astype(dtype)
                with threads.limited(1):
                    own = seconds(lambda: model.transform(rows))  # noqa: B023
                other = seconds(lambda: session.run(None, {"X": rows}))  # noqa: B023
                times = [f"{own * 1e6:.0f}", f"{other * 1e6:.0f}", f"{own / other:.1f}"]
                yield [f"{n} points, {name}, {batch} row{'s' if batch > 1 else ''}", *times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    tables = {
        "sizes": (["method", *PRECISIONS], list(sizes())),
        "speed": (["model", "ours, µs", "onnxruntime, µs", "ratio"], list(speeds(options.points, options.columns))),
    }
    for name, (columns, lines) in tables.items():
        print(f"\n{name}")
        for line in (columns, *lines):
            print(f"{line[0]:<32}" + "".join(f"{cell:>17}" for cell in line[1:]))
        if options.record:
            record(__file__, name, columns, lines)


if __name__ == "__main__":
    main()
