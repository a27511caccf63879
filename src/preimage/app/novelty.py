"""Novelty: the rows of a table that are least like the others, and the entries that make them so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from preimage import KernelPCA, progress
from preimage.app.limits import Refused
from preimage.app.pictures import save_numbers
from preimage.app.sources import Dataset, read_dataset
from preimage.exceptions import PreimageWarning, silenced

FOLDS = 5
LISTED, ENTRIES = 40, 5  # rows, and entries of each
EXACT, LANDMARKS = 2000, 500
FEWEST = 20  # rows


def rank(request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], None]:
    """Rank rows by their distance to the subspace of the others."""
    progress.report("reading", 0)
    data = read_dataset(request)
    if len(data.X) < FEWEST:
        raise Refused(400, f"{data.name} has {len(data.X)} rows; at least {FEWEST} are needed to find unusual ones.")
    scores, expected = scored(data)
    order = np.argsort(-scores, kind="stable")[:LISTED]
    save_numbers(folder, {"values": data.X[order], "expected": expected[order]})
    usual = float(np.median(scores)) or 1.0
    spread = _spread(data)
    rows = [
        {
            "row": int(place) + 1,
            "times": float(scores[place] / usual),
            "entries": _entries(data, place, expected, spread),
        }
        for place in order
    ]
    return {"data": data.as_json(), "rows": rows}, None


def scored(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The distance of every row to the subspace of a model that has not seen it, and the row that it expects."""
    X, spread = data.X, _spread(data)
    scores, expected = np.empty(len(X)), np.empty_like(X)
    folds = np.random.default_rng(0).permutation(len(X)) % FOLDS
    for fold in range(FOLDS):
        progress.report("folds", fold, FOLDS)
        inside, outside = X[folds != fold], folds == fold
        center = np.median(inside, axis=0)
        model = KernelPCA("auto", approximation=LANDMARKS if len(inside) > EXACT else None, random_state=0)
        with silenced(PreimageWarning):
            model.fit((inside - center) / spread)
            rows = (X[outside] - center) / spread
            scores[outside] = -model.score_samples(rows)
            expected[outside] = model.denoise(rows, outlier_scale="auto") * spread + center
    return scores, expected


def _spread(data: Dataset) -> np.ndarray:
    """A robust deviation of every column of a table; pictures and signals have one unit."""
    if data.shape is not None:
        return np.ones(data.X.shape[1])
    deviations = 1.4826 * np.median(np.abs(data.X - np.median(data.X, axis=0)), axis=0)
    plain = data.X.std(axis=0)
    return np.where(deviations > 0, deviations, np.where(plain > 0, plain, 1.0))


def _entries(data: Dataset, place: int, expected: np.ndarray, spread: np.ndarray) -> list[dict[str, Any]]:
    """The entries furthest from their expected values, with their shares of the squared misfit."""
    squares = np.square((data.X[place] - expected[place]) / spread)
    total = float(squares.sum()) or 1.0
    return [
        {
            "column": data.columns[k] if data.columns else f"column {k + 1}",
            "value": float(data.X[place, k]),
            "expected": float(expected[place, k]),
            "share": float(squares[k] / total),
        }
        for k in np.argsort(-squares, kind="stable")[:ENTRIES]
    ]
