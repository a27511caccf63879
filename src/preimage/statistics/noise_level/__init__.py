"""The standard deviation σ of white noise in a data matrix, from the matrix alone.

Four estimates, for different kinds of data:

* :func:`from_spectrum` looks for directions without signal: σ² is the floor of the covariance's spectrum. It needs no
  geometry, but more rows than signal directions.
* :func:`from_frequencies` bounds σ by the distribution of single columns, which Gaussian noise makes smooth.
* :func:`from_differences` looks for places without signal: images and sampled signals are flat somewhere, and
  differences of neighbours there are pure noise.
* :func:`from_flat_patches` does the same with the flattest patches of a single image or signal.
"""

from __future__ import annotations

from preimage._typing import RowsLike
from preimage.exceptions import NoiseLevelWarning, warn
from preimage.statistics.noise_level.differences import from_differences, from_flat_patches
from preimage.statistics.noise_level.frequencies import from_frequencies
from preimage.statistics.noise_level.level import NoiseLevel, checked_rows
from preimage.statistics.noise_level.spectrum import MOST_COLUMNS, from_spectrum

__all__ = [
    "MOST_COLUMNS",
    "NoiseLevel",
    "from_differences",
    "from_flat_patches",
    "from_frequencies",
    "from_spectrum",
    "noise_level",
]


def noise_level(X: RowsLike, shape: tuple[int, ...] | None = None, *, random_state: int = 0) -> NoiseLevel:
    """The noise level of the rows of X, with a :class:`NoiseLevelWarning` if the estimate is doubtful.

    Parameters
    ----------
    X : array of shape (rows, d)
        Data with white noise of the same σ in every entry.
    shape : tuple, optional
        The shape of a row that is an image (height, width) or a signal (length,). The estimate is then the lower of
        :func:`from_spectrum` and :func:`from_differences`, else that of :func:`from_spectrum` and
        :func:`from_frequencies`: signal can only raise an estimate.
    random_state : int
        Seed of the simulations and samples.

    Returns
    -------
    NoiseLevel

    See Also
    --------
    from_spectrum, from_differences, from_frequencies : The estimates.
    NoiseLevel : The result.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import noise_level
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 30)) + 0.2 * rng.standard_normal((500, 30))
    >>> round(noise_level(X).sigma, 2)
    0.2
    """
    X = checked_rows(X)
    found = from_spectrum(X, random_state=random_state)
    if shape is not None:
        other = from_differences(X, shape, random_state=random_state)
        found = min(found, other, key=lambda level: (not level.trusted, level.sigma))
    elif (most := from_frequencies(X, random_state=random_state)).sigma < found.low:
        found = most
    if found.doubt:
        warn(
            f"the noise level {found.sigma:.3g} is doubtful and may be as low as {found.low:.3g}: {found.doubt}.",
            NoiseLevelWarning,
        )
    return found
