"""``preimage reconstruct``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from preimage.cli.common import Command, CommandResult, applies_model

if TYPE_CHECKING:
    from preimage.io import Reading


@click.command("reconstruct", cls=Command)
@applies_model
@click.option("--codes", is_flag=True, help="INPUT holds codes, as `preimage transform` writes them.")
def command(
    model: str,
    input: str,
    output: str,
    codes: bool,
    reading: Reading,
    scheduler: str | None,
    force: bool,
    as_json: bool,
) -> CommandResult:
    """Project the rows of INPUT on the components of the model in the file MODEL, and map them back."""
    from preimage.cli.apply import opened_for, write_answers

    with opened_for("inverse_transform", model, input, reading, scheduler, codes=codes) as (fitted, data):
        if codes:
            names = getattr(fitted, "feature_names_in_", None)
            names = [f"column_{number}" for number in range(1, fitted.n_features_in_ + 1)] if names is None else names
            form = data.form.with_columns(*map(str, names))
            return write_answers(data, fitted.inverse_transform, output, form, force=force)
        return write_answers(
            data,
            lambda rows: fitted.inverse_transform(fitted.transform(rows)),
            output,
            data.form,
            force=force,
        )
