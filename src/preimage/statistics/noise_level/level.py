"""An estimate of the noise level, with its interval and its doubts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import RowsLike

FLOOR = 0.2  # share of directions, or of patches, assumed to be free of signal


@dataclass(frozen=True)
class NoiseLevel:
    """An estimate of σ with its interval, its method, and the reason to doubt it.

    Attributes
    ----------
    sigma : float
        The estimate.
    low, high : float
        An interval of about 95 %; its lower end also allows for signal hidden in the floor of the spectrum.
    method : "spectrum", "frequencies", "differences" or "flat patches"
        The kind of estimate.
    doubt : str
        Why not to trust it; empty if there is no reason.

    Notes
    -----
    Signal that is Gaussian and independent between the entries of a row looks like noise, so data give only upper
    bounds of σ. A linear filter that assumes noise of variance s² changes the squared error along a direction of
    variance λ by (s²/λ)(s² − 2σ²): it helps as long as s² < 2σ². So if only an upper bound of σ² is known, the lower
    end is half of it. A filter with it helps if σ² is more than a quarter of the bound, and has three quarters of the
    best possible gain if σ² equals the bound.

    See Also
    --------
    noise_level : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import noise_level
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 30)) + 0.2 * rng.standard_normal((500, 30))
    >>> found = noise_level(X)
    >>> found.low < 0.2 < found.high, found.trusted
    (True, True)
    """

    sigma: float
    low: float
    high: float
    method: str
    doubt: str = ""

    @property
    def trusted(self) -> bool:
        """Whether there is no reason to doubt the estimate."""
        return not self.doubt

    @property
    def careful(self) -> float:
        """The σ to denoise with: the lower end if the estimate is doubtful, since too little is safer than too much."""
        return self.sigma if self.trusted else self.low


def checked_rows(X: RowsLike) -> np.ndarray:
    """Rows in double precision; refuse anything but a matrix of finite numbers."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError("the noise level needs a matrix of real numbers, one observation per row.")
    if not np.isfinite(X).all():
        raise ValueError("the noise level needs finite numbers, but X has NaN or infinity: remove or impute them.")
    return X.astype(float, copy=False)
