"""``preimage impute``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, scheduler_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@scheduler_option
@shared_options
def impute(model: str, input: str, output: str, scheduler: str | None, force: bool, as_json: bool) -> Told:
    """The rows of INPUT with their gaps filled by the model in the file MODEL; all other numbers stay as they are."""
    from preimage.cli.apply import check_columns, load_model, write_answers
    from preimage.data_files.stores import opened

    fitted = load_model(model, "impute")
    with opened(input, scheduler) as data:
        check_columns(fitted, data)
        return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
