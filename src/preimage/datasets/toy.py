"""Toy data of the papers, each set with the clean points that the noise was added to."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from preimage._typing import Array
from preimage.datasets.split import Split
from preimage.noise import GaussianNoise

RandomState = int | np.random.Generator | None


class Curve(NamedTuple):
    """Points near a curve or surface.

    See Also
    --------
    half_circle, parabola, s_curve, square : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.datasets import half_circle
    >>> curve = half_circle(1000, noise=0.1, random_state=0)
    >>> float((curve.X - curve.clean).std().round(1))
    0.1
    """

    X: Array
    """Noisy points, one per row."""
    clean: Array
    """The points of the curve that the noise was added to."""
    position: Array
    """Where each clean point lies along the curve; for colours in pictures."""


class Clusters(NamedTuple):
    """Points around centres.

    See Also
    --------
    three_clusters, eleven_gaussians : Return it.

    Examples
    --------
    >>> from preimage.datasets import three_clusters
    >>> data = three_clusters(30, random_state=0)
    >>> len(data.X), len(data.centers), bool((data.clean == data.centers[data.labels]).all())
    (90, 3, True)
    """

    X: Array
    """Points, one per row."""
    clean: Array
    """The centre of each point's cluster."""
    labels: Array
    """The number of each point's cluster."""
    centers: Array
    """The centres, one per row."""


def parabola(n_samples: int = 100, *, noise: float = 0.2, random_state: RandomState = None) -> Curve:
    """Parabola with vertical noise: x ~ U[−1, 1], y = x² + ξ, ξ ~ N(0, noise²).

    See Also
    --------
    half_circle, s_curve : Other curves.

    References
    ----------
    Schölkopf, Smola and Müller (1998), Figure 3 (noise 0.2).

    Examples
    --------
    >>> from preimage.datasets import parabola
    >>> data = parabola(50, noise=0, random_state=0)
    >>> bool((data.X[:, 1] == data.X[:, 0] ** 2).all())
    True
    """
    rng = np.random.default_rng(random_state)
    x = rng.uniform(-1, 1, n_samples)
    X = np.column_stack([x, GaussianNoise(noise)(x**2, rng)])
    return Curve(X, np.column_stack([x, x**2]), x)


def three_clusters(n_per_cluster: int = 30, *, noise: float = 0.1, random_state: RandomState = None) -> Clusters:
    """Three Gaussian clusters of standard deviation `noise` in the region [−1, 1] × [−½, 1].

    The paper draws the clusters but does not print their centres or sizes; those here were chosen to look alike.

    See Also
    --------
    eleven_gaussians : Clusters in ten dimensions.

    References
    ----------
    Schölkopf, Smola and Müller (1998), Figures 4 and 5 (noise 0.1).

    Examples
    --------
    >>> from preimage.datasets import three_clusters
    >>> data = three_clusters(30, noise=0.1, random_state=0)
    >>> data.X.shape, float((data.X - data.clean).std().round(1))
    ((90, 2), 0.1)
    """
    centers = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
    return _clusters(centers, n_per_cluster, noise, np.random.default_rng(random_state))


def eleven_gaussians(
    n_train: int = 100, n_test: int = 33, *, noise: float = 0.1, spread: float = 1.0, random_state: RandomState = None
) -> Split[Clusters]:
    """Eleven Gaussians N(cⱼ, noise² I) in R¹⁰ with centres cⱼ ~ U[−spread, spread]¹⁰, the same for training and test.

    Parameters
    ----------
    n_train, n_test : int
        Points per centre.
    noise : float
        Standard deviation σ in each coordinate; the paper has 0.05, 0.1, 0.2, 0.4 and 0.8.
    spread : float
        Half the side of the cube that holds the centres. The paper says 1; ½ matches its table better.
    random_state : int, Generator or None
        Random numbers for centres and points.

    See Also
    --------
    three_clusters : Clusters in the plane.

    References
    ----------
    Mika et al. (1998), Table 1.

    Examples
    --------
    >>> from preimage.datasets import eleven_gaussians
    >>> train, test = eleven_gaussians(noise=0.1, random_state=0)
    >>> train.X.shape, float((train.X - train.clean).std().round(1))
    ((1100, 10), 0.1)
    """
    rng = np.random.default_rng(random_state)
    centers = rng.uniform(-spread, spread, (11, 10))
    return Split(_clusters(centers, n_train, noise, rng), _clusters(centers, n_test, noise, rng))


