"""A model from a file applied to the rows of another, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from preimage.cli.common import Told, counted

if TYPE_CHECKING:
    import numpy as np

    from preimage.data_files import Data, Form
    from preimage.data_files.stores import Store

Answer = Callable[["np.ndarray"], "np.ndarray"]


@contextmanager
def opened_for(verb: str, model: str, input: str, scheduler: str | None) -> Iterator[tuple[Any, Data | Store]]:
    """A fitted model that has the verb, and rows of the columns that it was fitted on."""
    from preimage.data_files.stores import opened

    fitted = load_model(model, verb)
    with opened(input, scheduler) as data:
        check_columns(fitted, data)
        yield fitted, data


def load_model(path: str, verb: str) -> Any:
    """A fitted model that has the verb, or a sentence."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from preimage import load

    model = load(path)
    if not hasattr(model, verb):
        raise ValueError(f"{path} holds a {type(model).__name__}, which has no {verb}.")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ValueError(f"{path} holds a {type(model).__name__} that has not been fitted.") from error
    return model


def check_columns(model: Any, data: Data | Store) -> None:
    """Refuse rows of another width, or with columns of other names, than the model was fitted on."""
    if data.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{data.name} has {data.shape[1]} columns, and the model was fitted on {model.n_features_in_}."
        )
    known = getattr(model, "feature_names_in_", None)
    if known is None or data.form.columns is None:
        return
    for number, (found, expected) in enumerate(zip(data.form.columns, known, strict=True), 1):
        if found != expected:
            raise ValueError(
                f"{data.name}: column {number} is {found!r}, and the model was fitted on {expected!r} there."
            )


def answered(data: Data | Store, answer: Answer, *, gaps: bool = False) -> Iterator[np.ndarray]:
    """The answers to the blocks of rows, with progress."""
    from preimage import progress

    done = 0
    progress.report("rows", done, data.shape[0])
    for block in data.answered(answer) if hasattr(data, "answered") else map(answer, data.blocks(gaps=gaps)):
        yield block
        done += len(block)
        progress.report("rows", done, data.shape[0])


def write_answers(
    data: Data | Store, answer: Answer, output: str, form: Form, *, force: bool, gaps: bool = False
) -> Told:
    """Write what a model answers."""
    from preimage import data_files

    width = 0

    def measured() -> Iterator[np.ndarray]:
        nonlocal width
        for block in answered(data, answer, gaps=gaps):
            width = block.shape[1]
            yield block

    with data_files.writing(output, form, overwrite=force) as write:
        write(measured())
    facts = {"input": data.name, "output": output, "rows": data.shape[0], "columns": width}
    return Told(facts, f"wrote {output}: {counted(data.shape[0], 'row')} of {counted(width, 'column')}")
