"""The reference: every public name has a page, an example that runs alone, and neighbours that exist."""

import ast
import builtins
import doctest
import importlib.util
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import preimage

PAGES = Path(__file__).parents[1] / "docs" / "reference_pages.py"
# Rooms whose names other rooms import and users do not; those of `estimators` are on the package's own page.
INTERNAL = {"decoding", "decomposition", "estimators", "imputation"}


@cache
def reference():
    if not PAGES.is_file():
        pytest.skip("the documents are not here")
    spec = importlib.util.spec_from_file_location("reference_pages", PAGES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_objects():
    """Every name on a page, with its room and its docstring."""
    for room in reference().pages():
        module = import_module(f"preimage.{room}".rstrip("."))
        for name in reference().public_names(room):
            yield module, name, getattr(module, name).__doc__ or ""


def examples(docstring):
    return doctest.DocTestParser().get_examples(docstring)


def neighbours(docstring):
    """The names of the See Also section: its lines that are not indented, up to their colon."""
    section = re.search(r"^( *)See Also\n\1-{8}\n(.*?)(?:\n\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = re.findall(rf"^{section[1]}(\S.*?) : ", section[2], re.MULTILINE) if section else []
    return [name for line in lines for name in line.split(", ")]


def exists(module, name):
    """Whether a dotted name is found in a room, in the package, or from the package's own name on."""
    return any(_reach(start, name.removeprefix("preimage.").split(".")) for start in (module, preimage))


def _reach(found, path):
    for part in path:
        found = getattr(found, part, None)
    return found is not None


def unknown_names(docstring):
    """Names that an example uses and neither imports nor defines."""
    tree = ast.parse("".join(example.source for example in examples(docstring)))
    used, known = set(), set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else known).add(node.id)
        elif isinstance(node, ast.alias):
            known.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            known.add(node.name)
    return used - known


def test_every_room_has_a_page_or_is_internal():
    assert {room.partition(".")[0] for room in reference().TITLES} == set(preimage._ROOMS) - INTERNAL


def test_every_public_name_has_an_example_that_shows_something():
    assert not [name for _, name, doc in public_objects() if not any(example.want for example in examples(doc))]


def test_every_example_imports_what_it_uses():
    assert not {name: unknown for _, name, doc in public_objects() if (unknown := unknown_names(doc))}


def test_every_public_name_has_neighbours():
    assert not [name for _, name, doc in public_objects() if not neighbours(doc)]


def test_all_neighbours_exist():
    named = [(module, name, other) for module, name, doc in public_objects() for other in neighbours(doc)]
    assert not [(name, other) for module, name, other in named if not exists(module, other)]
    assert len(named) > 200
