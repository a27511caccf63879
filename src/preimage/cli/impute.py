"""``preimage impute``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from preimage.cli import common
from preimage.cli.common import CommandResult, counted

if TYPE_CHECKING:
    import numpy as np

    from preimage.io import Data, Reading

LEARNED_FROM = 20_000  # rows of a large file


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

    Without a MODEL, an Imputer learns from the rows of INPUT, which may have gaps everywhere, also in columns of text
    with few levels. With a MODEL that `fit` wrote, that model fills the gaps in columns of numbers.
    """
    from preimage.cli.apply import opened_for, write_answers

    if input is not None:
        with opened_for("impute", model, input, reading, scheduler) as (fitted, data):
            return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
    if scheduler is not None:
        raise click.UsageError("--scheduler needs a MODEL: an Imputer learns on this machine.")
    arrays = Path(output).suffix.lower() in (".npy", ".npz")  # which hold no text
    imputer, data, n_gaps = _learned(model, replace(reading, categories=not arrays), seed)
    result = write_answers(data, imputer.transform, output, data.form, force=force, gaps=True)
    return CommandResult(
        result.facts | _facts(imputer, data, n_gaps), f"{result.words}, {counted(n_gaps, 'gap')} filled"
    )


def _learned(input: str, reading: Reading, seed: int) -> tuple[Any, Data, int]:
    """An imputer fitted to the rows of a file, the rows, and how many gaps they have."""
    import numpy as np

    from preimage import Imputer
    from preimage.io import read

    data = read(input, reading)
    n_gaps = sum(int(np.isnan(block).sum()) for block in data.blocks(gaps=True))
    categories = () if data.form.table is None else data.form.table.categories
    levels = list(range(data.shape[1] - len(categories), data.shape[1]))
    imputer = Imputer(categorical=levels or None, keep_empty_features=True, random_state=seed)
    return imputer.fit(_some_rows(data)), data, n_gaps


def _some_rows(data: Data) -> np.ndarray:
    """All rows with their gaps, or evenly spaced ones of many."""
    import numpy as np

    step, done, kept = max(1, -(-data.shape[0] // LEARNED_FROM)), 0, []
    for block in data.blocks(gaps=True):
        kept.append(np.array(block[-done % step :: step]))
        done += len(block)
    return np.concatenate(kept)


def _facts(imputer: Any, data: Data, n_gaps: int) -> dict[str, Any]:
    """What was filled and how well, for a program."""
    names = data.form.columns or tuple(str(number + 1) for number in range(data.shape[1]))
    errors = dict(zip(names, imputer.errors_.tolist(), strict=True))
    categories = (
        [] if data.form.table is None else [data.form.table.name(place) for place in data.form.table.categories]
    )
    return {
        "method": "Imputer",
        "gaps": n_gaps,
        "categories": categories,
        "weights": imputer.weights_,
        "errors": errors,
    }
