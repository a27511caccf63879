"""Fits of the main estimators on well-conditioned data; ``python reproducible.py FILE`` writes all their numbers."""

import sys

import numpy as np

from preimage import Decoder, Denoiser, Imputer, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor
from preimage.eigen import BlockKrylov
from preimage.exceptions import NoiseLevelWarning, silenced
from preimage.features import Nystrom
from preimage.features.fourier import RandomFourier
from preimage.kernels import Gaussian

KERNEL = Gaussian(4.0)
MODELS = {
    "dense": KernelPCA(6, kernel=KERNEL, solver="dense"),
    "block_krylov": KernelPCA(6, kernel=KERNEL, solver=BlockKrylov(block_size=8, tol=1e-12)),
    "lanczos": KernelPCA(6, kernel=KERNEL, solver="lanczos"),
    "power": KernelPCA(6, kernel=KERNEL, solver="power"),
    "nystrom": KernelPCA(6, kernel=KERNEL, approximation=Nystrom(40)),
    "fourier": KernelPCA(6, kernel=KERNEL, approximation=RandomFourier(200)),
}


def rows(n: int, seed: int) -> np.ndarray:
    """Rows with a variance of its own along every axis, so that eigenvalues lie well apart."""
    return np.random.default_rng(seed).standard_normal((n, 5)) * [4.0, 3.0, 2.2, 1.6, 1.1]


def numbers() -> dict[str, np.ndarray]:
    """Eigenvalues, codes, labels and denoised rows by name."""
    X, new, found = rows(220, 0), rows(30, 1), {}
    noisy = new + np.random.default_rng(3).standard_normal(new.shape)
    for name, model in MODELS.items():
        model.set_params(random_state=0).fit(X)
        found[f"{name} eigenvalues"], found[f"{name} codes"] = model.eigenvalues_, model.transform(new)
        method = {"preimage": "gradient"} if name == "fourier" else {}
        found[f"{name} denoised"] = model.set_params(**method).denoise(noisy)
    gappy = np.where(np.eye(30, 5, dtype=bool), np.nan, new)
    found["dense imputed"] = MODELS["dense"].impute(gappy)
    found["imputer"] = Imputer(random_state=0).fit(np.vstack([gappy, X[:60]])).transform(gappy)
    found["decoder rows"] = Decoder(random_state=0).fit(X[:, :3], X).predict(new[:, :3])
    clusters = KernelKMeans(4, kernel=KERNEL, random_state=0).fit(X)
    found |= {"k-means labels": clusters.labels_, "k-means inertia": np.array(clusters.inertia_)}
    invertible = InvertibleKernelPCA(5, random_state=0).fit(X)
    codes = invertible.transform(new)
    found |= {"invertible codes": codes, "invertible rows": invertible.inverse_transform(codes)}
    found["monitor scores"] = Monitor("linear", random_state=0).fit(X).score_samples(new)
    waves = np.sin(np.linspace(0, 3, 12) * np.arange(1, 5)[np.arange(120) % 4][:, None])
    images = waves + 0.2 * np.random.default_rng(2).standard_normal(waves.shape)
    with silenced(NoiseLevelWarning):
        found["denoiser rows"] = Denoiser(random_state=0).fit_transform(images)
    return found


if __name__ == "__main__":
    np.savez(sys.argv[1], **numbers())
