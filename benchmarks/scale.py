"""Time, memory and accuracy of kernel PCA and its peers against the number of rows.

    python benchmarks/scale.py [--only exact solvers transform landmarks growth] [--full] [--json FILE] [--plot FILE]

Times are the best of five, alternating between the methods in one process, with warm memory (``seconds``) or cold
memory (``untouched``: a host may have reclaimed what was not used); memory is the rise of the peak in a fresh
process (Linux). ``--full`` adds MNIST 60 000 exact (minutes) and a million rows from a file. Peers that are not
installed are skipped with a note. MNIST and USPS are found as `preimage.datasets` finds them.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from figures import record

from preimage import KernelPCA, decomposition
from preimage.datasets import load_mnist, load_usps
from preimage.eigen import BlockKrylov, CertifiedLanczos, Dense, Lanczos
from preimage.exceptions import PreimageWarning
from preimage.features import Nystrom
from preimage.features.landmarks import RPCholesky, Uniform
from preimage.kernels import Gaussian
from preimage.kernels.scales import length_scale

K = 32
SCALE = 7.25  # the median rule's length scale of 10 000 MNIST digits
GAMMA = 1 / (2 * SCALE**2)
LANDMARKS = 1000


# The methods: a function of rows that returns a fitted model


def ours(approximation=None, **settings):
    solver = BlockKrylov(**settings) if settings else "auto"
    return lambda X: KernelPCA(
        K, kernel=Gaussian(SCALE), approximation=approximation, solver=solver, random_state=0
    ).fit(X)


def scikit(solver):
    from sklearn.decomposition import KernelPCA as Scikit

    return lambda X: Scikit(K, kernel="rbf", gamma=GAMMA, eigen_solver=solver, random_state=0).fit(X)


def scikit_nystroem(gamma=GAMMA):
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    return lambda X: make_pipeline(Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0), PCA(K)).fit(X)


def nystrompca():
    from nystrompca import NystromKPCA

    return lambda X: NystromKPCA(n_components=K, m_subset=LANDMARKS, kernel="rbf", sigma=SCALE, seed=0).fit_transform(X)


def keops():
    from pykeops.numpy import LazyTensor
    from scipy.sparse.linalg import LinearOperator, eigsh

    def fit(X):
        rows = np.ascontiguousarray(X)
        K_lazy = (-GAMMA * ((LazyTensor(rows[:, None]) - LazyTensor(rows[None])) ** 2).sum(-1)).exp()
        centred = LinearOperator((len(X),) * 2, dtype=X.dtype, matvec=lambda v: _centre(K_lazy @ _centre(v)))
        return eigsh(centred, K)

    fit(np.random.default_rng(0).random((2 * K, 784)))  # which compiles
    return fit


KPCA = """
suppressMessages(library(kernlab))
X <- matrix(readBin("{rows}", "double", {n} * {d}), {n}, {d}, byrow = TRUE)
cat(system.time(kpca(X, kernel = "rbfdot", kpar = list(sigma = {gamma}), features = {k}))[["elapsed"]])
"""


def kernlab_seconds(X):
    """Seconds of R's kernlab, without the time to start R and to read the rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.bin")
        X.tofile(path)
        script = KPCA.format(rows=path.as_posix(), n=len(X), d=X.shape[1], gamma=GAMMA, k=K)
        return float(subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True).stdout)


def has_kernlab():
    return (
        shutil.which("Rscript")
        and not subprocess.run(["Rscript", "-e", "library(kernlab)"], capture_output=True).returncode
    )


def _centre(v):
    return v - v.mean()


# Measurements


def race(methods, repeats=5, touched=True):
    """Best seconds of each function and its rows, taken in turns, and its last result; with warm or cold memory."""
    best, models = dict.fromkeys(methods, np.inf), {}
    for _ in range(repeats):
        for name, (fit, rows) in methods.items():
            if touched:
                touch_memory()
            start = time.perf_counter()
            models[name] = fit(rows)
            best[name] = min(best[name], time.perf_counter() - start)
    return best, models


