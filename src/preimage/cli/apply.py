"""A model from a file applied to the rows of another, block by block: ``transform``, ``reconstruct``, ``score``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from preimage.cli import common
from preimage.cli.common import CommandResult, counted, file_facts

if TYPE_CHECKING:
    import numpy as np

    from preimage.io import Data, Form, Reading
    from preimage.io.stores import Store

Answer = Callable[["np.ndarray"], "np.ndarray"]
CODES = "INPUT holds codes, as `preimage transform` writes them."


@contextmanager
def opened_for(
    verb: str, model: str, input: str, reading: Reading, scheduler: str | None, *, codes: bool = False
) -> Iterator[tuple[Any, Data | Store]]:
    """A fitted model with this method, and rows of the columns that it was fitted on, or of its codes."""
    from preimage.io.stores import opened

    fitted = load_model(model, verb)
    known = fitted.get_feature_names_out() if codes else getattr(fitted, "feature_names_in_", None)
    expected = None if known is None or reading.columns is not None else tuple(map(str, known))
    with opened(input, scheduler, replace(reading, expected=expected)) as data:
        if not codes:
            check_width(fitted, data)
        yield fitted, data


def load_model(path: str, verb: str | None = None) -> Any:
    """The fitted model in a file; refuses one that is not fitted, or lacks the method ``verb``."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from preimage import load

    model = load(path)
    if verb is not None and not hasattr(model, verb):
        raise ValueError(f"{path} holds a {type(model).__name__}, which has no {verb}.")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(f"{path} holds a {type(model).__name__} that has not been fitted.") from error
    return model


def check_width(model: Any, data: Data | Store) -> None:
    """Refuse rows that do not have as many columns as the model was fitted on."""
    if data.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{data.name} has {data.shape[1]} columns, but the model was fitted on {model.n_features_in_}."
        )


def answered(
    data: Data | Store, answer: Answer, *, gaps: bool = False, columns: Any = slice(None)
) -> Iterator[np.ndarray]:
    """The results for the blocks of rows, with progress; only these ``columns`` must be finite."""
    from preimage import progress

    done = 0
    progress.report("rows", done, data.shape[0])
    for block in data.answered(answer) if hasattr(data, "answered") else map(answer, data.blocks(gaps=gaps)):
        check_finite(block[:, columns], data.name, done)
        yield block
        done += len(block)
        progress.report("rows", done, data.shape[0])


def check_finite(block: np.ndarray, name: str, done: int) -> None:
    """Refuse results that are not finite; ``done`` rows came before them."""
    import numpy as np

    bad = ~np.isfinite(block).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{name}: the result for row {done + bad.argmax() + 1} is not finite, because its numbers are too large."
        )


def write_answers(
    data: Data | Store,
    answer: Answer,
    output: str,
    form: Form,
    *,
    force: bool,
    gaps: bool = False,
    columns: Any = slice(None),
) -> CommandResult:
    """Write the results of a model; with ``gaps``, rows may have gaps, and only these ``columns`` must be finite."""
    from preimage import io

    width = 0

    def measured() -> Iterator[np.ndarray]:
        nonlocal width
        for block in answered(data, answer, gaps=gaps, columns=columns):
            width = block.shape[1]
            yield block

    with io.writing(output, form, overwrite=force) as write:
        write(measured())
    facts = file_facts(data, output) | {"columns": width, "carried": list(form.carried)}
    return CommandResult(facts, f"wrote {output}: {counted(data.shape[0], 'row')} of {counted(width, 'column')}")


def _applies(verb: str, *own_options: common.Decorator) -> Callable[[Callable], click.Command]:
    """Turn a function that returns how to compute results, and their form, into a command MODEL INPUT -o OUTPUT."""
    parts: list[common.Decorator] = [click.argument("model"), click.argument("input"), common.output_option()]
    parts += [common.table_options, common.safe_csv_option, common.scheduler_option, common.shared_options]

    def command(respond: Callable) -> click.Command:
        @wraps(respond)
        def run(model, input, output, reading, scheduler, force, as_json, **own) -> CommandResult:
            with opened_for(verb, model, input, reading, scheduler, **own) as (fitted, data):
                answer, form = respond(fitted, data, **own)
                return write_answers(data, answer, output, form, force=force)

        callback: Callable = run
        for part in reversed([*parts, *own_options]):
            callback = part(callback)
        return click.command(respond.__name__, cls=common.Command)(callback)

    return command


@_applies("transform")
def transform(model: Any, data: Data | Store) -> tuple[Answer, Form]:
    """Compute the codes of the rows of INPUT with the model in the file MODEL."""
    return model.transform, data.form.with_columns(*map(str, model.get_feature_names_out()))


@_applies("inverse_transform", click.option("--codes", is_flag=True, help=CODES))
def reconstruct(model: Any, data: Data | Store, codes: bool) -> tuple[Answer, Form]:
    """Project the rows of INPUT onto the components of the model in the file MODEL, and map them back."""
    if not codes:
        return lambda rows: model.inverse_transform(model.transform(rows)), data.form
    names = getattr(model, "feature_names_in_", None)
    names = [f"column_{number}" for number in range(1, model.n_features_in_ + 1)] if names is None else names
    return model.inverse_transform, data.form.with_columns(*map(str, names))


@_applies("score_samples")
def score(model: Any, data: Data | Store) -> tuple[Answer, Form]:
    """Score every row of INPUT by minus its squared distance to the subspace of the model in the file MODEL.

    The lower the score, the less a row resembles those that the model was fitted on.
    """
    return lambda rows: model.score_samples(rows)[:, None], data.form.with_columns("score")
