"""
The explorer's server: plain data and a page, for this machine alone.

It listens on loopback, answers only to its own address, and only below a random token, so that no other page that is open in the
browser can ask it anything.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import PurePath
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.captures.pcap import NoCapture
from peerproof.conformance.explorer.page_file import legend_of
from peerproof.conformance.explorer.path_check import NoSuchNode, check_path, path_vector
from peerproof.conformance.explorer.recorded_run import Run
from peerproof.conformance.explorer.vector_run import NotRun
from peerproof.conformance.explorer.walk import NoSuchModel, NoSuchPath, TooMany, Walk, explorable
from peerproof.conformance.models.counterexample_vectors import NothingSeen, OutOfTime
from peerproof.conformance.traces.trace_diagram import NoTrace
from peerproof.spec.protocols import PROTOCOLS

#: The types of the page's files, by suffix.
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}

#: The files of the page.
PAGE: Final = tuple(sorted(file.name for file in (files(__package__) / "page").iterdir() if PurePath(file.name).suffix in TYPES))

#: The parameters of a request.
Query: TypeAlias = dict[str, str]

#: What a browser may load: nothing from elsewhere, and no script or style within the page.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)

#: The specification behind the adapter protocol.
REFERENCE: Final = "py:peerproof.reference.harness.harness:Harness"

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

    def __init__(
        self,
        port: int = 0,
        *,
        runs: Mapping[str, Callable[[], Run]] | None = None,
        first: Sequence[Run] = (),
        implementation: str | None = None,
        reach: Callable[[], Adapter] | None = None,
    ) -> None:
        """
        Shows the models, or if `runs` are given, these by their titles; each is made anew when the page is loaded again. `first`
        are those that were made already.

        `reach` makes the adapter of the implementation that plays a node of a model. Port 0 is a free one. Raises OSError if the
        port is taken.
        """
        super().__init__(("127.0.0.1", port), _Handler)
        self.token: Final = secrets.token_urlsafe(16)
        self.has_models: Final = runs is None
        self.runs: Final = dict(runs or {})
        self.implementation: Final = implementation
        self.reach: Final = reach
        self.lock: Final = threading.Lock()
        self._walks: Final[dict[tuple[str, str], Walk]] = {}
        self._made: Final = dict(enumerate(first))
        self._unseen: Final = set(self._made)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def walk(self, protocol: str, name: str) -> Walk:
        """Returns the walk through a model, the same one every time. Raises Refused, NoSuchModel."""
        if protocol not in PROTOCOLS:
            raise Refused(HTTPStatus.NOT_FOUND, f"unknown protocol {protocol!r}")
        if (protocol, name) not in self._walks:
            self._walks[protocol, name] = Walk(protocol, name)
        return self._walks[protocol, name]

    def run(self, number: int, *, anew: bool = False) -> Run:
        """Returns a run by its place among the runs; `anew` makes it again. Raises Refused."""
        if not 0 <= number < len(self.runs):
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no run {number}")
        if (anew and number not in self._unseen) or number not in self._made:
            self._made[number] = list(self.runs.values())[number]()
        self._unseen.discard(number)
        return self._made[number]


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
            return TYPES[PurePath(name).suffix], (files(__package__) / "page" / name).read_bytes()
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        if name not in _ANSWERS:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no {name!r}")
        with self.server.lock:
            try:
                found = _ANSWERS[name](self.server, query)
            except _UNANSWERED as error:
                raise Refused(HTTPStatus.NOT_FOUND, str(error)) from None
            except OSError as error:
                raise Refused(HTTPStatus.NOT_FOUND, f"{error.filename}: {error.strerror}") from None
        return "application/json", json.dumps(found, ensure_ascii=False).encode("utf-8", "backslashreplace")

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


def create_reference() -> Adapter:
    """Makes the adapter of the specification, in this process."""
    return create_adapter(REFERENCE)


def _info(server: Explorer, _: Query) -> Any:
    models = {protocol: explorable(protocol) for protocol in PROTOCOLS} if server.has_models else {}
    return {"models": models, "runs": list(server.runs), "implementation": server.implementation, "alone": False}


def _view(server: Explorer, query: Query) -> Any:
    walk, path = _place(server, query)
    reaches = walk.reaches()
    if (question := query.get("question", "")) not in {"", *(reach.name for reach in reaches)}:
        raise Refused(HTTPStatus.NOT_FOUND, f"nothing to reach is called {question!r}")
    return {**walk.view(path, question), "reaches": [reach.plain() for reach in reaches]}


def _way(server: Explorer, query: Query) -> Any:
    walk, _ = _place(server, query)
    if query.get("to") not in {reach.name for reach in walk.reaches()}:
        raise Refused(HTTPStatus.NOT_FOUND, f"nothing to reach is called {query.get('to')!r}")
    return {"path": walk.way_to(query["to"])}


def _find(server: Explorer, query: Query) -> Any:
    walk, _ = _place(server, query)
    field = query.get("field", "")
    path = walk.way_to_state(field, query.get("value", ""), query.get("node") or None)
    return {"path": path, "known": path is not None or walk.has_field(field)}


def _check(server: Explorer, query: Query) -> Any:
    if server.reach is None:
        raise Refused(HTTPStatus.NOT_FOUND, "no implementation: peerproof model explore --impl COMMAND")
    walk, path = _place(server, query)
    try:
        return check_path(walk, path, query.get("node", ""), server.reach)
    except (NothingSeen, OutOfTime, NotRun) as error:
        return {"problem": str(error)}


def _vector(server: Explorer, query: Query) -> Any:
    walk, path = _place(server, query)
    found, text = path_vector(walk, path, query.get("node", ""))
    return {"name": f"{found.vector['id'].rpartition('/')[2]}.yaml", "text": text}


def _run(server: Explorer, query: Query) -> Any:
    return server.run(_number(query, "run"), anew=True).outline()


def _moment(server: Explorer, query: Query) -> Any:
    run = server.run(_number(query, "run"))
    nodes = json.loads(query["nodes"]) if "nodes" in query else None
    return run.view(min(max(_number(query, "at"), -1), len(run.moments) - 1), nodes)


def _seek(server: Explorer, query: Query) -> Any:
    run = server.run(_number(query, "run"))
    return {"moment": run.seek(_number(query, "at"), query.get("field", ""), query.get("value", ""))}


def _legend(_: Explorer, query: Query) -> Any:
    return legend_of(query.get("protocol", ""))


def _number(query: Query, name: str) -> int:
    try:
        return int(query.get(name, "0"))
    except ValueError:
        raise Refused(HTTPStatus.NOT_FOUND, f"{name} is not a number: {query[name]!r}") from None


def _place(server: Explorer, query: Query) -> tuple[Walk, list[str]]:
    walk = server.walk(query.get("protocol", ""), query.get("model", ""))
    return walk, [part for part in query.get("path", "").split(".") if part]


_ANSWERS: Final[Mapping[str, Callable[[Explorer, Query], Any]]] = {
    "info.json": _info,
    "view.json": _view,
    "way.json": _way,
    "find.json": _find,
    "check.json": _check,
    "vector.json": _vector,
    "run.json": _run,
    "moment.json": _moment,
    "seek.json": _seek,
    "legend.json": _legend,
}

#: What a request may ask for that is not there, or cannot be had.
_UNANSWERED: Final = (
    *(NoSuchPath, NoSuchModel, NoSuchNode, NothingSeen, OutOfTime, TooMany),
    *(NotRun, AdapterUnavailable, NoTrace, NoCapture),
)
