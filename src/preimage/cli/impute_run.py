"""The work of ``preimage impute`` without a model: learn from the rows themselves, and fill their gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage import Imputer
from preimage.cli.common import counted
from preimage.exceptions import DataFileError
from preimage.imputation.along_rows import filled_column, line_error
from preimage.io import Data
from preimage.io.base import note
from preimage.io.columns import distinct, in_words

LEARNED_FROM = 20_000  # rows of a large file that an Imputer learns from


@dataclass(frozen=True, eq=False)
class Filling:
    """Rows with gaps, a function that fills them in the columns with entries, and the results to report."""

    data: Data
    answer: Callable[[np.ndarray], np.ndarray]
    known: np.ndarray
    facts: dict[str, Any]
    words: str = ""


def filling_of(data: Data, seed: int) -> Filling:
    """How to fill the gaps: a single column of numbers along its rows, others from each other."""
    single = data.shape[1] == 1 and not (data.form.table and data.form.table.categories)
    return _along_rows(data) if single else _from_other_columns(data, seed)


def _from_other_columns(data: Data, seed: int) -> Filling:
    """Filling by an Imputer that learns from the rows, or along the rows in columns where that has a smaller error.

    A column without any entry stays empty.
    """
    rows = _some_rows(data)
    known = _known(data, rows)
    table = data.form.table
    categories = [] if table is None else [table.name(place) for place in table.categories]
    n_known = int(known.sum())
    levels = list(range(n_known - len(categories), n_known))
    imputer = Imputer(categorical=levels or None, random_state=seed).fit(rows[:, known])
    gaps = sum(int(np.isnan(block[:, known]).sum()) for block in data.blocks(gaps=True))
    errors, names = np.zeros(len(known)), np.array(_names(data))
    errors[known] = imputer.errors_
    data, series = _with_series(data, errors[: data.shape[1] - len(categories)])

    def answer(block: np.ndarray) -> np.ndarray:
        found = block.copy()
        found[:, known] = imputer.transform(block[:, known])
        return found

    facts = {
        "method": "Imputer",
        "gaps": gaps,
        "categories": categories,
        "weights": imputer.weights_,
        "errors": dict(zip(names[known].tolist(), errors[known].tolist(), strict=True)) | series,
        "along_rows": list(series),
    }
    words = f", {counted(len(series), 'column')} on lines between neighbouring rows" if series else ""
    return Filling(data, answer, known, facts, words)


def _with_series(data: Data, errors: np.ndarray) -> tuple[Data, dict[str, float]]:
    """The data, with columns filled along the rows where that has a smaller error than these; its errors by name."""
    if data.is_large:
        return data, {}
    rows, series = data.whole(gaps=True).copy(), {}
    for place in errors.nonzero()[0].tolist():
        found, error = filled_column(rows[:, place]), line_error(rows[:, place])
        if found.is_series and error < errors[place]:
            rows[:, place], series[_names(data)[place]] = found.values, error
    return (replace(data, source=rows, scale=1.0) if series else data), series


def _along_rows(data: Data) -> Filling:
    """Filling of a single column along its rows."""
    column = data.whole(gaps=True)
    known, gaps = _known(data, column), int(np.isnan(column).sum())
    found = filled_column(column[:, 0])
    how = "on lines between their neighbours" if found.is_series else "by the mean, as the rows are not a series"
    facts = {"method": how, "gaps": gaps, "categories": [], "weights": {}, "errors": {_names(data)[0]: found.error}}
    filled = replace(data, source=found.values[:, None], scale=1.0)
    return Filling(filled, lambda rows: rows, known, facts, f" {how}" if gaps else "")


def _known(data: Data, rows: np.ndarray) -> np.ndarray:
    """The columns with any entry among the rows; a note names the others."""
    known = ~np.isnan(rows).all(axis=0)
    if not known.any():
        raise DataFileError(f"{data.name} has no entry in any column, so there is nothing to fill the gaps from.")
    if not known.all():
        empty = [name for name, there in zip(_names(data), known, strict=True) if not there]
        note(f"{data.name}: no entry to learn from in {in_words(empty)}; left empty.")
    return known


def _names(data: Data) -> tuple[str, ...]:
    """Names of the columns, all different."""
    return distinct(data.form.columns or map(str, range(1, data.shape[1] + 1)))


def _some_rows(data: Data) -> np.ndarray:
    """All rows with their gaps, or evenly spaced ones if they are many."""
    step, done, kept = max(1, -(-data.shape[0] // LEARNED_FROM)), 0, []
    for block in data.blocks(gaps=True):
        kept.append(np.array(block[-done % step :: step]))
        done += len(block)
    return np.concatenate(kept)
