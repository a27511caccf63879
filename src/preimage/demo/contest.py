"""Noisy digits, and what each method makes of them: first with clean examples to learn from, then with none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from preimage import progress
from preimage.datasets import load_digits
from preimage.kernels import scales
from preimage.noise import GaussianNoise

if TYPE_CHECKING:
    from preimage.selection import Candidate, Selection

SIGMA = 0.3  # of the noise; paper is 0 and ink is 1
SHAPE = (8, 8)
N_TRAIN, N_TEST, N_HELD, N_ALONE = 1000, 200, 200, 800
FACTORS = (1.0, 2**0.5, 2.0, 2**1.5)  # of Kwok & Tsang's length scale, as `select` takes them by itself
COMPONENTS = (16, 32, 64, 128, 256)
LINEAR = [(q,) for q in range(4, 33)]  # components of linear PCA
QUICK = {"n_landmarks": 200, "n_stages": 2}  # a Denoiser that is ready within seconds
SCIKIT, DENOISER = "scikit-learn KernelPCA", "Denoiser, told the noise"
STEPS = 14  # of work, for a bar that shows progress


@dataclass(frozen=True, eq=False)
class Digits:
    """Clean digits to learn from; digits that settings are chosen on; digits that everybody is judged by."""

    train: np.ndarray
    held: np.ndarray
    held_noisy: np.ndarray
    clean: np.ndarray
    noisy: np.ndarray
    seed: int

    @classmethod
    def draw(cls, seed: int) -> Digits:
        """The digits of scikit-learn in a random order, with noise."""
        images, noise = load_digits().X, GaussianNoise(SIGMA)
        order = np.random.default_rng(seed).permutation(len(images))
        train, clean, held, _ = np.split(images[order], np.cumsum([N_TRAIN, N_TEST, N_HELD]))
        held_noisy = noise(held, np.random.default_rng(seed + 2))
        return cls(train, held, held_noisy, clean, noise(clean, np.random.default_rng(seed + 1)), seed)

    @property
    def pile(self) -> np.ndarray:
        """Noisy digits alone, those that everybody is judged by in front."""
        others = self.train[: N_ALONE - N_TEST]
        return np.vstack([self.noisy, GaussianNoise(SIGMA)(others, np.random.default_rng(self.seed + 3))])


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of the table.

    Attributes
    ----------
    method, settings : str
        Who, and with what.
    snr : float
        Mean over the test digits of 10 log₁₀(‖clean‖² / ‖clean − denoised‖²), in dB.
    seconds : float
        To fit and to denoise; not to choose the settings, unless the method chooses by itself.
    images : array
        The denoised digits.
    """

    method: str
    settings: str
    snr: float
    seconds: float
    images: np.ndarray = field(repr=False)

    def figures(self) -> dict[str, Any]:
        """All but the images."""
        return {"method": self.method, "settings": self.settings, "snr": self.snr, "seconds": self.seconds}


@dataclass(frozen=True, eq=False)
class Contest:
    """Entries with clean examples and without, and the searches that chose for them."""

    digits: Digits
    taught: tuple[Entry, ...]
    alone: tuple[Entry, ...]
    search: Selection
    search_alone: Selection

    @property
    def best_way_back(self) -> Entry:
        """The best kernel PCA with clean examples."""
        return best([entry for entry in self.taught if entry.method != DENOISER])

    @property
    def denoisers(self) -> tuple[Entry, Entry]:
        """The denoiser with clean examples, and without."""
        return self.taught[-1], self.alone[-1]


def run(seed: int) -> Contest:
    """Every method on the same digits."""
    digits, tell = Digits.draw(seed), _Steps()
    search = tell(search_settings, digits)
    taught = [_entry("noisy input", "", digits.clean, lambda: digits.noisy, still=True)]
    taught += [tell(_linear, digits), tell(_scikit, digits)]
    taught += [tell(_kernel, digits, *line) for line in _ways_back(search)]
    taught.append(tell(_denoiser, digits))
    alone, search_alone = _nothing_clean(digits, tell)
    return Contest(digits, tuple(taught), tuple(alone), search, search_alone)


