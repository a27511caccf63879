"""How near hot operations come to the limits of this machine: GEMM's flops and the bandwidth of memory.

For each operation: CPU seconds in one thread, the flops and the bytes that it cannot avoid, the time that these would
take at the measured peaks (the larger of the two), the share of that in the seconds, and the seconds of a peer. The
exponentials of kernels count as 20 flops each.

    python benchmarks/limits.py [--rows 5000] [--json FILE] [--record]
"""

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg
from figures import record
from racing import cell, markdown, race
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from preimage import KernelKMeans, KernelPCA
from preimage.eigen import Dense
from preimage.exceptions import PreimageWarning
from preimage.gram import tiles, triangle
from preimage.gram.operators import Stored
from preimage.kernels import Gaussian

COLUMNS, COMPONENTS, EXP = 256, 32, 20


@dataclass
class Operation:
    """What is timed, the flops and the bytes it needs, and a peer."""

    ours: object
    flops: float
    n_bytes: float
    peer: object = None


def peaks():
    """Flops per second of GEMM, and bytes per second of a copy that no cache holds."""
    A, long = np.random.default_rng(0).random((2000, 2000)), np.ones(2**26)
    target = np.empty_like(long)
    best = race({"gemm": lambda: A @ A, "copy": lambda: np.copyto(target, long)}, 0, 5)
    return 2 * 2000**3 / best["gemm"], 2 * long.nbytes / best["copy"]


def operations(n):
    """The operations by name, on n rows."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.standard_normal((2 * n, 12)) @ rng.standard_normal((12, COLUMNS)) / 3)
    X, new = X[:n], X[n:]
    kernel, gamma, V = Gaussian(16.0), 1 / (2 * 16.0**2), rng.standard_normal((n, 16))
    ours = KernelPCA(COMPONENTS, kernel=kernel, random_state=0)
    theirs = ScikitKernelPCA(COMPONENTS, kernel="rbf", gamma=gamma, eigen_solver="arpack", random_state=0)
    packed, values = triangle.packed_gram(kernel, X), (COLUMNS * 2 + EXP) * n**2
    small = rbf_kernel(X[: n // 4], gamma=gamma)
    few = X[: n // 4]
    return {
        "kernel matrix, one triangle": Operation(
            lambda: triangle.packed_gram(kernel, X), values / 2, 4 * n**2, lambda: rbf_kernel(X, gamma=gamma)
        ),
        "kernel matrix between rows": Operation(
            lambda: tiles.cross(kernel, new, X), values, 8 * n**2, lambda: rbf_kernel(new, X, gamma=gamma)
        ),
        "stored triangle times 16 columns": Operation(
            lambda: packed.multiply(V), 2 * n**2 * 16, 4 * n**2, lambda: packed_dense(packed) @ V
        ),
        f"fit, {COMPONENTS} components": Operation(
            lambda: ours.fit(X), values / 2 + 11 * 2 * n**2 * 16, 11 * 4 * n**2, lambda: theirs.fit(X)
        ),
        "transform": Operation(
            lambda: ours.transform(new), values + 2 * n**2 * COMPONENTS, 8 * n, lambda: theirs.transform(new)
        ),
        f"all eigenpairs of {n // 4} rows": Operation(
            lambda: Dense().solve(Stored(small.copy()), n // 4, rng), 16 / 3 * (n / 4) ** 3, 0,
            lambda: scipy.linalg.eigh(small),
        ),
        f"kernel k-means of {n // 4} rows, 10 clusters": Operation(
            lambda: KernelKMeans(10, kernel=kernel, n_init=1, random_state=0).fit(few),
            values / 32, 0,
            lambda: SpectralClustering(10, gamma=gamma, n_init=1, random_state=0).fit(few),
        ),
    }  # fmt: skip


DENSE: dict = {}


def packed_dense(packed):
    """The whole matrix, made once."""
    return DENSE.setdefault(id(packed), packed.dense())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    flops, bandwidth = peaks()
    print(f"GEMM {flops / 1e9:.1f} Gflop/s, memory {bandwidth / 1e9:.1f} GB/s, one thread, {options.rows} rows\n")
    rows = []
    for name, operation in operations(options.rows).items():
        seconds = race({"ours": operation.ours, "peer": operation.peer}, 0, 2)
        limit = max(operation.flops / flops, operation.n_bytes / bandwidth)
        share = f"{limit / seconds['ours']:.0%}"
        gigas = operation.flops / 1e9, operation.n_bytes / 1e9
        rows.append([name, seconds["ours"], *gigas, share, seconds["peer"], seconds["peer"] / seconds["ours"]])
    columns = ["operation", "s", "Gflop", "GB", "share of the limit", "peer, s", "ratio"]
    print(markdown(rows, columns))
    if options.record:
        record(__file__, "operations", columns, [[*map(cell, row)] for row in rows])
        speeds = [["GEMM, Gflop/s", f"{flops / 1e9:.1f}"], ["a copy of memory, GB/s", f"{bandwidth / 1e9:.1f}"]]
        record(__file__, "peaks", ["", "one thread"], speeds)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
