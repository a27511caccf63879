"""The search over kernel, number of components and pre-image method, without clean data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from preimage import eigen, exceptions, kernels, preimages, progress
from preimage._typing import RowsLike
from preimage.eigen.mixed import Mixed
from preimage.estimators import KernelPCA, conventions, inverse
from preimage.estimators.fitting import Settings
from preimage.gram import threads
from preimage.kernels import scales
from preimage.preimages.base import refuse_precomputed
from preimage.statistics.noise_level import NoiseLevel, noise_level
from preimage.statistics.risk import Masked, Risk, RiskEstimate, RiskQuery, Sure

HELD_OUT, MOST_VALIDATION = 0.25, 1000  # share and largest number of rows held out for validation
FEWEST_ROWS, FEWEST_NUMBERS = (25, 50), 5000  # of the first round: 5000 numbers, but 25 to 50 rows
FACTORS = tuple(2.0 ** (k / 2) for k in range(6))  # times the length scale of Kwok & Tsang's rule: c · 1, 2, 4, … 32
MOST_COMPONENTS = 256
SHOWN_BY_RISK = (  # warnings of poor settings
    exceptions.ConvergenceWarning,
    exceptions.FewerComponentsWarning,
    exceptions.LengthScaleWarning,
    exceptions.PoorApproximationWarning,
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """One setting and its estimated risk.

    Attributes
    ----------
    params : dict
        Parameters of the estimator.
    risk, standard_error : float
        The estimated mean squared error of an entry, and its standard error.
    n_rows : int
        The validation rows used: all of them for finalists, fewer for settings dropped earlier.

    See Also
    --------
    Selection : Holds all candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import select
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> result = select(noisy, sigma=0.1, grid={"kernel": ["linear"], "n_components": [1, 5]}, random_state=0)
    >>> best = result.table[0]
    >>> best.params["n_components"], bool(best.risk < 0.1**2)
    (1, True)
    """

    params: dict[str, Any]
    risk: float = float("nan")
    standard_error: float = float("nan")
    n_rows: int = 0


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen model, and the table of all settings.

    Attributes
    ----------
    best : KernelPCA
        With the chosen settings, fitted on all rows.
    table : tuple of Candidate
        All settings, best first, then those dropped earlier.
    risk : Risk
        How the error was estimated.
    noise : NoiseLevel or None
        The noise level, if it was estimated.

    See Also
    --------
    select : Returns it.
    Candidate : A row of its table.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import select
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> result = select(noisy, sigma=0.1, grid={"kernel": ["linear"], "n_components": [1, 5]}, random_state=0)
    >>> result.best_params, result.best.n_components_
    ({'kernel': 'linear', 'n_components': 1}, 1)
    """

    best: KernelPCA
    table: tuple[Candidate, ...] = field(repr=False)
    risk: Risk
    noise: NoiseLevel | None

    @property
    def best_params(self) -> dict[str, Any]:
        """The settings of the best candidate."""
        return self.table[0].params

    def columns(self) -> dict[str, list]:
        """The table by columns, as ``pandas.DataFrame`` takes it."""
        names = [*self.best_params, "risk", "standard_error", "n_rows"]
        rows = [candidate.params | vars(candidate) for candidate in self.table]
        return {name: [row[name] for row in rows] for name in names}


