"""The blocks of a section: text, tables, pictures, code."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSS_PIXELS = 96  # CSS pixels per inch, by definition
DOTS = 160  # per inch of a picture: sharp on fine screens, yet small
NOTHING = {"", "–", "—", "-"}  # cells without a number
NUMBER = re.compile(r"[≈<>≤≥]?\s*[+−-]?\d[\d.,\s]*(e[+−-]?\d+)?(\s*±\s*\S+)?\s*(%|×|°|[a-zA-Zµ]{1,3})?")


@dataclass(frozen=True)
class Text:
    r"""Paragraphs, separated by empty lines; words between `backticks` are set as code.

    See Also
    --------
    Code : Lines to copy.
    Section : Holds the blocks.

    Examples
    --------
    >>> from preimage.report import Text
    >>> Text("One paragraph,\non two lines.\n\nAnother.").paragraphs
    ['One paragraph, on two lines.', 'Another.']
    """

    text: str
    kind = "text"

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs, each on one line."""
        return [" ".join(part.split()) for part in re.split(r"\n\s*\n", self.text.strip()) if part.strip()]


@dataclass(frozen=True)
class Table:
    """Rows under a header.

    Parameters
    ----------
    header : sequence of str
        The names of the columns.
    rows : sequence of sequences
        One cell per column of the header. Text is shown as it is, numbers with four digits, None as an empty cell.
    caption : str
        What the table shows.
    highlight : collection of int
        Numbers of the rows to highlight.

    See Also
    --------
    Text, Picture, Code : The other blocks.
    Section : Holds the blocks.

    Examples
    --------
    >>> from preimage.report import Table
    >>> table = Table(["method", "error"], [["noisy", 0.123456], ["denoised", None]])
    >>> table.cells
    [['noisy', '0.1235'], ['denoised', '']]
    >>> table.numeric
    [False, True]
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    highlight: Collection[int] = ()
    kind = "table"

    def __post_init__(self):
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"a row of the table has {len(row)} cells under {len(self.header)} columns: {row!r}.")

    @cached_property
    def cells(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [[_shown(cell) for cell in row] for row in self.rows]

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers, and are aligned to the right."""
        return [_is_numeric([row[column] for row in self.cells]) for column in range(len(self.header))]


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure, embedded as PNG at its own size in inches and never wider than the page.

    Parameters
    ----------
    figure : matplotlib Figure
        Drawn when the page is written.
    caption : str
        What it shows; printed below.
    alt : str
        Alternative text; the caption if it is empty.

    See Also
    --------
    Section : Holds the blocks.
    preimage.plot : Functions that draw figures.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from preimage.report import Picture
    >>> figure = Figure(figsize=(2, 1))
    >>> line = figure.subplots().plot([1, 3, 2])
    >>> picture = Picture(figure, caption="Three numbers.")
    >>> picture.width, picture.uri()[:22]
    (192, 'data:image/png;base64,')
    """

    figure: Figure
    caption: str = ""
    alt: str = ""
    kind = "picture"

    @property
    def width(self) -> int:
        """Width in CSS pixels."""
        return round(CSS_PIXELS * self.figure.get_figwidth())

    @property
    def height(self) -> int:
        """Height in CSS pixels."""
        return round(CSS_PIXELS * self.figure.get_figheight())

    def __post_init__(self):
        if not hasattr(self.figure, "savefig"):
            raise TypeError(f"a picture needs a matplotlib Figure (ax.figure for axes), not {self.figure!r}.")

    def uri(self) -> str:
        """The picture as a data URI."""
        stream = io.BytesIO()
        self.figure.savefig(stream, format="png", dpi=DOTS, metadata={"Software": None})
        return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


@dataclass(frozen=True)
class Code:
    r"""Lines to copy.

    See Also
    --------
    Text : Paragraphs.
    Section : Holds the blocks.

    Examples
    --------
    >>> from preimage.report import Code
    >>> print(Code("\npip install preimage\npreimage demo\n").lines)
    pip install preimage
    preimage demo
    """

    text: str
    kind = "code"

    @property
    def lines(self) -> str:
        """The text without empty lines around it."""
        return self.text.strip("\n").rstrip()


Block = Text | Table | Picture | Code


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str | bool):
        return str(cell)
    try:
        return f"{cell:,.0f}".replace(",", "\u202f") if abs(cell) >= 1e4 else f"{cell:.4g}"
    except (TypeError, ValueError):
        return str(cell)


def _is_numeric(cells: list[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip() not in NOTHING]
    return bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)
