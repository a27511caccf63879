"""The Python lines that do the same as the demonstration; they run as they stand, one part after the other."""

from __future__ import annotations

from dataclasses import dataclass

from preimage.demo.contest import N_ALONE, N_TEST, N_TRAIN, SIGMA, Contest, best_of
from preimage.preimages import FixedPoint


@dataclass(frozen=True)
class Part:
    """Some words and the lines that they introduce."""

    words: str
    code: str


def parts(contest: Contest) -> list[Part]:
    """The parts, with the numbers of this run in them."""
    params, seed = best_of(contest.search, FixedPoint).params, contest.digits.seed
    return [
        Part("Digits, some of them noisy:", _DATA.format(seed=seed, noise=seed + 1, **_SIZES)),
        Part(
            "Denoise with clean examples:",
            _TAUGHT.format(n_components=params["n_components"], scale=f"{params['kernel__length_scale']:.4f}"),
        ),
        Part("Denoise with nothing clean, and nothing to set:", _ALONE.format(noise=seed + 3, **_SIZES)),
        Part("Or let a search choose one kernel PCA, and see why:", _SEARCH),
        Part("Look at it:", _PICTURES),
        Part("Not only noise: fill gaps, and tell what is unlike the training rows:", _MORE),
    ]


_SIZES = {"train": N_TRAIN, "test": N_TRAIN + N_TEST, "sigma": SIGMA, "others": N_ALONE - N_TEST}

_DATA = """
import numpy as np
from preimage.datasets import load_digits
from preimage.noise import GaussianNoise

images = load_digits().X[np.random.default_rng({seed}).permutation(1797)]
train, clean = images[:{train}], images[{train}:{test}]
noisy = GaussianNoise({sigma})(clean, np.random.default_rng({noise}))
"""

_TAUGHT = """
from preimage import KernelPCA
from preimage.kernels import Gaussian

kpca = KernelPCA({n_components}, kernel=Gaussian({scale}), preimage="fixed_point")
kpca.fit(train)
denoised = kpca.denoise(noisy)
"""

_ALONE = """
from preimage import Denoiser

others = GaussianNoise({sigma})(train[:{others}], np.random.default_rng({noise}))
pile = np.vstack([noisy, others])
denoiser = Denoiser(geometry=(8, 8), random_state=0)
denoised_alone = denoiser.fit_transform(pile)[: len(noisy)]
print(denoiser.noise_, denoiser.risk_)  # what was removed, and what is left
"""

_SEARCH = """
from preimage.selection import select

found = select(pile, shape=(8, 8), random_state=0)
searched = found.best.denoise(noisy)
print(found.noise.sigma, found.best_params)
"""

_PICTURES = """
from preimage import plot

axes = plot.images({"noisy": noisy, "denoised": denoised}, (8, 8))
ax = plot.scree(kpca)
"""

_MORE = """
gappy = np.where(np.random.default_rng(0).random(clean.shape) < 0.3, np.nan, clean)
filled = kpca.impute(gappy)
novelty = -kpca.score_samples(noisy)
"""
