"""USPS denoising by Kwok & Tsang's protocol: every pre-image method and the baselines, mean SNR in dB.

One model per digit, 300 training and 100 test images each, pixels in [0, 1], noise clipped to that range,
Kwok & Tsang's bandwidth and, for kernel PCA, their oracle number of components: for each image the q that brings the
projection nearest to the clean image in feature space. Linear PCA has the same oracle in input space. The regression
methods are given the noise law; scikit-learn's and the plain kernel ridge regression choose their settings on the last
50 training images of a digit.

    python benchmarks/kwok_tsang.py [--seeds 3] [--test 100] [--json FILE] [--record]
"""

import argparse
import json
import time
import warnings

import numpy as np
from figures import record
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.kernel_ridge import KernelRidge

from preimage import decomposition
from preimage.datasets import load_usps
from preimage.exceptions import ConvergenceWarning
from preimage.kernels import Gaussian, scales
from preimage.noise import GaussianNoise, SaltAndPepper
from preimage.preimages import Conformal, ConvexCombination, Distance, FixedPoint, Gradient, Learned, OneStep
from preimage.statistics.metrics import snr
from preimage_papers.protocols import linear_oracle, oracle_codes

NOISES = {
    "G .25": GaussianNoise(0.25**0.5, clip=(0, 1)),
    "G .5": GaussianNoise(0.5**0.5, clip=(0, 1)),
    "SP .3": SaltAndPepper(0.3),
}
METHODS = {
    "Distance": Distance(),
    "Distance, as in the paper": Distance(reading="paper"),
    "FixedPoint": FixedPoint(),
    "Gradient": Gradient(),
    "OneStep": OneStep(),
    "ConvexCombination": ConvexCombination(),
    "Conformal": Conformal(),
}
ITERATIVE = ("FixedPoint", "Gradient")  # started at the noisy image
LEARNED_COMPONENTS = 64


def digit_sets(usps, digit, n_test):
    """300 training and ``n_test`` test images of a digit, the first of a fixed shuffle."""
    rng = np.random.default_rng(digit)
    rows = [rng.permutation(np.flatnonzero(part.y == digit)) for part in (usps.train, usps.test)]
    return usps.train.X[rows[0][:300]].astype(float), usps.test.X[rows[1][:n_test]].astype(float)


def kernel_pca(train, law):
    """Every pre-image method on the same projections; the learned ones by their own number of components."""
    model = decomposition.fit(Gaussian(scales.length_scale(train, "mean")), train)
    leading, rng = model.truncate(LEARNED_COMPONENTS), np.random.default_rng(0)
    ways = {name: method.prepare(model, rng) for name, method in METHODS.items()}
    learned = {
        "Learned, clean codes": Learned().prepare(leading, rng),
        "Learned, noise law given": Learned(noise=law, n_copies=6).prepare(leading, rng),
    }

    def denoise(noisy, clean):
        targets = model.expand(oracle_codes(model.codes(noisy), model.codes(clean)))
        starts = {name: noisy if name in ITERATIVE else None for name in ways}
        by_oracle = {name: way(targets, starts[name]).points for name, way in ways.items()}
        codes = leading.expand(leading.codes(noisy))
        return by_oracle | {name: way(codes).points for name, way in learned.items()}

    return denoise


def tuned(candidates, train, law, rng):
    """The candidate with the least error on held-out training images, fitted again on all of them."""
    fit, held = train[:250], train[250:]
    noisy = law(held, rng)
    errors = [np.mean((candidate(fit)(noisy) - held) ** 2) for candidate in candidates]
    return candidates[int(np.argmin(errors))](train)


def scikit_candidates(scale):
    """scikit-learn's KernelPCA with its own inverse, over bandwidth, components and ridge."""

    def build(gamma, q, alpha):
        def fit(train):
            model = ScikitKernelPCA(q, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True).fit(train)
            return lambda noisy: model.inverse_transform(model.transform(noisy))

        return fit

    gammas = [1 / (factor * 2 * scale**2) for factor in (1, 4, 16, 64)]
    return [build(g, q, a) for g in gammas for q in (8, 16, 32, 64) for a in (1e-3, 1e-2, 1e-1)]


def ridge_candidates(scale, law, copies=6):
    """Kernel ridge regression from noisy to clean pixels, no kernel PCA in it."""

    def build(gamma, alpha):
        def fit(train):
            rng = np.random.default_rng(1)
            noisy = np.concatenate([law(train, rng) for _ in range(copies)])
            mean = train.mean(axis=0)
            model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(noisy, np.tile(train - mean, (copies, 1)))
            return lambda rows: mean + model.predict(rows)

        return fit

    return [build(1 / (f * 2 * scale**2), a) for f in (1, 2, 4, 8) for a in (0.03, 0.1, 0.3, 1.0)]


def baselines(train, law):
    """What a user has without this library, and linear PCA with an oracle."""
    scale, rng = scales.length_scale(train, "mean"), np.random.default_rng(2)
    linear = linear_oracle(train)
    scikit = tuned(scikit_candidates(scale), train, law, rng)
    ridge = tuned(ridge_candidates(scale, law), train, law, rng)
    return lambda noisy, clean: {
        "noisy input": noisy,
        "linear PCA, oracle": linear(noisy, clean),
        "scikit-learn KernelPCA, tuned": scikit(noisy),
        "kernel ridge on pixels, tuned, noise law given": ridge(noisy),
    }


def run(seeds, n_test, digits):
    """SNR of every method under every noise: one list a seed, over the images of all digits."""
    usps, table = load_usps(), {}
    for noise, law in NOISES.items():
        for digit in digits:
            train, clean = digit_sets(usps, digit, n_test)
            others, ours = baselines(train, law), kernel_pca(train, law)
            for seed in range(seeds):
                noisy = law(clean, np.random.default_rng([seed, digit]))
                for name, denoised in (others(noisy, clean) | ours(noisy, clean)).items():
                    table.setdefault(name, {}).setdefault(noise, [[] for _ in range(seeds)])
                    table[name][noise][seed] += snr(clean, denoised).tolist()
    return {name: {noise: [float(np.mean(s)) for s in row[noise]] for noise in NOISES} for name, row in table.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--test", type=int, default=100, help="test images a digit")
    parser.add_argument("--digits", type=int, nargs="*", default=list(range(10)))
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    start = time.perf_counter()
    table = run(options.seeds, options.test, options.digits)
    print(f"{'mean SNR, dB':48}" + "".join(f"{noise:>16}" for noise in NOISES))
    for name, row in table.items():
        print(f"{name:48}" + "".join(f"{np.mean(row[n]):9.2f} ± {np.std(row[n]):.2f}" for n in NOISES))
    print(f"{options.seeds} noise seeds, {options.test} test images per digit, {time.perf_counter() - start:.0f} s")
    if options.record:
        columns = ["method", "Gaussian σ² = .25", "σ² = .5", "salt and pepper .3"]
        record(__file__, "snr", columns, [[m, *(f"{np.mean(row[n]):.2f}" for n in NOISES)] for m, row in table.items()])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=1)


if __name__ == "__main__":
    main()
