"""
Measurements of Wendy: delivery of routed messages, cost of joining, and size of the tables.

A node is a member when it has announced itself, or while it is alone, as the first of a ring stays. The cost of joining is
everything that a joiner sends and receives, except applications' messages and repairs, from its join command until its last
announcement has arrived. Messages between other nodes, such as those that pass on its join, are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

from peerproof.pipeline.measures import protocols
from peerproof.pipeline.measures.protocols import Delivered, Measured, Membership, Report, Routed, Seen, Unreached, name_of
from peerproof.spec.wendy.ids import REAL, id_of_text

#: Messages that have nothing to do with joining.
NOT_JOINING: Final = ("application", "node_exit", "node_repair")

#: Messages with whole tables, but for the routing table in an answer.
_WITH_TABLES: Final = ("state_data", "node_race", "node_announcement")


def closest(key: str, names: Iterable[str]) -> str | None:
    """Returns the id to which a key belongs. [W-37, WA-09]"""
    return min(names, key=lambda name: REAL.rank(id_of_text(name), id_of_text(key)), default=None)


class Joining:
    """The cost of one node's joining so far. [W-45…W-65]"""

    def __init__(self, begun: int) -> None:
        self.begun: Final = begun
        self.messages = 0
        self.bytes = 0
        self.outstanding = 0  #: announcements in flight [WA-67]
        self.has_announced = False


class Observer(protocols.Observer):
    """Observes one node. Others identify it by its id."""

    not_joining: ClassVar[tuple[str, ...]] = NOT_JOINING

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._joining: Joining | None = None
        self._tables: dict[str, int] = {}  #: table -> nodes in it when it was last sent
        self._is_consulted = False

    def observe(self, event: Seen) -> Iterator[Report]:
        """Reports starts, commands, deliveries, and the messages of a join."""
        if event.kind == "start":
            self.name, self._joining, self._tables = event.args["id"], None, {}
            self._is_consulted = event.args["is_consulted"]
            yield Membership(True)
        elif event.kind == "api" and not event.refused:
            yield from self._observe_command(event)
        elif event.kind == "sent" and event.args["took"] is None:
            yield Unreached(name_of(event.peer))
        for notice in event.notices:
            yield from self._observe_notice(notice)
        for message in event.sent:
            self._look_at_tables(event, message)
        if self._joining:
            yield from self._joins(self._joining, event)

    def finish(self) -> Iterator[Report]:
        """Reports the sizes of the tables that were sent."""
        for table, count in self._tables.items():
            yield Measured(table, count)

    def _observe_command(self, event: Seen) -> Iterator[Report]:
        command = event.args
        if command["type"] == "join":
            self._joining = Joining(event.t_us)
            yield Membership(False)
        elif command["type"] == "leave":
            yield Membership(False)
        elif command["type"] == "route" and not self._is_consulted:  # otherwise the application may change the message
            yield Routed(_parcel(self.name, command), name_of(command["key"]))

    def _observe_notice(self, notice: Any) -> Iterator[Report]:
        if notice["type"] == "delivered":
            message = notice["message"]
            header = message["header"]
            yield Measured("route_hops", int(header["hop"]))
            if not self._is_consulted:
                key = name_of(header["key"])
                yield Delivered(_parcel(header["sender"]["id"], {**message, "key": key}), key)
        elif notice["type"] == "joined":
            yield Membership(True)
        elif notice["type"] == "join_failed":
            self._joining = None
            yield Membership(True)

    def _joins(self, joining: Joining, event: Seen) -> Iterator[Report]:
        if event.kind == "recv" and event.args["type"] not in self.not_joining:
            joining.messages += 1
            joining.bytes += event.received_bytes
        sent = [message["type"] for message in event.sent]
        joining.messages += sum(name not in self.not_joining for name in sent)
        joining.bytes += event.sent_bytes if not set(sent) & {*self.not_joining} else 0
        joining.outstanding += sent.count("node_announcement")
        joining.outstanding -= event.kind == "sent" and event.args["message"]["type"] == "node_announcement"
        if not joining.has_announced and any(notice["type"] == "joined" for notice in event.notices):
            joining.has_announced = True
            yield Measured("join_time", (event.t_us - joining.begun) / 1000)
        if joining.has_announced and not joining.outstanding:
            self._joining = None
            yield Measured("join_messages", joining.messages)
            yield Measured("join_bytes", joining.bytes)

    def _look_at_tables(self, event: Seen, message: Any) -> None:
        if message["type"] not in _WITH_TABLES:
            return
        tables = message["tables"]
        is_answer = message["type"] == "state_data" and not (event.kind == "recv" and event.args["type"] == "node_join")
        if tables["routing_table"] is not None and not is_answer:  # an answer may have only one cell [WA-57]
            self._tables["routing_table"] = len(tables["routing_table"])
        if tables["leaf_set"] is not None:
            self._tables["leaf_set"] = sum(map(len, tables["leaf_set"].values()))
        if tables["neighborhood_set"] is not None:
            self._tables["neighborhood_set"] = len(tables["neighborhood_set"])


def _parcel(maker: str, message: Any) -> str:
    return f"{name_of(maker)} {name_of(message['key'])} {message['purpose']} {message['value']}"
