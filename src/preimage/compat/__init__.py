"""scikit-learn's own ``KernelPCA`` on our engine: change the import, and nothing else.

Same signature, attributes, errors and numbers as :class:`sklearn.decomposition.KernelPCA`. The kernel matrix is
computed in tiles on all cores and decomposed in place, ``transform`` and ``inverse_transform`` go by tiles too, and
``fit_transform`` fits the inverse map once.
"""

from preimage.compat.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
