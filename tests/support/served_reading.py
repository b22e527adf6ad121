"""
A program behind the adapter protocol that takes another reading of a decision: the reference with one difference.

    python served_reading.py PROTOCOL CLAUSE NAME [declared]      with `declared` its hello names the reading
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from peerproof.conformance.readings import readings_of
from peerproof.reference.harness.request_channel import serve_stdio


def main(protocol: str, clause: str, name: str, *declared: str) -> None:
    """Serves a runner at standard input and output."""
    (reading,) = (one for one in readings_of(protocol) if (one.clause, one.name) == (clause, name))
    base: Any = type(reading.variant(protocol))

    class Served(base):  # type: ignore[misc]  # a class that is made when it is needed
        def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
            reply: dict[str, Any] = super().handle(request, choose)
            return reply | {"readings": {clause: name}} if declared and request.get("op") == "hello" else reply

    serve_stdio(Served())


if __name__ == "__main__":
    main(*sys.argv[1:])