def half_circle(n_samples: int = 200, *, noise: float = 0.1, random_state: RandomState = None) -> Curve:
    """The upper half of the unit circle, uniform in its angle, with noise N(0, noise² I).

    The paper draws this set but does not print its noise.

    See Also
    --------
    half_circle_distance : Distance to the clean curve.

    References
    ----------
    Mika et al. (1998), Figure 1, top.

    Examples
    --------
    >>> from preimage.datasets import half_circle, half_circle_distance
    >>> float(half_circle_distance(half_circle(1000, noise=0.1, random_state=0).X).mean().round(2))
    0.08
    """
    rng = np.random.default_rng(random_state)
    angle = rng.uniform(0, np.pi, n_samples)
    return _noisy(np.column_stack([np.cos(angle), np.sin(angle)]), angle, noise, rng)


def square(n_samples: int = 200, *, noise: float = 0.1, random_state: RandomState = None) -> Curve:
    """The boundary of the square [−1, 1]², uniform in its length, with noise N(0, noise² I).

    The paper draws this set but does not print its noise.

    See Also
    --------
    square_distance : Distance to the clean curve.

    References
    ----------
    Mika et al. (1998), Figure 1, bottom.

    Examples
    --------
    >>> from preimage.datasets import square
    >>> data = square(100, noise=0, random_state=0)
    >>> float(abs(data.X).max(axis=1).min()), float(abs(data.X).max())
    (1.0, 1.0)
    """
    rng = np.random.default_rng(random_state)
    length = rng.uniform(0, 8, n_samples)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    clean = np.column_stack([np.interp(length, 2 * np.arange(5), corner) for corner in corners.T])
    return _noisy(clean, length, noise, rng)


def s_curve(n_samples: int = 2000, *, noise: float = 0.25, random_state: RandomState = None) -> Curve:
    """The letter S as a surface in R³, with noise N(0, noise² I).

    With t ~ U[−3π/2, 3π/2]: x₁ = sin t, x₂ ~ U[0, 2], x₃ = sign(t)(cos t − 1).

    See Also
    --------
    half_circle, parabola : Curves in the plane.

    References
    ----------
    Gedon et al. (2023), Section IV-A (n = 2000, noise 0.25) and Appendix A.

    Examples
    --------
    >>> from preimage.datasets import s_curve
    >>> data = s_curve(100, noise=0.2, random_state=0)
    >>> data.X.shape, float((data.X - data.clean).std().round(1))
    ((100, 3), 0.2)
    """
    rng = np.random.default_rng(random_state)
    t = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n_samples)
    clean = np.column_stack([np.sin(t), rng.uniform(0, 2, n_samples), np.sign(t) * (np.cos(t) - 1)])
    return _noisy(clean, t, noise, rng)


def half_circle_distance(X: ArrayLike) -> Array:
    """Distance of each row to the clean curve of `half_circle`: ``|‖x‖ − 1|`` above the axis, else to the near end.

    See Also
    --------
    half_circle : The data.

    Examples
    --------
    >>> from preimage.datasets import half_circle_distance
    >>> half_circle_distance([[0.0, 1.5], [-1.0, -0.25]])
    array([0.5 , 0.25])
    """
    X = np.asarray(X)
    to_end = np.hypot(np.abs(X[:, 0]) - 1, X[:, 1])
    return np.where(X[:, 1] >= 0, np.abs(np.hypot(X[:, 0], X[:, 1]) - 1), to_end)


def square_distance(X: ArrayLike) -> Array:
    """Distance of each row to the clean curve of `square`.

    With ``q = |x| − 1`` taken entrywise: ‖max(q, 0)‖ outside, −max(q₁, q₂) inside.

    See Also
    --------
    square : The data.

    Examples
    --------
    >>> from preimage.datasets import square_distance
    >>> square_distance([[0.0, 0.0], [1.5, 0.0], [4.0, 5.0]])
    array([1. , 0.5, 5. ])
    """
    q = np.abs(np.asarray(X)) - 1
    outside = np.hypot(*np.maximum(q, 0).T)
    return outside + np.maximum(-q.max(axis=1), 0)


def _noisy(clean: Array, position: Array, noise: float, rng: np.random.Generator) -> Curve:
    return Curve(GaussianNoise(noise)(clean, rng), clean, position)


def _clusters(centers: Array, n_per_cluster: int, noise: float, rng: np.random.Generator) -> Clusters:
    labels = np.repeat(np.arange(len(centers)), n_per_cluster)
    clean = centers[labels]
    return Clusters(GaussianNoise(noise)(clean, rng), clean, labels, centers)
