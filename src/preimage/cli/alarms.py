"""What ``preimage monitor`` does: fit, score rows in blocks or line by line, and list alarms."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from preimage import Monitor, io, progress
from preimage.cli.apply import check_width, load_model
from preimage.cli.common import CommandResult, counted
from preimage.exceptions import ModelFileError
from preimage.io import delimited, models
from preimage.io.atomic import written

HEADER = ("row", "alarm", "T2", "SPE", "p_value", "sensor", "contribution", "reading", "expected")
BLOCK = 1000  # rows of a file that are scored at once
ENOUGH = 20  # alarms in words and in JSON


class Alarm(NamedTuple):
    """A line of the list; what is not known is None."""

    row: int
    alarm: str
    """T2, SPE, both, constant (a sensor that never moved does), missing or unreadable."""
    T2: float | None = None
    SPE: float | None = None
    p_value: float | None = None
    sensor: str | None = None
    contribution: float | None = None
    reading: float | None = None
    expected: float | None = None


@dataclass(frozen=True)
class FittedMonitor:
    """A fitted monitor, and the file that it came from."""

    name: str
    monitor: Monitor
    from_file: bool = False

    def facts(self) -> dict[str, Any]:
        """For a program."""
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
            "average_run_length": _finite(self.monitor.run_length_),
        }

    def words(self) -> str:
        """For a person."""
        model = self.monitor.model_
        return (
            f"{model.kernel_!r}, {counted(model.n_components_, 'component')}, false-alarm rate {self.monitor.alpha:g}"
        )


def fitted_monitor(
    normal: str, save: str | None, make: Callable[[], Monitor], *, settings: list[str], force: bool
) -> FittedMonitor:
    """The monitor of a model file, or one fitted on the rows of a table and kept where it shall be.

    ``settings`` of a fit are refused where the fit is done.
    """
    if _is_model(normal):
        if settings:
            raise ValueError(
                f"{normal} is fitted already, so that {', '.join(settings)} would change nothing: leave out."
            )
        return FittedMonitor(normal, _as_monitor(load_model(normal, "p_values")), from_file=True)
    data, template = io.read(normal), make()
    with ExitStack() as stack:
        unfinished = save and stack.enter_context(written(save, overwrite=force))
        template.fit(data.whole())
        if data.form.columns is not None:
            template.feature_names_in_ = np.array(data.form.columns, dtype=object)
        if unfinished:
            models.save(template, unfinished)
    return FittedMonitor(normal, template)


def monitor_file(
    model: FittedMonitor, new: str, output: str | None, report: str | None, *, force: bool
) -> CommandResult:
    """ProcessModel the rows of a file, and write the list and the page."""
    known = getattr(model.monitor, "feature_names_in_", None)
    data = io.read(new, io.Reading(expected=None if known is None else tuple(map(str, known))))
    check_width(model.monitor, data)
    rows, alarms = data.whole(gaps=True).astype(float), list[Alarm]()
    with ExitStack() as stack:
        write = stack.enter_context(_list(output, force=force))
        unfinished = report and stack.enter_context(written(report, overwrite=force))
        run = model.monitor.stream()
        for first in range(0, len(rows), BLOCK):
            for alarm in alarms_among(model.monitor, run, rows[first : first + BLOCK], first + 1):
                write(alarm)
                alarms.append(alarm)
            progress.report("rows", min(first + BLOCK, len(rows)), len(rows))
        facts = model.facts() | {"new": data.name, "output": output} | summary(alarms, len(rows))
        if unfinished:
            from preimage.cli.monitor_page import page

            page(model.monitor, rows, alarms, facts).write(unfinished)
    return CommandResult(facts | ({"report": report} if report else {}), _words(facts, output))


def monitor_lines(model: FittedMonitor, output: str | None, *, force: bool) -> None:
    """ProcessModel lines of standard input as they come; what was listed stays listed, whatever ends it."""
    monitor, run = model.monitor, model.monitor.stream()
    lines = delimited.rows_as_they_come(sys.stdin, monitor.n_features_in_)
    with _lines(output, force=force) as file:
        write = _writer(file)
        for number, row in enumerate(lines, 1):
            found = [Alarm(number, "unreadable")] if row is None else alarms_among(monitor, run, row[None], number)
            for alarm in found:
                write(alarm)
                file.flush()


def alarms_among(monitor: Monitor, run: Any, rows: np.ndarray, first: int) -> Iterator[Alarm]:
    """The alarms among the next rows of a run; rows with gaps are alarms themselves, and are left out of the run."""
    whole = np.isfinite(rows).all(axis=1)
    found = dict(_explained(monitor, run, rows[whole], np.flatnonzero(whole) + first)) if whole.any() else {}
    for place in np.flatnonzero(~whole).tolist():
        sensor = monitor.columns_[int(np.argmin(np.isfinite(rows[place])))]
        found[first + place] = Alarm(first + place, "missing", sensor=sensor)
    yield from (found[row] for row in sorted(found))


def _explained(monitor: Monitor, run: Any, rows: np.ndarray, numbers: np.ndarray) -> Iterator[tuple[int, Alarm]]:
    values = run.extend(rows)
    index = monitor.calibration_.reference.index(values)
    over = np.flatnonzero(index > 1)
    if not len(over):
        return
    p_values, told = monitor.calibration_.reference.p_values(index), run.explain(over)
    for place, row in enumerate(over):
        column = int(np.argmax(told.contributions[place]))
        numbered = [*values[row], p_values[row], *(part[place, column] for part in told)]
        t2, spe, p_value, contribution, reading, expected = map(float, numbered)
        yield (
            int(numbers[row]),
            Alarm(
                int(numbers[row]),
                _kind(values[row], monitor.limits_),
                t2,
                spe,
                p_value,
                monitor.columns_[column],
                contribution,
                reading,
                expected,
            ),
        )


def summary(alarms: list[Alarm], n_rows: int) -> dict[str, Any]:
    """How many alarms, since when, and which sensors."""
    sensors = Counter(alarm.sensor for alarm in alarms if alarm.sensor).most_common(5)
    return {
        "rows": n_rows,
        "alarms": len(alarms),
        "first_alarm": alarms[0].row if alarms else None,
        "sensors": dict(sensors),
        "first_alarms": [{key: _finite(value) for key, value in alarm._asdict().items()} for alarm in alarms[:ENOUGH]],
    }


def _kind(values: np.ndarray, limits: Any) -> str:
    if np.isinf(values[1]):
        return "constant"
    over = values > np.array(limits)
    return "both" if over.all() else ("T2", "SPE")[int(over.argmax())]


def _words(facts: dict[str, Any], output: str | None) -> str:
    share = f"{facts['alarms']} of {counted(facts['rows'], 'row')}"
    if not facts["alarms"]:
        return f"wrote {output}: no alarm in {counted(facts['rows'], 'row')}"
    sensors = ", ".join(f"{name} ({number})" for name, number in facts["sensors"].items())
    return f"wrote {output}: alarms in {share}, the first in row {facts['first_alarm']}; sensors: {sensors}"


@contextmanager
def _list(output: str | None, *, force: bool) -> Iterator[Any]:
    """A function that writes alarms to a file that appears when it is complete, or to standard output."""
    if output is None or output == "-":
        yield _writer(sys.stdout)
        return
    with written(output, overwrite=force) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield _writer(file)


@contextmanager
def _lines(output: str | None, *, force: bool) -> Iterator[TextIO]:
    """A file that grows line by line."""
    if output is None or output == "-":
        yield sys.stdout
        return
    with Path(output).open("w" if force else "x", encoding="utf-8", newline="") as file:
        yield file


def _writer(file: TextIO) -> Any:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    file.flush()
    return lambda alarm: writer.writerow(["" if value is None else _short(value) for value in alarm])


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _finite(value: Any) -> Any:
    """A number that JSON knows."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _is_model(path: str) -> bool:
    if Path(path).suffix.lower() != ".npz" or not Path(path).is_file():
        return False
    try:
        models.describe(path)
    except ModelFileError:
        return False
    return True


def _as_monitor(model: Any) -> Monitor:
    if not isinstance(model, Monitor):
        raise ValueError(f"the model file holds a {type(model).__name__}, and not a Monitor.")
    return model
