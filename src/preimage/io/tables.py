"""Tables from files: which columns are numbers to work on, and which are carried along.

Text, dates, booleans, categories and identifiers are carried along. A column is text if fewer than half of its cells
are numbers; any other cell in a column of numbers is an error that names its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io.base import Data, Dialect, Form, Reading, note
from preimage.io.categories import Category
from preimage.io.columns import Columns

CATEGORICAL = ("text", "true or false", "categories")  # kinds of columns that may be categories
CAMEL = re.compile(r".*([a-z0-9]Id|ID)|[Ii]d")
AXIS = re.compile(
    r"(t|time|seconds?|sec|s|ms|timestamp|date|sample|step|frame|channel|x|position|distance|depth|angle|(2\W?)?theta|"
    r"(raman )?shift|wave ?(number|length)s?|freq(uency|uencies)?|energy|m/z)\b.*",
    re.IGNORECASE,
)


class Source(Protocol):
    """A table that can be read in blocks."""

    name: str
    names: tuple[str, ...] | None
    kinds: list[str]  # of every column: numbers, whole numbers, text, dates, …
    metadata: dict | None

    @property
    def head(self) -> list[Sequence[Any]]:
        """The first cells of every column."""

    def blocks(self, numbers: Sequence[int], others: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Matrices of the columns of numbers, each with the other columns."""

    def count(self) -> int:
        """The number of rows."""


def tabled(source: Source, reading: Reading, *, large: bool, text: Dialect | None = None) -> Data:
    """The rows of a table; all columns that are not worked on are carried along."""
    categories = _categories(source, reading) if reading.categories and reading.columns is None else {}
    numbers = _chosen(source, reading, categories)
    others = tuple(place for place in range(len(source.kinds)) if place not in numbers)
    worked_on = (*numbers, *categories)
    columns = None if source.names is None else tuple(source.names[place] for place in worked_on)
    alone = "signal" if len(worked_on) == 1 or reading.signal else ""
    whole = frozenset(place for place in numbers if source.kinds[place] == "whole numbers")

    def walk() -> Iterator[tuple[np.ndarray, list[Any]]]:
        for matrix, kept in source.blocks(numbers, others):
            coded = [category.numbers(kept[others.index(place)]) for place, category in categories.items()]
            yield np.column_stack([matrix, *coded]) if coded else matrix, kept

    def form(kept: Callable) -> Form:
        table = Columns(source.names, numbers, others, kept, whole, source.metadata, categories)
        return Form(columns=columns, table=table, alone=alone, text=text or Dialect())

    if large:
        shape = source.count(), len(worked_on)
        return Data(
            source.name, lambda: (block for block, _ in walk()), shape, form(lambda: (kept for _, kept in walk()))
        )
    blocks = list(walk())
    if not blocks:
        raise DataFileError(
            f"{source.name} is empty." if columns is None else f"{source.name} has a header but no rows."
        )
    matrix = np.concatenate([block for block, _ in blocks])
    return Data(source.name, matrix, matrix.shape, form(lambda: (kept for _, kept in blocks)))


def _categories(source: Source, reading: Reading) -> dict[int, Category]:
    """The text columns with few levels, by their places."""
    keep = {_place(source, name) for name in reading.keep}
    text = [place for place, kind in enumerate(source.kinds) if kind in CATEGORICAL and place not in keep]
    parts = list(zip(*(kept for _, kept in source.blocks((), text)), strict=True)) if text else []
    found = {place: Category.of(column, reading.missing) for place, column in zip(text, parts, strict=True)}
    return {place: category for place, category in found.items() if category is not None}


def _chosen(source: Source, reading: Reading, categories: Collection[int] = ()) -> tuple[int, ...]:
    """The places of the columns to work on."""
    if reading.expected is not None and source.names is not None:
        return _as_fitted(source, reading.expected)
    keep = {_place(source, name) for name in reading.keep}
    if reading.columns is not None:
        return _as_named(source, reading.columns, keep)
    reasons = dict.fromkeys(keep, "as you asked")
    for place, kind in enumerate(source.kinds):
        if place not in keep:
            reason = kind if "number" not in kind else _identifier(source, place)
            reasons |= {place: reason} if reason else {}
    numbers = tuple(place for place in range(len(source.kinds)) if place not in reasons)
    for find in (_empty, _times) if reading.signal else (_empty,):
        if len(found := find(source, numbers)) < len(numbers):
            reasons |= found
            numbers = tuple(place for place in numbers if place not in found)
    if not numbers:
        raise DataFileError(f"{source.name} has no column of numbers.")
    _tell(source, {place: reason for place, reason in reasons.items() if place not in {*keep, *categories}})
    return numbers


