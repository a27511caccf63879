"""Calibration on normal rows: limits, the usual size of the statistics, and the rate of false alarms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.monitoring.limits import Cross, HeldOut, LastRows, LimitRule, Reference, average_run_length, moment_limits
from preimage.monitoring.process_model import Fit, ProcessModel, cross_fitted


@dataclass(frozen=True, eq=False)
class Calibration:
    """What new statistics are compared with.

    Parameters
    ----------
    reference : Reference
        Limits and p-values.
    usual : array of shape (2, 2)
        Mean and standard deviation of the logarithms of normal statistics, for cumulative sums.
    scales : array of shape (2,)
        The classical limits, which make T² and SPE comparable so that they can be added.
    run_length : float
        Average number of normal rows from one false alarm to the next.
    """

    reference: Reference
    usual: np.ndarray
    scales: np.ndarray
    run_length: float


def calibrate(rule: LimitRule, process: ProcessModel, fit: Fit, X: np.ndarray, alpha: float) -> Calibration:
    """Calibrate on normal rows in time order; ``fit`` refits the model to part of them."""
    balance, values = _normal_statistics(rule, process, fit, X)
    scales, usual = moment_limits(balance, alpha), _usual(balance)
    if process.memory.sums:
        start = np.zeros(2)
        balance, values = (process.memory.accumulate(standardised(part, usual), start) for part in (balance, values))
    reference = Reference.of(values, moment_limits(balance, alpha), alpha, rule.tail)
    return Calibration(reference, usual, scales, average_run_length(reference.index(values) > 1))


def standardised(values: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Logarithms of statistics in standard deviations from their usual mean."""
    return (np.log(np.maximum(values, np.finfo(float).tiny)) - usual[0]) / usual[1]


def _normal_statistics(
    rule: LimitRule, process: ProcessModel, fit: Fit, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of the rows that make T² and SPE comparable, and of the rows that set the limits."""
    if isinstance(rule, Cross):
        values = cross_fitted(fit, X, rule.n_blocks, process.lags, process.memory)
        return values, values
    values = process.statistics(process.past(X))[process.lags :]
    if isinstance(rule, HeldOut):
        return process.statistics(process.model.decomposition_.inputs), values
    if isinstance(rule, LastRows):
        first = rule.n_fitted(len(X)) - process.lags
        return values[:first], values[first:]
    return values, values


def _usual(values: np.ndarray) -> np.ndarray:
    logs = np.log(np.maximum(values, np.finfo(float).tiny))
    return np.stack([logs.mean(axis=0), np.maximum(logs.std(axis=0), np.finfo(float).eps)])
