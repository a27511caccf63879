"""Small problems: exact fits and ``transform`` beside scikit-learn's ``KernelPCA``, from 50 to 3000 rows.

Gaussian kernel; 2, 10, 32 and all components; digits of MNIST (784 columns) and a table of 20 columns. scikit-learn has
the best of its solvers for every case, each of which is timed; ``transform`` maps as many new rows as there are
training rows, and then a single one. A ratio is scikit-learn's time divided by ours.

    python benchmarks/small.py [--threads 1] [--rows 50 100] [--json FILE] [--record]
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from figures import record
from racing import cell, markdown, race
from sklearn.decomposition import KernelPCA as ScikitKernelPCA

from preimage import KernelPCA
from preimage.datasets import load_mnist
from preimage.exceptions import PreimageWarning
from preimage.kernels import Gaussian
from preimage.kernels.scales import length_scale

ROWS, COMPONENTS = (50, 100, 200, 500, 1000, 2000, 3000), (2, 10, 32, None)
TASKS = ("fit", "transform", "transform of one row")


def digits(n):
    """MNIST digits, pixels between 0 and 1."""
    images = load_mnist().train.X
    return images[np.random.default_rng(0).permutation(len(images))[:n]].astype(float)


def table(n):
    """A curved surface of five dimensions in 20 columns, with a little noise."""
    rng = np.random.default_rng(0)
    surface = np.tanh(rng.standard_normal((n, 5)) @ rng.standard_normal((5, 20)))
    return surface + 0.1 * rng.standard_normal(surface.shape)


def compare(X, new, k, n_threads):
    """Ratios of a fit and of ``transform`` of all new rows and of one, our seconds, and scikit-learn's best solver."""
    scale = length_scale(X)
    ours = KernelPCA(k, kernel=Gaussian(scale), random_state=0)
    solvers = ("dense",) if k is None else ("dense", "arpack", "randomized")
    theirs = {
        solver: ScikitKernelPCA(k, kernel="rbf", gamma=1 / (2 * scale**2), eigen_solver=solver, random_state=0)
        for solver in solvers
    }
    least = 0.3 if len(X) <= 1000 else 0
    tasks = {"ours": lambda: ours.fit(X)} | {name: lambda model=model: model.fit(X) for name, model in theirs.items()}
    fits = race(tasks, least, n_threads=n_threads)
    best = min(solvers, key=fits.__getitem__)
    found = {"fit": fits[best] / fits["ours"], "fit_seconds": fits["ours"], "solver": best}
    for task, rows in (("transform", new), ("transform of one row", new[:1])):
        tasks = {"ours": lambda rows=rows: ours.transform(rows), best: lambda rows=rows: theirs[best].transform(rows)}
        maps = race(tasks, least, 3, n_threads)
        found |= {task: maps[best] / maps["ours"], f"{task}_seconds": maps["ours"]}
    return found


HEADER = ["rows", *(f"{k or 'all'} components" for k in COMPONENTS)]


def tables(found, name):
    """The ratios of every task on some data: a title, and a row for every number of rows."""
    for task in TASKS:
        yield f"{name}, {task}", [[n, *(case[task] for case in cases.values())] for n, cases in found[name].items()]


def keep(found):
    """Record all tables for the docs."""
    for name in found:
        for title, rows in tables(found, name):
            record(__file__, title, HEADER, [[*map(cell, row)] for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for the docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    found = {}
    for data in (digits, table):
        both = {n: np.split(data(2 * n), 2) for n in options.rows}
        found[data.__name__] = {
            n: {str(k or "all"): compare(*both[n], k, options.threads) for k in COMPONENTS if (k or 0) < n}
            for n in both
        }
        for title, rows in tables(found, data.__name__):
            print(f"\n{title}: times as fast as scikit-learn\n\n{markdown(rows, HEADER)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.record:
        keep(found)


if __name__ == "__main__":
    main()
