"""
Nodes that a harness runs on real sockets and in real time; the runner plays their peers with its own sockets.

The nodes run in the event loop of one thread. Requests of the runner are executed in that thread, between two steps of the node.
Network input takes the same path as with `peerproof node start`.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from peerproof.reference.runtime.live_node import Listener, Parts, RealTimeNode
from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.runtime.tcp import make_node
from peerproof.reference.runtime.udp import bind_socket, format_address
from peerproof.spec.core import NodeId, Pick
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain

Returned = TypeVar("Returned")

#: Socket types by transport.
KINDS: Final = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


class Sockets:
    """The thread that runs the nodes."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="nodes on sockets", daemon=True).start()

    def serve(self, protocol: Runtime, bind: str, config: Any, pick: Pick) -> ServedNode:
        """Starts a fresh node at this address; port 0 takes any free port. Raises AddressError, NotEnabled."""
        opened = bind_socket(NodeId(bind), KINDS[protocol.transport])
        try:
            return self._wait(_start_node(self, protocol, format_address(opened.getsockname()), config, opened, pick))
        except Exception:
            opened.close()
            raise

    def do(self, what: Callable[[], Returned]) -> Returned:
        """Calls a function in the thread of the nodes and returns its result. Raises its exceptions."""

        async def call() -> Returned:
            return what()

        return self._wait(call())

    def _wait(self, what: Coroutine[Any, Any, Returned]) -> Returned:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def end(self) -> None:
        """Stops all nodes."""
        self._loop.call_soon_threadsafe(self._loop.stop)


async def _start_node(sockets: Sockets, protocol: Runtime, self_id: NodeId, config: Any, opened: Any, pick: Pick) -> ServedNode:
    events: list[Plain] = []
    specification = protocol.specification()

    def on_notice(notice: Any) -> None:
        plain = specification.NOTICE.plain(notice)
        events.append({"event": {"name": plain.pop("type"), **plain}})

    def on_malformed(error: MalformedMessage) -> None:
        events.append({"event": {"name": "malformed", "class": error.reason, "offset": error.offset}})

    parts = Parts(specification, self_id, pick, listener=Listener(told=on_notice, malformed=on_malformed))
    node = make_node(parts, protocol, config, opened)
    node.driver.start(config)
    await node.listen()
    return ServedNode(sockets, protocol, self_id, node, events)


class ServedNode:
    """A served node, as a runner uses it."""

    def __init__(self, sockets: Sockets, protocol: Runtime, self_id: NodeId, node: RealTimeNode, events: list[Plain]) -> None:
        self.protocol: Final = protocol
        self.self_id: Final = self_id
        self._sockets: Final = sockets
        self._node: Final = node
        self._events: Final = events  #: not yet reported to the runner

    def ask(self, command: Any) -> None:
        """Executes a command of the application. Raises NotEnabled."""
        self._sockets.do(lambda: self._node.ask(command))

    def state(self) -> Any:
        """Returns the current state."""
        return self._sockets.do(lambda: self._node.driver.state)

    def effects(self) -> dict[str, Any]:
        """Returns the events since the last call. Messages and timers are not reported: they are real."""

        def take_events() -> list[Plain]:
            events = list(self._events)
            self._events.clear()
            return events

        return {"effects": self._sockets.do(take_events), "next_timer_ms": None}

    def close(self) -> None:
        """Closes the node and frees its address."""
        self._sockets.do(self._node.close)
