"""Names of files and columns that would steer a terminal, a page or rich markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category

import numpy as np
from forked import Ended, command
from tally import Tally, generator

STEERING = ("\x1b[31m", "\x1b]0;t\x07", "\x9b2J", "\r", "\b", "\u202e", "\u2066")
MARKUP = ("[bold red]", "[/]", "{", "%s", "'", "&lt;", "</title>", "javascript:alert(1)", "$(id)")
ELEMENTS = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>')
PIECES = ("a", *STEERING, *MARKUP, *ELEMENTS)


def hostile_names(cases: int, seed: int) -> list[Tally]:
    """Commands on files and columns with such names: nothing on the console or in the page that acts."""
    tally, rng = Tally("names"), generator(seed, "names")
    for number in range(cases):
        with TemporaryDirectory() as folder, TemporaryDirectory() as log:
            _try(tally, Path(folder), Path(log), rng, f"case {number}")
    return [tally]


def _try(tally: Tally, folder: Path, log: Path, rng: np.random.Generator, case: str) -> None:
    rows, model, page = (str(folder / f"{_name(rng)}{ending}") for ending in (".csv", ".npz", ".html"))
    columns = ['"' + _name(rng).replace('"', '""') + f'{number}"' for number in range(3)]
    table = "\n".join(",".join(map(str, row)) for row in rng.standard_normal((20, 3)))
    Path(rows).write_text(",".join(columns) + "\n" + table, newline="")
    calls = [
        ["fit", rows, "-o", model],
        ["inspect", model],
        ["transform", model, f"{rows}.gone"],
        ["denoise", rows, "-o", f"{rows}.{_name(rng)}.csv", "--report", page],
        ["fit", rows, "-o", model, "--columns", _name(rng)],
    ]
    for call in calls:
        tally.cases += 1
        ended = command(call, log).ended()
        tally.refused += ended is not None and ended.code != 0
        tally.check(_is_harmless(ended), "acts on a terminal", f"{case}, {call}: {ended}")
    if Path(page).exists():
        tally.check(not _Active.found_in(Path(page).read_text()), "acts on a page", f"{case}, {page}")


def _name(rng: np.random.Generator) -> str:
    return "".join(rng.choice(PIECES, int(rng.integers(1, 4)))).replace("/", "\u2215") + str(rng.integers(1000))


def _is_harmless(ended: Ended | None) -> bool:
    """Whether a command ended with a sentence at most, and printed no character that steers a terminal."""
    if ended is None or "Traceback" in ended.told:
        return False
    return all(letter == "\n" or category(letter)[0] != "C" for letter in ended.told + ended.said)


class _Active(HTMLParser):
    """Elements that only a hostile name can have brought into a page."""

    def __init__(self) -> None:
        super().__init__()
        self.active = False

    @classmethod
    def found_in(cls, page: str) -> bool:
        parser = cls()
        parser.feed(page)
        return parser.active

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.active |= "onerror" in values or values.get("src") == "x" or "javascript:" in (values.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.active |= self.cdata_elem == "script" and "alert(1)" in data
