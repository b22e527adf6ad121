"""
Answers the requests of the suite with what the files in `plugs.py` have. There is nothing to fill in here.

`pytest` calls `Adapter.handle` in its own process; `python3 -m adapter` is the same adapter as a program.
"""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from .parts import Birth, Choices, Choose, Effects, Malformed, Refused
from .plugs import PLUGS

Plain = dict[str, Any]

#: The ops of a node on a socket, whose messages and time do not come from the suite.
OF_SERVED = ("advance", "call", "query", "close")


class Trouble(Exception):
    """A request cannot be carried out; the code is one of the adapter protocol's error codes."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass
class Life:
    """The implementation of the node of a handle, how the node began, and the node; None after a crash."""

    plug: ModuleType
    birth: Birth
    node: Any = None
    is_served: bool = False  #: it has a socket and a clock of its own

    def effects(self) -> Effects:
        """Returns the effects of a request, of which there are none yet."""
        return Effects(self.plug.TRANSPORT)


class Adapter:
    """Answers requests. Nodes share nothing but the adapter."""

    def __init__(self) -> None:
        self.lives: dict[int, Life] = {}
        self.opened = 0
        self.choices = {plug.PROTOCOL: Choices() for plug in PLUGS}
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
            "serve": self.serve,
            "batch": self.batch,
            "bye": lambda _: {},
        }

    def handle(self, request: Plain, choose: Choose) -> Plain:
        """Returns the reply to a request. `choose` lets the suite answer a question in the middle of it."""
        for plug in PLUGS:
            is_oracle = plug.CHOICES == "oracle"
            self.choices[plug.PROTOCOL].choose = choose if is_oracle else None
        return {"id": request["id"], **self.answer(request)}

    def answer(self, request: Plain) -> Plain:
        """Returns the reply without its id. Every request gets a reply, even if the implementation raises an error."""
        if "id" in request:  # also an item of a batch, if it may ask
            for choices in self.choices.values():
                choices.begin(request["id"])
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
        """Returns the name of the implementation, and its capabilities in each protocol."""
        least, most = request["protocol"]
        if not least <= 1 <= most:
            raise Trouble("version", f"this is version 1, not {least} to {most}")
        hello = {
            "protocol": 1,
            "name": PLUGS[0].NAME,
            "version": PLUGS[0].VERSION,
            "language": f"python {platform.python_version()}",
            "protocols": {
                plug.PROTOCOL: {
                    "capabilities": plug.CAPABILITIES,
                    "choices": plug.CHOICES,
                }
                for plug in PLUGS
            },
        }
        if all(plug.SOCKETS for plug in PLUGS):  # the list is for all protocols
            hello["sockets"] = sorted({name for plug in PLUGS for name in plug.SOCKETS})
        return hello

    def encode(self, request: Plain) -> Plain:
        """Encodes a message."""
        return {"bytes": plug_of(request).encode(request["value"]).hex()}

    def decode(self, request: Plain) -> Plain:
        """Decodes a message. Malformed bytes are a result, not an error."""
        plug = plug_of(request)
        try:
            return {"value": plug.decode(bytes.fromhex(request["bytes"]))}
        except Malformed as error:
            return {"rejected": {"class": error.reason, "message": str(error)}}

    def open(self, request: Plain) -> Plain:
        """Starts a node."""
        life = self.keep(request)
        effects = life.effects()
        life.node = life.plug.Node(life.birth, effects)
        return {"handle": self.opened, **outcome(life, effects)}

    def load(self, request: Plain) -> Plain:
        """Starts a node in a given state."""
        life = self.keep(request)
        state, timers = request["state"], request.get("timers", [])
        life.node = life.plug.Node.load(life.birth, state, timers)
        return {"handle": self.opened, **outcome(life, life.effects())}

    def keep(self, request: Plain) -> Life:
        """Returns the node of a new handle, which has not started yet."""
        plug = plug_of(request)
        config, seed = request.get("config", {}), request.get("seed", "")
        addr, now = request["addr"], request["now_ms"]
        birth = Birth(addr, config, seed, now, self.choices[plug.PROTOCOL])
        self.opened += 1
        self.lives[self.opened] = Life(plug, birth)
        return self.lives[self.opened]

    def serve(self, request: Plain) -> Plain:
        """Starts a node on a socket and a clock of its own."""
        plug = plug_of(request)
        if not plug.SOCKETS:
            raise Trouble("unknown_op", f"{plug.PROTOCOL} has no sockets here")
        via, bind = request["via"], request["bind"]
        config, seed = request.get("config", {}), request.get("seed", "")
        try:
            node, addrs = plug.serve(via, bind, config, seed)
        except (OSError, ValueError) as error:
            raise Trouble("bad_request", str(error)) from None
        birth = Birth(addrs, config, seed, 0, self.choices[plug.PROTOCOL])
        self.opened += 1
        self.lives[self.opened] = Life(plug, birth, node, is_served=True)
        return {"handle": self.opened, "addrs": addrs}

    def recv(self, request: Plain) -> Plain:
        """Handles a message; a malformed one is dropped."""
        life = self.running(request)
        effects = life.effects()
        try:
            data = bytes.fromhex(request["bytes"])
            life.node.receive(request["from"], data, request["now_ms"], effects)
        except Malformed as error:
            print(f"{life.plug.NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(life, effects)

    def advance(self, request: Plain) -> Plain:
        """Runs the timers that are due."""
        life = self.running(request)
        effects = life.effects()
        life.node.advance(request["now_ms"], effects)
        return outcome(life, effects)

    def call(self, request: Plain) -> Plain:
        """Handles a call of the application, which may be refused."""
        life = self.running(request)
        effects = life.effects()
        try:
            life.node.call(request["name"], request["args"], request["now_ms"], effects)
        except Refused as refusal:
            refused = {"class": refusal.reason, "message": str(refusal)}
            return {**outcome(life, effects), "refused": refused}
        return outcome(life, effects)

    def sent(self, request: Plain) -> Plain:
        """Handles the outcome of a message that the node sent."""
        life = self.running(request)
        effects = life.effects()
        data = bytes.fromhex(request["bytes"])
        took, now = request["took_us"], request["now_ms"]
        life.node.settle(request["to"], data, took, now, effects)
        return outcome(life, effects)

    def stream(self, request: Plain) -> Plain:
        """Handles an event of a connection that a peer opened."""
        life = self.running(request)
        effects = life.effects()
        data = bytes.fromhex(request.get("bytes", ""))
        conn, event = request["conn"], request["event"]
        try:
            life.node.on_connection(conn, event, data, request["now_ms"], effects)
        except Malformed as error:
            print(f"{life.plug.NAME}: dropped a message: {error}", file=sys.stderr)
        return outcome(life, effects)

    def query(self, request: Plain) -> Plain:
        """Answers a query."""
        life, args = self.running(request), request.get("args", {})
        return {"value": life.node.query(request["what"], args)}

    def crash(self, request: Plain) -> Plain:
        """Crashes a node; its handle stays valid."""
        self.life(request).node = None
        return {}

    def restart(self, request: Plain) -> Plain:
        """Starts a crashed node again; the configuration has what a real node keeps on disk."""
        life = self.life(request)
        effects = life.effects()
        config = {**life.birth.config, **request.get("config", {})}
        birth = replace(life.birth, config=config, now=request["now_ms"])
        life.node = life.plug.Node(birth, effects)
        return outcome(life, effects)

    def close(self, request: Plain) -> Plain:
        """Forgets a node. One on a socket leaves its address."""
        life = self.life(request)
        if life.is_served:
            life.node.close()
        del self.lives[request["handle"]]
        return {}

    def end(self) -> None:
        """Closes all nodes on sockets, whose threads would keep the program alive."""
        for life in self.lives.values():
            if life.is_served:
                life.node.close()

    def batch(self, request: Plain) -> Plain:
        """Answers several requests of one line."""
        return {"results": [self.answer(item) for item in request["items"]]}

    def life(self, request: Plain) -> Life:
        """Returns what the request's handle stands for."""
        if request["handle"] not in self.lives:
            raise Trouble("no_handle", f"there is no handle {request['handle']}")
        life, op = self.lives[request["handle"]], request["op"]
        if life.is_served and op not in OF_SERVED:
            raise Trouble("unsupported", f"a node on a socket has no {op}")
        return life

    def running(self, request: Plain) -> Life:
        """Returns what the request's handle stands for, if its node runs."""
        life = self.life(request)
        if life.node is None:
            raise Trouble("no_handle", f"node {request['handle']} has crashed")
        return life


def unknown(request: Plain) -> Plain:
    """Rejects an unknown op."""
    raise Trouble("unknown_op", f"there is no op {request['op']}")


def plug_of(request: Plain) -> ModuleType:
    """Returns the implementation of the protocol. Raises Trouble if there is none."""
    for plug in PLUGS:
        if request["protocol"] == plug.PROTOCOL:
            return plug
    raise Trouble("unsupported", f"there is no {request['protocol']} here")


def outcome(life: Life, effects: Effects) -> Plain:
    """Returns the effects of a node, and the time of its next timer."""
    due = None if life.is_served else life.node.next_timer
    return {"effects": effects.done, "next_timer_ms": due}
