"""Pre-images from a fitted kernel PCA: decoding, denoising, imputation, and pictures of its components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from preimage import preimages
from preimage._typing import Array, Rows
from preimage.decomposition import Decomposition
from preimage.estimators import conventions
from preimage.exceptions import NothingFilteredWarning, warn
from preimage.expansion import FeatureVectors
from preimage.imputation import Imputation
from preimage.kernels.base import positive
from preimage.kernels.scales import spread_rows
from preimage.preimages import Preimages
from preimage.preimages.base import dense_rows, refuse_precomputed
from preimage.preimages.outliers import damp_outliers


class InverseMixin:
    """Decoding, denoising and imputation for an estimator that holds a fitted ``decomposition_``.

    Calls do not change the estimator, so threads may share it.
    """

    preimage: Any
    decomposition_: Decomposition
    n_components_: int
    n_features_in_: int
    _seed: int
    _rows: Callable[[Any], Any]

    @conventions.in_input_columns
    @conventions.also_distributed
    def inverse_transform(self, X):
        """Points of input space for the rows X of codes.

        ``find_preimages(codes=X)`` also returns diagnostics.
        """
        return self._decode(X, "X").points

    @conventions.in_input_columns
    @conventions.also_distributed
    def denoise(self, X, *, outlier_scale=None, n_rounds=10):
        """The denoised rows of X: the pre-images of their projections onto the subspace.

        Iterative methods start at the noisy rows. ``find_preimages(X)`` also returns diagnostics.

        ``preimage="auto"`` assumes that the training rows are clean. On average the result is then no worse than the
        noisy rows, for any number of components, if the noise is at least a tenth of a column's standard deviation. If
        the training rows are noisy too, ``preimage=Wiener(noise="implied")`` treats everything that the components
        leave out as noise. If you know the noise, ``Wiener(noise=sigma)`` removes more. See
        :class:`preimage.preimages.Wiener`.

        Parameters
        ----------
        X : array of shape (rows, d)
        outlier_scale : float, "auto" or None
            Damp entries that differ from the reconstruction by much more than this: gross outliers, which would
            distort the whole row. "auto" is three times the reconstruction error of the training rows; None damps
            nothing.
        n_rounds : int
            The number of rounds of damping.
        """
        return self._denoise(X, outlier_scale, n_rounds).points

    @conventions.keeps_n_jobs
    def find_preimages(self, X=None, *, codes=None, outlier_scale=None, n_rounds=10) -> Preimages:
        """The results of ``denoise(X)``, or ``inverse_transform(codes)``, with diagnostics.

        Parameters
        ----------
        X : array of shape (rows, d), optional
            Rows to denoise.
        codes : array of shape (rows, q), optional
            Codes to decode instead of X.
        outlier_scale, n_rounds
            As for ``denoise``.

        Returns
        -------
        found : Preimages
            The points, whether each converged, after how many steps, and its distance in feature space.
        """
        if (X is None) == (codes is None):
            raise ValueError("pass either the rows X, to denoise them, or codes=, to decode them.")
        return self._denoise(X, outlier_scale, n_rounds) if codes is None else self._decode(codes, "codes")

    @conventions.in_input_columns
    @conventions.also_distributed
    def impute(self, X, *, n_rounds=5):
        """The rows of X with their NaN entries filled; observed entries stay unchanged.

        Gaps are filled with the conditional mean of a Gaussian model of the training rows, and then ``n_rounds`` times
        with the pre-image of the projection. With ``preimage="auto"`` the result is a weighted mean of three results:
        of the Gaussian model, :class:`Learned` and :class:`Distance`. The weights, which may be 0, minimise the error
        at hidden entries of held-out training rows; the first call computes them.
        """
        check_is_fitted(self)
        kernel = self.decomposition_.kernel
        refuse_precomputed(kernel, "impute")
        X = validate_data(self, X, dtype=conventions.FLOATS, ensure_all_finite="allow-nan", reset=False)
        gaps = np.isnan(X).any(axis=1)
        if not gaps.any():
            return X.copy()
        filled = X.copy()
        automatic = preimages.is_automatic(self.preimage)
        methods = preimages.imputers(kernel) if automatic else (preimages.as_preimage_method(self.preimage),)
        filled[gaps] = prepared(self, Imputation(methods, n_rounds))(X[gaps])
        return filled

    @conventions.keeps_n_jobs
    def eigenvector_preimages(self, step=None):
        """Points that show the components: pre-images of each axis, in both directions.

        Parameters
        ----------
        step : float, optional
            None uses the unit axes ±V themselves (Mika et al. 1998, Fig. 2, second row). A number uses
            φ̄ ± step · σV, with σ the standard deviation along the axis, which is better conditioned.

        Returns
        -------
        plus, minus : Preimages
            One point per component.
        """
        check_is_fitted(self)
        model = self.decomposition_
        refuse_precomputed(model.kernel, "eigenvector_preimages")
        if step is None:
            plus = model.axes
            plus.inner_points()  # one pass over the kernel matrix serves both signs
            signed: list[FeatureVectors] = [plus, -1 * plus]
        else:
            deviations = step * model.input_codes.std(axis=0)
            signed = [model.expand(sign * np.diag(deviations)) for sign in (1, -1)]
        return tuple(preimages.find_preimage(expansion) for expansion in signed)

    @conventions.keeps_n_jobs
    def basis_projections(self):
        """⟨φ(eᵢ), V⟩ for every component V and canonical basis vector eᵢ, shape (q, d) (Mika et al. 1998, Fig. 2)."""
        check_is_fitted(self)
        refuse_precomputed(self.decomposition_.kernel, "basis_projections")
        return self.decomposition_.products(np.eye(self.n_features_in_, dtype=self.decomposition_.dtype))[0].T

    def _denoise(self, X, outlier_scale, n_rounds: int) -> Preimages:
        X = self._rows(X)
        warn_if_nothing_is_filtered(self.decomposition_)
        if outlier_scale is not None:
            X = damp_outliers(self._filter("decode"), dense_rows(X), self._outlier_scale(outlier_scale), n_rounds)
        return find(self, self.decomposition_.codes(X), "denoise", starts=X)

    def _decode(self, codes, name: str) -> Preimages:
        check_is_fitted(self)
        return find(self, conventions.read_codes(codes, self.n_components_, name), "decode")

    def _filter(self, task: str):
        """A function from rows to the pre-images of their projections."""
        return lambda X: find(self, self.decomposition_.codes(X), task, starts=X).points

    def _outlier_scale(self, scale) -> float:
        if isinstance(scale, str) and scale == "auto":
            examples = spread_rows(dense_rows(self.decomposition_.inputs), 500)
            return 3 * float(np.sqrt(np.mean(np.square(examples - self._filter("decode")(examples)))))
        positive("outlier_scale", scale)
        return float(scale)


def warn_if_nothing_is_filtered(model: Decomposition) -> None:
    """Warn if all components are kept, since denoising then keeps the noise too."""
    if model.is_complete:
        warn(
            "all components are kept, so the projection filters nothing: choose n_components to denoise.",
            NothingFilteredWarning,
        )


def find(estimator: Any, codes: Array, task: str, starts: Rows | None = None) -> Preimages:
    """Pre-images of the projections with these codes, by the fitted estimator's method for the task."""
    model = estimator.decomposition_
    inverse_map = prepared(estimator, preimages.method_for(estimator.preimage, model.kernel, task))
    return preimages.find_in_batches(inverse_map, model.expand(codes), starts)


def prepared(estimator: Any, method: Any) -> Any:
    """The method prepared for the estimator's model, once, on first use."""
    model, seed = estimator.decomposition_, estimator._seed
    return model.remembered((method, seed), lambda: method.prepare(model, np.random.default_rng(seed)))
