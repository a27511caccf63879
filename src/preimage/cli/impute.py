"""``preimage impute``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from preimage.cli import common
from preimage.cli.common import CommandResult, counted

if TYPE_CHECKING:
    import numpy as np

    from preimage.cli.apply import Answer
    from preimage.io import Data, Reading

LEARNED_FROM = 20_000  # rows of a large file that an Imputer learns from


@click.command("impute", cls=common.Command)
@click.argument("model", metavar="[MODEL]")
@click.argument("input", metavar="INPUT", required=False)
@common.output_option()
@common.table_options
@click.option("--scheduler", metavar="ADDRESS", help="With a MODEL: use the Dask cluster of this scheduler.")
@common.seed_option
@common.shared_options
def command(
    model: str,
    input: str | None,
    output: str,
    reading: Reading,
    scheduler: str | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> CommandResult:
    """Fill in the missing values of INPUT; all other cells stay as they are.

    Without a MODEL, an Imputer learns from the rows of INPUT, which may have gaps anywhere, also in text columns with
    few levels. A single column is filled along its rows, and so is a series if that has a smaller error. With a MODEL
    written by `fit`, that model fills the gaps in columns of numbers.
    """
    from preimage.cli.apply import opened_for, write_answers
    from preimage.io import read

    if input is not None:
        with opened_for("impute", model, input, reading, scheduler) as (fitted, data):
            return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
    if scheduler is not None:
        raise click.UsageError("--scheduler needs a MODEL: an Imputer learns on this machine.")
    arrays = Path(output).suffix.lower() in (".npy", ".npz")  # which hold no text
    data = read(model, replace(reading, categories=not arrays))
    filling = _along_rows(data) if _is_single(data) else _from_other_columns(data, seed)
    result = write_answers(
        filling.data, filling.answer, output, data.form, force=force, gaps=True, columns=filling.known
    )
    words = f"{result.words}, {counted(filling.facts['gaps'], 'gap')} filled{filling.words}"
    return CommandResult(result.facts | filling.facts, words)


@dataclass(frozen=True, eq=False)
class _Filling:
    """Rows with gaps, a function that fills them in the columns with entries, and the results to report."""

    data: Data
    answer: Answer
    known: np.ndarray
    facts: dict[str, Any]
    words: str = ""


def _from_other_columns(data: Data, seed: int) -> _Filling:
    """Filling by an Imputer that learns from the rows, or along the rows in columns where that has a smaller error.

    A column without any entry stays empty.
    """
    import numpy as np

    from preimage import Imputer

    rows = _some_rows(data)
    known = _known(data, rows)
    table = data.form.table
    categories = [] if table is None else [table.name(place) for place in table.categories]
    n_known = int(known.sum())
    levels = list(range(n_known - len(categories), n_known))
    imputer = Imputer(categorical=levels or None, random_state=seed).fit(rows[:, known])
    errors, gaps, names = np.zeros(len(known)), _n_gaps(data, known), np.array(_names(data))
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
    return _Filling(data, answer, known, facts, words)


def _with_series(data: Data, errors: np.ndarray) -> tuple[Data, dict[str, float]]:
    """The data with columns filled along the rows where lines err less than this, and the errors of those by name."""
    from preimage.imputation.along_rows import filled_column, line_error

    if data.is_large:
        return data, {}
    rows, series = data.whole(gaps=True).copy(), {}
    for place in errors.nonzero()[0].tolist():
        found, error = filled_column(rows[:, place]), line_error(rows[:, place])
        if found.is_series and error < errors[place]:
            rows[:, place], series[_names(data)[place]] = found.values, error
    return (replace(data, source=rows, scale=1.0) if series else data), series


def _is_single(data: Data) -> bool:
    """Whether there is a single column, of numbers."""
    return data.shape[1] == 1 and not (data.form.table and data.form.table.categories)


def _along_rows(data: Data) -> _Filling:
    """Filling of a single column along its rows."""
    import numpy as np

    from preimage.imputation.along_rows import filled_column

    column = data.whole(gaps=True)
    known, gaps = _known(data, column), int(np.isnan(column).sum())
    found = filled_column(column[:, 0])
    how = "on lines between their neighbours" if found.is_series else "by the mean, as the rows are not a series"
    facts = {"method": how, "gaps": gaps, "categories": [], "weights": {}, "errors": {_names(data)[0]: found.error}}
    filled = replace(data, source=found.values[:, None], scale=1.0)
    return _Filling(filled, lambda rows: rows, known, facts, f" {how}" if gaps else "")


def _known(data: Data, rows: np.ndarray) -> np.ndarray:
    """The columns with any entry among the rows; a note names the others."""
    import numpy as np

    from preimage.exceptions import DataFileError
    from preimage.io.base import note
    from preimage.io.columns import in_words

    known = ~np.isnan(rows).all(axis=0)
    if not known.any():
        raise DataFileError(f"{data.name} has no entry in any column, so there is nothing to fill the gaps from.")
    if not known.all():
        empty = [name for name, there in zip(_names(data), known, strict=True) if not there]
        note(f"{data.name}: no entry to learn from in {in_words(empty)}, left as it is.")
    return known


def _n_gaps(data: Data, known: np.ndarray) -> int:
    import numpy as np

    return sum(int(np.isnan(block[:, known]).sum()) for block in data.blocks(gaps=True))


def _names(data: Data) -> tuple[str, ...]:
    """Names of the columns, all different."""
    from preimage.io.columns import distinct

    return distinct(data.form.columns or map(str, range(1, data.shape[1] + 1)))


def _some_rows(data: Data) -> np.ndarray:
    """All rows with their gaps, or evenly spaced ones if they are many."""
    import numpy as np

    step, done, kept = max(1, -(-data.shape[0] // LEARNED_FROM)), 0, []
    for block in data.blocks(gaps=True):
        kept.append(np.array(block[-done % step :: step]))
        done += len(block)
    return np.concatenate(kept)
