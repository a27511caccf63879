"""Builds both distributions and tests what was built: ``make dist-check``.

    python tools/distributions.py [--only oldest] [pytest arguments]

The wheels are built from the sdists, and checked by twine and check-wheel-contents. Each kind of environment, with the
newest and with the oldest dependencies, starts empty and gets the wheels; the tests of the unpacked sdist run there, so
that they find no file but those that ship.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from environments import BUILD, KINDS, ROOT, environment

DIST = BUILD / "dist"


def run(*command: str | Path, **options) -> None:
    subprocess.run([*command], check=True, **options)


def build() -> dict[str, Path]:
    """The sdist of each distribution, and a wheel made from it; returns the wheels by name."""
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in (ROOT, ROOT / "papers"):
        run(sys.executable, "-m", "build", "--installer", "uv", "--outdir", DIST, folder, stdout=subprocess.DEVNULL)
    return {wheel.name.split("-")[0]: wheel for wheel in DIST.glob("*.whl")}


def check(wheels: dict[str, Path]) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    run(sys.executable, "-m", "check_wheel_contents", *wheels.values())


def unpacked() -> Path:
    """The folder of the library's sdist."""
    (archive,) = DIST.glob("preimage-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(DIST, filter="data")
    return DIST / archive.name.removesuffix(".tar.gz")


def test(kind: str, wheels: dict[str, Path], folder: Path, arguments: list[str]) -> bool:
    """Run the tests that ship, by the wheels in an environment of their own."""
    python = environment(kind, f"{wheels['preimage']}[all]", str(wheels["preimage_papers"]))
    print(f"== the sdist's tests, {kind} dependencies", flush=True)
    setting = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, "-m", "pytest", "-n", "auto", *(arguments or ["tests", "papers/tests"])]
    done = subprocess.run(command, cwd=folder, env=setting | {"OMP_NUM_THREADS": "1"})
    return done.returncode == 0


def main() -> str | None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=KINDS, help="one kind of environment")
    options, arguments = parser.parse_known_args()
    wheels = build()
    check(wheels)
    folder = unpacked()
    failed = [kind for kind in ([options.only] if options.only else KINDS) if not test(kind, wheels, folder, arguments)]
    return f"tests failed with the {' and the '.join(failed)} dependencies" if failed else None


if __name__ == "__main__":
    sys.exit(main())
