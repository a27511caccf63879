"""``Monitor``: the estimator."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from preimage import kernels
from preimage.estimators import conventions
from preimage.estimators.diagnosis import DiagnosisMixin
from preimage.estimators.kernel_pca import KernelPCA
from preimage.exceptions import ConstantColumnWarning, FewRowsWarning, NothingFilteredWarning, PreimageWarning, silenced
from preimage.gram import threads
from preimage.io.models import Persistent
from preimage.kernels import Gaussian, Kernel, Linear, Precomputed
from preimage.kernels.base import is_number
from preimage.monitoring import Statistics, choice, stream
from preimage.monitoring.calibration import calibrate
from preimage.monitoring.ewma_cusum import as_memory
from preimage.monitoring.limits import as_limits
from preimage.monitoring.process_model import Fit, ProcessModel
from preimage.scaling import Scaling
from preimage.tensors import namespace

EXACT, LANDMARKS = 5000, 1000  # the most rows for an exact model, and the landmarks for more rows
FEWEST = 4  # rows


class Monitor(DiagnosisMixin, OutlierMixin, Persistent, conventions.NestedParameters):
    """Process monitoring by kernel PCA: T² and SPE, limits at the stated false-alarm rate, and the faulty sensor.

    Fit it on rows of normal operation in time order. It scales the columns itself.

    Parameters
    ----------
    model : KernelPCA, kernel, name of a kernel, a sequence of kernels, or None
        A ``KernelPCA`` keeps its settings and is fitted to the scaled columns, so its length scale is in standard
        deviations. Given kernels, the monitor chooses the kernel, its length scale (unless given) and the number of
        components that detect the most faults planted in normal rows; None means linear and Gaussian.
    alpha : float
        The rate of false alarms of both statistics together.
    limits : name or object
        Which rows set the limits: "cross" leaves out blocks of rows in turn (:class:`preimage.monitoring.Cross`), "kde"
        does the same and smooths, "split" keeps the last rows for the limits, "held_out" takes a fitted model and uses
        the rows given to ``fit`` for the limits only, "training" uses the training rows.
    lags : int
        How many earlier rows to put beside each row (dynamic PCA).
    memory : None, "ewma", "cusum" or object
        For small, lasting faults; see :mod:`preimage.monitoring.ewma_cusum`.
    random_state : int, RandomState, Generator or None
        Random numbers for planted faults, solvers and approximations.

    Attributes
    ----------
    model_ : KernelPCA
        The model of all normal rows, scaled.
    limits_ : Statistics
        The limits of T² and SPE; normal rows exceed one or both at the rate alpha.
    run_length_ : float
        Average run length: normal rows from one false alarm to the next, consecutive alarms counted once.
    choice_ : list of Setting
        The settings tried, the chosen one first; empty if a model was given.

    See Also
    --------
    KernelPCA.score_samples : Novelty without limits.
    preimage.plot.chart, preimage.plot.contributions : Pictures of a run.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Monitor
    >>> rng = np.random.default_rng(0)
    >>> normal = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 6)) + 0.1 * rng.standard_normal((500, 6))
    >>> monitor = Monitor("linear", random_state=0).fit(normal[:400])
    >>> new = normal[400:].copy()
    >>> new[50:, 2] += 2  # a sensor is off
    >>> bool(monitor.predict(new)[50:].max() == -1)
    True
    >>> monitor.diagnose(new, rows=[50])["column"][0]
    'x2'
    """

    _objects = {"limits": as_limits, "memory": as_memory}

    def __init__(self, model=None, *, alpha=0.01, limits="cross", lags=0, memory=None, random_state=None):
        self.model = model
        self.alpha = alpha
        self.limits = limits
        self.lags = lags
        self.memory = memory
        self.random_state = random_state

    def fit(self, X, y=None):
        """Fit to rows of normal operation, in time order."""
        with conventions.unchanged_on_failure(self), threads.limited():
            X = conventions.read_rows(self, X, ensure_min_samples=FEWEST).astype(float, copy=False)
            self._check(X)
            if as_limits(self.limits).fits:
                self._fit(X)
            else:
                self._adopt_fitted(X)
            self._calibrate(X, self._refit)
            self.offset_ = -1.0
        return self

    def statistics(self, X) -> Statistics:
        """T² and SPE of the rows of a run in time order, or their cumulative sums with a CUSUM."""
        return Statistics(*self._values(X).T)

    @conventions.also_tensors
    def score_samples(self, X) -> np.ndarray:
        """Minus max(T²/limit, SPE/limit): below −1 in an alarm, −∞ where a constant column has changed."""
        values = self._values(X)
        return -self.calibration_.reference.index(values)

    def decision_function(self, X) -> np.ndarray:
        """1 − max(T²/limit, SPE/limit): negative in an alarm."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """−1 in an alarm, else +1."""
        decisions = self.decision_function(X)
        xp = namespace(decisions)
        return xp.where(decisions >= 0, xp.asarray(1), xp.asarray(-1))

    def p_values(self, X) -> np.ndarray:
        """For every row, the share of normal rows that lie at least as far outside.

        With ``limits="split"`` and exchangeable rows they are conformal: P(p ≤ a) ≤ a for every a.
        """
        scores = self.score_samples(X)
        return self.calibration_.reference.p_values(-scores)

    def stream(self) -> stream.Stream:
        """The state of a run that arrives row by row, for ``stream.update(row)``; its size is fixed."""
        check_is_fitted(self)
        return stream.Stream(self.process_, self.calibration_)

    def compress(self, n_points, X, *, method="auto") -> Monitor:
        """A fitted copy whose model has ``n_points`` points and is faster; see ``KernelPCA.compress``.

        Its limits come from the normal rows X and from models compressed in the same way.
        """
        small, X = copy(self), self._checked(X)
        small.process_ = replace(self.process_, model=self.model_.compress(n_points, method=method))
        small._calibrate(X, lambda rows: self._refit(rows).compress(n_points, method=method))
        return small

    @property
    def model_(self) -> KernelPCA:
        """The model of all normal rows, scaled."""
        check_is_fitted(self)
        return self.process_.model

    @property
    def limits_(self) -> Statistics:
        """The limits of T² and SPE."""
        check_is_fitted(self)
        return Statistics(*(float(limit) for limit in self.calibration_.reference.limits))

    @property
    def run_length_(self) -> float:
        """Average number of normal rows from one false alarm to the next."""
        check_is_fitted(self)
        return self.calibration_.run_length

    def _check(self, X: np.ndarray) -> None:
        if not is_number(self.alpha) or not 0 < self.alpha < 1:
            raise ValueError(f"alpha must lie between 0 and 1, not {self.alpha!r}.")
        if not isinstance(self.lags, int | np.integer) or self.lags < 0:
            raise ValueError(f"lags must be a whole number of at least 0, not {self.lags!r}.")
        if len(X) < FEWEST * (self.lags + 1):
            raise ValueError(f"{self.lags} lags need at least {FEWEST * (self.lags + 1)} rows, but there are {len(X)}.")
        if isinstance(self.model, KernelPCA) and isinstance(kernels.as_kernel(self.model.kernel), Precomputed):
            raise ValueError("a monitor needs the readings, not a precomputed kernel matrix: give another kernel.")
        as_memory(self.memory)

    def _fit(self, X: np.ndarray) -> None:
        limits, rng = as_limits(self.limits), conventions.generator(self.random_state)
        n_fitted = limits.n_fitted(len(X))
        template, self.choice_ = self._template(X[:n_fitted], rng)
        memory, rows = as_memory(self.memory), np.arange(n_fitted)
        self.process_ = ProcessModel.of(lambda rows: clone(template).fit(rows), X, rows, self.lags, memory)
        if names := self.constant_columns_:
            conventions.warn(
                f"{', '.join(names)}: constant in the normal rows; any later change is an alarm.", ConstantColumnWarning
            )
        if self.model_.decomposition_.is_complete:
            conventions.warn(
                "all components are kept, so SPE is 0: choose a smaller n_components.", NothingFilteredWarning
            )

    def _adopt_fitted(self, X: np.ndarray) -> None:
        """Use the fitted model as it is, in its own units."""
        if not isinstance(self.model, KernelPCA) or not hasattr(self.model, "decomposition_"):
            raise ValueError('limits="held_out" needs a fitted KernelPCA as model.')
        if self.lags or self.model.n_features_in_ != X.shape[1]:
            raise ValueError(
                f"the model was fitted on rows of {self.model.n_features_in_} columns, without lags: give such rows, "
                "and lags=0."
            )
        inputs = self.model.decomposition_.inputs
        if sp.issparse(inputs):
            raise ValueError("the model was fitted on sparse rows, but a monitor needs dense rows: refit it.")
        known = {row.tobytes() for row in np.asarray(inputs, dtype=float)}
        if np.mean([row.tobytes() in known for row in X]) > 0.5:
            raise ValueError('the model was fitted on these rows: limits="held_out" needs rows that it has not seen.')
        variances = self.model.eigenvalues_ / max(1, inputs.shape[0] - 1)
        self.process_ = ProcessModel(Scaling.none(X.shape[1]), self.model, variances, 0, as_memory(self.memory))
        self.choice_ = []

    def _template(self, X: np.ndarray, rng: np.random.Generator) -> tuple[KernelPCA, list[choice.Setting]]:
        """An unfitted model, and the settings it was chosen from."""
        seed = int(rng.integers(2**31))
        if isinstance(self.model, KernelPCA):
            template = clone(self.model)
            return (template if template.random_state is not None else template.set_params(random_state=seed)), []

        def fit(kernel: Kernel, n_components: int, rows: np.ndarray) -> KernelPCA:
            return self._quietly(KernelPCA(min(n_components, len(rows) - 1), kernel=kernel, random_state=seed), rows)

        tried = choice.choose_setting(
            fit, _as_kernels(self.model), X, self.alpha, self.lags, as_memory(self.memory), rng
        )
        best = tried[0]
        approximation = None if len(X) <= EXACT else max(LANDMARKS, 2 * best.n_components)
        return KernelPCA(best.n_components, kernel=best.kernel, approximation=approximation, random_state=seed), tried

    def _refit(self, rows: np.ndarray) -> KernelPCA:
        """A model with the settings of ``model_``, fitted to other rows."""
        n_components = min(self.model_.n_components_, len(rows) - 1)
        return self._quietly(clone(self.model_).set_params(n_components=n_components, kernel=self.model_.kernel_), rows)

    @staticmethod
    def _quietly(model: KernelPCA, rows: np.ndarray) -> KernelPCA:
        with silenced(PreimageWarning):
            return model.fit(rows)

    def _calibrate(self, X: np.ndarray, fit: Fit) -> None:
        """Set the limits from normal rows in time order."""
        self.calibration_ = calibrate(as_limits(self.limits), self.process_, fit, X, self.alpha)
        n = len(self.calibration_.reference.indices)
        if n + 1 < 1 / self.alpha:
            conventions.warn(
                f"{n} normal rows cannot guarantee a false-alarm rate below {1 / (n + 1):.2g}, but alpha is "
                f"{self.alpha:g}: the largest of them sets the limit. Give more rows or a larger alpha.",
                FewRowsWarning,
            )

    @property
    def constant_columns_(self) -> list[str]:
        """Names of the columns that are constant in the normal rows."""
        check_is_fitted(self)
        return [name for name, constant in zip(self.columns_, self.process_.scaling.constant, strict=True) if constant]

    def _checked(self, X) -> np.ndarray:
        check_is_fitted(self)
        return conventions.read_rows(self, X, reset=False).astype(float, copy=False)

    def _values(self, X) -> np.ndarray:
        return self.stream().extend(self._checked(X))


def _as_kernels(model: Any) -> list[Kernel]:
    if model is None:
        return [Linear(), Gaussian()]
    return [kernels.as_kernel(kernel) for kernel in (model if isinstance(model, list | tuple) else [model])]
