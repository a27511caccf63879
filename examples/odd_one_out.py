"""A model of one digit detects images of other digits by their novelty.

python examples/odd_one_out.py
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from preimage import KernelPCA
from preimage.datasets import load_digits


def main():
    digits = load_digits()
    scores = {"isolation forest": [], "linear PCA": [], "kernel PCA": []}
    for digit in range(10):
        rows = np.flatnonzero(digits.y == digit)
        train, rest = rows[:100], np.setdiff1d(np.arange(len(digits.y)), rows[:100])
        other = digits.y[rest] != digit
        for name, novelty in novelties(digits.X[train], digits.X[rest]).items():
            scores[name].append(roc_auc_score(other, novelty))
    for name, areas in scores.items():
        print(f"{name:18} mean area under the curve {np.mean(areas):.4f}, worst digit {np.min(areas):.4f}")


def novelties(train, rows):
    """Large for rows unlike the training rows."""
    pca = PCA(0.9).fit(train)
    kpca = KernelPCA(0.9).fit(train)  # the components of nine tenths of the variance
    return {
        "isolation forest": -IsolationForest(random_state=0).fit(train).score_samples(rows),
        "linear PCA": np.square(rows - pca.inverse_transform(pca.transform(rows))).sum(axis=1),
        "kernel PCA": -kpca.score_samples(rows),
    }


if __name__ == "__main__":
    main()
