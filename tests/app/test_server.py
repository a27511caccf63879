"""The server from outside: who is refused, what files do to it, how jobs end."""

import http.client
import io
import json
import signal
import struct
import time
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from preimage import KernelPCA

pytest.importorskip("starlette", reason="needs Starlette")
pytest.importorskip("uvicorn", reason="needs uvicorn")
from served import running


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with running(folder=tmp_path_factory.mktemp("app")) as served:
        yield served


def is_alive(app):
    return app.ask("GET", "api/start")[0] == 200


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def csv(array):
    return "\n".join(",".join(map(str, row)) for row in array).encode()


# Who may ask


def test_the_page_and_its_parts_are_served_under_the_token(app):
    status, page = app.ask("GET", "")
    assert status == 200 and b"<!doctype html>" in page
    for name in ("main.js", "style.css", "icon.svg"):
        assert app.ask("GET", f"page/{name}")[0] == 200


@pytest.mark.parametrize("token", ["", "x", "..", "%2e%2e"])
def test_a_wrong_token_is_refused_with_a_sentence(app, token):
    for path in ("", "api/start", "page/main.js"):
        status, told = app.ask("GET", path, token=token or "-")
        assert status == 403 and "token" in told["error"]


@pytest.mark.parametrize("origin", ["https://example.org", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(app, origin):
    status, told = app.ask("POST", "api/jobs/explore", {"source": "digits"}, headers={"Origin": origin})
    assert status == 403 and "other websites" in told["error"]


def test_the_own_origin_and_both_names_of_this_computer_are_welcome(app):
    port = app.host.split(":")[1]
    for name in ("127.0.0.1", "localhost"):
        own = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
        assert app.ask("GET", "api/start", headers=own)[0] == 200


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1.example.org:80", ""])
def test_another_host_name_is_refused(app, host):
    assert app.ask("GET", "api/start", headers={"Host": host})[0] == 400


def test_answers_forbid_foreign_scripts_frames_and_storage(app):
    connection = http.client.HTTPConnection(app.host)
    connection.request("GET", f"/{app.token}/")
    headers = connection.getresponse().headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    connection.close()


ELSEWHERE = ["page/../server.py", "page/%2e%2e%2fserver.py", "api/jobs/x/files/..%2f..%2fx", "nothing"]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_no_other_file_is_served(app, path):
    status, told = app.ask("GET", path)
    assert status == 404 and told["error"].endswith(".")


def test_requests_that_make_no_sense_get_a_sentence(app):
    for path, body in {
        "api/jobs/explore": "no json",
        "api/jobs/fly": {},
        "api/jobs/0000/decode": {"codes": []},
        "api/uploads": b"",
    }.items():
        status, told = app.ask("POST", path, body, headers={"Content-Type": "application/json"})
        assert 400 <= status < 500 and told["error"].endswith(".")


# How much


def test_a_file_of_two_gigabytes_is_refused_before_it_is_sent(app):
    connection = http.client.HTTPConnection(app.host, timeout=60)
    connection.putrequest("POST", f"/{app.token}/api/uploads?name=large.npy")
    connection.putheader("Content-Length", str(2 * 2**30))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413 and "at most 256 MB" in json.loads(answer.read())["error"]
    connection.close()


def test_a_body_without_a_length_is_counted_as_it_comes(app):
    chunks = (b"x" * 2**20 for _ in range(6))
    try:
        status, told = app.ask("POST", "api/jobs/explore", chunks, headers={"Transfer-Encoding": "chunked"})
        assert status == 413 and "too large" in told["error"]
    except OSError:  # the connection was closed while we still sent
        pass
    assert is_alive(app)


def test_a_hundred_requests_at_once_are_answered_or_refused_with_a_sentence(app):
    with ThreadPoolExecutor(100) as threads:
        answers = list(threads.map(lambda _: app.ask("GET", "api/start"), range(100)))
    assert {status for status, _ in answers} <= {200, 503}
    assert all(told["error"].endswith(".") for status, told in answers if status == 503)
    assert is_alive(app)


def test_a_hundred_jobs_at_once_are_queued_or_refused_and_can_be_cancelled(app):
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda _: app.ask("POST", "api/jobs/gaps", {"source": "digits"}), range(100)))
    taken = [told for status, told in answers if status == 200]
    refused = [(status, told) for status, told in answers if status != 200]
    assert 1 <= len(taken) <= 10
    assert {status for status, _ in refused} <= {429, 503}
    assert all(told["error"].endswith(".") for _, told in refused)
    for job in taken:
        app.ask("DELETE", f"api/jobs/{job['id']}")
    assert {app.ask("GET", f"api/jobs/{job['id']}")[1]["state"] for job in taken} <= {"cancelled", "done"}
    assert memory(app.process.pid) < 500 * 2**20


