import base64
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from browser import chromium
from preimage.report import Code, Page, Picture, Section, Table, Text
from preimage.report.blocks import CSS_PIXELS, DOTS

EMPTY = {"meta", "link", "img", "br", "hr"}


class Outline(HTMLParser):
    """Elements with their text; raises where tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        if tag not in EMPTY:
            self.open.append((tag, self.found[-1]))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, entry in self.open:
            entry[2] += data

    def texts(self, tag):
        return [text.strip() for name, _, text in self.found if name == tag]

    def attributes(self, tag):
        return [attributes for name, attributes, _ in self.found if name == tag]


def picture(width=6.0, height=2.5):
    figure = Figure((width, height), layout="constrained")
    figure.subplots().plot([0, 1, 0])
    return figure


def page(*blocks, title="A title", lead="A lead."):
    return Page(title, lead, [Section("Only section", list(blocks))])


def everything():
    wide = Table([f"column {i}" for i in range(20)], [[i / 7 for i in range(20)]], caption="A wide table")
    sections = [
        Section("Words", [Text("First `code`.\n\nSecond."), Code("x = 1\n" + "y = '" + "long " * 60 + "'")]),
        Section("Figures", [wide, Picture(picture(12, 3), "Wide"), Picture(picture(3, 3), "Small")]),
        Section("Claims", [Text("This holds by far.")]),
    ]
    return Page("Everything", "In one place, " + "w" * 80, sections)


def test_what_is_written_is_shown_and_not_interpreted():
    outline = Outline(page(Text("if a < b & c: <script>"), Code("x = '<b>'"), title="<i>Title</i>").html())
    assert outline.texts("h1") == ["<i>Title</i>"]
    assert "if a < b & c: <script>" in outline.texts("p")
    assert outline.texts("pre") == ["x = '<b>'"]
    assert not outline.attributes("script")
    assert not outline.attributes("i")


def test_paragraphs_are_parted_by_empty_lines_and_backticks_make_code():
    outline = Outline(page(Text("one `a<b`\n  goes on\n\n\ntwo")).html())
    assert outline.texts("p")[1:] == ["one a<b goes on", "two"]
    assert outline.texts("code") == ["a<b"]


def test_code_keeps_its_lines_and_indents():
    assert Outline(page(Code("\nif x:\n    y\n\n")).html()).texts("pre") == ["if x:\n    y"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, ""),
        (3, "3"),
        (12345, "12\u202f345"),
        (np.float32(0.125), "0.125"),
        (10.52345, "10.52"),
        (1e-7, "1e-07"),
        (float("nan"), "nan"),
        ("as it is", "as it is"),
        (True, "True"),
        ([1], "[1]"),
    ],
)
def test_cells_are_shown_with_four_digits(cell, shown):
    assert Table(["x"], [[cell]]).cells == [[shown]]


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        ([1, 2.5], True),
        (["3.7 ± 1.4", "–"], True),
        (["5.5 %", "+0.2 %", "−1 %"], True),
        (["12 ms", "3 s"], True),
        (["≈ 3", None], True),
        (["", None], False),
        (["8 × 8 digits", 3], False),
        (["fixed point"], False),
    ],
)
def test_columns_of_numbers_are_told_from_columns_of_words(cells, numeric):
    assert Table(["x"], [[cell] for cell in cells]).numeric == [numeric]


def test_numbers_stand_to_the_right_and_marked_rows_stand_out():
    table = Table(["method", "dB"], [["a", 1.5], ["b", 2.5]], caption="Two", highlight=[1])
    outline = Outline(page(table).html())
    assert [row.get("class") for row in outline.attributes("tr")] == [None, None, "best"]
    assert [cell.get("class") for cell in outline.attributes("td")] == [None, "number"] * 2
    assert outline.texts("figcaption") == ["Two"]


def test_a_row_that_does_not_fit_its_header_is_refused():
    with pytest.raises(ValueError, match="3 cells under 2 columns"):
        Table(["a", "b"], [[1, 2], [1, 2, 3]])


def test_a_picture_is_embedded_at_its_size_with_words_for_those_who_do_not_see_it():
    (image,) = Outline(page(Picture(picture(6, 2.5), "A line", "up and down")).html()).attributes("img")
    assert image["alt"] == "up and down"
    assert (int(image["width"]), int(image["height"])) == (6 * CSS_PIXELS, 2.5 * CSS_PIXELS)
    kind, data = image["src"].split(",")
    assert kind == "data:image/png;base64"
    assert imread(io.BytesIO(base64.b64decode(data))).shape[:2] == (2.5 * DOTS, 6 * DOTS)


def test_a_picture_of_something_else_is_refused():
    with pytest.raises(TypeError, match=r"ax\.figure"):
        Picture(picture().axes[0])


def test_the_caption_speaks_where_no_other_words_are_given():
    assert Outline(page(Picture(picture(), "A line")).html()).attributes("img")[0]["alt"] == "A line"


def test_links_at_the_top_lead_to_the_sections():
    outline = Outline(everything().html())
    targets = [link["href"] for link in outline.attributes("a")]
    assert (
        targets
        == [f"#{section['id']}" for section in outline.attributes("section")]
        == ["#words", "#figures", "#claims"]
    )


def test_the_same_page_is_the_same_text():
    assert everything().html() == everything().html()


def test_a_page_is_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "report.html"
    everything().write(place)
    assert place.read_text(encoding="utf-8") == everything().html()
    with pytest.raises(FileExistsError):
        page().write(place, overwrite=False)
    unfit = picture()
    unfit.axes[0].set_title("$\\nonsense$")
    with pytest.raises(ValueError, match="nonsense"):
        page(Picture(unfit)).write(tmp_path / "broken.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_browser_shows_all_of_it_at_every_width_without_network(tmp_path):
    place = tmp_path / "report.html"
    everything().write(place)
    with chromium() as look:
        for width in (1280, 390):
            seen = look(place, width)
            assert seen.overflow == 0
            assert seen.beyond == 0
            assert [natural for natural, _ in seen.pictures] == [12 * DOTS, 3 * DOTS]
            assert all(100 < shown <= width for _, shown in seen.pictures)
            assert not seen.complaints
            assert [url for url in seen.requests if not url.startswith("data:")] == [place.as_uri()]
        assert look(place, 1280).background != look(place, 1280, "dark").background
