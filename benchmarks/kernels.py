"""Every kernel: exact fits of 5000 rows and ``transform`` of 2000 new ones, beside scikit-learn's kernel functions.

The peer computes the kernel matrix by scikit-learn's function, or by the plain formula where it has none (products of
its kernels), and gives it to its ``KernelPCA`` with ARPACK; 10 components, 50 columns. ``--sparse`` does the same with
10 000 rows × 50 000 columns of which 0.2 % are not zero. A ratio is the peer's time divided by ours.

    python benchmarks/kernels.py [--threads 1] [--rows 5000] [--sparse] [--only polynomial cosine] [--json FILE]
                                 [--record]
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from figures import record
from racing import cell, markdown, race
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.gaussian_process import kernels as process
from sklearn.metrics import pairwise
from sklearn.preprocessing import normalize
from small import table

from preimage import KernelPCA
from preimage.exceptions import PreimageWarning
from preimage.kernels import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid

SCALE, GAMMA = 5.0, 0.02


def gaussian(X, Y=None):
    return pairwise.rbf_kernel(X, Y, gamma=1 / (2 * SCALE**2))


def polynomial(X, Y=None):
    return pairwise.polynomial_kernel(X, Y, degree=3, gamma=GAMMA, coef0=1)


KERNELS = {  # ours, and the function of scikit-learn
    "gaussian": (Gaussian(SCALE), gaussian),
    "laplacian": (Laplacian(GAMMA), lambda X, Y=None: pairwise.laplacian_kernel(X, Y, gamma=GAMMA)),
    "matern 1/2": (Matern(SCALE, nu=0.5), process.Matern(SCALE, nu=0.5)),
    "matern 3/2": (Matern(SCALE, nu=1.5), process.Matern(SCALE, nu=1.5)),
    "matern 5/2": (Matern(SCALE, nu=2.5), process.Matern(SCALE, nu=2.5)),
    "rational quadratic": (RationalQuadratic(SCALE, alpha=1.5), process.RationalQuadratic(SCALE, alpha=1.5)),
    "linear": (Linear(), pairwise.linear_kernel),
    "polynomial": (Polynomial(GAMMA, coef0=1, degree=3), polynomial),
    "sigmoid": (Sigmoid(GAMMA, coef0=0), lambda X, Y=None: pairwise.sigmoid_kernel(X, Y, gamma=GAMMA, coef0=0)),
    "cosine": (Cosine(), pairwise.cosine_similarity),
    "gaussian + matern 3/2": (
        Gaussian(SCALE) + Matern(SCALE, nu=1.5),
        process.RBF(SCALE) + process.Matern(SCALE, nu=1.5),
    ),
    "gaussian · polynomial": (
        Gaussian(SCALE) * Polynomial(GAMMA, coef0=1, degree=3),
        lambda X, Y=None: gaussian(X, Y) * polynomial(X, Y),
    ),
}
HEADER = ["kernel", "fit", "seconds", "transform", "seconds of it"]
SPARSE = ("gaussian", "linear", "polynomial", "sigmoid", "cosine", "gaussian · polynomial")


def documents(n, draws=265):
    """Sparse rows of 50 000 columns as frequent as words are; the draws fall on about 100 different columns."""
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, size=(n, draws)) - 1, rng.integers(0, 50_000, size=(n, draws)))
    rows = np.repeat(np.arange(n), draws)
    return SCALE * normalize(sp.csr_matrix((rng.random(n * draws), (rows, columns.ravel())), shape=(n, 50_000)))


def compare(name, X, new, n_threads, repeats):
    """Ratios and our seconds of a fit and of ``transform``."""
    kernel, function = KERNELS[name]
    ours = KernelPCA(10, kernel=kernel, random_state=0)
    theirs = ScikitKernelPCA(10, kernel="precomputed", eigen_solver="arpack", random_state=0, copy_X=False)
    fits = race({"ours": lambda: ours.fit(X), "theirs": lambda: theirs.fit(function(X))}, 0, repeats, n_threads)
    tasks = {"ours": lambda: ours.transform(new), "theirs": lambda: theirs.transform(function(new, X))}
    maps = race(tasks, 0, repeats, n_threads)
    return [fits["theirs"] / fits["ours"], fits["ours"], maps["theirs"] / maps["ours"], maps["ours"]]


def keep(found, table):
    """Record a table for the docs."""
    record(__file__, table, HEADER, [[name, *map(cell, row)] for name, row in found.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--only", nargs="+", choices=KERNELS)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the table for the docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    n = options.rows or (10_000 if options.sparse else 5000)
    both = documents(n + 2000) if options.sparse else np.tile(table(n + 2000), (1, 3))[:, :50]
    found = {
        name: compare(name, both[:n], both[n:], options.threads, options.repeats)
        for name in options.only or (SPARSE if options.sparse else KERNELS)
    }
    print(markdown([[name, *row] for name, row in found.items()], HEADER))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.record:
        keep(found, "sparse" if options.sparse else "dense")


if __name__ == "__main__":
    main()
