"""``Denoiser``: the estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from preimage import denoising, kernels
from preimage.estimators import conventions
from preimage.gram import slicing, threads, tiles
from preimage.gram.memory import keep_freed_arrays
from preimage.io.chunks import joined
from preimage.io.columns import distinct
from preimage.io.models import Persistent
from preimage.kernels import Radial
from preimage.kernels.base import is_number
from preimage.noise import GaussianNoise

BYTES_A_POINT = 200  # working memory per point of an image
NOT_FINITE = "{} with NaN or infinite values cannot be denoised: fill them first."


class Denoiser(Persistent, OneToOneFeatureMixin, TransformerMixin, conventions.NestedParameters):
    """Removes noise from rows, images and signals, with or without clean examples.

    It chains stages of kernel features with a learned inverse map, see :mod:`preimage.denoising`. Without clean
    examples, stages are learned by Stein's identity, which needs Gaussian noise and its σ; with clean examples, from
    corrupted copies of them. Ridges and the number of levels minimise the error on validation rows: the true error with
    clean examples, Stein's unbiased estimate without.

    Parameters
    ----------
    examples : "noisy" or "clean"
        Whether the rows given to ``fit`` are noisy or clean.
    noise : "auto", a noise law, a callable (X, rng) → Y, a number, or an array
        The noise to remove. A number is the σ of Gaussian noise, an array holds one σ per column of a table. "auto"
        estimates σ from noisy rows; if the estimate is doubtful, it warns (:class:`NoiseLevelWarning`) and takes the
        lower end of its interval.
    geometry : None or tuple
        The shape of a row: (height, width) or (height, width, channels) for an image, (length,) for a signal, None for
        a list of numbers. Neighbouring points predict each other, so give the shape if there is one.
    scale : "auto", "standard" or "none"
        Whether to standardise the columns first. "auto" does so for rows without a geometry, whose columns differ in
        unit and noise level; σ is then estimated for every column. Columns that would gain nothing stay unchanged, as
        do constant and evenly spaced ones, such as time.
    kernel : kernel object or name
        A radial kernel; without a length scale, each stage computes one from its inputs.
    n_landmarks : "auto" or int
        Landmarks per stage; above 300, at most one per 150 noisy points. "auto" leaves them to ``effort``, with fewer
        in the first levels for noisy examples.
    n_stages : "auto" or int
        The largest number of levels; fewer are kept if more do not help. "auto" leaves it to ``effort``.
    effort : "quick", "standard" or "best"
        How much time to spend: in ``fit`` on landmarks, levels and places to learn from, in ``denoise_image`` and
        ``denoise_signal`` on the search for similar patches.
    random_state : int, RandomState, Generator or None
        Random numbers for landmarks, probes and corrupted copies.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: process affinity,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and joblib's worker limits, which also cap a given number.

    Attributes
    ----------
    noise_ : NoiseLaw
        The noise of the last ``fit``, image or signal.
    noise_along_time_ : SignalNoise
        The noise of every channel of the last signal.
    risk_ : float
        The remaining mean squared error per entry, measured on validation rows; for an image or signal, Stein's
        estimate of it. For a scaled table it is in units of the columns' standard deviations.
    stack_ : Stack
        The levels that ``fit`` found.
    summary_ : dict of ColumnRisk
        For each column of a scaled table: its noise, the remaining error, what was removed, and whether it changed.
    candidates_ : dict of floats
        The risk of each estimate tried on the last image or signal.
    residual_ : array
        What was removed from the last image.

    See Also
    --------
    KernelPCA.denoise : A single kernel PCA, whose components can be inspected.
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
        n_landmarks="auto",
        n_stages="auto",
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
            learned = denoising.learned_table if self._is_scaled() else denoising.learned_images
            rng = conventions.generator(self.random_state)
            found = learned(images, self._asked(), self._kernel(), self._budget(), rng)
            self.stack_, self.noise_, self.risk_, self.units_ = found.stack, found.noise, found.risk, found.units
            self.__dict__.pop("summary_", None)
            if isinstance(found.stack, denoising.DenoisedTable):
                names = distinct(map(str, getattr(self, "feature_names_in_", range(X.shape[1]))))
                self.summary_ = dict(zip(names, found.stack.columns, strict=True))
        return self

    @conventions.also_distributed
    def transform(self, X):
        """The denoised rows of X."""
        check_is_fitted(self, "stack_")
        X = conventions.read_rows(self, X, reset=False)
        conventions.check_scale(X, "rows", smallest=0.0)
        found, shape = np.empty_like(X), _shape(self.geometry, X.shape[1])
        for rows in slicing.row_blocks(len(X), BYTES_A_POINT * X.shape[1]):
            found[rows] = self._denoised(X[rows].reshape(-1, *shape)).reshape(-1, X.shape[1])
        return found

    def denoise(self, X):
        """Same as ``transform``, under the name that other estimators use."""
        return self.transform(X)

    def denoise_image(self, image):
        """One image, denoised from itself alone: (height, width), or (height, width, channels) in colour.

        Similar patches are denoised together (:mod:`preimage.denoising.groups`). The noise may depend on the
        brightness, as photon noise does, and values may be clipped to a range, as in image files. It ignores
        ``geometry`` and keeps what ``fit`` has learned.

        It sets ``noise_``, ``risk_``, ``candidates_`` and ``residual_``.
        """
        return self._picture(image, "an image", 2)

    def denoise_stack(self, stack):
        """Frames, each denoised from itself and its neighbours: (frames, height, width), or with channels last.

        For films and the slices of a volume; it looks for similar patches in five frames. It sets the same attributes
        as ``denoise_image``.
        """
        return self._picture(stack, "a stack", 3)

    def _picture(self, values, what: str, n_axes: int) -> np.ndarray:
        values = _floating(values, what, (n_axes, n_axes + 1))
        found = self._alone(denoising.denoised_alone, values.reshape(*values.shape[:n_axes], -1))
        self.noise_, self.risk_, self.candidates_ = found.noise, found.risk, found.candidates
        denoised = found.image.reshape(values.shape)
        self.residual_ = values - denoised
        return denoised

    def denoise_signal(self, signal):
        """One signal, denoised from itself alone: (length,), or (length, channels) for leads or stereo.

        Similar patches along time are denoised together (:mod:`preimage.denoising.signals`), in all channels at once.
        The noise may differ between channels and change over time. A long recording is denoised in pieces. It ignores
        ``geometry`` and ``kernel``, and keeps what ``fit`` has learned.

        It sets ``noise_``, ``noise_along_time_``, ``risk_`` and ``candidates_``.

        See Also
        --------
        denoise_recording : For recordings that do not fit into memory.
        """
        signal = np.asarray(signal)
        return joined(self.denoise_recording(signal), signal.shape, tiles.floating_dtype(signal.dtype))

    def denoise_recording(self, recording):
        """A long signal, denoised part by part in memory that does not grow with its length.

        Parameters
        ----------
        recording : array, memory map, or any other object with a shape, a dtype and slices of rows
            One signal as in ``denoise_signal``. It is read part by part, several times; it must not change meanwhile.

        Returns
        -------
        iterator of arrays
            Consecutive parts of what ``denoise_signal`` returns. The attributes are set before the first part.

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import Denoiser
        >>> rng = np.random.default_rng(0)
        >>> hours = (8000 * np.sin(np.arange(150_000) / 20) + 900 * rng.standard_normal(150_000)).astype(np.int16)
        >>> denoiser = Denoiser(random_state=0)
        >>> [len(part) for part in denoiser.denoise_recording(hours)]
        [131072, 18928]
        """
        source = _sliceable(recording)
        found = self._alone(denoising.denoised_signal, _checked(source))
        self.noise_ = GaussianNoise(found.noise.sigma)
        self.noise_along_time_, self.risk_, self.candidates_ = found.noise, found.risk, found.candidates
        return (part.reshape(len(part), *source.shape[1:]) for part in self._one_by_one(found.parts()))

    def _one_by_one(self, parts: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        """The parts, each computed within our limit of threads, which does not hold in between."""
        while True:
            with threads.limited(self.n_jobs):
                part = next(parts, None)
            if part is None:
                return
            yield part

    def _alone(self, denoised: Callable[..., Any], values: Any) -> Any:
        """The result of ``denoised`` for a single image or signal."""
        if self.examples != "noisy":
            raise ValueError('a single image or signal has no clean examples: use Denoiser(examples="noisy").')
        self._check_effort()
        keep_freed_arrays()
        with threads.limited(self.n_jobs):
            return denoised(values, self._asked().law, self.effort, conventions.generator(self.random_state))

    def _check_effort(self) -> None:
        if self.effort not in denoising.EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(denoising.EFFORTS)}, not {self.effort!r}.")

    def _asked(self) -> denoising.Asked:
        return denoising.Asked(self.examples, self.noise, self.geometry)

    def _is_scaled(self) -> bool:
        """Whether to standardise the columns."""
        if self.scale not in ("auto", "standard", "none"):
            raise ValueError(f'scale must be "auto", "standard" or "none", not {self.scale!r}.')
        if self.scale == "standard" and self.geometry is not None:
            raise ValueError("the columns of images and signals share one unit: scale='standard' needs geometry=None.")
        return self.geometry is None and self.scale != "none"

    def _denoised(self, images: np.ndarray) -> np.ndarray:
        if isinstance(self.stack_, denoising.DenoisedTable):
            return self.stack_(images)
        if not self.stack_.levels:
            return images.copy()
        return self.units_.outside(self.stack_(self.units_.inside(images))).astype(images.dtype)

    def _budget(self) -> denoising.Budget:
        """The budget of the chosen effort, with the sizes that were given."""
        self._check_effort()
        sizes = {name: getattr(self, name) for name in ("n_landmarks", "n_stages")}
        for name, value in sizes.items():
            if not (value == "auto" if isinstance(value, str) else is_number(value) and value == int(value) >= 1):
                raise ValueError(f'{name} must be "auto" or a whole number of at least 1, not {value!r}.')
        given = {name: None if isinstance(value, str) else int(value) for name, value in sizes.items()}
        return denoising.BUDGETS[self.effort].resized(**given)

    def _kernel(self) -> Radial:
        kernel = kernels.as_kernel(self.kernel)
        if not (isinstance(kernel, Radial) and hasattr(kernel, "length_scale")):
            raise ValueError(f"{kernel!r} has no length scale: use Gaussian(), Matern() or another kernel with one.")
        return kernel


