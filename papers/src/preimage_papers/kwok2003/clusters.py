"""Figure 6: kernel k-means of digits, pre-images of its centroids, and averages in input space."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import KernelKMeans
from preimage.kernels import Gaussian, scales
from preimage.kernels.geometry import squared_distances
from preimage.preimages import Distance
from preimage.report import Table
from preimage_papers.claims import Claim, Findings, grade
from preimage_papers.drawing import image_grid
from preimage_papers.protocols import USPS, usps


def measure(piece: str, seed: int, n_digits: int) -> dict[str, Any]:
    """Pictures of the centroids by three methods, and their distances to the centroids and to the data."""
    from sklearn.metrics import normalized_mutual_info_score

    digits, rng = usps().train, np.random.default_rng(seed)
    rows = rng.permutation(len(digits.X))[:n_digits]
    X = digits.X[rows].astype(float)
    model = KernelKMeans(10, kernel=Gaussian(scales.length_scale(X, "mean")), random_state=seed).fit(X)
    pictures = {
        "distances": model.centroid_preimages(Distance(reading="paper")).points,
        "fixed point": model.centroid_preimages("fixed_point").points,
        "averages": np.array([X[model.labels_ == c].mean(axis=0) for c in range(10)]),
    }
    own = model.centroids_
    return {
        "images": pictures,
        "misfit": {
            name: [float(own[c].distances2(points[c : c + 1])[0, 0]) for c in range(10)]
            for name, points in pictures.items()
        },
        "nearest": {name: np.sqrt(squared_distances(P, X).min(axis=1)) for name, P in pictures.items()},
        "best digit": own.distances2(X).min(axis=1),
        "neighbour": _typical_gap(X),
        "nmi": normalized_mutual_info_score(digits.y[rows], model.labels_),
        "sizes": np.bincount(model.labels_, minlength=10),
    }


def _typical_gap(X: np.ndarray) -> float:
    """The median distance of a digit to its nearest other digit."""
    distances = squared_distances(X[:500], X)
    return float(np.median(np.sqrt(np.sort(distances, axis=1)[:, 1])))


def conclude(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims about the quality of the pre-images, and whether they lie among the digits."""
    entry = found["all"]
    misfit, nearest = ({name: np.array(v) for name, v in entry[key].items()} for key in ("misfit", "nearest"))
    far = nearest["distances"] > entry["neighbour"]
    claims = [
        Claim(
            "Fig. 6: the method gives pre-images of the centroids of kernel k-means",
            "–",
            f"‖φ(z) − centroid‖² {misfit['distances'].mean():.3f}; the best digit {np.mean(entry['best digit']):.3f}",
            grade(misfit["distances"] < np.array(entry["best digit"])),
            "nearer to a centroid in feature space than any of the digits is, cluster by cluster",
        ),
        Claim(
            "not in the paper: they are nearer to the centroids than averages in input space are",
            "– (not compared there)",
            f"{misfit['distances'].mean():.3f}; averages {misfit['averages'].mean():.3f}, fixed point "
            f"{misfit['fixed point'].mean():.3f}",
            grade(misfit["distances"] < misfit["averages"]),
            "‖φ(z) − centroid‖², cluster by cluster; the fixed point minimises it",
        ),
        Claim(
            "§4.2: pre-images of centroids may fall outside of the data",
            "may",
            f"{far.sum()} of 10 are farther from the nearest digit than digits are from each other",
            grade([bool(far.any())]),
            f"median distance of a digit to its nearest other digit: {entry['neighbour']:.2f}",
        ),
    ]
    rows = [[name, f"{misfit[name].mean():.4f}", f"{nearest[name].mean():.2f}"] for name in misfit]
    caption = f"Fig. 6: centroids of {sum(entry['sizes'])} digits; normalised mutual information {entry['nmi']:.2f}."
    table = Table(["picture", "‖φ(z) − centroid‖²", "distance to the nearest digit"], rows, caption)
    picture = image_grid(
        entry["images"], USPS, "Kwok & Tsang, Fig. 6: pre-images of centroids, and averages of clusters."
    )
    return Findings(claims, [table], [picture])
