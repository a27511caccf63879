"""Half of the pixels of a digit are missing; kernel PCA fills them in.

python examples/missing_pixels.py
"""

import numpy as np
from sklearn.impute import KNNImputer, SimpleImputer

from preimage import KernelPCA
from preimage.datasets import load_digits


def main():
    images = load_digits().X[np.random.default_rng(0).permutation(1797)]
    train, whole = images[:1200], images[1200:1500]
    missing = np.random.default_rng(1).random(whole.shape) < 0.5
    gappy = np.where(missing, np.nan, whole)

    answers = {
        "mean of the column": SimpleImputer(keep_empty_features=True).fit(train).transform(gappy),
        "nearest neighbours": KNNImputer(n_neighbors=5).fit(train).transform(gappy),
        "kernel PCA": KernelPCA(200, random_state=0).fit(train).impute(gappy),
        "kernel PCA, learned": KernelPCA(200, preimage="learned").fit(train).impute(gappy),
        "kernel PCA, distances": KernelPCA(200, preimage="distance").fit(train).impute(gappy),
    }
    for name, filled in answers.items():
        error = np.sqrt(np.mean(np.square(filled - whole)[missing]))
        print(f"{name:22} {error:.4f}")
    unchanged = np.array_equal(answers["kernel PCA, distances"][~missing], whole[~missing])
    print(f"known pixels unchanged: {unchanged}")


if __name__ == "__main__":
    main()