def memory(pid):
    status = Path(f"/proc/{pid}/status")
    if not status.is_file():
        return 0
    return 1024 * int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1])


# Files


@pytest.mark.parametrize("name", ["model.pkl", "page.html", "noending", "archive.zip", ""])
def test_files_of_unknown_kind_are_refused(app, name):
    status, told = app.upload(name, b"content")
    assert status in (415, 422) and told["error"].endswith(".")


def test_an_empty_file_is_refused(app):
    status, told = app.upload("a.csv", b"")
    assert status == 400 and told["error"] == "a.csv is empty."


def test_names_of_files_cannot_leave_the_folder(app):
    status, told = app.upload("../../etc/..\\evil\x00name.csv", b"1,2\n3,4\n")
    assert status == 200 and "/" not in told["name"] and "\\" not in told["name"] and not told["name"].startswith(".")


def bomb_of_pixels():
    """A picture of 60000 × 60000 pixels in a few bytes."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def bomb_of_zeros():
    """An .npz of a few megabytes that expands to 640 MB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open("X.npy", "w") as member:
        header = {"descr": "<f8", "fortran_order": False, "shape": (80 * 2**20,)}
        np.lib.format.write_array_header_1_0(member, header)
        for _ in range(80):
            member.write(bytes(8 * 2**20))
    return buffer.getvalue()


def hostile_model(tmp_path):
    """A model file that names a class of another package."""
    path = tmp_path / "model.npz"
    KernelPCA(2).fit(np.random.default_rng(0).random((9, 3))).save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["header.json"] = members["header.json"].replace(b"estimators.KernelPCA", b"subprocess.Popen")
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path.read_bytes()


BAD = {
    "a picture that is text": ("a.png", lambda _: b"this is no picture", "no image"),
    "a table that is a picture": ("a.csv", lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ""),
    "an array that is a pickle": ("a.npy", lambda _: npy(np.array([{}], dtype=object)), "no .npy file of numbers"),
    "sound that is text": ("a.wav", lambda _: b"RIFFxxxx", ""),
    "a workbook that is text": ("a.xlsx", lambda _: b"no workbook", "no .xlsx file"),
    "a bomb of pixels": ("a.png", lambda _: bomb_of_pixels(), "too large an image"),
    "a bomb of zeros": ("a.npz", lambda _: bomb_of_zeros(), "expands to 640 MB"),
    "a table with a gap": ("a.csv", lambda _: b"a,b\n1,2\n,4\n5,6\n7,8\n", "is missing"),
}


@pytest.mark.parametrize("name, content, sentence", BAD.values(), ids=BAD)
def test_bad_files_end_in_a_sentence_and_the_server_goes_on(app, tmp_path, name, content, sentence):
    status, upload = app.upload(name, content(tmp_path))
    assert status == 200
    for kind in ("denoise", "explore"):
        job = app.job(kind, upload=upload["id"])
        assert job["state"] == "failed" and sentence in job["error"] and job["error"].endswith(".")
        assert "/" not in job["error"].replace("w/o", "")  # no folder of ours is named
    assert is_alive(app)


