"""The command line, through the console entry a user types."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PREIMAGE = Path(sys.executable).with_name("preimage")


def run(*arguments):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [PREIMAGE, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_the_demo_prints_figures_and_draws_a_picture(tmp_path):
    done = run("demo", "--out", tmp_path / "here", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    scores = {row["method"]: row["snr"] for row in report["rows"]}
    assert 4 < scores["noisy input"] < 4.5
    assert scores["linear PCA"] > scores["noisy input"] + 3
    assert scores["learned, told the noise"] == max(scores.values()) > scores["scikit-learn KernelPCA"] + 1.5
    from matplotlib.image import imread

    picture = imread(report["picture"])
    assert picture.shape[0] > 400
    assert np.ptp(picture[..., 0]) > 0.9
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["digits.png"]


def test_help_and_version_answer():
    assert "demo" in run("--help").stdout
    assert run("--version").stdout.startswith("preimage, version")


@pytest.mark.parametrize(("arguments", "sentence"), [(["dmo"], "No such command"), (["demo", "--sed", "1"], "--seed")])
def test_wrong_usage_gets_a_sentence_and_exit_code_2(arguments, sentence):
    done = run(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("demo", "--out", tmp_path / "file" / "below")
    assert done.returncode == 1
    assert "cannot write to" in done.stderr
    assert "Traceback" not in done.stderr