def touch_memory(n_bytes=2 * 2**30):
    """Memory that the process takes next and need not wait for: a virtual machine's host takes back what lies idle."""
    np.empty(n_bytes, dtype=np.uint8).fill(0)


def in_fresh_process(task, *arguments):
    """What a task of this file prints, run by itself."""
    command = [sys.executable, __file__, "--task", task, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else f"exit {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def best_of(repeats, task, *arguments):
    """The fastest of several runs in fresh processes."""
    return min((in_fresh_process(task, *arguments) for _ in range(repeats)), key=lambda run: run.get("seconds", np.inf))


def measured(function):
    """Seconds, and the rise of the peak of resident memory in bytes, of one call."""
    touch_memory(2**30)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, start = _status("VmRSS"), time.perf_counter()
    result = function()
    return {"seconds": time.perf_counter() - start, "rise": _status("VmHWM") - before}, result


def _status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def mnist(n, dtype=float):
    images = load_mnist().train.X
    return pixels(images[np.random.default_rng(0).permutation(len(images))[: int(n)]], dtype)


def pixels(images, dtype=float):
    """Whole numbers over 255, as a user has them who divides pixels by 255."""
    return (np.rint(255.0 * images.astype(float)) / 255).astype(dtype)


def off_grid(X):
    """The same rows but for a noise far below a pixel where there is ink: no longer whole steps apart."""
    return X * (1 + 1e-9 * np.random.default_rng(0).standard_normal(X.shape))


def million(n, folder):
    """Rows of fifty clusters of unequal size (1/rank^1.5) in 32 dimensions in an .npy file, written by blocks."""
    path = Path(folder) / f"rows-{n}.npy"
    if not path.exists():
        rng = np.random.default_rng(0)
        centres, sizes = 2 * rng.standard_normal((50, 32)), 1 / np.arange(1, 51) ** 1.5
        rows = np.lib.format.open_memmap(path, "w+", dtype=float, shape=(n, 32))
        for first in range(0, n, 50_000):
            size = min(50_000, n - first)
            labels = rng.choice(50, size, p=sizes / sizes.sum())
            rows[first : first + size] = centres[labels] + rng.standard_normal((size, 32))
        rows.flush()
    return path


MILLION_SCALE = 8.0


# Tasks for fresh processes


def task_fit(n, dtype, storage):
    X = mnist(n, dtype)
    fit = scikit("arpack") if storage == "scikit" else ours(storage=storage)
    figures, model = measured(lambda: fit(X))
    if storage != "scikit":
        figures["residual"] = float((model.decomposition_.residuals / model.eigenvalues_[0]).max())
    return figures


def task_million(path):
    model = KernelPCA(K, kernel=Gaussian(MILLION_SCALE), approximation=LANDMARKS, random_state=0)
    figures, model = measured(lambda: model.fit(path))
    return figures | {"trace_error": model.trace_error_}


def task_million_scikit(path, n):
    X = np.load(path, mmap_mode="r")[: int(n)]
    figures, model = measured(lambda: scikit_nystroem(1 / (2 * MILLION_SCALE**2))(X))
    sample = X[np.random.default_rng(1).choice(len(X), 5000, replace=False)]
    return figures | {"trace_error": float(1 - np.square(model[0].transform(sample)).sum(axis=1).mean())}


TASKS = {"fit": task_fit, "million": task_million, "million-scikit": task_million_scikit}


# Sections


def exact(full):
    """MNIST 10 000: leading eigenpairs, exact."""
    X = mnist(10_000)
    single = X.astype(np.float32)
    methods = {
        "preimage float64": (ours(), X),
        "preimage float64, off the grid": (ours(), off_grid(X)),
        "preimage float32": (ours(), single),
        "scikit-learn arpack float64": (scikit("arpack"), X),
        "scikit-learn randomized float64": (scikit("randomized"), X),
        "scikit-learn arpack float32": (scikit("arpack"), single),
        "scikit-learn randomized float32": (scikit("randomized"), single),
    }
    best, models = race(methods)
    untouched, _ = race(methods, touched=False)
    reference = models["scikit-learn arpack float64"].eigenvalues_
    found = {}
    for name, seconds in best.items():
        error = float(np.max(np.abs(models[name].eigenvalues_ - reference) / reference))
        found[name] = {"seconds": seconds, "untouched": untouched[name], "eigenvalue_error": error}
    gram = 8 * 10_000**2
    for storage in ("memory", "recompute", "scikit"):
        figures = in_fresh_process("fit", 10_000, "float64", storage)
        found[f"memory: {storage}"] = figures | {"rise_in_8n2": figures.get("rise", np.nan) / gram}
    if full:
        found["MNIST 60 000 float32, recomputed"] = in_fresh_process("fit", 60_000, "float32", "recompute")
    return found


SOLVERS = {
    "certified": CertifiedLanczos(),
    "dense": Dense(),
    "block Krylov": BlockKrylov(tol=1e-10),
    "lanczos": Lanczos(),
}


def solvers(full):
    """Seconds of every eigensolver for k pairs of a stored matrix, on which the automatic choice rests."""
    found = {}
    for n, k in ((300, 4), (600, 30), (600, 100), (1000, 20), (1000, 100), (1000, 166), (2000, 40), (2000, 200)):
        X = mnist(n)
        methods = {
            name: (lambda X, solver=solver, k=k: decomposition.fit(Gaussian(SCALE), X, k, solver=solver), X)
            for name, solver in SOLVERS.items()
        }
        found[f"{n} rows, {k} pairs"] = race(methods)[0]
    return found


def transform(full):
    """10 000 new rows against 10 000 training rows."""
    X, new = mnist(10_000), pixels(load_mnist().test.X)
    mine, peer = ours()(X), scikit("arpack")(X)
    methods = {
        "preimage": (mine.transform, new),
        "preimage, off the grid": (mine.transform, off_grid(new)),
        "scikit-learn": (peer.transform, new),
    }
    best, codes = race(methods)
    untouched, _ = race(methods, touched=False)
    gap = np.abs(np.abs(codes["preimage"]) - np.abs(codes["scikit-learn"])).max()
    return {
        name: {"seconds": seconds, "untouched": untouched[name], "largest_gap": float(gap)}
        for name, seconds in best.items()
    }


def landmarks(full):
    """Relative trace error by sampler, mean over three seeds."""
    rng = np.random.default_rng(0)
    clusters = [10 * centre + 0.1 * rng.standard_normal((300, 3)) for centre in rng.standard_normal((9, 3))]
    data = {
        "clusters and outliers": (np.concatenate([*clusters, 60 * rng.standard_normal((60, 3))]), 2.0, 100),
        "USPS": (load_usps().train.X.astype(float), None, 500),
        "MNIST 10 000": (mnist(10_000), SCALE, 500),
    }
    found = {}
    for name, (X, scale, m) in data.items():
        kernel = Gaussian(scale or length_scale(X))
        for sampler in (Uniform(), RPCholesky()):
            errors = [trace_error(X, kernel, Nystrom(m, sampler), seed) for seed in range(3)]
            found[f"{name}, {m} landmarks, {type(sampler).__name__}"] = {"trace_error": float(np.mean(errors))}
    return found


def trace_error(X, kernel, approximation, seed):
    return KernelPCA(4, kernel=kernel, approximation=approximation, random_state=seed).fit(X).trace_error_


def growth(full):
    """Seconds against n on MNIST."""
    methods = {
        "preimage, exact": (timed(ours()), 20_000),
        "preimage, 1000 landmarks": (timed(ours(LANDMARKS)), 60_000),
        "scikit-learn arpack": (timed(scikit("arpack")), 20_000),
        "scikit-learn Nystroem + PCA": (timed(scikit_nystroem()), 60_000),
    }
    peers = {
        "nystrompca": (find_spec("nystrompca"), lambda: (timed(nystrompca(), 1), 5_000)),
        "KeOps + eigsh": (find_spec("pykeops"), lambda: (timed(keops(), 1), 2_000)),
        "kernlab (R)": (has_kernlab(), lambda: (kernlab_seconds, 2_000)),
    }
    for name, (installed, make) in peers.items():
        if installed:
            methods[name] = make()
        else:
            print(f"  {name}: not installed, skipped", file=sys.stderr)
    found: dict = {name: {} for name in methods}
    for n in (2_000, 5_000, 10_000, 20_000, 60_000):
        X = mnist(n)
        for name, (seconds, most) in methods.items():
            if n <= most and (n <= 10_000 or full):
                found[name][f"n={n}"] = seconds(X)
                print(f"  {name}, n={n}: {found[name][f'n={n}']:.3g} s", file=sys.stderr, flush=True)
    return found


def timed(fit, repeats=2):
    """Seconds of a fit as a function of its rows, the best of a few."""
    return lambda X: race({"fit": (fit, X)}, repeats)[0]["fit"]


def large(full):
    """A million rows × 32 from a file, 1000 landmarks."""
    if not full:
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in (100_000, 300_000, 1_000_000):
            found[f"preimage, n={n}"] = best_of(3, "million", million(n, folder))
        for n in (100_000, 300_000):
            found[f"scikit-learn Nystroem + PCA, n={n}"] = best_of(2, "million-scikit", million(n, folder), n)
    sizes = [n for n in (100_000, 300_000, 1_000_000) if "seconds" in found[f"preimage, n={n}"]]
    seconds = [found[f"preimage, n={n}"]["seconds"] for n in sizes]
    found["slope of log time against log n"] = {"slope": float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])}
    return found


