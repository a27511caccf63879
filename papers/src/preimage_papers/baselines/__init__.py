"""Other nonlinear principal component methods that the papers compare with (Schölkopf et al. 1998, §6.3).

Each is a frozen object with its settings; ``fit(X, rng)`` returns a function from rows to reconstructed rows.
"""

from preimage_papers.baselines.autoencoder import Autoencoder
from preimage_papers.baselines.hebbian import Hebbian, KernelHebbian
from preimage_papers.baselines.local_pca import LocalPCA
from preimage_papers.baselines.principal_curve import PrincipalCurve

__all__ = ["Autoencoder", "Hebbian", "KernelHebbian", "LocalPCA", "PrincipalCurve"]
