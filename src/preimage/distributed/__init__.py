"""The same estimators where the rows are a Dask array, on the threads of this machine or on a cluster.

Dask is the engine: it schedules, moves data, and repeats what a lost worker had done. Nothing else in this library
imports it, and estimators come here only through :func:`preimage.estimators.conventions.also_distributed`.

* ``fit`` adds up the moments of the chunks by a tree; landmarks or frequencies are sent once;
* what a fitted model says of rows is a lazy Dask array;
* an exact fit keeps the kernel matrix on the workers, in row chunks.

See docs/scale.md.
"""

from __future__ import annotations

from typing import Any

from preimage.distributed import answers, clustering, fitting
from preimage.distributed.cluster import connected
from preimage.estimators.conventions import unchanged_on_failure

__all__ = ["call", "connected"]


def call(estimator, method: str, X, **options: Any):
    """A method of an estimator on the rows of a Dask array.

    ``fit`` happens at once, and leaves the estimator as it was where it fails; all else is lazy.
    """
    if method == "fit_transform":
        call(estimator, "fit", X, **options)
        return answers.lazy(estimator, "transform", X)
    if method != "fit":
        return answers.lazy(estimator, method, X, **options)
    with unchanged_on_failure(estimator):
        fit = clustering.fit_kernel_kmeans if hasattr(estimator, "n_clusters") else fitting.fit
        fit(estimator, X, **options)
    return estimator
