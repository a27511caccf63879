"""Cells that a spreadsheet program would run as formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")

_wanted: ContextVar[bool] = ContextVar("preimage_safe_csv", default=False)


@contextmanager
def for_spreadsheets(wanted: bool = True) -> Iterator[None]:
    """Put an apostrophe before every cell written inside that a spreadsheet program would run as a formula."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def harmless(cells: Iterable[Any]) -> list[Any]:
    """The cells, with an apostrophe before formulas inside :func:`for_spreadsheets`; numbers stay."""
    cells = list(cells)
    return [f"'{cell}" if _is_formula(cell) else cell for cell in cells] if _wanted.get() else cells


def _is_formula(cell: Any) -> bool:
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return False
    try:
        float(cell.replace(",", ".", 1))
    except ValueError:
        return True
    return cell[0] in "\t\r"
