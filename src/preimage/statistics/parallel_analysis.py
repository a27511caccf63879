"""How many components stand out: parallel analysis by permutation.

Permuting every column independently keeps the distribution of each column and breaks the dependence between them. A
component is real if its eigenvalue exceeds a quantile of those of permuted data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preimage._typing import RowsLike
from preimage.gram import threads
from preimage.gram.operators import gram_operator
from preimage.kernels import Kernel, Precomputed, scales

MOST_ROWS = 1000  # larger matrices are sampled


@dataclass(frozen=True, eq=False)
class ParallelAnalysis:
    """The number of components that stand out, with the eigenvalues and thresholds that determine it.

    Attributes
    ----------
    n_components : int
        The number of leading eigenvalues that exceed their thresholds; 0 if none does.
    eigenvalues : array of shape (k,)
        Eigenvalues λₖ of the centred kernel matrix.
    thresholds : array of shape (k,)
        The thresholds Tₖ.

    See Also
    --------
    parallel_analysis : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> from preimage.selection import parallel_analysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 10)) + 0.3 * rng.standard_normal((300, 10))
    >>> found = parallel_analysis(X, Linear())
    >>> (found.eigenvalues > found.thresholds)[:3]
    array([ True,  True, False])
    """

    n_components: int
    eigenvalues: np.ndarray
    thresholds: np.ndarray

    @property
    def excess(self) -> float:
        """Σ(λₖ − Tₖ) over the components found: the larger, the better the kernel's scale fits the data."""
        return float(np.sum((self.eigenvalues - self.thresholds)[: self.n_components]))


@threads.limited()
def parallel_analysis(
    X: RowsLike,
    kernel: Kernel,
    *,
    n_permutations: int = 19,
    quantile: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> ParallelAnalysis:
    """The number of leading components whose eigenvalues exceed a quantile of those of column-wise permuted data.

    With B permutations the threshold Tₖ is the ⌈quantile · (B + 1)⌉-th smallest of the k-th eigenvalues of the permuted
    data's centred kernel matrices. For independent columns, λ₁ > T₁ then has exactly the probability 1 − quantile (a
    Monte-Carlo test); 95 % needs B ≥ 19. The result is the number of leading λₖ > Tₖ.

    Parameters
    ----------
    X : array or sparse matrix of shape (rows, d)
        Of more than 1000 rows, 1000 evenly spaced ones are used; fewer rows show fewer of the weak components.
    kernel : Kernel
        A rule for its length scale is resolved on X.
    n_permutations : int
        B.
    quantile : float
        In (0, 1).
    random_state : int or Generator
        Seed of the permutations.

    See Also
    --------
    preimage.KernelPCA : Uses the number with ``n_components="auto"``.
    preimage.plot.scree : Draws the thresholds.

    References
    ----------
    Horn (1965), for linear PCA; Jørgensen & Hansen (2012), "Model selection for Gaussian kernel PCA denoising", for the
    kernel form.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> from preimage.selection import parallel_analysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 10)) + 0.3 * rng.standard_normal((300, 10))
    >>> parallel_analysis(X, Linear()).n_components
    2
    """
    _check(kernel, X, n_permutations, quantile)
    rng, kernel = np.random.default_rng(random_state), scales.resolve(kernel, X)
    X = scales.spread_rows(X, MOST_ROWS)
    observed = _spectrum(kernel, X)
    permuted = np.sort([_spectrum(kernel, permute_columns(X, rng)) for _ in range(n_permutations)], axis=0)
    thresholds = permuted[min(ceil(quantile * (n_permutations + 1)), n_permutations) - 1]
    # Excess below the round-off of the largest eigenvalue does not count.
    below = observed <= thresholds + 1e-10 * max(observed[0], 0)
    return ParallelAnalysis(int(np.argmax(below)) if below.any() else len(observed), observed, thresholds)


def permute_columns(X: RowsLike, rng: np.random.Generator) -> Any:
    """A copy whose columns are permuted independently of each other."""
    if not sp.issparse(X):
        return rng.permuted(X, axis=0)
    columns = X.tocsc(copy=True)
    for start, stop in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        columns.indices[start:stop] = rng.choice(X.shape[0], stop - start, replace=False)
    columns.has_sorted_indices = False
    columns.sort_indices()
    return columns.tocsr()


def _spectrum(kernel: Kernel, X: RowsLike) -> np.ndarray:
    """All eigenvalues of the centred kernel matrix, descending, except the last, which centring makes 0."""
    operator, _ = gram_operator(kernel, X, center=True, storage="square")
    with threads.single_threaded_blas():
        values = scipy.linalg.eigvalsh(operator.dense(), overwrite_a=True, check_finite=False)
    return values[:0:-1].astype(float)


def _check(kernel: Kernel, X: RowsLike, n_permutations: int, quantile: float) -> None:
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "parallel analysis permutes the columns of the data, which a precomputed kernel matrix does not contain: "
            "give the rows and a kernel, or a number of components."
        )
    if X.shape[0] < 2:
        raise ValueError("parallel analysis needs at least 2 rows.")
    if not 0 < quantile < 1 or n_permutations < 1:
        raise ValueError("parallel analysis needs n_permutations ≥ 1 and a quantile between 0 and 1.")
