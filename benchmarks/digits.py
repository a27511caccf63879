"""Digits denoised by every method, each with tuned settings: the tables of the README and the settings of the demo.

    python benchmarks/digits.py [--seed 0] [--json] [--record]

Clean examples: 1000 clean digits to train on, 200 noisy ones (σ = 0.3) to test on. Linear PCA and scikit-learn's
KernelPCA have the settings with the least true error on 200 validation digits. Ours have the least Stein estimate on
the same digits with noise, which needs no clean one; methods of one kind share settings. `Learned` and `Denoiser` are
not tuned.

Noisy only: 800 noisy digits, the 200 tested ones among them. Linear PCA and scikit-learn's KernelPCA have the settings
with the least true error on the tested digits, which no user could know; `select` and `Denoiser` have their defaults.
"""

import argparse
import json
from itertools import product

import numpy as np
from figures import record

from preimage import Denoiser, KernelPCA
from preimage.datasets import load_digits
from preimage.demo.digits import (
    N_TEST,
    N_TRAIN,
    QUICK,
    SHAPE,
    SIGMA,
    NoisyDigits,
    kernel_pca,
    linear_pca,
    measured,
    scikit_pca,
)
from preimage.kernels import scales
from preimage.noise import GaussianNoise
from preimage.preimages import Conformal, ConvexCombination, Distance, FixedPoint, Gradient, Learned, OneStep
from preimage.selection import select

N_HELD = 200  # digits that settings are chosen on
FACTORS = (1.0, 2**0.5, 2.0, 2**1.5)  # of Kwok & Tsang's length scale, as `select` takes them by default
COMPONENTS = [16, 32, 64, 128, 256]
LINEAR = [(q,) for q in range(4, 33)]
SCIKIT = list(product((16, 32, 64), (0.3, 1.0), (0.1, 1.0)))  # components, γ · d · variance, ridge
OURS = [  # name, method, and the method whose search chose the settings
    ("fixed point (Mika et al. 1998)", FixedPoint(), FixedPoint),
    ("descent on the same distance", Gradient(), FixedPoint),
    ("distances (Kwok & Tsang 2003)", Distance(), Distance),
    ("mixture of neighbours (Zheng et al. 2010)", ConvexCombination(), Distance),
    ("one step (Rathi et al. 2006)", OneStep(), OneStep),
    ("conformal (Honeine & Richard 2011)", Conformal(), Conformal),
]


def held_out(seed):
    """Digits that are neither trained nor tested on, clean and noisy."""
    images = load_digits().X
    order = np.random.default_rng(seed).permutation(len(images))
    clean = images[order[N_TRAIN + N_TEST :][:N_HELD]]
    return clean, GaussianNoise(SIGMA)(clean, np.random.default_rng(seed + 2))


def search(digits, noisy):
    """Scale and components for four pre-image methods, by Stein's estimate on noisy digits."""
    scale = scales.length_scale(digits.train, "mean")
    grid = {
        "kernel__length_scale": [factor * scale for factor in FACTORS],
        "n_components": COMPONENTS,
        "preimage": [FixedPoint(), Distance(), OneStep(), Conformal()],
    }
    start = KernelPCA(random_state=0)
    return select(digits.train, estimator=start, grid=grid, noisy=noisy, sigma=SIGMA, keep=1, random_state=0).table


def least_error(attempt, settings, train, noisy, clean):
    """The setting of a baseline with the least true error."""
    return min(settings, key=lambda setting: np.square(attempt(train, noisy, *setting)[2]() - clean).mean())


def with_clean_examples(digits):
    """Attempts of all methods."""
    clean, noisy = held_out(digits.seed)
    yield "noisy input", "", lambda: digits.noisy
    for attempt, grid in ((linear_pca, LINEAR), (scikit_pca, SCIKIT)):
        yield attempt(digits.train, digits.noisy, *least_error(attempt, grid, digits.train, noisy, clean))
    table = search(digits, noisy)
    for name, method, kind in OURS:
        params = next(c.params for c in table if isinstance(c.params["preimage"], kind))
        yield kernel_pca(
            name, method, digits.train, digits.noisy, params["kernel__length_scale"], params["n_components"]
        )
    learned, median = Learned(noise=GaussianNoise(SIGMA), n_landmarks=700), scales.length_scale(digits.train, "median")
    yield kernel_pca("Learned, noise law given", learned, digits.train, digits.noisy, median, 64)
    model = Denoiser(examples="clean", noise=GaussianNoise(SIGMA), geometry=SHAPE, **QUICK, random_state=0)
    yield "Denoiser, noise law given", str(QUICK), lambda: model.fit(digits.train).transform(digits.noisy)


def with_noisy_only(digits):
    """Attempts without clean examples."""
    rows = digits.noisy_only
    yield "noisy input", "", lambda: digits.noisy
    for attempt, grid in ((linear_pca, LINEAR), (scikit_pca, SCIKIT)):
        yield attempt(rows, digits.noisy, *least_error(attempt, grid, rows, digits.noisy, digits.clean))
    yield "select", "defaults", lambda: select(rows, shape=SHAPE, random_state=0).best.denoise(digits.noisy)
    denoiser = Denoiser(geometry=SHAPE, random_state=0)
    yield "Denoiser", "defaults", lambda: denoiser.fit_transform(rows)[:N_TEST]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    digits = NoisyDigits.draw(options.seed)
    tables = {"with clean examples": with_clean_examples(digits), "with noisy digits only": with_noisy_only(digits)}
    found = {title: [measured(attempt, digits.clean) for attempt in attempts] for title, attempts in tables.items()}
    if options.record:
        for title, entries in found.items():
            record(__file__, title, ["", "SNR, dB"], [[entry.method, f"{entry.snr:.2f}"] for entry in entries])
    if options.json:
        rows = {t: [{k: v for k, v in vars(e).items() if k != "images"} for e in found[t]] for t in found}
        print(json.dumps(rows, indent=1))
        return
    for title, entries in found.items():
        print(f"\n| {title} | SNR, dB | seconds | settings |\n| --- | --- | --- | --- |")
        for entry in entries:
            print(f"| {entry.method} | {entry.snr:.2f} | {entry.seconds:.2f} | {entry.settings} |")


if __name__ == "__main__":
    main()
