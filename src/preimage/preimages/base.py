"""The interface of pre-image methods, and their result.

A method is a small frozen object that works in two steps. ``prepare(model)`` does the work that all targets share and
returns an inverse map. The inverse map takes a batch of targets (an expansion, with optional starting points) to
:class:`Preimages`. :func:`find_in_batches` runs it within the memory budget and warns once about all rows that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from preimage._typing import Array, Generator, Rows
from preimage.decomposition import Decomposition
from preimage.exceptions import ConvergenceWarning, warn
from preimage.expansion import FeatureVectors
from preimage.gram import slicing
from preimage.kernels import Kernel, Precomputed, require


@dataclass(frozen=True, eq=False)
class Preimages:
    """Points z of input space for a batch of targets Ψ, and how each was found.

    Attributes
    ----------
    points : array of shape (m, d)
        The pre-images; for a precomputed kernel, indices of training points in one column.
    converged : array of bool, shape (m,)
        Whether the method succeeded; where False, the point is the best one found.
    steps : array of int, shape (m,)
        Iterations; 0 for methods in closed form.
    targets : FeatureVectors
        The targets Ψ; for a fitted model, the projections.
    residual : array of shape (m,)
        ‖φ(z) − Ψ‖², the squared distance in feature space; computed on first access.

    See Also
    --------
    preimage.find_preimage, preimage.KernelPCA.find_preimages : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> image = Expansion(Gaussian(1.0), np.array([[1.0, 2.0]]), np.array([[1.0]]))  # φ(x) itself
    >>> found = find_preimage(image)
    >>> found.points.round(3), found.converged, found.residual.round(6)
    (array([[1., 2.]]), array([ True]), array([0.]))
    """

    points: Array
    converged: Array
    steps: Array
    targets: FeatureVectors = field(repr=False)

    @cached_property
    def residual(self) -> Array:
        """‖φ(zⱼ) − Ψⱼ‖² = k(zⱼ, zⱼ) − 2⟨Ψⱼ, φ(zⱼ)⟩ + ‖Ψⱼ‖², clipped at 0."""
        diagonal = self.targets.kernel.diagonal(self.points)
        residual: Array = np.maximum(diagonal - 2 * self.targets.inner_paired(self.points) + self.targets.norm2(), 0)
        return residual


Source: TypeAlias = Decomposition | FeatureVectors  # what a method is prepared for


class InverseMap(Protocol):
    """A method that is prepared for one model: a function from targets and starts to pre-images.

    See Also
    --------
    PreimageMethod : Makes it.
    Preimages : What it returns.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import Nearest
    >>> vector = Expansion(Gaussian(1.0), np.array([[0.0], [2.0]]), np.array([[0.4, 0.6]]))
    >>> inverse_map = Nearest().prepare(vector, np.random.default_rng(0))
    >>> inverse_map(vector, None).points
    array([[2.]])
    """

    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
        """Pre-images of a batch of targets, without a warning."""


class PreimageMethod(Protocol):
    """The interface of a pre-image method; ``prepare`` makes an inverse map for one model.

    ``needs`` lists what the targets must provide (see :attr:`preimage.expansion.FeatureVectors.provides`), and
    ``abilities`` what the kernel must have. ``check`` refuses a kernel that lacks an ability; ``instead`` names methods
    for such kernels.

    See Also
    --------
    InverseMap : A prepared method.
    preimage.kernels.knows : The abilities of a kernel.

    Examples
    --------
    >>> from preimage.kernels import Cosine
    >>> from preimage.preimages import FixedPoint
    >>> FixedPoint.abilities
    ('profile',)
    >>> FixedPoint().check(Cosine())
    Traceback (most recent call last):
        ...
    ValueError: FixedPoint needs a kernel with a profile, which Cosine() does not have. ...
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    abilities: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[str] = ""

    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that lacks what this method needs."""
        refuse_precomputed(kernel, type(self).__name__)
        require(kernel, type(self).__name__, *self.abilities, serve=self.instead)

    def prepare(self, model: Any, rng: Generator) -> InverseMap:
        """The inverse map for a fitted model or an expansion; does the work that all targets share."""


EVERYTHING = frozenset({"weights", "codes", "gradient"})  # what projections over points provide
LACKING = {
    "weights": "needs an expansion over points, which random features do not have: use Distance(), Gradient(), "
    "Learned() or Conformal().",
    "codes": "maps codes of a fitted model and cannot take a bare expansion: use KernelPCA(preimage=...), or "
    "FixedPoint, Gradient, Distance or Nearest here.",
    "gradient": "needs features with a gradient: use Distance() or Nearest().",
}


def check_needs(method: PreimageMethod, provided: frozenset[str]) -> None:
    """Refuse a method that needs more than its targets provide."""
    for lacking in sorted(getattr(method, "needs", frozenset()) - provided):
        error = TypeError if lacking == "codes" else ValueError
        raise error(f"{type(method).__name__} {LACKING[lacking]}")


def find_in_batches(inverse_map: InverseMap, targets: FeatureVectors, starts: Rows | None = None) -> Preimages:
    """Pre-images of all targets, in batches that fit the memory budget; warn once if rows failed."""
    if starts is not None and starts.shape[0] != len(targets):
        raise ValueError(f"{len(targets)} targets need {len(targets)} starts, one per row, not {starts.shape[0]}.")
    targets.norm2()  # cached for all batches: for a bare expansion, a pass over the kernel matrix

    def answer(rows: slice) -> tuple[Array, Array, Array]:
        found = inverse_map(targets[rows], None if starts is None else dense_rows(starts[rows]))
        return found.points, found.converged, found.steps  # but not the batch, which holds its weights

    batches = [answer(rows) for rows in slicing.row_blocks(len(targets), 4 * 8 * targets.points.shape[0])]
    points, converged, steps = (np.concatenate(part) for part in zip(*batches, strict=True))
    found = Preimages(points, converged, steps, targets)
    warn_of_failures(found.converged)
    return found


def map_targets(
    function: Callable[[Any, slice], tuple[Array, ...]], targets: FeatureVectors, row_bytes: float
) -> tuple[Array, ...]:
    """The joined arrays that ``function(part, rows)`` returns for parts of the targets, computed in threads."""
    targets.inner_points()  # cached for all parts
    parts = slicing.map_rows(lambda rows: function(targets[rows], rows), len(targets), row_bytes)
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def closed_form(targets: FeatureVectors, points: Array, converged: Array | None = None) -> Preimages:
    """The result of a method without iterations; where it failed, the best point of the expansion."""
    usable: Array = np.all(np.isfinite(points), axis=1)
    if converged is not None:
        usable &= converged
    if not usable.all():
        lost = np.flatnonzero(~usable)
        points = points.copy()
        points[lost] = dense_rows(targets.points[nearest(targets[lost], 1)[:, 0]])
    return Preimages(points, usable, np.zeros(len(points), dtype=int), targets)


def warn_of_failures(converged: Array) -> None:
    """Warn if some rows failed."""
    if not converged.all():
        warn(
            f"{np.sum(~converged)} of {len(converged)} pre-images did not converge; the best points found are "
            "returned. Allow more steps, or use another method.",
            ConvergenceWarning,
        )


def nearest(targets: FeatureVectors, count: int) -> Array:
    """Indices of the ``count`` points nearest to every target in feature space, nearest first, shape (m, count).

    The points have the same order by ‖φ(xᵢ) − Ψ‖² as by k(xᵢ, xᵢ) − 2⟨Ψ, φ(xᵢ)⟩.
    """
    distances = targets.kernel.diagonal(targets.points) - 2 * targets.inner_points()
    count = min(count, distances.shape[1])
    few = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, few, axis=1), axis=1)
    return np.take_along_axis(few, order, axis=1)


def dense_rows(X: Any) -> Array:
    """Rows as a dense array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def refuse_precomputed(kernel: Kernel, who: str) -> None:
    """Refuse a precomputed kernel, which has no points of input space."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            f"{who} needs the training inputs, which a precomputed kernel matrix does not contain: "
            "use preimage=Nearest(), which returns indices of training points, or give a kernel and the rows."
        )
