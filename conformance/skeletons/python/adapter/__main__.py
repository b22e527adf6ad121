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
    """The adapter cannot do what it was asked; the code is one of the adapter protocol's."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass
class Life:
    """What is behind a handle: how the node was opened, and the node, unless it has crashed."""

    addr: Any
    config: Plain
    seed: str
    choices: Choices
    node: events.Node | None = None

    def begin(self, config: Plain, now: int) -> Plain:
        """A new node, and what it did at its start."""
        birth = events.Birth(self.addr, config, self.seed, now, self.choices)
        effects = Effects(TRANSPORT)
        self.node = events.Node(birth, effects)
        return outcome(self.node, effects)

    def load(self, state: Plain, timers: list[Plain], now: int) -> Plain:
        """A node in a state."""
        birth = events.Birth(self.addr, self.config, self.seed, now, self.choices)
        self.node = events.Node.load(birth, state, timers)
        return outcome(self.node, Effects(TRANSPORT))


class Adapter:
    """Answers requests. All that a node knows is behind its handle."""

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
        """The reply without its id. Whatever the request does to the implementation, there is one."""
        if "id" in request:  # also an item of a batch, if it may ask
            self.choices.begin(request["id"])
        try:
            return {"ok": True, **self.ops.get(request["op"], unknown)(request)}
        except Trouble as trouble:
            code, detail = trouble.code, str(trouble)
        except NotImplementedError as missing:
            code, detail = "unsupported", str(missing)
        except Exception as error:  # noqa: BLE001  # it goes on, and the suite says for what request that happened
            traceback.print_exc()
            code, detail = "panic", repr(error)
        return {"error": {"code": code, "message": detail}}

    def hello(self, request: Plain) -> Plain:
        """Who is judged, and for what."""
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
        """A message to bytes."""
        ours(request)
        return {"bytes": codec.encode(request["value"]).hex()}

    def decode(self, request: Plain) -> Plain:
        """Bytes to a message. That they are none is the implementation's verdict, and no error."""
        ours(request)
        try:
            return {"value": codec.decode(bytes.fromhex(request["bytes"]))}
        except codec.Malformed as error:
            return {"rejected": {"class": error.reason, "message": str(error)}}

    def open(self, request: Plain) -> Plain:
        """A node begins."""
        life = self.conceive(request)
        return self.keep(life, life.begin(life.config, request["now_ms"]))

    def load(self, request: Plain) -> Plain:
        """A node is in a state."""
        life = self.conceive(request)
        state, timers = request["state"], request.get("timers", [])
        return self.keep(life, life.load(state, timers, request["now_ms"]))

    def conceive(self, request: Plain) -> Life:
        """What will be behind a handle."""
        ours(request)
        config, seed = request.get("config", {}), request.get("seed", "")
        return Life(request["addr"], config, seed, self.choices)

    def keep(self, life: Life, begun: Plain) -> Plain:
        """The reply about a node that has begun, with its handle."""
        self.opened += 1
        self.lives[self.opened] = life
        return {"handle": self.opened, **begun}

    def recv(self, request: Plain) -> Plain:
        """A message comes in; one that is malformed is dropped."""
        node, effects = self.running(request), Effects(TRANSPORT)
        try:
            data = bytes.fromhex(request["bytes"])
            node.receive(request["from"], data, request["now_ms"], effects)
        except codec.Malformed as error:
            print(f"{NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(node, effects)

    def advance(self, request: Plain) -> Plain:
        """Time passes."""
        node, effects = self.running(request), Effects(TRANSPORT)
        node.advance(request["now_ms"], effects)
        return outcome(node, effects)

    def call(self, request: Plain) -> Plain:
        """The application asks for something, which may be refused."""
        node, effects = self.running(request), Effects(TRANSPORT)
        try:
            node.call(request["name"], request["args"], request["now_ms"], effects)
        except events.Refused as refusal:
            refused = {"class": refusal.reason, "message": str(refusal)}
            return {**outcome(node, effects), "refused": refused}
        return outcome(node, effects)

    def sent(self, request: Plain) -> Plain:
        """A node learns what became of its message."""
        node, effects = self.running(request), Effects(TRANSPORT)
        to, data = request["to"], bytes.fromhex(request["bytes"])
        node.settle(to, data, request["took_us"], request["now_ms"], effects)
        return outcome(node, effects)

    def stream(self, request: Plain) -> Plain:
        """Something happens to a connection that a peer has opened."""
        node, effects = self.running(request), Effects(TRANSPORT)
        data = bytes.fromhex(request.get("bytes", ""))
        conn, event = request["conn"], request["event"]
        try:
            node.on_connection(conn, event, data, request["now_ms"], effects)
        except codec.Malformed as error:
            print(f"{NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(node, effects)

    def query(self, request: Plain) -> Plain:
        """Somebody looks at a node."""
        node, args = self.running(request), request.get("args", {})
        return {"value": queries.answer(node, request["what"], args)}

    def crash(self, request: Plain) -> Plain:
        """A node is gone; its handle is not."""
        self.life(request).node = None
        return {}

    def restart(self, request: Plain) -> Plain:
        """It begins again, with what a real one keeps on disk in the configuration."""
        life = self.life(request)
        config = {**life.config, **request.get("config", {})}
        return life.begin(config, request["now_ms"])

    def close(self, request: Plain) -> Plain:
        """Nobody will ask for it again."""
        self.life(request)
        del self.lives[request["handle"]]
        return {}

    def batch(self, request: Plain) -> Plain:
        """Several requests in one line."""
        return {"results": [self.answer(item) for item in request["items"]]}

    def life(self, request: Plain) -> Life:
        """What is behind the request's handle."""
        if request["handle"] not in self.lives:
            raise Trouble("no_handle", f"there is no handle {request['handle']}")
        return self.lives[request["handle"]]

    def running(self, request: Plain) -> events.Node:
        """The node behind the request's handle."""
        node = self.life(request).node
        if node is None:
            raise Trouble("no_handle", f"node {request['handle']} has crashed")
        return node


def unknown(request: Plain) -> Plain:
    """There is no such op."""
    raise Trouble("unknown_op", f"there is no op {request['op']}")


def ours(request: Plain) -> None:
    """Raises Trouble if that is about another protocol."""
    if request["protocol"] != PROTOCOL:
        raise Trouble("unsupported", f"there is no {request['protocol']} here")


def outcome(node: events.Node, effects: Effects) -> Plain:
    """What a node did, and when it wants to do something by itself."""
    return {"effects": effects.done, "next_timer_ms": node.next_timer}


def main() -> None:
    """Answers line by line, until it is told to end or nobody asks any more."""
    adapter = Adapter()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **adapter.answer(request)}), flush=True)
        if request["op"] == "bye":
            break


if __name__ == "__main__":
    main()