def _shape(geometry, n_features: int) -> tuple[int, ...]:
    """The shape of a row with channels last; without a geometry, one point with a channel per column."""
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
    _check_numbers(values, what, n_axes)
    if not np.isfinite(values).all():
        raise ValueError(NOT_FINITE.format(what))
    values = tiles.floating(values)
    conventions.check_scale(values, what)
    return values


def _sliceable(recording) -> Any:
    """What has a type of numpy's and slices by position, as it is; lists, frames, series and tensors as an array."""
    is_one = isinstance(getattr(recording, "dtype", None), np.dtype) and not hasattr(recording, "iloc")
    return recording if is_one else np.asarray(recording)


def _checked(recording) -> denoising.Recording:
    what, found = "a signal", denoising.Recording(recording)
    _check_numbers(recording, what, (1, 2))
    extremes = found.extremes()
    if not np.isfinite(extremes).all():
        raise ValueError(NOT_FINITE.format(what))
    conventions.check_scale(extremes, what)
    return found


def _check_numbers(values, what: str, n_axes: tuple[int, ...]) -> None:
    if values.dtype.kind not in "fiub" or len(values.shape) not in n_axes or not all(values.shape):
        raise ValueError(f"{what} must be an array of numbers with {' or '.join(map(str, n_axes))} axes.")
