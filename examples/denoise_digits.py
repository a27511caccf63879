"""Noisy digits, denoised with clean examples and without.

python examples/denoise_digits.py [--picture FILE]
"""

import argparse

import numpy as np
from sklearn.decomposition import PCA

from preimage import Denoiser, KernelPCA
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise
from preimage.statistics.metrics import snr

SIGMA = 0.3  # paper is 0, ink is 1


def main(picture=None):
    images = load_digits().X[np.random.default_rng(0).permutation(1797)]
    train, clean = images[:1000], images[1000:1200]
    noisy = GaussianNoise(SIGMA)(clean, np.random.default_rng(1))

    # Linear PCA with twelve components, its best number here.
    pca = PCA(12).fit(train)
    linear = pca.inverse_transform(pca.transform(noisy))

    # Kernel PCA: project, then find the pre-image of the projection.
    kpca = KernelPCA(256, kernel=Gaussian(1.53), preimage="fixed_point").fit(train)
    denoised = kpca.denoise(noisy)

    # Noisy digits only, without settings.
    noisy_only = np.vstack([noisy, GaussianNoise(SIGMA)(train[:600], np.random.default_rng(2))])
    denoiser = Denoiser(geometry=(8, 8), random_state=0)
    alone = denoiser.fit_transform(noisy_only)[: len(noisy)]

    print(f"noisy input            {snr(clean, noisy).mean():6.2f} dB")
    print(f"linear PCA             {snr(clean, linear).mean():6.2f} dB")
    print(f"kernel PCA             {snr(clean, denoised).mean():6.2f} dB")
    print(f"noisy digits only      {snr(clean, alone).mean():6.2f} dB")
    print(f"noise level found      {denoiser.noise_.sigma:6.3f}")
    if picture:
        draw({"clean": clean, "noisy": noisy, "linear PCA": linear, "kernel PCA": denoised}, picture)


def draw(groups, path):
    from matplotlib.figure import Figure

    from preimage import plot

    figure = Figure((8, 3.2), layout="constrained")
    plot.images(groups, (8, 8), figure.subplots(len(groups), 10), n_images=10, cmap="gray_r")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the digits")
    main(parser.parse_args().picture)
