"""
A monitor of Wendy's messages alone, without knowledge of the nodes' tables except as sent. `message_rules` has the rules.

Each rule checks the messages that the observed node sends. Each message has a connection of its own, so two messages may be
observed in another order than sent, but not if they are more than the network timeout apart, after which a message has
failed [WA-64].

A restarted node begins its versions again; so the monitor resets its data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from peerproof.spec import wendy
from peerproof.spec.core import NodeId
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.traces.observed import RuleViolation, Seen
from peerproof.spec.wendy.forms import NODE
from peerproof.spec.wendy.forms import VERSIONS as VERSIONS_FORM
from peerproof.spec.wendy.ids import Id, id_text
from peerproof.spec.wendy.joining import is_newer
from peerproof.spec.wendy.messages import MOST_HOPS, NO_VERSIONS
from peerproof.spec.wendy.model import message_rules as rules
from peerproof.spec.wendy.model.message_rules import RULES, is_passed_on, misshapen
from peerproof.spec.wendy.model.obligations import Dealings
from peerproof.spec.wendy.senders import Parcel, parcel_of
from peerproof.spec.wendy.state import Config

__all__ = ["RULES", "WendyMonitor", "monitor"]

#: The number of messages that may be forwarded, tables of one version, and messages of the last timeout to remember.
PARCELS: Final = 4096
TABLES: Final = 256
RECENT: Final = 4096

_MICROSECONDS: Final = 1000


class Own:
    """The data that a node has sent about itself, in one life."""

    def __init__(self) -> None:
        self.header: wendy.Header | None = None  #: the first
        self.floor = NO_VERSIONS  #: of messages that were certainly sent before the next one
        self.most = NO_VERSIONS
        self.recent: deque[tuple[int, wendy.Versions]] = deque(maxlen=RECENT)
        self.tables = BoundedDict[tuple[str, int], frozenset[Id]](TABLES)
        self.left_at: int | None = None
        self.has_left = False


class WendyMonitor:
    """Observes a node; of the configuration, the network timeout, the sizes and `is_consulted` matter."""

    def __init__(self, node: NodeId, config: Config) -> None:
        self.lives = 1
        self._node: Final = node
        self._config: Final = config
        self._timeout: Final = config.network_timeout * _MICROSECONDS
        self._own = Own()
        self._dealings = Dealings(config)
        self._parcels: Final = BoundedDict[Parcel, set[int]](PARCELS)  #: received, with their hop counts

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        message = seen.message
        if not seen.sent:
            if isinstance(message, (wendy.NodeJoin, wendy.Application)):
                self._came(message)
            yield from self._dealings.check_received(seen, self._own.most, is_admitted=self._admits(message.header))
            return
        if seen.peer == self._node:
            yield RuleViolation(rules.TO_OTHERS, None, seen.peer)
        if isinstance(message, (wendy.NodeJoin, wendy.Application)) and not self._config.is_consulted:
            yield from self._check_hops(message)
        if not (is_passed_on(message) or (isinstance(message, wendy.Application) and self._config.is_consulted)):
            yield from self._check_own_message(seen)
            yield from misshapen(self._config, message)
            yield from self._dealings.check_sent(seen)

    def _admits(self, header: wendy.Header) -> bool:
        """Whether the node certainly accepts a message. [WA-53]"""
        own = self._own.header
        return own is not None and not self._own.has_left and own.credentials in (None, header.credentials)

    def _came(self, message: wendy.NodeJoin | wendy.Application) -> None:
        parcel = parcel_of(message)
        hops = self._parcels.get(parcel, set())
        hops.add(message.header.hop)
        self._parcels[parcel] = hops

    def _check_hops(self, message: wendy.NodeJoin | wendy.Application) -> Iterator[RuleViolation]:
        """Checks that it arrived with one hop less; an unobserved arrival may precede the observation."""
        own, hop = self._own.header, message.header.hop
        if hop == 0 and (own is None or own.sender.id == message.header.sender.id):
            return
        came = self._parcels.get(parcel_of(message))
        if came and not {hop - 1, hop if hop == MOST_HOPS else hop - 1} & came:
            yield RuleViolation(rules.HOPS, {"one more than": sorted(came)}, hop)

    def _check_own_message(self, seen: Seen) -> Iterator[RuleViolation]:
        """Checks the data of the node's own message about itself."""
        message, header = seen.message, seen.message.header
        if not isinstance(message, (wendy.Application, wendy.NodeAnnouncement)):  # may be old [WA-33]; has the receiver's [W-61]
            yield from self._versions(seen, header.versions)
            yield from self._same_tables(message)
        own = self._own
        if own.header is None:
            own.header = header
        elif (header.sender, header.credentials) != (own.header.sender, own.header.credentials):
            yield RuleViolation(rules.ONE_SENDER, _sender_plain(own.header), _sender_plain(header))
            own.header = header
        if isinstance(message, wendy.NodeExit):
            own.left_at, own.has_left = own.left_at or seen.at, True
        elif own.has_left and not self._may_be_older(seen.at, own.left_at):
            own.has_left, own.left_at = False, None  # reported once
            yield RuleViolation(rules.GONE, None, type(message).__name__)

    def _versions(self, seen: Seen, versions: wendy.Versions) -> Iterator[RuleViolation]:
        own = self._own
        while own.recent and not self._may_be_older(seen.at, own.recent[0][0]):
            own.floor = wendy.Versions(*map(max, own.floor, own.recent.popleft()[1]))
        is_first = own.header is None
        if max(versions) <= 1 and is_newer(own.most, versions):
            was_surely_later = is_newer(own.floor, versions)
            self._own, self._dealings = Own(), self._dealings.renew()
            self.lives += was_surely_later
            own, is_first = self._own, was_surely_later
        elif is_newer(own.floor, versions):
            floor, own.floor, own.most = own.floor, versions, versions
            own.recent.clear()
            yield RuleViolation(rules.VERSIONS, VERSIONS_FORM.plain(floor), VERSIONS_FORM.plain(versions))
        if is_first and isinstance(seen.message, wendy.NodeJoin) and versions == NO_VERSIONS:
            self._dealings.begin()
        own.most = wendy.Versions(*map(max, own.most, versions))
        if seen.at is None:
            own.floor = own.most
        elif not own.recent or is_newer(versions, own.recent[-1][1]):
            own.recent.append((seen.at, versions))

    def _may_be_older(self, at: int | None, other: int | None) -> bool:
        """Whether a message observed now may have been sent before one observed at another time."""
        return at is not None and other is not None and at <= other + self._timeout

    def _same_tables(self, message: wendy.Message) -> Iterator[RuleViolation]:
        """Compares whole tables by version: leaf and neighborhood sets always, routing tables in a warning. [WA-39, WA-57]"""
        if not isinstance(message, (wendy.StateData, wendy.NodeRace)):
            return
        tables, versions, known = message.tables, message.header.versions, self._own.tables
        found: dict[tuple[str, int], frozenset[Id]] = {}
        if tables.leaf_set is not None:
            found["leaf_set", versions.leaf_set] = frozenset(node.id for side in tables.leaf_set for node in side)
        if tables.neighborhood_set is not None:
            found["neighborhood_set", versions.neighborhood_set] = frozenset(node.id for node in tables.neighborhood_set)
        if isinstance(message, wendy.NodeRace) and tables.routing_table is not None:
            found["routing_table", versions.routing_table] = frozenset(entry.node.id for entry in tables.routing_table)
        for key, nodes in found.items():
            before = known.get(key)
            if before != nodes:
                known[key] = nodes
                if before is not None:
                    yield RuleViolation(rules.SAME_TABLE, _table_plain(key, before), _table_plain(key, nodes))


monitor: Final = WendyMonitor


def _sender_plain(header: wendy.Header) -> Any:
    return {"sender": NODE.plain(header.sender), "credentials": None if header.credentials is None else header.credentials.hex()}


def _table_plain(key: tuple[str, int], nodes: frozenset[Id]) -> Any:
    return {"table": key[0], "version": str(key[1]), "nodes": [id_text(node) for node in sorted(nodes)]}
