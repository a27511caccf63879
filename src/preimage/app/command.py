"""``preimage app``."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

HOST, PORT = "127.0.0.1", 8765


@click.command("app")
@click.argument("file", required=False, metavar="[MODEL or DATA]", type=click.Path(exists=True, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), help=f"Port of the page; by default {PORT}, or a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def open_app(file: Path | None, port: int | None, no_browser: bool) -> None:
    """Open a page in the browser: explore codes, denoise, compare methods, fill gaps, find unusual rows.

    MODEL or DATA is shown first. The page is served to this computer only, at an address that holds a secret token.
    Files go to a temporary folder, which is removed at the end. Ctrl-C ends the app.
    """
    try:
        import uvicorn

        from preimage.app.server import application
    except ImportError as error:
        raise click.ClickException('the app needs Starlette and uvicorn: pip install "preimage[app]".') from error

    with _listening(port) as listener, suppress(KeyboardInterrupt):
        token, number = secrets.token_urlsafe(16), listener.getsockname()[1]
        address = f"http://{HOST}:{number}/{token}/"
        with application(token, number, file) as guarded:
            settings = uvicorn.Config(guarded, log_level="critical", lifespan="off", ws="none", server_header=False)
            settings.timeout_graceful_shutdown = 1  # second for open connections
            server = uvicorn.Server(settings)
            _end_on_signals(server)
            click.echo(f"{address}\nCtrl-C ends the app.")
            if not no_browser:
                _open_when_ready(server, address)
            server.run([listener])


def _listening(port: int | None) -> socket.socket:
    """A socket on the loopback interface, at the given port, else at the usual one or a free one."""
    for number in (PORT, 0) if port is None else (port,):
        listener = socket.socket()
        if sys.platform != "win32":  # there, this option would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, number))
            listener.listen(128)  # so that the address works as soon as it is printed
            return listener
        except OSError as error:
            listener.close()
            reason = error.strerror
    raise click.ClickException(f"port {port} cannot be used ({reason}): choose another, or leave out --port.")


def _end_on_signals(server: Any) -> None:
    """Shut down cleanly, also when the terminal is closed, so that the temporary folder is removed."""
    if hasattr(signal, "SIGHUP"):  # uvicorn handles SIGINT and SIGTERM itself, and raises them again afterwards
        signal.signal(signal.SIGHUP, lambda *_: setattr(server, "should_exit", True))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def _open_when_ready(server: Any, address: str) -> None:
    def wait() -> None:
        while not server.started and not server.should_exit:
            pause.wait(0.05)
        webbrowser.open(address)

    pause = threading.Event()
    threading.Thread(target=wait, daemon=True).start()