SECTIONS = {
    "exact": exact,
    "solvers": solvers,
    "transform": transform,
    "landmarks": landmarks,
    "growth": growth,
    "large": large,
}


# Output


def machine():
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    packages = {name: __import__(name).__version__ for name in ("numpy", "scipy", "sklearn")}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version(), "load": load, **packages}


def show(results):
    for section, figures in results.items():
        print(f"\n{section}")
        for name, values in figures.items():
            values = values if isinstance(values, dict) else {"": values}
            line = "  ".join(f"{key} {_number(value)}" for key, value in values.items())
            print(f"  {name:44} {line}")


def _number(value, digits=4):
    return f"{value:.{digits}g}" if isinstance(value, float | int) else str(value)


def keep(results):
    """The tables of README and docs/results/benchmarks.md."""
    for name, table in TABLES.items():
        columns, rows = table(results)
        if rows:
            record(__file__, name, columns, rows)


def _titled(figures, *keys):
    """Rows of the methods whose title is known, with these of their figures."""
    return [[TITLES[name], *(_number(row[key], 3) for key in keys)] for name, row in figures.items() if name in TITLES]


def _exact_table(results):
    found = {name: row for name, row in results.get("exact", {}).items() if "eigenvalue_error" in row}
    errors = [f"{row['eigenvalue_error']:.0e}" if row["eigenvalue_error"] else "reference" for row in found.values()]
    rows = [[*row, error] for row, error in zip(_titled(found, "seconds", "untouched"), errors, strict=True)]
    return ["", "seconds, warm memory", "cold memory", "largest relative error of an eigenvalue"], rows


