"""The page of ``preimage monitor``: charts, alarms, sensors, limits, and the same in Python."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from preimage import Monitor, plot
from preimage.cli.alarms import Alarm
from preimage.cli.common import counted
from preimage.plot.style import page_axes
from preimage.report import Code, Page, Picture, Section, Table, Text

WIDTH = 6.2  # inches of a picture
MOST = 30  # episodes in the table
SHOWN = 3  # episodes with a picture of their sensors
STATISTICS = ("T2", "SPE", "both")

Episode = list[Alarm]  # alarms in consecutive rows, all by statistics or all of one other kind


def page(
    monitor: Monitor, rows: np.ndarray, alarms: list[Alarm], labels: list[str] | None, facts: dict[str, Any], code: str
) -> Page:
    """The page of a complete run; ``labels`` are the times of its rows, or None."""
    complete = np.isfinite(rows).all(axis=1)
    found = episodes(alarms)
    sections = [
        Section("The run", [_chart(monitor, rows, complete, labels)]),
        Section("Alarms", _alarms(found, labels)),
    ]
    explained = sorted((episode for episode in found if episode[0].contribution is not None), key=len)[-SHOWN:]
    if explained:
        sections.append(Section("Which sensor", _sensors(monitor, rows, complete, labels, explained[::-1])))
    sections += [Section("Limits", _limits(monitor, facts)), Section("The same in Python", [Code(code)])]
    share = f"{facts['alarms']} of {counted(facts['rows'], 'row')}" if alarms else f"none of {facts['rows']} rows"
    lead = (
        f"{facts['new']}, compared with {facts['normal']}: alarms in {share}. "
        f"In normal operation {100 * facts['alpha']:g} % of all rows raise a false alarm."
    )
    return Page("Process monitoring", lead, sections)


def episodes(alarms: list[Alarm]) -> list[Episode]:
    """Alarms grouped by consecutive rows; missing readings and changed constants form separate groups."""
    starts = [0] + [number for number, pair in enumerate(pairwise(alarms), 1) if not _together(*pair)]
    return [alarms[start:stop] for start, stop in pairwise([*starts, len(alarms)]) if stop > start]


def _together(first: Alarm, second: Alarm) -> bool:
    if second.row != first.row + 1:
        return False
    if first.alarm in STATISTICS:
        return second.alarm in STATISTICS
    return (first.alarm, first.sensor) == (second.alarm, second.sensor)


def _chart(monitor: Monitor, rows: np.ndarray, complete: np.ndarray, labels: list[str] | None) -> Picture | Text:
    if not complete.any():
        return Text("Every row has a gap, so no statistic can be computed.")
    axes = plot.chart(
        monitor, rows[complete], page_axes(2, 1, (WIDTH, 4.4)).ravel(), time=_times(labels, len(rows))[complete]
    )
    gaps = "" if complete.all() else f" {counted(int((~complete).sum()), 'row')} with gaps left out."
    return Picture(axes[0].figure, f"Both statistics over time. A row above a dashed line raises an alarm.{gaps}")


def _times(labels: list[str] | None, n_rows: int) -> np.ndarray:
    """The times of the rows, or their numbers if no times can be read."""
    try:
        times = [datetime.fromisoformat(label).replace(tzinfo=None) for label in labels or ()]
    except ValueError:
        times = []
    return np.array(times) if times else np.arange(1, n_rows + 1)


def _alarms(found: list[Episode], labels: list[str] | None) -> list[Any]:
    if not found:
        return [Text("None.")]
    lines = [[*_span(episode, labels), *_most_named(episode)] for episode in found[:MOST]]
    times = [] if labels is None else ["time"]
    more = f" The first {MOST} of {len(found)} are shown." if len(found) > MOST else ""
    caption = f"Consecutive alarms share a line: first time, sensor named most often, its reading.{more}"
    return [Table(["rows", *times, "alarm", "sensor", "reading", "expected"], lines, caption)]


def _span(episode: Episode, labels: list[str] | None) -> list[str]:
    first, last = episode[0].row, episode[-1].row
    rows = str(first) if first == last else f"{first}–{last}"
    return [rows] if labels is None else [rows, _unbroken(labels[first - 1])]


def _unbroken(label: str) -> str:
    """The label with non-breaking spaces and hyphens."""
    return label.replace(" ", "\u00a0").replace("-", "\u2011")


def _most_named(episode: Episode) -> list[Any]:
    named = [alarm.sensor for alarm in episode]
    shown = episode[named.index(max(named, key=named.count))]
    return [shown.alarm.replace("T2", "T²"), shown.sensor, shown.reading, shown.expected]


def _sensors(
    monitor: Monitor, rows: np.ndarray, complete: np.ndarray, labels: list[str] | None, found: Sequence[Episode]
) -> list[Any]:
    """The sensors in the row of each episode with the largest contribution."""
    reason = (
        "A bar shows by how much the statistics would fall if this sensor alone were corrected. The numbers are its "
        "reading, and the reading expected from all other sensors."
    )
    places = np.cumsum(complete) - 1
    blocks: list[Any] = [Text(reason)]
    for episode in found:
        worst = max(episode, key=lambda alarm: alarm.contribution or 0)
        ax = plot.contributions(
            monitor, rows[complete], int(places[worst.row - 1]), page_axes(1, 1, (WIDTH, 3.0))[0, 0]
        )
        when = "" if labels is None else f", {labels[worst.row - 1]}"
        run = f", the largest contribution in rows {_span(episode, None)[0]}" if len(episode) > 1 else ""
        blocks.append(Picture(ax.figure, f"Row {worst.row}{when}{run}."))
    return blocks


def _limits(monitor: Monitor, facts: dict[str, Any]) -> list[Any]:
    values = {
        "false-alarm rate, T² and SPE together": facts["alpha"],
        "limit of T²": facts["limit_T2"],
        "limit of SPE": facts["limit_SPE"],
        "average run length, in rows": facts["average_run_length"],
        "kernel": facts["kernel"],
        "components": facts["components"],
        "lags": facts["lags"],
        "memory": "none" if monitor.memory is None else str(monitor.memory),
    }
    unseen = (
        "training rows, so false alarms are more frequent than stated"
        if monitor.limits == "training"
        else "normal rows that the model has not seen"
    )
    reason = (
        "T² is the distance of a row from the centre of normal operation, in standard deviations along the patterns in "
        "which normal rows vary. SPE is its distance from any such pattern. "
        f"The limits come from {unseen}. The average run length is the number of normal rows from one false alarm to "
        "the next."
    )
    return [Text(reason), Table(["", ""], [[name, value] for name, value in values.items() if value is not None])]
