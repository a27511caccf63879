"""An estimate of the noise level, with its interval and its doubts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import RowsLike

FLOOR = 0.2  # the share of directions, or of patches, that is taken to be free of signal


@dataclass(frozen=True)
class NoiseLevel:
    """σ with its interval, its method, and why to doubt it.

    Attributes
    ----------
    sigma : float
        The estimate.
    low, high : float
        An interval of about 95 %; its lower end also allows for signal that hides in the floor of the spectrum.
    method : "spectrum", "frequencies", "differences" or "flat patches"
        Where it comes from.
    doubt : str
        Why it should not be trusted; empty if nothing does.

    Notes
    -----
    Signal that is independent between the entries of a row and Gaussian cannot be told from noise, so that data give
    upper bounds of σ alone. A linear filter that takes the noise to be s² changes the squared error along a direction
    of variance λ by (s²/λ)(s² − 2σ²): it does good as long as s² < 2σ². So where nothing but an upper bound of σ² is
    known, the lower end is half of it: it does good wherever σ is more than half of the bound, and three quarters of
    the most that can be done where σ is the bound.

    See Also
    --------
    noise_level : What returns it.

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
        """Whether nothing speaks against the estimate."""
        return not self.doubt

    @property
    def careful(self) -> float:
        """σ to remove by: the lower end where the estimate is doubtful, since too little is safer than too much."""
        return self.sigma if self.trusted else self.low


def checked_rows(X: RowsLike) -> np.ndarray:
    """Rows in double precision; refuses anything but a matrix of finite numbers."""
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError("the noise level is estimated from a matrix of real numbers, one observation per row.")
    if not np.isfinite(X).all():
        raise ValueError("the noise level needs finite numbers: X holds NaN or infinity.")
    return X.astype(float, copy=False)