def _memory_table(results):
    found = {name: row for name, row in results.get("exact", {}).items() if name in MEMORY and "rise" in row}
    rows = [[MEMORY[name], f"{row['rise'] / 1e9:.2f} GB", f"{row['rise_in_8n2']:.2f}"] for name, row in found.items()]
    return ["memory, float64", "rise", "in units of 8n² bytes"], rows


def _transform_table(results):
    return ["", "seconds, warm memory", "cold memory"], _titled(results.get("transform", {}), "seconds", "untouched")


def _million_table(results):
    rows = [
        [TITLES[name.split(", n=")[0] + " of a file"], f"{int(name.split('=')[1]):,}".replace(",", " ")]
        + [f"{row['seconds']:.1f}", f"{row['rise'] / 1e9:.2g} GB", f"{row['trace_error']:.3f}"]
        for name, row in results.get("large", {}).items()
        if "seconds" in row
    ]
    return ["", "rows", "seconds", "memory rise", "relative trace error"], rows


def _landmarks_table(results):
    found = {}
    for name, row in results.get("landmarks", {}).items():
        data, _, sampler = name.rpartition(", ")
        found.setdefault(data, {})[sampler] = f"{row['trace_error']:.3g}"
    rows = [[data, row["Uniform"], row["RPCholesky"]] for data, row in found.items()]
    return ["data, landmarks", "`Uniform`", "`RPCholesky`"], rows


