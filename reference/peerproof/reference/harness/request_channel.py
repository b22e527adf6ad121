"""
The channel between a runner and a harness: one JSON object per line, over any pair of byte streams.

A runner may send requests without waiting for replies, so the answer to a choice may follow further requests; these are queued.
A line that is no request gets an error reply, because the runner waits for a line.
"""

from __future__ import annotations

import json
import socketserver
import sys
from collections import deque
from collections.abc import Callable
from io import BufferedIOBase
from typing import Any, BinaryIO, Final, Protocol

from peerproof.spec.forms.form import Plain

#: Maximum bytes of a line, without the newline.
MAX_LINE: Final = 16 * 2**20

Choose = Callable[[dict[str, Any]], list[int]]


class Unreadable(Exception):
    """A line that is not a JSON object."""


class Unanswered(Exception):
    """The runner has answered a different choice than the pending one."""


class Gone(Exception):
    """The runner has closed its end while a choice was pending."""


class Handler(Protocol):
    """Answers requests."""

    closing: bool  #: set by `bye`

    def handle(self, request: dict[str, Any], choose: Choose) -> dict[str, Any]:
        """Returns the reply to a request, with its id. Raises only exceptions of `choose`, except `Unanswered`."""


class Channel:
    """The channel to one runner."""

    def __init__(self, incoming: BinaryIO | BufferedIOBase, outgoing: BinaryIO | BufferedIOBase) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._waiting: deque[dict[str, Any] | Unreadable] = deque()

    def serve(self, handler: Handler) -> None:
        """Answers every line until `bye` or the end of the input."""
        while not handler.closing:
            request = self._waiting.popleft() if self._waiting else self._read()
            if request is None:
                return
            if isinstance(request, Unreadable):
                self._write({"id": None, "error": {"code": "bad_request", "message": str(request)}})
                continue
            try:
                self._write(handler.handle(request, self._choose), request.get("id"))
            except Gone:
                return

    def _choose(self, question: dict[str, Any]) -> list[int]:
        self._write({"choice": question})
        while True:
            line = self._read()
            if line is None:
                raise Gone
            if isinstance(line, dict) and "choice" in line:
                return _parse_answer(question, line["choice"])
            self._waiting.append(line)

    def _read(self) -> dict[str, Any] | Unreadable | None:
        line = self._incoming.readline(MAX_LINE + 1)
        if not line:
            return None
        if not line.endswith(b"\n") and len(line) > MAX_LINE:
            while (rest := self._incoming.readline(2**16)) and not rest.endswith(b"\n"):
                pass
            return Unreadable(f"the line has more than {MAX_LINE} bytes")
        try:
            request = json.loads(line.decode())
        except RecursionError:
            return Unreadable("the line is JSON that is nested too deeply")
        except ValueError as error:  # not UTF-8, not JSON, or a number with more digits than Python parses
            return Unreadable(f"the line is not JSON: {error}")
        return request if isinstance(request, dict) else Unreadable("the line is not a JSON object")

    def _write(self, reply: dict[str, Any], request_id: Plain = None) -> None:
        line = json.dumps(reply, separators=(",", ":")).encode()
        if len(line) > MAX_LINE:
            error = {"code": "internal", "message": f"the reply has {len(line)} bytes; a line has at most {MAX_LINE}"}
            line = json.dumps({"id": request_id, "error": error}).encode()
        self._outgoing.write(line + b"\n")
        self._outgoing.flush()


def _parse_answer(question: dict[str, Any], answer: Plain) -> list[int]:
    """Returns the indices of an answer, unchecked. Raises Unanswered."""
    if not isinstance(answer, dict) or answer.get("for") != question["for"] or answer.get("n") != question["n"]:
        raise Unanswered(f"choice: expected the answer for {question['for']!r}, n {question['n']}, found {answer!r}")
    pick: list[int] = answer.get("pick")  # type: ignore[assignment]  # the caller checks it
    return pick


def serve_stdio(handler: Handler) -> None:
    """Serves the runner at standard input and output."""
    Channel(sys.stdin.buffer, sys.stdout.buffer).serve(handler)


class _Connection(socketserver.StreamRequestHandler):
    wbufsize = -1  # buffered: one packet per line

    def handle(self) -> None:
        assert isinstance(self.server, Server)
        try:
            Channel(self.rfile, self.wfile).serve(self.server.make_handler())
        except ConnectionError as error:
            print(f"peerproof node harness: {self.client_address[0]}:{self.client_address[1]}: {error}", file=sys.stderr)


class Server(socketserver.ThreadingTCPServer):
    """A TCP server for runners. Each connection has its own handler."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], make_handler: Callable[[], Handler]) -> None:
        super().__init__(address, _Connection)
        self.make_handler = make_handler
