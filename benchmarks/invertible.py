"""Invertible kernel PCA, kernel PCA with a learned inverse map and linear PCA, with the settings of Gedon et al. 2023.

* ``decode``: USPS digits 3 and 8, 30 components, σ = 0.3: a code decoded alone, and an input filtered with bypass;
* ``s-curve``: mean squared error against the number of components, for 50 and 500 features, over seeds;
* ``usps``: 1000 / 400 images, σ = 0.5, 30 000 features: error against the ridge, time and peak memory;
* ``ecg``: three recordings, 70 / 30 splits, every method and the constant mean beat;
* ``stack``: the S-curve by two such maps, one on the codes of the other.

    python benchmarks/invertible.py [decode] [s-curve] [usps] [ecg] [stack] [--seeds 20] [--json FILE]
                                    [--record]
"""

import argparse
import json
import resource
import time

import numpy as np
from figures import record

from preimage import InvertibleKernelPCA
from preimage.datasets import load_ecg, load_usps, s_curve
from preimage.invertible.activations import Sine
from preimage.kernels import Gaussian
from preimage.kernels.scales import length_scale
from preimage.statistics.metrics import mse, snr
from preimage_papers.gedon2023 import heartbeats
from preimage_papers.gedon2023.methods import invertible, linear, supervised


def decode(seeds):
    """SNR in dB of filtering and of decoding, on the same models, over bandwidths."""
    usps, table = load_usps(), {}
    for digit in (3, 8):
        train = usps.train.X[usps.train.y == digit][:300].astype(float)
        clean = usps.test.X[usps.test.y == digit][:100].astype(float)
        for rule, factor in (("median", 1.0), ("mean", 1.0), ("mean", 2.0), ("mean", 4.0)):
            kernel = Gaussian(factor * length_scale(train, rule))
            model = InvertibleKernelPCA(30, activation=Sine(kernel), n_features=4000, random_state=0).fit(train)
            scores = []
            for seed in range(min(seeds, 3)):
                noisy = clean + 0.3 * np.random.default_rng(seed).standard_normal(clean.shape)
                scores.append(
                    [
                        snr(clean, denoised).mean()
                        for denoised in (model.denoise(noisy), model.inverse_transform(model.transform(noisy)))
                    ]
                )
            filtered, decoded = np.mean(scores, axis=0)
            table[f"digit {digit}, {factor:g} × {rule}"] = {"filtered": filtered, "decoded": decoded}
    return table


def s_curves(seeds):
    """Mean squared error over seeds, at each number of components."""
    numbers, table = np.unique(np.linspace(2, 20, 10).astype(int)), {}
    for seed in range(seeds):
        train, test = (s_curve(2000, noise=0.25, random_state=[seed, part]) for part in (0, 1))
        for q in numbers:
            row = {
                "kernel PCA + ridge": mse(test.clean, supervised([q], 1.0, 1.0, train.X)[q](test.X)),
                "ikPCA, 50 features": mse(test.clean, invertible(q, 0.5, 50, 1.0, seed).fit(train.X).denoise(test.X)),
                "ikPCA, 500 features": mse(test.clean, invertible(q, 0.5, 500, 1.0, seed).fit(train.X).denoise(test.X)),
                "noisy points": mse(test.clean, test.X),
            }
            for name, value in row.items():
                table.setdefault(name, {}).setdefault(int(q), []).append(value)
    return {name: {q: float(np.mean(v)) for q, v in row.items()} for name, row in table.items()}


def usps_ridges(seeds):
    """The paper's USPS setting: error over ridges and components, with linear PCA and the learned inverse map."""
    usps, rng = load_usps(), np.random.default_rng(0)
    order, tests = rng.permutation(len(usps.train.X)), rng.permutation(len(usps.test.X))
    train = usps.train.X[order[:1000]].astype(float)
    clean = usps.test.X[tests[:400]].astype(float)
    train, noisy = train + 0.5 * rng.standard_normal(train.shape), clean + 0.5 * rng.standard_normal(clean.shape)
    numbers, ridges = (5, 10, 15, 20, 25), (0.0, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0)
    table = {"linear PCA": {q: mse(clean, f(noisy)) for q, f in linear(numbers, train).items()}}
    others = supervised(numbers, 5e-3, 1e-2, train)
    table["kernel PCA + ridge"] = {q: mse(clean, f(noisy)) for q, f in others.items()}
    start = time.perf_counter()
    for q in numbers:
        fitted = invertible(q, 1e-4, 30_000, 0.0, 0).fit(train)
        for ridge in ridges:
            table.setdefault(f"ikPCA, λ = {ridge:g}", {})[q] = mse(clean, fitted.map_.with_ridge(ridge).filter(noisy))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = time.perf_counter() - start
    table["seconds for the whole sweep, GB at peak"] = {"s": seconds, "GB": peak}
    return table


