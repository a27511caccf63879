"""scikit-learn's ``KernelPCA`` on this library's engine: change only the import.

Same signature, attributes, errors and numbers as :class:`sklearn.decomposition.KernelPCA`. The kernel matrix is
computed in tiles on all cores and decomposed in place, ``transform`` and ``inverse_transform`` also work in tiles, and
``fit_transform`` fits the inverse map once.
"""

from preimage.compat.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
