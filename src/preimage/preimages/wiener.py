"""A Wiener filter of the row, corrected by a regression on its codes: the default of ``KernelPCA.denoise``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.gram.slicing import slices
from preimage.kernels import Gaussian, Kernel
from preimage.kernels.base import positive
from preimage.kernels.scales import median, spread_rows
from preimage.preimages.base import InverseMap, PreimageMethod, Preimages, closed_form, dense_rows
from preimage.preimages.bounds import Box
from preimage.preimages.learned import Learned, LearnedMap, fit_regression
from preimage.preimages.row_filter import CHOICES, RowFilter, TrustedNoise, most_useful

SAMPLE = 500  # training rows from which the correction is learned
PROBES = 200  # training rows to which noise is added to find the noise level
SCALES = (1.0, 2.0)  # length scales of the correction's kernel, times the median distance of the codes
PAIRED = 50  # probes per kernel matrix, of which only the diagonal is used
SMALLEST, ACCURACY = 1e-6, 1e-6  # least noise level relative to the greatest, and its relative error
MOST = 3.0  # standard deviations of the noise by which an entry may change
FOLDS = 5  # of the cross-validation
LEFT_OUT, FEWEST, ENTRIES = 200, 20, 25_000  # rows left out in all: at most, at least, and the most entries
LEVELS = (0.09, 0.2, 0.4)  # noise added to rows left out, in standard deviations of a column; σ is a further level


@dataclass(frozen=True)
class Wiener(PreimageMethod):
    """x̂ = x̄ + Σⱼ gⱼ vⱼvⱼᵀ(y − x̄) + r(β(y)): a linear filter of the row y and a regression r on its codes β.

    A few components of a Gaussian kernel cannot express the directions in which a table varies least, so a pre-image
    from the codes alone can be worse than the row. The linear part keeps these directions: vⱼ are the principal axes of
    the training rows, λⱼ the variances along them, and gⱼ = λⱼ/(λⱼ + σ²). It is limited for rows that are unusual along
    an axis (:class:`RowFilter`). The regression learns what the linear part misses, from training rows with added noise
    of level σ. Its ridge and scale are chosen by leave-one-out, and it is dropped if it does not lower the
    leave-one-out error. No entry changes by more than 3σ, since larger deviations are rarely Gaussian noise. For gross
    errors use ``denoise(..., outlier_scale="auto")``.

    If there are few components, they leave much variance unexplained, and σ may exceed the actual noise. So if
    ``noise`` is None, the filter assumes for a row y the noise σ(y)² = min(σ², aσ² + cν(y)²), where ν(y)² is the noise
    visible in the row (:meth:`RowFilter.shown`), and scales the regression by σ(y)²/σ². The shares a and c have the
    least error on held-out training rows, among those that make rows better at every noise level, by half a standard
    error at least. The levels go from a tenth of the columns' standard deviation to σ. Training rows are assumed to be
    clean: if they are noisy, pass ``noise`` or use :class:`preimage.Denoiser`.

    Parameters
    ----------
    noise : float, "implied" or None
        σ, the standard deviation of the noise. "implied" is the noise that moves a row in feature space by as much as
        the q components leave unexplained, E‖φ(x + σε) − φ(x)‖² = (tr K̃ − Σₖ λₖ)/n. It treats all variance outside the
        components as noise, in the training rows too. For the linear kernel this is the estimate of probabilistic PCA
        (Tipping & Bishop 1999), spread over all d directions. None uses as much of this noise as does no harm to
        held-out rows.
    n_copies, n_landmarks : int
        The number of noisy copies of each row from which the correction is learned, and the number of its landmarks.

    See Also
    --------
    Learned : Decodes codes alone.

    Notes
    -----
    ``inverse_transform`` has no rows to filter, so :class:`Learned` decodes the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.preimages import Wiener
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 10))
    >>> noisy = clean[200:] + 0.3 * rng.standard_normal((100, 10))
    >>> kpca = KernelPCA(10, preimage=Wiener(noise=0.3), random_state=0).fit(clean[:200])
    >>> bool(np.mean((kpca.denoise(noisy) - clean[200:]) ** 2) < 0.4 * 0.3**2)
    True
    """

    needs = frozenset({"codes"})

    noise: float | str | None = None
    n_copies: int = 2
    n_landmarks: int = 200

    def __post_init__(self) -> None:
        if self.noise not in (None, "implied"):
            positive("noise", self.noise)
        if self.n_copies < 1 or self.n_landmarks < 1:
            raise ValueError("n_copies and n_landmarks must be at least 1.")

    def prepare(self, model: Decomposition, rng: Generator) -> _WienerMap:
        """The inverse map: its noise level, linear part, correction, and the noise it assumes for a row."""
        rng = np.random.default_rng(0)  # the same probes every time, so that a loaded model gives the same results
        inputs = dense_rows(model.inputs)
        sigma = implied_noise(model, rng) if self.noise in (None, "implied") else float(self.noise)
        linear, examples = RowFilter.of(inputs), _Examples.of(model, inputs, sigma, self, rng)
        unit = median(spread_rows(examples.codes, SAMPLE)) or 1.0
        fits = [examples.regression(linear, Gaussian(scale * unit), "auto") for scale in SCALES]
        best = min(fits, key=lambda fitted: fitted.error)
        helps = best.error < float(np.mean(np.square(examples.missed(linear))))
        whole = _WienerMap(model, sigma, TrustedNoise(), linear, best if helps else None, Box.around(inputs))
        if self.noise is not None:
            return whole
        return replace(whole, trusted=most_useful(whole.losses(inputs, examples, rng)))


@dataclass(frozen=True, eq=False)
class _Examples:
    """Training rows, noisy copies of them, and the codes of the copies, from which corrections are learned."""

    method: Wiener
    sigma: float
    places: Array  # indices of the rows among the training rows
    rows: Array
    noisy: Array
    codes: Array

    @classmethod
    def of(cls, model: Decomposition, inputs: Array, sigma: float, method: Wiener, rng: Generator) -> _Examples:
        """Copies of some training rows with noise of standard deviation σ."""
        places = np.repeat(spread_rows(np.arange(len(inputs)), SAMPLE), method.n_copies)
        rows = inputs[places]
        noisy = rows + sigma * rng.standard_normal(rows.shape).astype(rows.dtype)
        return cls(method, sigma, places, rows, noisy, model.codes(noisy))

    def without(self, places: Array) -> _Examples:
        """The examples of the other training rows."""
        kept = ~np.isin(self.places, places)
        parts = {name: getattr(self, name)[kept] for name in ("places", "rows", "noisy", "codes")}
        return replace(self, **parts)

    def missed(self, linear: RowFilter) -> Array:
        """The residual of a linear filter."""
        missed: Array = self.rows - linear(self.noisy, self.sigma**2)
        return missed

    def regression(self, linear: RowFilter, kernel: Kernel, ridge: float | str) -> LearnedMap:
        """The regression of a linear filter's residual on the codes."""
        method = self.method
        return fit_regression(kernel, self.codes, self.missed(linear), method.n_copies, ridge, method.n_landmarks)


