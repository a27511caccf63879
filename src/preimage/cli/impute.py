"""``preimage impute``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from preimage.cli import common
from preimage.cli.common import CommandResult, counted

if TYPE_CHECKING:
    from preimage.io import Reading


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
    from preimage.cli.impute_run import filling_of
    from preimage.io import read

    if input is not None:
        with opened_for("impute", model, input, reading, scheduler) as (fitted, data):
            return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
    if scheduler is not None:
        raise click.UsageError("--scheduler needs a MODEL: an Imputer learns on this machine.")
    arrays = Path(output).suffix.lower() in (".npy", ".npz")  # which hold no text
    data = read(model, replace(reading, categories=not arrays))
    filling = filling_of(data, seed)
    result = write_answers(
        filling.data, filling.answer, output, data.form, force=force, gaps=True, columns=filling.known
    )
    words = f"{result.words}, {counted(filling.facts['gaps'], 'gap')} filled{filling.words}"
    return CommandResult(result.facts | filling.facts, words)
