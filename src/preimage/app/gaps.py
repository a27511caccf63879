"""Gaps: pictures with parts painted out, filled by a model that has not seen them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage import KernelPCA, progress
from preimage.app.limits import Refused
from preimage.app.pictures import save_numbers
from preimage.app.sources import read_dataset

TRAIN, SHOWN = 1500, 60  # rows to learn from, and held-out rows to paint on
COMPONENTS = 64


@dataclass(frozen=True, eq=False)
class Filler:
    """A model, and rows that it has not seen."""

    model: KernelPCA
    mean: np.ndarray
    rows: np.ndarray
    questions = ("fill",)

    def fill(self, number: int, hidden: Sequence[int]) -> dict[str, Any]:
        """A row with its hidden entries filled, and the root mean square errors there, of the model and of the mean."""
        mask = self._mask(number, hidden)
        row = self.rows[int(number)]
        if not mask.any():
            return {"filled": row.tolist(), "error": None, "error_of_mean": None}
        filled = self.model.impute(np.where(mask, np.nan, row)[None])[0]
        return {
            "filled": filled.tolist(),
            "error": float(np.sqrt(np.mean(np.square((filled - row)[mask])))),
            "error_of_mean": float(np.sqrt(np.mean(np.square((self.mean - row)[mask])))),
        }

    def _mask(self, number: int, hidden: Sequence[int]) -> np.ndarray:
        d = self.rows.shape[1]
        entries = np.asarray(hidden, dtype=int)
        if not 0 <= int(number) < len(self.rows) or entries.ndim != 1 or not np.all((entries >= 0) & (entries < d)):
            raise Refused(400, "There is no such picture, or no such point in it.")
        mask = np.zeros(d, dtype=bool)
        mask[entries] = True
        if mask.all():
            raise Refused(400, "Leave a part of the picture visible: the model fills the gap from it.")
        return mask


def prepare(request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Filler]:
    """Fit a model to most pictures; ``rows.f32`` holds the held-out ones."""
    progress.report("reading", 0)
    data = read_dataset(request)
    if data.kind != "image" or len(data.shape or ()) != 2 or len(data.X) < 20:
        raise Refused(400, f"{data.name} does not hold at least 20 grey pictures, which this page needs.")
    order = np.random.default_rng(0).permutation(len(data.X))
    count = min(SHOWN, len(order) // 5)
    rows, train = data.X[order[:count]], data.X[order[count : count + TRAIN]]
    progress.report("fitting", 0)
    model = KernelPCA(min(COMPONENTS, len(train) - 1), random_state=0).fit(train)
    progress.report("filling", 0)
    filler = Filler(model, train.mean(axis=0), rows)
    filler.fill(0, [0])  # the first call finds the weights of the methods
    save_numbers(folder, {"rows": rows})
    return {"answers": True, "data": data.as_json(), "shown": count, "learned_from": len(train)}, filler
