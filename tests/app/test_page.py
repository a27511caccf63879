"""The page as a user sees it, in Chromium."""

import io
import shutil
import subprocess
import tarfile
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("starlette", reason="needs Starlette")
pytest.importorskip("uvicorn", reason="needs uvicorn")
from browser import MEASURE, chromium_of_app
from preimage import KernelPCA
from served import running

TABS = ("explore", "denoise", "compare", "gaps", "novelty")
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with running(folder=tmp_path_factory.mktemp("app")) as served:
        yield served


@pytest.fixture(scope="module")
def visit():
    with chromium_of_app() as function:
        yield function


@pytest.fixture
def page(app, visit):
    """A page, of which nothing may have been complained, and which may have asked nobody but its own server."""
    pages = []

    def opened(name="denoise", **settings):
        found = visit(f"{app.address}#page-{name}", **settings)
        pages.append(found)
        return found

    yield opened
    for found in pages:
        assert found.complaints == []
        assert all(url.startswith((app.address, "blob:")) for url in found.requests)
        found.context.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of every kind that can be dropped, in a folder."""
    folder = tmp_path_factory.mktemp("files")
    x = np.mgrid[:48, :48][1] / 48
    picture = np.clip(0.5 + 0.3 * np.sin(9 * x) + 0.1 * RNG.standard_normal((48, 48)), 0, 1)
    Image.fromarray(np.uint8(255 * picture)).save(folder / "photo.png")
    Image.fromarray(np.uint8(np.tile(255 * picture, (10, 10)))).save(folder / "large.png")
    t = RNG.uniform(0, 6, 60)
    table = np.column_stack([np.sin(t + k) for k in range(8)]) + 0.1 * RNG.standard_normal((60, 8))
    np.savetxt(folder / "table.csv", table, delimiter=",", header=",".join("abcdefgh"), comments="")
    np.save(folder / "rows.npy", table)
    signal = np.sin(np.arange(2000) / 20) + 0.2 * RNG.standard_normal(2000)
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(np.int16(8000 * signal).tobytes())
    KernelPCA(3, random_state=0).fit(table).save(folder / "model.npz")
    (folder / "pictures").mkdir()
    for number in range(24):
        small = np.clip(0.5 + 0.4 * np.sin(6 * x[:8, :8] * 6 + number / 4), 0, 1)
        Image.fromarray(np.uint8(255 * small)).save(folder / "pictures" / f"{number:02}.png")
    (folder / "lies.png").write_bytes(b"this is no picture")
    (folder / "lies.csv").write_bytes(bytes(range(256)))
    (folder / "notes.docx").write_bytes(b"x")
    return folder


def choose(page, tab, path, folder=False):
    page.set_input_files(f"#{tab} input[type=file] >> nth={int(folder)}", path)


def outcome(page, tab):
    """The words of an error, or "" where there is a result."""
    page.wait_for_selector(f"#{tab}-result:not([hidden]), #{tab}-status .error")
    errors = page.locator(f"#{tab}-status .error")
    return errors.first.inner_text() if errors.count() else ""


def explored(page):
    page.wait_for_selector("#explore-more:not([hidden])")
    page.wait_for_selector("#explore-status .progress", state="detached")


PIXELS = "id => document.getElementById(id).toDataURL()"


def pixels(page, canvas):
    return page.evaluate(PIXELS, canvas)


def redrawn(page, canvas, before):
    """Wait until a canvas shows something else: what it shows arrives from the server after the event."""
    page.wait_for_function(f"([id, before]) => ({PIXELS})(id) !== before", arg=[canvas, before])


# Looks


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_every_page_fits_its_window(page, width, scheme):
    seen = page("denoise", width=width, scheme=scheme)
    for tab in TABS[1:3] + TABS[4:]:
        seen.click(f"#tab-{tab}")
        assert seen.is_visible(f"#{tab} h2") and seen.locator('[role="tabpanel"]:visible').count() == 1
        measured = seen.evaluate(MEASURE)
        assert measured["overflow"] <= 0 and measured["beyond"] == 0
    assert (seen.evaluate(MEASURE)["background"] == "rgb(246, 247, 249)") == (scheme == "light")


def test_tabs_and_theme_are_worked_by_the_keyboard(page):
    seen = page()
    seen.focus("#tab-denoise")
    seen.keyboard.press("ArrowRight")
    assert seen.get_attribute("#tab-compare", "aria-selected") == "true" and seen.is_visible("#compare")
    assert seen.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    seen.focus("#theme")
    seen.keyboard.press("Enter")
    seen.keyboard.press("Enter")
    assert seen.inner_text("#theme") == "Theme: dark"
    assert seen.evaluate(MEASURE)["background"] == "rgb(17, 21, 27)"


# Explore


def test_the_pointer_and_the_arrow_keys_decode(page):
    seen = page("explore")
    explored(seen)
    seen.wait_for_selector("#decoded[data-answers]")
    before = pixels(seen, "decoded")
    box = seen.locator("canvas.pointer").bounding_box()
    seen.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
    redrawn(seen, "decoded", before)
    seen.wait_for_selector("text=of 1797, digit")
    answers = int(seen.get_attribute("#decoded", "data-answers"))
    seen.focus("canvas.pointer")
    for _ in range(3):
        seen.keyboard.press("Shift+ArrowRight")
    seen.wait_for_selector(f'#decoded:not([data-answers="{answers}"])')
    seen.keyboard.press("a")
    seen.keyboard.press("Shift+ArrowDown")
    seen.keyboard.press("b")
    seen.click("#walk")
    seen.wait_for_selector("#strip canvas >> nth=8")
    assert "spacing" in seen.inner_text("#trust-words")


@pytest.mark.slow
def test_a_plane_shows_contours_and_a_slider_changes_the_answer(page):
    seen = page("explore")
    explored(seen)
    seen.select_option('#explore select[name="source"]', "half_circle")
    seen.wait_for_selector("text=contour lines of the first 8")
    assert seen.locator("#component-pictures canvas").count() == 8
    seen.wait_for_selector("text=Point (")
    before = seen.inner_text("#code-words")
    seen.locator("#sliders input >> visible=true").first.press("End")
    seen.wait_for_function("before => document.getElementById('code-words').textContent.trim() !== before", arg=before)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.csv", "rows.npy", "model.npz", "pictures"])
def test_files_of_every_kind_are_explored(page, files, name):
    seen = page("explore")
    explored(seen)
    choose(seen, "explore", files / name, folder=name == "pictures")
    seen.wait_for_selector(f"text=Chosen: {name}")
    explored(seen)
    count = {"pictures": 24}.get(name, 60)
    seen.wait_for_selector(f"text=of {count}")


# Denoise


@pytest.mark.parametrize("name", ["photo.png", "table.csv"])
def test_a_file_is_denoised_and_can_be_downloaded(page, files, name):
    seen = page()
    choose(seen, "denoise", files / name)
    seen.click("#denoise-form .primary:not([disabled])")
    assert outcome(seen, "denoise") == ""
    assert "preimage denoise" in seen.inner_text("#denoise-result") and "Denoiser" in seen.inner_text("#denoise-result")
    with seen.expect_download() as download:
        seen.click("text=Download cleaned-")
    saved = Path(download.value.path()).read_bytes()
    assert saved != (files / name).read_bytes()
    if name.endswith("png"):
        assert Image.open(io.BytesIO(saved)).size == (48, 48)
        assert "95 % interval" in seen.inner_text("#denoise-result")
    else:
        assert len(saved.splitlines()) == 61


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sound.wav", "rows.npy", "pictures"])
def test_signals_arrays_and_folders_are_denoised(page, files, name):
    seen = page()
    choose(seen, "denoise", files / name, folder=name == "pictures")
    seen.click("#denoise-form .primary:not([disabled])")
    assert outcome(seen, "denoise") == ""
    assert seen.locator("#denoise-result canvas").count() > 0


@pytest.mark.parametrize(
    "name, words",
    [("lies.png", "lies.png is empty, damaged, or no image."), ("lies.csv", ""), ("model.npz", "")],
)
def test_bad_files_are_told_in_a_sentence(page, files, name, words):
    seen = page()
    choose(seen, "denoise", files / name)
    seen.click("#denoise-form .primary:not([disabled])")
    told = outcome(seen, "denoise")
    assert words in told and told.endswith(".") and "/" not in told


def test_files_of_unknown_kind_and_too_large_ones_are_told_at_once(page, files):
    seen = page()
    choose(seen, "denoise", files / "notes.docx")
    assert "unknown ending" in outcome(seen, "denoise")
    seen.complaints.clear()  # the browser notes every refusal by a server in its console
    seen.evaluate(
        """() => {
            const input = document.querySelector("#denoise input[type=file]"), items = new DataTransfer();
            const large = new File(["x"], "large.npy");
            Object.defineProperty(large, "size", { value: 2 ** 31 });
            Object.defineProperty(input, "files", { value: [large] });
            input.dispatchEvent(new Event("change"));
        }"""
    )
    seen.wait_for_selector("text=large.npy is too large")


def test_a_file_can_be_dropped(page, files):
    seen = page()
    content = (files / "table.csv").read_text()
    seen.evaluate(
        """content => {
            const items = new DataTransfer();
            items.items.add(new File([content], "dropped.csv"));
            const drop = new DragEvent("drop", { dataTransfer: items, bubbles: true });
            document.querySelector("#denoise .drop").dispatchEvent(drop);
        }""",
        content,
    )
    seen.wait_for_selector("text=Chosen: dropped.csv")


# Jobs


def test_a_job_can_be_cancelled_and_another_one_started(page, files):
    seen = page()
    choose(seen, "denoise", files / "large.png")
    seen.check("input[value=best]", force=True)
    seen.click("#denoise-form .primary:not([disabled])")
    seen.click("#denoise-status button")
    seen.wait_for_selector("text=Cancelled.")
    assert not seen.is_visible("#denoise-result")
    choose(seen, "denoise", files / "photo.png")
    seen.wait_for_selector("text=Chosen: photo.png")
    seen.check("input[value=quick]", force=True)
    seen.click("#denoise-form .primary")
    assert outcome(seen, "denoise") == ""


def test_a_gap_is_painted_by_the_keyboard_and_filled(page):
    seen = page("gaps")
    assert outcome(seen, "gaps") == ""
    seen.wait_for_selector("text=Error in the gap")
    before = pixels(seen, "filled")
    seen.click("#unpaint")
    seen.wait_for_selector("text=Nothing is painted out yet.")
    redrawn(seen, "filled", before)
    seen.focus("#paint")
    seen.keyboard.press("ArrowDown")
    seen.keyboard.press("Space")
    seen.wait_for_selector("text=Error in the gap")


@pytest.mark.slow
def test_a_reload_in_the_middle_finds_the_job_again(page):
    seen = page("gaps")
    seen.wait_for_selector("#gaps-status .progress")
    seen.reload()
    assert outcome(seen, "gaps") == ""
    seen.wait_for_selector("text=Error in the gap")


@pytest.mark.slow
def test_two_tabs_work_at_once_and_do_not_mix(page):
    first, second = page("explore"), page("explore", width=390)
    for seen, name in ((first, "three_clusters"), (second, "square")):
        seen.select_option('#explore select[name="source"]', name)
    for seen, rows in ((first, 90), (second, 600)):
        seen.wait_for_selector(f"text=of {rows}, ")


def test_rows_are_ranked(page, files):
    seen = page("novelty")
    choose(seen, "novelty", files / "table.csv")
    seen.wait_for_selector("#novelty >> text=Chosen: table.csv")
    seen.click("#novelty-form .primary")
    assert outcome(seen, "novelty") == ""
    assert seen.locator("#novelty-result tbody tr").count() == 40
    assert "expected" in seen.inner_text("#novelty-result")


DRAWN = """() => [...document.querySelectorAll("#compare-result figure")].filter((figure) => {
    const [picture, canvas] = ["img", "canvas"].map((kind) => figure.querySelector(kind));
    if (picture) return picture.naturalWidth > 0;
    return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
}).length"""


@pytest.mark.parametrize("name", [pytest.param("photo.png", marks=pytest.mark.slow), "sound.wav", "table.csv"])
def test_every_method_is_ranked_and_drawn(page, files, name):
    seen = page("compare")
    choose(seen, "compare", files / name)
    seen.wait_for_selector(f"#compare >> text=Chosen: {name}")
    seen.click("#compare-form .primary")
    assert outcome(seen, "compare") == ""
    methods = seen.locator("#compare-result tbody tr").count()
    assert methods >= 6
    seen.wait_for_function(f"methods => ({DRAWN})() === methods", arg=methods)


# Accessibility

FINDINGS = "async () => (await axe.run()).violations.map(v => [v.id, v.impact, v.nodes.map(n => n.html).slice(0, 3)])"


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The source of axe-core from the package registry; skips where that cannot be reached."""
    if not shutil.which("npm"):
        pytest.skip("needs npm, to fetch axe-core")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, timeout=120, check=False)
    packed = next(folder.glob("axe-core-*.tgz"), None)
    if done.returncode or packed is None:
        pytest.skip("axe-core could not be fetched")
    with tarfile.open(packed) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(page, axe, files, width, scheme):
    seen = page("denoise", width=width, scheme=scheme)
    found, chosen = {}, {"denoise": "photo.png", "compare": "table.csv", "novelty": "table.csv"}
    for tab in TABS:
        seen.click(f"#tab-{tab}")
        if tab == "explore":
            explored(seen)
        elif tab in chosen:
            choose(seen, tab, files / chosen[tab])
            seen.wait_for_selector(f"#{tab} >> text=Chosen: {chosen[tab]}")
            seen.click(f"#{tab}-form .primary")
        if tab != "explore":
            assert outcome(seen, tab) == ""
        seen.evaluate(axe)
        violations = seen.evaluate(FINDINGS)
        found[tab] = [violation for violation in violations if violation[1] in ("serious", "critical")]
    assert not any(found.values()), found
