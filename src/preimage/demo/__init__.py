"""``preimage demo``: noisy digits denoised by several methods, and a page with the results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from preimage.io.atomic import written

if TYPE_CHECKING:
    from preimage.demo.digits import Demonstration

__all__ = ["run"]


def run(out: Path, seed: int, *, overwrite: bool = True) -> tuple[Demonstration, Path]:
    """Run every method and write ``report.html`` into a folder; return the results and the path of the page.

    The file is created before the work starts, so that a wrong path fails at once, and removed if the work fails.
    """
    from preimage.demo import digits, page

    path = out / "report.html"
    with _folder(out), written(path, overwrite=overwrite) as unfinished:
        demonstration = digits.demonstrate(seed)
        unfinished.write_text(page.page_of(demonstration).html(), encoding="utf-8")
    return demonstration, path


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder for the block; if the block fails, remove the folders that were made for it."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        raise
