"""Start-up time: `import preimage` compared with `import sklearn`, and `preimage --help`.

    python benchmarks/imports.py [--json]

Best of several fresh processes. `import preimage` may cost 0.2 s more than `import sklearn`, `--help` half a second.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import time

RUNS = 7
IMPORTS = {
    "python itself": "pass",
    "import sklearn": "import sklearn",
    "import preimage": "import preimage",
    "preimage.KernelPCA": "import preimage; preimage.KernelPCA",
    "sklearn's KernelPCA": "from sklearn.decomposition import KernelPCA",
}
MARGIN, HELP_LIMIT = 0.2, 0.5


def seconds(*command: str) -> float:
    """The least time that the command took; the least is what the machine's other work disturbs least."""
    return min(_once(command) for _ in range(RUNS))


def _once(command) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = {name: seconds("-c", code) for name, code in IMPORTS.items()}
    within = figures["import preimage"] <= figures["import sklearn"] + MARGIN
    if importlib.util.find_spec("preimage.cli"):
        figures["preimage --help"] = seconds("-c", "from preimage.cli import main; main(['--help'])")
        within &= figures["preimage --help"] <= HELP_LIMIT
    if arguments.json:
        print(json.dumps({"seconds": figures, "within_limits": within}, indent=2))
        return 0 if within else 1
    for name, value in figures.items():
        print(f"  {name:22}{value:7.3f} s")
    if "preimage --help" not in figures:
        print("  preimage --help       there is no command line yet")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
