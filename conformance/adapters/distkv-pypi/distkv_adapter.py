"""
The original for the suite: its codec.

    peerproof run distkv --impl conformance/adapters/distkv-pypi/adapter

A server of the original cannot be taken out of its surroundings: it reads the clock of the machine and draws where it stands. So
nothing of the exchange is claimed; what real servers do among real nodes is tested over Serf.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from messages import Rejected, decoded, encoded

NAME = "distkv-pypi"


class Refused(Exception):
    """The adapter cannot do that: a code of the adapter protocol, and why."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply, without its id."""
    match request["op"]:
        case "hello":
            return hello(*request["protocol"])
        case "decode" | "encode" if request["protocol"] != "distkv":
            raise Refused("unsupported", f"there is no {request['protocol']} here")
        case "decode":
            return or_rejected(lambda: {"value": decoded(bytes.fromhex(request["bytes"]))})
        case "encode":
            return or_rejected(lambda: {"bytes": encoded(request["value"]).hex()})
        case "batch":
            return {"results": [replied(item) for item in request["items"]]}
        case "bye":
            return {}
        case op:
            raise Refused("unknown_op", f"there is no op {op}")


def hello(least: int, most: int) -> dict[str, Any]:
    """Who is judged, and for what."""
    if not least <= 1 <= most:
        raise Refused("version", f"this is version 1, not {least} to {most}")
    return {
        "protocol": 1,
        "name": NAME,
        "version": version("distkv"),
        "language": f"python {platform.python_version()}",
        "protocols": {"distkv": {"capabilities": ["codec"]}},
    }


def or_rejected(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns what the original answers; a rejection is an answer, too."""
    try:
        return ask()
    except Rejected as rejected:
        kind, message = rejected.args
        return {"rejected": {"class": kind, "message": message[:200]}}


def replied(request: dict[str, Any]) -> dict[str, Any]:
    """The reply, whatever happens."""
    try:
        return {"ok": True, **answer(request)}
    except Refused as refused:
        code, message = refused.args
    except Exception as error:  # noqa: BLE001  # whatever a request does, it gets an answer
        code, message = "panic", repr(error)
    return {"error": {"code": code, "message": message}}


def main() -> None:
    """One JSON object a line in, one out."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **replied(request)}), flush=True)
        if request["op"] == "bye":
            break


if __name__ == "__main__":
    main()
