"""A fit on a Dask cluster of this machine: speed-up, memory of the workers, size of the graph, and the cost model.

    python benchmarks/cluster.py [--only speedup graph model] [--rows 2000000] [--landmarks 1000] [--json FILE]
                                 [--record]

``speedup`` fits the same rows with one worker of one thread and with two; ``graph`` measures what is sent to the
scheduler for 1000 chunks; ``model`` fits the constants of docs/guides/scale.md by non-negative least squares to several
sizes and predicts one that was left out. Rows are made on the workers, chunk by chunk.
"""

import argparse
import json
import pickle
import time

import dask.array as da
import numpy as np
import scipy.optimize
from figures import record

from distributed import Client, LocalCluster
from preimage import KernelPCA
from preimage.distributed import cluster, fitting
from preimage.distributed.rows import Rows
from preimage.features import Nystrom
from preimage.features.landmarks import Uniform
from preimage.kernels import Gaussian

COLUMNS, CHUNK, COMPONENTS = 32, 20_000, 20
SPEEDUP, MEMORY, GRAPH = 1.7, 700e6, 1e6  # what must hold
SIZES = [
    (50_000, 500, 32),
    (100_000, 250, 32),
    (100_000, 250, 256),
    (100_000, 500, 32),
    (100_000, 500, 128),
    (100_000, 1000, 32),
    (100_000, 500, 256),
    (100_000, 1000, 128),
    (50_000, 1500, 32),
]
LEFT_OUT = (200_000, 1250, 64)
FAR = (10**9, 1000, 100)


def chunk(block, block_id=None, d=COLUMNS):
    """Rows near a curved surface, the same for a chunk wherever it is made."""
    rng = np.random.default_rng(block_id[0])
    hidden = rng.standard_normal((len(block), 4))
    turns = np.random.default_rng(1).standard_normal((4, d))
    return np.sin(hidden @ turns) + 0.1 * rng.standard_normal((len(block), d))


def rows(n, d=COLUMNS, size=CHUNK):
    seeds = da.zeros((n, 1), chunks=(size, 1))
    return seeds.map_blocks(chunk, d=d, chunks=(seeds.chunks[0], (d,)), dtype=float, meta=np.empty((0, 0)))


def peak(dask_worker):
    """The most memory that a worker has held, in bytes."""
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def cpu(dask_worker):
    return time.process_time()


def sent(dask_worker):
    """Bytes that a worker has given to others."""
    return dask_worker.transfer_outgoing_bytes_total


def on(n_workers):
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, memory_limit="2GB"
    )


def timed_fit(n_workers, X, m, **options):
    with on(n_workers) as local, Client(local) as client:
        client.run(peak)
        KernelPCA(2, kernel=Gaussian(1.0), approximation=20, random_state=0).fit(rows(4000, size=1000))  # imports
        before, start = sum(client.run(cpu).values()), time.perf_counter()
        model = KernelPCA(COMPONENTS, approximation=Nystrom(m, **options), random_state=0).fit(X)
        seconds = time.perf_counter() - start
        return {
            "workers": n_workers,
            "seconds": seconds,
            "cpu": sum(client.run(cpu).values()) - before,
            "peak": max(client.run(peak).values()),
            "sent": sum(client.run(sent).values()),
            "well": bool(model.decomposition_.features.turned_late),
            "first": float(model.eigenvalues_[0]),
            "last": float(model.eigenvalues_[-1]),
        }


