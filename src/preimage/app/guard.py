"""The guard of the server: which requests it accepts, how large they may be, and which headers responses carry."""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from preimage.app import limits
from preimage.app.limits import Refused

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


@dataclass
class Guard:
    """Passes a request on if it names this server, comes from its own page, knows the token and is small enough.

    The token is the first part of every path, so relative links inside the page carry it. The Host header is checked
    because any website may have its name resolved to 127.0.0.1, and the Origin header because any website may send
    requests here; neither knows the token.
    """

    application: Application
    token: str
    port: int
    busy: int = field(default=0, init=False)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            path = self._admitted(scope)
        except Refused as refusal:
            await _refuse(refusal, send)
            return
        self.busy += 1
        try:
            inside = {**scope, "path": path, "raw_path": None}
            await self.application(inside, _counted(_most(path), receive), _sealed(send))
        finally:
            self.busy -= 1

    def _admitted(self, scope: Message) -> str:
        """The path behind the token."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        self._check_names(headers.get(b"host", ""), headers.get(b"origin"))
        token, _, rest = scope["path"].lstrip("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise Refused(403, "The token in this address is wrong: open the address that `preimage app` printed.")
        if self.busy >= limits.REQUESTS:
            raise Refused(503, "Too many requests at once: wait a moment and try again.")
        length, most = headers.get(b"content-length", "0"), _most(f"/{rest}")
        if not length.isdecimal() or int(length) > most:
            raise Refused(413, too_large(most))
        return f"/{rest}"

    def _check_names(self, host: str, origin: str | None) -> None:
        ours = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if host not in ours:
            raise Refused(400, "This server answers to 127.0.0.1 and localhost only.")
        if origin is not None and origin not in {f"http://{name}" for name in ours}:
            raise Refused(403, "Requests from other websites are refused.")


def too_large(most: int) -> str:
    """The message for a request of more than ``most`` bytes."""
    return f"This is too large: the app accepts at most {most // limits.MEBIBYTE} MB here; the command line takes more."


def _most(path: str) -> int:
    return limits.UPLOAD if path == "/api/uploads" else limits.REQUEST


def _counted(most: int, receive: Receive) -> Receive:
    """The body, refused when it exceeds ``most`` bytes, whatever length it announced."""
    left = most

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise Refused(413, too_large(most))
        return message

    return counted


def _sealed(send: Send) -> Send:
    """Responses with headers that keep browsers from sharing them with other sites."""

    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sealed


async def _refuse(refusal: Refused, send: Send) -> None:
    """Send the message and close the connection, so that a large body is not read."""
    body = json.dumps({"error": str(refusal)}, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": refusal.status, "headers": [*headers, (b"connection", b"close")]}
    await _sealed(send)(start)
    await send({"type": "http.response.body", "body": body})
