"""``preimage demo``: noisy digits, what each method makes of them, and a page that tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from preimage.demo.contest import Contest
from preimage.io.atomic import written

__all__ = ["run"]


def run(out: Path, seed: int, *, overwrite: bool = True) -> tuple[Contest, Path]:
    """Hold the contest and write ``report.html`` into a folder; returns the entries and the page's path.

    The place is taken before the work, so that a wrong one is told at once, and given back if the work ends early.
    """
    from preimage.demo import contest, page

    path = out / "report.html"
    with _folder(out), written(path, overwrite=overwrite) as unfinished:
        held = contest.run(seed)
        unfinished.write_text(page.tell(held).html(), encoding="utf-8")
    return held, path


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """A folder for the block, which takes what it made along if it fails."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()
        raise
