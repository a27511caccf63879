"""The kernel matrices of many neighbourhoods at once."""

import numpy as np
import pytest

from helpers import KERNELS, rows
from preimage.preimages.convex import grams_of


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_kernel_matrices_of_neighbourhoods_are_those_of_the_kernel(name, offset):
    kernel, X = KERNELS[name], rows(30, 3) + (offset if KERNELS[name].argument == "distance" else 0)
    neighbours = X[np.random.default_rng(1).integers(30, size=(7, 5))]  # some rows twice
    expected = np.stack([kernel(some, some) for some in neighbours])
    np.testing.assert_allclose(grams_of(kernel, neighbours), expected, rtol=1e-9, atol=1e-12)
