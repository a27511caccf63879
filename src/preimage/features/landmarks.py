"""Samplers that choose landmarks, a few points that represent all rows.

A sampler is a small frozen object; ``choose(kernel, X, m, rng)`` returns at most m points for the rows of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preimage import progress
from preimage._typing import Rows
from preimage.gram import slicing, threads, tiles
from preimage.kernels import Kernel
from preimage.kernels.geometry import squared_norms

QUICK = 5e6  # entries of a factor that take hardly any time


@dataclass(frozen=True)
class Uniform:
    """Rows drawn uniformly without replacement: the cheapest choice, but it can miss rare rows.

    See Also
    --------
    RPCholesky : Finds rare rows.
    KMeans : Centres of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.features import Uniform
    >>> from preimage.kernels import Gaussian
    >>> X = np.arange(10.0)[:, None]
    >>> landmarks = Uniform().choose(Gaussian(1.0), X, 4, np.random.default_rng(0))
    >>> len(landmarks), bool(np.isin(landmarks, X).all())
    (4, True)
    """

    def choose(self, kernel: Kernel, X: Rows, m: int, rng: np.random.Generator) -> Any:
        return X[np.sort(rng.choice(X.shape[0], min(m, X.shape[0]), replace=False))]


@dataclass(frozen=True)
class KMeans:
    """Centres of k-means in input space (Zhang & Kwok 2008): good for radial kernels on clustered data.

    The centres are not rows of the data.

    Parameters
    ----------
    n_rows : int
        The most rows to compute centres from.
    max_iter : int
        The most steps of k-means.

    See Also
    --------
    Uniform, RPCholesky : Landmarks that are rows of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.features import KMeans
    >>> from preimage.kernels import Gaussian
    >>> X = np.array([[0.0], [0.2], [9.0], [9.4]])
    >>> np.sort(KMeans().choose(Gaussian(1.0), X, 2, np.random.default_rng(0)), axis=0).round(3)
    array([[0.1],
           [9.2]])
    """

    n_rows: int = 20_000
    max_iter: int = 10

    def choose(self, kernel: Kernel, X: Rows, m: int, rng: np.random.Generator) -> Any:
        from sklearn.cluster import KMeans as Lloyd

        if sp.issparse(X):
            raise TypeError("k-means landmarks need dense rows: use Uniform() or RPCholesky(), or X.toarray().")
        rows = Uniform().choose(kernel, X, max(self.n_rows, m), rng)
        found = Lloyd(min(m, len(rows)), n_init=1, max_iter=self.max_iter, random_state=int(rng.integers(2**31)))
        return found.fit(rows).cluster_centers_.astype(X.dtype)


@dataclass(frozen=True)
class RPCholesky:
    """Randomly pivoted Cholesky in its accelerated form (Chen, Epperly, Tropp & Webber 2025; Epperly et al. 2024).

    Rows are drawn with probabilities proportional to the part of k(x, x) that the landmarks so far miss, which finds
    rare rows. Rows are proposed in blocks; rejection gives them the same law as if drawn one at a time.

    Parameters
    ----------
    n_rows : int, optional
        Draw from a uniform subsample of this many rows. The default is a twentieth of all rows, or 5·10⁶/m if that is
        more, for m landmarks. It is at most what fits into a quarter of the memory budget (``working_memory``), but at
        least 4m.
    tol : float
        Stop before m landmarks if they miss no more than this fraction of the trace.

    See Also
    --------
    Uniform : Cheaper, for rows without rare kinds.
    KMeans : Centres of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.features import RPCholesky
    >>> from preimage.kernels import Gaussian
    >>> X = np.append(np.linspace(0, 0.1, 99), 50.0)[:, None]  # the last row is unlike the others
    >>> bool(50.0 in RPCholesky().choose(Gaussian(1.0), X, 3, np.random.default_rng(0)))
    True
    """

    n_rows: int | None = None
    tol: float = 1e-13

    def choose(self, kernel: Kernel, X: Rows, m: int, rng: np.random.Generator) -> Any:
        affordable = threads.working_bytes() / 4 / 8 / m
        n_rows = self.n_rows or int(max(4 * m, min(max(X.shape[0] / 20, QUICK / m), affordable)))
        if hasattr(X, "choose_pivots"):  # rows on a cluster
            chosen = X.choose_pivots(kernel, n_rows, m, rng, self.tol)
        else:
            rows = Uniform().choose(kernel, X, n_rows, rng)
            chosen = rows[pivots(kernel, rows, min(m, rows.shape[0]), rng, self.tol)]
        # If no k(x, x) is positive, as indefinite kernels allow, no row is better than another.
        return chosen if chosen.shape[0] else Uniform().choose(kernel, X, m, rng)


def pivots(kernel: Kernel, X: Rows, m: int, rng: np.random.Generator, tol: float = 1e-13) -> np.ndarray:
    """Indices of the rows that accelerated randomly pivoted Cholesky chooses (Epperly, Tropp & Webber 2024, alg. 2).

    With G the columns of the partial factor, K ≈ GGᵀ, the residual diagonal is d = diag(K) − Σ G². Fewer than m rows
    are chosen if the residual falls to round-off.
    """
    missing = np.maximum(kernel.diagonal(X), 0).astype(float)
    noise = value_round_off(X)
    enough, floor = max(tol, noise) * missing.sum(), noise * missing.max(initial=0)
    G, chosen = np.empty((X.shape[0], m)), np.zeros(0, dtype=int)
    with threads.single_threaded_blas():  # for the many small steps; the large ones have their own threads
        while len(chosen) < m and missing.sum() > enough:
            proposed = rng.choice(X.shape[0], block_size(m), p=missing / missing.sum())
            known = G[:, : len(chosen)]
            H = np.asarray(kernel(X[proposed], X[proposed]), dtype=float)
            H -= known[proposed] @ known[proposed].T
            accepted = accepted_proposals(H, rng, floor)[: m - len(chosen)]
            if not accepted:
                break
            new = proposed[accepted]
            columns = G[:, len(chosen) : len(chosen) + len(new)]
            _fill(columns, kernel, X, new, known, np.linalg.cholesky(H[np.ix_(accepted, accepted)]))
            missing = np.maximum(missing - squared_norms(columns), 0)
            chosen = np.concatenate([chosen, new])
            missing[chosen] = 0
            progress.report("landmarks", len(chosen), m)
    return chosen


def block_size(m: int) -> int:
    """Rows proposed at once."""
    return max(m // 5, 1)


def value_round_off(X: Rows) -> float:
    """The residual that rounding leaves where the exact one is 0, relative to the kernel values."""
    return 10 * float(np.finfo(tiles.value_dtype(X, X)).eps)


def accepted_proposals(H: np.ndarray, rng: np.random.Generator, floor: float) -> list[int]:
    """Indices of the accepted proposals; the probability of accepting one is the share of its residual that remains.

    A proposal whose residual is below the floor of round-off is never accepted; the first one above it always is.
    """
    H, first, accepted = H.copy(), H.diagonal().copy(), []
    floor = max(floor, 1e-12 * first.max(initial=0))
    for j in range(len(H)):
        if H[j, j] > floor and rng.random() * first[j] < H[j, j]:
            accepted.append(j)
            column = H[j:, j] / np.sqrt(H[j, j])
            H[j:, j:] -= np.outer(column, column)
    return accepted


def _fill(columns: np.ndarray, kernel: Kernel, X: Rows, new: np.ndarray, known: np.ndarray, L: np.ndarray) -> None:
    """Columns of the factor for new pivots: (K_new − K̂_new) L⁻ᵀ."""
    points, theirs = X[new], known[new].T

    def fill(rows: slice) -> None:
        values = tiles.cross(kernel, X[rows], points).astype(float, copy=False)
        values -= known[rows] @ theirs
        solved = scipy.linalg.solve_triangular(L, values.T, lower=True, overwrite_b=True, check_finite=False)
        columns[rows] = solved.T

    threads.parallel_map(fill, slicing.slices(X.shape[0], 2 * slicing.TILE))