def best(entries: Sequence[Entry]) -> Entry:
    """The first of those that nobody exceeds by a hundredth of a dB."""
    return max(entries, key=lambda entry: round(entry.snr, 2))


def snr(clean: np.ndarray, denoised: np.ndarray) -> float:
    """Mean over rows of the signal to noise ratio in dB."""
    return float(np.mean(10 * np.log10(np.square(clean).sum(1) / np.square(clean - denoised).sum(1))))


def search_settings(digits: Digits) -> Selection:
    """Scale and components for four ways back, by Stein's estimate on noisy digits: nobody looks at clean ones."""
    from preimage import KernelPCA
    from preimage.preimages import Conformal, Distance, FixedPoint, OneStep
    from preimage.selection import select

    scale = scales.length_scale(digits.train, "mean")
    grid: dict[str, Sequence] = {
        "kernel__length_scale": [factor * scale for factor in FACTORS],
        "n_components": list(COMPONENTS),
        "preimage": [FixedPoint(), Distance(), OneStep(), Conformal()],
    }
    start, noisy = KernelPCA(random_state=0), digits.held_noisy
    return select(digits.train, estimator=start, grid=grid, noisy=noisy, sigma=SIGMA, keep=1, random_state=0)


def best_of(search: Selection, method: type) -> Candidate:
    """The best setting with this way back."""
    return next(candidate for candidate in search.table if isinstance(candidate.params["preimage"], method))


def _ways_back(search: Selection) -> list[tuple[str, Any, float | None, int]]:
    """Name, method, length scale and components of our lines; neighbours in kind borrow each other's settings."""
    from preimage.preimages import Conformal, ConvexCombination, Distance, FixedPoint, Gradient, Learned, OneStep

    lines = [
        ("fixed point (Mika et al. 1998)", FixedPoint(), FixedPoint),
        ("descent on the same distance", Gradient(), FixedPoint),
        ("distances (Kwok & Tsang 2003)", Distance(), Distance),
        ("mixture of neighbours (Zheng et al. 2010)", ConvexCombination(), Distance),
        ("one step (Rathi et al. 2006)", OneStep(), OneStep),
        ("conformal (Honeine & Richard 2011)", Conformal(), Conformal),
    ]
    chosen = [(name, method, best_of(search, settings).params) for name, method, settings in lines]
    ours = [(name, method, p["kernel__length_scale"], p["n_components"]) for name, method, p in chosen]
    told = Learned(noise=GaussianNoise(SIGMA), n_landmarks=700)
    return [*ours, ("regression that is told the noise", told, None, 64)]


def _kernel(digits: Digits, name: str, method, length_scale: float | None, n_components: int) -> Entry:
    from preimage import KernelPCA
    from preimage.kernels import Gaussian

    model = KernelPCA(n_components, kernel=Gaussian(length_scale), preimage=method, random_state=0)
    entry = _entry(name, "", digits.clean, lambda: model.fit(digits.train).denoise(digits.noisy))
    return replace(entry, settings=f"ℓ = {vars(model.kernel_)['length_scale']:.2f}, {n_components} components")


def _denoiser(digits: Digits) -> Entry:
    from preimage import Denoiser

    model = Denoiser(examples="clean", noise=GaussianNoise(SIGMA), geometry=SHAPE, **QUICK, random_state=0)
    settings = "{n_landmarks} landmarks, {n_stages} stages".format(**QUICK)
    return _entry(DENOISER, settings, digits.clean, lambda: model.fit(digits.train).transform(digits.noisy))


def _linear(digits: Digits) -> Entry:
    (q,) = _least_error(LINEAR, digits.held, lambda q: _pca(digits.train, q)(digits.held_noisy))
    return _entry("linear PCA", f"{q} components", digits.clean, lambda: _pca(digits.train, q)(digits.noisy))


