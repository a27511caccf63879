"""The page of ``preimage denoise``: before and after, what was chosen and why, and the lines that do the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import plot
from preimage.cli.cleaning import Cleaning
from preimage.report import Code, Page, Picture, Section, Table, Text

PART = 240  # pixels of a side of the part of an image that is shown
READ = {
    "image": "image = np.asarray(PIL.Image.open({name!r})) / 255",
    "signal": "signal = np.loadtxt({name!r})  # or scipy.io.wavfile.read",
    "": "noisy = np.load({name!r})  # or any other way to a matrix",
}


def page(cleaning: Cleaning, facts: dict[str, Any]) -> Page:
    """The page for a run that is done."""
    sections = [
        Section("Before and after", [_picture(cleaning)]),
        Section("What was chosen, and why", _choices(cleaning, facts)),
        Section("The same in Python", [Code(_code(cleaning, facts))]),
    ]
    return Page("Noise removed", f"{facts['input']}: {cleaning.words()}.", sections)


def _picture(cleaning: Cleaning) -> Picture:
    form, before, after = cleaning.form, np.array(cleaning.before), np.array(cleaning.after)
    if form.shape is not None and len(form.shape) > 1:
        if form.alone:
            return _one_image(before.reshape(form.shape), after.reshape(form.shape))
        axes = _axes(2, len(before), (0.9 * len(before), 2.0))
        plot.images({"before": before, "after": after}, form.shape, axes, n_images=len(before))
        return Picture(axes.flat[0].figure, "The first images, as they came and as they were written.")
    if form.alone == "signal":
        before, after = before.T, after.T
    count = min(3, len(before))
    axes = _axes(count, 1, (7.0, 1.7 * count + 0.4))
    plot.signals({"before": before, "after": after}, axes, n_signals=count, rate=form.rate or None)
    what = "samples" if form.alone else "rows"
    return Picture(axes.flat[0].figure, f"The first {what}, as they came and as they were written.")


def _one_image(before: np.ndarray, after: np.ndarray) -> Picture:
    """The middle of an image, large enough to see its pixels; the whole would be heavy, and hide them."""
    top, left = (max(0, (size - PART) // 2) for size in before.shape[:2])
    parts = [image[top : top + PART, left : left + PART] for image in (before, after)]
    shape = parts[0].shape
    axes = _axes(1, 2, (7.4, 3.3 * shape[0] / shape[1] + 0.2))
    plot.images(dict(zip(("before", "after"), (part.reshape(1, -1) for part in parts), strict=True)), shape, axes)
    return Picture(axes.flat[0].figure, "The middle of the image, as it came and as it was written.")


def _axes(n_rows: int, n_columns: int, size: tuple[float, float]) -> np.ndarray:
    """Axes of a figure that no window will ever show."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots(n_rows, n_columns, squeeze=False)


def _choices(cleaning: Cleaning, facts: dict[str, Any]) -> list[Any]:
    told = {
        "cleaned by": facts["method"],
        "taught by": "clean examples" if facts["examples"] == "clean" else "the noisy data themselves",
        "noise": "estimated from the data" if facts["noise"] == "auto" else facts["noise"],
        "levels on top of each other": facts["levels"],
        "removed, root mean square": facts["removed"],
        "remaining mean squared error, estimated": facts["remaining_error"],
    }
    if cleaning.is_plain:
        told |= {"kernel": repr(cleaning.model.kernel_), "components": int(cleaning.model.n_components_)}
    rows = [[name, value] for name, value in told.items() if value is not None]
    return [Text(_reason(cleaning)), Table(["what", "value"], rows)]


def _reason(cleaning: Cleaning) -> str:
    if cleaning.is_plain:
        return (
            "You chose one kernel PCA: the rows were projected onto its leading components, which hold the structure "
            "and little of the noise, and brought back. A length scale that was not given is the median distance; a "
            "number of components that was not given is that of parallel analysis, which keeps what stands out of "
            "what independent columns would show."
        )
    law = "Its σ was estimated from the data" if isinstance(cleaning.noise, str) else "The law of the noise was given"
    judge = "Stein's unbiased estimate, which needs no clean data" if cleaning.train is None else "the clean examples"
    return (
        f"{law}. Stages of kernel features were stacked as long as one more lowered the error of data set aside, as "
        f"{judge} shows it; the ridge of every stage was chosen by the same error."
    )


def _code(cleaning: Cleaning, facts: dict[str, Any]) -> str:
    name = type(cleaning.model).__name__
    verb = "denoise(noisy)" if cleaning.is_plain else "transform(noisy)"
    fitted = "fit(clean)." if facts["examples"] == "clean" else "fit(noisy)."
    call = {"image": "denoise_image(image)", "signal": "denoise_signal(signal)"}.get(cleaning.form.alone)
    return "\n".join(
        [
            "import numpy as np",
            f"from preimage import {name}",
            "",
            READ[cleaning.form.alone].format(name=facts["input"]),
            f"model = {facts['model']}",
            f"cleaned = model.{call or fitted + verb}",
        ]
    )
