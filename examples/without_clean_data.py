"""
Choosing settings without clean data
====================================

``select`` estimates the error of every setting from noisy rows alone, by Stein's formula. Here we have the clean rows,
and can check whether it was right.
"""

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.selection import noise_level, select

rng = np.random.default_rng(0)
clean = load_digits().X[rng.permutation(1797)]
noisy = clean + 0.3 * rng.standard_normal(clean.shape)

# %%
# First the noise level.

level = noise_level(noisy, shape=(8, 8))
print(f"noise level {level.sigma:.3f}, true 0.300")

# %%
# Then the search, over length scales and numbers of components.

grid = {"kernel__length_scale": [1.0, 1.5, 2.0, 3.0], "n_components": [16, 64, 128, 256]}
start = KernelPCA(kernel=Gaussian(1.5), preimage="fixed_point", random_state=0)
found = select(noisy, estimator=start, grid=grid, sigma=level.sigma, random_state=0)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
plot.selection(found, ax)
plt.show()

# %%
# The true error of the choice beside the best of the grid.


def true_error(**params):
    model = KernelPCA(kernel=Gaussian(1.5), preimage="fixed_point", random_state=0).set_params(**params).fit(noisy)
    return np.mean((model.denoise(noisy[:300]) - clean[:300]) ** 2)


chosen = {name: found.best.get_params()[name] for name in grid}
best = min(true_error(kernel__length_scale=ell, n_components=q) for ell in (1.5, 2.0, 3.0) for q in (64, 256))
print(f"chosen {chosen}: true error {true_error(**chosen):.4f}, best of the grid {best:.4f}")
