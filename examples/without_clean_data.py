"""
Choosing settings without clean data
====================================

``select`` estimates the error of every setting from noisy rows alone, by Stein's formula. Here the clean rows are
known, so we can check its choice.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import ParameterGrid

from preimage import KernelPCA, plot
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.selection import noise_level, select

rng = np.random.default_rng(0)
clean = load_digits().X[rng.permutation(1797)]
noisy = clean + 0.3 * rng.standard_normal(clean.shape)
train, new, truth = noisy[:1000], noisy[1000:], clean[1000:]

# %%
# First, estimate the noise level.

level = noise_level(noisy, shape=(8, 8))
print(f"noise level {level.sigma:.3f}, true 0.300")

# %%
# Then search over length scales and numbers of components.

grid = {"kernel__length_scale": [1.5, 2.0, 3.0], "n_components": [32, 128, 256]}
start = KernelPCA(kernel=Gaussian(1.5), preimage="fixed_point", random_state=0)
found = select(train, estimator=start, grid=grid, sigma=level.sigma, random_state=0)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
plot.selection(found, ax)
plt.show()

# %%
# The true error on new rows of the chosen setting, and of the best setting of the grid.


def true_error(params):
    model = KernelPCA(kernel=Gaussian(1.5), preimage="fixed_point", random_state=0).set_params(**params).fit(train)
    return np.mean((model.denoise(new) - truth) ** 2)


chosen = {name: found.best.get_params()[name] for name in grid}
best = min(map(true_error, ParameterGrid(grid)))
print(f"chosen {chosen}: true error {true_error(chosen):.4f}, best of the grid {best:.4f}")
