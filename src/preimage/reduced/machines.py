"""Kernel machines of scikit-learn as predictors that can be compressed.

>>> from sklearn.datasets import load_iris
>>> from sklearn.svm import SVC
>>> X, y = load_iris(return_X_y=True)
>>> machine = from_sklearn(SVC().fit(X, y))
>>> small = machine.compress(10)
>>> small.expansion.points.shape, float((small.predict(X) == machine.predict(X)).mean()) > 0.98
((10, 4), True)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array

from preimage._typing import RowsLike
from preimage.expansion import Expansion
from preimage.kernels.sklearn_machines import dual_form
from preimage.reduced import reduced_set

__all__ = ["Classifier", "Detector", "Machine", "Regressor", "from_sklearn"]


@dataclass(frozen=True, eq=False)
class Machine:
    """Functions fⱼ(x) = ⟨Ψⱼ, φ(x)⟩ + bⱼ.

    Attributes
    ----------
    expansion : Expansion
        The vectors Ψⱼ, which share their points.
    intercepts : array
        The bⱼ.
    errors : array or None
        After :meth:`compress`, the relative error of the vectors for every size, see
        :class:`preimage.reduced.ReducedSet`.

    See Also
    --------
    Classifier, Regressor, Detector : Machines with a ``predict``.
    from_sklearn : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion
    >>> from preimage.kernels import Linear
    >>> from preimage.reduced.machines import Machine
    >>> machine = Machine(Expansion(Linear(), np.array([[1.0], [2.0]]), np.array([[1.0, 1.0]])), np.array([0.5]))
    >>> machine.values([[10.0]])  # 3x + ½
    array([[30.5]])
    """

    expansion: Expansion
    intercepts: np.ndarray
    errors: np.ndarray | None = None

    def compress(self, n_points: int, *, method: Any = "auto") -> Self:
        """The same machine over ``n_points`` points, see :func:`preimage.reduced_set`."""
        found = reduced_set(self.expansion, n_points, method=method)
        return replace(self, expansion=found.expansion, errors=found.errors)

    def values(self, X: RowsLike) -> np.ndarray:
        """The functions at the rows of X, shape (rows, functions)."""
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        width = self.expansion.points.shape[1]
        if X.shape[1] != width:
            raise ValueError(f"X has {X.shape[1]} features, but this machine expects {width}.")
        return self.expansion.inner(X).T + self.intercepts


@dataclass(frozen=True, eq=False)
class Regressor(Machine):
    """Support vector, kernel ridge or Gaussian process regression.

    See Also
    --------
    from_sklearn : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.reduced.machines import from_sklearn
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> ridge = KernelRidge(kernel="rbf", alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> small = from_sklearn(ridge).compress(8)
    >>> bool(np.abs(small.predict(X) - ridge.predict(X)).max() < 0.01)
    True
    """

    flat: bool = True

    def predict(self, X: RowsLike) -> np.ndarray:
        """The values, one column per target; one-dimensional if the model was fitted on a one-dimensional y."""
        values = self.values(X)
        return values[:, 0] if self.flat else values


@dataclass(frozen=True, eq=False)
class Detector(Machine):
    """One-class support vector machine.

    See Also
    --------
    from_sklearn : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.reduced.machines import from_sklearn
    >>> from sklearn.svm import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> detector = from_sklearn(OneClassSVM(gamma=0.1, nu=0.2).fit(X))
    >>> detector.compress(8).predict([[0, 0], [6, 6]])
    array([ 1, -1])
    """

    def decision_function(self, X: RowsLike) -> np.ndarray:
        """Signed distance to the boundary, positive for inliers."""
        return self.values(X)[:, 0]

    def predict(self, X: RowsLike) -> np.ndarray:
        """1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) > 0, 1, -1)


@dataclass(frozen=True, eq=False)
class Classifier(Machine):
    """Support vector classification, one function per pair of classes.

    Attributes
    ----------
    classes : array
        The labels.
    shape : "ovr" or "ovo"
        scikit-learn's ``decision_function_shape``.
    break_ties : bool
        scikit-learn's option of that name.

    See Also
    --------
    from_sklearn : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.reduced.machines import from_sklearn
    >>> from sklearn.svm import SVC
    >>> svc = SVC(kernel="linear").fit([[0, 0], [1, 0], [4, 0], [5, 0]], ["left", "left", "right", "right"])
    >>> print(*from_sklearn(svc).predict([[-1, 0], [6, 0]]))
    left right
    """

    classes: Any = ()
    shape: str = "ovr"
    break_ties: bool = False

    def decision_function(self, X: RowsLike) -> np.ndarray:
        """As in scikit-learn: flat for two classes, else one column per class ("ovr") or pair of classes ("ovo")."""
        values = self.values(X)
        if len(self.classes) == 2:
            return values[:, 0]
        return self._votes(values, blurred=True) if self.shape == "ovr" else values

    def predict(self, X: RowsLike) -> np.ndarray:
        """The class that wins most of its pairs; of several, the first."""
        if len(self.classes) == 2:
            return self.classes[(self.values(X)[:, 0] > 0).astype(int)]
        blurred = self.break_ties and self.shape == "ovr"
        return self.classes[np.argmax(self._votes(self.values(X), blurred), axis=1)]

    def _votes(self, values: np.ndarray, blurred: bool) -> np.ndarray:
        """The pairs that each class wins; if blurred, plus its summed margins scaled to (−1/3, 1/3) to break ties."""
        rows, classes = len(values), len(self.classes)
        first, second = np.array(list(combinations(range(classes), 2))).T
        winners = np.where(values > 0, first, second) + classes * np.arange(rows)[:, None]
        votes = np.bincount(winners.ravel(), minlength=rows * classes).reshape(rows, classes)
        if not blurred:
            return votes
        margins = values @ (np.eye(classes)[first] - np.eye(classes)[second])  # +1 and −1 for the classes of a pair
        return votes + margins / (3 * (np.abs(margins) + 1))


def from_sklearn(model: Any) -> Machine:
    """A fitted SVC, SVR, OneClassSVM, KernelRidge or GaussianProcessRegressor as a machine that can be compressed.

    It has the model's ``predict`` and, if there is one, ``decision_function``, with the same results.

    Parameters
    ----------
    model : fitted scikit-learn estimator

    Returns
    -------
    Classifier, Regressor or Detector

    See Also
    --------
    Machine.compress : The same over few points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.reduced import machines
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> svc = SVC().fit(X, y)
    >>> small = machines.from_sklearn(svc).compress(10)
    >>> bool(np.mean(small.predict(X) == svc.predict(X)) > 0.95)
    True
    """
    dual = dual_form(model)
    expansion, intercepts = Expansion(dual.kernel, dual.points, dual.weights), np.asarray(dual.intercepts)
    if hasattr(model, "classes_"):
        return Classifier(expansion, intercepts, None, model.classes_, model.decision_function_shape, model.break_ties)
    if hasattr(model, "offset_"):
        return Detector(expansion, intercepts)
    fitted = model.alpha_ if hasattr(model, "alpha_") else model.dual_coef_
    return Regressor(expansion, intercepts, None, fitted.ndim == 1 or hasattr(model, "support_"))
