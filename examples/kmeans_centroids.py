"""
Kernel k-means, with pictures of the centroids
==============================================

The centroid of a cluster is a mean in feature space; its pre-image shows a typical member of the cluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from preimage import KernelKMeans, plot
from preimage.datasets import load_digits
from preimage.kernels import Gaussian

# %%
# Two rings: no straight line separates them, but kernel k-means does.

X, y = make_circles(400, factor=0.4, noise=0.06, random_state=0)
labels = {
    "k-means": KMeans(2, n_init=10, random_state=0).fit_predict(X),
    "kernel k-means": KernelKMeans(2, kernel=Gaussian(0.3), random_state=0).fit_predict(X),
}
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for ax, (name, found) in zip(axes, labels.items(), strict=True):
    plot.codes(X, found, ax)
    ax.set_title(f"{name}, adjusted Rand index {adjusted_rand_score(y, found):.2f}")
    print(f"{name:16} adjusted Rand index {adjusted_rand_score(y, found):.2f}")
plt.show()

# %%
# Digits: the pre-images of ten centroids, above the centroids of plain k-means, which clusters digits equally well.

digits = load_digits()
model = KernelKMeans(10, random_state=0).fit(digits.X)
plain = KMeans(10, n_init=10, random_state=0).fit(digits.X)
pictures = model.centroid_preimages().points
plot.images({"kernel k-means": pictures, "k-means": plain.cluster_centers_}, (8, 8), n_images=10, cmap="gray_r")
print(f"digits: kernel {adjusted_rand_score(digits.y, model.labels_):.2f}", end=", ")
print(f"plain {adjusted_rand_score(digits.y, plain.labels_):.2f}; {np.unique(model.labels_).size} clusters")
plt.show()
