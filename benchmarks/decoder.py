"""``Decoder`` beside UMAP's own inverse and 10 nearest neighbours: errors, speed, and what its uncertainty is worth.

    python benchmarks/decoder.py [--data digits usps] [--rows 3000] [--quick] [--record]

Embeddings are fitted on four fifths of the rows; the last fifth is embedded by them, and decoded. t-SNE embeds no new
rows: it embeds all of them, and the decoder learns from the codes of four fifths. UMAP's inverse triangulates the codes
and is not tried beyond three dimensions, where that takes hours; it decodes the first codes only, and all errors beside
its own are of these. Seconds are CPU time. Needs umap-learn.

What the codes hold is asked of three other families of functions, smooth and not, which learn from the same rows but
whose settings the test rows themselves choose: weighted means of neighbours, random forests, and kernel ridge
regressions. No choice from known rows can be expected to reach the least of their errors.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from itertools import product

import numpy as np
from figures import record
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor

from preimage import Decoder
from preimage.datasets import load_digits, load_usps
from preimage.decoding import REACH, Known, weighted_mean
from preimage.kernels import Gaussian
from preimage.kernels.scales import median
from preimage.preimages.learned import fit_regression

TRIED = 100  # codes that UMAP's inverse decodes
COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60)  # numbers of neighbours that set the width of their weights
TREES, LEAVES = 50, (2, 5, 10, 20)  # of a forest, and the fewest rows in a leaf
LANDMARKS = 600  # of a regression
SCALES, RIDGES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0), (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
ERRORS = ["codes", "error", "10 neighbours", "best mean", "best forest", "best regression", "rank", "map", "fit, s"]
BESIDE = ["codes", "error", "UMAP's", "ratio", "least ratio", "speed-up"]


def embeddings(X, train, test, quick):
    """Names, codes of both parts, and the fitted UMAP where it has an inverse."""
    import umap

    for q in (2,) if quick else (2, 3, 8):
        model = umap.UMAP(n_components=q, random_state=0).fit(X[train])
        yield f"UMAP {q}-D", model.embedding_, model.transform(X[test]), model if q <= 3 else None
    pca = PCA(10, svd_solver="full").fit(X[train])
    yield "PCA 10-D", pca.transform(X[train]), pca.transform(X[test]), None
    codes = TSNE(random_state=0).fit_transform(X)
    yield "t-SNE 2-D", codes[train], codes[test], None


def timed(function, *arguments):
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def squared(found, truth):
    """Mean squared error of the entries of every row."""
    return np.square(found - truth).mean(axis=1)


def means(known, rows, new) -> Iterator:
    """Weighted means of neighbours, for every number of them."""
    distances, near = Known(known, rows).nearest(new, REACH * max(COUNTS))
    return (weighted_mean(rows, distances, near, count) for count in COUNTS)


def forests(known, rows, new) -> Iterator:
    """Random forests, for every size of their leaves."""
    return (
        RandomForestRegressor(TREES, min_samples_leaf=leaf, random_state=0).fit(known, rows).predict(new)
        for leaf in LEAVES
    )


def regressions(known, rows, new) -> Iterator:
    """Kernel ridge regressions on landmarks, for every scale and ridge."""
    unit = median(known)
    return (
        fit_regression(Gaussian(scale * unit), known, rows, 1, ridge, LANDMARKS).values(new)
        for scale, ridge in product(SCALES, RIDGES)
    )


def least(answers, truth):
    """The mean squared error of the answers that suit the truth best."""
    return min(squared(answer, truth).mean() for answer in answers)


def beside_umap(model, decoder, new, truth, errors, answers):
    """Errors and speed beside UMAP's own inverse, on the codes that it decodes."""
    few = new[:TRIED].astype(np.float32)
    model.inverse_transform(few[:2])  # what numba compiles is not counted
    found, seconds = timed(model.inverse_transform, few)
    own = min(timed(decoder.predict, new[:TRIED])[1] for _ in range(5))
    theirs, ours = squared(found, truth[:TRIED]).mean(), errors[:TRIED].mean()
    bound = least((answer[:TRIED] for family in answers for answer in family), truth[:TRIED])
    ratios = [f"{ours / theirs:.2f}", f"{bound / theirs:.2f}", f"{seconds / max(own, 1e-4):.0f}"]
    return [f"{ours:.4f}", f"{theirs:.4f}", *ratios]


def measure(rows, truth, known, new, model):
    """The cells of both tables; of the second none where UMAP has no inverse."""
    known, new = np.asarray(known, dtype=float), np.asarray(new, dtype=float)
    decoder, fitting = timed(Decoder(random_state=0).fit, known, rows)
    errors = squared(decoder.predict(new), truth)
    near = squared(KNeighborsRegressor(10).fit(known, rows).predict(new), truth)
    answers = [list(family(known, rows, new)) for family in (means, forests, regressions)]
    rank = spearmanr(decoder.uncertainty(new), errors)[0]
    cells = [f"{error:.4f}" for error in (errors.mean(), near.mean(), *(least(family, truth) for family in answers))]
    cells += [f"{rank:.2f}", type(decoder.map_).__name__, f"{fitting:.1f}"]
    if model is None:
        return cells, None
    return cells, beside_umap(model, decoder, new, truth, errors, answers)


def show(title, columns, lines):
    print(f"\n{title}")
    for line in (columns, *lines):
        print("  ".join(f"{cell:<15}" for cell in line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=("digits", "usps"), default=["digits", "usps"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--quick", action="store_true", help="UMAP in the plane alone")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for data in options.data:
        X = load_digits().X if data == "digits" else np.concatenate([part.X for part in load_usps()]).astype(float)
        X = X[np.random.default_rng(0).permutation(len(X))[: options.rows]]
        train, test = np.split(np.arange(len(X)), [4 * len(X) // 5])
        found = {name: measure(X[train], X[test], *parts) for name, *parts in embeddings(X, train, test, options.quick)}
        errors = [[name, *cells] for name, (cells, _) in found.items()]
        beside = [[name, *cells] for name, (_, cells) in found.items() if cells]
        for title, columns, lines in ((data, ERRORS, errors), (f"{data} beside UMAP", BESIDE, beside)):
            show(f"{title}, {len(X)} rows of {X.shape[1]} columns", columns, lines)
            if options.record:
                record(__file__, title, columns, lines)


if __name__ == "__main__":
    main()
