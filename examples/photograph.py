"""
One noisy photograph
====================

``Denoiser`` learns from the picture itself. Details recur in it, so it denoises groups of similar patches together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from preimage import Denoiser

clean = load_sample_image("china.jpg")[100:292, 200:392].mean(axis=2) / 255
noisy = np.clip(clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape), 0, 1)  # clipped, as in a file

# %%
# No settings are needed: the noise level is estimated, and clipping is detected.

denoiser = Denoiser(effort="quick", random_state=0)
answer = denoiser.denoise_image(noisy)


def psnr(picture):
    return -10 * np.log10(np.mean((picture - clean) ** 2))


print(f"noisy {psnr(noisy):.2f} dB, denoised {psnr(answer):.2f} dB")
print(f"estimated {-10 * np.log10(denoiser.risk_):.2f} dB; {denoiser.noise_}")

# %%
# What was removed should look like noise.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, (title, picture) in zip(
    axes, {"noisy": noisy, "denoised": answer, "removed": 0.5 + denoiser.residual_}.items(), strict=True
):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=1)
    ax.set_title(title)
    ax.set_axis_off()
plt.show()
