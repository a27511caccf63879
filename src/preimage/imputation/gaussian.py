"""A Gaussian model of complete rows or, by EM, of rows with gaps; it fills gaps and gives their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.gram import slicing
from preimage.preimages.bounds import principal_axes

FOLDS = 3
SHARES = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9)  # variances of the noise relative to the columns' mean variance
FACTORS = 256  # the most factors of a model of complete rows
FACTORS_WITH_GAPS = 64  # the same for rows with gaps, where EM solves for the factors of every pattern of gaps
LEAST_OWN = 0.01  # least variance of a column's noise, relative to its variance
INNER = 2  # steps of factor analysis per step of EM


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """x = μ + Wz + noise, with factors z ~ N(0, I) and noise of variance ψ, one for all columns or one per column."""

    mean: Array
    loadings: Array
    variance: Array | float

    @classmethod
    def of(cls, examples: Array) -> GaussianModel:
        """The model with the σ² that best predicts entries of held-out examples from the rest of their row."""
        held = np.arange(len(examples)) % FOLDS == 0
        shares = [share for share in SHARES if share > len(examples[0]) * np.finfo(examples.dtype).eps]
        if len(examples) > FOLDS:
            axes = principal_axes(examples[~held])
            share = min(shares, key=lambda share: cls._of(*axes, share).left_out_error(examples[held]))
        else:
            share = shares[0]
        return cls._of(*principal_axes(examples), share)

    @classmethod
    def start(cls, X: Array) -> GaussianModel:
        """The model with the means and variances of observed entries, and no correlation."""
        return cls(np.nanmean(X, axis=0), np.zeros((X.shape[1], 1)), np.nanvar(X, axis=0) + np.finfo(float).tiny)

    @classmethod
    def _of(cls, mean: Array, variances: Array, axes: Array, share: float, n_factors: int = FACTORS) -> GaussianModel:
        """The model with W = V(Λ − σ²)^½, σ² the mean of the omitted variances, and at least a share of a column's.

        σ² is also at least the smallest variance, which does not change the model but improves its conditioning.
        """
        kept, rest = variances[:n_factors], variances[n_factors:]
        left_out = rest.sum() / (len(mean) - n_factors) if len(rest) else 0.0
        least = variances[-1] if len(variances) == len(mean) else 0.0
        floor = share * variances.sum() / len(mean)
        variance = float(max(left_out, least, floor, np.finfo(mean.dtype).tiny))
        return cls(mean, axes[:, :n_factors] * np.sqrt(np.maximum(kept - variance, 0)), variance)

    def improved(self, X: Array, noise: NoiseModel, n_steps: int) -> GaussianModel:
        """The model after steps of EM on rows with gaps (Little & Rubin 2002, § 11.2)."""
        model = self
        for _ in range(n_steps):
            model = noise(*model._moments(X), model)
        return model

    def _moments(self, X: Array) -> tuple[Array, Array]:
        """The expected mean and covariance of the rows, given their observed entries."""
        W, d = self.loadings, X.shape[1]
        filled, uncertain = np.empty_like(X), np.zeros((d, d))
        for block in self._factors(X):
            filled[block.rows] = np.where(block.missing, self.mean + block.factors @ W.T, X[block.rows])
            for pattern, spread, count in zip(block.patterns, block.inverses, block.counts, strict=True):
                lost = np.flatnonzero(pattern)
                uncertain[lost[:, None], lost] += count * (W[lost] @ spread @ W[lost].T)
        uncertain[np.diag_indices(d)] += self.variance * np.isnan(X).sum(axis=0)
        mean = filled.mean(axis=0)
        centred = filled - mean
        return mean, (centred.T @ centred + uncertain) / len(X)

    def correlations(self, j: int) -> Array:
        """The correlations of column j with all columns."""
        variances = np.square(self.loadings).sum(axis=1) + self.variance
        found: Array = (self.loadings @ self.loadings[j]) / np.sqrt(variances * variances[j])
        found[j] = 1.0
        return found

    def left_out_error(self, rows: Array) -> float:
        """The mean squared error of entries predicted from the rest of their row.

        With the precision matrix P = (WWᵀ + Ψ)⁻¹ it is the mean of ((P(x − μ))ⱼ/Pⱼⱼ)².
        """
        unit, V = self._scaled
        gaps = (rows - self.mean) / unit
        inner = scipy.linalg.solve(V.T @ V + np.eye(V.shape[1], dtype=V.dtype), V.T, assume_a="pos")
        scaled = gaps - (gaps @ V) @ inner  # Ψ^½P(x − μ)
        diagonal = np.maximum(1 - np.einsum("jk,kj->j", V, inner), np.finfo(V.dtype).eps)  # ψⱼPⱼⱼ ≤ 1
        return float(np.mean(np.square(unit * scaled / diagonal)))

    @property
    def _scaled(self) -> tuple[Array, Array]:
        """Ψ^½, and the loadings in these units."""
        unit = np.sqrt(np.broadcast_to(np.asarray(self.variance, self.mean.dtype), self.mean.shape))
        return unit, self.loadings / unit[:, None]

    def _factors(self, X: Array) -> Iterator[_Factors]:
        """E[z | observed] for blocks of rows, and its covariance, shared by rows with the same missing entries.

        With V = Ψ^−½W at observed entries, the covariance is (VₒᵀVₒ + I)⁻¹.
        """
        (unit, V), q = self._scaled, self.loadings.shape[1]
        squares = (V[:, :, None] * V[:, None, :]).reshape(len(V), -1)
        for rows in slicing.row_blocks(len(X), 5 * q * q * V.itemsize):
            missing = np.isnan(X[rows])
            patterns, group, counts = np.unique(missing, axis=0, return_inverse=True, return_counts=True)
            seen = (~patterns).astype(V.dtype)
            inverses = np.linalg.inv((seen @ squares).reshape(-1, q, q) + np.eye(q, dtype=V.dtype))
            known = np.where(missing, 0, (X[rows] - self.mean) / unit) @ V
            group = group.ravel()  # numpy 2.0 returned a column
            factors = np.einsum("rij,rj->ri", inverses[group], known)
            yield _Factors(rows, missing, factors, group, patterns, inverses, counts)

    def __call__(self, X: Array) -> Array:
        """The rows with NaN filled by E[missing | observed] = μ + W E[z | observed]."""
        filled = np.array(X)
        for block in self._factors(X):
            filled[block.rows] = np.where(block.missing, self.mean + block.factors @ self.loadings.T, X[block.rows])
        return filled

    def deviation(self, X: Array) -> Array:
        """Standard deviations (ψⱼ + wⱼᵀ(VₒᵀVₒ + I)⁻¹wⱼ)^½ of missing entries given the others; 0 if observed."""
        W, found = self.loadings, np.zeros_like(X)
        for block in self._factors(X):
            spread = np.einsum("pjq,jq->pj", W @ block.inverses, W)
            deviations = np.where(block.patterns, np.sqrt(self.variance + np.maximum(spread, 0)), 0)
            found[block.rows] = deviations[block.group]
        return found

    def draw(self, X: Array, rng: Generator) -> Array:
        """Random deviations of missing entries from their means, drawn jointly for a row; 0 for observed entries."""
        found = np.zeros_like(X)
        for block in self._factors(X):
            roots = np.linalg.cholesky((block.inverses + np.swapaxes(block.inverses, 1, 2)) / 2)
            factors = np.einsum("rij,rj->ri", roots[block.group], rng.standard_normal(block.factors.shape))
            noise = np.sqrt(self.variance) * rng.standard_normal(block.missing.shape)
            found[block.rows] = np.where(block.missing, factors @ self.loadings.T + noise, 0)
        return found


@dataclass(frozen=True, eq=False)
class _Factors:
    """The factors of a block of rows, grouped by their pattern of missing entries."""

    rows: slice
    missing: Array
    factors: Array
    group: Array
    patterns: Array
    inverses: Array
    counts: Array


@dataclass(frozen=True)
class EqualNoise:
    """Noise of one variance in all columns, at least a share of their mean variance: probabilistic PCA."""

    share: float

    def __call__(self, mean: Array, covariance: Array, model: GaussianModel) -> GaussianModel:
        """The model of these moments (Tipping & Bishop 1999, eqs 7 and 8)."""
        variances, axes = scipy.linalg.eigh(covariance)
        return model._of(mean, np.maximum(variances[::-1], 0), axes[:, ::-1], self.share, FACTORS_WITH_GAPS)


@dataclass(frozen=True)
class OwnNoise:
    """A few factors, and noise with a variance per column: factor analysis."""

    n_factors: int

    def __call__(self, mean: Array, covariance: Array, model: GaussianModel) -> GaussianModel:
        """Alternate W = Ψ^½U(Λ − I)^½, with Ψ^−½SΨ^−½ = UΛUᵀ, and Ψ = diag(S − WWᵀ) (Lawley 1940)."""
        variances = np.maximum(np.diag(covariance), np.finfo(float).tiny)
        least = LEAST_OWN * variances
        own = np.clip(np.broadcast_to(model.variance, mean.shape), least, variances)
        for _ in range(INNER):
            unit = np.sqrt(own)
            values, axes = scipy.linalg.eigh(covariance / unit[:, None] / unit)
            kept, axes = values[::-1][: self.n_factors], axes[:, ::-1][:, : self.n_factors]
            loadings = unit[:, None] * axes * np.sqrt(np.maximum(kept - 1, 0))
            own = np.maximum(variances - np.square(loadings).sum(axis=1), least)
        return GaussianModel(mean, loadings, own)


NoiseModel: TypeAlias = Callable[[Array, Array, GaussianModel], GaussianModel]
