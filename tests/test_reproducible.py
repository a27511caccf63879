"""The same numbers from run to run, and up to round-off under other core types and thread counts of BLAS."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from machines import most_different, supported

PROGRAM = Path(__file__).with_name("reproducible.py")


def computed(file: Path, threads: int = 1, core_type: str = "") -> dict[str, np.ndarray]:
    setting = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    setting |= {"OPENBLAS_CORETYPE": core_type} if core_type else {}
    subprocess.run([sys.executable, "-W", "error", PROGRAM, file], env=os.environ | setting, check=True)
    return dict(np.load(file))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return computed(tmp_path_factory.mktemp("native") / "first.npz")


def assert_same_to_eight_digits(actual, expected):
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        # The denoiser computes in single precision, and its smallest ridge is about the eps of that.
        tolerance = np.sqrt(np.finfo("f4").eps) if name.startswith("denoiser") else 1e-8
        np.testing.assert_allclose(actual[name], values, atol=tolerance * np.abs(values).max(), rtol=0, err_msg=name)


def test_a_fixed_random_state_gives_the_same_bits_in_every_run(reference, tmp_path):
    again = computed(tmp_path / "again.npz")
    for name, values in reference.items():
        np.testing.assert_array_equal(again[name], values, err_msg=name)


def test_numbers_agree_to_eight_digits_with_two_threads_and_another_core_type(reference, tmp_path):
    assert_same_to_eight_digits(computed(tmp_path / "threads.npz", threads=2), reference)
    assert_same_to_eight_digits(computed(tmp_path / "other.npz", core_type=most_different()), reference)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_agree_to_eight_digits_under_every_core_type(threads, reference, tmp_path):
    for core_type in supported():
        assert_same_to_eight_digits(computed(tmp_path / f"{core_type}.npz", threads, core_type), reference)
