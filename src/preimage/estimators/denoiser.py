"""``Denoiser``: the estimator."""

from __future__ import annotations

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from preimage import kernels
from preimage.denoising import (
    EFFORTS,
    CoarseColours,
    Learner,
    Limits,
    NoiseCurve,
    NoisyPicture,
    SimilarRows,
    Stack,
    Units,
    censored_level,
    cut,
    filled,
    in_tiles,
    lost,
    measured_noise,
    small_patches,
)
from preimage.estimators import conventions
from preimage.exceptions import NoiseLevelWarning, silenced, warn
from preimage.gram import threads, tiles
from preimage.io.models import Persistent
from preimage.kernels import Radial
from preimage.kernels.base import is_number
from preimage.noise import GaussianNoise, NoiseLaw, PoissonGaussianNoise, PoissonNoise, SaltAndPepper, as_noise
from preimage.statistics.noise_level import MOST_COLUMNS, NoiseLevel, from_flat_patches, noise_level

FEWEST_IMAGES = 40  # below which they are cut into pieces, since nothing can be learnt from them as wholes
FEWEST_POINTS, FEWEST_PATCHES = 1000, 20
VALIDATION = 100  # images on which what was removed is tested
LEAST_SIGMA = 1e-3  # beside the spread of all numbers
STILL = 0.9  # share of images in which a point lies on a limit that noise does not move it from
SHORTEST_SIDE = 16  # of an image that tells its noise
BYTES_A_POINT = 200  # of an image, while it is denoised
DOUBTFUL = 1.1  # a sigma that exceeds what the data show by this factor is warned of
FAR_MORE = 1.5  # and of an image by this one
HEAVY_TAILS = 1.0  # excess kurtosis of what was removed, from which it is no Gaussian noise


