"""The app as a user starts it, and requests to it, for the tests of the app and its benchmark."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PREIMAGE = Path(sys.executable).with_name("preimage")
PATIENCE = 300  # seconds


@dataclass(frozen=True)
class Served:
    """A running app."""

    address: str
    process: subprocess.Popen

    @property
    def host(self):
        return urlsplit(self.address).netloc

    @property
    def token(self):
        return urlsplit(self.address).path.strip("/")

    def ask(self, method, path, body=None, *, headers=None, token=None):
        """The status and the answer, as JSON where it is such."""
        headers = dict(headers or {})
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            connection.request(method, f"/{token or self.token}/{path}", body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(content) if is_json else content

    def upload(self, name, content, folder=None):
        from urllib.parse import quote

        place = f"&folder={folder}" if folder else ""
        return self.ask("POST", f"api/uploads?name={quote(name, safe='')}{place}", content)

    def job(self, kind, **request):
        """A job when it has ended."""
        status, job = self.ask("POST", f"api/jobs/{kind}", request)
        assert status == 200, job
        return self.ended(job)

    def ended(self, job):
        deadline = time.monotonic() + PATIENCE
        while job["state"] in ("waiting", "running") and time.monotonic() < deadline:
            time.sleep(0.05)
            job = self.ask("GET", f"api/jobs/{job['id']}")[1]
        return job

    def end(self, number=signal.SIGTERM):
        """End it, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def running(*arguments, folder=None, threads=1):
    """The app with its temporary files under a folder."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads)}
    if folder is not None:
        environment["TMPDIR"] = str(folder)
    command = [PREIMAGE, "app", "--port", "0", "--no-browser", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield Served(process.stdout.readline().strip(), process)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
