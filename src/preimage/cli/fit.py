"""``preimage fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from preimage.cli.common import (
    Command,
    CommandResult,
    counted,
    file_facts,
    output_option,
    scale_option,
    scheduler_option,
    seed_option,
    shared_options,
    table_options,
)
from preimage.cli.options import APPROXIMATION, COMPONENTS, KERNEL, METHOD, n_components

if TYPE_CHECKING:
    from preimage.io import Reading

EXACT = 5000  # the most rows for an exact model by default
LANDMARKS = 1000
FEWEST_LANDMARKS = 50  # for rows so wide that few fit into memory


@click.command("fit", cls=Command)
@click.argument("input")
@output_option("The model file to write, .npz.")
@click.option(
    "--components",
    type=COMPONENTS,
    default="0.8",
    show_default=True,
    help="The number to keep, or the share of the variance; auto keeps the few that exceed chance.",
)
@click.option(
    "--kernel", type=KERNEL, default="gaussian", show_default=True, help="The kernel, such as polynomial:degree=2."
)
@click.option(
    "--approximation",
    type=APPROXIMATION,
    default="auto",
    show_default=True,
    help=f"auto takes {LANDMARKS} landmarks for more than {EXACT} rows.",
)
@click.option("--preimage", type=METHOD, default="auto", show_default=True, help="The method, such as learned.")
@scale_option("for tables, but not for arrays and images")
@table_options
@scheduler_option
@seed_option
@shared_options
def command(
    input: str,
    output: str,
    components: Any,
    kernel: Any,
    approximation: Any,
    preimage: Any,
    scale: str,
    reading: Reading,
    scheduler: str | None,
    seed: int,
    force: bool,
    as_json: bool,
) -> CommandResult:
    """Fit kernel PCA to the rows of INPUT, and save the model for transform, reconstruct, impute and score."""
    from preimage import KernelPCA, Standardised
    from preimage.io import models
    from preimage.io.atomic import written
    from preimage.io.stores import opened

    if output == "-":
        raise click.UsageError("a model file cannot go to standard output: name a file with -o.")
    if Path(output).suffix.lower() != ".npz" and not Path(output).is_dir():
        raise click.UsageError(f"{output}: a model file ends in .npz.")
    with opened(input, scheduler, reading) as data:
        if approximation == "auto":
            approximation = _automatic(data)
        model = KernelPCA(
            n_components(components), kernel=kernel, approximation=approximation, preimage=preimage, random_state=seed
        )
        fitted = Standardised(model) if is_scaled(data, scale) else model
        with written(output, overwrite=force) as unfinished:
            fitted.fit(data.to_fit())
            keep_names(fitted, data.form.columns)
            models.save(fitted, unfinished)
        return _result(fitted, data, output)


def is_scaled(data: Any, scale: str) -> bool:
    """Whether to standardise the columns, as auto does for tables."""
    from preimage.io import Data

    if scale == "standard" and not isinstance(data, Data):
        raise click.UsageError(f"--scale standard needs a file of rows, but {data.name} is a store of arrays.")
    return scale == "standard" or (scale == "auto" and isinstance(data, Data) and data.form.table is not None)


def _automatic(data: Any) -> int | None:
    """The number of landmarks for many rows, at most as many as fit into memory if they are wide; else None."""
    from preimage.io.base import LARGE

    if getattr(data, "is_large", False):
        return int(min(LANDMARKS, max(FEWEST_LANDMARKS, LARGE // (16 * data.shape[1]))))
    return LANDMARKS if data.shape[0] > EXACT else None


def keep_names(model: Any, columns: tuple[str, ...] | None) -> None:
    """Store the names of columns as scikit-learn does, so that rows with other columns can be refused."""
    import numpy as np

    if columns is not None:
        model.feature_names_in_ = np.array(columns, dtype=object)


def _result(model: Any, data: Any, output: str) -> CommandResult:
    share = float(model.explained_variance_ratio_.sum())
    approximation = getattr(model, "model", model).approximation
    facts = file_facts(data, output) | {
        "components": int(model.n_components_),
        "explained_variance": share,
        "kernel": repr(model.kernel_),
        "approximation": None if approximation is None else str(approximation),
        "standardised": hasattr(model, "scaling_"),
    }
    words = (
        f"wrote {output}: {counted(model.n_components_, 'component')} with {share:.1%} of the variance of "
        f"{counted(data.shape[0], 'row')} of {counted(data.shape[1], 'column')}"
        f"{', standardised' if facts['standardised'] else ''}, {model.kernel_!r}"
    )
    return CommandResult(facts, words)
