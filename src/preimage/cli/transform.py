"""``preimage transform``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@shared_options
def transform(model: str, input: str, output: str, force: bool, as_json: bool) -> Told:
    """Codes of the rows of INPUT by the model in the file MODEL."""
    from preimage import data_files
    from preimage.cli.apply import check_columns, load_model, write_answers

    fitted, data = load_model(model, "transform"), data_files.read(input)
    check_columns(fitted, data)
    form = data.form.with_columns(*map(str, fitted.get_feature_names_out()))
    return write_answers(data, fitted.transform, output, form, force=force)
