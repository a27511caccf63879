"""Tables with noise or missing values: ``KernelPCA`` by default, linear PCA and scikit-learn's IterativeImputer.

Columns are standardised by the training rows, 70 % of a table (of at most ``--rows`` of its rows, drawn at random). All
methods are fitted on these clean, complete rows and tested on the others, with noise of 0.3 and 0.5 standard deviations
or with 10 % and 30 % of the entries missing; means over several splits. Linear and kernel PCA choose their number of
components in the same way: three-fold cross-validation on the training rows, corrupted as the test rows are.

``--task number`` is the number of components that ``preimage fit`` keeps, those of 80 % of the variance, beside all of
them, 90 % and 50: errors of both tasks, and the area under the ROC curve with one class of digits left out at a time.

``--task few`` is the error of the default with 1, 2 and 5 components and those of cross-validation, divided by that of
the noisy rows themselves: no table and no number may make rows worse.

``--task blind`` is ``Denoiser`` with nothing set, on noisy rows alone in their own units, beside the linear Wiener
filter that is told every column's σ: mean squared errors in the columns' variances, and the root mean squared error
after, divided by before, of the worst column.

    python benchmarks/tables.py [--task denoise] [--seeds 3] [--rows 1200] [--json FILE] [--record]
"""

import argparse
import json
import warnings
from itertools import product

import numpy as np
from figures import record
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from preimage import Denoiser, KernelPCA
from preimage.datasets import load_mitbih, load_tennessee_eastman, load_usps
from preimage.exceptions import NoiseLevelWarning, NothingFilteredWarning

