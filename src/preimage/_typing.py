"""Types that all modules share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = Array | sp.csr_array | sp.csr_matrix  # data, one sample per row: dense or CSR
RowsLike: TypeAlias = Any  # rows as users give them: array-like, data frame, sparse, memmap, path, chunks, Dask array
Points: TypeAlias = Array  # dense points of input space, one per row: starts, pre-images, centres
Generator: TypeAlias = np.random.Generator
