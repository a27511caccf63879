"""Missing pixels of USPS digits: the error of ``KernelPCA.impute`` and of scikit-learn's imputers.

3000 complete training images, 500 test images with pixels missing at random. All methods are fitted on the same rows;
scikit-learn's iterative imputer, which learns little from complete rows, is also shown fitted on the same rows with
the same share of missing values. Our length scale and number of components are chosen on 300 validation images.

    python benchmarks/imputation.py [--test 500] [--json FILE] [--record]
"""

import argparse
import json
import time
import warnings

import numpy as np
from figures import record
from sklearn.exceptions import ConvergenceWarning as ScikitConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from preimage import KernelPCA
from preimage.datasets import load_usps
from preimage.kernels import Gaussian
from preimage.kernels.scales import length_scale

RATES = (0.3, 0.5)


def with_gaps(X, rate, seed):
    """The rows with entries missing at random."""
    return np.where(np.random.default_rng(seed).random(X.shape) < rate, np.nan, X)


def error(filled, clean, gappy):
    """Root mean squared error of the missing entries."""
    return float(np.sqrt(np.mean(np.square(filled - clean)[np.isnan(gappy)])))


def choose(train, rate):
    """The model with the least error at the missing values of validation rows, fitted again on all rows."""
    fit, held = train[:-300], train[-300:]
    gappy = with_gaps(held, rate, seed=7)
    base = length_scale(fit, "median")
    grid = [KernelPCA(q, kernel=Gaussian(f * base), random_state=0) for f in (1.0, 1.5) for q in (128, 512)]
    errors = [error(model.fit(fit).impute(gappy), held, gappy) for model in grid]
    return grid[int(np.argmin(errors))].fit(train).impute


def imputers(train, rate):
    """Functions that fit, each returning a function that fills in missing values."""
    holey = with_gaps(train, rate, seed=8)
    return {
        "mean": lambda: SimpleImputer().fit(train).transform,
        "k nearest neighbours": lambda: KNNImputer(n_neighbors=10, weights="distance").fit(train).transform,
        "iterative, complete rows": lambda: IterativeImputer(random_state=0).fit(train).transform,
        "iterative, rows with missing values": lambda: IterativeImputer(random_state=0).fit(holey).transform,
        "KernelPCA.impute": lambda: choose(train, rate),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--test", type=int, default=500)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ScikitConvergenceWarning)
    usps, rng = load_usps(), np.random.default_rng(0)
    train = usps.train.X[rng.permutation(len(usps.train.X))[:3000]].astype(float)
    test = usps.test.X[rng.permutation(len(usps.test.X))[: options.test]].astype(float)
    table = {}
    for rate in RATES:
        gappy = with_gaps(test, rate, seed=1)
        for name, fit in imputers(train, rate).items():
            start = time.perf_counter()
            filled = fit()(gappy)
            seconds = time.perf_counter() - start
            table.setdefault(name, {})[str(rate)] = {"rmse": error(filled, test, gappy), "seconds": seconds}
    print(f"{'error of the missing pixels':30}" + "".join(f"{rate:>10.0%} missing" for rate in RATES))
    for name, row in table.items():
        print(f"{name:30}" + "".join(f"{cell['rmse']:11.4f} {cell['seconds']:5.0f} s" for cell in row.values()))
    if options.record:
        rows = [[name, *(f"{cell['rmse']:.4f}" for cell in row.values())] for name, row in table.items()]
        record(__file__, "errors", ["method", *(f"{100 * rate:.0f} % missing" for rate in RATES)], rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
