"""Tables with missing entries: ``Imputer`` beside scikit-learn's imputers, and how often its intervals hold the truth.

Six tables, 20 % and 40 % of the entries missing, at random or in blocks (a run of columns in a run of rows). Columns of
tables are standardised before, pixels stay as they are. All methods see the same rows with the same gaps and nothing
else. The error is the root mean squared error of the missing entries, divided by that of the column means; a mean over
``--seeds`` masks. ``KNNImputer`` chooses its neighbours and weights by entries that are hidden on purpose; random
forests have 30 trees with a third of the columns at every split, and three rounds; of the
256 columns of USPS they see the 40 most correlated ones.

    python benchmarks/imputer.py [--tables wine] [--seeds 1] [--cache FOLDER] [--json FILE] [--record]
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from figures import record
from sklearn import datasets
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from preimage import Imputer
from preimage.datasets import load_tennessee_eastman, load_usps

ROWS = {"digits": 400, "usps": 250, "tennessee": 400}  # random forests take minutes with more
SMALL = ("breast_cancer", "wine", "diabetes")
NAMES = {"breast_cancer": "breast cancer", "usps": "USPS"}
RATES, PATTERNS = (0.2, 0.4), ("random", "blocks")
RUN = 20  # rows that lose the same columns
INTERVAL = 0.9
WIDE = 40  # columns that forests see of a table with more than twice as many
NEIGHBOURS = [(k, weights) for k in (2, 3, 5, 8, 12, 20) for weights in ("uniform", "distance")]


def tennessee():
    """Measurements of a chemical plant in normal operation."""
    runs = load_tennessee_eastman()
    return np.concatenate([runs.train.normal, runs.test.normal]).astype(float)


LOADERS = {
    "breast_cancer": lambda: datasets.load_breast_cancer().data,
    "wine": lambda: datasets.load_wine().data,
    "diabetes": lambda: datasets.load_diabetes().data,
    "digits": lambda: datasets.load_digits().data / 16,
    "usps": lambda: load_usps().train.X.astype(float),
    "tennessee": tennessee,
}


def load(name):
    """Rows of a table in random order, without constant columns; standardised unless they are pixels."""
    X = LOADERS[name]()
    X = X[np.random.default_rng(0).permutation(len(X))[: ROWS.get(name)]]
    X = X[:, np.ptp(X, axis=0) > 0]
    return X if name in ("digits", "usps") else (X - X.mean(axis=0)) / X.std(axis=0)


def lost(shape, rate, pattern, seed):
    """Which entries are missing; every row and every column keeps some."""
    n, d = shape
    rng = np.random.default_rng(seed)
    if pattern == "random":
        missing = rng.random(shape) < rate
    else:
        width = max(1, round(rate * d))
        missing = np.zeros(shape, dtype=bool)
        for start in range(0, n, RUN):
            missing[start : start + RUN, (rng.integers(d) + np.arange(width)) % d] = True
    missing[missing.all(axis=1), rng.integers(d)] = False
    missing[:3] &= ~missing.all(axis=0)
    return missing


def tuned_neighbours(gappy):
    """``KNNImputer`` with the setting of least error at a tenth of the known entries, hidden on purpose."""
    hidden = (np.random.default_rng(9).random(gappy.shape) < 0.1) & ~np.isnan(gappy)
    rows = np.where(hidden, np.nan, gappy)
    errors = [
        np.square(_filled(KNNImputer(n_neighbors=k, weights=w), rows) - gappy)[hidden].mean() for k, w in NEIGHBOURS
    ]
    k, weights = NEIGHBOURS[int(np.argmin(errors))]
    return _filled(KNNImputer(n_neighbors=k, weights=weights), gappy)


def _filled(imputer, gappy):
    return imputer.set_params(keep_empty_features=True).fit_transform(gappy)


def forests(gappy):
    """``IterativeImputer`` with random forests."""
    forest = RandomForestRegressor(30, max_features=1 / 3, random_state=0)
    nearest = WIDE if gappy.shape[1] > 2 * WIDE else None
    return _filled(IterativeImputer(forest, max_iter=3, n_nearest_features=nearest, random_state=0), gappy)


PEERS = {
    "mean": lambda gappy: _filled(SimpleImputer(), gappy),
    "KNN": tuned_neighbours,
    "iterative": lambda gappy: _filled(IterativeImputer(random_state=0), gappy),
    "forests": forests,
}


def error(filled, X, missing):
    """Root mean squared error of the missing entries."""
    return float(np.sqrt(np.mean(np.square(filled - X)[missing])))


def cached(folder, name, work):
    """An array from the folder, or from the work, which is then kept there."""
    path = Path(folder) / f"{name}.npy" if folder else None
    if path and path.exists():
        return np.load(path)
    found = work()
    if path:
        np.save(path, found)
    return found


def measure(name, rate, pattern, seed, folder=None, ours=True):
    """Errors of all methods, the coverage of our intervals and our time."""
    X = load(name)
    missing = lost(X.shape, rate, pattern, seed)
    gappy = np.where(missing, np.nan, X)
    key = f"{name}-{rate}-{pattern}-{seed}"
    row = {
        peer: error(cached(folder, f"{key}-{peer}", lambda fill=fill: fill(gappy)), X, missing)
        for peer, fill in PEERS.items()
    }
    if ours:
        start = time.process_time()
        imputer = Imputer(random_state=0).fit(gappy)
        row["Imputer"] = error(imputer.transform(gappy), X, missing)
        row["seconds"] = time.process_time() - start
        low, high = imputer.interval(gappy, INTERVAL)
        row["coverage"] = float(np.mean(((low <= X) & (high >= X))[missing]))
    return {method: value / row["mean"] if method in (*PEERS, "Imputer") else value for method, value in row.items()}


def keep(results):
    """The table of the guide."""
    columns = ["missing", "table", "mean", "`KNNImputer`", "`IterativeImputer`", "forests", "`Imputer`"]
    methods = (*PEERS, "Imputer", "coverage")
    rows = [
        [
            f"{row['rate']:.0%}, {row['pattern']}",
            NAMES.get(row["table"], row["table"]),
            *(f"{row[m]:.3f}" for m in methods),
        ]
        for row in results
    ]
    record(__file__, "tables", [*columns, f"coverage of {100 * INTERVAL:.0f} %"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=list(LOADERS))
    parser.add_argument("--seeds", type=int, default=3, help="masks of the three small tables; the others have one")
    parser.add_argument("--cache", help="folder that keeps what the peers answered")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    parser.add_argument("--peers-only", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = []
    for rate in RATES:
        for pattern in PATTERNS:
            for name in options.tables:
                seeds = range(options.seeds if name in SMALL else 1)
                rows = [measure(name, rate, pattern, seed, options.cache, not options.peers_only) for seed in seeds]
                means = {method: float(np.mean([row[method] for row in rows])) for method in rows[0]}
                best = min(means[peer] for peer in PEERS)
                ours = f"  ours/best {means['Imputer'] / best:.3f}" if "Imputer" in means else ""
                cells = "  ".join(f"{method} {value:.3f}" for method, value in means.items())
                print(f"{rate:.0%} {pattern:7} {name:14} {cells}{ours}", flush=True)
                results.append({"rate": rate, "pattern": pattern, "table": name, **means})
    if options.record:
        keep(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
