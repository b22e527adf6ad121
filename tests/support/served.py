"""Nodes on real sockets that do not keep to the protocol."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

from tests.support.catching import suite

from peerproof.reference.divergences.wendy import WD12, Diverging
from peerproof.reference.harness.harness import Harness
from peerproof.spec.connections import parse_endpoint

MESSAGE = next(bytes.fromhex(v.body["bytes"]) for v in suite().vectors if v.id == "wendy/codec/sample-heartbeat")


class Slow(Diverging):
    """It thinks before it speaks."""

    instead = WD12.instead

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """The reply."""
        time.sleep(0.05)
        return super().handle(request, choose)


class Silent(Harness):
    """A node that can be reached, and says to its contact what it should not."""

    said: bytes | None = None

    def __init__(self) -> None:
        super().__init__()
        self._listening: list[socket.socket] = []

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """The reply."""
        match request:
            case {"op": "serve", "bind": bind}:
                self._listening.append(socket.create_server((bind.rpartition(":")[0], 0)))
                name, port = self._listening[-1].getsockname()
                return {"id": request["id"], "ok": True, "handle": len(self._listening), "addrs": {"tcp": f"{name}:{port}"}}
            case {"op": "call", "args": {"contact": contact}} if self.said is not None:
                with socket.create_connection(parse_endpoint(contact)) as opened:
                    opened.sendall(self.said)
            case {"op": "close"}:
                self._listening[request["handle"] - 1].close()
            case {"op": "call" | "advance"}:
                pass
            case _:
                return super().handle(request, choose)
        return {"id": request["id"], "ok": True, "effects": [], "next_timer_ms": None}


class BreaksOff(Silent):
    """In the middle of a message."""

    said = MESSAGE[:40]


class Garbled(Silent):
    """No object at all."""

    said = b"[1, 2]\n"


class Empty(Silent):
    """Nothing: it just looks whether somebody is there."""

    said = b""
