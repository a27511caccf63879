"""
A heartbeat-like signal, denoised from itself
=============================================

Heartbeats repeat, so ``Denoiser`` can learn from a single noisy recording. We compare it with kernel PCA of windows and
with a Savitzky-Golay filter.
"""

# %%
# Each pulse has a sharp, a negative and a soft peak; the pulse rate drifts.

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import savgol_filter

from preimage import Denoiser, plot
from preimage.noise import GaussianNoise
from preimage.selection import select
from preimage.statistics.metrics import snr

WINDOW, RATE = 48, 100  # samples, and samples per second


def pulse(n_samples, rng):
    rate = 1.1 + 0.15 * np.sin(np.arange(n_samples) / 500) + 0.05 * rng.standard_normal(n_samples)
    turn = np.angle(np.exp(2j * np.pi * np.cumsum(rate) / RATE))
    peaks = [(1.0, 0.0, 0.12), (-0.25, 0.4, 0.15), (0.35, 1.6, 0.45)]
    return sum(height * np.exp(-0.5 * ((turn - place) / width) ** 2) for height, place, width in peaks)


clean = pulse(20 * RATE, np.random.default_rng(0))
noisy = GaussianNoise(0.2)(clean, np.random.default_rng(1))

# %%
# ``Denoiser`` needs no settings.

alone = Denoiser(random_state=0).denoise_signal(noisy)

# %%
# For kernel PCA, the rows are windows of the signal. ``select`` chooses the settings without the clean signal. Every
# sample of the result is the mean over all windows that contain it.


def overlap(windows):
    length = len(windows) + WINDOW - 1
    sums, counts = np.zeros(length), np.zeros(length)
    for offset in range(WINDOW):
        sums[offset : offset + len(windows)] += windows[:, offset]
        counts[offset : offset + len(windows)] += 1
    return sums / counts


windows = sliding_window_view(noisy, WINDOW)
found = select(windows[::2], shape=(WINDOW,), random_state=0)
denoised = overlap(found.best.denoise(windows))

# %%
# The Savitzky-Golay filter uses the width with the best result, which requires the clean signal.

smooth = max((savgol_filter(noisy, width, 3) for width in range(5, 31, 2)), key=lambda wave: snr(clean, wave))
print(f"noisy                               {snr(clean, noisy):6.2f} dB")
print(f"Savitzky-Golay, its best width      {snr(clean, smooth):6.2f} dB")
print(f"Denoiser                            {snr(clean, alone):6.2f} dB")
print(f"kernel PCA of windows               {snr(clean, denoised):6.2f} dB")
print(f"noise level found                   {found.noise.sigma:6.3f}")

figure, ax = plt.subplots(figsize=(8, 2.6), layout="constrained")
waves = {"noisy": noisy, "Denoiser": alone, "clean": clean}
plot.signals({name: wave[: 6 * RATE] for name, wave in waves.items()}, ax, rate=RATE)
plt.show()
