"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

__all__ = ["written"]


@contextmanager
def written(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[Path]:
    """A place beside ``path`` to write to, which takes its name once the block has ended well.

    Whatever ends the block otherwise, Ctrl-C included, leaves the folder as it was.

    Parameters
    ----------
    path : path
        Where the file shall be; its folder must exist.
    overwrite : bool
        Whether a file that is there may be replaced; FileExistsError otherwise, before any work.

    Yields
    ------
    unfinished : Path
        A new empty file in the same folder with the same ending.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already and is left as it is.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist.")
    unfinished = path.with_name(f".{path.stem}-{uuid4().hex[:8]}{path.suffix}")
    try:  # from here on, so that there is no moment at which an interruption would leave the new file
        unfinished.touch(0o600, exist_ok=False)
        yield unfinished
        unfinished.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
