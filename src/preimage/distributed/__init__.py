"""The estimators on the rows of a Dask array, on the threads of this machine or on a cluster.

Dask schedules, moves data, and repeats the work of a lost worker. No other room imports it; estimators import this one
when they are given a Dask array.

* ``fit`` adds up the moments of the chunks in a tree; landmarks or frequencies are sent once;
* the results of a fitted model are lazy Dask arrays;
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

    ``fit`` runs immediately, and leaves the estimator as it was if it fails; all other methods are lazy.
    """
    if method != "fit":
        return apply.lazy(estimator, method, X, **options)
    with unchanged_on_failure(estimator):
        clustering.fit_kernel_kmeans(estimator, X, **options)
    return estimator
