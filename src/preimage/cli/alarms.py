"""Alarms of a run, each with the sensor that explains it: found in rows, listed as CSV or JSON, and summarised."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from preimage import Monitor
from preimage.io.atomic import written
from preimage.io.spreadsheets import harmless

ENOUGH = 20  # alarms in a summary


class Alarm(NamedTuple):
    """A line of the list; unknown values are None."""

    row: int
    alarm: str
    """T2, SPE, both, constant (a constant sensor has changed), missing or unreadable."""
    T2: float | None = None
    SPE: float | None = None
    p_value: float | None = None
    sensor: str | None = None
    contribution: float | None = None
    reading: float | None = None
    expected: float | None = None
    carried: tuple[str, ...] = ()
    """The cells of the row that are not readings, such as its time."""


Write = Callable[[Alarm], None]


def alarms_of(
    monitor: Monitor, run: Any, rows: np.ndarray, first: int, carried: Sequence[tuple[str, ...]]
) -> Iterator[Alarm]:
    """The alarms among the next rows of a run; rows with gaps are alarms, and are left out of the run."""
    complete = np.isfinite(rows).all(axis=1)
    found = {place: _missing(monitor, rows[place]) for place in np.flatnonzero(~complete).tolist()}
    if complete.any():
        found |= _explained(monitor, run, rows[complete], np.flatnonzero(complete))
    for place in sorted(found):
        yield found[place]._replace(row=first + place, carried=carried[place])


def unreadable(monitor: Monitor, row: int, wrong: int | None, carried: tuple[str, ...]) -> Alarm:
    """The alarm of a line that is not a row; ``wrong`` is the cell that cannot be read, if it is only one."""
    return Alarm(row, "unreadable", sensor=None if wrong is None else monitor.columns_[wrong], carried=carried)


def _missing(monitor: Monitor, row: np.ndarray) -> Alarm:
    return Alarm(0, "missing", sensor=monitor.columns_[int(np.argmin(np.isfinite(row)))])


def _explained(monitor: Monitor, run: Any, rows: np.ndarray, places: np.ndarray) -> dict[int, Alarm]:
    values = run.extend(rows)
    index = monitor.calibration_.reference.index(values)
    over = np.flatnonzero(index > 1)
    if not len(over):
        return {}
    p_values, explanation = monitor.calibration_.reference.p_values(index), run.explain(over)
    found = {}
    for number, row in enumerate(over):
        sensor = int(np.argmax(explanation.contributions[number]))
        contribution, reading, expected = (float(part[number, sensor]) for part in explanation)
        t2, spe = map(float, values[row])
        kind, name = _kind(values[row], monitor.limits_), monitor.columns_[sensor]
        found[int(places[row])] = Alarm(0, kind, t2, spe, float(p_values[row]), name, contribution, reading, expected)
    return found


def _kind(values: np.ndarray, limits: Any) -> str:
    if np.isinf(values[1]):
        return "constant"
    over = values > np.array(limits)
    return "both" if over.all() else ("T2", "SPE")[int(over.argmax())]


def summary(alarms: list[Alarm], n_rows: int, carried: Sequence[str]) -> dict[str, Any]:
    """The number of alarms, the first ones, and the sensors named most often."""
    sensors = Counter(alarm.sensor for alarm in alarms if alarm.sensor).most_common(5)
    return {
        "rows": n_rows,
        "alarms": len(alarms),
        "first_alarm": alarms[0].row if alarms else None,
        "sensors": dict(sensors),
        "first_alarms": [_for_json(alarm, carried) for alarm in alarms[:ENOUGH]],
    }


@contextmanager
def complete_list(output: str | None, carried: Sequence[str], *, force: bool) -> Iterator[Write]:
    """A function that writes alarms to a file, which appears when it is complete, or to standard output."""
    if output is None or output == "-":
        yield _as_csv(sys.stdout, carried)
        return
    with written(output, overwrite=force) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield _as_csv(file, carried)


@contextmanager
def growing_list(output: str | None, carried: Sequence[str], *, force: bool, as_json: bool) -> Iterator[Write]:
    """A function that writes each alarm immediately, to standard output or to a growing file; in JSON, one per line."""
    form = _as_json if as_json else _as_csv
    if output is None or output == "-":
        yield form(sys.stdout, carried)
        return
    with Path(output).open("w" if force else "x", encoding="utf-8", newline="") as file:
        yield form(file, carried)


def _as_csv(file: TextIO, carried: Sequence[str]) -> Write:
    writer = csv.writer(file, lineterminator="\n")
    first, *rest, _ = Alarm._fields
    writer.writerow([first, *harmless(carried), *rest])
    file.flush()

    def write(alarm: Alarm) -> None:
        row, *values, cells = alarm
        writer.writerow([row, *harmless(cells), *harmless("" if value is None else _short(value) for value in values)])
        file.flush()

    return write


def _as_json(file: TextIO, carried: Sequence[str]) -> Write:
    def write(alarm: Alarm) -> None:
        file.write(json.dumps(_for_json(alarm, carried), ensure_ascii=False) + "\n")
        file.flush()

    return write


def _for_json(alarm: Alarm, carried: Sequence[str]) -> dict[str, Any]:
    facts = {name: json_number(value) for name, value in alarm._asdict().items() if name != "carried"}
    return facts | ({"carried": dict(zip(carried, alarm.carried, strict=True))} if carried else {})


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def json_number(value: Any) -> Any:
    """A value that JSON can hold: None in place of an infinite number."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
