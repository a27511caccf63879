"""Peak memory of a fit and of a transform, ours and scikit-learn's, each in a fresh process.

    python benchmarks/memory.py [--json] [--rows 6000]

A fit is measured in units of 8n² bytes, one kernel matrix in float64; ours must stay within 1.3. A transform is
measured beyond its result and must stay within the budget, scikit-learn's ``working_memory``.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time

LIMIT = 1.3
BUDGET = 64  # MiB for transform
NEW_ROWS = 20_000
FEATURES, COMPONENTS = 64, 32
MIB = 2**20

FITS = {
    "preimage, solver chosen": {"ours": {}},
    "preimage, dense": {"ours": {"solver": "dense"}},
    "scikit-learn, arpack": {"theirs": {"eigen_solver": "arpack"}},
    "scikit-learn, dense": {"theirs": {"eigen_solver": "dense"}},
}
TRANSFORMS = {"preimage": {"ours": {}}, "scikit-learn": {"theirs": {"eigen_solver": "arpack"}}}


def status(field: str) -> int:
    """A field of this process's memory, in bytes."""
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def forget_peak() -> None:
    """Give freed memory back to the system, and let the peak start again at what is held now."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def make(case: dict):
    if "ours" in case:
        from preimage import KernelPCA
        from preimage.kernels import Gaussian

        return KernelPCA(COMPONENTS, kernel=Gaussian(8.0), random_state=0, **case["ours"])
    from sklearn.decomposition import KernelPCA

    return KernelPCA(COMPONENTS, kernel="rbf", gamma=1 / 128, random_state=0, **case["theirs"])


def warm_up(case: dict) -> None:
    """Load what is loaded at first use, so that only the work itself is measured."""
    import numpy as np

    small = np.random.default_rng(1).standard_normal((600, FEATURES))
    make(case).fit(small).transform(small)


def measure(work: str, case: dict, n: int) -> dict:
    """Rise of the peak and seconds, in this process."""
    import numpy as np
    import sklearn

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    warm_up(case)
    model = make(case)
    if work == "fit":
        forget_peak()
        before, start = status("VmRSS"), time.perf_counter()
        model.fit(X)
        return {"bytes": status("VmHWM") - before, "seconds": time.perf_counter() - start}
    model.fit(X)
    new = rng.standard_normal((NEW_ROWS, FEATURES))
    with sklearn.config_context(working_memory=BUDGET):
        forget_peak()
        before, start = status("VmRSS"), time.perf_counter()
        codes = model.transform(new)
        return {"bytes": status("VmHWM") - before - codes.nbytes, "seconds": time.perf_counter() - start}


def in_a_fresh_process(work: str, case: dict, n: int) -> dict:
    command = [sys.executable, __file__, "--rows", str(n), "--child", json.dumps([work, case])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n = arguments.rows
    if arguments.child:
        print(json.dumps(measure(*json.loads(arguments.child), n)))
        return 0
    fits = {name: in_a_fresh_process("fit", case, n) for name, case in FITS.items()}
    for figures in fits.values():
        figures["matrices"] = figures["bytes"] / (8 * n**2)
    transforms = {name: in_a_fresh_process("transform", case, n) for name, case in TRANSFORMS.items()}
    within = all(figures["matrices"] <= LIMIT for name, figures in fits.items() if name.startswith("preimage"))
    within &= transforms["preimage"]["bytes"] <= BUDGET * MIB
    if arguments.json:
        print(json.dumps({"rows": n, "fit": fits, "transform": transforms, "within_limits": within}, indent=2))
    else:
        show(n, fits, transforms)
    return 0 if within else 1


def show(n: int, fits: dict, transforms: dict) -> None:
    print(f"fit: {n} rows of {FEATURES}, {COMPONENTS} components, float64; ours must stay within {LIMIT} × 8n² bytes")
    for name, figures in fits.items():
        print(
            f"  {name:26}{figures['matrices']:6.2f} × 8n²{figures['bytes'] / MIB:9.0f} MiB{figures['seconds']:8.2f} s"
        )
    print(f"transform: {NEW_ROWS} new rows; ours must stay within the budget of {BUDGET} MiB beyond the result")
    for name, figures in transforms.items():
        print(f"  {name:26}{figures['bytes'] / MIB:25.0f} MiB{figures['seconds']:8.2f} s")


if __name__ == "__main__":
    sys.exit(main())