class Denoiser(Persistent, OneToOneFeatureMixin, TransformerMixin, conventions.NestedParameters):
    """Noise removed from rows, images and signals, with clean examples or without any.

    Stages of kernel features with a learned inverse map, see :mod:`preimage.denoising`. Without clean examples they are
    learned by Stein's identity, which needs Gaussian noise and its σ; with clean examples from corrupted copies of
    them. What there is to choose, ridges and the number of levels, is chosen by the error on rows set aside: the true
    one with clean examples, Stein's unbiased estimate of it without.

    Parameters
    ----------
    examples : "noisy" or "clean"
        What the rows given to ``fit`` are.
    noise : "auto", a noise law, a callable (X, rng) → Y, or a number
        What is to be removed; a number is the σ of Gaussian noise. "auto" estimates σ from noisy rows; where these
        cannot tell, a :class:`NoiseLevelWarning` says so, and σ is the lower end of what it may be.
    geometry : None or tuple
        What a row is: None a list of numbers, (height, width) or (height, width, channels) an image, (length,) a
        signal. Neighbours of a point say much about it, so give it if there is one.
    kernel : kernel object or name
        A kernel of the distance; one without a length scale takes it from what each stage sees.
    n_landmarks : int
        Rows that a stage compares with; time grows with it, and the error falls slowly.
    n_stages : int
        The most levels on top of each other; fewer where one more does not help.
    effort : "quick", "standard" or "best"
        How much time ``denoise_image`` takes.
    random_state : int, RandomState, Generator or None
        Where landmarks, probes and corrupted copies are drawn from.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: the affinity of the process,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and the limits of joblib's workers, which a number obeys as well.

    Attributes
    ----------
    noise_ : NoiseLaw
        What is removed; by the last ``fit`` or from the last image.
    risk_ : float
        The mean squared error of a number that remains, as the rows set aside show it, or Stein's estimate of an image.
    stack_ : Stack
        The levels that ``fit`` found.
    candidates_ : dict of floats
        The risk of each estimate of which the last image is the combination.
    residual_ : array
        What was removed from the last image.

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
            images = X.reshape(-1, *_shape(self.geometry, X.shape[1]))
            if self.geometry is not None and len(images) < FEWEST_IMAGES:
                self._learn(np.concatenate([cut(image) for image in images]), wholes=False, windows=True, anywhere=True)
            else:
                self._learn(images, wholes=True, windows=self.geometry is not None)
        return self

    @conventions.also_distributed
    def transform(self, X):
        """Rows without noise."""
        check_is_fitted(self, "stack_")
        X = conventions.read_rows(self, X, reset=False)
        found, shape = np.empty_like(X), _shape(self.geometry, X.shape[1])
        for rows in tiles.row_blocks(len(X), BYTES_A_POINT * X.shape[1]):
            found[rows] = self._denoised(X[rows].reshape(-1, *shape)).reshape(-1, X.shape[1])
        return found

    def denoise(self, X):
        """The same as ``transform``, by the name that other estimators give to it."""
        return self.transform(X)

    def denoise_image(self, image):
        """One image without noise, from itself: (height, width), or (height, width, channels) in colour.

        Similar patches answer for each other (:mod:`preimage.denoising.groups`). The noise may follow the brightness,
        as that of counted light does, and values may be cut off at the ends of their range, as in picture files.
        ``geometry`` has no part in this, and what ``fit`` has learned stays.

        Attributes ``noise_``, ``risk_``, ``candidates_`` and ``residual_`` tell what was found.
        """
        image = _floating(image, "an image", (2, 3))
        return self._alone(image, image if image.ndim == 3 else image[..., None])

    def denoise_stack(self, stack):
        """Frames without noise, each from itself and its neighbours: (frames, height, width), or with channels last.

        A film, or the slices of a volume: similar patches are sought in five frames. What was found is told as by
        ``denoise_image``.
        """
        stack = _floating(stack, "a stack", (3, 4))
        return self._alone(stack, stack if stack.ndim == 4 else stack[..., None])

    def _alone(self, given: np.ndarray, image: np.ndarray) -> np.ndarray:
        """What is made of an image or a stack, ``image`` with an axis of channels."""
        if self.examples != "noisy":
            raise ValueError('an image or a signal alone has no clean examples: use Denoiser(examples="noisy").')
        if self.effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, not {self.effort!r}.")
        with threads.limited(self.n_jobs):
            found = self._picture(image).reshape(given.shape)
        self.residual_ = given - found
        return found

    def denoise_signal(self, signal):
        """One signal without noise, learned from itself."""
        signal = _floating(signal, "a signal", (1,))
        if self.examples != "noisy":
            raise ValueError('an image or a signal alone has no clean examples: use Denoiser(examples="noisy").')
        learner = clone(self).set_params(geometry=(len(signal), 1))
        if np.ptp(signal) == 0:
            return signal.copy()  # there is no noise in it
        with threads.limited(self.n_jobs):
            learner._learn(cut(signal[:, None]), wholes=False, windows=True, anywhere=True)
            self.noise_, self.risk_ = learner.noise_, learner.risk_
            return learner._denoised(signal[None, :, None]).reshape(signal.shape)

    def _picture(self, image: np.ndarray) -> np.ndarray:
        """What is made of an image with channels."""
        if np.all(image == image[..., :1]):  # grey, also where it is stored as colour
            image, channels = image[..., :1], image.shape[-1]
            return np.repeat(self._answered(image), channels, axis=-1)
        return self._answered(image)

    def _answered(self, image: np.ndarray) -> np.ndarray:
        units, rng = Units.of(image), conventions.generator(self.random_state)
        told = not (isinstance(self.noise, str) and self.noise == "auto")
        self.risk_, self.candidates_ = 0.0, {}
        if (missing := None if told else lost(image)) is not None:
            rest = self._answered(filled(image, missing))
            self.noise_ = SaltAndPepper(float(missing.mean()), float(image.min()), float(image.max()))
            return rest
        curve = self._curve(image)
        self.noise_ = _law_of(curve)
        if np.ptp(image) == 0 or not curve.floor + curve.slope > 1e-12 * units.scale**2:
            return image.copy()  # there is no noise in it
        inside, within = units.inside(image), curve.within(units)
        coarse = None if told else CoarseColours.recognised(inside)
        if coarse:
            self.noise_ = GaussianNoise(coarse.sigma * units.scale)
            found = in_tiles(lambda part: CoarseColours(part, coarse.step).answered(self.effort, rng), inside)
        else:
            found = in_tiles(lambda part: NoisyPicture(part, within).answered(self.effort, rng), inside)
        self.risk_ = found.risk * units.scale**2
        self.candidates_ = {name: risk * units.scale**2 for name, risk in found.candidates.items()}
        return units.outside(found.image).astype(image.dtype, copy=False)

    def _curve(self, image: np.ndarray) -> NoiseCurve:
        """The law of the noise of an image, estimated where it is not given; frames of a stack stand on each other."""
        image = image.reshape(-1, *image.shape[-2:])
        limits = Limits.of(image[None])
        if isinstance(self.noise, str) and self.noise == "auto":
            if min(image.shape[:-1]) < SHORTEST_SIDE:
                warn(
                    f"an image of {image.shape[0]} × {image.shape[1]} points does not tell its noise: name it.",
                    NoiseLevelWarning,
                )
                return NoiseCurve(0.0, 0.0)
            return measured_noise(image, limits)
        law = _as_law(self.noise)
        if isinstance(law, GaussianNoise):
            _warn_of_more_than_shown(law.sigma, image, limits)
            return NoiseCurve(0.0, law.sigma**2, Limits(*law.clip) if law.clip else limits)
        if isinstance(law, PoissonNoise):
            return NoiseCurve(1 / law.peak, 0.0, Limits(-np.inf, limits.high))
        if isinstance(law, PoissonGaussianNoise):
            return NoiseCurve(law.a, law.b, Limits(*law.clip) if law.clip else Limits(-np.inf, limits.high))
        raise ValueError(
            f"of one image alone only Gaussian and Poisson noise can be removed, not {law!r}: use Denoiser with clean "
            "examples (examples='clean')."
        )

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
            self.stack_: SimilarRows | Stack = SimilarRows.fit(inside, curve.within(self.units_), rng)
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

    def _denoised(self, images: np.ndarray) -> np.ndarray:
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


def _law_of(curve: NoiseCurve) -> NoiseLaw:
    clip = (curve.limits.low, curve.limits.high) if curve.limits else None
    if curve.slope > 0:
        return PoissonGaussianNoise(curve.slope, curve.floor, clip)
    return GaussianNoise(float(np.sqrt(curve.floor)), clip)


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
    return tiles.floating(values)


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


def _warn_of_more_than_shown(sigma: float, image: np.ndarray, limits: Limits) -> None:
    if min(image.shape[:-1]) >= SHORTEST_SIDE and np.ptp(image) > 0:
        shown = float(np.sqrt(measured_noise(image, limits).before(float(image.mean()))))
        if sigma > FAR_MORE * shown:
            warn(
                f"the image shows noise of {shown:.3g}, not of {sigma:.3g}: more will be smoothed away than noise.",
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
