"""Other nonlinear principal component methods that the papers compare with (Schölkopf et al. 1998, §6.3).

Each is a frozen object with its settings; ``fit(X, rng)`` returns a function from rows to reconstructed rows.
"""

from preimage_papers.rivals.autoencoder import Autoencoder
from preimage_papers.rivals.hebbian import Hebbian, KernelHebbian
from preimage_papers.rivals.local_pca import LocalPCA
from preimage_papers.rivals.principal_curve import PrincipalCurve

__all__ = ["Autoencoder", "Hebbian", "KernelHebbian", "LocalPCA", "PrincipalCurve"]
