"""Explore: the codes of a dataset, and the points decoded from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage import KernelPCA, load, progress
from preimage.app import limits
from preimage.app.catalogue import KERNELS
from preimage.app.limits import Refused
from preimage.app.pictures import save_numbers
from preimage.app.sources import Dataset, read_dataset
from preimage.exceptions import ConvergenceWarning, silenced
from preimage.io import models
from preimage.kernels import Kernel, as_kernel
from preimage.kernels.geometry import squared_distances
from preimage.kernels.scales import resolve, spread_rows
from preimage.preimages import Learned, as_preimage_method
from preimage.scaling import Scaling

EXACT, LANDMARKS = 3000, 600  # the most rows for an exact model, and the landmarks for more rows
QUICK = Learned(n_landmarks=500)  # a regression that is ready within seconds
REFERENCES = 2000  # rows from which the distance of a decoded point is measured
PICTURED = 8  # components that are shown by pictures or contours
DEVIATIONS = 2.0  # along a component, for its picture
GRID = 96  # points along a side of a contour map


@dataclass(frozen=True, eq=False)
class Explorer:
    """A fitted model that decodes, in the units of the data.

    Attributes
    ----------
    model : KernelPCA
        Fitted to the scaled rows.
    data : Dataset
    scaling : Scaling
        From the units of the data to those of the model.
    references : array of shape (rows, d)
        Some rows of the data, in the units of the model.
    spacing : float
        The median distance of one of these rows to its nearest other row.
    """

    model: KernelPCA
    data: Dataset
    scaling: Scaling
    references: np.ndarray
    spacing: float
    questions = ("decode", "row")

    @classmethod
    def of(cls, model: KernelPCA, data: Dataset, scaling: Scaling) -> Explorer:
        """An explorer; measures the spacing of the rows."""
        some = scaling.apply(spread_rows(data.X, REFERENCES))
        between = squared_distances(some, some)
        np.fill_diagonal(between, np.inf)
        spacing = float(np.sqrt(np.median(between.min(axis=1))))
        return cls(model, data, scaling, some, spacing or float(np.std(some)) or 1.0)

    def decode(self, codes: Sequence[Sequence[float]]) -> bytes:
        """Points for codes: for each, d numbers and the distance to the nearest row in units of ``spacing``."""
        points, distances = self.points(_checked_codes(codes, self.model.n_components_))
        return np.column_stack([points, distances]).astype("<f4").tobytes()

    def row(self, number: int) -> bytes:
        """One row of the data."""
        if not 0 <= int(number) < len(self.data.X):
            raise Refused(404, f"There is no row {number}.")
        return self.data.X[int(number)].astype("<f4").tobytes()

    def points(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decoded points and their distances."""
        with silenced(ConvergenceWarning):
            found = np.asarray(self.model.inverse_transform(codes), dtype=float)
        distances = np.sqrt(squared_distances(found, self.references).min(axis=1)) / self.spacing
        return self.scaling.undo(found), distances

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Codes of rows in the units of the data."""
        return np.asarray(self.model.transform(self.scaling.apply(rows)), dtype=float)


def explore(request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Explorer]:
    """Fit or load a model; ``codes.f32`` and other files hold what the page draws."""
    progress.report("reading", 0)
    explorer = _loaded(request) if models.is_model(Path(request.get("path") or "")) else _fitted(request)
    progress.report("codes", 0)
    codes = explorer.codes(explorer.data.X)
    progress.report("decoder", 0)
    deviations = codes.std(axis=0)
    pictured = _component_pictures(explorer, deviations)
    save_numbers(folder, {"codes": codes, **pictured})
    labels = explorer.data.labels
    if labels is not None:
        labels.astype(np.uint8).tofile(folder / "labels.u8")
    model = explorer.model
    return {
        "answers": True,
        "data": explorer.data.as_json(),
        "components": model.n_components_,
        "shares": [float(share) for share in model.explained_variance_ratio_],
        "deviations": [float(deviation) for deviation in deviations],
        "kernel": re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.4g}", repr(model.kernel_)),
        "classes": None if labels is None else int(labels.max()) + 1,
        "files": list(pictured),
        "pictured": min(PICTURED, model.n_components_),
        "grid": _window(explorer.data) if "contours" in pictured else None,
    }, explorer


def _component_pictures(explorer: Explorer, deviations: np.ndarray) -> dict[str, np.ndarray]:
    """Contour maps of the components for two columns, else points at ± two standard deviations along the axes."""
    count = min(PICTURED, explorer.model.n_components_)
    if explorer.data.kind == "plane":
        window = _window(explorer.data)
        x, y = np.meshgrid(*(np.linspace(low, high, GRID) for low, high in (window["x"], window["y"])))
        values = explorer.codes(np.column_stack([x.ravel(), y.ravel()]))
        return {"contours": values[:, :count].T, "points": explorer.data.X}
    steps = DEVIATIONS * np.diag(deviations)[:count]
    return {"axes": explorer.points(np.concatenate([steps, -steps]))[0]}


def _window(data: Dataset) -> dict[str, Any]:
    """A part of the plane somewhat larger than the data."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    margin = 0.15 * float((high - low).max() or 1.0)
    (left, bottom), (right, top) = low - margin, high + margin
    return {"x": [float(left), float(right)], "y": [float(bottom), float(top)], "side": GRID}


