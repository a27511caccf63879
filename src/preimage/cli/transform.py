"""``preimage transform``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, scheduler_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@scheduler_option
@shared_options
def transform(model: str, input: str, output: str, scheduler: str | None, force: bool, as_json: bool) -> Told:
    """Codes of the rows of INPUT by the model in the file MODEL."""
    from preimage.cli.apply import check_columns, load_model, write_answers
    from preimage.data_files.stores import opened

    fitted = load_model(model, "transform")
    with opened(input, scheduler) as data:
        check_columns(fitted, data)
        form = data.form.with_columns(*map(str, fitted.get_feature_names_out()))
        return write_answers(data, fitted.transform, output, form, force=force)
