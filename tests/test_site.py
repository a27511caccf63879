"""The site that `make docs` built: its size, and what a browser without a network makes of it."""

import re
from pathlib import Path

import pytest

from browser import chromium

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
PAGES = [
    "index.html",
    "tutorials/first_denoising.html",
    "guides/monitoring.html",
    "gallery/index.html",
    "explanation/kernel_pca.html",
    "reference/generated/preimage.KernelPCA.html",
    "results/benchmarks.html",
    "results/denoising.html",
]
pytestmark = pytest.mark.skipif(not (SITE / "index.html").is_file(), reason="the site is not built: make docs")


def test_the_site_is_under_25_megabytes():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 25e6


def test_no_page_loads_anything_from_another_machine():
    loaded = re.compile(
        r"""<(?:script|img|iframe|source|link\s+rel="(?:stylesheet|preload|icon))[^>]*(?:src|href)="(\w+:)?//"""
    )
    for page in SITE.rglob("*.html"):
        found = loaded.search(page.read_text(encoding="utf-8"))
        assert not found, f"{page.relative_to(SITE)}: {found[0]}"


@pytest.fixture(scope="module")
def look():
    with chromium() as look:
        yield look


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_without_a_network(look, page, width):
    light, dark = (look(SITE / page, width, scheme) for scheme in ("light", "dark"))
    for seen in (light, dark):
        assert seen.overflow <= 0
        assert not [text for text in seen.complaints if not text.startswith("[PST]")]  # notes of the theme
        assert all(request.startswith(("file:", "data:")) for request in seen.requests)
        assert all(natural > 0 for natural, _ in seen.pictures)
    assert light.background != dark.background
