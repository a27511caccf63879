"""Peak memory of a fit and of a transform, ours and scikit-learn's, and of large files, each in a fresh process.

    python benchmarks/memory.py [--json] [--rows 6000]
    python benchmarks/memory.py --files [--json] [--only NAME …]

A fit is measured in units of 8n² bytes, one kernel matrix in float64; ours must stay within 1.3. A transform is
measured beyond its result and must stay within the budget, scikit-learn's ``working_memory``. With ``--files`` the
command line denoises large files: the peak is that of the whole process, imports and all.
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


SOUND_RATE = 44_100
FILES = {  # the limit in MB of the process
    "sound, one minute, mono": ("sound", 60, 1, 600),
    "sound, ten minutes, mono": ("sound", 600, 1, 600),
    "sound, ten minutes, stereo": ("sound", 600, 2, 600),
    "picture, 12 megapixels": ("picture", 3000, 4000, 1500),
    "table, 200,000 columns": ("table", 1000, 200_000, 1500),
}


def make_file(folder, kind: str, first: int, second: int):
    """A noisy file: sound of so many seconds and channels, a picture, or a table of so many rows and columns."""
    from pathlib import Path

    import numpy as np

    rng, folder = np.random.default_rng(0), Path(folder)
    if kind == "sound":
        from scipy.io import wavfile

        time_ = np.arange(SOUND_RATE) / SOUND_RATE
        second_of_tones = sum(np.sin(2 * np.pi * pitch * time_) / pitch for pitch in (220, 277, 330, 880)) * 50
        tones = np.tile(second_of_tones.astype(np.float32)[:, None], (first, second))
        tones += 0.05 * rng.standard_normal(tones.shape, dtype=np.float32)
        wavfile.write(folder / "in.wav", SOUND_RATE, np.clip(8000 * tones, -32768, 32767).astype(np.int16))
        return folder / "in.wav", folder / "out.wav", ["denoise", "--seed", "0"]
    if kind == "picture":
        from PIL import Image
        from scipy.ndimage import gaussian_filter

        clean = gaussian_filter(rng.standard_normal((first, second)).astype(np.float32), 6)
        noisy = 128 + 40 * clean / clean.std() + 15 * rng.standard_normal(clean.shape, dtype=np.float32)
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(folder / "in.png")
        return folder / "in.png", folder / "out.png", ["denoise", "--effort", "quick"]
    rows = np.lib.format.open_memmap(folder / "in.npy", "w+", np.float32, (first, second))
    for start in range(0, first, 50):
        rows[start : start + 50] = rng.standard_normal((50, second), dtype=np.float32)
    return folder / "in.npy", folder / "model.npz", ["fit", "--components", "5"]


def run_file(name: str) -> dict:
    """Peak memory in MB and CPU seconds of the command line on one file."""
    import tempfile

    kind, first, second, limit = FILES[name]
    # VmHWM, because ru_maxrss of a new process starts at the peak of its parent, which has made the file.
    program = (
        "import resource, sys; from preimage.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "used = resource.getrusage(resource.RUSAGE_SELF); "
        "peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')); "
        "print(peak / 1024, used.ru_utime + used.ru_stime, file=sys.stderr)"
    )
    with tempfile.TemporaryDirectory() as folder:
        before, after, command = make_file(folder, kind, first, second)
        call = [sys.executable, "-c", program, *command, str(before), "-o", str(after)]
        told = subprocess.run(call, check=True, capture_output=True, text=True).stderr.splitlines()[-1]
    peak, seconds = map(float, told.split())
    return {"megabytes": peak, "seconds": seconds, "limit": limit}


def files(names: list[str], as_json: bool) -> int:
    found = {name: run_file(name) for name in names}
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for name, figures in found.items():
            peak = f"{figures['megabytes']:7.0f} MB of at most {figures['limit']:5} MB"
            print(f"  {name:28}{peak}{figures['seconds']:8.1f} s")
    return 0 if all(figures["megabytes"] <= figures["limit"] for figures in found.values()) else 1


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
    parser.add_argument("--files", action="store_true", help="denoise large files by the command line instead")
    parser.add_argument("--only", nargs="+", choices=list(FILES), default=list(FILES), help="some of the files")
    arguments = parser.parse_args()
    if arguments.files:
        return files(arguments.only, arguments.json)
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
