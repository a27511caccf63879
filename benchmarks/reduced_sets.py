"""What compression costs and gains, on USPS digits in one run.

Kernel PCA of 3000 digits with 32 components, compressed to 300 points: the relative error of the codes of the 2007 test
digits, and the time of ``transform`` before and after. An SVC on all 7291 digits, tuned by cross-validation, compressed
to a tenth of its support vectors: test accuracy, and the time of prediction compared with ``SVC.predict`` and with its
own uncompressed expansion. Times are the best of several alternating repeats.

    python benchmarks/reduced_sets.py [--repeats 30] [--json FILE] [--record] [--picture FILE]
"""

import argparse
import json
import time

import numpy as np
from figures import record
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from preimage import KernelPCA
from preimage.datasets import load_usps
from preimage.reduced import Greedy, Selected, machines

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
GRID = {"C": [1, 10, 100], "gamma": [0.01, 0.02, 0.04, 0.08]}


def best_of(tasks, repeats):
    """The shortest time of every task, the tasks taking turns."""
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def kernel_pca(usps, repeats):
    """Codes and times of a compressed kernel PCA."""
    train, test = usps.train.X[:3000].astype(float), usps.test.X.astype(float)
    full = KernelPCA(32, random_state=0).fit(train)
    codes, report = full.transform(test), {}
    for method in (Selected(), Greedy()):
        start = time.perf_counter()
        small = full.compress(300, method=method)
        seconds = time.perf_counter() - start
        times = best_of({"full": lambda: full.transform(test), "small": lambda s=small: s.transform(test)}, repeats)
        error = np.linalg.norm(small.transform(test) - codes) / np.linalg.norm(codes)
        report[type(method).__name__] = {
            "feature_error": float(small.compression_errors_[-1]),
            "code_error": float(error),
            "speedup": times["full"] / times["small"],
            "compression_seconds": seconds,
        }
    return report


def tuned_machine(usps):
    """An SVC with C and γ from threefold cross-validation on the training digits."""
    search = GridSearchCV(SVC(), GRID, cv=3).fit(usps.train.X.astype(float), usps.train.y)
    return search.best_estimator_, search.best_params_


def support_vectors(usps, repeats):
    """Accuracy against size, and times at a tenth of the support vectors."""
    test, truth = usps.test.X.astype(float), usps.test.y
    model, parameters = tuned_machine(usps)
    machine, size = machines.from_sklearn(model), len(model.support_)

    def accuracy(predictor):
        return float(np.mean(predictor.predict(test) == truth))

    curve, tenth = {}, None
    for method in (Selected(), Greedy()):
        name = type(method).__name__
        curve[name] = []
        for share in SHARES:
            small = machine.compress(round(share * size), method=method)
            curve[name].append([round(share * size), accuracy(small), float(small.errors[-1])])
            tenth = small if share == 0.1 else tenth
    assert tenth is not None
    times = best_of(
        {
            "SVC.predict": lambda: model.predict(test),
            "uncompressed": lambda: machine.predict(test),
            "compressed": lambda: tenth.predict(test),
        },
        repeats,
    )
    return {
        "parameters": parameters,
        "support_vectors": size,
        "points": tenth.expansion.points.shape[0],
        "accuracy": accuracy(model),
        "compressed_accuracy": accuracy(tenth),
        "speedup_over_SVC": times["SVC.predict"] / times["compressed"],
        "speedup_over_uncompressed": times["uncompressed"] / times["compressed"],
        "curve": curve,
    }


def draw(report, file):
    """Accuracy against the number of points."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.axhline(100 * report["accuracy"], color="0.5", lw=1, label=f"SVC, {report['support_vectors']} support vectors")
    for name, rows in report["curve"].items():
        sizes, accuracies, _ = zip(*rows, strict=True)
        axes.plot(sizes, 100 * np.array(accuracies), "o-", label=name)
    axes.set(xscale="log", xlabel="points", ylabel="test accuracy (%)", title="USPS digits: an SVC over fewer points")
    axes.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    axes.minorticks_off()
    axes.legend()
    figure.savefig(file, dpi=100)


def keep(report):
    """The tables of the page of results."""
    columns = ["kernel PCA, 3000 points, 32 components, to 300 points", "error of 2007 test codes"]
    rows = [
        [f"`{name}()`", f"{100 * row['code_error']:.1f} %", f"{row['speedup']:.1f}"]
        for name, row in report["kernel_pca"].items()
    ]
    record(__file__, "kernel PCA", [*columns, "`transform` faster by"], rows)
    svc = report["svc"]
    rows = [
        ["support vectors or points", str(svc["support_vectors"]), str(svc["points"])],
        ["test accuracy", *(f"{100 * svc[key]:.2f} %" for key in ("accuracy", "compressed_accuracy"))],
        ["time of `SVC.predict` over ours", "1", f"{svc['speedup_over_SVC']:.0f}"],
        ["time of our uncompressed expansion over ours", "", f"{svc['speedup_over_uncompressed']:.1f}"],
    ]
    record(__file__, "SVC", ["", "SVC", "compressed"], rows)
    curve = svc["curve"]
    sizes = [str(size) for size, *_ in next(iter(curve.values()))]
    rows = [[f"`{name}()`", *(f"{100 * right:.2f} %" for _, right, _ in row)] for name, row in curve.items()]
    record(__file__, "accuracy", ["points", *sizes], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    parser.add_argument("--picture", help="draw accuracy against size into this file")
    options = parser.parse_args()
    usps = load_usps()
    report = {"kernel_pca": kernel_pca(usps, options.repeats)}
    print("kernel PCA, 3000 points × 32 components to 300 points (asked: codes within 5 %, transform 8 × faster)")
    for name, row in report["kernel_pca"].items():
        print(f"  {name:10} codes {row['code_error']:6.2%}  transform {row['speedup']:5.1f} × faster")
    report["svc"] = svc = support_vectors(usps, options.repeats)
    print(f"SVC {svc['parameters']}, {svc['support_vectors']} support vectors to {svc['points']}")
    print(f"  accuracy {svc['accuracy']:.2%}, compressed {svc['compressed_accuracy']:.2%} (asked: within 0.3 points)")
    print(f"  {svc['speedup_over_SVC']:.1f} × faster than SVC.predict, {svc['speedup_over_uncompressed']:.1f} × than")
    print("  the uncompressed expansion (asked: 8 ×)")
    for name, rows in svc["curve"].items():
        print(f"  {name:10}" + "".join(f"  {size}: {accuracy:.2%}" for size, accuracy, _ in rows))
    if options.picture:
        draw(svc, options.picture)
    if options.record:
        keep(report)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
