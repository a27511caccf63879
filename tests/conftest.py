"""Settings of the whole test run."""

from unittest.mock import patch

import pytest
from threadpoolctl import threadpool_limits

from preimage import cores


@pytest.fixture(scope="session", autouse=True)
def single_threaded_linear_algebra():
    """One BLAS thread: the matrices are small, and threads that wait for a busy core cost far more than they win.

    Our own threads, which follow BLAS, are two all the same.
    """
    with threadpool_limits(1), patch.object(cores, "_library_threads", lambda: 2):
        yield
