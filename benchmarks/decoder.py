"""``Decoder`` beside UMAP's own inverse and 10 nearest neighbours: errors, speed, and what its uncertainty is worth.

    python benchmarks/decoder.py [--data digits usps] [--rows 3000] [--quick]

Embeddings are fitted on four fifths of the rows; the last fifth is embedded by them, and decoded. t-SNE embeds no new
rows: it embeds all of them, and the decoder learns from the codes of four fifths. UMAP's inverse triangulates the codes
and is not tried beyond three dimensions, where that takes hours. Seconds are CPU time. Needs umap-learn.

"bound" is the error of the weighted mean of neighbours whose number the test rows themselves choose: no choice from
known rows can be expected to reach it. Where it is not lower than the error, the codes hold no more.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsRegressor

from preimage import Decoder
from preimage.datasets import load_digits, load_usps
from preimage.decoding import REACH, Known, weighted_mean

TRIED = 100  # codes that UMAP's inverse decodes
BOUNDS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60)  # numbers of neighbours that set the width of their weights


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


def bound(known, rows, new, truth):
    """The least error of a weighted mean of neighbours, for the numbers of them that suit the truth best."""
    distances, near = Known(known, rows).nearest(new, REACH * max(BOUNDS))
    return min(np.square(weighted_mean(rows, distances, near, count) - truth).mean() for count in BOUNDS)


def measure(X, name, known, new, model, train, test):
    """One line of the table."""
    known, new = np.asarray(known, dtype=float), np.asarray(new, dtype=float)
    decoder, fitting = timed(Decoder(random_state=0).fit, known, X[train])
    decoder.predict(new[:TRIED])  # the index of neighbours is built once
    found = decoder.predict(new)
    errors = np.square(found - X[test]).mean(axis=1)
    near = np.square(KNeighborsRegressor(10).fit(known, X[train]).predict(new) - X[test]).mean()
    rank = spearmanr(decoder.uncertainty(new), errors)[0]
    least = bound(known, X[train], new, X[test])
    line = f"{name:<10} {type(decoder.map_).__name__:<12} {errors.mean():.4f}  {least:.4f}  {near:.4f}"
    line += f"  {rank:5.2f}  {fitting:6.1f}"
    if model is not None:
        few = new[:TRIED].astype(np.float32)
        model.inverse_transform(few[:2])  # what numba compiles is not counted
        theirs, seconds = timed(model.inverse_transform, few)
        own = min(timed(decoder.predict, new[:TRIED])[1] for _ in range(5))
        error = np.square(theirs - X[test][:TRIED]).mean()
        ratio = errors[:TRIED].mean() / error
        line += f"  {error:.4f} {ratio:6.2f} {seconds / max(own, 1e-4):8.0f}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=("digits", "usps"), default=["digits", "usps"])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--quick", action="store_true", help="UMAP in the plane alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for data in options.data:
        X = load_digits().X if data == "digits" else np.concatenate([part.X for part in load_usps()]).astype(float)
        order = np.random.default_rng(0).permutation(len(X))[: options.rows]
        X, n = X[order], len(order)
        train, test = np.arange(4 * n // 5), np.arange(4 * n // 5, n)
        print(f"\n{data}: {n} rows of {X.shape[1]} columns")
        print("codes      map          error   bound   10-NN   rank  fit, s  UMAP's  ratio  speed-up")
        for embedding in embeddings(X, train, test, options.quick):
            measure(X, *embedding, train, test)


if __name__ == "__main__":
    main()
