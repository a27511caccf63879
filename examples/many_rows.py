"""Kernel PCA of the rows of a file on landmarks, compared with an exact fit of some of the rows.

python examples/many_rows.py
"""

import tempfile
from pathlib import Path

import numpy as np

from preimage import KernelPCA
from preimage.datasets import s_curve
from preimage.kernels import Gaussian


def main(n_rows=60_000):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, s_curve(n_rows, random_state=0).X)

        # The file is read in blocks: memory grows with the landmarks, not with the rows.
        kpca = KernelPCA(6, kernel=Gaussian(1.0), approximation=300, random_state=0).fit(path)
        codes = kpca.transform(path, out=Path(folder) / "codes.npy")  # a memmap
        print(f"codes of {codes.shape[0]} rows: {codes.shape[1]} columns")
        print(f"share of the kernel's trace that the landmarks miss: {kpca.trace_error_:.1e}")

        rows = np.load(path, mmap_mode="r")[::40]
        exact = KernelPCA(6, kernel=Gaussian(1.0)).fit(rows)
        apart = np.abs(kpca.explained_variance_ratio_ - exact.explained_variance_ratio_).max()
        print(f"explained variance against an exact fit of {len(rows)} rows: at most {100 * apart:.2f} points apart")

        # Blocks that can be read only once.
        stream = KernelPCA(6, kernel=Gaussian(1.0), approximation=300, random_state=0)
        for block in np.array_split(np.load(path), 6):
            stream.partial_fit(block)
        apart = np.abs(stream.explained_variance_ratio_ - kpca.explained_variance_ratio_).max()
        print(f"the same from a stream: at most {100 * apart:.2f} points apart")


if __name__ == "__main__":
    main()
