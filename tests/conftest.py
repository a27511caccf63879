"""Settings of the whole test run."""

import os

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def few_threads_of_linear_algebra():
    """One BLAS thread unless OMP_NUM_THREADS asks for more: the matrices are small, and waiting threads cost time."""
    with threadpool_limits(int(os.environ.get("OMP_NUM_THREADS", 1))):
        yield
