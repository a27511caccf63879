"""The one place of measured figures: a JSON file per benchmark, from which README and docs take theirs.

A benchmark calls :func:`record` with each table that it prints. A document marks where it shows them::

    <!-- figures: scale/exact -->
    | the table, written by `make figures` |
    <!-- end -->

    the fixed point has 11.48<!--= digits/with clean examples: fixed point (Mika et al. 1998) --> dB
    4.1<!--= scale/exact: scikit-learn, arpack, float64 ÷ scale/exact: `KernelPCA(32)`, float64 --> times as fast

    <!-- measured -->
    when, with which version and on which machine these were measured, written by `make figures`
    <!-- end -->

:func:`filled` puts the recorded figures in: into the files by ``make figures``, and into the pages whenever the site is
built. ``tests/test_figures.py`` fails if a file is behind, if it does not say when its figures were measured, and if it
holds a figure without a mark (:func:`unmarked`). A number that is set and not measured may say so:
``6<!-- set --> dB``.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
HISTORY = re.compile(r"(<!-- history -->\n).*?(<!-- end -->)", re.DOTALL)
MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)
BLOCK = re.compile(r"(<!-- figures: ([\w-]+)/(.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"[−+]?\d+(?:\.(?P<decimals>\d+))?(?:e-?\d+)?")
MARKED = re.compile(rf"{NUMBER.pattern}(?P<mark><!--= (?P<address>.+?) -->)")
ADDRESS = re.compile(r"(?P<script>\w+)/(?P<table>[^:]+): (?P<place>.+)")
SET = re.compile(r"[\d.,–]+<!-- set -->")
UNIT = r"(?:dB|ms|s|seconds?|times|Gflop/s|GB/s)"
BARE = re.compile(  # in a sentence: with decimals or a unit, and neither = nor a word's end before it
    rf"(?<![\w.,=/-])(?<!= )(?<!Python )[−+]?\d+(?:\.\d+(?![\w.])|(?:\.\d+)? {UNIT}(?![\w²]))"
)
CELL = re.compile(rf"[≈<>]?\s*[−+]?(?:\d*\.\d+|\d+\s?(?:%|[kMG]B\b|{UNIT}\b))")
CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.DOTALL | re.MULTILINE)


def record(
    script: str, table: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, in_part: bool = False
) -> None:
    """Keep a table of a benchmark, as text that is shown: column titles, and rows that begin with their label.

    A table that was measured ``in_part`` keeps its other cells, and says so.
    """
    path = FOLDER / f"{Path(script).stem}.json"
    tables = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    new = {
        "measured": f"{date.today().isoformat()}, {code()}, {machine()}",
        "columns": list(columns),
        "rows": [[str(cell) for cell in row] for row in rows],
    }
    tables[table] = _merged(tables[table], new) if in_part and table in tables else new
    path.write_text(json.dumps(tables, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _merged(old: dict, new: dict) -> dict:
    """The new cells in the old table, and what is new in it besides."""
    columns = list(dict.fromkeys([*old["columns"], *new["columns"]]))
    cells: dict[str, dict[str, str]] = {}
    for table in (old, new):
        for row in table["rows"]:
            cells.setdefault(row[0], {}).update(
                {column: cell for column, cell in zip(table["columns"], row, strict=True) if cell}
            )
    rows = [[row.get(column, "") for column in columns] for row in cells.values()]
    return {"measured": f"{new['measured']}, in part; the rest {old['measured']}", "columns": columns, "rows": rows}


def code() -> str:
    """The version that is measured and the last commit of its code, with a + if that has changed since."""
    from preimage import __version__

    commit = _git("log", "-1", "--format=%h", "--", "src", "papers/src")
    changed = _git("status", "--porcelain", "--", "src", "papers/src")
    return f"preimage {__version__}" + (f" ({commit}{'+' if changed else ''})" if commit else "")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def machine() -> str:
    """This processor and the libraries that compute."""
    import numpy
    import sklearn

    names = [line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")]
    libraries = f"Python {platform.python_version()}, numpy {numpy.__version__}, scikit-learn {sklearn.__version__}"
    return f"{len(names) or 'some'} × {names[0] if names else platform.machine()}, {libraries}"


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.is_file() else []


@cache
def tables(script: str) -> dict[str, dict]:
    """What a benchmark recorded, by the name of the table."""
    path = FOLDER / f"{script}.json"
    if not path.is_file():
        raise KeyError(f"benchmarks/figures has no {script}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def find(script: str, name: str) -> dict:
    """One table, by its name."""
    known = tables(script)
    if name not in known:
        raise KeyError(f"benchmarks/figures/{script}.json has no table {name!r}, only {', '.join(known)}")
    return known[name]


def figure(address: str) -> str:
    """The first number of a cell, ``script/table: label // column``; of the second column if none is named."""
    parts = ADDRESS.fullmatch(address)
    if parts is None:
        raise KeyError(f"{address!r} is no address in benchmarks/figures: write script/table: label // column")
    table = find(parts["script"], parts["table"])
    label, _, column = (part.strip() for part in parts["place"].partition(" // "))
    row = next((row for row in table["rows"] if row[0] == label), None)
    if row is None or (column and column not in table["columns"]):
        raise KeyError(f"benchmarks/figures has no figure {address!r}")
    number = NUMBER.search(row[table["columns"].index(column) if column else 1])
    if number is None:
        raise KeyError(f"benchmarks/figures has no number at {address!r}")
    return number[0].replace("−", "-")