def chosen(train, seed):
    """Components, bandwidth and ridge with the least error on held-out training beats, against their mean."""
    cut = round(0.7 * len(train))
    fit, held = train[:cut], train[cut:]
    unit = 1 / (2 * length_scale(train, "mean") ** 2)
    models = [invertible(q, g * unit, 1024, 0.0, seed) for q in (1, 2, 4) for g in (1e-4, 1e-2, 0.1)]
    grid = []
    for model in models:
        fitted = model.fit(fit).map_
        size = np.square(fitted.weights).sum() / fitted.weights.shape[1]
        grid += [
            (mse(held.mean(axis=0), fitted.with_ridge(r * size).filter(held)), model, r)
            for r in (0.0, 0.1, 1, 10, 1000)
        ]
    _, model, ridge = min(grid, key=lambda entry: entry[0])
    fitted = model.fit(train).map_
    return fitted.with_ridge(ridge * np.square(fitted.weights).sum() / fitted.weights.shape[1]).filter


def ecg(seeds):
    """Mean and deviation over splits of the error against the mean test beat; published: PCA, kPCA + SL, ikPCA."""
    table = {}
    for name in "abc":
        X, errors = load_ecg(name).X, {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(X))
            cut = round(0.7 * len(X))
            train, test = X[order[:cut]], X[order[cut:]]
            truth = test.mean(axis=0)
            rebuilt = heartbeats.denoised(train, test, seed)
            rebuilt["ikPCA, chosen on held-out beats"] = chosen(train, seed)(test)
            for method, rows in rebuilt.items():
                errors.setdefault(method, []).append(mse(truth, rows))
        table[name] = {method: [float(np.mean(v)), float(np.std(v))] for method, v in errors.items()}
    return table


def two_layers(first, q, gamma, train, seed):
    """A second map on the codes of the first, undone before it; the first keeps ``first`` components."""
    outer = invertible(first, 0.5, 500, 1.0, seed).fit(train).map_
    codes = outer.codes(train)
    scale = length_scale(codes, "median")
    inner = invertible(q, gamma / (2 * scale**2), 500, 1.0, seed + 1000).fit(codes).map_
    return lambda X: outer.undo(inner.filter(outer.codes(X)), outer.activation.bypass(outer.arguments(X)))


def stack(seeds):
    """The S-curve by one layer and by two, each at its best number of components."""
    table = {}
    for seed in range(seeds):
        train, test = (s_curve(2000, noise=0.25, random_state=[seed, part]) for part in (0, 1))
        for q in (4, 6, 8, 10, 14):
            one = invertible(q, 0.5, 500, 1.0, seed).fit(train.X).denoise(test.X)
            table.setdefault("one layer", {}).setdefault(q, []).append(mse(test.clean, one))
            for first in (20, 60):
                for gamma in (0.1, 0.5):
                    two = two_layers(first, q, gamma, train.X, seed)(test.X)
                    name = f"two layers, {first} between, γ {gamma:g}"
                    table.setdefault(name, {}).setdefault(q, []).append(mse(test.clean, two))
    return {name: {q: float(np.mean(v)) for q, v in row.items()} for name, row in table.items()}


PARTS = {"decode": decode, "s-curve": s_curves, "usps": usps_ridges, "ecg": ecg, "stack": stack}


def show(table):
    for name, row in table.items():
        cells = "  ".join(
            f"{key}: " + (" ± ".join(f"{v:.3g}" for v in value) if isinstance(value, list) else f"{value:.4g}")
            for key, value in row.items()
        )
        print(f"  {name:32} {cells}")


def keep(report):
    """The tables of the guides: errors by the number of components, and the SNR of filtering and decoding."""
    for part in {"s-curve", "usps", "stack"} & report.keys():
        numbers = list(next(iter(report[part].values())))
        rows = [
            [name, *(f"{row[q]:.4f}" for q in numbers)] for name, row in report[part].items() if numbers[0] in row
        ]  # not the row of seconds
        record(__file__, part, ["components", *map(str, numbers)], rows)
    if "decode" in report:
        rows = [[f"{name} length scale", *(f"{v:.2f}" for v in row.values())] for name, row in report["decode"].items()]
        record(__file__, "decode", ["model", "filtered", "decoded"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    report = {}
    for part in options.parts or PARTS:
        start = time.perf_counter()
        report[part] = PARTS[part](options.seeds)
        print(f"{part} ({time.perf_counter() - start:.0f} s)", flush=True)
        show(report[part])
    if options.record:
        keep(report)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
