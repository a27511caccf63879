"""Two distributions: the library, and the papers that add a command to it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from preimage import __version__, cli

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not (ROOT / "papers").is_dir(), reason="the papers are not here")
@pytest.mark.parametrize(
    ("folder", "held", "absent"),
    [
        (".", {"preimage/__init__.py", "preimage/cli/demo.py"}, "papers"),
        ("papers", {"preimage_papers/expected.toml", "preimage_papers/protocols.py"}, "preimage/"),
    ],
)
def test_each_wheel_holds_its_own_package_and_nothing_of_the_other(folder, held, absent, tmp_path):
    pytest.importorskip("hatchling")
    pytest.importorskip("hatch_fancy_pypi_readme")
    source = tmp_path / "source"
    shutil.copytree(ROOT / folder / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / folder / name).is_file():
            shutil.copy(ROOT / folder / name, source)
    version = tmp_path / "src" / "preimage" / "__init__.py"  # where the papers look for their version
    version.parent.mkdir(parents=True)
    shutil.copy(ROOT / "src" / "preimage" / "__init__.py", version)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.split("-")[1] == __version__
    files = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held <= files
    assert not [name for name in files if absent in name]
    description = ZipFile(wheel).read(f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/METADATA").decode()
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []  # an index has none of our files


def test_the_citation_names_this_version():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [[], ["all", "--quick"], ["--help"]])
def test_reproduce_without_the_papers_says_how_to_get_them(arguments, monkeypatch):
    monkeypatch.setattr(cli, "_found", _none)
    done = CliRunner().invoke(cli.main, ["reproduce", *arguments])
    assert done.exit_code == 1
    assert 'pip install "preimage[papers]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_still_unknown_without_the_papers(monkeypatch):
    monkeypatch.setattr(cli, "_found", _none)
    done = CliRunner().invoke(cli.main, ["reproduced"])
    assert done.exit_code == 2
    assert "No such command 'reproduced'" in done.stderr


def _none(**_):
    from importlib.metadata import EntryPoints

    return EntryPoints()
