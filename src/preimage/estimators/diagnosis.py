"""Contributions, expected readings and diagnoses of a fitted monitor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from preimage.monitoring import contributions
from preimage.monitoring.calibration import Calibration
from preimage.monitoring.process_model import ProcessModel
from preimage.monitoring.stream import Stream


class DiagnosisMixin:
    """Contributions, expected readings and diagnoses for an estimator with a ``process_`` and a ``calibration_``."""

    process_: ProcessModel
    calibration_: Calibration
    n_features_in_: int
    stream: Callable[[], Stream]
    _checked: Callable[[Any], np.ndarray]

    def contributions(self, X, *, of="both", form="reconstruction", rows=None) -> np.ndarray:
        """The contribution of every column to the statistics of the rows of a run, shape (rows, d).

        Parameters
        ----------
        X : array of shape (rows, d)
            In time order.
        of : "both", "T2" or "SPE"
            "both" is their sum, each divided by its classical limit.
        form : "reconstruction" or "derivative"
            "reconstruction" is by how much the statistic would fall if this sensor alone were corrected (Alcala & Qin
            2009), and identifies the sensor. "derivative" is its derivative per standard deviation of the column, and
            is cheap.
        rows : sequence of int, optional
            Indices of rows; None means all.
        """
        features, moved = self._features(X, rows)
        weights = self._weighted(of)
        if form == "derivative":
            return contributions.sensitivities(self.process_, features, weights)
        if form != "reconstruction":
            raise ValueError(f'form must be "reconstruction" or "derivative", not {form!r}.')
        return np.where(moved, np.inf, contributions.correct(self.process_, features, weights).contributions)

    def reconstruct(self, X) -> np.ndarray:
        """What the sensors should read: the pre-images of the projected rows, in the units of the columns.

        With an EWMA, they are moving averages.
        """
        features, _ = self._features(X, None)
        back = self.process_.model.denoise(features, outlier_scale="auto")
        return self.process_.scaling.undo(back[:, : self.n_features_in_])

    def diagnose(self, X, *, rows=None, n_columns=5) -> dict[str, list]:
        """Which sensors explain the alarms: for every row, its columns with the largest contributions.

        Parameters
        ----------
        X : array of shape (rows, d)
            A run in time order.
        rows : sequence of int, optional
            Indices of rows; None means those with an alarm.
        n_columns : int
            How many columns to list for each row.

        Returns
        -------
        table : dict of lists, as ``pandas.DataFrame`` takes it
            ``row``, ``column``, ``contribution``, ``reading``, and ``expected``: what this sensor should read if all
            others are right. With an EWMA, readings are moving averages.
        """
        run, X = self.stream(), self._checked(X)
        alarms = self.calibration_.reference.index(run.extend(X)) > 1
        rows = np.flatnonzero(alarms) if rows is None else np.asarray(rows, dtype=int)
        table: dict[str, list] = {name: [] for name in ("row", "column", "contribution", "reading", "expected")}
        for row, *parts in zip(rows, *run.explain(rows), strict=True):
            for column in np.argsort(-parts[0], kind="stable")[:n_columns]:
                entries = (int(row), self.columns_[column], *(float(part[column]) for part in parts))
                for name, value in zip(table, entries, strict=True):
                    table[name].append(value)
        return table

    @property
    def columns_(self) -> list[str]:
        """The names of the columns; x0, x1, … if they have none."""
        check_is_fitted(self)
        return [str(name) for name in _check_feature_names_in(self)]

    def _features(self, X, rows: Sequence[int] | np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The rows of a run with their past, and where constant columns have changed."""
        X = self._checked(X)
        chosen = slice(None) if rows is None else np.asarray(rows)
        return self.process_.past(X)[chosen], self.process_.scaling.moved(X[chosen])

    def _weighted(self, of: str) -> np.ndarray:
        wanted = {"both": (1, 1), "T2": (1, 0), "SPE": (0, 1)}
        if of not in wanted:
            raise ValueError(f'of must be "both", "T2" or "SPE", not {of!r}.')
        return np.array(wanted[of], dtype=float) / (self.calibration_.scales if of == "both" else 1)
