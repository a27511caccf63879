"""A page of sections, and its HTML."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from preimage import __version__
from preimage.io.atomic import written
from preimage.report.blocks import Block

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it.

    Parameters
    ----------
    title : str
        The heading.
    blocks : sequence of Text, Table, Picture and Code
        The body.

    See Also
    --------
    Page : Holds the sections.
    Text, Table, Picture, Code : The blocks.

    Examples
    --------
    >>> from preimage.report import Page, Section, Text
    >>> section = Section("Data", [Text("Digits of `scikit-learn`.")])
    >>> "<code>scikit-learn</code>" in Page("Report", "", [section]).html()
    True
    """

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A report: one self-contained HTML file, without network or scripts.

    Parameters
    ----------
    title : str
        The title.
    lead : str
        The first paragraph: what was done, and the result.
    sections : sequence of Section
        The body.

    See Also
    --------
    Section : A part of a page.

    Examples
    --------
    >>> from preimage.report import Page, Section, Table, Text
    >>> table = Table(["method", "SNR, dB"], [["noisy", 4.2], ["denoised", 10.5]], highlight=[1])
    >>> page = Page("Digits", "Noise in, digits out.", [Section("Result", [Text("It worked."), table])])
    >>> "<td class=number>10.5</td>" in page.html()
    True
    """

    title: str
    lead: str
    sections: Sequence[Section]

    def html(self) -> str:
        """The page as text."""
        return _environment().get_template("page.html").render(page=self, version=__version__)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the page to a file, whole or not at all (see :func:`preimage.io.atomic.written`)."""
        with written(path, overwrite=overwrite) as unfinished:
            unfinished.write_text(self.html(), encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("preimage.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": _inline, "anchor": _anchor}
    return environment


def _inline(text: str) -> Markup:
    """Escaped text whose words between backticks are set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
