"""``preimage impute``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@shared_options
def impute(model: str, input: str, output: str, force: bool, as_json: bool) -> Told:
    """The rows of INPUT with their gaps filled by the model in the file MODEL; all other numbers stay as they are."""
    from preimage import data_files
    from preimage.cli.apply import check_columns, load_model, write_answers

    fitted, data = load_model(model, "impute"), data_files.read(input)
    check_columns(fitted, data)
    return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
