"""Time of each pre-image method relative to scikit-learn's ``inverse_transform``, in one run.

3000 training points in 256 dimensions, 64 components, 2000 targets; best of several alternating repeats. Ratios are to
scikit-learn's time on the same model. USPS digits where they are found, else random points of a curved surface.

    python benchmarks/preimages.py [--repeats 5] [--json FILE]
"""

import argparse
import json
import time
import warnings

import numpy as np
from figures import record
from sklearn.decomposition import KernelPCA as ScikitKernelPCA

from preimage import decomposition
from preimage.datasets import DatasetNotFound, load_usps
from preimage.exceptions import ConvergenceWarning
from preimage.expansion import Expansion
from preimage.kernels import Gaussian, scales
from preimage.preimages import (
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    OneStep,
    find_preimage,
)

N_TRAIN, N_TARGETS, N_COMPONENTS = 3000, 2000, 64
METHODS = (Conformal(), Learned(), Nearest(), Distance(), OneStep(), FixedPoint(), Gradient(), ConvexCombination())
ASKED = {"Conformal": 0.1, "Distance": 3.0, "FixedPoint": 15.0}


def rows():
    """Training rows and rows whose projections are the targets."""
    try:
        usps = load_usps()
        return "USPS", usps.train.X[:N_TRAIN].astype(float), usps.test.X[:N_TARGETS].astype(float)
    except DatasetNotFound:
        rng = np.random.default_rng(0)
        X = np.tanh(rng.standard_normal((N_TRAIN + N_TARGETS, 12)) @ rng.standard_normal((12, 256)) / 3)
        return "random", X[:N_TRAIN], X[N_TRAIN:]


def best_of(tasks, repeats):
    """The shortest time of every task, the tasks taking turns."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def shown(report):
    """Rows of the table, the fastest first."""
    ratio = {name: f"{row['ratio']:.2g}" for name, row in report.items()}
    names = sorted((name for name in ratio if "general" not in name), key=lambda name: report[name]["ratio"])
    return [[name, ratio[name], ratio.get(f"{name}, general expansion", "–")] for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    data, train, test = rows()
    scale = scales.length_scale(train, "median")
    scikit = ScikitKernelPCA(
        N_COMPONENTS, kernel="rbf", gamma=1 / (2 * scale**2), fit_inverse_transform=True, eigen_solver="arpack"
    ).fit(train)
    model = decomposition.fit(Gaussian(scale), train, N_COMPONENTS)
    codes, scikit_codes = model.codes(test), scikit.transform(test)
    ways = {type(method).__name__: method.prepare(model, np.random.default_rng(0)) for method in METHODS}
    tasks = {"scikit-learn": lambda: scikit.inverse_transform(scikit_codes)}
    tasks |= {name: lambda way=way: way(model.expand(codes)) for name, way in ways.items()}
    times = best_of(tasks, options.repeats)
    weights = model.expand(codes).weights
    general = {
        f"{type(m).__name__}, general expansion": lambda m=m: find_preimage(Expansion(model.kernel, train, weights), m)
        for m in METHODS
        if not isinstance(m, Learned | Conformal)
    }
    times |= best_of(general, 1)
    report = {name: {"seconds": t, "ratio": t / times["scikit-learn"]} for name, t in times.items()}
    print(f"{data}: {N_TRAIN} points × {train.shape[1]}, {N_COMPONENTS} components, {len(codes)} targets")
    for name, row in report.items():
        asked = f"   at most {ASKED[name]} ×" if name in ASKED else ""
        print(f"{name:38}{row['seconds']:9.3f} s {row['ratio']:8.2f} ×{asked}")
    if options.record:
        record(__file__, "time", ["method", "from codes", "from a general expansion"], shown(report))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
