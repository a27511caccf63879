"""
Unknown classes in a network's embedding
========================================

A small network learns seven of the ten digits. The embedding of an image is the activations of the hidden layer, scaled
to unit length. Kernel PCA of the embedding, with a Gaussian kernel on landmarks, measures how far an image lies from
the training images, and detects unknown digits at a stated false-alarm rate (Fang et al. 2024, "Kernel PCA for
out-of-distribution detection").
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.svm import OneClassSVM

from preimage import KernelPCA, Monitor
from preimage.datasets import load_digits

UNKNOWN = ((7, 8, 9), (0, 1, 2), (3, 4, 5))  # classes that the network is not trained on, in three trials
ALPHA = 0.05


def embedded(unknown):
    """Embeddings for the fit, for the limits and for the test, and which test images show an unknown digit."""
    digits, rng = load_digits(), np.random.default_rng(0)
    strange = np.isin(digits.y, unknown)
    known = rng.permutation(np.flatnonzero(~strange))
    taught, train, held_out, rest = np.split(known, [400, 700, 1000])
    network = MLPClassifier(64, max_iter=200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(digits.X[taught], digits.y[taught])
    new = np.concatenate([rest, np.flatnonzero(strange)])
    hidden = np.maximum(digits.X @ network.coefs_[0] + network.intercepts_[0], 0)
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    return hidden[train], hidden[held_out], hidden[new], strange[new]


def novelties(train, held_out, new):
    """Novelty scores, large for rows unlike the training rows; and which rows raise an alarm."""
    model = KernelPCA(0.9, kernel="gaussian", approximation=200, random_state=0).fit(train)
    monitor = Monitor(model, alpha=ALPHA, limits="held_out").fit(held_out)
    both = np.concatenate([train, held_out])  # the other methods are fitted to all of these rows
    scores = {
        "isolation forest": -IsolationForest(random_state=0).fit(both).score_samples(new),
        "local outlier factor": -LocalOutlierFactor(novelty=True).fit(both).score_samples(new),
        "one-class SVM": -OneClassSVM().fit(both).score_samples(new),
        "monitor, both": -monitor.score_samples(new),
        "monitor, SPE alone": monitor.statistics(new).SPE,
    }
    return scores, monitor.predict(new) == -1


# %%
# Three trials, each with three digits that the network was not trained on.

areas, rates = {}, []
for unknown in UNKNOWN:
    train, held_out, new, odd = embedded(unknown)
    scores, alarms = novelties(train, held_out, new)
    rates.append(alarms[~odd].mean())
    for name, score in scores.items():
        areas.setdefault(name, []).append(roc_auc_score(odd, score))
for name, found in areas.items():
    print(f"{name:24} mean area under the curve {np.mean(found):.4f}, worst trial {np.min(found):.4f}")
print(f"false alarms stated {100 * ALPHA:.1f} %, measured {100 * np.mean(rates):.1f} %")

# %%
# The novelty of the images in the last trial.

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
novelty = scores["monitor, both"]
bins = np.geomspace(novelty.min(), novelty.max(), 40)
ax.hist([novelty[~odd], novelty[odd]], bins, stacked=True, label=["known digits", "unknown digits"])
ax.axvline(1, color="black", linestyle="--", label="limit")
ax.set(xscale="log", xlabel="novelty", ylabel="images")
ax.legend()
plt.show()
