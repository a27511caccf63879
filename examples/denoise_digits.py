"""
Digits denoised four ways
=========================

Linear PCA and kernel PCA learn from clean digits; ``Denoiser`` learns from noisy digits alone.
"""

# %%
# The digits have 8 × 8 pixels, from 0 (paper) to 1 (ink). We add noise of σ = 0.3.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from preimage import Denoiser, KernelPCA, plot
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise
from preimage.statistics.metrics import snr

images = load_digits().X[np.random.default_rng(0).permutation(1797)]
train, clean = images[:1000], images[1000:1200]
noisy = GaussianNoise(0.3)(clean, np.random.default_rng(1))

# %%
# Linear PCA, with twelve components, the best number here.

pca = PCA(12).fit(train)
linear = pca.inverse_transform(pca.transform(noisy))

# %%
# Kernel PCA projects a digit, then finds the pre-image of the projection: by fixed-point iterations, or by distances.

kpca = KernelPCA(256, kernel=Gaussian(1.53), preimage="fixed_point").fit(train)
denoised = kpca.denoise(noisy)
by_distance = KernelPCA(64, kernel=Gaussian(1.53), preimage="distance").fit(train).denoise(noisy)

# %%
# ``Denoiser`` learns from noisy digits only, and needs no settings.

noisy_only = np.vstack([noisy, GaussianNoise(0.3)(train[:600], np.random.default_rng(2))])
denoiser = Denoiser(geometry=(8, 8), random_state=0)
alone = denoiser.fit_transform(noisy_only)[: len(noisy)]

# %%
# Mean signal-to-noise ratio over the digits.

print(f"noisy input            {np.mean(snr(clean, noisy)):6.2f} dB")
print(f"linear PCA             {np.mean(snr(clean, linear)):6.2f} dB")
print(f"kernel PCA             {np.mean(snr(clean, denoised)):6.2f} dB")
print(f"by distances           {np.mean(snr(clean, by_distance)):6.2f} dB")
print(f"noisy digits only      {np.mean(snr(clean, alone)):6.2f} dB")
print(f"noise level found      {denoiser.noise_.sigma:6.3f}")

groups = {"clean": clean, "noisy": noisy, "linear PCA": linear, "kernel PCA": denoised, "Denoiser": alone}
plot.images(groups, (8, 8), n_images=10, cmap="gray_r")
plt.show()
