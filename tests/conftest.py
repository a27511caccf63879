"""Settings of the whole test run."""

import os
from unittest.mock import patch

import pytest
from threadpoolctl import threadpool_limits

from preimage.gram import threads


@pytest.fixture(scope="session", autouse=True)
def few_threads_of_linear_algebra():
    """One BLAS thread unless OMP_NUM_THREADS asks for more: the matrices are small, and waiting threads cost time.

    Our own threads, which follow BLAS, are two all the same.
    """
    limit = int(os.environ.get("OMP_NUM_THREADS", 1))
    with threadpool_limits(limit), patch.object(threads, "_library_threads", lambda: 2):
        yield
