"""The command line, through the console entry a user types."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PREIMAGE = Path(sys.executable).with_name("preimage")


def run(*arguments):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [PREIMAGE, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_help_and_version_answer():
    assert "demo" in run("--help").stdout
    assert run("--version").stdout.startswith("preimage, version")


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "preimage", "dmo"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: preimage [OPTIONS]")
    assert "No such command 'dmo'" in done.stderr


@pytest.mark.parametrize(("arguments", "sentence"), [(["dmo"], "No such command"), (["demo", "--sed", "1"], "--seed")])
def test_wrong_usage_gets_a_sentence_and_exit_code_2(arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