def _as_named(source: Source, names: Sequence[str], keep: Collection[int]) -> tuple[int, ...]:
    """The columns that are asked for; none may be asked for twice, nor to be carried along."""
    places = tuple(_place(source, name) for name in names)
    for number, place in enumerate(places):
        if place in keep or place in places[:number]:
            raise DataFileError(f"{source.name}: {_named(source, place)} is named twice.")
    return places


def _as_fitted(source: Source, expected: tuple[str, ...]) -> tuple[int, ...]:
    """The places of the columns that a model was fitted on, in its order; equal names are taken in order."""
    assert source.names is not None
    places: dict[str, list[int]] = {}
    for place, name in enumerate(source.names):
        places.setdefault(name, []).append(place)
    found = []
    for name in expected:
        if not places.get(name):
            raise DataFileError(f"{source.name} has no column {name!r}, but the model was fitted on one.")
        found.append(places[name].pop(0))
    return tuple(found)


def _tell(source: Source, reasons: dict[int, str]) -> None:
    if reasons:
        listed = ", ".join(f"{_named(source, place)} ({reason})" for place, reason in sorted(reasons.items()))
        note(f"{source.name}: carried along unchanged: {listed}.")


def _place(source: Source, name: str) -> int:
    """The place of a column by its name or its number."""
    names = source.names or ()
    if names.count(name) > 1:
        raise DataFileError(f"{source.name} has {names.count(name)} columns {name!r}: give the number of one.")
    if name in names:
        return names.index(name)
    if name.isdigit() and 1 <= int(name) <= len(source.kinds):
        return int(name) - 1
    known = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    raise DataFileError(
        f"{source.name} has no column {name!r}; "
        + (f"it has {known}." if names else f"its {len(source.kinds)} columns have no names, only numbers from 1.")
    )


def _named(source: Source, place: int) -> str:
    name = source.names[place] if source.names else ""
    return repr(name) if name else f"column {place + 1}"


def _identifier(source: Source, place: int) -> str:
    """Why a column of numbers only names its rows; empty if it measures something."""
    if source.names is None:
        return ""
    name, values = source.names[place].strip(), np.array(source.head[place], dtype=float)
    if not len(values) or not np.isfinite(values).all():
        return ""
    steps = np.diff(values)
    ordered = source.kinds[place] == "whole numbers" and bool((steps == 1).all())
    if place == 0 and not name and ordered:
        return "an index"
    if _names_rows(name) and source.kinds[place] == "whole numbers" and len(np.unique(values)) == len(values) > 2:
        return "an identifier"
    is_axis = AXIS.fullmatch(name) or sum("number" in kind for kind in source.kinds) == 2
    if place == 0 and is_axis and _is_even(values):
        return "evenly spaced"
    return ""


def _empty(source: Source, numbers: Sequence[int]) -> dict[int, str]:
    """The columns with a name and no entry, with the reason; those that begin with gaps are read to their ends."""
    gaps = [place for place in numbers if source.names and np.isnan(np.array(source.head[place], dtype=float)).all()]
    is_empty = np.ones(len(gaps), dtype=bool)
    for block, _ in source.blocks(gaps, ()) if gaps else ():
        is_empty &= np.isnan(block).all(axis=0)
    return {place: "empty" for place, none in zip(gaps, is_empty, strict=True) if none}


def _times(source: Source, numbers: Sequence[int]) -> dict[int, str]:
    """The columns that say where the samples of a signal lie, with the reasons.

    They are evenly spaced, or the first of them only rises or falls, as no noisy channel does.
    """
    found = {place: "evenly spaced" for place in numbers if _is_even(source.head[place])}
    steps = np.diff(np.array(source.head[numbers[0]], dtype=float)) if numbers else np.zeros(0)
    if len(steps) > 2 and ((steps > 0).all() or (steps < 0).all()):
        found.setdefault(numbers[0], "rising" if steps[0] > 0 else "falling")
    return found


def _names_rows(name: str) -> bool:
    return bool(CAMEL.fullmatch(name) or re.fullmatch(r"(.*[\W_])?(id|index|uuid|key|row|nr|no)\.?", name.lower()))


def _is_even(cells: Sequence[Any] | np.ndarray) -> bool:
    """Whether numbers rise or fall by equal steps, up to the digits they are written with."""
    values = np.array(cells, dtype=float)
    if len(values) <= 3 or not np.isfinite(values).all():
        return False
    step = float(np.diff(values).mean())
    line = values[0] + step * np.arange(len(values))
    return step != 0 and bool(np.abs(values - line).max() <= 0.05 * abs(step))
