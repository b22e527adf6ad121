"""
Nodes that a harness runs on real sockets and in real time, for a runner that plays their peers with sockets of its own.

They live in the event loop of a thread. What the runner asks is asked there, between two steps of the node; all that comes
over the network goes the way that it goes with `peerproof node start`.
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

Given = TypeVar("Given")

#: What can carry messages to a node, and how.
KINDS: Final = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}


class Sockets:
    """The thread with the nodes."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="nodes on sockets", daemon=True).start()

    def serve(self, protocol: Runtime, bind: str, config: Any, pick: Pick) -> ServedNode:
        """A fresh node at this address, where port 0 is any that is free. Raises AddressError, NotEnabled."""
        opened = bind_socket(NodeId(bind), KINDS[protocol.transport])
        try:
            return self._wait(_start_node(self, protocol, format_address(opened.getsockname()), config, opened, pick))
        except Exception:
            opened.close()
            raise

    def do(self, what: Callable[[], Given]) -> Given:
        """What this gives in the thread of the nodes. Raises what it raises."""

        async def done() -> Given:
            return what()

        return self._wait(done())

    def _wait(self, what: Coroutine[Any, Any, Given]) -> Given:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    def end(self) -> None:
        """No node runs any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)


async def _start_node(sockets: Sockets, protocol: Runtime, self_id: NodeId, config: Any, opened: Any, pick: Pick) -> ServedNode:
    events: list[Plain] = []
    specification = protocol.specification()

    def told(notice: Any) -> None:
        plain = specification.NOTICE.plain(notice)
        events.append({"event": {"name": plain.pop("type"), **plain}})

    def malformed(error: MalformedMessage) -> None:
        events.append({"event": {"name": "malformed", "class": error.reason, "offset": error.offset}})

    parts = Parts(specification, self_id, pick, listener=Listener(told=told, malformed=malformed))
    node = make_node(parts, protocol, config, opened)
    node.driver.start(config)
    await node.listen()
    return ServedNode(sockets, protocol, self_id, node, events)


class ServedNode:
    """One of them, as a runner asks it."""

    def __init__(self, sockets: Sockets, protocol: Runtime, self_id: NodeId, node: RealTimeNode, events: list[Plain]) -> None:
        self.protocol: Final = protocol
        self.self_id: Final = self_id
        self._sockets: Final = sockets
        self._node: Final = node
        self._events: Final = events  #: that the runner has not been told

    def ask(self, command: Any) -> None:
        """The application wants something. Raises NotEnabled."""
        self._sockets.do(lambda: self._node.ask(command))

    def state(self) -> Any:
        """What it knows now."""
        return self._sockets.do(lambda: self._node.driver.state)

    def effects(self) -> dict[str, Any]:
        """What its application was told since the last time; what it has sent is on the network, and its timers are its own."""

        def take_events() -> list[Plain]:
            events = list(self._events)
            self._events.clear()
            return events

        return {"effects": self._sockets.do(take_events), "next_timer_ms": None}

    def close(self) -> None:
        """Its address is free."""
        self._sockets.do(self._node.close)