@dataclass(frozen=True, eq=False)
class _WienerMap:
    model: Decomposition
    sigma: float
    trusted: TrustedNoise
    linear: RowFilter
    correction: LearnedMap | None
    box: Box

    def __call__(self, targets: Any, starts: Array | None = None) -> Preimages:
        if starts is None:
            return self._decoder(targets)
        answers = self.answers(starts, self.corrections(targets.codes))
        return closed_form(targets, answers.astype(starts.dtype, copy=False))

    def corrections(self, codes: Array) -> Any:
        """The correction by the regression."""
        return 0.0 if self.correction is None else self.correction.values(codes)

    def answers(self, rows: Any, correction: Any) -> Any:
        """The filtered and corrected rows: arrays or, for export, symbols."""
        most = self.sigma**2
        shown = self.linear.shown(rows, most) if self.trusted.shown else 0.0
        return self.filtered(rows, correction, self.trusted.variance(shown, most))

    def filtered(self, rows: Any, correction: Any, noise2: Any) -> Any:
        """The filtered and corrected rows for noise of this variance: a number, or one per row as a column."""
        points = self.linear(rows, noise2) + noise2 / self.sigma**2 * correction
        most = MOST * np.sqrt(noise2)
        return self.box.hold(np.clip(points, rows - most, rows + most), rows)

    def losses(self, inputs: Array, examples: _Examples, rng: Generator) -> Array:
        """The relative change of the error of held-out rows for every choice, shape (levels, choices, rows)."""
        spread = float(np.sqrt(np.var(inputs, axis=0).mean()))
        levels = [level * spread for level in LEVELS if level * spread < self.sigma] + [self.sigma]
        left_out = spread_rows(np.unique(examples.places), max(min(LEFT_OUT, ENTRIES // inputs.shape[1]), FEWEST))
        folds, found = min(FOLDS, len(left_out)), []
        for fold in range(folds):
            places = left_out[fold::folds]
            part, noise = self._without(places, inputs, examples), rng.standard_normal((len(places), inputs.shape[1]))
            found.append([part._losses(inputs[places], inputs[places] + level * noise) for level in levels])
        return np.concatenate(found, axis=2)

    def _without(self, places: Array, inputs: Array, examples: _Examples) -> _WienerMap:
        linear, correction = RowFilter.of(np.delete(inputs, places, axis=0)), self.correction
        if correction is not None:
            correction = examples.without(places).regression(linear, correction.kernel, correction.ridge)
        return replace(self, linear=linear, correction=correction)

    def _losses(self, rows: Array, noisy: Array) -> Array:
        """The relative change of the squared error of every row for every choice, shape (choices, rows)."""
        most, correction = self.sigma**2, self.corrections(self.model.codes(noisy))
        shown = self.linear.shown(noisy, most)
        answers = (self.filtered(noisy, correction, choice.variance(shown, most)) for choice in CHOICES)
        own = np.square(noisy - rows).sum(axis=1)
        return np.array([(np.square(answer - rows).sum(axis=1) - own) / own.mean() for answer in answers])

    @cached_property
    def _decoder(self) -> InverseMap:
        return Learned().prepare(self.model, np.random.default_rng(0))


def implied_noise(model: Decomposition, rng: Generator) -> float:
    """σ with E‖φ(x + σε) − φ(x)‖² = (tr K̃ − Σₖ λₖ)/n, at most the root mean variance of a column."""
    rows = dense_rows(spread_rows(model.inputs, PROBES))
    diagonal, blocks = model.kernel.diagonal(rows), slices(len(rows), PAIRED)
    variance = float(model.kernel.diagonal(model.inputs).mean()) - model.mean_norm2
    left_over = max(1 - float(model.explained_variance_ratio.sum()), 0) * variance
    probe = rng.standard_normal(rows.shape).astype(rows.dtype)

    def displacement(sigma: float) -> float:
        moved = rows + np.asarray(sigma, dtype=rows.dtype) * probe
        paired = np.concatenate([np.diagonal(model.kernel(rows[some], moved[some])) for some in blocks])
        return float(np.mean(diagonal - 2 * paired + model.kernel.diagonal(moved)))

    def excess(log_sigma: float) -> float:
        return displacement(float(np.exp(log_sigma))) - left_over

    high = float(np.sqrt(np.var(dense_rows(model.inputs), axis=0).mean()))
    low = SMALLEST * high
    if not displacement(high) > left_over:
        return high
    if not displacement(low) < left_over:
        return low
    return float(np.exp(brentq(excess, np.log(low), np.log(high), xtol=ACCURACY)))
