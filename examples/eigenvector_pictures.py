"""
What a component looks like
===========================

An axis of kernel PCA is a vector of feature space. Its pre-images show what changes along it.
"""

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import load_digits, three_clusters
from preimage.kernels import Gaussian

# %%
# Components of two-dimensional data are functions on the plane. The first two separate the clusters, the next ones
# split each cluster.

X = three_clusters(random_state=0).X
kpca = KernelPCA(6, kernel=Gaussian(0.22)).fit(X)
plot.components(kpca, n_components=6)
plt.show()

# %%
# Components of digits: we move two standard deviations from the mean along each axis, in both directions, and take
# the pre-images.

digits = load_digits()
twos = KernelPCA(8).fit(digits.X[digits.y == 2])
plot.eigenvectors(twos, (8, 8), n_components=8)
plt.show()

# %%
# The share of the variance that each component explains.

share = np.cumsum(twos.explained_variance_ratio_)
print(f"eight components of the digit 2 hold {share[-1]:.0%} of its variance")
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
plot.scree(twos, ax)
plt.show()
