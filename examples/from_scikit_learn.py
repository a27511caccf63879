"""
Coming from scikit-learn
========================

``preimage.compat.KernelPCA`` has scikit-learn's signature and gives its numbers. ``preimage.KernelPCA`` can do more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import preimage
from preimage import plot
from preimage.datasets import load_digits

digits = load_digits()
X, y = digits.X[:800], digits.y[:800]

# %%
# Change the import, keep the code.

settings = {"n_components": 8, "kernel": "rbf", "gamma": 0.03, "fit_inverse_transform": True, "alpha": 0.1}
theirs, ours = Theirs(**settings).fit(X), preimage.compat.KernelPCA(**settings).fit(X)
codes = np.abs(theirs.transform(X) - ours.transform(X)).max()
back = np.abs(theirs.inverse_transform(theirs.transform(X)) - ours.inverse_transform(ours.transform(X))).max()
print(f"largest difference of codes {codes:.0e}, of reconstructions {back:.0e}")

# %%
# ``preimage.KernelPCA`` works in pipelines and grid searches, with nested parameters for the kernel.

pipeline = make_pipeline(StandardScaler(), preimage.KernelPCA(40), LinearSVC(C=10))
grid = {"kernelpca__kernel__length_scale": [5.0, 10.0, 20.0]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
print(f"accuracy {search.best_score_:.3f} with {search.best_params_}")

# %%
# It also denoises, with a choice of pre-image methods.

noisy = X[:10] + 0.3 * np.random.default_rng(0).standard_normal((10, 64))
kpca = preimage.KernelPCA(256, kernel=preimage.kernels.Gaussian(1.5), preimage="fixed_point").fit(X[10:])
inverted = Theirs(64, kernel="rbf", gamma=0.02, fit_inverse_transform=True, alpha=0.1).fit(X[10:])
groups = {
    "noisy": noisy,
    "scikit-learn": inverted.inverse_transform(inverted.transform(noisy)),
    "preimage": kpca.denoise(noisy),
}
for name, answer in groups.items():
    print(f"{name:14} mean squared error {np.mean((answer - X[:10]) ** 2):.4f}")
plot.images(groups, (8, 8), n_images=10, cmap="gray_r")
plt.show()
