"""
Rows from a file and from a stream
==================================

With landmarks, kernel PCA reads rows in blocks: from a file that does not fit into memory, or as they arrive.
"""

# %%
# 60,000 rows in a file. Memory grows with the landmarks, not with the rows.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import s_curve
from preimage.kernels import Gaussian

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.npy"
np.save(path, s_curve(60_000, random_state=0).X)

kpca = KernelPCA(6, kernel=Gaussian(1.0), approximation=300, random_state=0).fit(path)
codes = kpca.transform(path, out=Path(folder.name) / "codes.npy")  # a memmap
print(f"codes of {codes.shape[0]} rows: {codes.shape[1]} columns")
print(f"share of the kernel's trace that the landmarks miss: {kpca.trace_error_:.1e}")

# %%
# An exact fit to some of the rows gives nearly the same components.

rows = np.load(path, mmap_mode="r")[::40]
exact = KernelPCA(6, kernel=Gaussian(1.0)).fit(rows)
apart = np.abs(kpca.explained_variance_ratio_ - exact.explained_variance_ratio_).max()
print(f"explained variance against an exact fit of {len(rows)} rows: at most {100 * apart:.2f} points apart")

# %%
# ``partial_fit`` takes blocks that can be read only once.

stream = KernelPCA(6, kernel=Gaussian(1.0), approximation=300, random_state=0)
for block in np.array_split(np.load(path), 6):
    stream.partial_fit(block)
apart = np.abs(stream.explained_variance_ratio_ - kpca.explained_variance_ratio_).max()
print(f"the same from a stream: at most {100 * apart:.2f} points apart")

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
plot.codes(np.array(codes[::20]), ax=ax)
plt.show()
del codes
folder.cleanup()