@threads.limited()
def select(
    X: RowsLike,
    *,
    estimator: KernelPCA | None = None,
    grid: dict[str, Sequence] | None = None,
    noisy=None,
    risk: str | Risk = "sure",
    sigma: float | None = None,
    shape: tuple[int, ...] | None = None,
    keep: float = 1 / 3,
    random_state=None,
) -> Selection:
    """Choose scale, number of components and pre-image method by their estimated error on new rows.

    Candidates with the same kernel share its eigendecomposition. Their risks are estimated on validation rows, which no
    candidate was fitted on: all on a few rows, the best share ``keep`` on more, and so on (successive halving), with
    the same probes.

    Parameters
    ----------
    X : array of shape (rows, d)
        Rows to fit on. Unless ``noisy`` is given, a quarter of them is held out as validation rows.
    estimator : KernelPCA, optional
        The settings that are not in the grid.
    grid : dict, optional
        Values of the estimator's parameters, also nested ones, as for ``GridSearchCV``. By default six length scales
        (if the kernel has one), numbers of components up to 256, ``Distance()`` and ``FixedPoint()``.
    noisy : array of shape (rows, d), optional
        Noisy validation rows, if X itself is clean or has other noise.
    risk : "sure", "masked" or object
        Stein's estimate for Gaussian noise, the error at hidden entries for other noise, or an object such as
        ``Masked(0.2)``.
    sigma : float, optional
        The noise level for "sure"; estimated if not given.
    shape : tuple, optional
        The shape of a row, see :func:`noise_level`; used for that estimate only.
    keep : float
        The share of candidates kept after a round; 1 compares all of them on all rows.
    random_state : int, RandomState, Generator or None
        Random numbers for the split and the probes.

    Returns
    -------
    Selection

    See Also
    --------
    Selection : The result.
    preimage.plot.selection : Draws the risks.
    sure_scorer : For scikit-learn's own searches.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.datasets import half_circle
    >>> from preimage.selection import select
    >>> rng = np.random.default_rng(0)
    >>> clean = np.pad(half_circle(200, noise=0, random_state=0).X, [(0, 0), (0, 8)])
    >>> noisy = clean + 0.1 * rng.standard_normal(clean.shape)
    >>> result = select(noisy, sigma=0.1, grid={"n_components": [2, 4, 32], "preimage": ["distance"]}, random_state=0)
    >>> bool(np.mean((result.best.denoise(noisy) - clean) ** 2) < 0.5 * 0.1**2)
    True
    """
    estimator, rng = KernelPCA() if estimator is None else estimator, conventions.generator(random_state)
    X, part, validation = _split(X, noisy, rng)
    estimate, noise = _as_risk(risk, sigma, X if noisy is None else validation, shape)
    grid = _default_grid(estimator, part) if grid is None else grid
    search = _Search(estimator, part, validation, estimate, int(rng.integers(2**31)))
    table = _successive_halving(search, search.candidates(grid), keep)
    best = clone(estimator).set_params(**table[0].params)
    with exceptions.silenced(*SHOWN_BY_RISK):
        best.fit(X)
    return Selection(best, tuple(table), estimate, noise)


class _Search:
    """Fits candidates that share decompositions, and estimates their risks."""

    def __init__(self, estimator: KernelPCA, X: np.ndarray, validation: np.ndarray, risk: Risk, seed: int):
        self.estimator, self.X, self.validation, self.risk, self.seed = estimator, X, validation, risk, seed
        self.models: dict[tuple, KernelPCA] = {}

    def candidates(self, grid: dict[str, Sequence]) -> list[Candidate]:
        """All combinations of the grid; numbers of components are capped at those available."""
        combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        if not combinations:
            raise ValueError("the grid is empty: every parameter in it needs at least one value.")
        families = defaultdict(list)
        for params in combinations:
            Settings.of(clone(self.estimator).set_params(**params))
            families[_family(params)].append(params)
        with exceptions.silenced(*SHOWN_BY_RISK):
            self.models = {family: self._fit(members) for family, members in families.items()}
        capped = [_capped(params, self.models[_family(params)].n_components_) for params in combinations]
        return [Candidate(params) for params in {_key(params): params for params in capped}.values()]

    def _fit(self, members: list[dict]) -> KernelPCA:
        """A model with as many components as any member asks for."""
        numbers = [params["n_components"] for params in members if _is_shared(params)]
        most = {"n_components": min(max(numbers), len(self.X) - 1)} if numbers else {}
        model = clone(self.estimator).set_params(**_common(members[0]) | most)
        return model.set_params(solver=_light(model.solver, len(self.X), most.get("n_components"))).fit(self.X)

    def rated(self, candidates: list[Candidate], n_rows: int) -> list[Candidate]:
        """The candidates with their risks on the first validation rows."""
        question = self.risk.ask(self.validation[:n_rows], np.random.default_rng(self.seed))
        codes: dict[tuple, np.ndarray] = {}
        rated = []
        for number, candidate in enumerate(candidates, 1):
            family = _family(candidate.params)
            if self.risk.verb == "denoise" and family not in codes:
                codes[family] = self.models[family].decomposition_.codes(question.rows)
            with exceptions.silenced(*SHOWN_BY_RISK):
                answers = self._answers(candidate.params, question, codes.get(family))
            found = RiskEstimate.of(question.evaluate(answers))
            rated.append(replace(candidate, risk=found.value, standard_error=found.standard_error, n_rows=n_rows))
            progress.report("candidates", number, len(candidates))
        return rated

    def _answers(self, params: dict, question: RiskQuery, codes: np.ndarray | None) -> np.ndarray:
        model = self.models[_family(params)]
        model = model.truncate(params["n_components"] if _is_shared(params) else model.n_components_)
        model.set_params(**{name: value for name, value in params.items() if _is_preimage(name)})
        if codes is None:
            return model.impute(question.rows)
        return inverse.find(model, codes[:, : model.n_components_], "denoise", starts=question.rows).points


def _light(solver, n: int, k: int | None):
    """The solver, with LAPACK in mixed instead of double precision: seven digits are enough to compare settings."""
    automatic = isinstance(solver, str) and solver == "auto"
    return Mixed() if automatic and k and isinstance(eigen.choose_solver(n, k), eigen.Dense) else solver


