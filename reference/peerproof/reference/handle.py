"""A node that a runner has opened: the environment of its driver, whose clock is what the runner says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from peerproof.reference.driver import Driver
from peerproof.reference.protocols import Protocol
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.wire import Plain, Text

ADDRESS: Final = Text(most=2**16)


class Handle:
    """A node under test: what `Driver` calls its environment, under the runner's clock."""

    def __init__(self, protocol: Protocol, self_id: NodeId, config: Any, pick: Any) -> None:
        self.protocol: Final = protocol
        self.specification: Final = protocol.specification()
        self.clock = Instant(0)
        self.effects: list[Plain] = []  #: of the request that is being answered
        self.driver: Driver | None = None  #: none after a crash
        self.config: Final = config  #: of `open`
        self._self_id: Final = self_id
        self._pick: Final = pick

    def start(self, config: Any) -> None:
        """Become a fresh node, configured like this. Raises NotEnabled."""
        self.driver = None
        driver = Driver(self.specification, self._self_id, self, self._pick)
        driver.start(config)
        self.driver = driver

    def load(self, state: Plain, timers: Iterable[tuple[Any, Instant]]) -> None:
        """Become a node in the state that plain data shows. Raises MalformedMessage."""
        self.driver = Driver(self.specification, self._self_id, self, self._pick)
        self.driver.load(self.specification.STATE.value(state, self._self_id, self.config), timers)

    def now(self) -> Instant:
        """What the runner last said."""
        return self.clock

    def send(self, to: NodeId, message: Any) -> None:
        """Into the reply."""
        data = self.specification.MESSAGE.encode(message)
        self.effects.append({"send": {"via": self.protocol.transport, "to": ADDRESS.plain(to), "bytes": data.hex()}})

    def notify(self, notice: Any) -> None:
        """Into the reply."""
        shown = self.specification.NOTICE.plain(notice)
        self.event(shown.pop("type"), shown)

    def event(self, name: str, members: Mapping[str, Plain]) -> None:
        """Into the reply."""
        self.effects.append({"event": {"name": name, **members}})
