"""The page of ``preimage monitor``: charts, alarms, sensors, limits, and the lines that do the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import Monitor, plot
from preimage.report import Code, Page, Picture, Section, Table, Text

MOST = 30  # episodes in the table


def page(monitor: Monitor, rows: np.ndarray, alarms: list[Any], facts: dict[str, Any]) -> Page:
    """The page for a run that is done."""
    whole = np.isfinite(rows).all(axis=1)
    sections = [Section("The run", [_chart(monitor, rows[whole], whole)]), Section("Alarms", _alarms(alarms))]
    if any(alarm.T2 is not None for alarm in alarms):
        sections.append(Section("Which sensor", _sensors(monitor, rows[whole], whole, alarms)))
    sections += [
        Section("How the limits were set", _limits(monitor, facts)),
        Section("The same in Python", [Code(_code(monitor, facts))]),
    ]
    told = (
        f"{facts['alarms']} of {facts['rows']} rows raise an alarm" if alarms else f"no alarm in {facts['rows']} rows"
    )
    lead = f"{facts['new']} beside {facts['normal']}: {told}, at a stated false-alarm rate of {facts['alpha']:g}."
    return Page("Process monitoring", lead, sections)


def _figure(width: float, height: float, n_axes: int = 1):
    """Axes of a figure that no window will ever show."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots(n_axes, 1, squeeze=False).ravel()


def _chart(monitor: Monitor, rows: np.ndarray, whole: np.ndarray) -> Picture | Text:
    if not len(rows):
        return Text("No row is complete, so that none can be scored.")
    axes = plot.chart(monitor, rows, _figure(7.4, 4.4, 2))
    gaps = "" if whole.all() else f" {int((~whole).sum())} rows with gaps are left out."
    return Picture(axes[0].figure, f"Both statistics over time; a row above either dashed line is an alarm.{gaps}")


def _alarms(alarms: list[Any]) -> list[Any]:
    if not alarms:
        return [Text("None.")]
    episodes: list[list[Any]] = []
    for alarm in alarms:
        if episodes and alarm.row == episodes[-1][-1].row + 1:
            episodes[-1].append(alarm)
        else:
            episodes.append([alarm])
    lines = []
    for episode in episodes[:MOST]:
        named = [alarm.sensor for alarm in episode if alarm.sensor]
        sensor = max(set(named), key=named.count) if named else None
        shown = next((alarm for alarm in episode if alarm.sensor == sensor), episode[0])
        lines.append([episode[0].row, episode[-1].row, shown.alarm, sensor, shown.reading, shown.expected])
    more = f" The first {MOST} of {len(episodes)} are shown." if len(episodes) > MOST else ""
    caption = f"Alarms in consecutive rows are one line, with the sensor named most often.{more}"
    return [Table(["from row", "to row", "statistic", "sensor", "reading", "expected"], lines, caption)]


def _sensors(monitor: Monitor, rows: np.ndarray, whole: np.ndarray, alarms: list[Any]) -> list[Any]:
    """The row farthest from its limits."""
    places = np.cumsum(whole) - 1
    worst = max((a for a in alarms if a.T2 is not None), key=lambda a: (1 - a.p_value, a.contribution))
    ax = plot.contributions(monitor, rows, int(places[worst.row - 1]), _figure(7.4, 3.4)[0])
    reason = (
        "A bar shows by how much the statistics would fall if that sensor alone were set right. Beside it stand what "
        "the sensor reads and what it would read if all others are right."
    )
    return [Text(reason), Picture(ax.figure, f"Row {worst.row}.")]


def _limits(monitor: Monitor, facts: dict[str, Any]) -> list[Any]:
    told = {
        "false-alarm rate, both statistics together": facts["alpha"],
        "limit of T²": facts["limit_T2"],
        "limit of SPE": facts["limit_SPE"],
        "rows from one false alarm to the next, in normal operation": facts["average_run_length"],
        "kernel": facts["kernel"],
        "components": facts["components"],
        "earlier rows beside each": facts["lags"],
        "memory": "none" if monitor.memory is None else str(monitor.memory),
    }
    reason = (
        "T² is how far a row lies from the middle along directions in which normal rows vary; SPE is how far it lies "
        "from where normal rows lie at all. The limits come from normal rows that the model had not seen, unless "
        "training rows were asked for: by its own rows any model looks better than it is."
    )
    return [
        Text(reason),
        Table(["what", "value"], [[name, value] for name, value in told.items() if value is not None]),
    ]


def _code(monitor: Monitor, facts: dict[str, Any]) -> str:
    read = "np.loadtxt({!r}, delimiter=',', skiprows=1)  # or any other way to a matrix"
    if facts["model"]:
        learned = [f"monitor = preimage.load({facts['normal']!r})"]
    else:
        template = " ".join(repr(monitor).split())
        learned = [f"normal = {read.format(facts['normal'])}", f"monitor = {template}.fit(normal)"]
    return "\n".join(
        [
            "import numpy as np",
            "import preimage",
            "from preimage import KernelPCA, Monitor, plot",
            "",
            *learned,
            f"new = {read.format(facts['new'])}",
            "alarms = monitor.predict(new) == -1",
            "plot.chart(monitor, new)",
            "table = monitor.diagnose(new)",
        ]
    )
