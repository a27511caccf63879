"""
Noisy spectra
=============

Spectra with moving, overlapping peaks form a curved surface. Linear PCA needs many components, and each adds noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from preimage import Denoiser, plot

rng = np.random.default_rng(0)
shift = np.linspace(0, 10, 120)


def peak(centre, width):
    return np.exp(-0.5 * ((shift - centre) / width) ** 2)


n = 600
first, second = rng.uniform(2, 5, (n, 1)), rng.uniform(5, 8, (n, 1))
clean = peak(first, 0.35) + rng.uniform(0.3, 1, (n, 1)) * peak(second, 0.6)
noisy = clean + 0.2 * rng.standard_normal(clean.shape)

# %%
# ``Denoiser`` learns from the 600 noisy spectra. Each row is a signal of 120 points.

denoiser = Denoiser(geometry=(120,), n_landmarks=400, n_stages=2, random_state=0)
answer = denoiser.fit_transform(noisy)

# %%
# Linear PCA gets the number of components with the least true error, which no user could know.


def error(X):
    return np.mean((X - clean) ** 2)


linear = min(error(p.inverse_transform(p.transform(noisy))) for p in (PCA(q).fit(noisy) for q in range(2, 40)))
print(f"noisy {error(noisy):.4f}, linear PCA at its best {linear:.4f}, Denoiser {error(answer):.4f}")
print(f"estimated by Denoiser {denoiser.risk_:.4f}")

plot.signals({"noisy": noisy, "Denoiser": answer, "clean": clean}, n_signals=3)
plt.show()
