"""Toy data of the papers, and loaders for real data."""

from preimage.datasets.real import (
    Beats,
    Images,
    Runs,
    load_digits,
    load_ecg,
    load_mitbih,
    load_mnist,
    load_set12,
    load_tennessee_eastman,
    load_usps,
)
from preimage.datasets.sources import DatasetNotFound
from preimage.datasets.sources import is_present as is_present
from preimage.datasets.split import Split
from preimage.datasets.toy import (
    Clusters,
    Curve,
    eleven_gaussians,
    half_circle,
    half_circle_distance,
    parabola,
    s_curve,
    square,
    square_distance,
    three_clusters,
)

__all__ = [
    "Beats",
    "Clusters",
    "Curve",
    "DatasetNotFound",
    "Images",
    "Runs",
    "Split",
    "eleven_gaussians",
    "half_circle",
    "half_circle_distance",
    "load_digits",
    "load_ecg",
    "load_mitbih",
    "load_mnist",
    "load_set12",
    "load_tennessee_eastman",
    "load_usps",
    "parabola",
    "s_curve",
    "square",
    "square_distance",
    "three_clusters",
]
