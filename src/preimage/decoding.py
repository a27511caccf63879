"""From codes that any method has made to the rows they stand for: three maps, compared by rows left out.

A map is learned from pairs of a code zᵢ and its row xᵢ; nothing else is known of the embedding that made them. Every
map predicts each known row without that row, and so tells its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from preimage._typing import Array, Generator, Rows
from preimage.caching import Remembering
from preimage.gram import tiles
from preimage.kernels import Kernel
from preimage.preimages.base import dense_rows
from preimage.preimages.distance import locate
from preimage.preimages.learned import SCOUTS, LearnedMap, candidate_kernels, fit_regression, sketch

SCALES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)  # of the regression's kernel, times the median distance
LANDMARKS = 1500  # codes that carry the regression
COUNTS = (1, 2, 3, 4, 5, 7, 10, 15)  # neighbours whose distance sets the width of the weights
REACH = 3  # times as many neighbours have a weight
ENOUGH = 20_000  # pairs that the regression is learned from
METHODS = ("auto", "learned", "neighbors", "distances")
TIE = 1.05  # ratio of errors up to which the smoother map is preferred
AROUND = 10  # neighbours of a code that tell how far it is from the known ones
FEWEST = 3  # pairs that are different, to be learned from without the others
LEAST = 1e-3  # of the mean error: errors below count as this


class CodeMap(Protocol):
    """A map from codes to rows that knows what it misses of every known row left out."""

    @property
    def left_out(self) -> Array:
        """What each known row is missed by when it is predicted without itself, in the directions of a sketch."""

    def values(self, codes: Array) -> Array:
        """A dense row for every code."""


@dataclass(frozen=True, eq=False)
class Known(Remembering):
    """Known codes and where to find the nearest of them.

    Parameters
    ----------
    codes : array of shape (n, q)
    rows : array or CSR matrix of shape (n, d)
    """

    codes: Array
    rows: Rows

    @classmethod
    def of(cls, codes: Array, rows: Rows) -> Known:
        """Copies of the pairs, each once: a pair left out would else be predicted from its copy."""
        found = cls(codes.copy(), rows.copy())
        _, first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        original = first[which.ravel()]
        again = np.flatnonzero(original != np.arange(len(codes)))
        copied = [
            some[(dense_rows(rows[some]) == dense_rows(rows[original[some]])).all(axis=1)]
            for some in (again[block] for block in found.blocks(len(again), 2))
        ]
        kept = np.delete(np.arange(len(codes)), np.concatenate([again[:0], *copied]))
        return found.part(kept) if FEWEST <= len(kept) < len(codes) else found

    def nearest(self, codes: Array, count: int) -> tuple[Array, Array]:
        """Distances to, and numbers of, the nearest known codes, nearest first."""
        return self._index.kneighbors(codes, n_neighbors=min(count, len(self.codes)))

    def nearest_others(self, count: int) -> tuple[Array, Array]:
        """The same for every known code itself, which is not its own neighbour."""
        return self._index.kneighbors(n_neighbors=min(count, len(self.codes) - 1))

    def blocks(self, n_codes: int, count: int) -> Iterator[slice]:
        """Codes whose neighbours' rows fit into memory together."""
        return iter(tiles.row_blocks(n_codes, 4 * 8 * count * self.rows.shape[1]))

    def part(self, which: Array) -> Known:
        """Some of the pairs."""
        return Known(self.codes[which], self.rows[which])

    @property
    def _index(self) -> Any:
        from sklearn.neighbors import NearestNeighbors

        return self.remembered("index", lambda: NearestNeighbors().fit(self.codes))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """x̂(z) = Σ wᵢxᵢ / Σ wᵢ over the known codes nearest to z, wᵢ = exp(−‖z − zᵢ‖² / 2h²).

    The width h is the distance to the k-th of them (Nadaraya 1964, with the bandwidth of Loftsgaarden & Quesenberry
    1965); 3k have a weight.
    """

    known: Known
    count: int
    left_out: Array

    @classmethod
    def fit(cls, known: Known) -> Neighbours:
        """With the most neighbours whose error is nearly the least, since codes of new rows are less exact."""
        shown = sketch(known.rows, np.asarray(known.rows.mean(axis=0)).ravel())
        distances, near = known.nearest_others(REACH * COUNTS[-1])
        some = slice(None, None, -(-len(shown) // ENOUGH))

        def missed(count: int, part: slice) -> Array:
            return shown[part] - weighted_mean(shown, distances[part], near[part], count)

        errors = {count: float(np.square(missed(count, some)).mean()) for count in COUNTS if count <= near.shape[1]}
        count = max(count for count, error in errors.items() if error <= TIE * min(errors.values()))
        return cls(known, count, missed(count, slice(None)))

    def values(self, codes: Array) -> Array:
        rows, count = self.known.rows, self.count
        found = np.empty((len(codes), rows.shape[1]), dtype=rows.dtype)
        for block in self.known.blocks(len(codes), count):
            found[block] = weighted_mean(rows, *self.known.nearest(codes[block], REACH * count), count)
        return found


def weighted_mean(rows: Rows, distances: Array, near: Array, count: int) -> Array:
    """The mean of the nearest rows, those of the smallest distances first, by Gaussian weights."""
    weights = _weights(distances, count)
    columns = near[:, : weights.shape[1]].T
    mean: Array = sum(
        weight[:, None] * dense_rows(rows[column]) for weight, column in zip(weights.T, columns, strict=True)
    )
    return mean


def _weights(distances: Array, count: int) -> Array:
    """Gaussian weights of the nearest, as wide as the distance of the ``count``-th, which sum to 1."""
    width = np.maximum(distances[:, count - 1 : count], np.finfo(distances.dtype).tiny)
    weights: Array = np.exp(-np.square(distances[:, : REACH * count] / width) / 2)
    return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Distances:
    """The point whose distances to the neighbours' rows are those of the codes, by multidimensional scaling.

    Distances of codes are not those of rows, but nearly proportional to them in a small neighbourhood: the factor is
    Σ‖xᵢ − x̄‖² / Σ‖zᵢ − z̄‖² over the neighbours. The point is then found as by Kwok & Tsang (2003, eq. 14–16).
    """

    known: Known
    count: int
    left_out: Array

    @classmethod
    def fit(cls, known: Known, count: int = AROUND) -> Distances:
        """On all known codes."""
        _, near = known.nearest_others(count)
        found = cls(known, near.shape[1], np.empty((0, 0)))
        blocks = known.blocks(len(known.codes), found.count)
        missed = [_missed(known.rows[block], found._located(known.codes[block], near[block])) for block in blocks]
        return replace(found, left_out=np.concatenate(missed))

    def values(self, codes: Array) -> Array:
        near = self.known.nearest(codes, self.count)[1]
        blocks = self.known.blocks(len(codes), self.count)
        return np.concatenate([self._located(codes[block], near[block]) for block in blocks])

    def _located(self, codes: Array, near: Array) -> Array:
        rows = np.stack([dense_rows(self.known.rows[column]) for column in near.T], axis=1)
        others = self.known.codes[near]
        spread, unit = (np.square(a - a.mean(axis=1, keepdims=True)).sum(axis=(1, 2)) for a in (rows, others))
        factor = np.divide(spread, unit, out=np.zeros_like(spread), where=unit > 0)
        return locate(rows, factor[:, None] * np.square(others - codes[:, None]).sum(axis=2))


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of two maps, whose errors partly cancel."""

    first: CodeMap
    second: CodeMap

    @property
    def left_out(self) -> Array:
        """The mean of theirs."""
        return (self.first.left_out + self.second.left_out) / 2

    def values(self, codes: Array) -> Array:
        return (self.first.values(codes) + self.second.values(codes)) / 2


def left_out_errors(found: CodeMap) -> Array:
    """Mean squared error of the entries of each known row, predicted without itself."""
    errors: Array = np.square(found.left_out).mean(axis=1)
    return errors


def _missed(rows: Rows, found: Array) -> Array:
    """What rows are missed by, in the directions of a sketch."""
    return sketch(dense_rows(rows) - found, np.zeros(rows.shape[1], dtype=found.dtype))


def fit_learned(known: Known, kernel: Kernel, rng: Generator) -> LearnedMap:
    """Kernel ridge regression on landmarks, from at most ``ENOUGH`` pairs; the others show its error."""
    order = rng.permutation(len(known.codes)) if len(known.codes) > LANDMARKS else np.arange(len(known.codes))
    used, others = order[:ENOUGH], order[ENOUGH:]
    found = _best_scale(known.part(used), kernel)
    missed = np.empty((len(order), found.left_out.shape[1]))
    missed[used] = found.left_out
    for block in known.blocks(len(others), 1):
        chosen = others[block]
        missed[chosen] = _missed(known.rows[chosen], found.values(known.codes[chosen]))
    return replace(found, left_out=missed)


def _best_scale(known: Known, kernel: Kernel) -> LearnedMap:
    """The scale of least error with a few landmarks, which favour large ones; then smaller ones while they help."""

    def fitted(candidate: Kernel, n_landmarks: int) -> LearnedMap:
        return fit_regression(candidate, known.codes, known.rows, 1, "auto", n_landmarks)

    candidates = candidate_kernels(kernel, known.codes, SCALES)
    if len(candidates) == 1:
        return fitted(candidates[0], LANDMARKS)
    start = int(np.argmin([fitted(candidate, SCOUTS).error for candidate in candidates]))
    best = fitted(candidates[start], LANDMARKS)
    for smaller in reversed(candidates[:start]):
        other = fitted(smaller, LANDMARKS)
        if other.error >= best.error:
            break
        best = other
    return best


def fit_map(neighbours: Neighbours, kernel: Kernel, method: str, rng: Generator) -> CodeMap:
    """The map of a name from the codes that neighbours are known of; where it is "auto", the one with the least error.

    The mean of the first two is taken where its error is nearly as small: codes of new rows are less exact than those
    of the known rows, and the mean suffers less from that.
    """
    known = neighbours.known
    fits: dict[str, Callable[[], CodeMap]] = {
        "learned": lambda: fit_learned(known, kernel, rng),
        "neighbors": lambda: neighbours,
        "distances": lambda: Distances.fit(known),
    }
    if method != "auto":
        return fits[method]()
    learned, near, distances = (fit() for fit in fits.values())
    both = Mean(learned, near)
    best = min((learned, near, distances), key=_error)
    return both if _error(both) <= TIE * _error(best) else best


def _error(found: CodeMap) -> float:
    return float(left_out_errors(found).mean())


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How large the error at a code may be, in units of the left-out error of all known rows.

    Known codes near z have left-out squared errors eᵢ² and the weights wᵢ of ``Neighbours``, whose mean is x̄(z). The k
    nearest have the mean squared distance r²(z) from z, and r̄² from their own neighbours. Then

        u(z)² = (exp Σ wᵢ log eᵢ² + ‖x̂(z) − x̄(z)‖²/d) / mean of all e² + max(r²(z)/r̄² − 1, 0) / k:

    about 1 among the known codes, more where they are hard to decode or two maps disagree, and growing in proportion to
    the distance from all known codes. Single squared errors are skewed, and the mean of their logarithms varies less.
    """

    found: CodeMap
    neighbours: Neighbours
    errors: Array
    reach2: Array  # mean squared distance of every known code to its neighbours

    @classmethod
    def of(cls, found: CodeMap, neighbours: Neighbours) -> Uncertainty:
        """Of the answers of a map."""
        distances, _ = neighbours.known.nearest_others(AROUND)
        return cls(found, neighbours, left_out_errors(found), np.square(distances).mean(axis=1))

    def __call__(self, codes: Array) -> Array:
        known, count, mean = self.neighbours.known, self.neighbours.count, float(self.errors.mean()) or 1.0
        distances, near = known.nearest(codes, max(AROUND, REACH * count))
        weights, logs = _weights(distances, count), np.log(np.maximum(self.errors / mean, LEAST))
        usual = np.exp((weights * logs[near[:, : weights.shape[1]]]).sum(axis=1))
        disagreement = np.square(self.found.values(codes) - self.neighbours.values(codes)).mean(axis=1)
        expected = usual + disagreement / mean
        distances, near = distances[:, :AROUND], near[:, :AROUND]
        reach2 = np.maximum(self.reach2[near].mean(axis=1), np.finfo(float).tiny)
        farther = np.maximum(np.square(distances).mean(axis=1) / reach2 - 1, 0)
        uncertainty: Array = np.sqrt(expected + farther / AROUND)
        return uncertainty
