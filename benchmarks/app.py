"""How fast the app answers, through its real interface: HTTP and a browser.

* decoding: answers a second, one code at a time, 5,000 training rows of 256 columns (USPS digits, or random rows where
  these are not here);
* the first page: seconds from the start of the command to the load event, in Chromium;
* a picture of 512 × 512 points denoised with "quick": seconds from the click to the result, in Chromium.

CPU seconds of the server and its workers stand beside the times, since other programs slow down the latter only.

    python benchmarks/app.py [--decode | --page | --denoise]
"""

import argparse
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import CHROMIUM
from served import running

ROWS, COLUMNS, SECONDS = 5000, 256, 5.0
SIDE, SIGMA = 512, 0.1
STARTS = 5


def rows():
    from preimage.datasets import is_present, load_usps

    if is_present("usps.npz"):
        return "USPS digits", load_usps().train.X[:ROWS].astype(float)
    return "random rows", np.random.default_rng(0).random((ROWS, COLUMNS))


def cpu_seconds(process, children=True):
    """Of a process, and of all its children, by /proc; 0 where there is none."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == process.pid or (children and int(fields[1]) == process.pid):
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def decoding(app):
    name, X = rows()
    buffer = io.BytesIO()
    np.save(buffer, X)
    _, upload = app.upload("rows.npy", buffer.getvalue())
    start, used = time.perf_counter(), cpu_seconds(app.process)
    job = app.job("explore", upload=upload["id"], components=16)
    fitted = time.perf_counter() - start
    print(f"{name}: fitted in {fitted:.1f} s, {cpu_seconds(app.process) - used:.1f} s of CPU")
    codes = np.frombuffer(app.ask("GET", f"api/jobs/{job['id']}/files/codes.f32")[1], "<f4").reshape(len(X), -1)
    count, start, used = 0, time.perf_counter(), cpu_seconds(app.process)
    while (elapsed := time.perf_counter() - start) < SECONDS:
        status, _ = app.ask("POST", f"api/jobs/{job['id']}/decode", {"codes": codes[[count % len(codes)]].tolist()})
        assert status == 200
        count += 1
    cpu = cpu_seconds(app.process) - used
    print(f"decoding: {count / elapsed:.0f} answers a second; {count / max(cpu, 1e-9):.0f} a second of CPU")


def first_page(browser):
    """Starts of the command one after another: the least time, and the one in the middle."""
    starts = sorted(_first_page(browser) for _ in range(STARTS))
    (best, printed, cpu), (middle, *_) = starts[0], starts[STARTS // 2]
    print(f"first page: {best:.2f} s after the start, median of {STARTS} starts {middle:.2f} s")
    print(f"  address after {printed:.2f} s, CPU of the server until the page is there {cpu:.2f} s")


def _first_page(browser):
    page = browser.new_page()
    page.wait_for_timeout(2000)  # the browser is open and at rest, as a user's is
    start = time.perf_counter()
    with running() as app:
        printed = time.perf_counter() - start
        page.goto(app.address, wait_until="load")
        elapsed, cpu = time.perf_counter() - start, cpu_seconds(app.process, children=False)
        page.close()
    return elapsed, printed, cpu


def noisy_picture(path):
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)
    clean = np.clip(0.5 + 6 * gaussian_filter(rng.standard_normal((SIDE, SIDE)), 6), 0, 1)
    noisy = np.clip(clean + SIGMA * rng.standard_normal(clean.shape), 0, 1)
    Image.fromarray(np.uint8(np.rint(255 * noisy))).save(path)


def denoising(app, browser):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        noisy_picture(path)
        app.job("explore", source="three_clusters", components=2)  # so that a worker is ready, as after a first look
        page = browser.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"{app.address}#page-denoise")
        page.wait_for_selector("html[data-ready]")
        page.set_input_files("#denoise input[type=file] >> nth=0", path)
        page.wait_for_selector("text=Chosen: picture.png")
        start, used = time.perf_counter(), cpu_seconds(app.process)
        page.click("#denoise-form .primary")
        page.wait_for_selector("#denoise-result:not([hidden])")
        elapsed, cpu = time.perf_counter() - start, cpu_seconds(app.process) - used
        print(f"{SIDE} × {SIDE}, quick, in the browser: {elapsed:.1f} s; {cpu:.1f} s of CPU")
        page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for part in ("decode", "page", "denoise"):
        parser.add_argument(f"--{part}", action="store_true")
    chosen = parser.parse_args()
    everything = not (chosen.decode or chosen.page or chosen.denoise)
    if everything or chosen.decode:
        with running() as app:
            decoding(app)
    if CHROMIUM is None or not (everything or chosen.page or chosen.denoise):
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if everything or chosen.page:
            first_page(browser)
        if everything or chosen.denoise:
            with running(threads=os.cpu_count()) as app:
                denoising(app, browser)
        browser.close()


if __name__ == "__main__":
    main()
