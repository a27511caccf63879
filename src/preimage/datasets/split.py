"""A training and a test set, of toy and real data."""

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Split(NamedTuple, Generic[T]):
    """A training and a test set.

    See Also
    --------
    eleven_gaussians, load_mnist, load_usps : Return it, among others.

    Examples
    --------
    >>> from preimage.datasets import eleven_gaussians
    >>> train, test = eleven_gaussians(n_train=10, n_test=3, random_state=0)
    >>> len(train.X), len(test.X)
    (110, 33)
    """

    train: T
    test: T
