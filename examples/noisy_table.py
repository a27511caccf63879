"""
A noisy table
=============

Relations between the columns of a table help to remove noise. Kernel PCA also uses nonlinear relations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, plot
from preimage.kernels.scales import length_scale
from preimage.preimages import FixedPoint
from preimage.selection import select

SIGMA = 0.5
clean = StandardScaler().fit_transform(load_breast_cancer().data)  # kernels depend on distances: scale the columns
noisy = clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)


def error(answer):
    return np.mean(np.square(answer - clean))


# %%
# Linear PCA gets the number of components with the least true error, which no user could know.

models = [PCA(q).fit(noisy) for q in range(1, 25)]
linear = min(error(pca.inverse_transform(pca.transform(noisy))) for pca in models)

# %%
# Kernel PCA is given the noise level; ``select`` chooses the length scale and the number of components by an
# estimate of the error.

wide = length_scale(noisy, "mean")
grid = {"kernel__length_scale": [2 * wide, 4 * wide, 6 * wide], "n_components": [8, 12, 16]}
start = KernelPCA(preimage=FixedPoint(), random_state=0)
found = select(noisy, estimator=start, grid=grid, sigma=SIGMA, random_state=0)

print(f"noisy                    {error(noisy):.4f}")
print(f"linear PCA at its best   {linear:.4f}")
print(f"kernel PCA               {error(found.best.denoise(noisy)):.4f}")

# %%
# The estimated error of every setting.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
plot.selection(found, ax)
plt.show()
