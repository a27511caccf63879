"""``preimage denoise`` on every kind of file, good and bad."""

import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy.io import wavfile

from console import call, good, put, rows_of, run
from helpers import rows
from preimage import Denoiser, KernelPCA, io
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise
from preimage.preimages import Learned, Wiener
from preimage.statistics.noise_level import noise_level

ROOT = Path(__file__).parents[2]
DIGITS = load_digits().X
CLEAN = DIGITS[1000:1150]
NOISY = GaussianNoise(0.25)(CLEAN, 0)
ORIENTATION = 0x0112
ALPHA = np.tile(np.uint8(5) * np.arange(48, dtype=np.uint8), (40, 1))


def error(found, clean=CLEAN):
    return float(np.mean(np.square(np.asarray(found) - clean)))


def photograph(side=48):
    """A smooth picture with edges, in [0, 1]."""
    y, x = np.mgrid[:side, :side] / side
    return 0.5 + 0.25 * np.sin(9 * x) * np.cos(7 * y) + 0.2 * (np.hypot(x - 0.5, y - 0.5) < 0.3)


# Rows


@pytest.mark.parametrize("ending", [".npy", ".csv", ".parquet"])
def test_rows_denoise_themselves(ending, tmp_path):
    columns = tuple(f"pixel {number}" for number in range(64))
    put(tmp_path / f"in{ending}", NOISY, columns)
    facts = json.loads(good("denoise", tmp_path / f"in{ending}", "-o", tmp_path / f"out{ending}", "--json").stdout)
    cleaned = rows_of(tmp_path / f"out{ending}")
    assert (facts["method"], facts["examples"], facts["rows"]) == ("Denoiser", "noisy", 150)
    np.testing.assert_allclose(cleaned, Denoiser(random_state=0).fit_transform(NOISY), atol=1e-6)
    assert error(cleaned) < 0.6 * error(NOISY)
    assert facts["removed"] == pytest.approx(np.sqrt(np.mean(np.square(NOISY - cleaned))), rel=1e-6)
    assert io.read(tmp_path / f"out{ending}").form.columns == (None if ending == ".npy" else columns)


def test_the_page_of_a_table_says_what_became_of_every_column(tmp_path):
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 7))
    table = np.column_stack([signal + 0.5 * rng.standard_normal(signal.shape), np.arange(60.0)])
    put(tmp_path / "in.csv", table, names := (*"abcdefg", "hour"))
    page = tmp_path / "page.html"
    told = good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--report", page, "--json").stdout
    listed = dict(re.findall(r"<tr><td>(\w+)</td>(.*?)</tr>", page.read_text().replace("\n", "")))
    for name, column in json.loads(told)["columns_cleaned"].items():
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", listed[name])
        expected = [column["removed"], column["noise"], column["remaining"] if name != "hour" else "left alone"]
        assert cells == [number if isinstance(number, str) else f"{number:.4g}" for number in expected]
    assert tuple(json.loads(told)["columns_cleaned"]) == names


def test_settings_hand_the_rows_to_one_kernel_pca(tmp_path):
    np.save(tmp_path / "in.npy", NOISY)
    np.save(tmp_path / "clean.npy", DIGITS[:300])
    options = ["--train", tmp_path / "clean.npy", "--kernel", "gaussian:length_scale=2", "--components", 40]
    good("denoise", tmp_path / "in.npy", "-o", tmp_path / "a.npy", *options)
    kpca = KernelPCA(40, kernel=Gaussian(2), random_state=0).fit(DIGITS[:300])
    np.testing.assert_allclose(np.load(tmp_path / "a.npy"), kpca.denoise(NOISY), atol=1e-9)
    facts = json.loads(
        good("denoise", tmp_path / "in.npy", "-o", tmp_path / "b.npy", *options, "--noise", 0.25, "--json").stdout
    )
    kpca = KernelPCA(40, kernel=Gaussian(2), preimage=Learned(noise=GaussianNoise(0.25)), random_state=0)
    np.testing.assert_allclose(np.load(tmp_path / "b.npy"), kpca.fit(DIGITS[:300]).denoise(NOISY), atol=1e-9)
    assert facts["method"] == "KernelPCA"
    assert facts["noise"] == "GaussianNoise(sigma=0.25, clip=None)"


def test_one_kernel_pca_of_noisy_rows_alone_takes_what_is_no_component_for_noise(tmp_path):
    np.save(tmp_path / "in.npy", NOISY)
    good("denoise", tmp_path / "in.npy", "-o", tmp_path / "out.npy", "--components", 20)
    assert error(np.load(tmp_path / "out.npy")) < 0.7 * error(NOISY)
    kpca = KernelPCA(20, preimage=Wiener(noise="implied"), random_state=0).fit(NOISY)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), kpca.denoise(NOISY), atol=1e-9)


