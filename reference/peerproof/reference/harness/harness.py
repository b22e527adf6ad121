"""
The harness: the reference behind adapter protocol 1. The suite checks it like any other implementation.

    $ python -m peerproof.reference.harness.harness
    {"id":1,"op":"decode","protocol":"scuttlebutt","bytes":"03"}
    {"id":1,"ok":true,"value":{"type":"delta","entries":[]}}

It serves all protocols, or those that its arguments name, and loads no others.

The runner controls time and choices: each request has the current time, and each nondeterministic choice of the protocol goes
back to the runner as a `choice`. Only `bye` and the end of the input end the program; bad input does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from peerproof.reference.harness import requests
from peerproof.reference.harness.node_handle import ADDRESS, Handle
from peerproof.reference.harness.request_channel import Choose, Unanswered, serve_stdio
from peerproof.reference.harness.requests import RequestError, member, octets, render_value
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.driver import Driver, random_pick
from peerproof.reference.runtime.protocol import Runtime, configuration
from peerproof.reference.runtime.recorder import IMPLEMENTATION
from peerproof.spec.core import NodeId, Option
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain

if TYPE_CHECKING:
    from peerproof.reference.harness.served_nodes import ServedNode, Sockets

PROTOCOL_VERSION: Final = 1

#: Transports of served nodes.
SOCKETS: Final = ("tcp", "udp")

Op = Callable[[dict[str, Any]], dict[str, Any]]


class Harness:
    """
    The reference, as a runner uses it.

    `handle` answers one request. `choose` takes the inner object of a choice and returns the picked indices; its exceptions
    are passed on to the runner.
    """

    def __init__(self, names: Iterable[str] = (), *, oracle: bool = True) -> None:
        self.closing = False
        self.implementation = IMPLEMENTATION  #: its name in hello
        self._protocols: Final = {name: RUNTIMES[name] for name in names or RUNTIMES}
        self._oracle = oracle
        self._handles: dict[int, Handle] = {}
        self._sockets: Sockets | None = None  #: created with the first served node
        self._served: dict[int, ServedNode] = {}
        self._opened = 0
        self._choose: Choose = _refuse_choice
        self._choosing = False
        self._request_id: Plain = None
        self._asked = 0
        self._ops: Final[Mapping[str, Op]] = {
            "hello": self._hello,
            "encode": self._encode,
            "decode": self._decode,
            "open": self._open,
            "load": self._load,
            "recv": self._recv,
            "advance": self._advance,
            "call": self._call,
            "sent": self._sent,
            "stream": self._stream,
            "query": self._query,
            "crash": self._crash,
            "restart": self._restart,
            "close": self._close,
            "batch": self._batch,
            "serve": self._serve,
            "bye": self._bye,
        }
        self._of_served: Final[Mapping[str, Op]] = {
            "call": self._call_served,
            "query": self._query_served,
            "advance": lambda request: self._served[request["handle"]].effects(),
            "close": self._close_served,
        }
        self._batched: Final = {name: op for name, op in self._ops.items() if name not in ("hello", "batch", "bye")}

    def handle(self, request: dict[str, Any], choose: Choose) -> dict[str, Any]:
        """Returns the reply to a request, valid or not."""
        self._choose, self._request_id, self._asked = choose, _id(request), 0
        return {"id": self._request_id, **self._reply(request, self._ops)}

    def _reply(self, request: dict[str, Any], ops: Mapping[str, Op]) -> dict[str, Any]:
        self._choosing = False
        try:
            return {"ok": True, **self._op(request, ops)(request)}
        except RequestError as error:
            code, message = error.code, str(error)
        except MalformedMessage as error:
            code, message = "bad_request", error.detail
        except (NotEnabled, Unanswered) as error:
            code, message = "bad_request", str(error)
        except Exception as error:
            if self._choosing:
                raise
            code, message = "internal", f"{type(error).__name__}: {error}"
        return {"error": {"code": code, "message": message}}

    def _op(self, request: dict[str, Any], ops: Mapping[str, Op]) -> Op:
        op = member(request, "op", str)
        if op not in self._ops:
            raise RequestError("unknown_op", f"unknown op {render_value(op)}")
        if op not in ops:
            raise RequestError("bad_request", f"{op} is not allowed in a batch")
        number = request.get("handle")
        if type(number) is int and number in self._served and op != "batch":
            if op not in self._of_served:
                raise RequestError("unsupported", f"a served node has no {op}; it has {', '.join(self._of_served)}")
            return self._of_served[op]
        return ops[op]

    def _hello(self, request: dict[str, Any]) -> dict[str, Any]:
        match request.get("protocol"):
            case [int(lowest), int(highest)]:
                if not lowest <= PROTOCOL_VERSION <= highest:
                    raise RequestError("version", f"the harness has version {PROTOCOL_VERSION}, the runner {lowest} to {highest}")
            case other:
                found = render_value(other)
                raise RequestError("bad_request", f"protocol: expected the lowest and highest version, found {found}")
        offered = request.get("choices", ["oracle"])
        self._oracle = self._oracle and isinstance(offered, list) and "oracle" in offered
        return {
            "protocol": PROTOCOL_VERSION,
            "name": self.implementation,
            "version": version("peerproof"),
            "language": f"python {sys.version.split()[0]}",
            "protocols": {
                name: {"capabilities": protocol.capabilities(), "events": protocol.events(), "limits": {}}
                for name, protocol in self._protocols.items()
            },
            "clock": "virtual",
            "choices": "oracle" if self._oracle else "set",
            "sockets": sorted({protocol.transport for protocol in self._protocols.values()} & set(SOCKETS)),
            "reset": "fresh-instance",
        }

    def _encode(self, request: dict[str, Any]) -> dict[str, Any]:
        codec = self._protocol(request).specification().MESSAGE
        return {"bytes": codec.encode(codec.value(request.get("value"))).hex()}

    def _decode(self, request: dict[str, Any]) -> dict[str, Any]:
        codec = self._protocol(request).specification().MESSAGE
        data = octets(request)
        try:
            return {"value": codec.plain(codec.decode(data))}
        except MalformedMessage as error:
            return {"rejected": {"class": error.reason, "message": error.detail}}

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        node = self._make_handle(request)
        node.start(node.config)
        return {"handle": self._add_handle(node), **_effects(node)}

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        node = self._make_handle(request)
        node.load(member(request, "state", dict), list(requests.timers(request, node)))
        return {"handle": self._add_handle(node), **_effects(node)}

    def _make_handle(self, request: dict[str, Any]) -> Handle:
        protocol = self._protocol(request)
        self_id = NodeId(ADDRESS.value(request.get("addr"), "addr"))
        config = _configuration(protocol, request.get("config", {}))
        pick = self._ask if self._oracle else random_pick(f"{render_value(request.get('seed', ''))}/{self_id!a}")
        node = Handle(protocol, self_id, config, pick)
        node.clock = requests.now(request, node)
        return node

    def _add_handle(self, node: Handle) -> int:
        self._opened += 1
        self._handles[self._opened] = node
        return self._opened

    def _recv(self, request: dict[str, Any]) -> dict[str, Any]:
        node, driver = self._running(request)
        if request.get("via") != node.protocol.transport:
            raise RequestError("unsupported", f"via: {node.protocol.name} uses {node.protocol.transport}")
        sender, data = NodeId(ADDRESS.value(request.get("from"), "from")), octets(request)
        node.clock = requests.now(request, node)
        try:
            message = node.specification.MESSAGE.decode(data)
        except MalformedMessage as error:
            node.report_malformed(error)
        else:
            driver.receive(sender, message)
        return _effects(node)

    def _sent(self, request: dict[str, Any]) -> dict[str, Any]:
        node, driver = self._running(request)
        self._require_connected(node)
        to, message = NodeId(ADDRESS.value(request.get("to"), "to")), node.specification.MESSAGE.decode(octets(request))
        took = None if request.get("took_us") is None else requests.INSTANT.value(request["took_us"], "took_us")
        node.clock = requests.now(request, node)
        driver.finish_send(to, message, took)
        return _effects(node)

    def _stream(self, request: dict[str, Any]) -> dict[str, Any]:
        node, _ = self._running(request)
        self._require_connected(node)
        conn, event, data = requests.connection(request, node)
        node.clock = requests.now(request, node)
        node.on_connection(conn, event, data)
        return _effects(node)

    def _require_connected(self, node: Handle) -> None:
        if node.protocol.connected is None:
            raise RequestError("unsupported", f"{node.protocol.name} uses {node.protocol.transport}")

    def _advance(self, request: dict[str, Any]) -> dict[str, Any]:
        node, driver = self._running(request)
        until = requests.now(request, node)
        while (due := driver.next_timer()) is not None and due <= until:
            node.clock = max(node.clock, due)
            driver.expire_next()
        node.clock = until
        return _effects(node)

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        node, driver = self._running(request)
        command = requests.command(request, node.protocol)
        node.clock = requests.now(request, node)
        try:
            driver.ask(command)
        except NotEnabled as refusal:
            return {**_effects(node), "refused": {"class": refusal.reason, "message": str(refusal)}}
        return _effects(node)

    def _query(self, request: dict[str, Any]) -> dict[str, Any]:
        node, driver = self._running(request)
        return {"value": requests.answer(request, node.protocol, driver.state)}

    def _crash(self, request: dict[str, Any]) -> dict[str, Any]:
        node, _ = self._running(request)
        node.driver = None
        return {}

    def _restart(self, request: dict[str, Any]) -> dict[str, Any]:
        node = self._find_handle(request)
        changes = member(request, "config", dict) if "config" in request else {}
        config = _configuration(node.protocol, {**node.specification.CONFIG.plain(node.config), **changes})
        node.clock = requests.now(request, node)
        node.start(config)
        return _effects(node)

    def _close(self, request: dict[str, Any]) -> dict[str, Any]:
        self._find_handle(request)
        del self._handles[request["handle"]]
        return {}

    def _bye(self, _: dict[str, Any]) -> dict[str, Any]:
        self.closing = True
        if self._sockets:
            self._sockets.end()
        return {}

    def _batch(self, request: dict[str, Any]) -> dict[str, Any]:
        results = []
        for item in member(request, "items", list):
            if not isinstance(item, dict):
                raise RequestError("bad_request", f"items: expected objects, found {render_value(item)}")
            if "id" in item:  # the choices of an item with an id are numbered from 1
                self._request_id, self._asked = _id(item), 0
            results.append({**({"id": _id(item)} if "id" in item else {}), **self._reply(item, self._batched)})
        return {"results": results}

    def _serve(self, request: dict[str, Any]) -> dict[str, Any]:
        from peerproof.reference.harness.served_nodes import Sockets
        from peerproof.spec.connections import AddressError

        protocol = self._protocol(request)
        if request.get("via") != [protocol.transport] or protocol.transport not in SOCKETS:
            served = " and ".join(SOCKETS)
            raise RequestError("unsupported", f"via: {protocol.name} uses {protocol.transport}; served: {served}")
        config = _configuration(protocol, request.get("config", {}))
        self._sockets = self._sockets or Sockets()
        pick = random_pick(f"{render_value(request.get('seed', ''))}/{render_value(request.get('node', ''))}")
        try:
            node = self._sockets.serve(protocol, member(request, "bind", str), config, pick)
        except AddressError as error:
            raise RequestError("bad_request", f"bind: {error}") from None
        self._opened += 1
        self._served[self._opened] = node
        return {"handle": self._opened, "addrs": {protocol.transport: node.self_id}}

    def _call_served(self, request: dict[str, Any]) -> dict[str, Any]:
        node = self._served[request["handle"]]
        try:
            node.ask(requests.command(request, node.protocol))
        except NotEnabled as refusal:
            return {**node.effects(), "refused": {"class": refusal.reason, "message": str(refusal)}}
        return node.effects()

    def _query_served(self, request: dict[str, Any]) -> dict[str, Any]:
        node = self._served[request["handle"]]
        return {"value": requests.answer(request, node.protocol, node.state())}

    def _close_served(self, request: dict[str, Any]) -> dict[str, Any]:
        self._served.pop(request["handle"]).close()
        return {}

    def _protocol(self, request: dict[str, Any]) -> Runtime:
        name = member(request, "protocol", str)
        if name not in self._protocols:
            raise RequestError("unsupported", f"unknown protocol {render_value(name)}; supported: {', '.join(self._protocols)}")
        return self._protocols[name]

    def _find_handle(self, request: dict[str, Any]) -> Handle:
        number = request.get("handle")
        node = self._handles.get(number) if type(number) is int else None
        if node is None:
            raise RequestError("no_handle", f"no handle {render_value(number)}")
        node.effects = []
        return node

    def _running(self, request: dict[str, Any]) -> tuple[Handle, Driver]:
        node = self._find_handle(request)
        if node.driver is None:
            raise RequestError("no_handle", f"the node of handle {request['handle']} has crashed; restart or close it")
        return node, node.driver

    def _ask(self, why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        """Has the runner choose. A choice with at most one option is not sent."""
        options = sorted(among)
        some = min(some, len(options))
        if len(options) <= 1:
            return tuple(options[:some])
        self._asked += 1
        question: dict[str, Any] = {
            "for": self._request_id,
            "n": self._asked,
            "kind": "permutation" if some == len(options) else "one" if some == 1 else "sample",
            "site": why,
            "of": [ADDRESS.plain(option) if isinstance(option, str) else option for option in options],
        }
        if question["kind"] == "sample":
            question["some"] = some
        self._choosing = True
        answer = self._choose(question)
        self._choosing = False
        if (
            not isinstance(answer, list)
            or len(answer) != some
            or not all(type(index) is int and 0 <= index < len(options) for index in answer)
            or len(set(answer)) < some
        ):
            raise RequestError(
                "bad_request", f"choice: expected {some} different indices below {len(options)}, found {render_value(answer)}"
            )
        return tuple(options[index] for index in answer)


def _id(request: dict[str, Any]) -> Plain:
    given = request.get("id")
    return given if isinstance(given, (str, int)) else None


def _effects(node: Handle) -> dict[str, Any]:
    return {"effects": node.effects, "next_timer_ms": node.driver.next_timer() if node.driver else None}


def _configuration(protocol: Runtime, plain: Plain) -> Any:
    try:
        return configuration(protocol, plain)
    except ValueError as error:  # of which MalformedMessage is one
        raise RequestError("bad_request", f"config: {getattr(error, 'detail', error)}") from None


def _refuse_choice(question: dict[str, Any]) -> list[int]:
    raise Unanswered(f"no runner to answer {question}")


def main() -> int:
    """Serves a runner at standard input and output. Returns the exit code."""
    if unknown := [name for name in sys.argv[1:] if name not in RUNTIMES]:
        print(f"unknown protocol {unknown[0]!r}: there are {', '.join(RUNTIMES)}", file=sys.stderr)
        return 2
    try:
        serve_stdio(Harness(sys.argv[1:]))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the runner has exited
        sys.stdout = None  # Python flushes it at exit otherwise
    return 0


if __name__ == "__main__":
    sys.exit(main())
