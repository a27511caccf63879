"""How good the automatic choices of settings are.

    python benchmarks/selection.py [choice] [noise] [components] [speed] [--json FILE]

choice      settings chosen without clean data and with clean validation rows, and Stein's estimate compared with the
            true error over the whole grid
noise       the noise level estimated from noisy rows
components  parallel analysis on planted numbers of components, and its false positives
speed       the search compared with scikit-learn's GridSearchCV over the same grid
"""

import argparse
import json
import time
import warnings

import numpy as np
from figures import record
from sklearn.datasets import load_sample_images
from sklearn.decomposition import KernelPCA as ScikitKernelPCA
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.model_selection import GridSearchCV, ShuffleSplit

from preimage import KernelPCA
from preimage.datasets import load_mitbih, load_mnist, load_usps
from preimage.exceptions import PreimageWarning
from preimage.kernels import Gaussian, Linear, scales
from preimage.preimages import Distance, FixedPoint
from preimage.selection import noise_level, parallel_analysis, reconstruction_scorer, select
from preimage.statistics.metrics import snr
from preimage.statistics.risk import RiskQuery, Sure
from preimage_papers.protocols import load

PROTOCOLS = ("P1g25", "P1g50", "P3", "P4", "P5")
NUMBERS = [4, 8, 16, 32, 64, 128, 256]
FACTORS = [2.0 ** (k / 2) for k in range(6)]
TITLES = {"P1g25": "P1 σ = .25", "P1g50": "P1 σ = .5"}
LEVELS = (0.05, 0.1, 0.25, 0.5)
MANY = 1000


class Witness(Sure):
    """Stein's estimate that also keeps the true error, of which the search knows nothing, and itself for the true σ."""

    def __init__(self, sigma, true_sigma, truth):
        super().__init__(sigma)
        self.__dict__.update(true_sigma=true_sigma, truth=truth, seen={})

    def ask(self, Y, rng):
        clean, question = np.array([self.truth[row.tobytes()] for row in Y]), super().ask(Y, rng)

        def evaluate(answers):
            rows, answers = question.evaluate(answers), answers[: len(Y)]
            misfit = float(np.mean(np.square(answers - Y), dtype=float))
            exact = misfit + (self.true_sigma / self.sigma) ** 2 * (float(rows.mean()) - misfit)
            self.seen[float(rows.mean())] = float(np.mean(np.square(answers - clean), dtype=float)), exact
            return rows

        return RiskQuery(question.rows, evaluate)