@pytest.mark.parametrize("plain", [True, False])
def test_large_tables_are_cleaned_block_by_block(plain, tmp_path, monkeypatch):
    np.save(tmp_path / "in.npy", NOISY)
    monkeypatch.setattr("preimage.io.base.LARGE", 1000)
    monkeypatch.setattr("preimage.io.chunks.BLOCK", 60)
    np.save(tmp_path / "clean.npy", DIGITS[:300])
    options = ["--components", 40, "--preimage", "learned"] if plain else []
    monkeypatch.setattr("preimage.cli.denoise_run.EXACT", 200)
    monkeypatch.setattr("preimage.cli.denoise_run.LANDMARKS", 150)
    options += ["--train", tmp_path / "clean.npy", "--json"]
    facts = json.loads(good("denoise", tmp_path / "in.npy", "-o", tmp_path / "out.npy", *options).stdout)
    assert error(np.load(tmp_path / "out.npy")) < 0.6 * error(NOISY)
    level = GaussianNoise(noise_level(NOISY).sigma)  # clean examples do not show it, the noisy rows do
    assert (facts["examples"], facts["noise"]) == ("clean", "auto" if plain else repr(level))


def test_a_folder_of_images_comes_out_as_one_through_the_console(tmp_path):
    (tmp_path / "in").mkdir()
    clean = 0.3 + 0.4 * CLEAN  # so that a file clips no noise
    noisy = GaussianNoise(0.1)(clean, 0)
    for number, row in enumerate(np.clip(noisy, 0, 1)):
        Image.fromarray(np.rint(255 * row.reshape(8, 8)).astype(np.uint8)).save(tmp_path / "in" / f"{number:03d}.png")
    done = run("denoise", tmp_path / "in", "-o", tmp_path / "out", "--report", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    cleaned = rows_of(tmp_path / "out")
    assert error(cleaned, clean) < 0.6 * error(noisy, clean)
    assert sorted(os.listdir(tmp_path / "out")) == sorted(os.listdir(tmp_path / "in"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "Denoiser(" in page
    assert len(page) < 3e6


# One image, one signal


@pytest.mark.parametrize("kind", ["grey", "colour", "grey of 16 bits"])
def test_one_image_is_denoised_alone(kind, tmp_path):
    clean = photograph()
    clean = np.stack([clean, clean.T, 1 - clean], axis=2) if kind == "colour" else clean
    noisy = np.clip(GaussianNoise(0.1)(clean, 0), 0, 1)
    depth, dtype = (65535, np.uint16) if kind == "grey of 16 bits" else (255, np.uint8)
    Image.fromarray(np.rint(depth * noisy).astype(dtype)).save(tmp_path / "in.png")
    good("denoise", tmp_path / "in.png", "-o", tmp_path / "out.png", "--report", tmp_path / "page.html")
    with Image.open(tmp_path / "out.png") as image:
        found = np.asarray(image)
    assert found.dtype == dtype
    assert 10 * np.log10(error(noisy, clean) / error(found / depth, clean)) > 4  # dB
    assert "data:image/png" in (tmp_path / "page.html").read_text()


def stored(image, kind, path):
    """The path of a file of this kind with an RGB image in it, turned as a camera would."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    path = path / f"in{'.jpg' if kind in ('CMYK', 'turned') else '.tif' if kind == 'TIFF of 16 bits' else '.png'}"
    if kind == "palette":
        image.quantize(256).save(path)
    elif kind == "transparent":
        image.putalpha(Image.fromarray(ALPHA))
        image.save(path)
    elif kind == "CMYK":
        image.convert("CMYK").save(path, quality=100, icc_profile=b"a profile of inks")
    elif kind == "turned":
        image.transpose(Image.Transpose.ROTATE_90).save(path, quality=100, subsampling=0, exif=exif)
    else:
        tifffile.imwrite(path, np.asarray(image).astype(np.uint16) * 257, photometric="rgb")
    return path


@pytest.mark.parametrize("kind", ["palette", "transparent", "CMYK", "turned", "TIFF of 16 bits"])
def test_colours_are_denoised_however_a_file_stores_them(kind, tmp_path):
    clean = np.stack([photograph(), photograph().T, 1 - photograph()], axis=2)[:40]
    noisy = np.clip(GaussianNoise(0.1)(clean, 0), 0, 1)
    source = stored(Image.fromarray(np.rint(255 * noisy).astype(np.uint8)), kind, tmp_path)
    result = source.with_stem("out")
    good("denoise", source, "-o", result, "--effort", "quick")
    found = tifffile.imread(result) if result.suffix == ".tif" else np.asarray(Image.open(result))
    white = np.iinfo(found.dtype).max
    assert white == (65535 if kind == "TIFF of 16 bits" else 255)
    assert 10 * np.log10(error(noisy, clean) / error(found[..., :3] / white, clean)) > 3  # dB
    if kind == "transparent":
        np.testing.assert_array_equal(found[..., 3], ALPHA)
    if kind in ("CMYK", "turned"):
        with Image.open(result) as image:
            assert (image.mode, "icc_profile" in image.info, ORIENTATION in image.getexif()) == ("RGB", False, False)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (8, 8)])
def test_a_picture_too_small_to_show_its_noise_is_left_as_it_is_and_that_is_told(shape, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "in.png")
    done = good("denoise", tmp_path / "in.png", "-o", tmp_path / "out.png")
    assert f"an image of {shape[0]} × {shape[1]} points is too small to estimate its noise" in done.stderr
    assert "one image left as it is" in done.stdout
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), pixels)


def test_a_picture_of_one_colour_has_no_noise(tmp_path):
    for name, pixels in (("grey", np.full((40, 30), 77, np.uint8)), ("colour", np.full((40, 30, 3), (9, 99, 7), "u1"))):
        Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        told = good("denoise", tmp_path / f"{name}.png", "-o", tmp_path / "out.png", "--force", "--json").stdout
        facts = json.loads(told)
        assert (facts["noise"], facts["removed"]) == ("GaussianNoise(sigma=0.0, clip=None)", 0)
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), pixels)


@pytest.mark.parametrize("name", ["in.csv", "in.wav"])
def test_one_signal_is_denoised_alone(name, tmp_path):
    time = np.arange(2000) / 200
    clean = 0.5 * np.sin(2 * np.pi * time) ** 7
    noisy = GaussianNoise(0.1)(clean, 0)
    if name == "in.wav":
        wavfile.write(tmp_path / name, 200, np.rint(32767 * noisy).astype(np.int16))
    else:
        put(tmp_path / name, noisy[:, None], ("millivolt",))
    out = tmp_path / name.replace("in", "out")
    good("denoise", tmp_path / name, "-o", out, "--report", tmp_path / "page.html")
    data = io.read(out)
    assert (data.form.rate, data.form.columns) == ((200, None) if name == "in.wav" else (0, ("millivolt",)))
    assert error(data.whole()[:, 0], clean) < 0.5 * error(noisy, clean)
    assert "data:image/png" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("header", ["wavenumber [cm^-1],intensity [counts]", "abscissa,ordinate"])
def test_a_column_beside_an_evenly_spaced_one_is_a_signal(header, tmp_path):
    x = 400 + 2 * np.arange(1000)
    clean = 100 * np.exp(-(((x - 800) / 20) ** 2)) + 60 * np.exp(-(((x - 1500) / 40) ** 2))
    noisy = clean + 4 * np.random.default_rng(0).standard_normal(1000)
    np.savetxt(tmp_path / "in.csv", np.column_stack([x, noisy]), delimiter=",", header=header, comments="")
    good("denoise", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--effort", "quick")
    found = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(found[:, 0], x)
    assert error(found[:, 1], clean) < 0.2 * error(noisy, clean)


def test_hum_and_baseline_go_first_where_asked(tmp_path):
    time = np.arange(4000) / 400
    clean = np.stack([np.sin(2 * np.pi * time) ** 15, -0.5 * np.sin(2 * np.pi * time) ** 15], axis=1)
    hum, wander = np.sin(2 * np.pi * 50 * time)[:, None], 2 * np.sin(2 * np.pi * 0.1 * time)[:, None]
    np.save(tmp_path / "in.npy", clean + hum + wander + 0.1 * np.random.default_rng(0).standard_normal(clean.shape))
    asked = ["--signal", "--rate", 400, "--mains", 50, "--baseline", "--effort", "quick"]
    told = good("denoise", tmp_path / "in.npy", "-o", tmp_path / "out.npy", *asked, "--json").stdout
    assert error(np.load(tmp_path / "out.npy"), clean) < 0.01
    facts = json.loads(told)
    sigma = float(re.search(r"sigma=([\d.]+)", facts["noise"]).group(1))
    assert abs(sigma - 0.1) < 0.01  # 12 flat frames of 48 coefficients tell σ to 3 %
    assert facts["candidates"]["as it is"] > facts["remaining_error"] > 0


def test_a_signal_without_noise_is_left_as_it_is_and_that_is_told(tmp_path):
    wavfile.write(tmp_path / "in.wav", 8000, np.zeros(4000, np.int16))
    done = good("denoise", tmp_path / "in.wav", "-o", tmp_path / "out.wav")
    assert "one signal left as it is" in done.stdout
    np.testing.assert_array_equal(wavfile.read(tmp_path / "out.wav")[1], 0)


def test_hum_needs_a_signal_and_its_rate(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((50, 3)))
    for options in (["--mains", 50], ["--signal", "--baseline"]):
        done = call("denoise", tmp_path / "in.npy", "-o", tmp_path / "out.npy", *options)
        assert done.exit_code == 2
        assert "need a signal and its rate" in done.stderr


# What is wrong


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["-o", "there.npy"], 1, "exists already"),
        (["-o", "folder"], 1, "these rows are not images"),
        (["-o", "nowhere/x.npy"], 1, "does not exist"),
        (["-o", "x.npy", "--report", "there.npy"], 1, "exists already"),
        (["-o", "x.npy", "--report", "nowhere/page.html"], 1, "does not exist"),
        (["-o", "x.npy", "--train", "no.npy"], 1, "no.npy does not exist"),
        (["-o", "x.npy", "--train", "wide.npy"], 1, "in.npy has 64 columns, but the clean examples in wide.npy have 5"),
        (["-o", "x.npy", "--shape", "3,3"], 1, "asks for 9 columns, but in.npy has 64"),
        (["-o", "x.npy", "--shape", "tall"], 2, "'tall' is not a shape"),
        (["-o", "x.npy", "--noise", "pink:3"], 2, "unknown noise 'pink'"),
        (["-o", "x.npy", "--noise", "much"], 2, "'much' is not a number"),
        (["-o", "x.npy", "--noise", "masking:3"], 2, "probability"),
        (["-o", "x.npy", "--noise", "masking:0.3"], 2, "add --train"),
        (["-o", "x.npy", "--noise", "0.1", "--preimage", "distance"], 2, "--noise needs --preimage learned"),
        (["-o", "x.npy", "--components", "500"], 1, "more than 150 rows allow"),
        ([], 2, "Missing option '-o'"),
    ],
)
def test_what_cannot_be_done_is_a_sentence_and_leaves_nothing(options, code, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", NOISY)
    np.save("there.npy", NOISY)
    np.save("wide.npy", rows(9, 5))
    os.mkdir("folder")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    done = call("denoise", "in.npy", *options)
    assert done.exit_code == code
    assert sentence in done.stderr.splitlines()[-1]
    assert done.stdout == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_options_for_rows_are_refused_for_one_image(tmp_path):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "in.png")
    for options, sentence in ((["--train", tmp_path / "in.png"], "--train needs rows"), (["--components", 3], "rows")):
        done = call("denoise", tmp_path / "in.png", "-o", tmp_path / "out.png", *options)
        assert done.exit_code == 2
        assert sentence in done.stderr
    assert os.listdir(tmp_path) == ["in.png"]


def test_gaps_are_told_and_not_denoised(tmp_path):
    np.save(tmp_path / "in.npy", np.where(NOISY > 0.9, np.nan, NOISY))
    done = call("denoise", tmp_path / "in.npy", "-o", tmp_path / "out.npy")
    assert done.exit_code == 1
    assert "preimage impute" in done.stderr
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.parametrize("output", ["out.npy", "out"])
def test_an_interruption_leaves_neither_output_nor_page(output, tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    np.save(tmp_path / "in.npy", NOISY)
    monkeypatch.setattr(Denoiser, "fit_transform", interrupted)
    options = ["--shape", "8,8", "--report", tmp_path / "page.html"]
    done = call("denoise", tmp_path / "in.npy", "-o", tmp_path / output, *options)
    assert done.exit_code == 130
    assert os.listdir(tmp_path) == ["in.npy"]


@pytest.mark.slow
def test_the_commands_of_the_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "guides" / "command_line.md").read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(python|sh)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL):
        if language == "python":
            exec(block, {})
        else:
            for line in block.splitlines():
                good(*shlex.split(line)[1:])
    digits = DIGITS[500:700]
    errors = [error(np.load(f"{name}.npy"), digits) for name in ("noisy", "cleaned", "plain", "better")]
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] > errors[3]
