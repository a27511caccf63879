"""One self-contained HTML page: text, tables, pictures and code, readable on a phone, in dark mode and on paper."""

from preimage.report.blocks import Block as Block
from preimage.report.blocks import Code, Picture, Table, Text
from preimage.report.page import Page, Section

__all__ = ["Code", "Page", "Picture", "Section", "Table", "Text"]
