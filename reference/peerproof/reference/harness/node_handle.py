"""A node that a runner has opened: the environment of its driver, with a clock that the runner sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from peerproof.reference.runtime.driver import Driver
from peerproof.reference.runtime.protocol import Connected, Runtime
from peerproof.spec.connections import Inbound
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Text

ADDRESS: Final = Text(most=2**16)


class Handle:
    """A node under test, and the `Environment` of its driver."""

    def __init__(self, protocol: Runtime, self_id: NodeId, config: Any, pick: Any) -> None:
        self.protocol: Final = protocol
        self.specification: Final = protocol.specification()
        self.clock = Instant(0)
        self.effects: list[Plain] = []  #: of the current request
        self.driver: Driver | None = None  #: None after a crash
        self.config: Final = config  #: from `open` or `load`
        self.connections: dict[str, Inbound | None] = {}  #: opened by peers; None once this node has closed its side
        self._self_id: Final = self_id
        self._pick: Final = pick

    def start(self, config: Any) -> None:
        """Starts a fresh node with this configuration. Raises NotEnabled."""
        self.driver, self.connections = None, {}
        driver = Driver(self.specification, self._self_id, self, self._pick)
        driver.start(config)
        self.driver = driver

    def load(self, state: Plain, timers: Iterable[tuple[Any, Instant]]) -> None:
        """Starts a node in a given state, as plain data. Raises MalformedMessage."""
        self.driver = Driver(self.specification, self._self_id, self, self._pick)
        self.driver.load(self.specification.STATE.value(state, self._self_id, self.config), timers)

    def on_connection(self, conn: str, event: str, data: bytes) -> None:
        """Handles a connection that its peer opens, sends bytes on, or closes. Answers on it are added to the reply."""
        connected, driver = self.protocol.connected, self.driver
        assert connected is not None, "the protocol has no connections"
        assert driver is not None, "the node does not run"
        if event == "open":
            self.connections[conn] = connected.framing.Inbound()
            if connected.has_left(driver.state):
                self._close(conn)
            return
        inbound = self.connections[conn]
        if inbound is not None and event == "data":
            self._feed(conn, inbound, data, connected, driver)
        elif event != "data":
            if inbound is not None and event == "eof":
                self._close(conn)
            del self.connections[conn]

    def _feed(self, conn: str, inbound: Inbound, data: bytes, connected: Connected, driver: Driver) -> None:
        try:
            raw = inbound.feed(data)
            if raw is None:
                return
            message = self.specification.MESSAGE.decode(raw)
        except MalformedMessage as error:
            self.report_malformed(error)
        else:
            if connected.admits(driver.state, message):
                shown = {"conn": conn, "event": "data", "bytes": connected.framing.ACKNOWLEDGEMENT.hex()}
                self.effects.append({"stream": shown})
                driver.receive(NodeId(conn), message)
        self._close(conn)

    def _close(self, conn: str) -> None:
        self.connections[conn] = None
        self.effects.append({"stream": {"conn": conn, "event": "close"}})

    def report_malformed(self, error: MalformedMessage) -> None:
        """Adds a malformed event to the reply."""
        self.event("malformed", {"class": error.reason, "offset": error.offset})

    def now(self) -> Instant:
        """The time of the runner's last request."""
        return self.clock

    def send(self, to: NodeId, message: Any) -> None:
        """Adds a message to the reply."""
        data = self.specification.MESSAGE.encode(message)
        self.effects.append({"send": {"via": self.protocol.transport, "to": ADDRESS.plain(to), "bytes": data.hex()}})

    def notify(self, notice: Any) -> None:
        """Adds a notice to the reply, as an event."""
        shown = self.specification.NOTICE.plain(notice)
        self.event(shown.pop("type"), shown)

    def event(self, name: str, members: Mapping[str, Plain]) -> None:
        """Adds an event to the reply."""
        self.effects.append({"event": {"name": name, **members}})