TABLES = ("diabetes", "breast_cancer", "wine", "iris", "digits", "usps")
NEW = ("friedman", "swiss_roll", "tennessee", "ecg")  # met only after the methods had been settled
NOISES, RATES = (0.3, 0.5), (0.1, 0.3)
FEW, LOW = (1, 2, 5), 0.1  # numbers of components, and a noise level besides
NUMBERS = (2, 3, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def load(name, n_rows):
    """Rows of a table."""
    X = LOADERS[name]() if name in LOADERS else getattr(datasets, f"load_{name}")().data
    return X[np.random.default_rng(0).permutation(len(X))[:n_rows]]


def friedman():
    """Ten independent columns and a curved function of five of them."""
    X, y = datasets.make_friedman1(1500, random_state=0)
    return np.column_stack([X, y])


def swiss_roll():
    """A curved surface of two dimensions, turned into 20 columns."""
    X, _ = datasets.make_swiss_roll(1500, noise=0.1, random_state=0)
    return X @ np.random.default_rng(0).standard_normal((3, 20))


def tennessee():
    """Measurements of a chemical plant in normal operation."""
    runs = load_tennessee_eastman()
    return np.concatenate([runs.train.normal, runs.test.normal]).astype(float)


LOADERS = {
    "usps": lambda: load_usps().train.X.astype(float),
    "friedman": friedman,
    "swiss_roll": swiss_roll,
    "tennessee": tennessee,
    "ecg": lambda: load_mitbih().X.astype(float),
    "independent": lambda: independent(),
    "heavy_tailed": lambda: heavy_tailed(),
}


def split(X, seed):
    """Training and test rows, standardised by the training rows; without the columns that are constant in them."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = X[order[: int(0.7 * len(X))]], X[order[int(0.7 * len(X)) :]]
    scale = train.std(axis=0)
    varies = scale > 0
    return tuple((part[:, varies] - train[:, varies].mean(axis=0)) / scale[varies] for part in (train, test))


def error(answers, clean, where=True):
    """Root mean squared error of the entries."""
    return float(np.sqrt(np.mean(np.square(answers - clean), where=where)))


def linear_answers(train, noisy, largest):
    """Linear PCA's reconstructions, by number of components up to all columns."""
    pca = PCA().fit(train)
    codes = pca.transform(noisy)
    for q in range(1, len(pca.components_) + 1):
        yield q, pca.mean_ + codes[:, :q] @ pca.components_[:q]


def kernel_answers(train, noisy, largest):
    """Kernel PCA's answers with default settings, by number of components."""
    numbers = [q for q in NUMBERS if q <= largest]
    model = KernelPCA(numbers[-1], random_state=0).fit(train)
    for q in numbers:
        if q <= model.n_components_:
            yield q, model.truncate(q).denoise(noisy)


def choose_number(answers, train, sigma, seed, largest):
    """The number of components of least error in three-fold cross-validation."""
    rng, errors = np.random.default_rng(seed + 1000), {}
    for fit, held in KFold(3, shuffle=True, random_state=seed).split(train):
        clean = train[held]
        noisy = clean + sigma * rng.standard_normal(clean.shape)
        for q, answer in answers(train[fit], noisy, largest):
            errors.setdefault(q, []).append(np.mean(np.square(answer - clean)))
    complete = {q: np.mean(values) for q, values in errors.items() if len(values) == 3}
    return min(complete, key=complete.get)


def denoise(X, seed):
    """Errors of the noisy rows, linear PCA and kernel PCA at both noise levels."""
    train, clean = split(X, seed)
    largest = min(NUMBERS[-1], 2 * len(train) // 3 - 2)
    for sigma in NOISES:
        noisy = clean + sigma * np.random.default_rng(seed + 500).standard_normal(clean.shape)
        row = {"as it is": error(noisy, clean)}
        for name, answers in {"linear PCA": linear_answers, "KernelPCA": kernel_answers}.items():
            chosen = choose_number(answers, train, sigma, seed, largest)
            row[name] = error(dict(answers(train, noisy, largest))[chosen], clean)
        yield sigma, row


def iterative(train, gappy):
    """scikit-learn's answers, with the training rows and the gaps seen together: from complete rows alone it would take
    a single round."""
    together = IterativeImputer(random_state=0).fit_transform(np.concatenate([train, gappy]))
    return together[len(train) :]


def impute(X, seed):
    """Errors of the missing entries for column means, IterativeImputer and kernel PCA at both rates."""
    train, clean = split(X, seed)
    model = KernelPCA(min(100, len(train) // 2), random_state=0).fit(train)
    for rate in RATES:
        lost = np.random.default_rng(seed + 500).random(clean.shape) < rate
        lost[lost.all(axis=1), 0] = False
        gappy = np.where(lost, np.nan, clean)
        yield (
            rate,
            {
                "as it is": error(np.where(lost, 0, clean), clean, lost),
                "IterativeImputer": error(iterative(train, gappy), clean, lost),
                "KernelPCA": error(model.impute(gappy), clean, lost),
            },
        )


TASKS = {"denoise": denoise, "impute": impute}
IMPUTED = ["10 % missing: `IterativeImputer`", "`KernelPCA.impute`", "30 %: `IterativeImputer`", "`KernelPCA.impute`"]
NUMBER, OTHERS = 0.8, (None, 0.9, 50)  # what ``preimage fit`` keeps, and the rivals


def by_number(X, seed):
    """Errors of both tasks at both levels, by the number of components."""
    train, clean = split(X, seed)
    models = {number: KernelPCA(number, random_state=0).fit(train) for number in (NUMBER, *OTHERS)}
    rng = np.random.default_rng(seed + 500)
    for sigma in NOISES:
        noisy = clean + sigma * rng.standard_normal(clean.shape)
        yield f"denoise {sigma}", {number: error(model.denoise(noisy), clean) for number, model in models.items()}
    for rate in RATES:
        lost = rng.random(clean.shape) < rate
        lost[lost.all(axis=1), 0] = False
        gappy = np.where(lost, np.nan, clean)
        yield f"impute {rate}", {number: error(model.impute(gappy), clean, lost) for number, model in models.items()}


def left_out(seeds):
    """The mean area under the ROC curve over ten classes of digits, each left out in turn, by halves of the rows."""
    X, y = datasets.load_digits(return_X_y=True)
    areas = {number: [] for number in (NUMBER, *OTHERS)}
    for seed, digit, number in product(range(seeds), range(10), areas):
        train = np.random.default_rng(seed).permutation(len(X)) % 2 == 0
        model = KernelPCA(number, random_state=0).fit(X[train & (y != digit)])
        areas[number].append(roc_auc_score(y[~train] == digit, -model.score_samples(X[~train])))
    return {number: float(np.mean(values)) for number, values in areas.items()}


def independent():
    """Six columns that say nothing about each other."""
    return np.random.default_rng(5).standard_normal((600, 6))


def heavy_tailed():
    """Eight columns with rare large entries, mixed."""
    rng = np.random.default_rng(7)
    return rng.standard_t(3, (600, 8)) @ rng.standard_normal((8, 8))


def few(X, seed):
    """Errors of the default divided by those of the noisy rows, by noise level and number of components."""
    train, clean = split(X, seed)
    largest = min(NUMBERS[-1], 2 * len(train) // 3 - 2)
    models = {q: KernelPCA(q, random_state=0).fit(train) for q in FEW}
    for sigma in (LOW, *NOISES):
        noisy = clean + sigma * np.random.default_rng(seed + 500).standard_normal(clean.shape)
        chosen = choose_number(kernel_answers, train, sigma, seed, largest)
        answers = {q: model.denoise(noisy) for q, model in models.items()}
        answers["chosen"] = dict(kernel_answers(train, noisy, largest))[chosen]
        yield sigma, {q: error(answer, clean) / error(noisy, clean) for q, answer in answers.items()}


def report_few(tables, seeds, n_rows):
    """Print the ratios."""
    for name in tables:
        found = {}
        for seed in range(seeds):
            for sigma, row in few(load(name, n_rows), seed):
                found.setdefault(sigma, []).append(row)
        for sigma, rows in found.items():
            cells = "  ".join(f"{q} {np.mean([row[q] for row in rows]):.3f}" for q in rows[0])
            print(f"few      {name:14} {sigma:.1f}  {cells}", flush=True)


def report_numbers(tables, seeds, n_rows):
    """Print how far the default is behind the best of the others."""
    for name in tables:
        found = {}
        for seed in range(seeds):
            for label, row in by_number(load(name, n_rows), seed):
                found.setdefault(label, []).append(row)
        for label, rows in found.items():
            means = {number: np.mean([row[number] for row in rows]) for number in rows[0]}
            behind = means[NUMBER] / min(means[number] for number in OTHERS) - 1
            print(f"number   {name:14} {label:12} {100 * behind:+.1f} % error beside the best of {OTHERS}", flush=True)
    areas = left_out(seeds)
    behind = areas[NUMBER] / max(areas[number] for number in OTHERS) - 1
    print(f"number   digits         left out     {100 * behind:+.1f} % area, {areas[NUMBER]:.3f}", flush=True)


def sensors(rng, n=300):
    """Seven sensors of two causes, and noise of 0.4 standard deviations."""
    a, b = rng.uniform(0, 1, (2, n))
    columns = [
        15 + 12 * np.sin(3 * a),
        1013 + 8 * np.cos(4 * a) + 3 * b,
        0.4 + 0.3 * np.exp(-(((a - 0.5) / 0.2) ** 2)),
        2 + 1.5 * b**2,
        11 + 4 * a * b,
        1500 + 200 * np.tanh(4 * (a - 0.5)),
        7 + 0.6 * np.cos(6 * b),
    ]
    return np.column_stack(columns), np.full(7, 0.4)


def plant(rng, n=1000):
    """A record of seven sensors with units and noise of their own, driven by the load and the time of day."""
    load = np.cumsum(rng.standard_normal(n)) * 0.05
    load, day = np.tanh(load - load.mean()), np.sin(2 * np.pi * np.arange(n) / 240)
    columns = [350 + 40 * load, 8 + 2 * load**2, 1200 * (1 + 0.3 * load), 20 + 8 * day]
    columns += [0.8 + 0.1 * load * day, 50 + 5 * np.exp(load), 7 - 0.3 * day**2]
    return np.column_stack(columns), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.3, 0.2])


def pixels(rng):
    """Sixteen pixels of the digits, drawn at random, each with much that no other has, and noise of 0.3 deviations."""
    X = datasets.load_digits().data
    return X[:, rng.choice(np.flatnonzero(X.std(axis=0) > 1), 16, replace=False)], np.full(16, 0.3)


def wiener(noisy, sigma):
    """The linear filter x̂ = ȳ + (C − Σ)C⁻¹(y − ȳ), told the noise of every column."""
    mean, rows = noisy.mean(axis=0), (noisy - noisy.mean(axis=0)) / sigma
    values, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    return mean + sigma * (rows @ (axes * np.maximum(values - 1, 0) / values) @ axes.T)


def blind(name, seed):
    """Mean squared errors before, of the filter and of ours, in variances, and the worst column's ratio of errors."""
    rng = np.random.default_rng(seed)
    made = {"sensors": sensors, "plant": plant, "pixels": pixels}
    if name in made:
        clean, shares = made[name](rng)
    else:
        clean = getattr(datasets, f"load_{name}")().data
        shares = np.full(clean.shape[1], 0.5)
    deviation = clean.std(axis=0)
    sigma = shares * deviation
    noisy = clean + sigma * rng.standard_normal(clean.shape)
    answers = {
        "as it is": noisy,
        "Wiener, told": wiener(noisy, sigma),
        "Denoiser": Denoiser(random_state=0).fit_transform(noisy),
    }
    errors = {method: np.mean(np.square((rows - clean) / deviation), axis=0) for method, rows in answers.items()}
    worst = float(np.sqrt(errors["Denoiser"] / errors["as it is"]).max())
    return {method: float(error.mean()) for method, error in errors.items()}, worst


def report_blind(seeds):
    """Print the figures of all tables."""
    for name in ("sensors", "breast_cancer", "wine", "diabetes", "plant", "pixels"):
        found = [blind(name, seed) for seed in range(seeds)]
        means = {method: np.mean([row[method] for row, _ in found]) for method in found[0][0]}
        cells = "  ".join(f"{method} {value:.4f}" for method, value in means.items())
        worst, ratio = max(value for _, value in found), means["Denoiser"] / means["Wiener, told"]
        print(f"blind    {name:14} {cells}  ratio {ratio:.3f}  worst column {worst:.3f}", flush=True)


def keep(results):
    """The tables of the guides, of the tables that every task has."""
    named = {
        "denoise": ("denoising", ("as it is", "linear PCA", "KernelPCA"), 2 * ["noise", "linear PCA", "`KernelPCA`"]),
        "impute": ("missing", ("IterativeImputer", "KernelPCA"), IMPUTED),
    }
    for task, (title, methods, columns) in named.items():
        rows = {}
        for found in results:
            if found["task"] == task and found["table"] in TABLES:
                name = {"usps": "USPS"}.get(found["table"], found["table"].replace("_", " "))
                rows.setdefault(name, []).extend(f"{found[method]:.3f}" for method in methods)
        if rows:
            record(__file__, title, ["table", *columns], [[name, *cells] for name, cells in rows.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=[*TASKS, "few", "blind", "number"], help="one of the five")
    parser.add_argument("--tables", nargs="*", default=[*TABLES, *NEW])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", NothingFilteredWarning)
    if options.task in (None, "blind"):
        warnings.simplefilter("ignore", NoiseLevelWarning)
        report_blind(options.seeds)
    if options.task in (None, "few"):
        report_few([*options.tables, "independent", "heavy_tailed"], options.seeds, options.rows)
    if options.task in (None, "number"):
        report_numbers(options.tables, options.seeds, options.rows)
    results = []
    for task in [] if options.task in ("few", "blind", "number") else [options.task] if options.task else TASKS:
        for name in options.tables:
            X, levels = load(name, options.rows), {}
            for seed in range(options.seeds):
                for level, row in TASKS[task](X, seed):
                    levels.setdefault(level, []).append(row)
            for level, rows in levels.items():
                means = {method: float(np.mean([row[method] for row in rows])) for method in rows[0]}
                _, rival, ours = means.values()
                cells = "  ".join(f"{method} {value:.4f}" for method, value in means.items())
                print(f"{task:8} {name:14} {level:.1f}  {cells}  ratio {ours / rival:.3f}", flush=True)
                results.append({"task": task, "table": name, "level": level, **means, "ratio": ours / rival})
    if options.record:
        keep(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
