"""
Missing pixels filled in
========================

Half of the pixels of each digit are missing. Kernel PCA has learned what digits look like, and fills them in.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer

from preimage import KernelPCA, plot
from preimage.datasets import load_digits

images = load_digits().X[np.random.default_rng(0).permutation(1797)]
train, whole = images[:1200], images[1200:1500]
missing = np.random.default_rng(1).random(whole.shape) < 0.5
incomplete = np.where(missing, np.nan, whole)

# %%
# The training digits are complete. ``KernelPCA.impute`` combines several estimates, weighted by how well they predict
# hidden pixels. With ``preimage=``, it uses that method alone.

answers = {
    "mean of the column": SimpleImputer(keep_empty_features=True).fit(train).transform(incomplete),
    "nearest neighbours": KNNImputer(n_neighbors=5).fit(train).transform(incomplete),
    "kernel PCA": KernelPCA(200, random_state=0).fit(train).impute(incomplete),
    "kernel PCA, learned": KernelPCA(200, preimage="learned").fit(train).impute(incomplete),
    "kernel PCA, distances": KernelPCA(200, preimage="distance").fit(train).impute(incomplete),
}
for name, filled in answers.items():
    error = np.sqrt(np.mean(np.square(filled - whole)[missing]))
    print(f"{name:22} {error:.4f}")
unchanged = np.array_equal(answers["kernel PCA"][~missing], whole[~missing])
print(f"known pixels unchanged: {unchanged}")

# %%
# Missing pixels are shown in grey.

groups = {"whole": whole, "half missing": np.where(missing, 0.5, whole)} | {
    name: answers[name] for name in ("nearest neighbours", "kernel PCA")
}
plot.images(groups, (8, 8), n_images=10, cmap="gray_r")
plt.show()
