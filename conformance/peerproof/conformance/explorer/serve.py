"""
The explorer's server: plain data and a page, for this machine alone.

It listens on loopback, answers only to its own address, and only below a random token, so that no other page that is open in the
browser can ask it anything.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from peerproof.conformance.diagrams.svg import render_svg
from peerproof.conformance.explorer.walk import NoSuchModel, NoSuchPath, Walk, explorable
from peerproof.spec.protocols import PROTOCOLS

#: The files of the page, with their types.
PAGE: Final = {
    "index.html": "text/html; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "explorer.css": "text/css; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
}

#: What a browser may load: nothing from elsewhere, and no script or style within the page.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)

#: Characters of a request's query: longer paths are refused.
LONGEST: Final = 20_000


class Refused(Exception):
    """A request that cannot be answered, with the status to answer with."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Explorer(ThreadingHTTPServer):
    """The server. `address` is what to open in a browser; `serve_forever` runs it until `shutdown`."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        """Port 0 is a free one. Raises OSError if the port is taken."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.token: Final = secrets.token_urlsafe(16)
        self.walks: Final[dict[tuple[str, str], Walk]] = {}
        self.lock: Final = threading.Lock()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def walk(self, protocol: str, name: str) -> Walk:
        """Returns the walk through a model, the same one every time. Raises Refused."""
        if protocol not in PROTOCOLS:
            raise Refused(HTTPStatus.NOT_FOUND, f"unknown protocol {protocol!r}")
        if (protocol, name) not in self.walks:
            try:
                self.walks[protocol, name] = Walk(protocol, name)
            except NoSuchModel as error:
                raise Refused(HTTPStatus.NOT_FOUND, str(error)) from None
        return self.walks[protocol, name]


class _Handler(BaseHTTPRequestHandler):
    server: Explorer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # the name that http.server calls
        """Answers one request."""
        try:
            kind, body = self._answer()
            self._send(HTTPStatus.OK, kind, body)
        except Refused as refused:
            self._send(refused.status, "application/json", json.dumps({"error": str(refused)}).encode())

    def _answer(self) -> tuple[str, bytes]:
        own = f"127.0.0.1:{self.server.server_port}"
        if self.headers.get("Host") != own or self.headers.get("Origin") not in (None, f"http://{own}"):
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own address only")
        address = urlsplit(self.path)
        _, token, *rest = address.path.split("/", 2)
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or not rest:
            raise Refused(HTTPStatus.NOT_FOUND, "open the address that the command has printed")
        if len(address.query) > LONGEST:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, "this path is too long")
        name = rest[0] or "index.html"
        if name in PAGE:
            return PAGE[name], (files(__package__) / "page" / name).read_bytes()
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        if name not in _ANSWERS:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no {name!r}")
        with self.server.lock:
            return _ANSWERS[name](self.server, query)

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for header, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # the name in http.server
        """Logs nothing."""


def _models(_: Explorer, __: dict[str, str]) -> tuple[str, bytes]:
    return _json({protocol: explorable(protocol) for protocol in PROTOCOLS})


def _view(server: Explorer, query: dict[str, str]) -> tuple[str, bytes]:
    walk, path = _place(server, query)
    try:
        return _json({**walk.view(path), "reaches": [reach.__dict__ for reach in walk.reaches()]})
    except NoSuchPath as error:
        raise Refused(HTTPStatus.NOT_FOUND, str(error)) from None


def _graph(server: Explorer, query: dict[str, str]) -> tuple[str, bytes]:
    walk, path = _place(server, query)
    try:
        return "image/svg+xml", render_svg(walk.graph(path), f"{walk.protocol} {walk.name}").encode()
    except NoSuchPath as error:
        raise Refused(HTTPStatus.NOT_FOUND, str(error)) from None


def _way(server: Explorer, query: dict[str, str]) -> tuple[str, bytes]:
    walk, _ = _place(server, query)
    if query.get("to") not in {reach.name for reach in walk.reaches()}:
        raise Refused(HTTPStatus.NOT_FOUND, f"nothing to reach is called {query.get('to')!r}")
    return _json({"path": walk.way_to(query["to"])})


def _place(server: Explorer, query: dict[str, str]) -> tuple[Walk, list[str]]:
    walk = server.walk(query.get("protocol", ""), query.get("model", ""))
    return walk, [part for part in query.get("path", "").split(".") if part]


def _json(plain: Any) -> tuple[str, bytes]:
    return "application/json", json.dumps(plain, ensure_ascii=False).encode()


_ANSWERS: Final[dict[str, Callable[[Explorer, dict[str, str]], tuple[str, bytes]]]] = {
    "models.json": _models,
    "view.json": _view,
    "graph.svg": _graph,
    "way.json": _way,
}
