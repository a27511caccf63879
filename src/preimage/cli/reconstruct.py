"""``preimage reconstruct``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@click.option("--codes", is_flag=True, help="INPUT holds codes, as `preimage transform` writes them.")
@shared_options
def reconstruct(model: str, input: str, output: str, codes: bool, force: bool, as_json: bool) -> Told:
    """What the components of the model in the file MODEL keep of the rows of INPUT, in the form of INPUT."""
    from preimage import data_files
    from preimage.cli.apply import check_columns, load_model, write_answers

    fitted, data = load_model(model, "inverse_transform"), data_files.read(input)
    if codes:
        names = getattr(fitted, "feature_names_in_", None)
        form = data_files.Form(columns=None if names is None else tuple(names), key=data.form.key)
        return write_answers(data, fitted.inverse_transform, output, form, force=force)
    check_columns(fitted, data)
    return write_answers(
        data,
        lambda rows: fitted.inverse_transform(fitted.transform(rows)),
        output,
        data.form,
        force=force,
    )