def _fitted(request: dict[str, Any]) -> Explorer:
    data = _shaped(read_dataset(request), request.get("shape"))
    scaling = _units(data)
    X = scaling.apply(data.X)
    progress.report("fitting", 0)
    method = request.get("method", "learned")
    model = KernelPCA(
        min(int(request.get("components", 8)), len(X) - 1),
        kernel=_scaled_kernel(str(request.get("kernel", "gaussian")), float(request.get("scale", 1.0)), X),
        approximation=LANDMARKS if len(X) > EXACT else None,
        preimage=QUICK if method == "learned" else as_preimage_method(method),
        random_state=0,
    ).fit(X)
    return Explorer.of(model, data, scaling)


def _loaded(request: dict[str, Any]) -> Explorer:
    model = load(request["path"])
    if not isinstance(model, KernelPCA) or not hasattr(model, "decomposition_"):
        raise Refused(400, f"{request['name']} holds no fitted KernelPCA, and only those can be explored.")
    inputs = model.decomposition_.inputs
    if not isinstance(inputs, np.ndarray) or inputs.ndim != 2 or inputs.size > limits.NUMBERS:
        raise Refused(400, f"{request['name']} holds no rows that can be drawn.")
    data = _shaped(Dataset(np.asarray(inputs, dtype=float), str(request["name"])), request.get("shape"))
    return Explorer.of(model, data, Scaling.none(data.X.shape[1]))


def _units(data: Dataset) -> Scaling:
    """Standardised columns for a table, whose columns differ in unit; others as they are."""
    none = Scaling.none(data.X.shape[1])
    if data.kind != "row" or not data.columns:
        return none
    deviations = data.X.std(axis=0)
    return replace(none, mean=data.X.mean(axis=0), deviation=np.where(deviations > 0, deviations, 1.0))


def _scaled_kernel(name: str, factor: float, X: np.ndarray) -> Kernel:
    """A kernel whose length scale is ``factor`` times that of the median rule; γ is divided by the factor."""
    if name not in KERNELS or not 0 < factor < 1e6:
        raise Refused(400, f"The kernels are {', '.join(KERNELS)}, with a positive scale.")
    kernel = resolve(as_kernel(name), X)
    settings = {item.name: getattr(kernel, item.name) for item in fields(kernel)}  # type: ignore[arg-type]
    if "length_scale" in settings:
        return replace(kernel, length_scale=factor * settings["length_scale"])  # type: ignore[type-var]
    return replace(kernel, gamma=settings["gamma"] / factor) if "gamma" in settings else kernel  # type: ignore[type-var]


def _shaped(data: Dataset, shape: Sequence[int] | None) -> Dataset:
    if not shape:
        return data
    if int(np.prod(shape)) != data.X.shape[1]:
        words = " × ".join(map(str, shape))
        raise Refused(400, f"Rows of {data.X.shape[1]} numbers are not pictures of {words} points.")
    return replace(data, shape=tuple(shape))


def _checked_codes(codes: Sequence[Sequence[float]], q: int) -> np.ndarray:
    try:
        found = np.asarray(codes, dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or found.shape[1] != q or len(found) > limits.CODES or not np.isfinite(found).all():
        raise Refused(400, f"Codes are at most {limits.CODES} rows of {q} finite numbers.")
    return found
