"""
Novelty: which digit does not belong
====================================

A model of one digit gives every row a novelty: its distance to the model's subspace, in feature space.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from preimage import KernelPCA
from preimage.datasets import load_digits


def novelties(train, rows):
    """Large for rows unlike the training rows."""
    pca = PCA(0.9).fit(train)
    kpca = KernelPCA(0.9).fit(train)  # components that explain nine tenths of the variance
    return {
        "isolation forest": -IsolationForest(random_state=0).fit(train).score_samples(rows),
        "linear PCA": np.square(rows - pca.inverse_transform(pca.transform(rows))).sum(axis=1),
        "kernel PCA": -kpca.score_samples(rows),
    }


# %%
# For each digit: a model of 100 training pictures, and the area under the ROC curve on all other pictures.

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

# %%
# A model of zeros: the zeros with the highest novelty, and the other digits with the lowest.

zeros = digits.X[digits.y == 0]
kpca = KernelPCA(0.9).fit(zeros[:100])
own, foreign = zeros[100:], digits.X[digits.y != 0]
picked = {
    "oddest zeros": own[np.argsort(kpca.score_samples(own))[:8]],
    "most zero-like others": foreign[np.argsort(-kpca.score_samples(foreign))[:8]],
}
figure, axes = plt.subplots(2, 8, figsize=(8, 2.4), layout="constrained")
for line, (name, pictures) in zip(axes, picked.items(), strict=True):
    for ax, picture in zip(line, pictures, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    line[0].set_title(name, loc="left", fontsize=9)
plt.show()
