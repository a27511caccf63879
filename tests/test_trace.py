"""`fit` and `denoise`, traced: a call on its way down never comes back to a room that it has left."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import preimage

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "trace.py"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the benchmarks are not here")


@pytest.fixture(scope="module")
def trace():
    spec = importlib.util.spec_from_file_location("calls_traced", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["calls_traced"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["calls_traced"]


@pytest.mark.parametrize("approximation", [None, 200])
@pytest.mark.parametrize("preimage", ["auto", "fixed_point", "distance", "gradient", "learned"])
def test_fit_and_denoise_visit_no_room_twice_on_their_way(trace, approximation, preimage):
    for name, action in trace.prepared(approximation, preimage).items():
        tracer = trace.traced(action)
        assert not tracer.returns, f"{name}: {dict(tracer.returns)}"
        (first,) = {room for room, _ in tracer.root.calls}
        assert first == "estimators"
        rooms = {line.strip().partition(":")[0] for line in tracer.root.lines()}
        assert {"decomposition", "gram", "kernels"} <= rooms


def test_a_call_that_comes_back_is_found(trace):
    """The tracer itself, on a path planted in a namespace of its own."""
    names = {}
    exec(compile("def low(f):\n    f()\n", trace.SOURCE + "gram/planted.py", "exec"), names)
    exec(
        compile("def high():\n    pass\ndef start(f):\n    f(high)\n", trace.SOURCE + "eigen/planted.py", "exec"), names
    )
    tracer = trace.traced(lambda: names["start"](names["low"]))
    assert dict(tracer.returns) == {"eigen → gram → eigen (high)": 1}


def test_the_functions_in_the_picture_of_the_data_flows_exist():
    text = (SCRIPT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```\n(fit .*?)^```$", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"[a-z_]+(?:\.\w+)+", picture)
    assert len(names) >= 12
    for name in names:
        found = preimage
        for number, part in enumerate(parts := name.split("."), 1):
            if not hasattr(found, part):
                importlib.import_module(".".join(["preimage", *parts[:number]]))
            found = getattr(found, part)
