import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted(path for path in ROOT.glob("docs/**/*.md") if "_build" not in path.parts)]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def with_code(documents):
    return [document for document in documents if BLOCK.search(document.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("document", with_code(DOCUMENTS), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_in_documents_runs(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text, names = document.read_text(encoding="utf-8"), {"__name__": "document"}
    for block in BLOCK.finditer(text):
        # Empty lines before the code make a traceback point at the line of the document.
        lines_before = text.count("\n", 0, block.start(1))
        exec(compile("\n" * lines_before + block[1], str(document), "exec"), names)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_the_readme_begins_with_an_example_of_about_ten_lines():
    block = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    assert 8 <= sum(bool(line.strip()) for line in block.splitlines()) <= 12


def test_links_between_documents_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!\w+:)([^)#]+)", document.read_text(encoding="utf-8")):
            built = re.match(r"(\.\./)?(reference|gallery)/", target)  # pages that `make docs` writes
            assert built or (document.parent / target).exists(), f"{document.name} points to {target}"
