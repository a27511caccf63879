"""The benchmarks' protocols make the same arrays as those they were agreed on with, where these are at hand."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

OURS = Path(__file__).parents[2] / "benchmarks" / "protocols.py"
AGREED = Path(os.environ.get("PREIMAGE_DATA", "")).parent / "protocols.py"


def module(path, name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, found)  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found


@pytest.mark.skipif(
    not (os.environ.get("PREIMAGE_DATA") and AGREED.is_file() and OURS.is_file()), reason="nothing to compare with"
)
@pytest.mark.parametrize("name", ["P1g25", "P1g50", "P1sp40", "P2g", "P2sp", "P3", "P4", "P5"])
def test_protocols_are_the_agreed_ones(name, monkeypatch):
    ours, agreed = module(OURS, "our_protocols", monkeypatch), module(AGREED, "agreed_protocols", monkeypatch)
    a, b = ours.load(name), agreed.load(name)
    for ours_array, theirs in [
        (a.train, b.train),
        (a.test, b.test),
        (a.fit, b.fit),
        (a.val, b.val),
        (a.noisy_val, b.noisy_val),
        (a.noisy_tests[2], b.noisy_tests[2]),
        (a.noisy_trains[0], b.noisy_trains[0]),
    ]:
        np.testing.assert_array_equal(ours_array, theirs)
    assert a.shape == b.geometry
    assert ours.snr(a.test, a.noisy_tests[0]) == pytest.approx(agreed.score(b.test, b.noisy_tests[0])[0])
