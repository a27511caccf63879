"""``preimage score``."""

from __future__ import annotations

import click

from preimage.cli.common import Command, Told, output_option, scheduler_option, shared_options


@click.command(cls=Command)
@click.argument("model")
@click.argument("input")
@output_option()
@scheduler_option
@shared_options
def score(model: str, input: str, output: str, scheduler: str | None, force: bool, as_json: bool) -> Told:
    """One number a row of INPUT: minus its squared distance to the subspace of the model in the file MODEL.

    The lower, the less a row is like those that the model was fitted on.
    """
    from preimage.cli.apply import check_columns, load_model, write_answers
    from preimage.data_files.stores import opened

    fitted = load_model(model, "score_samples")
    with opened(input, scheduler) as data:
        check_columns(fitted, data)
        form = data.form.with_columns("score")
        return write_answers(data, lambda rows: fitted.score_samples(rows)[:, None], output, form, force=force)
