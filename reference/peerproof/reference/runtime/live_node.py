"""The base class of nodes in real time, for all transports: clock, timers, warnings about bad input."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from peerproof.reference.runtime.driver import Driver, Keep
from peerproof.reference.runtime.recorder import Recorder
from peerproof.spec.core import Instant, NodeId, Pick, Specification
from peerproof.spec.errors import MalformedMessage

logger: Final = logging.getLogger("peerproof.node")

#: Seconds between two warnings of the same kind, so that a flood of bad input causes no flood of warnings.
QUIET: Final = 10.0


class Listener(NamedTuple):
    """Callbacks for events of a node."""

    told: Callable[[Any], None] = lambda _: None  #: a notice to the application
    stepped: Callable[[], None] = lambda: None  #: after each step
    malformed: Callable[[MalformedMessage], None] = lambda _: None  #: malformed input was received
    left: Callable[[], None] = lambda: None  #: the node has left on command, and all its messages are sent


class Parts(NamedTuple):
    """The arguments that all nodes in an event loop take."""

    specification: Specification
    self_id: NodeId
    pick: Pick
    recorder: Recorder | None = None
    listener: Listener = Listener()
    keep: Keep | None = None


class RealTimeNode(ABC):
    """A node in an event loop: the `Environment` of its driver, but for `send`, which each transport adds."""

    def __init__(self, parts: Parts) -> None:
        specification, self_id, pick, recorder, listener, keep = parts
        self.driver: Final = Driver(specification, self_id, self, pick, recorder=recorder, keep=keep)
        self.malformed = 0  #: malformed inputs so far
        self._specification: Final = specification
        self._listener: Final = listener
        self._loop: Final = asyncio.get_running_loop()
        self._epoch: Final = self._loop.time()
        self._wake: asyncio.TimerHandle | None = None
        self._warned: dict[str, tuple[float, int]] = {}  #: by kind: time of the last warning, suppressed ones since

    def ask(self, command: Any) -> None:
        """Executes a command of the application. Raises NotEnabled."""
        self.driver.ask(command)
        self._settle()

    def now(self) -> Instant:
        """Returns the milliseconds since this object was created."""
        return Instant(int((self._loop.time() - self._epoch) * 1000))

    @abstractmethod
    def send(self, to: NodeId, message: Any) -> None:
        """See `Environment`."""

    def notify(self, notice: Any) -> None:
        """Notifies the application."""
        self._listener.told(notice)

    def close(self) -> None:
        """Stops without sending anything; to leave as the protocol says, give the node the command for that before."""
        if self._wake:
            self._wake.cancel()

    def _settle(self) -> None:
        """Reschedules the timer and calls `stepped`, after a step."""
        self._await_timer()
        self._listener.stepped()

    def _note_malformed(self, what: str, sender: NodeId, error: MalformedMessage) -> None:
        self.malformed += 1
        logger.debug("malformed %s from %s: %s", what, sender, error)
        self._warn(f"malformed {what}", f"from {sender} ignored: {error}")

    def _warn(self, kind: str, more: str) -> None:
        """Logs a warning; counts it only if there was one of its kind in the last `QUIET` seconds."""
        since, count = self._warned.get(kind, (-QUIET, 0))
        if (now := self._loop.time() - self._epoch) - since < QUIET:
            self._warned[kind] = since, count + 1
            return
        logger.warning("%s %s%s", kind, more, f"; {count} more since the last warning" * (count > 0))
        self._warned[kind] = now, 0

    def _await_timer(self) -> None:
        if self._wake:
            self._wake.cancel()
        due = self.driver.next_timer()
        self._wake = None if due is None else self._loop.call_at(self._epoch + due / 1000, self._expire)

    def _expire(self) -> None:
        if (due := self.driver.next_timer()) is not None and due <= self.now():
            self.driver.expire_next()
            self._listener.stepped()
        self._await_timer()
