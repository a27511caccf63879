"""Reference pages, written from the package itself: one per room, one per public name, so that none can be missing."""

from importlib import import_module
from pathlib import Path

import preimage

HERE = Path(__file__).parent / "reference"
TITLES = {
    "compat": "scikit-learn's signature",
    "datasets": "Data",
    "denoising": "Mains hum and baseline drift",
    "eigen": "Eigensolvers",
    "exceptions": "Errors and warnings",
    "export": "Export",
    "features": "Landmarks and random features",
    "invertible": "Activations",
    "io": "Files",
    "kernels": "Kernels",
    "kernels.scales": "Length scales",
    "monitoring": "Limits and memory of a monitor",
    "noise": "Noise laws",
    "plot": "Plots",
    "preimages": "Pre-image methods",
    "progress": "Progress",
    "reduced": "Reduced sets",
    "reduced.machines": "Compressed kernel machines",
    "report": "Reports",
    "selection": "Choosing settings",
    "statistics.metrics": "Error measures",
}


def pages() -> dict[str, str]:
    """The title of every page, by its room; the package itself is ""."""
    return {"": "Estimators and functions"} | TITLES


def public_names(room: str = "") -> list[str]:
    """The public names of a room, or of the package, in the order in which it lists them."""
    module = import_module(f"preimage.{room}" if room else "preimage")
    rooms = set() if room else {*preimage._ROOMS, "__version__"}
    return [name for name in module.__all__ if name not in rooms]


def write() -> None:
    """The pages of all rooms, and the page that lists them."""
    HERE.mkdir(exist_ok=True)
    for room, title in pages().items():
        _write(HERE / f"{room or 'preimage'}.rst", _page(room, title))
    _forget({f"preimage.{room}.{name}".replace("..", ".") for room in pages() for name in public_names(room)})
    listed = "\n".join(f"   {room or 'preimage'}" for room in pages())
    text = f"Reference\n=========\n\nEvery public name, by module.\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    _write(HERE / "index.rst", text)


def _page(room: str, title: str) -> str:
    module = f"preimage.{room}" if room else "preimage"
    heading = f"{title}: ``{module}``" if room else title
    own = "The names that ``import preimage`` provides."
    about = (import_module(module).__doc__ or "").split("\n\n")[0] if room else own
    names = "\n".join(f"   {name}" for name in public_names(room))
    return (
        f"{heading}\n{'=' * len(heading)}\n\n.. currentmodule:: {module}\n\n{about}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{names}\n"
    )


def _forget(names: set[str]) -> None:
    """Remove the pages of names that are no longer public."""
    for path in (HERE / "generated").glob("*.rst"):
        if path.stem not in names:
            path.unlink()


def _write(path: Path, text: str) -> None:
    """Leave a page alone that says the same, so that Sphinx does not read it again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