def speedup(arguments):
    X = rows(arguments.rows)
    one, two = (timed_fit(workers, X, arguments.landmarks) for workers in (1, 2))
    for run in (one, two):
        print(
            f"{run['workers']} worker(s): {run['seconds']:.1f} s, processor {run['cpu']:.1f} s "
            f"({run['cpu'] / run['seconds'] / run['workers']:.0%} of a core each, less than 90% where others used it), "
            f"at most {run['peak'] / 1e6:.0f} MB per worker, {run['sent'] / 1e6:.0f} MB between workers"
        )
    ratio, same = one["seconds"] / two["seconds"], abs(one["last"] / two["last"] - 1)
    print(f"speed-up {ratio:.2f} (must be at least {SPEEDUP}); last eigenvalue differs by {same:.1e}")
    print(f"memory {max(one['peak'], two['peak']) / 1e6:.0f} MB (must be below {MEMORY / 1e6:.0f} MB)")
    if arguments.record:
        runs = [[f"{run['workers']}", f"{run['seconds']:.1f}", f"{run['peak'] / 1e6:.0f}"] for run in (one, two)]
        record(__file__, "speedup", ["workers of one thread", "seconds", "MB per worker, at most"], runs)
    return {"one": one, "two": two, "speedup": ratio}


def graph(arguments):
    """The tasks of a fit's pass over 1000 chunks, pickled as they are sent."""
    X = Rows.of(rows(1000 * CHUNK))
    part = cluster.tree(X.map(fitting._part, job=cluster.once(None)), fitting._sum)
    tasks = dict(part.__dask_graph__())
    size = len(pickle.dumps(tasks))
    print(f"graph of 1000 chunks: {len(tasks)} tasks, {size / 1e6:.2f} MB (must be below {GRAPH / 1e6:.0f} MB)")
    return {"tasks": len(tasks), "bytes": size}


TERMS = (
    "fixed cost of a fit",
    "to make (or read) a number",
    "a kernel value, n m of them",
    "a column of a distance, n m d of them",
    "a product, n m² of them, three times as many where K_ZZ is ill conditioned",
)


def terms(n, m, d, well):
    """What workers do: begin, make or read numbers, kernel values, their distances, and the products of m columns.

    Products are n m² for the moments, and 2 n m² more where the landmarks' kernel matrix is not well conditioned.
    """
    return np.array([1, n * d, n * m, n * m * d, n * m * m * (1 if well else 3)], dtype=float)


def model(arguments):
    found = {}
    for size in (*SIZES, LEFT_OUT):
        n, m, d = size
        run = timed_fit(1, rows(n, d, size=10_000), m, sampler=Uniform())
        found[size] = run["cpu"], run["well"]
        words = "well" if run["well"] else "ill"
        print(f"n={n} m={m} d={d}, {words} conditioned: {run['seconds']:.1f} s, processor {run['cpu']:.2f} s")
    A, t = np.array([terms(*size, found[size][1]) for size in SIZES]), np.array([found[size][0] for size in SIZES])
    constants, _ = scipy.optimize.nnls(A / t[:, None], np.ones(len(t)))  # relative errors
    worst = np.abs(A @ constants / t - 1).max()
    measured, well = found[LEFT_OUT]
    predicted, far = (float(terms(*size) @ constants) for size in ((*LEFT_OUT, well), (*FAR, True)))
    costs = [f"{constants[0]:.2g} s", *(f"{1e9 * constant:.2g}" for constant in constants[1:])]
    print("nanoseconds: " + ", ".join(f"{name} {cost}" for name, cost in zip(TERMS, costs, strict=True)))
    if arguments.record:
        begin, *others = zip(TERMS, costs, strict=True)
        record(__file__, "model", ["", "nanoseconds"], [*others, begin])
        n, m, d = LEFT_OUT
        check = [[f"{n:,} × {d}, m = {m}".replace(",", " "), f"{predicted:.1f} s", f"{measured:.1f} s"]]
        record(__file__, "check", ["a size outside the fit", "predicted", "measured"], check)
    print(f"fitted within {worst:.0%}; left out {LEFT_OUT}: {predicted:.1f} s predicted, {measured:.1f} s measured")
    print(f"{FAR}: {far / 3600:.1f} core hours, {far / 100 / 60:.0f} minutes on 100 workers of one thread")
    return {"constants": constants.tolist(), "predicted": predicted, "measured": measured, "far_seconds": far}


SECTIONS = {"graph": graph, "speedup": speedup, "model": model}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--landmarks", type=int, default=1000)
    parser.add_argument("--json")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    arguments = parser.parse_args()
    results = {name: SECTIONS[name](arguments) for name in arguments.only}
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
