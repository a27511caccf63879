"""Kernel k-means and other clusterings of 3000 USPS digits, in one run.

Normalised mutual information with the digits' labels, and time, for kernel k-means (exact and on 500 landmarks) with
the Gaussian of Kwok & Tsang (2003, §4.2) and wider ones, scikit-learn's KMeans and SpectralClustering, and kernlab's
kkmeans where R has it. Each figure is the mean over several seeds.

    python benchmarks/kmeans.py [--seeds 5] [--json FILE] [--picture FILE]
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from figures import record
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import normalized_mutual_info_score

from preimage import KernelKMeans
from preimage.datasets import load_usps
from preimage.kernels import Gaussian, scales

SPECTRAL = "scikit-learn `SpectralClustering`, Gaussian, ℓ"
KKMEANS = """
library(kernlab)
X <- as.matrix(read.csv("{rows}", header = FALSE))
set.seed({seed})
found <- kkmeans(X, centers = 10, kernel = "rbfdot", kpar = list(sigma = {gamma}))
write.table(found@.Data, "{labels}", row.names = FALSE, col.names = FALSE)
"""


def kernlab(X, gamma, seed):
    """Labels from R's kernlab, or None where it is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        rows, labels = Path(folder, "rows.csv"), Path(folder, "labels.txt")
        np.savetxt(rows, X, delimiter=",")
        script = KKMEANS.format(rows=rows.as_posix(), labels=labels.as_posix(), gamma=gamma, seed=seed)
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True)
        return np.loadtxt(labels, dtype=int) if done.returncode == 0 else None


def methods(scale):
    """Functions from rows and a seed to labels."""
    gamma = 1 / (2 * scale**2)
    found = {
        f"`KernelKMeans`, Gaussian, {factor if factor > 1 else ''}ℓ": lambda X, seed, factor=factor: KernelKMeans(
            10, kernel=Gaussian(factor * scale), random_state=seed
        ).fit_predict(X)
        for factor in (1, 2, 4)
    }
    return found | {
        "`KernelKMeans`, Gaussian, ℓ, 500 landmarks": lambda X, seed: KernelKMeans(
            10, kernel=Gaussian(scale), approximation=500, random_state=seed
        ).fit_predict(X),
        "scikit-learn `KMeans`": lambda X, seed: KMeans(10, n_init=4, random_state=seed).fit_predict(X),
        SPECTRAL: lambda X, seed: SpectralClustering(10, gamma=gamma, random_state=seed).fit_predict(X),
        "kernlab `kkmeans` (R), Gaussian, ℓ, one start": lambda X, seed: kernlab(X, gamma, seed),
    }


def draw(X, scale, file):
    """Pre-images of the centroids above the averages of their clusters in input space."""
    import matplotlib.pyplot as plt

    found = KernelKMeans(10, kernel=Gaussian(scale), random_state=0).fit(X)
    averages = [X[found.labels_ == c].mean(axis=0) for c in range(10)]
    pictures = {
        "fixed point": found.centroid_preimages().points,
        "distances": found.centroid_preimages("distance").points,
        "averages": averages,
    }
    figure, axes = plt.subplots(3, 10, figsize=(10, 3.2), layout="constrained")
    for row, (name, images) in zip(axes, pictures.items(), strict=True):
        row[0].set_ylabel(name)
        for axis, image in zip(row, images, strict=True):
            axis.imshow(np.reshape(image, (16, 16)), cmap="gray_r", vmin=X.min(), vmax=X.max())
            axis.set(xticks=[], yticks=[])
    title = f"Kernel k-means on 3000 USPS digits, length scale {scale:.1f}"
    figure.suptitle(f"{title}: pre-images of the centroids, and averages of the clusters")
    figure.savefig(file, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    parser.add_argument("--picture", help="draw the centroids' pre-images into this file")
    options = parser.parse_args()
    usps = load_usps()
    pick = np.random.default_rng(0).choice(len(usps.train.X), 3000, replace=False)
    X, y = usps.train.X[pick].astype(float), usps.train.y[pick]
    scale, report = scales.length_scale(X, "mean"), {}
    for name, method in methods(scale).items():
        scores, start = [], time.perf_counter()
        for seed in range(options.seeds):
            labels = method(X, seed)
            if labels is not None:
                scores.append(normalized_mutual_info_score(y, labels))
        seconds = (time.perf_counter() - start) / options.seeds
        report[name] = (
            {"nmi": float(np.mean(scores)), "sd": float(np.std(scores)), "seconds": seconds} if scores else None
        )
    unit = report[SPECTRAL]["seconds"]
    print(f"3000 USPS digits, 10 clusters, {options.seeds} seeds; times relative to SpectralClustering")
    for name, row in report.items():
        text = (
            f"NMI {row['nmi']:.3f} ± {row['sd']:.3f}   {row['seconds'] / unit:6.2f} ×" if row else "not installed here"
        )
        print(f"  {name:48} {text}")
    if options.picture:
        draw(X, 2 * scale, options.picture)
    if options.record:
        rows = [[name, f"{row['nmi']:.3f} ± {row['sd']:.3f}"] for name, row in report.items() if row]
        record(__file__, "nmi", ["", "NMI"], rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
