"""The server: routes of the page, its files, uploads and jobs.

It uses only Starlette: a larger framework would take half of the second in which the first page must appear.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from preimage import __version__
from preimage.app import limits
from preimage.app.catalogue import KERNELS, METHODS, listed
from preimage.app.guard import Guard
from preimage.app.jobs import GONE, Jobs
from preimage.app.limits import Refused
from preimage.app.uploads import Uploads
from preimage.app.worker import TaskFailed
from preimage.leftovers import begun, remove_leftovers

PAGE = Path(__file__).parent / "page"
KINDS = ("explore", "denoise", "compare", "gaps", "novelty")

mimetypes.add_type("text/javascript", ".js")


@contextmanager
def application(token: str, port: int, given: Path | None = None) -> Iterator[Guard]:
    """The application behind its guard; its temporary folder and workers are removed when the block ends.

    What killed servers left behind is removed first.
    """
    home = Path(gettempdir()) / "preimage-app"
    remove_leftovers(home)
    with begun(home) as folder:
        for part in ("uploads", "jobs"):
            (folder / part).mkdir(mode=0o700)
        uploads, jobs = Uploads(folder / "uploads"), Jobs(folder / "jobs")
        try:
            key = None if given is None else uploads.adopt(given.resolve())
            routes = [*_page_routes(uploads, jobs, key), *_upload_routes(uploads), *_job_routes(uploads, jobs)]
            yield Guard(Starlette(routes=routes, exception_handlers=SENTENCES), token, port)
        finally:
            jobs.close()


def _page_routes(uploads: Uploads, jobs: Jobs, given: str | None) -> list[Route]:
    names = {path.name for path in PAGE.iterdir()}

    def page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html")

    def part_of_page(request: Request) -> Response:
        if (name := request.path_params["name"]) not in names:
            raise Refused(404, "There is no such page.")
        return FileResponse(PAGE / name)

    def start(request: Request) -> Response:
        jobs.warm_up()  # only now that the page is loaded: a starting worker would slow it down
        return JSONResponse(
            {
                "version": __version__,
                "datasets": listed(),
                "kernels": KERNELS,
                "methods": METHODS,
                "largest": limits.UPLOAD,
                "given": None if given is None else {"id": given, "name": uploads[given].name},
            }
        )

    return [Route("/", page), Route("/page/{name}", part_of_page), Route("/api/start", start)]


def _upload_routes(uploads: Uploads) -> list[Route]:
    def kept(key: str) -> Response:
        return JSONResponse({"id": key, "name": uploads[key].name})

    def new_folder(request: Request) -> Response:
        return kept(uploads.new_folder(request.query_params.get("name", "")))

    async def receive(request: Request) -> Response:
        asked = request.query_params
        return kept(await uploads.receive(asked.get("name", ""), request.stream(), asked.get("folder")))

    def remove(request: Request) -> Response:
        uploads.remove(key := request.path_params["key"])
        return JSONResponse({"id": key})

    return [
        Route("/api/folders", new_folder, methods=["POST"]),
        Route("/api/uploads", receive, methods=["POST"]),
        Route("/api/uploads/{key}", remove, methods=["DELETE"]),
    ]


def _job_routes(uploads: Uploads, jobs: Jobs) -> list[Route]:
    async def submit(request: Request) -> Response:
        if (kind := request.path_params["kind"]) not in KINDS:
            raise Refused(404, "There is no such kind of job.")
        asked = await _asked(request)
        asked.pop("path", None)
        if upload := asked.pop("upload", None):
            found = uploads[str(upload)]
            asked |= {"path": str(found.path), "name": found.name}
        job = await asyncio.to_thread(jobs.submit, kind, asked)
        return JSONResponse(job.as_json())

    def state(request: Request) -> Response:
        return JSONResponse(jobs[request.path_params["key"]].as_json())

    def cancel(request: Request) -> Response:
        return JSONResponse(jobs.cancel(request.path_params["key"]).as_json())

    async def ask(request: Request) -> Response:
        key, question = request.path_params["key"], request.path_params["question"]
        found = await asyncio.to_thread(jobs.ask, key, question, await _asked(request))
        return Response(found) if isinstance(found, bytes) else JSONResponse(found)

    def result(request: Request) -> Response:
        name = request.path_params["name"]
        path = jobs[request.path_params["key"]].folder / name
        if name.startswith(".") or not path.is_file():
            raise Refused(404, GONE)
        return FileResponse(path, filename=name if request.query_params.get("download") else None)

    return [
        Route("/api/jobs/{kind}", submit, methods=["POST"]),
        Route("/api/jobs/{key}", state),
        Route("/api/jobs/{key}", cancel, methods=["DELETE"]),
        Route("/api/jobs/{key}/{question}", ask, methods=["POST"]),
        Route("/api/jobs/{key}/files/{name}", result),
    ]


async def _asked(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    try:
        found = await request.json()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Refused(422, "The request was not understood: reload the page.")
    return found


def _sentence(request: Request, error: Exception) -> Response:
    """The response to an error: a message for the page."""
    if isinstance(error, Refused):
        status, words = error.status, str(error)
    elif isinstance(error, TaskFailed):
        status, words = 400, str(error)
    elif isinstance(error, HTTPException):
        status, words = error.status_code, "There is nothing at this address."
    else:
        status, words = 500, f"Something unexpected went wrong ({type(error).__name__}); the app is still running."
    return JSONResponse({"error": words}, status)


SENTENCES = dict.fromkeys((Refused, TaskFailed, HTTPException, Exception), _sentence)
