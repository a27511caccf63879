"""Python environments under ``build/``, made by uv: the newest dependencies, or the oldest that pyproject allows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
KINDS = ("newest", "oldest")


def uv(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], cwd=ROOT, check=True)


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def environment(kind: str, *requirements: str) -> Path:
    """An empty environment with these requirements and the tools of the tests; the path of its interpreter."""
    folder = BUILD / kind
    uv("venv", "--clear", "--python", sys.executable, folder)
    constraints = ["--constraints", oldest_versions()] if kind == "oldest" else []
    uv("pip", "install", "--python", python_of(folder), *constraints, "--group", "dev", *requirements)
    return python_of(folder)


def oldest_versions() -> Path:
    """A file of constraints: the lower bound of every direct dependency, and of those of all extras."""
    path = BUILD / "oldest-versions.txt"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    resolution = ("--resolution", "lowest-direct", "--python-version", version, "--extra", "all")
    uv("pip", "compile", *resolution, "--no-header", "--output-file", path, "pyproject.toml")
    return path
