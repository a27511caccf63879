"""The page of ``preimage denoise``: before and after, what was chosen and why, and the same in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import plot
from preimage.cli.denoise_run import DenoiseRun
from preimage.io.atomic import printable
from preimage.plot.style import page_axes
from preimage.report import Code, Page, Picture, Section, Table, Text

PART = 240  # side of the part of an image that is shown, in pixels
IMAGES = 8  # shown of many
PANELS = 6  # columns of a table that are drawn
LISTED = 40  # columns of a table that are listed


def page(run: DenoiseRun, facts: dict[str, Any], lines: str) -> Page:
    """The page of a finished run; ``lines`` do the same in Python."""
    sections = [
        Section("Before and after", [_picture(run), *_columns(run)]),
        Section("What was chosen, and why", _choices(run, facts)),
        Section("The same in Python", [Code(lines)]),
    ]
    title = "Noise removed" if facts["removed"] else "Nothing removed"
    return Page(title, printable(f"{facts['input']}: {run.words()}."), sections)


def _picture(run: DenoiseRun) -> Picture:
    form, before, after = run.form, np.array(run.before), np.array(run.after)
    if form.shape is not None and len(form.shape) > 1:
        if form.alone:
            return _one_image(before.reshape(form.shape), after.reshape(form.shape))
        before, after = before[:IMAGES], after[:IMAGES]
        axes = page_axes(2, len(before), (0.9 * len(before), 2.0))
        plot.images({"before": before, "after": after}, form.shape, axes, n_images=len(before))
        return Picture(axes.flat[0].figure, "The first images, before and after.")
    if form.shape is not None:
        return _lines(before, after, "The first signals")
    if form.alone == "signal":
        return _lines(before.T, after.T, "The first samples", form.rate)
    largest = np.sort(np.argsort(-run.removed)[:PANELS])
    picture = _lines(before.T[largest], after.T[largest], "The first rows, one panel per column", n_lines=PANELS)
    for panel, place in zip(picture.figure.axes, largest, strict=False):
        panel.set_title(_name(run, int(place)), fontsize="small", loc="left")
        panel.set_xlabel("row" if panel is picture.figure.axes[-1] else "")
    return picture


def _lines(before: np.ndarray, after: np.ndarray, what: str, rate: int = 0, n_lines: int = 3) -> Picture:
    count = min(n_lines, len(before))
    axes = page_axes(count, 1, (7.0, 1.7 * count + 0.4))
    plot.signals({"before": before, "after": after}, axes, n_signals=count, rate=rate or None)
    return Picture(axes.flat[0].figure, f"{what}, before and after.")


def _columns(run: DenoiseRun) -> list[Any]:
    """A table of the columns: the noise of each, what was removed, and what remains."""
    form = run.form
    if form.shape is not None or form.alone:
        return []
    found = list((run.columns or {}).values())
    order = np.argsort(-run.removed, kind="stable")[:LISTED]
    rows = [[_name(run, int(place)), float(np.sqrt(run.removed[place])), *_risk(found, place)] for place in order]
    carried = [[printable(name), *["left alone"] * len(rows[0][1:])] for name in form.carried]
    which = "every column" if len(order) == len(run.removed) else "the columns that changed most"
    heads = ["column", "removed, root mean square", *(("noise, σ", "remaining error") if found else ())]
    return [Table(heads, rows + carried, caption=f"What was removed from {which}, in its own units.")]


def _risk(found: list[Any], place: int) -> list[Any]:
    """The noise of a column, and its expected remaining error."""
    if not found:
        return []
    return [found[place].noise, found[place].remaining if found[place].cleaned else "left alone"]


def _name(run: DenoiseRun, place: int) -> str:
    columns = run.form.columns
    return printable(columns[place]) if columns else f"column {place + 1}"


def _one_image(before: np.ndarray, after: np.ndarray) -> Picture:
    """The middle of an image, large enough to see its pixels; the whole would be a large file and hide them."""
    top, left = (max(0, (size - PART) // 2) for size in before.shape[:2])
    parts = [image[top : top + PART, left : left + PART] for image in (before, after)]
    shape = parts[0].shape
    axes = page_axes(1, 2, (7.4, 3.3 * shape[0] / shape[1] + 0.2))
    plot.images(dict(zip(("before", "after"), (part.reshape(1, -1) for part in parts), strict=True)), shape, axes)
    return Picture(axes.flat[0].figure, "The middle of the image, before and after.")


def _choices(run: DenoiseRun, facts: dict[str, Any]) -> list[Any]:
    unit = "root mean square" if run.columns is None else "in standard deviations of the columns"
    choices = {
        "denoised by": facts["method"],
        "learned from": "clean examples" if facts["examples"] == "clean" else "the noisy data",
        "noise": "estimated from the data" if facts["noise"] == "auto" else facts["noise"],
        "levels": facts["levels"],
        "removed, root mean square": facts["removed"],
        f"remaining error, {unit}, estimated": None
        if facts["remaining_error"] is None
        else facts["remaining_error"] ** 0.5,
    }
    if run.is_plain:
        choices |= {"kernel": repr(run.model.kernel_), "components": int(run.model.n_components_)}
    rows = [[name, value] for name, value in choices.items() if value is not None]
    return [Text(_reason(run)), Table(["what", "value"], rows)]


def _reason(run: DenoiseRun) -> str:
    if run.is_plain:
        return (
            "You chose a single kernel PCA: the rows were projected onto its leading components, which hold the "
            "structure and little of the noise, and mapped back. Unless given, the length scale is the median "
            "distance, and the number of components that of parallel analysis, which keeps those that exceed what "
            "independent columns would show."
        )
    law = "Its σ was estimated from the data" if isinstance(run.noise, str) else "The law of the noise was given"
    estimate = "Stein's unbiased estimate, which needs no clean data" if run.train is None else "the clean examples"
    if run.form.alone == "signal":
        return (
            f"{law}. Similar patches along time were denoised together; Stein's unbiased estimate of the error, which "
            "needs no clean data, chose among patches of several lengths and the unchanged signal."
        )
    return (
        f"{law}. Stages of kernel features were stacked as long as one more lowered the error on validation data, "
        f"measured by {estimate}; the ridge of every stage minimises the same error."
    )