def choice():
    """One line a protocol and method."""
    report = {}
    print(f"{'':24}{'SNR, settings chosen':>28}{'':10}| SURE and the true error, σ known")
    print(f"{'':24}{'with clean data':>16}{'without':>12}{'loss':>8}  | correlation, worst and median error")
    for name in PROTOCOLS:
        protocol = load(name)
        full = protocol.noisy_trains[0] if name == "P5" else protocol.train
        X, clean = full[protocol.fit], protocol.train[protocol.val]
        validation = full[protocol.val] if name == "P5" else protocol.noisy_val
        level = noise_level(full if name == "P5" else validation, protocol.shape)
        for method, kernels, way in _methods(X):
            grid = {"kernel": kernels, "n_components": NUMBERS, "preimage": [way]}
            table, true, exact = _evaluated(X, grid, validation, clean, level.sigma, protocol.noise.sigma)
            loss = [_on_test(table[k].params, full, protocol) for k in (int(np.argmin(true)), 0)]
            if (
                len(validation) < MANY // 2
            ):  # so few rows have a noise whose own energy is off by more than an error to be seen
                rng, times = np.random.default_rng(78), -(-MANY // len(validation))
                more, again = (
                    np.concatenate([protocol.noise(clean, rng) for _ in range(times)]),
                    np.tile(clean, (times, 1)),
                )
                _, true, exact = _evaluated(X, grid, more, again, level.sigma, protocol.noise.sigma)
            errors = np.abs(exact / true - 1)
            report[f"{name} {method}"] = row = {
                "sigma error": level.sigma / protocol.noise.sigma - 1,
                "dB with clean data": loss[0],
                "dB without": loss[1],
                "correlation": np.corrcoef(exact, true)[0, 1],
                "worst error": errors.max(),
                "median error": np.median(errors),
            }
            print(
                f"{name:8}{method:16}{loss[0]:13.2f} dB{loss[1]:9.2f} dB{loss[0] - loss[1]:8.2f}  | "
                f"{row['correlation']:8.4f} {row['worst error']:8.1%} {row['median error']:8.1%}"
                f"   (σ̂ off by {row['sigma error']:+.1%})",
                flush=True,
            )
    return report


def _methods(X):
    gaussians = [Gaussian(scales.length_scale(X, "mean") * factor) for factor in FACTORS]
    yield "linear PCA", [Linear()], FixedPoint()
    yield "fixed point", gaussians, FixedPoint()
    yield "distance", gaussians, Distance()


def _evaluated(X, grid, validation, clean, sigma, true_sigma):
    """The table, the true error of every setting, and what Stein's estimate would be for the true σ."""
    truth = {row.tobytes(): answer for row, answer in zip(validation, clean, strict=True)}
    witness = Witness(sigma, true_sigma, truth)
    table = select(X, grid=grid, noisy=validation, risk=witness, keep=1, random_state=0).table
    return table, *np.array([witness.seen[candidate.risk] for candidate in table]).T


def _on_test(params, X, protocol):
    model = KernelPCA(random_state=0).set_params(**params).fit(X)
    return float(snr(protocol.test, model.denoise(protocol.noisy_tests[0])).mean())


def noise():
    """One line a data set: relative errors for σ of 5, 10, 25 and 50 % of the data's range; P5 for its three draws."""
    P5 = load("P5")
    report = {"P5, three draws": [_noise_error(noisy, P5.shape, P5.noise.sigma) for noisy in P5.noisy_trains]}
    for name, (X, shape) in _noise_data().items():
        rng, sigmas = np.random.default_rng(0), [level * float(np.ptp(X)) for level in LEVELS]
        report[name] = [_noise_error(X + sigma * rng.standard_normal(X.shape), shape, sigma) for sigma in sigmas]
    for name, errors in report.items():
        print(f"{name:34}" + "  ".join(f"{error:+6.1%}" for error in errors))
    return report


def _noise_error(noisy, shape, sigma):
    return noise_level(noisy, shape).sigma / sigma - 1


def _noise_data():
    rng, mnist = np.random.default_rng(0), load_mnist().train.X
    data = {"MNIST, 3000 images": (mnist[rng.permutation(60000)[:3000]], (28, 28))}
    data["USPS, 3000 images"] = load_usps().train.X[:3000], (16, 16)
    for name, picture in zip(("china", "flower"), load_sample_images().images, strict=True):
        patches = extract_patches_2d(picture.mean(axis=2) / 255, (8, 8), max_patches=20000, random_state=0)
        data[f"{name}, 20000 patches 8 × 8"] = patches.reshape(20000, -1), (8, 8)
    beats = load_mitbih().X
    data["ECG, 2237 windows"] = beats, (288,)
    data["ECG, 200 windows"] = beats[:200], (288,)
    return {name: (X.astype(float), shape) for name, (X, shape) in data.items()}


def components():
    """Planted numbers over noise levels, and false positives."""
    rng, report = np.random.default_rng(0), {}
    for C in (2, 3, 5, 8):
        centres = rng.standard_normal((C, 20))
        rows = [centres[np.arange(400) % C] + sigma * rng.standard_normal((400, 20)) for sigma in (0.02, 0.1, 0.3, 0.5)]
        report[f"{C} clusters"] = [parallel_analysis(X, Gaussian()).n_components for X in rows]
    for r in (1, 3, 6):
        loadings = np.linalg.qr(rng.standard_normal((20, r)))[0].T * np.sqrt(20)
        rows = [rng.standard_normal((400, r)) @ loadings + s * rng.standard_normal((400, 20)) for s in (0.1, 0.5, 1, 2)]
        report[f"{r} linear factors"] = [parallel_analysis(X, Linear()).n_components for X in rows]
    for name, kernel in (("Gaussian", Gaussian()), ("linear", Linear())):
        found = [
            parallel_analysis(rng.standard_normal((50, 6)), kernel, random_state=t).n_components for t in range(500)
        ]
        report[f"share of 500 pure noises with a component, {name}"] = float(np.mean(np.array(found) > 0))
    for name, found in report.items():
        print(f"{name:58}{found}")
    return report


def speed():
    """The search's own grid of scales and numbers of components, both on one split of the rows, in one run."""
    X = load("P5").noisy_trains[0].astype(float)
    lengths = [scales.length_scale(X, "mean") * factor for factor in FACTORS]
    numbers = sorted({step for k in range(8) for step in (2**k, 3 * 2**k // 2)} | {256})
    scikit = GridSearchCV(
        ScikitKernelPCA(kernel="rbf", fit_inverse_transform=True, alpha=0.1),
        {"gamma": [1 / (2 * length**2) for length in lengths], "n_components": numbers},
        scoring=reconstruction_scorer,
        cv=ShuffleSplit(1, test_size=0.25, random_state=0),
    )
    grid = {"kernel__length_scale": lengths, "n_components": numbers, "preimage": [Distance()]}
    times = {
        "select": _seconds(lambda: select(X, grid=grid, shape=(16, 16), random_state=0)),
        "select, keep=1": _seconds(lambda: select(X, grid=grid, shape=(16, 16), keep=1, random_state=0)),
        "GridSearchCV": _seconds(lambda: scikit.fit(X)),
    }
    print(f"{len(lengths) * len(numbers)} settings on {X.shape[0]} × {X.shape[1]}")
    for name, seconds in times.items():
        print(f"{name:20}{seconds:8.1f} s   {times['GridSearchCV'] / seconds:6.1f} times in GridSearchCV's")
    return times


def _seconds(task):
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def keep(report):
    """The tables of the guide."""
    for part, table in TABLES.items():
        if part in report:
            record(__file__, part, *table(report[part]))


def _choice_table(found):
    columns = ["protocol and method", "with clean data", "without"]
    columns += ["SURE and true error: correlation", "worst error", "median"]
    rows = [
        [TITLES.get(name.split()[0], name.split()[0]) + ", " + name.split(" ", 1)[1]]
        + [f"{row[key]:.2f}" for key in ("dB with clean data", "dB without")]
        + [f"{row['correlation']:.4f}"]
        + [f"{100 * row[key]:.1f} %" for key in ("worst error", "median error")]
        for name, row in found.items()
    ]
    return columns, rows


def _noise_table(found):
    rows = [
        [name, *(f"{100 * e:+.1f} %".replace("-", "−") for e in row)] for name, row in found.items() if len(row) == 4
    ]
    return ["data", *(f"{100 * level:.0f} %" for level in LEVELS)], rows


def _components_table(found):
    rows = [[name, ", ".join(map(str, numbers))] for name, numbers in found.items() if isinstance(numbers, list)]
    shares = [[name, f"{100 * share:.1f} %"] for name, share in found.items() if isinstance(share, float)]
    return ["planted", "found"], rows + shares


def _speed_table(times):
    ratio = times["GridSearchCV"] / times["select"]
    rows = [[name, f"{seconds:.1f}"] for name, seconds in times.items()]
    return ["96 settings on 3000 × 256", "seconds"], [*rows, ["GridSearchCV over select", f"{ratio:.1f}"]]


TABLES = {"choice": _choice_table, "noise": _noise_table, "components": _components_table, "speed": _speed_table}


def main():
    parts = {"choice": choice, "noise": noise, "components": components, "speed": speed}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"any of {', '.join(parts)}; all by default")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    report = {}
    for name in options.parts or parts:
        print(f"\n{name}")
        report[name] = parts[name]()
    if options.record:
        keep(report)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
