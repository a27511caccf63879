import ast
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

import preimage

SOURCE = Path(preimage.__file__).parent

# A room may import the rooms above it. A new room takes its place here.
ROOMS = [
    "_typing",
    "exceptions",
    "progress",
    "caching",
    "leftovers",
    "tensors",
    "scaling",
    "kernels",
    "noise",
    "gram",
    "eigen",
    "features",
    "expansion",
    "decomposition",
    "preimages",
    "imputation",
    "reduced",
    "invertible",
    "clustering",
    "statistics",
    "io",
    "decoding",
    "denoising",
    "monitoring",
    "estimators",
    "export",
    "selection",
    "compat",
    "distributed",
    "datasets",
    "plot",
    "report",
    "demo",
    "cli",
    "app",
]
CORE = ROOMS[: ROOMS.index("datasets")]
FRONT = {"matplotlib", "click", "rich", "jinja2", "dask", "distributed", "PIL", "pyarrow", "pandas", "preimage_papers"}
FRONT |= {"starlette", "uvicorn"}
ENTRY_POINTS = {"__init__", "__main__"}


def modules():
    """Every module of the package, by its dotted path inside it."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts), path


MODULES = dict(modules())


def room(module):
    return module.split(".")[0]


def imports(path, module, *, top_level_only=False):
    """Dotted names that a module imports, also inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = ["preimage", *(module.split(".") if path.name == "__init__.py" else module.split(".")[:-1])]
    for node in _statements(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _statements(tree):
    """What runs when a module is imported: not the bodies of functions, nor what only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _statements(node)


def rooms_used(path, module):
    for name in imports(path, module):
        home = preimage._HOMES.get(name.removeprefix("preimage."), name)  # a public name stands for its room
        first, *rest = home.split(".")
        if first == "preimage" and rest and rest[0] != "__version__":
            yield rest[0]


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ENTRY_POINTS])
def test_imports_point_one_way(module):
    own = room(module)
    assert own in ROOMS, f"{own} has no place in the list of rooms yet"
    for used in set(rooms_used(MODULES[module], module)) - {own}:
        assert used in ROOMS, f"{module} imports preimage.{used}, which is no room"
        assert ROOMS.index(used) < ROOMS.index(own), f"{module} imports {used}, which lies below {own}"


@pytest.mark.parametrize("module", [name for name in MODULES if room(name) in CORE or name in ENTRY_POINTS])
def test_the_core_does_without_pictures_and_command_line(module):
    top = {name.split(".")[0] for name in imports(MODULES[module], module, top_level_only=True)}
    allowed = {"dask", "distributed"} if room(module) == "distributed" else set()
    assert not top & FRONT - allowed


def test_only_one_room_knows_dask():
    users = {
        room(module)
        for module, path in MODULES.items()
        if {"dask", "distributed"} & {name.split(".")[0] for name in imports(path, module)}
    }
    assert users <= {"distributed"}


def test_the_decomposition_has_no_scikit_learn_in_it():
    for module in (name for name in MODULES if room(name) == "decomposition"):
        assert not any(name.startswith("sklearn") for name in imports(MODULES[module], module))


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_package_imports_nothing_slow():
    loaded = run("import sys, preimage; print(*{name.split('.')[0] for name in sys.modules})")
    assert not {"numpy", "scipy", "sklearn", "matplotlib", "click", "rich", "jinja2"} & set(loaded)
    assert "preimage" in loaded


def test_fitting_a_model_needs_no_pictures():
    code = "import sys, preimage; preimage.KernelPCA(2).fit([[0, 1], [1, 0], [2, 2]]); print(*sys.modules)"
    assert not {"matplotlib", "click", "rich", "jinja2", "dask"} & {name.split(".")[0] for name in run(code)}


def test_public_names_are_found_where_they_live():
    for name in preimage.__all__:
        assert getattr(preimage, name) is not None
        assert name in dir(preimage)
    with pytest.raises(AttributeError, match="module 'preimage' has no attribute 'KernelPac'"):
        preimage.KernelPac


# Names that two rooms share on purpose: scikit-learn's own interface is called what scikit-learn calls it.
SHARED_NAMES = {"KernelPCA"}


def test_no_class_or_public_function_is_defined_in_two_rooms():
    owners = {}
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, set()).add(room(module))
    assert not {name: rooms for name, rooms in owners.items() if len(rooms) > 1 and name not in SHARED_NAMES}


LONGEST, MEDIAN = 40, 130  # lines of a function without its docstring, and of the median module


def test_functions_and_modules_are_short():
    lengths = {}
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
                lengths[f"{module}.{node.name}"] = node.end_lineno - first.lineno + 1
    assert not {name: length for name, length in lengths.items() if length > LONGEST}
    assert median(path.read_text(encoding="utf-8").count("\n") for path in MODULES.values()) <= MEDIAN


def test_contributing_lists_the_rooms_in_their_order():
    path = Path(__file__).parents[1] / "CONTRIBUTING.md"
    if not path.is_file():
        pytest.skip("the document is not here")
    text = path.read_text(encoding="utf-8").partition("## Layout")[2]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    services = re.findall(r"`(\w+)`", re.search(r"^(.*) serve all rooms", text, re.MULTILINE)[1])
    assert services + [room for row in rows for room in re.findall(r"`(\w+)`", row)] == ROOMS
