"""
The adapter: reads requests from standard input and writes replies to standard output, one JSON object a line.

There is nothing to fill in here. It starts with `python3 -m adapter`; what your implementation logs belongs on standard error.
"""

from __future__ import annotations

import json
import platform
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from . import codec, events, queries
from .choices import CHOICES, Choices
from .effects import Effects

NAME: Final = "my-node"
VERSION: Final = "0.1.0"
PROTOCOL: Final = "scuttlebutt"
TRANSPORT: Final = "udp"

Plain = dict[str, Any]


class Trouble(Exception):
    """The adapter cannot carry out a request; the code is one of the adapter protocol's error codes."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass
class Life:
    """The node of a handle, None after a crash, and how it was opened."""

    addr: Any
    config: Plain
    seed: str
    choices: Choices
    node: events.Node | None = None

    def begin(self, config: Plain, now: int) -> Plain:
        """Starts a node, and returns its first effects."""
        birth = events.Birth(self.addr, config, self.seed, now, self.choices)
        effects = Effects(TRANSPORT)
        self.node = events.Node(birth, effects)
        return outcome(self.node, effects)

    def load(self, state: Plain, timers: list[Plain], now: int) -> Plain:
        """Puts a node into a state."""
        birth = events.Birth(self.addr, self.config, self.seed, now, self.choices)
        self.node = events.Node.load(birth, state, timers)
        return outcome(self.node, Effects(TRANSPORT))


class Adapter:
    """Answers requests. Nodes share nothing but the adapter."""

    def __init__(self) -> None:
        self.lives: dict[int, Life] = {}
        self.opened = 0
        self.choices = Choices()
        self.ops: dict[str, Callable[[Plain], Plain]] = {
            "hello": self.hello,
            "encode": self.encode,
            "decode": self.decode,
            "open": self.open,
            "load": self.load,
            "recv": self.recv,
            "advance": self.advance,
            "call": self.call,
            "sent": self.sent,
            "stream": self.stream,
            "query": self.query,
            "crash": self.crash,
            "restart": self.restart,
            "close": self.close,
            "batch": self.batch,
            "bye": lambda _: {},
        }

    def answer(self, request: Plain) -> Plain:
        """Returns the reply without its id. Every request gets a reply, even if the implementation raises an error."""
        if "id" in request:  # also an item of a batch, if it may ask
            self.choices.begin(request["id"])
        try:
            return {"ok": True, **self.ops.get(request["op"], unknown)(request)}
        except Trouble as trouble:
            code, detail = trouble.code, str(trouble)
        except NotImplementedError as missing:
            code, detail = "unsupported", str(missing)
        except Exception as error:  # noqa: BLE001  # the suite reports the request at which it happened
            traceback.print_exc()
            code, detail = "panic", repr(error)
        return {"error": {"code": code, "message": detail}}

    def hello(self, request: Plain) -> Plain:
        """Returns the name of the implementation, and its capabilities."""
        least, most = request["protocol"]
        if not least <= 1 <= most:
            raise Trouble("version", f"this is version 1, not {least} to {most}")
        claimed = codec.CAPABILITIES + events.CAPABILITIES + queries.CAPABILITIES
        return {
            "protocol": 1,
            "name": NAME,
            "version": VERSION,
            "language": f"python {platform.python_version()}",
            "protocols": {PROTOCOL: {"capabilities": claimed}},
            "choices": CHOICES,
        }

    def encode(self, request: Plain) -> Plain:
        """Encodes a message."""
        ours(request)
        return {"bytes": codec.encode(request["value"]).hex()}

    def decode(self, request: Plain) -> Plain:
        """Decodes a message. Malformed bytes are a result, not an error."""
        ours(request)
        try:
            return {"value": codec.decode(bytes.fromhex(request["bytes"]))}
        except codec.Malformed as error:
            return {"rejected": {"class": error.reason, "message": str(error)}}

    def open(self, request: Plain) -> Plain:
        """Starts a node."""
        life = self.conceive(request)
        return self.keep(life, life.begin(life.config, request["now_ms"]))

    def load(self, request: Plain) -> Plain:
        """Loads a node with a state."""
        life = self.conceive(request)
        state, timers = request["state"], request.get("timers", [])
        return self.keep(life, life.load(state, timers, request["now_ms"]))

    def conceive(self, request: Plain) -> Life:
        """Returns the node of a request that opens one; it has not started yet."""
        ours(request)
        config, seed = request.get("config", {}), request.get("seed", "")
        return Life(request["addr"], config, seed, self.choices)

    def keep(self, life: Life, begun: Plain) -> Plain:
        """Gives a started node its handle, and returns the reply."""
        self.opened += 1
        self.lives[self.opened] = life
        return {"handle": self.opened, **begun}

    def recv(self, request: Plain) -> Plain:
        """Handles a message; a malformed one is dropped."""
        node, effects = self.running(request), Effects(TRANSPORT)
        try:
            data = bytes.fromhex(request["bytes"])
            node.receive(request["from"], data, request["now_ms"], effects)
        except codec.Malformed as error:
            print(f"{NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(node, effects)

    def advance(self, request: Plain) -> Plain:
        """Runs the timers that are due."""
        node, effects = self.running(request), Effects(TRANSPORT)
        node.advance(request["now_ms"], effects)
        return outcome(node, effects)

    def call(self, request: Plain) -> Plain:
        """Handles a call of the application, which may be refused."""
        node, effects = self.running(request), Effects(TRANSPORT)
        try:
            node.call(request["name"], request["args"], request["now_ms"], effects)
        except events.Refused as refusal:
            refused = {"class": refusal.reason, "message": str(refusal)}
            return {**outcome(node, effects), "refused": refused}
        return outcome(node, effects)

    def sent(self, request: Plain) -> Plain:
        """Handles the outcome of a message that the node sent."""
        node, effects = self.running(request), Effects(TRANSPORT)
        to, data = request["to"], bytes.fromhex(request["bytes"])
        node.settle(to, data, request["took_us"], request["now_ms"], effects)
        return outcome(node, effects)

    def stream(self, request: Plain) -> Plain:
        """Handles an event of a connection that a peer opened."""
        node, effects = self.running(request), Effects(TRANSPORT)
        data = bytes.fromhex(request.get("bytes", ""))
        conn, event = request["conn"], request["event"]
        try:
            node.on_connection(conn, event, data, request["now_ms"], effects)
        except codec.Malformed as error:
            print(f"{NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(node, effects)

    def query(self, request: Plain) -> Plain:
        """Answers a query."""
        node, args = self.running(request), request.get("args", {})
        return {"value": queries.answer(node, request["what"], args)}

    def crash(self, request: Plain) -> Plain:
        """Crashes a node; its handle stays valid."""
        self.life(request).node = None
        return {}

    def restart(self, request: Plain) -> Plain:
        """Starts a crashed node again; the configuration has what a real node keeps on disk."""
        life = self.life(request)
        config = {**life.config, **request.get("config", {})}
        return life.begin(config, request["now_ms"])

    def close(self, request: Plain) -> Plain:
        """Forgets a node."""
        self.life(request)
        del self.lives[request["handle"]]
        return {}

    def batch(self, request: Plain) -> Plain:
        """Answers several requests of one line."""
        return {"results": [self.answer(item) for item in request["items"]]}

    def life(self, request: Plain) -> Life:
        """Returns what the request's handle stands for."""
        if request["handle"] not in self.lives:
            raise Trouble("no_handle", f"there is no handle {request['handle']}")
        return self.lives[request["handle"]]

    def running(self, request: Plain) -> events.Node:
        """Returns the node of the request's handle."""
        node = self.life(request).node
        if node is None:
            raise Trouble("no_handle", f"node {request['handle']} has crashed")
        return node


def unknown(request: Plain) -> Plain:
    """Rejects an unknown op."""
    raise Trouble("unknown_op", f"there is no op {request['op']}")


def ours(request: Plain) -> None:
    """Raises Trouble if the request is about another protocol."""
    if request["protocol"] != PROTOCOL:
        raise Trouble("unsupported", f"there is no {request['protocol']} here")


def outcome(node: events.Node, effects: Effects) -> Plain:
    """Returns the effects of a node, and the time of its next timer."""
    return {"effects": effects.done, "next_timer_ms": node.next_timer}


def main() -> None:
    """Answers line by line, until `bye` or the end of the input."""
    adapter = Adapter()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **adapter.answer(request)}), flush=True)
        if request["op"] == "bye":
            break


if __name__ == "__main__":
    main()
