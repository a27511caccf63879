"""Puts the recorded figures into README and docs: ``make figures``."""

from __init__ import documents, filled

for document in documents():
    text = document.read_text(encoding="utf-8")
    if (new := filled(text)) != text:
        document.write_text(new, encoding="utf-8")
        print("updated", document.name)
