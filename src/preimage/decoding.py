"""Maps from the codes of any embedding to its rows: three kinds, compared by their leave-one-out errors.

A map is learned from pairs of a code zᵢ and its row xᵢ; nothing else is known of the embedding that made them. Every
map predicts each known row without that row, and so knows its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from preimage._typing import Array, Generator, Rows
from preimage.caching import Remembering
from preimage.gram import slicing
from preimage.kernels import Kernel
from preimage.preimages.base import dense_rows
from preimage.preimages.distance import locate
from preimage.preimages.learned import SCOUTS, LearnedMap, candidate_kernels, fit_regression, sketch

SCALES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)  # of the regression's kernel, times the median distance
LANDMARKS = 1500  # codes over which the regression expands
COUNTS = (1, 2, 3, 4, 5, 7, 10, 15)  # candidates k: the distance to the k-th neighbour is the width of the weights
REACH = 3  # REACH · k neighbours have a weight
ENOUGH = 20_000  # the most pairs from which the regression is learned
METHODS = ("auto", "learned", "neighbors", "distances")
TIE = 1.05  # ratio of errors up to which the smoother map is preferred
AROUND = 10  # neighbours that measure how far a code is from the known ones
FEWEST = 3  # different pairs needed to drop the repeated ones
LEAST = 1e-3  # of the mean error: smaller errors count as this


class CodeMap(Protocol):
    """A map from codes to rows that knows its leave-one-out residuals."""

    @property
    def left_out(self) -> Array:
        """The residual of each known row predicted without itself, in the directions of a sketch."""

    def values(self, codes: Array) -> Array:
        """A dense row for every code."""


@dataclass(frozen=True, eq=False)
class Known(Remembering):
    """Known codes and their rows, with a search for nearest codes.

    Parameters
    ----------
    codes : array of shape (n, q)
    rows : array or CSR matrix of shape (n, d)
    """

    codes: Array
    rows: Rows

    @classmethod
    def of(cls, codes: Array, rows: Rows) -> Known:
        """A copy of the pairs without repetitions: a pair left out would otherwise be predicted from its duplicate."""
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
        """Distances to the nearest known codes and their indices, nearest first."""
        return self._index.kneighbors(codes, n_neighbors=min(count, len(self.codes)))

    def nearest_others(self, count: int) -> tuple[Array, Array]:
        """The same for every known code, which does not count as its own neighbour."""
        return self._index.kneighbors(n_neighbors=min(count, len(self.codes) - 1))

    def blocks(self, n_codes: int, count: int) -> Iterator[slice]:
        """Slices of codes whose neighbours' rows fit into memory together."""
        return slicing.row_blocks(n_codes, 4 * 8 * count * self.rows.shape[1])

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
        """The map with the most neighbours whose error is nearly the least: codes of new rows are less exact."""
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
    """The mean of the nearest rows (nearest first) with Gaussian weights."""
    weights = _weights(distances, count)
    columns = near[:, : weights.shape[1]].T
    mean: Array = sum(
        weight[:, None] * dense_rows(rows[column]) for weight, column in zip(weights.T, columns, strict=True)
    )
    return mean


def _weights(distances: Array, count: int) -> Array:
    """Gaussian weights of the nearest rows, which sum to 1; their width is the distance of the ``count``-th."""
    width = np.maximum(distances[:, count - 1 : count], np.finfo(distances.dtype).tiny)
    weights: Array = np.exp(-np.square(distances[:, : REACH * count] / width) / 2)
    return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Distances:
    """The point whose distances to the neighbours' rows match those of the codes, by multidimensional scaling.

    In a small neighbourhood, squared distances of rows are nearly proportional to those of codes; the factor is
    Σ‖xᵢ − x̄‖² / Σ‖zᵢ − z̄‖² over the neighbours. The point follows as in Kwok & Tsang (2003, eq. 14–16).
    """

    known: Known
    count: int
    left_out: Array

    @classmethod
    def fit(cls, known: Known, count: int = AROUND) -> Distances:
        """The map on all known codes."""
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
        """The mean of the residuals of both maps."""
        return (self.first.left_out + self.second.left_out) / 2

    def values(self, codes: Array) -> Array:
        return (self.first.values(codes) + self.second.values(codes)) / 2


def left_out_errors(found: CodeMap) -> Array:
    """Mean squared error of the entries of each known row, predicted without itself."""
    errors: Array = np.square(found.left_out).mean(axis=1)
    return errors


def _missed(rows: Rows, found: Array) -> Array:
    """The residuals of rows in the directions of a sketch."""
    return sketch(dense_rows(rows) - found, np.zeros(rows.shape[1], dtype=found.dtype))


def fit_learned(known: Known, kernel: Kernel, rng: Generator) -> LearnedMap:
    """Kernel ridge regression on landmarks, from at most ``ENOUGH`` pairs; the error of the others is out of sample."""
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
    """The regression of the best length scale: searched with few landmarks, which favour long ones, then shortened."""

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
    """The map named ``method``, fitted on the pairs of ``neighbours``; for "auto" the one of least error.

    The mean of the first two replaces it if its error is nearly as small: codes of new rows are less exact than those
    of known rows, and the mean suffers less from that.
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
    """The expected error at a code, in units of the leave-one-out error of all known rows.

    Known codes near z have squared leave-one-out errors eᵢ² and the weights wᵢ of ``Neighbours``, whose mean is x̄(z).
    The k nearest have the mean squared distance r²(z) from z, and r̄² from their own neighbours. Then

        u(z)² = (exp Σ wᵢ log eᵢ² + ‖x̂(z) − x̄(z)‖²/d) / mean of all e² + max(r²(z)/r̄² − 1, 0) / k:

    about 1 among the known codes, more where they are hard to decode or two maps disagree, and growing in proportion to
    the distance from all known codes. Squared errors are skewed, so the mean is taken of their logarithms.
    """

    found: CodeMap
    neighbours: Neighbours
    errors: Array
    reach2: Array  # mean squared distance of every known code to its neighbours

    @classmethod
    def of(cls, found: CodeMap, neighbours: Neighbours) -> Uncertainty:
        """The uncertainty of a map."""
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
