"""What the table of denoisers compares: peers, each a function from a task to a function from noisy rows to clean ones.

A peer trains on ``task.train`` alone, and chooses its settings by ``task.best``: by the true error on corrupted
validation rows, or, where all rows are noisy, by Stein's estimate on noisy validation rows. It returns None for tasks
that it cannot do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import product

import denoising_filters as filters
import denoising_networks as networks
import numpy as np
from scipy.linalg import eigh

from preimage import Denoiser, KernelPCA
from preimage.kernels import Gaussian, scales
from preimage.noise import GaussianNoise, NoiseLaw
from preimage.preimages import Distance, FixedPoint, Learned
from preimage.statistics.noise_level import noise_level
from preimage.statistics.risk import Sure

Denoise = Callable[[np.ndarray], np.ndarray]
N_VALIDATION = 200  # rows that settings are chosen on, at most
COPIES = 6000  # corrupted rows that a regression learns from, about
FACTORS = (1.0, 2**0.5, 2.0, 2**1.5)  # of Kwok & Tsang's length scale


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to train on, which of them are validation rows, and the noise to remove.

    ``train`` is clean unless ``blind``; then the noise is Gaussian with the σ estimated from ``train``.
    """

    train: np.ndarray
    validation: np.ndarray
    noise: NoiseLaw
    shape: tuple[int, ...]
    blind: bool = False
    share: float = 1.0  # of the time that networks may take

    @classmethod
    def from_noisy(cls, rows, validation, shape):
        """The task with noisy rows alone."""
        return cls(rows, validation, GaussianNoise(noise_level(rows, shape).sigma), shape, blind=True)

    @property
    def training(self):
        """The rows that are not validation rows."""
        return np.delete(self.train, self.validation, axis=0)

    @cached_property
    def sigma(self):
        """The standard deviation of the noise; for laws other than Gaussian the root mean square of the change."""
        if isinstance(self.noise, GaussianNoise) and self.noise.clip is None:
            return float(self.noise.sigma)
        return float(np.sqrt(np.square(self.noise(self.train, np.random.default_rng(0)) - self.train).mean()))

    def corrupted(self, rows, seed=0):
        """Copies of clean rows with noise, about ``COPIES`` in all, and the rows that they are copies of."""
        again = np.tile(rows, (max(1, round(COPIES / len(rows))), 1))
        return self.noise(again, np.random.default_rng(seed)), again

    def risk(self, denoise: Denoise) -> float:
        """The mean squared error of an entry on rows set aside, or Stein's estimate of it."""
        rows, rng = self.train[self.validation[:: -(-len(self.validation) // N_VALIDATION)]], np.random.default_rng(77)
        if not self.blind:
            return float(np.square(denoise(self.noise(rows, rng)) - rows).mean())
        question = Sure(self.sigma).ask(rows, rng)
        return float(question.evaluate(denoise(question.rows)).mean())

    def best(self, make: Callable[..., Denoise], settings) -> Denoise:
        """``make(rows, *setting)`` with the setting of least error, on all rows."""
        rows, settings = self.training, list(settings)
        chosen = settings[0]
        if len(settings) > 1:
            chosen = min(settings, key=lambda setting: self.risk(make(rows, *setting)))
        return make(self.train, *chosen)


def linear_pca(task):
    axes = {}

    def make(rows, n_components):
        mean = rows.mean(axis=0)
        if len(rows) not in axes:
            axes[len(rows)] = np.linalg.svd(rows - mean, full_matrices=False)[2]
        kept = axes[len(rows)][:n_components]
        return lambda noisy: mean + (noisy - mean) @ kept.T @ kept

    most = min(task.training.shape)
    return task.best(make, [(q,) for q in sorted({int(q) for q in np.geomspace(1, most, 40)})])


def wiener(task):
    """The best linear map: in closed form for Gaussian noise, from corrupted copies for other laws."""
    mean = task.train.mean(axis=0)
    covariance = np.cov(task.train.T, dtype=float)
    if task.blind or task.sigma == getattr(task.noise, "sigma", None):
        total = covariance + (0 if task.blind else task.sigma**2) * np.eye(len(covariance))
        signal = _nonnegative(covariance - task.sigma**2 * np.eye(len(covariance))) if task.blind else covariance
        noisy_mean = mean
    else:
        noisy, clean = task.corrupted(np.tile(task.train, (4, 1)))
        noisy_mean = noisy.mean(axis=0)
        total = (noisy - noisy_mean).T @ (noisy - noisy_mean) / len(noisy)
        signal = (clean - mean).T @ (noisy - noisy_mean) / len(noisy)
    total = total + 1e-8 * np.trace(total) / len(total) * np.eye(len(total))
    weights = np.linalg.solve(total, signal.T)
    return lambda noisy: mean + (noisy - noisy_mean) @ weights


def scikit_kernel_pca(task):
    from sklearn.decomposition import KernelPCA as Scikit

    base = scales.length_scale(task.training, "mean")

    def make(rows, factor, n_components, alpha):
        gamma = 1 / (2 * (factor * base) ** 2)
        q = min(n_components, len(rows) - 1)
        model = Scikit(
            q,
            kernel="rbf",
            gamma=gamma,
            alpha=alpha,
            fit_inverse_transform=True,
            eigen_solver="randomized",
            random_state=0,
        ).fit(rows)
        return lambda noisy: model.inverse_transform(model.transform(noisy))

    return task.best(make, product(FACTORS, (32, 100, 256), (0.01, 0.1, 1.0)))


def kernel_pca(task, way_back):
    """Our kernel PCA; numbers of components share a decomposition."""
    base, most = scales.length_scale(task.training, "mean"), min(1000, len(task.training) - 1)
    fitted = {}

    def make(rows, factor, n_components):
        if (factor, len(rows)) not in fitted:
            kernel = Gaussian(factor * base)
            fitted[factor, len(rows)] = KernelPCA(most, kernel=kernel, preimage=way_back, random_state=0).fit(rows)
        model = fitted[factor, len(rows)]
        return model.truncate(min(n_components, model.n_components_)).denoise

    return task.best(make, product(FACTORS, sorted({min(q, most) for q in (8, 16, 32, 64, 128, 256, 500, 1000)})))


def learned(task):
    if task.blind:
        return None
    base = scales.length_scale(task.training, "mean")

    def make(rows, factor, n_components):
        way_back = Learned(noise=task.noise)
        q = min(n_components, len(rows) - 1)
        return KernelPCA(q, kernel=Gaussian(factor * base), preimage=way_back, random_state=0).fit(rows).denoise

    return task.best(make, product((1.0, 2**0.5, 8**0.5), (64, 200)))


def kernel_ridge(task):
    if task.blind:
        return None
    from sklearn.kernel_ridge import KernelRidge

    base = scales.length_scale(task.noise(task.training, np.random.default_rng(0)), "mean")

    def make(rows, factor, alpha):
        noisy, clean = task.corrupted(rows)
        mean, gamma = clean.mean(axis=0), 1 / (2 * (factor * base) ** 2)
        model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(noisy, clean - mean)
        return lambda rows: mean + model.predict(rows)

    return task.best(make, product((1.0, 2.0), (0.1, 0.5, 2.0)))


def neighbours(task):
    from sklearn.neighbors import KNeighborsRegressor

    def make(rows, k, weights):
        return KNeighborsRegressor(min(k, len(rows)), weights=weights).fit(rows, rows).predict

    return task.best(make, product((3, 5, 10, 20, 40), ("uniform", "distance")))


def mixture(task):
    """The posterior mean under a mixture of Gaussians; noise of another law is taken for Gaussian of its variance.

    Such noise may also shrink and shift the rows, y ≈ a x + b, which is undone first.
    """
    from sklearn.mixture import GaussianMixture

    slope, offset, sigma = _as_gaussian(task)
    variance = float(task.train.var(axis=0).mean())

    def make(rows, k, floor):
        found = GaussianMixture(k, reg_covar=floor * variance, max_iter=25, tol=1e-2, random_state=0).fit(rows)
        shift = 0 if task.blind else sigma**2
        spectra = [eigh(covariance + shift * np.eye(rows.shape[1])) for covariance in found.covariances_]
        return partial(_posterior_mean, found.weights_, found.means_, spectra, sigma)

    numbers = [k for k in (1, 3, 8, 20, 40) if 40 * k <= len(task.training)][-2:]
    return _quiet(task.best)(lambda *how: _compose(make(*how), slope, offset), product(numbers, (0.003, 0.03)))


def image_filter(task, name):
    """A filter of single images or signals; it knows nothing of the training rows but what settings suit them."""
    if not filters.installed(name):
        return None
    apply, settings = ROW_FILTERS[name] if len(task.shape) == 2 else ROW_FILTERS_1D.get(name, (None, ()))
    if apply is None or min(task.shape) < (filters.BLOCK + 1 if name == "BM3D" else 0):
        return None

    def make(rows, setting):
        return lambda noisy: np.stack(
            [apply(row.reshape(task.shape).astype(float), task.sigma, setting).ravel() for row in noisy]
        )

    return task.best(make, [(setting,) for setting in settings])


def network(task, kind, seconds):
    """A network, where torch is installed."""
    return kind(task, task.share * seconds) if find_spec("torch") else None


def denoiser(task):
    """Ours, with nothing set but what the task is."""
    if task.blind:
        return Denoiser(geometry=task.shape, random_state=0).fit(task.train).transform
    return Denoiser(examples="clean", noise=task.noise, geometry=task.shape, random_state=0).fit(task.train).transform


ROW_FILTERS = {
    "median": (filters.median, [3]),
    "NLM": (filters.nl_means, list(product((3, 5), (5,), (0.4, 0.7, 1.0)))),
    "TV": (filters.total_variation, [0.3, 0.5, 0.8, 1.2, 1.8]),
    "wavelets": (filters.wavelets, [("db1", *how, shifts) for how in filters.SHRINKING for shifts in (0, 1)]),
    "BM3D": (filters.bm3d, [1.0]),
}
ROW_FILTERS_1D = {
    "median": (filters.median, [3, 5, 7, 9]),
    "TV": ROW_FILTERS["TV"],
    "wavelets": (filters.wavelets, [("sym4", *how, shifts) for how in filters.SHRINKING for shifts in (0, 3)]),
}


def peers(seconds):
    """All of them by name; networks train for so many seconds of CPU time."""
    return {
        "noisy input": lambda task: lambda noisy: noisy,
        "linear PCA": linear_pca,
        "linear Wiener filter": wiener,
        "scikit-learn KernelPCA": scikit_kernel_pca,
        "KernelPCA, FixedPoint": partial(kernel_pca, way_back=FixedPoint()),
        "KernelPCA, Distance": partial(kernel_pca, way_back=Distance()),
        "KernelPCA, Learned(noise)": learned,
        "kernel ridge": kernel_ridge,
        "k nearest neighbours": neighbours,
        "Gaussian mixture": mixture,
        **{f"{name} filter" if name == "median" else name: partial(image_filter, name=name) for name in ROW_FILTERS},
        "MLP": partial(network, kind=networks.mlp, seconds=0.3 * seconds),
        "U-Net": partial(network, kind=networks.u_net, seconds=seconds),
        "Denoiser": denoiser,
    }


def _as_gaussian(task):
    """Slope, offset and standard deviation of the noise after them."""
    if task.blind or task.sigma == getattr(task.noise, "sigma", None):
        return 1.0, 0.0, task.sigma
    noisy, clean = task.corrupted(task.train)
    slope, offset = np.polyfit(clean.ravel(), noisy.ravel(), 1)
    return float(slope), float(offset), float(np.sqrt(np.square((noisy - offset) / slope - clean).mean()))


def _compose(denoise, slope, offset):
    return lambda noisy: denoise((noisy - offset) / slope)


def _posterior_mean(weights, means, spectra, sigma, noisy):
    """Σ wₖ(y) (μₖ + Σₖ (Σₖ + σ²I)⁻¹ (y − μₖ)) from the eigenpairs of Σₖ + σ²I."""
    logs, answers = [], []
    for weight, mean, (values, axes) in zip(weights, means, spectra, strict=True):
        values = np.maximum(values, 1e-9 * values[-1])
        inner = (noisy - mean) @ axes
        logs.append(np.log(weight) - 0.5 * (np.square(inner) / values).sum(axis=1) - 0.5 * np.log(values).sum())
        answers.append(mean + (inner * np.maximum(1 - sigma**2 / values, 0)) @ axes.T)
    share = np.exp(np.array(logs) - np.max(logs, axis=0))
    return np.einsum("kn,knd->nd", share / share.sum(axis=0), np.array(answers))


def _nonnegative(covariance):
    values, axes = np.linalg.eigh(covariance)
    return (axes * np.maximum(values, 0)) @ axes.T


def _quiet(function):
    """The function without scikit-learn's warnings that EM could go on."""

    def run(*arguments):
        import warnings

        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return function(*arguments)

    return run
