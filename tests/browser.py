"""Pages as a browser shows them, for the tests of the reports and of the app."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MEASURE = """() => ({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  beyond: [...document.querySelectorAll("body *")].filter(
    e => !e.closest(".scroll, pre") && e.getBoundingClientRect().right > innerWidth + 1).length,
  pictures: [...document.images].map(i => [i.naturalWidth, i.getBoundingClientRect().width]),
  background: getComputedStyle(document.body).backgroundColor,
})"""


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page."""

    overflow: int  # by how many pixels the page is wider than the window
    beyond: int  # how many elements stick out of the window, those in boxes that scroll apart
    pictures: list  # natural and shown width of every picture
    background: str
    requests: list  # addresses that were asked for
    complaints: list  # what the browser wrote to its console


@contextmanager
def chromium():
    """A function (path, width, scheme) → Seen; skips where there is no browser."""
    with _launched() as browser:
        yield lambda path, width, scheme="light": _look(browser, path, width, scheme)


@contextmanager
def chromium_of_app():
    """A function (address, width, scheme) → a page of a running app, whose ``complaints`` and ``requests`` grow."""
    with _launched() as browser:
        yield lambda address, width=1280, scheme="light": _visit(browser, address, width, scheme)


@contextmanager
def _launched():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium on the path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        try:
            yield browser
        finally:
            browser.close()


def _look(browser, path, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page, requests, complaints = context.new_page(), [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.resolve().as_uri(), wait_until="load")
    seen = Seen(**page.evaluate(MEASURE), requests=requests, complaints=complaints)
    context.close()
    return seen


def _visit(browser, address, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(200_000)
    page.complaints, page.requests = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page
