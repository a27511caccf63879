"""What the readability check of `make lint` finds, and what it lets pass."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))
readability = pytest.importorskip("readability", reason="the tools are not here")
WORDS = {"way back": "inverse map"}


def found(text):
    return [fault for _, sentence in readability.sentences(text) for fault in readability.faults(sentence, WORDS)]


def long(n):
    return " ".join(["word"] * n) + "."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (long(readability.MOST_WORDS + 1), "37 words"),
        ("It is fitted, and it was also opened.", None),
        ("It is fitted, it is saved, and it was also opened.", "3 passives"),
        ("We learn the way\nback.", "write 'inverse map', not 'way back'"),
    ],
)
def test_hard_sentences_are_found(text, fault):
    assert found(text) == ([fault] if fault else [])


@pytest.mark.parametrize(
    "text",
    [
        long(readability.MOST_WORDS) + " " + long(readability.MOST_WORDS),
        "- " + long(30) + "\n- " + long(30),
        "```python\n" + long(60) + "\n```",
        "| " + long(60) + " |",
        "`" + long(60) + "`",
        "<!-- " + long(60) + " -->",
        "Read [this](way back).",
    ],
)
def test_short_sentences_code_and_tables_pass(text):
    assert found(text) == []


def test_a_fault_names_its_line():
    assert list(readability.sentences("One.\nTwo.\n\nThree."))[2] == (3, "Three.")


def test_the_glossary_lists_what_to_write_instead():
    assert readability.avoided()["way back"] == "inverse map"
