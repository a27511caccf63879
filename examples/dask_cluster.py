"""
Kernel PCA on a Dask cluster
============================

Pass a Dask array instead of a matrix. The results are the same as on one machine.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import s_curve
from preimage.kernels import Gaussian

rows = s_curve(40_000, random_state=0).X
chunked = da.from_array(rows, chunks=(5_000, 3))

# %%
# Without a client, the work runs on threads of this machine. After ``dask.distributed.Client(address)`` it runs on a
# cluster.

remote = KernelPCA(4, kernel=Gaussian(1.0), approximation=200, random_state=0).fit(chunked)
codes = remote.transform(chunked)  # lazy, chunk by chunk
print(f"codes: {codes.shape} in {codes.npartitions} chunks")

local = KernelPCA(4, kernel=Gaussian(1.0), approximation=200, random_state=0).fit(rows)
apart = np.abs(remote.explained_variance_ratio_ - local.explained_variance_ratio_).max()
print(f"explained variance, cluster against one machine: at most {100 * apart:.2f} points apart")

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
plot.codes(codes[::20].compute(), ax=ax)
plt.show()