def _successive_halving(search: _Search, candidates: list[Candidate], keep: float) -> list[Candidate]:
    """All candidates, best first; after every round the best go on to more rows."""
    if not 0 < keep <= 1:
        raise ValueError(f"keep must be a share in (0, 1], not {keep!r}.")
    given_up: list[Candidate] = []
    for n_rows in _rounds(search.validation.shape, len(candidates), keep):
        candidates = sorted(search.rated(candidates, n_rows), key=lambda candidate: candidate.risk)
        if n_rows < len(search.validation):
            stay = max(1, int(np.ceil(keep * len(candidates))))
            candidates, given_up = candidates[:stay], candidates[stay:] + given_up
    return candidates + given_up


def _rounds(shape: tuple[int, ...], n_candidates: int, keep: float) -> Iterator[int]:
    """The number of rows of every round, up to all: as many rounds as leave enough rows and three candidates."""
    n_rows, n_rounds = shape[0], 1
    fewest = np.clip(FEWEST_NUMBERS / shape[1], *FEWEST_ROWS)
    while keep < 1 and n_rows * keep**n_rounds >= fewest and n_candidates * keep**n_rounds >= 3:
        n_rounds += 1
    for remaining in reversed(range(n_rounds)):
        yield int(np.ceil(n_rows * keep**remaining))


def _split(X: RowsLike, noisy, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows, those that candidates are fitted on, and the validation rows in random order."""
    X = check_array(X, dtype=conventions.FLOATS, ensure_min_samples=2 if noisy is not None else 8)
    if noisy is None:
        order, n_held = rng.permutation(len(X)), min(MOST_VALIDATION, max(2, round(HELD_OUT * len(X))))
        return X, X[np.sort(order[n_held:])], X[order[:n_held]]
    noisy = check_array(noisy, dtype=conventions.FLOATS, input_name="noisy")
    if noisy.shape[1] != X.shape[1]:
        raise ValueError(f"noisy has {noisy.shape[1]} columns, but X has {X.shape[1]}.")
    return X, X, noisy[rng.permutation(len(noisy))]


def _as_risk(risk, sigma, Y: np.ndarray, shape) -> tuple[Risk, NoiseLevel | None]:
    if not isinstance(risk, str):
        return risk, None
    if risk == "masked":
        return Masked(), None
    if risk != "sure":
        raise ValueError(f'risk must be "sure", "masked" or an object such as Masked(0.2), not {risk!r}.')
    if sigma is not None:
        return Sure(sigma), None
    noise = noise_level(Y, shape)
    if not noise.sigma > 0:
        raise ValueError(f'no noise was found, because {noise.doubt}: give sigma, or use risk="masked".')
    return Sure(noise.sigma), noise


def _default_grid(estimator: KernelPCA, X: np.ndarray) -> dict[str, Sequence]:
    kernel = kernels.as_kernel(estimator.kernel)
    refuse_precomputed(kernel, "select")
    grid: dict[str, Sequence] = {}
    if hasattr(kernel, "length_scale"):
        grid["kernel__length_scale"] = [scales.length_scale(X, "mean") * factor for factor in FACTORS]
    steps = [step for k in range(9) for step in (2**k, 3 * 2**k // 2)]
    grid["n_components"] = sorted({step for step in steps if step <= min(MOST_COMPONENTS, max(1, len(X) // 2))})
    methods = (preimages.Distance(), preimages.FixedPoint())
    grid["preimage"] = [method for method in methods if _serves(method, estimator)] or [estimator.preimage]
    return grid


def _serves(method: preimages.PreimageMethod, estimator: KernelPCA) -> bool:
    """Whether a method works with the estimator's kernel and approximation."""
    try:
        Settings.of(clone(estimator).set_params(preimage=method))
    except (TypeError, ValueError):
        return False
    return True


def _is_preimage(name: str) -> bool:
    return name.partition("__")[0] == "preimage"


def _is_shared(params: dict) -> bool:
    """Whether ``n_components`` is a number, so that the model can be truncated from a larger one."""
    return isinstance(params.get("n_components"), int | np.integer)


def _common(params: dict) -> dict:
    """What must be the same for two settings to share a decomposition."""
    apart = {"n_components"} if _is_shared(params) else set()
    return {name: value for name, value in params.items() if name not in apart and not _is_preimage(name)}


def _family(params: dict) -> tuple:
    return _key(_common(params))


def _key(params: dict) -> tuple:
    """Settings as a dictionary key; objects, which may hold arrays, by identity."""
    return tuple((name, value if name == "n_components" else id(value)) for name, value in params.items())


def _capped(params: dict, available: int) -> dict:
    return params | {"n_components": min(params["n_components"], available)} if _is_shared(params) else params
