"""``Denoiser``: the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from preimage import kernels
from preimage.denoising import (
    EFFORTS,
    DenoisedTable,
    Learner,
    Limits,
    NoiseCurve,
    SimilarRows,
    Stack,
    Units,
    censored_level,
    column_noise,
    cut,
    denoised_alone,
    denoised_signal,
    given_noise,
    small_patches,
)
from preimage.estimators import conventions
from preimage.exceptions import NoiseLevelWarning, silenced, warn
from preimage.gram import threads, tiles
from preimage.io.models import Persistent
from preimage.kernels import Radial
from preimage.kernels.base import is_number
from preimage.noise import ColumnNoise, GaussianNoise, NoiseLaw, as_noise
from preimage.statistics.noise_level import MOST_COLUMNS, NoiseLevel, from_flat_patches, noise_level

FEWEST_IMAGES = 40  # below which they are cut into pieces, since nothing can be learnt from them as wholes
FEWEST_POINTS, FEWEST_PATCHES = 1000, 20
VALIDATION = 100  # images on which what was removed is tested
LEAST_SIGMA = 1e-3  # beside the spread of all numbers
STILL = 0.9  # share of images in which a point lies on a limit that noise does not move it from
BYTES_A_POINT = 200  # of an image, while it is denoised
DOUBTFUL = 1.1  # a sigma that exceeds what the data show by this factor is warned of
HEAVY_TAILS = 1.0  # excess kurtosis of what was removed, from which it is no Gaussian noise


class Denoiser(Persistent, OneToOneFeatureMixin, TransformerMixin, conventions.NestedParameters):
    """Noise removed from rows, images and signals, with clean examples or without any.

    Stages of kernel features with a learned inverse map, see :mod:`preimage.denoising`. Without clean examples they are
    learned by Stein's identity, which needs Gaussian noise and its σ; with clean examples from corrupted copies of
    them. Ridges and the number of levels are those of least error on validation rows: the true error with clean
    examples, Stein's unbiased estimate of it without.

    Parameters
    ----------
    examples : "noisy" or "clean"
        Whether the rows given to ``fit`` are noisy or clean.
    noise : "auto", a noise law, a callable (X, rng) → Y, a number, or an array
        The noise to remove; a number is the σ of Gaussian noise, an array that of every column of a table. "auto"
        estimates σ from noisy rows; where the estimate is doubtful, a :class:`NoiseLevelWarning` says so, and σ is the
        lower end of its interval.
    geometry : None or tuple
        The shape of a row: (height, width) or (height, width, channels) for an image, (length,) for a signal, None for
        a list of numbers. Neighbours of a point say much about it, so give the shape where there is one.
    scale : "auto", "standard" or "none"
        Whether to standardise the columns first. "auto" does so for rows without a geometry, whose columns have units
        and noise levels of their own: then σ is estimated for every column. A column that would gain nothing is left
        unchanged, and so are constant columns and evenly spaced ones, such as time.
    kernel : kernel object or name
        A kernel of the distance; without a length scale, each stage computes one from its inputs.
    n_landmarks : int
        Landmarks of each stage; time grows with their number, and the error falls slowly.
    n_stages : int
        The largest number of levels; fewer are kept where one more does not help.
    effort : "quick", "standard" or "best"
        How much time ``denoise_image`` and ``denoise_signal`` take.
    random_state : int, RandomState, Generator or None
        Random numbers for landmarks, probes and corrupted copies.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: the affinity of the process,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and the limits of joblib's workers; these bound a number too.

    Attributes
    ----------
    noise_ : NoiseLaw
        The noise that is removed: of the last ``fit``, or of the last image or signal.
    noise_along_time_ : SignalNoise
        The noise of every channel of the last signal.
    risk_ : float
        The mean squared error per entry that remains, measured on validation rows; for an image or signal, Stein's
        estimate of it. For a scaled table it is in units of the columns' standard deviations.
    stack_ : Stack
        The levels that ``fit`` found.
    summary_ : dict of ColumnRisk
        For each column of a scaled table: its noise, the error that remains, what was removed, and whether it changed.
    candidates_ : dict of floats
        The risk of each estimate that was tried on the last image or signal.
    residual_ : array
        What was removed from the last image.

    See Also
    --------
    KernelPCA.denoise : One kernel PCA, with components that can be looked at.
    preimage.noise : Noise laws.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Denoiser
    >>> t, rng = np.linspace(0, 6, 100), np.random.default_rng(0)
    >>> clean = np.sin(t + rng.uniform(0, 6, (200, 1)))
    >>> noisy = clean + 0.3 * rng.standard_normal(clean.shape)
    >>> denoiser = Denoiser(geometry=(100,), random_state=0).fit(noisy)
    >>> bool(np.mean((denoiser.transform(noisy) - clean) ** 2) < 0.1 * 0.3**2)
    True
    """

    _objects = {"kernel": kernels.as_kernel}

    def __init__(
        self,
        *,
        examples="noisy",
        noise="auto",
        geometry=None,
        scale="auto",
        kernel="gaussian",
        n_landmarks=1200,
        n_stages=4,
        effort="standard",
        random_state=None,
        n_jobs=None,
    ):
        self.examples = examples
        self.noise = noise
        self.geometry = geometry
        self.scale = scale
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.n_stages = n_stages
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Learn to remove noise from rows like those of X.

        If it fails or is interrupted, the estimator stays as it was.
        """
        with conventions.unchanged_on_failure(self), threads.limited(self.n_jobs):
            X = conventions.read_rows(self, X, ensure_min_samples=2)
            conventions.check_scale(X, "rows")
            images = X.reshape(-1, *_shape(self.geometry, X.shape[1]))
            self.__dict__.pop("summary_", None)
            if self._is_scaled():
                self._learn_table(images)
            elif self.geometry is not None and len(images) < FEWEST_IMAGES:
                self._learn(np.concatenate([cut(image) for image in images]), wholes=False, windows=True, anywhere=True)
            else:
                self._learn(images, wholes=True, windows=self.geometry is not None)
        return self

    @conventions.also_distributed
    def transform(self, X):
        """Rows without noise."""
        check_is_fitted(self, "stack_")
        X = conventions.read_rows(self, X, reset=False)
        conventions.check_scale(X, "rows", smallest=0.0)
        found, shape = np.empty_like(X), _shape(self.geometry, X.shape[1])
        for rows in tiles.row_blocks(len(X), BYTES_A_POINT * X.shape[1]):
            found[rows] = self._denoised(X[rows].reshape(-1, *shape)).reshape(-1, X.shape[1])
        return found

    def denoise(self, X):
        """The same as ``transform``, under the name that other estimators use."""
        return self.transform(X)

    def denoise_image(self, image):
        """One image without noise, denoised from itself alone: (height, width), or (height, width, channels) in colour.

        Similar patches are denoised together (:mod:`preimage.denoising.groups`). The noise may follow the brightness,
        as that of counted light does, and values may be cut off at the ends of their range, as in picture files.
        It ignores ``geometry``, and what ``fit`` has learned stays.

        It sets ``noise_``, ``risk_``, ``candidates_`` and ``residual_``.
        """
        image = _floating(image, "an image", (2, 3))
        return self._alone(image, image if image.ndim == 3 else image[..., None])

    def denoise_stack(self, stack):
        """Frames without noise, each from itself and its neighbours: (frames, height, width), or with channels last.

<<<<<<< HEAD
        A film, or the slices of a volume: similar patches are sought in five frames. It sets the same attributes as
        ``denoise_image``.
=======
        A film, or the slices of a volume: similar patches are sought in five frames. The same attributes as
        after ``denoise_image`` show what was found.
>>>>>>> package
        """
        stack = _floating(stack, "a stack", (3, 4))
        return self._alone(stack, stack if stack.ndim == 4 else stack[..., None])

    def _alone(self, given: np.ndarray, image: np.ndarray) -> np.ndarray:
        """What is made of an image or a stack, ``image`` with an axis of channels."""
        self._check_alone()
        with threads.limited(self.n_jobs):
            rng = conventions.generator(self.random_state)
            found = denoised_alone(image, self._given_law(), self.effort, rng)
        self.noise_: Any = found.noise
        self.risk_, self.candidates_ = found.risk, found.candidates
        denoised = found.image.reshape(given.shape)
        self.residual_ = given - denoised
        return denoised

    def denoise_signal(self, signal):
        """One signal without noise, denoised from itself alone: (length,), or (length, channels) for leads or stereo.

        Similar patches along time are denoised together (:mod:`preimage.denoising.signals`), in all channels at once.
        The channels may differ in their noise, which may change along time. A long recording is denoised in pieces.
        It ignores ``geometry`` and ``kernel``, and what ``fit`` has learned stays.

        It sets ``noise_``, ``noise_along_time_``, ``risk_`` and ``candidates_``.
        """
        signal = _floating(signal, "a signal", (1, 2))
        self._check_alone()
        with threads.limited(self.n_jobs):
            rng = conventions.generator(self.random_state)
            found = denoised_signal(signal.reshape(len(signal), -1), self._given_law(), self.effort, rng)
        self.noise_ = GaussianNoise(found.noise.sigma)
        self.noise_along_time_, self.risk_, self.candidates_ = found.noise, found.risk, found.candidates
        return found.signal.reshape(signal.shape)

    def _check_alone(self) -> None:
        if self.examples != "noisy":
            raise ValueError('an image or a signal alone has no clean examples: use Denoiser(examples="noisy").')
        if self.effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, not {self.effort!r}.")

    def _given_law(self) -> NoiseLaw | None:
        """The noise law, or None where it is to be estimated."""
        return None if isinstance(self.noise, str) and self.noise == "auto" else _as_law(self.noise)

    def _learn(self, images: np.ndarray, wholes: bool, windows: bool, anywhere: bool = False) -> None:
        rng = conventions.generator(self.random_state)
        kernel = self._kernel()
        if windows and images.size < FEWEST_POINTS * images.shape[-1]:
            raise ValueError(
                f"{images.size // images.shape[-1]} points in all are too few to learn from: give more rows, a larger "
                "image or a longer signal, or clean examples of more."
            )
        limits = _limits(images) if windows and self.examples == "noisy" else None
        self.noise_ = self._law(images, limits)
        self.units_ = Units.of(images)
        inside = self.units_.inside(images)
        if limits and wholes:
            curve = NoiseCurve(0.0, max(self.noise_.sigma, LEAST_SIGMA * self.units_.scale) ** 2, limits)
            self.stack_: DenoisedTable | SimilarRows | Stack = SimilarRows.fit(inside, curve.within(self.units_), rng)
            self.risk_ = self.stack_.risk * self.units_.scale**2
            _warn_of_tails(inside[:VALIDATION] - self.stack_(inside[:VALIDATION]))
            return
        learner = Learner(kernel, self.n_landmarks, self.n_stages, wholes, windows, anywhere)
        if self.examples == "clean":
            self.stack_ = learner.from_clean(inside, self.units_.noise(self.noise_), rng)
        elif (sigma := self.noise_.sigma / self.units_.scale) <= 1e-6:
            self.stack_ = Stack(risk=0.0)
        else:
            within = limits.within(self.units_) if limits else None
            self.stack_ = learner.from_noisy(inside, sigma, rng, within)
            some = inside[:: max(1, len(inside) // VALIDATION)]
            _warn_of_tails(some - self.stack_(some))
        self.risk_ = max(self.stack_.risk, 0.0) * self.units_.scale**2

    def _is_scaled(self) -> bool:
        """Whether the columns have units of their own."""
        if self.scale not in ("auto", "standard", "none"):
            raise ValueError(f'scale must be "auto", "standard" or "none", not {self.scale!r}.')
        if self.scale == "standard" and self.geometry is not None:
            raise ValueError("the columns of images and signals have one unit: scale='standard' is for geometry=None.")
        return self.geometry is None and self.scale != "none"

    def _learn_table(self, rows: np.ndarray) -> None:
        rng, d = conventions.generator(self.random_state), rows.shape[-1]
        learner = Learner(self._kernel(), self.n_landmarks, self.n_stages, wholes=True, windows=False)
        law = self._table_law(rows[:, 0], d)
        if self.examples == "clean":
            self.stack_ = DenoisedTable.from_clean(rows, law, learner, rng)
        else:
            self.stack_ = DenoisedTable.from_noisy(rows, np.array(law.sigmas), learner, rng)
        self.noise_, self.risk_ = law, self.stack_.risk
        names = getattr(self, "feature_names_in_", range(d))
        self.summary_ = {str(name): column for name, column in zip(names, self.stack_.columns, strict=True)}

    def _table_law(self, rows: np.ndarray, d: int):
        """The noise of a table: one σ per column unless there are clean examples, for which any law will do."""
        if self.examples == "noisy" and isinstance(self.noise, str) and self.noise == "auto":
            return ColumnNoise(tuple(column_noise(rows)))
        if isinstance(self.noise, np.ndarray | list | tuple):
            return ColumnNoise(tuple(given_noise(self.noise, d)))
        law: Any = self._law(rows[:, None], None)
        return ColumnNoise(tuple(given_noise(law.sigma, d))) if self.examples == "noisy" else law

    def _denoised(self, images: np.ndarray) -> np.ndarray:
        if isinstance(self.stack_, DenoisedTable):
            return self.stack_(images)
        if not self.stack_.levels:
            return images.copy()
        return self.units_.outside(self.stack_(self.units_.inside(images))).astype(images.dtype)

    def _kernel(self) -> Radial:
        for name in ("n_landmarks", "n_stages"):
            value = getattr(self, name)
            if not (is_number(value) and value == int(value) and value >= 1):
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
        kernel = kernels.as_kernel(self.kernel)
        if not (isinstance(kernel, Radial) and hasattr(kernel, "length_scale")):
            raise ValueError(f"{kernel!r} has no length scale: use Gaussian(), Matern() or another kernel that has.")
        return kernel

    def _law(self, images: np.ndarray, limits: Limits | None) -> NoiseLaw:
        """The noise that is to be removed."""
        if self.examples not in ("noisy", "clean"):
            raise ValueError(f'examples must be "noisy" or "clean", not {self.examples!r}.')
        automatic = isinstance(self.noise, str) and self.noise == "auto"
        if self.examples == "clean":
            if automatic:
                raise ValueError(
                    "clean examples do not show the noise that is to be removed: name it, as in "
                    "Denoiser(examples='clean', noise=GaussianNoise(0.25))."
                )
            return _as_law(self.noise)
        if automatic:
            if limits and (sigma := censored_level(images.reshape(len(images), -1), limits)):
                return GaussianNoise(sigma)
            level = _level(images, self.geometry, limits)
            return GaussianNoise(level.sigma if level.trusted else level.low)  # too little is safer than too much
        law = _as_law(self.noise)
        if not (isinstance(law, GaussianNoise) and law.clip is None):
            raise ValueError(
                f"without clean examples only Gaussian noise can be removed, not {law!r}. Give clean examples "
                "(examples='clean'), or bring the noise to that form: for counts y, 2√(y + 3/8) has σ = 1."
            )
        _warn_of_doubtful(law.sigma, images, self.geometry, limits)
        return law


def _limits(images: np.ndarray) -> Limits | None:
    """Where values were cut off; nowhere if some points lie on a limit in nearly all images, since noise moves them."""
    limits, rows = Limits.of(images), images.reshape(len(images), -1)
    if len(images) >= FEWEST_IMAGES:
        still = max(np.mean(rows == end, axis=0).max() for end in (limits.low, limits.high))
        limits = Limits(-np.inf, np.inf) if still > STILL else limits
    return limits or None


def _as_law(noise) -> NoiseLaw:
    return GaussianNoise(float(noise)) if is_number(noise) else as_noise(noise)


def _shape(geometry, n_features: int) -> tuple[int, ...]:
    """The shape of a row with its channels: one point of as many channels where there is no geometry."""
    if geometry is None:
        return (1, n_features)
    sizes = tuple(geometry) if isinstance(geometry, tuple | list) else ()
    if not (1 <= len(sizes) <= 3 and all(is_number(size) and size == int(size) and size >= 1 for size in sizes)):
        raise ValueError(
            f"geometry must be None, (length,), (height, width) or (height, width, channels), not {geometry!r}."
        )
    if int(np.prod(sizes)) != n_features:
        raise ValueError(f"rows of {n_features} numbers do not have the geometry {geometry!r}.")
    return sizes if len(sizes) == 3 else (*sizes, 1)


def _floating(values, what: str, n_axes: tuple[int, ...]) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind not in "fiub" or values.ndim not in n_axes or not values.size:
        raise ValueError(f"{what} is an array of numbers with {' or '.join(map(str, n_axes))} axes.")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} with NaN or infinite values cannot be denoised: fill them first.")
    values = tiles.floating(values)
    conventions.check_scale(values, what)
    return values


def _level(images: np.ndarray, geometry, limits: Limits | None) -> NoiseLevel:
    """The noise level of rows, of images, or of short pieces of images that are few, large or cut off at limits."""
    if geometry is None:
        return noise_level(images.reshape(len(images), -1))
    if not limits and len(images) >= FEWEST_IMAGES and images.shape[-1] == 1 and images[0].size <= MOST_COLUMNS:
        return noise_level(images.reshape(len(images), -1), images.shape[1:-1])
    rows, sides = small_patches(images)
    inside = limits.inside(rows) if limits else np.ones(len(rows), dtype=bool)
    return from_flat_patches(rows[inside] if inside.sum() > FEWEST_PATCHES else rows, sides)


def _warn_of_doubtful(sigma: float, images: np.ndarray, geometry, limits: Limits | None) -> None:
    with silenced(NoiseLevelWarning):
        level = _level(images, geometry, limits)
    if level.trusted and sigma > DOUBTFUL * level.high:
        warn(
            f"the data show noise of {level.sigma:.3g}, not of {sigma:.3g}: more will be smoothed away than noise.",
            NoiseLevelWarning,
        )


def _warn_of_tails(removed: np.ndarray) -> None:
    """Warn where what was removed has heavier tails than Gaussian noise."""
    square = float(np.mean(np.square(removed), dtype=float))
    if square > 0 and float(np.mean(removed.astype(float) ** 4)) / square**2 - 3 > HEAVY_TAILS:
        warn(
            "what was removed has heavier tails than Gaussian noise, for which clean examples would be needed.",
            NoiseLevelWarning,
        )