def _solvers_table(results):
    rows = [
        [name.replace(" rows", "").replace(" pairs", ""), *(f"{1000 * seconds:.0f}" for seconds in row.values())]
        for name, row in results.get("solvers", {}).items()
    ]
    return ["n, k", "`CertifiedLanczos`", "`Dense`", "`BlockKrylov`", "`Lanczos`"], rows


def _growth_table(results):
    found = results.get("growth", {})
    sizes = sorted({int(key[2:]) for row in found.values() for key in row})
    rows = [
        [TITLES.get(f"{name}, growth", name)] + [_number(row[f"n={n}"], 2) if f"n={n}" in row else "" for n in sizes]
        for name, row in found.items()
    ]
    return ["seconds, rows", *(f"{n:,}".replace(",", " ") if n >= 10_000 else str(n) for n in sizes)], rows


TABLES = {
    "exact": _exact_table,
    "memory": _memory_table,
    "transform": _transform_table,
    "million": _million_table,
    "landmarks": _landmarks_table,
    "solvers": _solvers_table,
    "growth": _growth_table,
}
TITLES = {  # names of the docs
    "preimage float64": "`KernelPCA(32)`, float64",
    "preimage float64, off the grid": "the same, rows off the grid",
    "preimage float32": "`KernelPCA(32)`, float32",
    "scikit-learn arpack float64": "scikit-learn, arpack, float64",
    "scikit-learn randomized float64": "scikit-learn, randomized, float64",
    "scikit-learn arpack float32": "scikit-learn, arpack, float32",
    "scikit-learn randomized float32": "scikit-learn, randomized, float32",
    "preimage": "`transform`",
    "preimage, off the grid": "the same, new rows off the grid",
    "scikit-learn": "scikit-learn",
    "preimage of a file": "`KernelPCA(32, approximation=1000)`",
    "scikit-learn Nystroem + PCA of a file": "scikit-learn `Nystroem` + `PCA`",
    "preimage, exact, growth": "`KernelPCA(32)`",
    "preimage, 1000 landmarks, growth": "`KernelPCA(32, approximation=1000)`",
    "scikit-learn arpack, growth": "scikit-learn `KernelPCA`, arpack",
    "scikit-learn Nystroem + PCA, growth": "scikit-learn `Nystroem` + `PCA`",
    "nystrompca, growth": "nystrompca, 1000 landmarks",
    "kernlab (R), growth": "kernlab `kpca` (R), exact",
    "KeOps + eigsh, growth": "KeOps + `eigsh`, on the processor",
}
MEMORY = {
    "memory: memory": "`KernelPCA(32)`, one triangle",
    "memory: recompute": '`BlockKrylov(storage="recompute")`',
    "memory: scikit": "scikit-learn, arpack",
}


def plot(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for name, points in results.get("growth", {}).items():
        axes.loglog([int(key[2:]) for key in points], list(points.values()), "o-", label=name)
    sizes = sorted({int(key[2:]) for points in results.get("growth", {}).values() for key in points})
    axes.set_xticks(sizes, [f"{size:,}".replace(",", " ") for size in sizes])
    axes.set_xticks([], minor=True)
    axes.set(xlabel="rows", ylabel="seconds", title=f"Kernel PCA of MNIST, {K} components")
    axes.grid(True, alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="sections to run")
    parser.add_argument("--full", action="store_true", help="with 60 000 rows exact and a million approximate")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw seconds against rows, log-log")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    if arguments.task:
        name, *rest = arguments.task
        print(json.dumps(TASKS[name](*rest)))
        return
    results = {"machine": machine()}
    for name in arguments.only or SECTIONS:
        results[name] = SECTIONS[name](arguments.full)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    show(results)
    if arguments.record:
        keep(results)
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
