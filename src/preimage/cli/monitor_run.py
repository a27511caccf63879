"""The work of ``preimage monitor``: fit or load a monitor, and list the alarms of a file or of lines as they arrive."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage import Monitor, io, progress
from preimage.cli.alarms import Alarm, alarms_of, complete_list, growing_list, json_number, summary, unreadable
from preimage.cli.apply import check_width, load_model
from preimage.cli.common import CommandResult, counted
from preimage.cli.fit import keep_names
from preimage.exceptions import ConstantColumnWarning, DataFileError, silenced
from preimage.gram import slicing
from preimage.io import Data, Reading, models
from preimage.io.atomic import written
from preimage.io.base import note
from preimage.io.log import Layout, lines_as_they_arrive

BLOCK = 1000  # rows of a file at a time


@dataclass(frozen=True)
class Trained:
    """A fitted monitor, and the file that it came from."""

    name: str
    monitor: Monitor
    from_file: bool = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns that it was fitted on, if they have names."""
        known = getattr(self.monitor, "feature_names_in_", None)
        return None if known is None else tuple(map(str, known))

    @property
    def layout(self) -> Layout:
        """The columns of the table that it was fitted on."""
        names = tuple(self.monitor.columns_)
        return Layout(*getattr(self.monitor, "layout_", (names, tuple(range(len(names))))))

    def facts(self) -> dict[str, Any]:
        """Settings and limits, for a program."""
        model, limits = self.monitor.model_, self.monitor.limits_
        return {
            "normal": self.name,
            "model": self.from_file,
            "alpha": self.monitor.alpha,
            "kernel": repr(model.kernel_),
            "components": int(model.n_components_),
            "lags": self.monitor.lags,
            "limit_T2": float(limits.T2),
            "limit_SPE": float(limits.SPE),
            "average_run_length": json_number(self.monitor.run_length_),
        }

    def words(self) -> str:
        """Settings in words."""
        model = self.monitor.model_
        return (
            f"{model.kernel_!r}, {counted(model.n_components_, 'component')}, false-alarm rate {self.monitor.alpha:g}"
        )


def trained(
    normal: str, save: str | None, make: Callable[[], Monitor], reading: Reading, *, settings: list[str], force: bool
) -> Trained:
    """The monitor in a model file, or one fitted to the rows of a table, and saved if asked for.

    A model file refuses ``settings`` of a fit.
    """
    if models.is_model(Path(normal)):
        if settings:
            raise ValueError(f"{normal} is already fitted, so {', '.join(settings)} would have no effect: omit them.")
        return Trained(normal, load_model(normal, "p_values"), from_file=True)
    data, monitor = io.read(normal, reading), make()
    with written(save, overwrite=force) if save else nullcontext() as unfinished:
        _fit(monitor, data)
        if unfinished:
            models.save(monitor, unfinished)
    return Trained(normal, monitor)


def watch_file(
    model: Trained, new: str, reading: Reading, output: str | None, report: str | None, *, force: bool
) -> CommandResult:
    """List the alarms of a file, and write the page."""
    data = io.read(new, replace(reading, expected=model.names))
    check_width(model.monitor, data)
    rows, carried = data.whole(gaps=True).astype(float), _carried(data)
    with (
        complete_list(output, data.form.carried, force=force) as write,
        written(report, overwrite=force) if report else nullcontext() as unfinished,
    ):
        run, alarms = model.monitor.stream(), list[Alarm]()
        for some in slicing.slices(len(rows), BLOCK):
            for alarm in alarms_of(model.monitor, run, rows[some], some.start + 1, carried[some]):
                write(alarm)
                alarms.append(alarm)
            progress.report("rows", some.stop, len(rows))
        facts = model.facts() | {"new": data.name, "output": output} | summary(alarms, len(rows), data.form.carried)
        if unfinished:
            from preimage.cli.monitor_page import page
            from preimage.cli.python_code import monitoring

            code = monitoring(model, reading, data.name)
            page(model.monitor, rows, alarms, _labels(carried), facts, code).write(unfinished)
    return CommandResult(facts | ({"report": report} if report else {}), _words(facts, output))


def watch_lines(model: Trained, reading: Reading, output: str | None, *, force: bool, as_json: bool) -> None:
    """List the alarms of standard input line by line; the list stays, however the run ends."""
    monitor, layout = model.monitor, model.layout
    run = monitor.stream()
    lines = lines_as_they_arrive(sys.stdin, layout, delimiter=reading.delimiter, missing=reading.missing)
    with growing_list(output, layout.carried, force=force, as_json=as_json) as write:
        for number, line in enumerate(lines, 1):
            if line.row is None:
                write(unreadable(monitor, number, line.wrong, line.carried))
                continue
            for alarm in alarms_of(monitor, run, line.row[None], number, [line.carried]):
                write(alarm)


def _fit(monitor: Monitor, data: Data) -> None:
    """Fit to the complete rows, and keep the names and the places of the columns."""
    with silenced(ConstantColumnWarning):  # the names of the columns are not known yet
        monitor.fit(_complete_rows(data))
    keep_names(monitor, data.form.columns)
    if (table := data.form.table) is not None:
        width = len(table.numbers) + len(table.others)
        monitor.layout_ = tuple(map(table.name, range(width))), table.numbers
    if constant := monitor.constant_columns_:
        note(f"{data.name}: constant: {', '.join(map(repr, constant))}; any later change is an alarm.")


def _complete_rows(data: Data) -> np.ndarray:
    """The rows without gaps; refuses a table in which most rows have gaps."""
    rows = data.whole(gaps=True)
    missing = np.isnan(rows)
    complete = ~missing.any(axis=1)
    if 2 * complete.sum() < len(rows):
        worst = int(missing.sum(axis=0).argmax())
        name = repr(data.form.columns[worst]) if data.form.columns else str(worst + 1)
        raise DataFileError(
            f"{data.name}: {len(rows) - complete.sum()} of {len(rows)} rows have gaps, most in column {name}: leave "
            f"such columns out with --keep, or fill the gaps with `preimage impute`."
        )
    if not complete.all():
        note(f"{data.name}: {counted(int((~complete).sum()), 'row')} of {len(rows)} with gaps left out.")
    return rows[complete]


def _carried(data: Data) -> list[tuple[str, ...]]:
    """The cells of every row that are not readings."""
    if not data.form.carried or data.form.table is None:
        return [()] * data.shape[0]
    return list(data.form.table.carried_rows())


def _labels(carried: list[tuple[str, ...]]) -> list[str] | None:
    """The first column whose cells all differ, such as a time, as the names of the rows."""
    columns = (list(column) for column in zip(*carried, strict=True))
    return next((column for column in columns if len(set(column)) == len(column)), None)


def _words(facts: dict[str, Any], output: str | None) -> str:
    rows = counted(facts["rows"], "row")
    if not facts["alarms"]:
        return f"wrote {output}: no alarm in {rows}"
    sensors = ", ".join(f"{name} ({number})" for name, number in facts["sensors"].items())
    return f"wrote {output}: alarms in {facts['alarms']} of {rows}, first in row {facts['first_alarm']}; {sensors}"