def test_a_hostile_model_file_is_refused(app, tmp_path):
    _, upload = app.upload("model.npz", hostile_model(tmp_path))
    job = app.job("explore", upload=upload["id"])
    assert job["state"] == "failed" and "model.npz cannot be loaded" in job["error"]


def test_a_dataset_that_does_not_exist_and_paths_of_our_own_are_refused(app, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    for request in ({"source": "/etc"}, {"path": str(tmp_path / "x.npy"), "name": "x"}, {"upload": "nowhere"}):
        status, told = app.ask("POST", "api/jobs/explore", request)
        assert status == 404 or app.ended(told)["state"] == "failed"


# Jobs


def test_a_job_that_is_cancelled_ends_at_once_and_the_next_one_runs(app):
    rng = np.random.default_rng(0)
    _, upload = app.upload("noise.npy", npy(rng.random((3000, 300))))
    job = app.ask("POST", "api/jobs/denoise", {"upload": upload["id"], "effort": "best"})[1]
    while job["state"] == "waiting":
        job = app.ask("GET", f"api/jobs/{job['id']}")[1]
    assert app.ask("DELETE", f"api/jobs/{job['id']}")[1]["state"] == "cancelled"
    time.sleep(0.2)
    assert app.ask("GET", f"api/jobs/{job['id']}")[1]["state"] == "cancelled"
    assert app.job("explore", source="three_clusters", components=2)["state"] == "done"


def test_decoding_through_http_is_inverse_transform(app):
    job = app.job("explore", source="half_circle", components=3, method="distance")
    assert job["state"] == "done", job["error"]
    codes = np.frombuffer(app.ask("GET", f"api/jobs/{job['id']}/files/codes.f32")[1], "<f4").reshape(-1, 3)
    status, answer = app.ask("POST", f"api/jobs/{job['id']}/decode", {"codes": codes[:5].tolist()})
    from preimage.app.sources import LOADERS

    X = LOADERS["half_circle"]().X
    model = KernelPCA(3, preimage="distance", random_state=0).fit(X)
    assert status == 200
    found = np.frombuffer(answer, "<f4").reshape(5, 3)
    np.testing.assert_allclose(found[:, :2], model.inverse_transform(model.transform(X[:5])), atol=1e-4)
    for codes in ([[1, 2]], [[1, 2, float("inf")]], "abc", [[0, 0, 0]] * 1000):
        status, told = app.ask("POST", f"api/jobs/{job['id']}/decode", {"codes": codes})
        assert status == 400 and told["error"].endswith(".")
    assert app.ask("POST", f"api/jobs/{job['id']}/_private", {})[0] == 400


@pytest.mark.slow
def test_models_beyond_the_bound_are_let_go_the_least_used_first(app):
    jobs = [app.job("explore", source="three_clusters", components=2) for _ in range(5)]
    codes = {"codes": [[0.0, 0.0]]}
    answers = [app.ask("POST", f"api/jobs/{job['id']}/decode", codes)[0] for job in jobs]
    assert answers == [410, 200, 200, 200, 200]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_behind(tmp_path, number):
    with running(folder=tmp_path) as served:
        assert served.upload("a.csv", b"1,2\n3,4\n")[0] == 200
        assert len(list(tmp_path.glob(".preimage-app-*"))) == 1
        served.ask("POST", "api/jobs/gaps", {"source": "digits"})
        assert served.end(number) == 0
        assert not list(tmp_path.iterdir())


def test_the_next_app_removes_what_a_killed_one_left_and_nothing_of_one_that_runs(tmp_path):
    with running(folder=tmp_path) as killed:
        assert killed.upload("a.csv", b"1,2\n3,4\n")[0] == 200
        assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with running(folder=tmp_path) as first, running(folder=tmp_path):
        own = {path for path in tmp_path.iterdir() if path != left}
        assert len(own) == len(list(tmp_path.iterdir())) == 2
        assert all(part.stat().st_mode & 0o077 == 0 for path in own for part in path.iterdir())
        assert first.upload("a.csv", b"1,2\n3,4\n")[0] == 200