def _scikit(digits: Digits) -> Entry:
    chosen = _least_error(_scikit_grid(), digits.held, lambda *s: _scikit_pca(digits.train, *s)(digits.held_noisy))
    words = _scikit_words(chosen)
    return _entry(SCIKIT, words, digits.clean, lambda: _scikit_pca(digits.train, *chosen)(digits.noisy))


def _nothing_clean(digits: Digits, tell: _Steps) -> tuple[list[Entry], Selection]:
    """Noisy digits alone. The peers get the settings with the least true error, which no user could know; we do not."""
    from preimage import Denoiser
    from preimage.selection import select

    pile, clean = digits.pile, digits.clean

    def on_pile(denoise: Callable) -> np.ndarray:
        return denoise(pile)[:N_TEST]

    (q,) = _least_error(LINEAR, clean, lambda q: on_pile(_pca(pile, q)))
    scikit = tell(_least_error, _scikit_grid(), clean, lambda *s: on_pile(_scikit_pca(pile, *s)))
    entries = [
        _entry("noisy input", "", clean, lambda: digits.noisy, still=True),
        _entry("linear PCA", f"{q} components", clean, lambda: on_pile(_pca(pile, q))),
        _entry(SCIKIT, _scikit_words(scikit), clean, lambda: on_pile(_scikit_pca(pile, *scikit))),
    ]
    start = time.perf_counter()
    search = tell(lambda: select(pile, shape=SHAPE, random_state=0))
    images = search.best.denoise(pile)[:N_TEST]
    entries.append(Entry("select", _words(search.best_params), snr(clean, images), time.perf_counter() - start, images))
    denoiser = Denoiser(geometry=SHAPE, random_state=0)
    entries.append(tell(_entry, "Denoiser", "nothing set", clean, lambda: on_pile(denoiser.fit_transform)))
    return entries, search


def _pca(train: np.ndarray, n_components: int) -> Callable:
    from sklearn.decomposition import PCA

    model = PCA(n_components, random_state=0).fit(train)
    return lambda X: model.inverse_transform(model.transform(X))


def _scikit_grid() -> list[tuple[int, float, float]]:
    """Components, γ in units of 1 / (d · variance), scikit-learn's "scale" for other kernel machines, and the ridge."""
    return list(product((16, 32, 64), (0.3, 1.0), (0.1, 1.0)))


def _scikit_pca(train: np.ndarray, n_components: int, factor: float, alpha: float) -> Callable:
    from sklearn.decomposition import KernelPCA

    gamma = factor / (train.shape[1] * train.var())
    model = KernelPCA(n_components, kernel="rbf", gamma=gamma, fit_inverse_transform=True, alpha=alpha, random_state=0)
    model.fit(train)
    return lambda X: model.inverse_transform(model.transform(X))


def _scikit_words(settings: tuple[int, float, float]) -> str:
    n_components, factor, alpha = settings
    return f"γ = {factor:g} / (d · variance), {n_components} components, α = {alpha:g}"


def _words(params: dict[str, Any]) -> str:
    scale, n_components, method = params["kernel__length_scale"], params["n_components"], params["preimage"]
    return f"ℓ = {scale:.2f}, {n_components} components, {type(method).__name__}"


def _least_error(settings: Sequence[tuple], clean: np.ndarray, denoise: Callable) -> tuple:
    """The setting with the least true error."""
    return min(settings, key=lambda setting: float(np.square(denoise(*setting) - clean).mean()))


def _entry(method: str, settings: str, clean: np.ndarray, denoise: Callable, *, still: bool = False) -> Entry:
    start = time.perf_counter()
    images = denoise()
    seconds = 0.0 if still else time.perf_counter() - start
    return Entry(method, settings, snr(clean, images), seconds, images)


class _Steps:
    """Calls a function and tells who listens that a step of the work is done."""

    def __init__(self):
        self.done = 0

    def __call__(self, function: Callable, *arguments):
        answer = function(*arguments)
        self.done += 1
        progress.report("demo", self.done, STEPS)
        return answer
