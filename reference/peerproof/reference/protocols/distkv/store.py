"""A node of DistKV in real time: on a bus, with a disk, and with downloads to and from other nodes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from peerproof.reference.protocols.distkv.downloads import DownloadError, Service, download, is_there
from peerproof.reference.protocols.distkv.journal import JournalError
from peerproof.reference.runtime.live_node import Parts, RealTimeNode
from peerproof.reference.runtime.udp import format_address
from peerproof.reference.serf.bus import Bus, BusError, Parcel
from peerproof.spec.core import EVERYBODY, NodeId
from peerproof.spec.distkv import Config, Loaded, LoadFailed, NeedsDownload, Update, download_of
from peerproof.spec.distkv.codec import of_payload, payload
from peerproof.spec.distkv.forms import MESSAGE_FORM
from peerproof.spec.distkv.serf_events import event_name, type_of_event
from peerproof.spec.errors import MalformedMessage, NotEnabled

logger: Final = logging.getLogger("peerproof.node")

#: Called for a change of this node when the bus has its update.
Acknowledge = Callable[[Update], None]


class StoreNode(RealTimeNode):
    """A node on a bus. A step that cannot be stored is not taken: the node stops, and `failed` is called."""

    def __init__(self, parts: Parts, bus: Bus, root: str, failed: Callable[[str], None]) -> None:
        super().__init__(parts)
        self.foreign = 0  #: events of other protocols
        self._bus: Final = bus
        self._root: Final = root
        self._failed: Final = failed
        self._service: Final = Service(parts.self_id, root, lambda: download_of(self.driver.state))
        self._acknowledge: Acknowledge | None = None
        self._runs = False
        self._downloads: Final[set[asyncio.Task[None]]] = set()

    async def listen(self, config: Config, place: tuple[str | None, int]) -> None:
        """
        Joins the bus, serves downloads and starts the node.

        `place`: host and port for downloads; None: the host that the bus reports. Raises BusError, also if a node of this name is
        already running; JournalError; and ValueError for an invalid configuration.
        """
        await self._bus.open(self._receive)
        for address in await self._bus.locate(self.driver.self_id):
            if await is_there(address, self._root, self.driver.self_id):
                raise BusError(f"a node {self.driver.self_id} is already running, at {address}; each node needs its own name")
        host, port = place[0] or await self._bus.host(), place[1]
        try:
            port = await self._service.open(host, port)
        except OSError as error:
            hint = "set the address of this machine with --download"
            raise BusError(f"cannot serve downloads at {host}, port {port}: {error.strerror}; {hint}") from None
        is_wildcard = host in ("0.0.0.0", "::")  # announced without a host: peers use that of the bus
        await self._bus.announce(self.driver.self_id, f":{port}" if is_wildcard else format_address((host, port)))
        self.driver.start(config)
        self._runs = True
        self._settle()

    async def leave(self) -> None:
        """Closes the node, its downloads and its bus."""
        self.close()
        await self._service.close()
        await self._bus.close()

    def close(self) -> None:
        """See `RealTimeNode`."""
        super().close()
        self._runs = False
        for task in self._downloads:
            task.cancel()

    def ask(self, command: Any, acknowledge: Acknowledge | None = None) -> None:
        """See `RealTimeNode`. For a change, `acknowledge` is called when the bus has its update, which then outlives the node."""
        if not self._runs:
            raise NotEnabled("not_ready", f"{self.driver.self_id} is not running")
        self._acknowledge = acknowledge
        try:
            super().ask(command)
        except JournalError as error:
            self._fail(error)
        finally:
            self._acknowledge = None

    def send(self, to: NodeId, message: Any) -> None:
        """Queues a broadcast on the bus."""
        assert to == EVERYBODY, to
        acknowledge, is_update = self._acknowledge, isinstance(message, Update)
        taken = partial(acknowledge, message) if acknowledge and is_update else lambda: None
        name = event_name(MESSAGE_FORM.names[type(message)], self._root)
        self._bus.put(Parcel(name, payload(message), is_update, taken))

    def notify(self, notice: Any) -> None:
        """Notifies the application, and starts a download if the node needs one."""
        super().notify(notice)
        if isinstance(notice, NeedsDownload):
            self._begin(self._download(notice.node))

    def _receive(self, name: str, data: bytes) -> None:
        kind = type_of_event(name, self._root)
        if not self._runs or kind is None:
            self.foreign += 1
            logger.debug("ignored: an event %a", name)
            return
        try:
            message = of_payload(kind, data)
        except MalformedMessage as error:
            self._note_malformed("event", NodeId(name), error)
            return
        try:
            self.driver.receive(EVERYBODY, message)
        except JournalError as error:
            self._fail(error)
        except Exception:
            logger.exception("internal error: the event %s %s is ignored", name, data.hex())
        else:
            self._settle()

    def _expire(self) -> None:
        try:
            super()._expire()
        except JournalError as error:
            self._fail(error)

    def _fail(self, error: JournalError) -> None:
        self.close()
        self._failed(str(error))

    async def _download(self, node: NodeId) -> None:
        why: Exception = DownloadError(f"no address is known of {node}")
        try:
            for address in await self._bus.locate(node):
                try:
                    loaded = await download(address, self._root, node)
                except DownloadError as error:
                    why = error
                else:
                    self._report(loaded)
                    return
        except BusError as error:
            why = error
        logger.info("%s", why)
        self._report(LoadFailed(node))

    def _report(self, command: Loaded | LoadFailed) -> None:
        try:
            self.ask(command)
        except NotEnabled as error:
            logger.info("%s", error)
        except Exception:
            logger.exception("internal error: a download from %s is ignored", command.node)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._downloads.add(task)
        task.add_done_callback(self._downloads.discard)
