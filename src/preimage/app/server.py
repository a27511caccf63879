"""The server: routes of the page, its files, uploads and jobs."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import Body, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from preimage import __version__
from preimage.app import limits
from preimage.app.catalogue import KERNELS, METHODS, listed
from preimage.app.guard import Guard
from preimage.app.jobs import GONE, Jobs
from preimage.app.limits import Refused
from preimage.app.uploads import Uploads
from preimage.app.worker import TaskFailed

PAGE = Path(__file__).parent / "page"
KINDS = ("explore", "denoise", "compare", "gaps", "novelty")

Asked = Annotated[dict[str, Any], Body()]

mimetypes.add_type("text/javascript", ".js")


@contextmanager
def application(token: str, port: int, given: Path | None = None) -> Iterator[Guard]:
    """The application behind its guard; its temporary folder and its workers are gone when the block ends."""
    with TemporaryDirectory(prefix="preimage-app-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for part in ("uploads", "jobs"):
            (folder / part).mkdir()
        uploads, jobs = Uploads(folder / "uploads"), Jobs(folder / "jobs")
        try:
            key = None if given is None else uploads.adopt(given.resolve())
            yield Guard(_routes(uploads, jobs, key), token, port)
        finally:
            jobs.close()


def _routes(uploads: Uploads, jobs: Jobs, given: str | None) -> FastAPI:
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _answer_errors(server)
    _serve_page(server, uploads, jobs, given)
    _serve_uploads(server, uploads)
    _serve_jobs(server, uploads, jobs)
    return server


def _serve_page(server: FastAPI, uploads: Uploads, jobs: Jobs, given: str | None) -> None:
    names = {path.name for path in PAGE.iterdir()}

    @server.get("/")
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    @server.get("/page/{name}")
    def part_of_page(name: str) -> FileResponse:
        if name not in names:
            raise Refused(404, "There is no such page.")
        return FileResponse(PAGE / name)

    @server.get("/api/start")
    def start() -> dict[str, Any]:
        jobs.warm_up()  # not before the page is there: a worker that starts would take its processor
        return {
            "version": __version__,
            "datasets": listed(),
            "kernels": KERNELS,
            "methods": METHODS,
            "largest": limits.UPLOAD,
            "given": None if given is None else {"id": given, "name": uploads[given].name},
        }


def _serve_uploads(server: FastAPI, uploads: Uploads) -> None:
    @server.post("/api/folders")
    def new_folder(name: str = "pictures") -> dict[str, str]:
        key = uploads.new_folder(name)
        return {"id": key, "name": uploads[key].name}

    @server.post("/api/uploads")
    async def receive(request: Request, name: str, folder: str | None = None) -> dict[str, str]:
        key = await uploads.receive(name, request.stream(), folder)
        return {"id": key, "name": uploads[key].name}

    @server.delete("/api/uploads/{key}")
    def remove(key: str) -> dict[str, str]:
        uploads.remove(key)
        return {"id": key}


def _serve_jobs(server: FastAPI, uploads: Uploads, jobs: Jobs) -> None:
    @server.post("/api/jobs/{kind}")
    def submit(kind: str, request: Asked) -> dict[str, Any]:
        if kind not in KINDS:
            raise Refused(404, "There is no such work.")
        request.pop("path", None)
        if upload := request.pop("upload", None):
            found = uploads[str(upload)]
            request |= {"path": str(found.path), "name": found.name}
        return jobs.submit(kind, request).told()

    @server.get("/api/jobs/{key}")
    def state(key: str) -> dict[str, Any]:
        return jobs[key].told()

    @server.delete("/api/jobs/{key}")
    def cancel(key: str) -> dict[str, Any]:
        return jobs.cancel(key).told()

    @server.post("/api/jobs/{key}/{question}")
    async def ask(key: str, question: str, request: Asked) -> Response:
        found = await asyncio.to_thread(jobs.ask, key, question, request)
        return Response(found) if isinstance(found, bytes) else JSONResponse(found)

    @server.get("/api/jobs/{key}/files/{name}")
    def result(key: str, name: str, download: bool = False) -> FileResponse:
        path = jobs[key].folder / name
        if name.startswith(".") or not path.is_file():
            raise Refused(404, GONE)
        return FileResponse(path, filename=name if download else None)


def _answer_errors(server: FastAPI) -> None:
    """Every error as a sentence."""

    def told(status: int, sentence: str) -> JSONResponse:
        return JSONResponse({"error": sentence}, status)

    @server.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> JSONResponse:
        return told(error.status, str(error))

    @server.exception_handler(TaskFailed)
    async def failed(request: Request, error: TaskFailed) -> JSONResponse:
        return told(400, str(error))

    @server.exception_handler(RequestValidationError)
    async def misunderstood(request: Request, error: RequestValidationError) -> JSONResponse:
        return told(422, "The request was not understood: reload the page.")

    @server.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> JSONResponse:
        return told(error.status_code, "There is nothing at this address.")

    @server.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        return told(500, f"Something unexpected went wrong ({type(error).__name__}); the app goes on.")
