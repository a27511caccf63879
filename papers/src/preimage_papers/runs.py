"""A run: pieces are measured one by one and kept, so an interrupted run continues where it stopped."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import preimage
import preimage_papers
from preimage import __version__, progress
from preimage.exceptions import PreimageWarning
from preimage.io.atomic import written
from preimage.report import Picture, Table
from preimage_papers.claims import Claim, Findings, Paper, Part, Verdict, expected

__all__ = ["Run", "PartResult", "as_json", "reproduce"]

UNUSED = frozenset({"app", "cli", "demo", "denoising", "export", "imputation", "io", "monitoring", "plot", "report"})
"""Modules of the library that no experiment uses: a change in them leaves every piece valid."""


@dataclass(frozen=True)
class PartResult:
    """A part of a paper with its findings, and how long measuring took."""

    paper: Paper
    part: Part
    findings: Findings
    seconds: float


@dataclass(frozen=True)
class Run:
    """Where a run keeps its pieces, and what it measures.

    Parameters
    ----------
    folder : Path
        Pieces go to ``parts/`` in it.
    seed : int
        All randomness comes from it.
    quick : bool
        Whether to take the small sizes.
    """

    folder: Path
    seed: int = 0
    quick: bool = False

    def results(self, names: Sequence[str]) -> list[PartResult]:
        """Results of these papers; measures the missing pieces."""
        return [result for name in names for result in self._paper(preimage_papers.load(name))]

    def _paper(self, paper: Paper) -> Iterator[PartResult]:
        total, done = sum(len(part.plan(self.quick).pieces) for part in paper.parts), 0
        for part in paper.parts:
            yield self._part(paper, part, done, total)
            done += len(part.plan(self.quick).pieces)
        progress.report(paper.name, total, total)

    def _part(self, paper: Paper, part: Part, done: int, total: int) -> PartResult:
        from preimage.datasets import DatasetNotFound

        found, seconds = {}, 0.0
        for number, piece in enumerate(part.plan(self.quick).pieces):
            progress.report(paper.name, done + number, total)
            try:
                kept = self._piece(paper, part, piece)
            except DatasetNotFound as error:
                return PartResult(paper, part, _absent(part, error), seconds)
            found[piece] = kept["found"]
            seconds += kept["seconds"]
        return PartResult(paper, part, part.conclude(found, expected(paper.name, part.name)), seconds)

    def _piece(self, paper: Paper, part: Part, piece: str) -> dict[str, Any]:
        """The stored results of a piece, measured first if none are stored for these settings."""
        plan = part.plan(self.quick)
        head = {"version": __version__, "source": _source(), "seed": self.seed, "sizes": _plain(dict(plan.sizes))}
        path = self.folder / "parts" / paper.name / f"{part.name}-{piece}.json"
        kept = _read(path)
        if kept is not None and {key: kept.get(key) for key in head} == head:
            return kept
        start = time.perf_counter()
        with _quiet():
            found = part.measure(piece, self.seed, **plan.sizes)
        kept = {**head, "seconds": time.perf_counter() - start, "found": _plain(found)}
        path.parent.mkdir(parents=True, exist_ok=True)
        with written(path) as unfinished:
            unfinished.write_text(json.dumps(kept), encoding="utf-8")
        return kept


def reproduce(
    names: Sequence[str], folder: Path, *, seed: int = 0, quick: bool = False, overwrite: bool = True
) -> list[PartResult]:
    """Run the papers, and write results.json, the pictures and the page into ``folder``."""
    from preimage_papers.page import page

    report = folder / "report.html"
    if report.exists() and not overwrite:
        raise FileExistsError(f"{report} exists already and is left as it is; --force (overwrite=True) replaces it.")

    folder.mkdir(parents=True, exist_ok=True)  # before the work, so that a wrong path fails at once
    results = Run(folder, seed, quick).results(names)
    for name, picture in chain.from_iterable(_pictures(one).items() for one in results):
        with written(folder / name) as unfinished:
            picture.figure.savefig(unfinished, format="png", dpi=120, metadata={"Software": None})
    with written(folder / "results.json") as unfinished:
        unfinished.write_text(json.dumps(as_json(results, seed, quick), indent=1, ensure_ascii=False), encoding="utf-8")
    page(results, quick).write(report)
    return results


def as_json(results: Sequence[PartResult], seed: int, quick: bool) -> dict[str, Any]:
    """Everything that was found, for programs."""
    entries = [
        {
            "paper": one.paper.name,
            "part": one.part.name,
            "title": one.part.title,
            "seconds": round(one.seconds, 2),
            "claims": [asdict(claim) for claim in one.findings.claims],
            "tables": [_table(table) for table in one.findings.tables],
            "pictures": list(_pictures(one)),
        }
        for one in results
    ]
    return {"version": __version__, "seed": seed, "quick": quick, "parts": entries}


def _pictures(one: PartResult) -> dict[str, Picture]:
    """The pictures of a part by the names of their files."""
    stem, pictures = f"{one.paper.name}-{one.part.name}", one.findings.pictures
    if len(pictures) == 1:
        return {f"{stem}.png": pictures[0]}
    return {f"{stem}-{number}.png": picture for number, picture in enumerate(pictures, 1)}


def _table(table: Table) -> dict[str, Any]:
    return {"caption": table.caption, "header": list(table.header), "rows": [list(row) for row in table.rows]}


def _absent(part: Part, error: Exception) -> Findings:
    return Findings([Claim(part.title, "–", "–", Verdict.ABSENT, str(error))])


def _read(path: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) else None


@cache
def _source() -> str:
    """A digest of the code of both distributions; results of other code are measured again."""
    return _digest(*(Path(str(package.__file__)).parent for package in (preimage, preimage_papers)))


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if path.relative_to(folder).parts[0] not in UNUSED:
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Numbers, texts and lists for JSON; six digits are kept."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the library's progress and the warnings that the papers' protocols cause."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), progress.listen(lambda *_: None):
        warnings.simplefilter("ignore", PreimageWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "A network error occurred", UserWarning)  # the loader's error says more
        yield
