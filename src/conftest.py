"""Settings for the examples in docstrings: no windows, and skips where a library or a data file is absent."""

import sys
from importlib.util import find_spec

import pytest

from preimage.datasets import is_present

LIBRARIES = {"to_onnx": "onnx", "to_torch": "torch"}
FILES = {
    "load_ecg": "cpsc_normal_beats.npz",
    "load_mitbih": "mitbih_100_beats.npz",
    "load_mnist": "mnist.npz",
    "load_tennessee_eastman": "tennessee_eastman.npz",
    "load_set12": "set12.npz",
    "load_usps": "usps.npz",
}


def pytest_collection_modifyitems(items):
    """Skip the examples that cannot run here."""
    for item in items:
        name = item.name.rpartition(".")[2]
        if isinstance(item, pytest.DoctestItem) and _absent(name):
            item.add_marker(pytest.mark.skip(reason=f"{_absent(name)} is not here"))


def _absent(name):
    """What the example of a name lacks; "" if nothing."""
    library, file = LIBRARIES.get(name, ""), FILES.get(name, "")
    if library and find_spec(library) is None:
        return library
    return file if file and not is_present(file) else ""


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    """Draw without a screen, and close what was drawn."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
