"""Users' files, kept in the temporary folder under our own names."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from preimage.app import limits
from preimage.app.catalogue import ENDINGS
from preimage.app.limits import Refused

WORDS = "tables (.csv, .tsv, .txt, .parquet, .xlsx), arrays (.npy, .npz), pictures, sound (.wav, .flac) and model files"


@dataclass
class Upload:
    """A file or a folder of pictures: its path, and the user's name for it."""

    path: Path
    name: str
    size: int = 0


@dataclass
class Uploads:
    """All files of users, bounded in size and number."""

    folder: Path
    found: dict[str, Upload] = field(default_factory=dict)
    size: int = 0
    count: int = 0

    def adopt(self, path: Path) -> str:
        """The key of a file or folder given on the command line, which is read where it is."""
        return self._known(Upload(path, path.name))

    def new_folder(self, name: str) -> str:
        """Make an empty folder for pictures; return its key."""
        self._make_room()
        path = self.folder / secrets.token_hex(8) / _safe(name or "pictures")
        path.mkdir(parents=True)
        return self._known(Upload(path, path.name))

    async def receive(self, name: str, chunks: AsyncIterator[bytes], folder: str | None) -> str:
        """Store a file as it arrives, alone or in a folder, and return its key; what is refused half-way is removed."""
        name = _checked_name(name)
        self._make_room()
        home = self.folder / secrets.token_hex(8) if folder is None else self[folder].path
        home.mkdir(exist_ok=True)
        path = home / name
        if path.exists():
            raise Refused(400, f"There are two files called {name} in this folder.")
        self.count += 1
        try:
            size = await self._store(path, chunks)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if folder is None:
            return self._known(Upload(path, name, size))
        self[folder].size += size
        return folder

    def remove(self, key: str) -> None:
        """Forget an upload, and its file if it is ours."""
        upload = self[key]
        del self.found[key]
        self.size -= upload.size
        if upload.path.is_relative_to(self.folder):
            shutil.rmtree(upload.path.parent, ignore_errors=True)

    def __getitem__(self, key: str) -> Upload:
        if key not in self.found:
            raise Refused(404, "This file is no longer here: choose it again.")
        return self.found[key]

    async def _store(self, path: Path, chunks: AsyncIterator[bytes]) -> int:
        size = 0
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    self.size += len(chunk)
                    size += len(chunk)
                    if self.size > limits.UPLOADED:
                        raise Refused(413, "The app holds too many files: reload the page, or restart the app.")
                    file.write(chunk)
        except BaseException:
            self.size -= size
            raise
        if not size:
            raise Refused(400, f"{path.name} is empty.")
        return size

    def _make_room(self) -> None:
        if self.count >= limits.FILES:
            raise Refused(413, f"The app takes at most {limits.FILES} files: restart it to go on.")

    def _known(self, upload: Upload) -> str:
        key = secrets.token_hex(8)
        self.found[key] = upload
        return key


def _checked_name(name: str) -> str:
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        raise Refused(415, f"{_safe(name)} has an unknown ending: the app reads {WORDS}.")
    return _safe(name)


def _safe(name: str) -> str:
    """The file name without folders, control characters and leading dots, and of bounded length."""
    base = re.split(r"[/\\]", name)[-1]
    base = re.sub(r"[^\w.,()+ -]", "_", base).strip(". ") or "file"
    path = Path(base)
    return path.stem[: limits.FILE_NAME] + path.suffix[:12]
