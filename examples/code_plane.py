"""
Walking through the code plane
==============================

Two components of kernel PCA span a plane. ``inverse_transform`` shows what each point of the plane looks like.
"""

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import load_digits

digits = load_digits()
few = np.isin(digits.y, (0, 1, 4, 7))
X, y = digits.X[few], digits.y[few]
kpca = KernelPCA(2).fit(X)
codes = kpca.transform(X)

# %%
# The codes of the training digits.

figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
plot.codes(codes, y, ax)
plt.show()

# %%
# A grid of decoded points over the plane. Between the clusters one digit turns into another.

plot.traverse(kpca, (8, 8), components=(0, 1), n_steps=12, cmap="gray_r")
plt.show()

# %%
# A walk from a zero to a one.

start, end = codes[y == 0][0], codes[y == 1][0]
steps = np.linspace(0, 1, 10)[:, None]
walk = kpca.inverse_transform((1 - steps) * start + steps * end)
plot.images({"from 0 to 1": walk}, (8, 8), n_images=10, cmap="gray_r")
plt.show()

# %%
# Two numbers cannot describe a digit completely. How much of it does decoding restore?

error = np.mean((kpca.inverse_transform(codes) - X) ** 2)
print(f"share of the variance that two components keep: {1 - error / X.var(axis=0).mean():.2f}")