def ratio(addresses: str) -> str:
    """The figure at an address, or the ratio of two, ``address ÷ address``."""
    values = [figure(address) for address in addresses.split(" ÷ ")]
    return values[0] if len(values) == 1 else repr(float(values[0]) / float(values[1]))


def _as_written(found: re.Match[str]) -> str:
    """The recorded figure, with no more decimals than the document shows."""
    value, decimals = ratio(found["address"]), len(found["decimals"] or "")
    if len(value.partition(".")[2]) > decimals and "e" not in value:
        value = f"{float(value):.{decimals}f}"
    return (value if "e" in value else value.replace("-", "−")) + found["mark"]


def markdown(table: dict) -> str:
    """A table in Markdown."""
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join("|" + "".join(f" {cell} |" if cell else " |" for cell in line) + "\n" for line in lines)


def filled(text: str) -> str:
    """A document with the recorded figures at its marks."""
    text = BLOCK.sub(lambda found: found[1] + markdown(find(found[2], found[3])) + found[4], text)
    text = HISTORY.sub(lambda found: found[1] + history() + found[2], text)
    when = measured(text)
    text = MEASURED.sub(lambda found: found[1] + when + found[2], text)
    return MARKED.sub(_as_written, text)


def sources(text: str) -> list[tuple[str, str]]:
    """The tables that a document takes figures from: the benchmark and the name of each."""
    marked = [address for found in MARKED.finditer(text) for address in found["address"].split(" ÷ ")]
    parts = [parts for parts in map(ADDRESS.fullmatch, marked) if parts]
    found = [(block[2], block[3]) for block in BLOCK.finditer(text)] + [(p["script"], p["table"]) for p in parts]
    return list(dict.fromkeys(found))


def measured(text: str) -> str:
    """When, with which version and on which machine the figures of a document were measured, benchmark by benchmark."""
    scripts: dict[str, dict[str, None]] = {}
    for script, table in sources(text):
        ending = "" if (ROOT / "benchmarks" / script).is_dir() else ".py"
        scripts.setdefault(find(script, table)["measured"], {})[f"`benchmarks/{script}{ending}`"] = None
    lines = [f"{', '.join(names)}: {when}" for when, names in scripts.items()]
    return "Measured by " + ";\n".join(lines) + ".\n" if lines else ""


def unmarked(text: str) -> list[str]:
    """What looks like a measured figure and has no mark: cells of tables, and numbers in sentences."""
    for pattern in (BLOCK, HISTORY, MEASURED, MARKED, SET, CODE):
        text = pattern.sub("", text)
    lines = text.splitlines()
    cells = [cell.strip() for line in lines if line.startswith("|") for cell in line.strip("|").split("|")]
    sentences = [line for line in lines if not line.startswith("|")]
    return [cell for cell in cells if CELL.match(cell)] + [
        f"{found[0]}: {line}" for line in sentences for found in BARE.finditer(line)
    ]


def history() -> str:
    """The ratios of every version, one version per column, from the lines that ``make bench-history`` adds.

    A line is a JSON object with ``version``, ``date`` and ``ratios``: a number by the name of what is compared.
    """
    paths = sorted((FOLDER.parent / "history").glob("*.json*"))
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]
    if not lines:
        return "No version has been measured yet.\n"
    names = dict.fromkeys(name for line in lines for name in line["ratios"])
    rows = [
        [name, *(f"{line['ratios'][name]:.3g}" if name in line["ratios"] else "" for line in lines)] for name in names
    ]
    return markdown({"columns": ["", *(f"{line['version']}, {line['date']}" for line in lines)], "rows": rows})


def documents() -> list[Path]:
    """README and the pages under docs/ that are written by hand."""
    built = {"_build", "gallery", "reference"}
    return [ROOT / "README.md", *sorted(page for page in ROOT.glob("docs/**/*.md") if not built & set(page.parts))]
