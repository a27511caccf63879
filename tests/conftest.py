"""Settings of the whole test run."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def single_threaded_linear_algebra():
    """One BLAS thread: the matrices are small, and threads that wait for a busy core cost far more than they win."""
    with threadpool_limits(1):
        yield
