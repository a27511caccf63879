"""A training and a test set, of toy and real data."""

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Split(NamedTuple, Generic[T]):
    """A training and a test set."""

    train: T
    test: T
