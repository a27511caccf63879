"""Readability of README, docs and docstrings: part of ``make lint``.

Reports sentences of more than 36 words, sentences with three or more passives, and the words that the glossary
(``docs/explanation/notation.md``, "Words we avoid") replaces by others. Code, tables, formulas and quotations do not
count. ``tools/readability.txt`` lists the exceptions.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS, MOST_PASSIVES = 36, 2
NOT_PROSE = [
    re.compile(r"^(```|:::)[\s\S]*?^\1`*$", re.MULTILINE),  # code and directives
    re.compile(r"<!--[\s\S]*?-->"),
    re.compile(r"^(---|\.\. )[\s\S]*?\n\n", re.MULTILINE),
    re.compile(r"^ *(\||#|>>>|\.\.\. |\+|=).*$", re.MULTILINE),  # tables, headings, examples
    re.compile(r"^ *[\w*, ]+ : .*$", re.MULTILINE),  # names and types of parameters
]
CODE = re.compile(r"``.*?``|`[^`]*`|\[([^\]]*)\]\([^)]*\)|!\[.*?\]\(.*?\)|\"[^\"]*\"", re.DOTALL)
BREAK = re.compile(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )|\n-{3,}\n|(?<=[.!?;])[)*]*\s+")
WORD = re.compile(r"[A-Za-z][\w'’-]*")
PARTICIPLE = (
    r"(?:\w+ed|done|found|given|held|known|made|chosen|drawn|taken|written|kept|left|built|shown|seen|sent|read|set)"
)
PASSIVE = re.compile(
    rf"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+|also\s+)?{PARTICIPLE}\b", re.IGNORECASE
)


def texts() -> Iterator[tuple[Path, int, str]]:
    """Every text with its file and its first line."""
    built = {"_build", "gallery", "reference"}
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if not built & set(path.parts) and path.name != "CHANGELOG.md":
            yield path, 1, path.read_text(encoding="utf-8")
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("papers/src/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                yield path, node.body[0].lineno, ast.get_docstring(node) or ""


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Sentences of prose, each with the number of lines before it."""
    for pattern in NOT_PROSE:
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = text.partition("\nReferences\n")[0]
    text = CODE.sub(lambda found: (found[1] or "x") + "\n" * found[0].count("\n"), text)
    start = 0
    for end in [*(found.end() for found in BREAK.finditer(text)), len(text)]:
        if sentence := " ".join(text[start:end].split()):
            yield text.count("\n", 0, start), sentence
        start = end


def avoided() -> dict[str, str]:
    """The words that the glossary replaces, and by what."""
    text = (ROOT / "docs" / "explanation" / "notation.md").read_text(encoding="utf-8")
    table = text.partition("## Words we avoid")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    return {word.strip(): instead for words, instead in rows[2:] for word in words.split(",")}


def faults(sentence: str, words: dict[str, str]) -> Iterator[str]:
    """What makes a sentence hard to read."""
    if (count := len(WORD.findall(sentence))) > MOST_WORDS:
        yield f"{count} words"
    if (count := len(PASSIVE.findall(sentence))) > MOST_PASSIVES:
        yield f"{count} passives"
    for word, instead in words.items():
        if re.search(rf"\b{re.escape(word)}\b", sentence, re.IGNORECASE):
            yield f"write {instead!r}, not {word!r}"


def main() -> int:
    words = avoided()
    exceptions = (ROOT / "tools" / "readability.txt").read_text(encoding="utf-8").splitlines()
    count = 0
    for path, first, text in texts():
        for line, sentence in sentences(text):
            if not any(sentence.startswith(known) for known in exceptions if known):
                for fault in faults(sentence, words):
                    print(f"{path.relative_to(ROOT)}:{first + line}: {fault}: {sentence}")
                    count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
