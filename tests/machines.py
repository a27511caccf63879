"""The suite as other processors would run it: under every core type of OpenBLAS that this processor supports.

OpenBLAS rounds differently on every kind of processor; ``OPENBLAS_CORETYPE`` makes it compute as on an older one::

    python tests/machines.py                          every core type, with 1 and 2 threads of BLAS each
    python tests/machines.py --other tests/test_x.py  the one core type that rounds most unlike this processor's own

Other arguments go to pytest. It prints what was run, and fails where one run fails.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE_TYPES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids")
PROBE = """
import numpy, scipy.linalg, threadpoolctl
for dtype in ("f4", "f8"):
    scipy.linalg.eigh(numpy.ones((200, 200), dtype) @ numpy.ones((200, 200), dtype))
print(*{found["architecture"] for found in threadpoolctl.threadpool_info() if found["internal_api"] == "openblas"})
"""


def architecture(core_type: str | None = None) -> str:
    """The core type that numpy and scipy compute with where one is asked for; nothing where it cannot compute."""
    asked = {"OPENBLAS_CORETYPE": core_type} if core_type else {}
    probe = subprocess.run([sys.executable, "-c", PROBE], env=os.environ | asked, capture_output=True, text=True)
    return probe.stdout.strip().lower() if probe.returncode == 0 else ""


def supported() -> dict[str, str]:
    """The core types that this processor runs, oldest first, and what OpenBLAS calls them.

    Where one is not built in, or the processor lacks it, OpenBLAS takes another: every one counts once.
    """
    found: dict[str, str] = {}
    for core_type in CORE_TYPES:
        taken = architecture(core_type)
        if taken and taken not in found.values():
            found[core_type] = taken
    return found


def most_different() -> str:
    """A core type without fused products, which newer ones have; Haswell where that is this processor's own."""
    native, found = architecture(), supported()
    return next((name for name in ("Nehalem", "Haswell", *found) if found.get(name, native) != native), "")


def run(core_type: str, threads: int, arguments: list[str]) -> bool:
    """One run of the suite, with as many workers as cores; threads of BLAS that wait leave their core to others."""
    setting = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_THREAD_TIMEOUT": "4"}
    setting |= {"OPENBLAS_CORETYPE": core_type} if core_type else {}
    print(f"== {core_type or 'native'}, {threads} BLAS threads", flush=True)
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | setting).returncode == 0


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] == "--other":
        runs = [run(most_different(), 1, arguments[1:])]
    else:
        found = supported()
        print("core types of OpenBLAS that this processor runs:", found, flush=True)
        runs = [run(core_type, threads, arguments) for core_type in found for threads in (1, 2)]
    return 0 if all(runs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
