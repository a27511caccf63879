"""The same estimators where the rows are a Dask array, on the threads of this machine or on a cluster.

Dask is the engine: it schedules, moves data, and repeats what a lost worker had done. Nothing else in this library
imports it, and estimators come here only through :func:`preimage.estimators.conventions.distributed`.

* ``fit`` adds up the moments of the chunks by a tree; landmarks or frequencies are sent once;
* what a fitted model computes from rows is a lazy Dask array;
* an exact fit keeps the kernel matrix on the workers, in row chunks.

See docs/guides/scale.md.
"""

from __future__ import annotations

from typing import Any

from preimage._typing import RowsLike
from preimage.distributed import apply, clustering
from preimage.distributed.cluster import connected
from preimage.distributed.fitting import fit_kernel_pca
from preimage.estimators.conventions import unchanged_on_failure

__all__ = ["call", "connected", "fit_kernel_pca"]


def call(estimator, method: str, X: RowsLike, **options: Any):
    """A method of an estimator on the rows of a Dask array.

    ``fit`` runs at once, and leaves the estimator as it was where it fails; all else is lazy.
    """
    if method != "fit":
        return apply.lazy(estimator, method, X, **options)
    with unchanged_on_failure(estimator):
        clustering.fit_kernel_kmeans(estimator, X, **options)
    return estimator
