"""Parsing of a runner's requests. Each function raises RequestError or MalformedMessage for a missing or invalid member."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import signature
from typing import Any, Final

from peerproof.reference.harness.node_handle import Handle
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.core import Instant
from peerproof.spec.forms.form import Integer, Plain

INSTANT: Final = Integer()

#: Events of a connection.
STREAM_EVENTS: Final = ("open", "data", "eof", "reset")

#: Maximum characters of a value in an error message.
MOST_SHOWN: Final = 80


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def now(request: dict[str, Any], node: Handle) -> Instant:
    """Parses the time, which must not be before the node's clock."""
    instant = Instant(INSTANT.value(request.get("now_ms"), "now_ms"))
    if instant < node.clock:
        raise RequestError("bad_request", f"now_ms: {instant} is before {node.clock}; a node's clock does not go back")
    return instant


def timers(request: dict[str, Any], node: Handle) -> Iterator[tuple[Any, Instant]]:
    """Parses the timers of `load`, with the time at which each is due."""
    given = request.get("timers", [])
    for index, item in enumerate(given if isinstance(given, list) else [given]):
        where = f"timers[{index}]"
        if not isinstance(item, dict) or item.keys() != {"timer", "due_ms"}:
            raise RequestError("bad_request", f"{where}: expected an object with timer and due_ms, found {render_value(item)}")
        due = Instant(INSTANT.value(item["due_ms"], f"{where}.due_ms"))
        if due < node.clock:
            raise RequestError("bad_request", f"{where}.due_ms: {due} is before {node.clock}")
        yield node.specification.TIMER.value(item["timer"], f"{where}.timer"), due


def connection(request: dict[str, Any], node: Handle) -> tuple[str, str, bytes]:
    """Parses the name of a connection, its event, and the bytes received."""
    conn, event = member(request, "conn", str), member(request, "event", str)
    if event not in STREAM_EVENTS:
        raise RequestError("bad_request", f"event: expected {', '.join(STREAM_EVENTS)}, found {render_value(event)}")
    if (event == "open") == (conn in node.connections):
        raise RequestError("bad_request", f"conn: {render_value(conn)} is {'open already' if event == 'open' else 'not open'}")
    return conn, event, octets(request) if event == "data" else b""


def command(request: dict[str, Any], protocol: Runtime) -> Any:
    """Parses a command of the application."""
    form = protocol.specification().COMMAND
    name, args = member(request, "name", str), member(request, "args", dict)
    if name not in form.cases:
        raise RequestError("unsupported", f"{protocol.name} has no call {render_value(name)}")
    return form.value({**args, "type": name})


def answer(request: dict[str, Any], protocol: Runtime, state: Any) -> Plain:
    """Answers a query from a node's state."""
    what, queries = member(request, "what", str), protocol.specification().QUERIES
    if what not in queries:
        raise RequestError("unsupported", f"{protocol.name} has no query {render_value(what)}")
    args = member(request, "args", dict) if "args" in request else {}
    expected = list(signature(queries[what]).parameters)[1:]
    if list(args) != expected:
        raise RequestError("bad_request", f"args: {what} takes {', '.join(expected) or 'no args'}, found {render_value(args)}")
    return queries[what](state, **args)


def octets(request: dict[str, Any]) -> bytes:
    """Parses the member `bytes`."""
    digits = member(request, "bytes", str)
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise RequestError("bad_request", f"bytes: expected hexadecimal digits, found {render_value(digits)}") from None


def member(request: dict[str, Any], name: str, kind: type[str | dict[str, Any] | list[Any]]) -> Any:
    """Returns a member, which must have this type."""
    value = request.get(name)
    if not isinstance(value, kind):
        expected = "a string" if kind is str else "an object" if kind is dict else "a list"
        raise RequestError("bad_request", f"{name}: expected {expected}, found {render_value(value)}")
    return value


def render_value(value: Plain) -> str:
    """Renders a value for an error message, cut to `MOST_SHOWN` characters."""
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
