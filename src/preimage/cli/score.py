"""``preimage score``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@shared_options
def score(model: str, input: str, output: str, force: bool, as_json: bool) -> Told:
    """One number a row of INPUT: minus its squared distance to the subspace of the model in the file MODEL.

    The lower, the less a row is like those that the model was fitted on.
    """
    from preimage import data_files
    from preimage.cli.apply import check_columns, load_model, write_answers

    fitted, data = load_model(model, "score_samples"), data_files.read(input)
    check_columns(fitted, data)
    form = data.form.with_columns("score")
    return write_answers(data, lambda rows: fitted.score_samples(rows)[:, None], output, form, force=force)
