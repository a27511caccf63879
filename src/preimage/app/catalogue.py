"""What the page offers in its lists; the server needs to import no more than this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KERNELS = ("gaussian", "laplacian", "exponential", "matern", "rational_quadratic", "polynomial", "linear", "cosine")
METHODS = ("learned", "fixed_point", "distance", "gradient", "conformal", "convex", "nearest")
ENDINGS = (  # of the files that preimage.io reads
    *(".npy", ".npz", ".csv", ".tsv", ".txt", ".parquet", ".xlsx"),
    *(".wav", ".flac", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp"),
)


@dataclass(frozen=True)
class Provided:
    """A dataset of the library: its title, the file that it needs, and whether its rows are pictures."""

    title: str
    file: str = ""
    pictures: bool = False

    @property
    def present(self) -> bool:
        """Whether it is available without a network."""
        from preimage.datasets import is_present

        return not self.file or is_present(self.file)


PROVIDED = {
    "digits": Provided("Digits, 8 × 8", pictures=True),
    "usps": Provided("USPS digits, 16 × 16", "usps.npz", pictures=True),
    "heartbeats": Provided("Heartbeats", "mitbih_100_beats.npz"),
    "half_circle": Provided("Half circle"),
    "square": Provided("Square"),
    "three_clusters": Provided("Three clusters"),
    "parabola": Provided("Parabola"),
    "s_curve": Provided("S curve in space"),
    "eleven_gaussians": Provided("Eleven Gaussians in ten dimensions"),
}


def listed() -> list[dict[str, Any]]:
    """The datasets available without a network."""
    return [{"id": name, "title": one.title, "pictures": one.pictures} for name, one in PROVIDED.items() if one.present]
