"""``preimage reconstruct``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, applies_model


@click.command(cls=Command)
@applies_model
@click.option("--codes", is_flag=True, help="INPUT holds codes, as `preimage transform` writes them.")
def reconstruct(
    model: str, input: str, output: str, codes: bool, scheduler: str | None, force: bool, as_json: bool
) -> Told:
    """What the components of the model in the file MODEL keep of the rows of INPUT, in the form of INPUT."""
    from preimage.cli.apply import check_columns, load_model, write_answers
    from preimage.data_files import Form
    from preimage.data_files.stores import opened

    fitted = load_model(model, "inverse_transform")
    with opened(input, scheduler) as data:
        if codes:
            names = getattr(fitted, "feature_names_in_", None)
            form = Form(columns=None if names is None else tuple(names), key=data.form.key)
            return write_answers(data, fitted.inverse_transform, output, form, force=force)
        check_columns(fitted, data)
        return write_answers(
            data,
            lambda rows: fitted.inverse_transform(fitted.transform(rows)),
            output,
            data.form,
            force=force,
        )
