"""What a fitted kernel PCA can bring back to input space."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from preimage import preimages, tiles, validation
from preimage.decomposition import Decomposition
from preimage.exceptions import NothingFilteredWarning
from preimage.kernels import Kernel


class WayBackMixin:
    """Decoding, denoising and imputation for an estimator that holds a fitted ``decomposition_``."""

    preimage: Any
    decomposition_: Decomposition
    n_components_: int
    _seed: int

    def inverse_transform(self, Z):
        """Points of input space for rows of codes.

        A code alone is decoded: no input is looked at. How it went is in ``last_preimages_``.
        """
        check_is_fitted(self)
        Z = check_array(Z, dtype=[np.float64, np.float32], input_name="Z")
        if Z.shape[1] != self.n_components_:
            raise ValueError(f"Z has {Z.shape[1]} columns, but this model has {self.n_components_} components.")
        return self._bring_back(Z, "decode")

    def denoise(self, X):
        """The rows of X projected onto the subspace and brought back to input space.

        Iterative methods start at the noisy rows themselves. How it went is in ``last_preimages_``.
        """
        X = self._rows(X)
        if self.decomposition_.is_complete:
            validation.warn(
                "all components are kept, so the projection filters nothing: choose n_components to denoise.",
                NothingFilteredWarning,
            )
        return self._bring_back(self.decomposition_.codes(X), "denoise", starts=X)

    def _bring_back(self, codes: np.ndarray, task: str, starts=None) -> np.ndarray:
        """Pre-images of codes in batches whose weights fit the memory budget."""
        way_back, expand = self._way_back(task), self.decomposition_.expand
        batches = list(tiles.row_blocks(len(codes), 3 * codes.itemsize * self.decomposition_.points.shape[0]))
        results = [
            way_back(
                self.decomposition_.expand(codes[rows]), None if starts is None else preimages.dense_rows(starts[rows])
            )
            for rows in batches
        ]
        self.last_preimages_ = results[0] if len(results) == 1 else preimages.concatenate(results)
        return self.last_preimages_.points

    def _check_way_back(self, kernel: Kernel) -> None:
        """Refuse, before any work, a method that this kernel cannot serve."""
        for task in ("decode", "denoise"):
            self._method(kernel, task).check(kernel)

    def _method(self, kernel: Kernel, task: str) -> preimages.Method:
        automatic = isinstance(self.preimage, str) and self.preimage == "auto"
        return preimages.choose(kernel, task) if automatic else preimages.as_method(self.preimage)

    def _way_back(self, task: str) -> preimages.WayBack:
        """The prepared method for a task; prepared once, when it is first needed."""
        method = self._method(self.decomposition_.kernel, task)
        if method not in self._prepared:
            self._prepared[method] = method.prepare(self.decomposition_, np.random.default_rng(self._seed))
        return self._prepared[method]

    def _forget_way_back(self, seed: int) -> None:
        """Start afresh after a fit."""
        self._seed = seed
        self._prepared: dict[preimages.Method, preimages.WayBack] = {}
        self.__dict__.pop("last_preimages_", None)

    def _rows(self, X):
        raise NotImplementedError
