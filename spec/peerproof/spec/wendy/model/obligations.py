"""
Obligations of a node to others, for `monitors`: answers to joins and requests, announcements in time, race warnings.

Messages may be missing in an observation, or be observed out of order: each message has a connection of its own, and is observed
when it arrives. So a message of another node is observed before its answer; a missing answer is reported only when the other
node has shown, much later, that it is still running.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from peerproof.spec import wendy
from peerproof.spec.core import NodeId
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen
from peerproof.spec.wendy.forms import MASK, VERSIONS
from peerproof.spec.wendy.joining import WAIT as WAIT_TIMEOUTS
from peerproof.spec.wendy.joining import is_newer
from peerproof.spec.wendy.messages import NO_VERSIONS
from peerproof.spec.wendy.model.message_rules import AGAIN, ASKED, JOIN, KEPT, KNOWN, MARK_WAIT, RACE, WAIT, WARNED
from peerproof.spec.wendy.state import Config, address
from peerproof.spec.wendy.tables import nodes_of

#: The number of peers to remember, and of open obligations to each.
PEERS: Final = 4096
OPEN: Final = 64

#: Tolerance of waits, in microseconds: clocks are read in milliseconds, and captures are not taken inside of a node.
EARLY: Final = 50_000

_MICROSECONDS: Final = 1000
_LEAVES_ONLY: Final = wendy.Mask(leaf_set=True)


def places_of(node: wendy.Node, name: NodeId | None = None) -> set[NodeId]:
    """
    Returns a node's possible addresses: its own, and the one by which it is known.

    A host name may stand for any IP address.
    """
    hosts = {node.local_ip, node.global_ip} - {""}
    places = {address(host, node.port) if is_number(host) else NodeId(f":{node.port}") for host in hosts}
    return places if name is None else places | {name}


def as_sought(where: NodeId) -> tuple[NodeId, NodeId]:
    """Returns the keys under which `places_of` lists a node at an address."""
    return where, NodeId(f":{where.rpartition(':')[2]}")


def is_number(host: str) -> bool:
    """Whether this is an IP address, and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@dataclass(slots=True)
class Kept:
    """The versions of another node's tables that a node received, and its announcements to that node."""

    least: wendy.Versions  #: that were received
    is_applied: bool = False  #: the node has announced them, or later ones
    warnings: int = 0  #: race warnings received by then
    older: int = 0  #: announcements with older ones


@dataclass(slots=True)
class Due:
    """An obligation to answer a peer."""

    what: wendy.Mask | wendy.Versions  #: tables, or the own versions in an announcement
    at: int | None
    rule: Rule | None  #: the rule that a missing answer violates
    is_join: bool = False
    is_answered: bool = False


class Dealings:
    """The obligations between one node and all others, in one life of the node."""

    def __init__(self, config: Config) -> None:
        self._config: Final = config
        self._timeout: Final = config.network_timeout * _MICROSECONDS
        self._by_id = BoundedDict[Any, deque[Due]](PEERS)  #: by the peer's id
        self._by_place = BoundedDict[Any, deque[Due]](PEERS)  #: by the peer's possible addresses
        self._spoken = BoundedDict[Any, wendy.Versions](PEERS)  #: the last versions of their own tables that others have sent
        self._received: Final = BoundedDict[NodeId, wendy.Versions](PEERS)  #: the largest versions received from an address
        self._most_received = NO_VERSIONS  #: the largest from any address
        self._kept: Final = BoundedDict[NodeId, Kept](PEERS)
        self._announced: Final = BoundedDict[NodeId, int](PEERS)  #: number of announcements by address
        self._warnings = 0
        self._marked_at: int | None = None  #: when the destination's leaf set arrived
        self._is_marked = False
        self._leaves_at: int | None = None  #: when the first leaf set of any sender arrived
        self._has_leaves = False
        self._has_announced = False
        self._is_begun = False  #: the life was observed from its beginning
        self._since: int | None = None
        self._has_explained: Final[dict[Rule, bool]] = {}

    def begin(self) -> None:
        """The node's life begins here."""
        self._is_begun = True

    def renew(self) -> Dealings:
        """Returns the obligations after a possible restart, which may still answer earlier requests."""
        new = Dealings(self._config)
        new._by_id, new._by_place, new._spoken = self._by_id, self._by_place, self._spoken
        for owed in new._by_id.values():
            for due in owed:
                due.rule = None
        return new

    def check_received(self, seen: Seen, own: wendy.Versions, *, is_admitted: bool) -> Iterator[RuleViolation]:
        """The node receives a message; `own` are lower bounds of its tables' versions by now."""
        message = seen.message
        if self._since is None:
            self._since = seen.at
        if not isinstance(message, wendy.NodeJoin):
            yield from self._check_overdue(seen, message.header)
        if isinstance(message, wendy.NodeJoin):
            self._joins(message.header)
            self._owe(seen, Due(_of_join(message), seen.at, JOIN if is_admitted else None, is_join=True))
        elif isinstance(message, (wendy.StateRequest, wendy.NodeRepair)):
            self._owe(seen, Due(message.mask, seen.at, None))
        elif isinstance(message, wendy.NodeAnnouncement):
            is_due = is_admitted and is_newer(own, message.header.versions)
            self._owe(seen, Due(message.header.versions, seen.at, WARNED if is_due else None))
        elif isinstance(message, (wendy.StateData, wendy.NodeRace)):
            known = self._received.get(seen.peer, NO_VERSIONS)
            self._received[seen.peer] = wendy.Versions(*map(max, known, message.header.versions))
            kept = self._kept[seen.peer] = self._kept.get(seen.peer) or Kept(message.header.versions)
            kept.least = wendy.Versions(*map(min, kept.least, message.header.versions))
            self._most_received = wendy.Versions(*map(max, self._most_received, message.header.versions))
            self._warnings += isinstance(message, wendy.NodeRace)
            if message.tables.leaf_set is not None and not self._has_leaves:
                self._has_leaves, self._leaves_at = True, seen.at
            if isinstance(message, wendy.StateData) and message.destination and not self._is_marked:
                self._is_marked, self._marked_at = True, seen.at

    def check_sent(self, seen: Seen) -> Iterator[RuleViolation]:
        """The node's own message has arrived."""
        if self._since is None:
            self._since = seen.at
        message = seen.message
        if isinstance(message, wendy.StateData):
            yield from self._check_answer(seen, ASKED, _data_plain(message), lambda due: _fits(due, message))
        elif isinstance(message, wendy.NodeRace):
            shown = {"versions": VERSIONS.plain(message.header.versions), "tables": _flags(message)}
            yield from self._check_answer(seen, RACE, shown, lambda due: _warns(due, message))
        elif isinstance(message, wendy.NodeAnnouncement):
            yield from self._announces(seen, message)

    def _owe(self, seen: Seen, due: Due) -> None:
        asker, message = seen.message.header.sender, seen.message
        name = None if isinstance(message, wendy.NodeJoin) and message.header.hop else seen.peer
        for open_, keys in ((self._by_id, (asker.id,)), (self._by_place, places_of(asker, name))):
            for key in keys:
                owed = open_.get(key) or deque(maxlen=OPEN)
                owed.append(due)
                open_[key] = owed

    def _joins(self, header: wendy.Header) -> None:
        """Handles a join, possibly after a restart of the joiner; earlier obligations to it are then void."""
        self._spoken[header.sender.id] = header.versions
        for due in self._by_id.get(header.sender.id, ()):
            due.rule = None

    def _check_overdue(self, seen: Seen, header: wendy.Header) -> Iterator[RuleViolation]:
        """Yields the overdue obligations to a peer that has just sent a message."""
        is_young = False
        if not isinstance(seen.message, (wendy.Application, wendy.NodeAnnouncement)):
            is_young = max(header.versions) <= 1 and is_newer(self._spoken.get(header.sender.id, NO_VERSIONS), header.versions)
            self._spoken[header.sender.id] = header.versions
        for due in self._by_id.get(header.sender.id, ()):
            if due.rule is None or due.is_answered or seen.at is None or due.at is None:
                continue
            if is_young:
                due.rule = None  # it may have restarted and been away since
            elif seen.at > due.at + 2 * self._timeout:
                rule, due.rule = due.rule, None
                yield RuleViolation(rule, {"to": seen.peer, "within ms": self._timeout // _MICROSECONDS}, None)

    def _check_answer(self, seen: Seen, rule: Rule, shown: Plain, fits: Callable[[Due], bool]) -> Iterator[RuleViolation]:
        """Checks that a message answers a request, which may precede the observation."""
        asked = [due for place in as_sought(seen.peer) for due in self._by_place.get(place, ())]
        fitting = [due for due in asked if fits(due)]
        if fitting:
            for due in fitting[:1] if rule is ASKED else fitting:
                due.is_answered = True
            self._has_explained[rule] = True
        elif self._is_warm(seen, rule):
            wanted = [_due_plain(due) for due in asked if isinstance(due.what, wendy.Mask) == (rule is ASKED)]
            yield RuleViolation(rule, wanted[-3:], shown)

    def _is_warm(self, seen: Seen, rule: Rule) -> bool:
        """Whether the request of this answer must have been observed."""
        if self._is_begun:
            return True
        if seen.at is None or self._since is None:
            return self._has_explained.get(rule, False)
        return seen.at > self._since + self._timeout

    def _announces(self, seen: Seen, message: wendy.NodeAnnouncement) -> Iterator[RuleViolation]:
        is_first, self._has_announced = not self._has_announced, True
        if self._is_begun and is_first and not self._is_marked:
            yield RuleViolation(MARK_WAIT if self._has_leaves else WAIT, "the leaf set of the destination", None)
        wait = WAIT_TIMEOUTS * self._timeout
        if is_first and seen.at is not None and self._marked_at is not None and seen.at < self._marked_at + wait - EARLY:
            took = (seen.at - self._marked_at) // _MICROSECONDS
            is_long = self._leaves_at is not None and seen.at >= self._leaves_at + wait - EARLY
            yield RuleViolation(MARK_WAIT if is_long else WAIT, {"at least ms": wait // _MICROSECONDS}, {"ms": took})
        count = self._announced.get(seen.peer, 0) + 1
        self._announced[seen.peer] = count
        if not self._is_begun:
            return
        sought = set(as_sought(seen.peer))
        there = sum(not sought.isdisjoint(places_of(node)) for node in nodes_of(message.tables).values())
        if count > (1 + self._warnings) * max(1, there):
            yield RuleViolation(AGAIN, {"announcements": 1 + self._warnings}, {"announcements": count})
        yield from self._keeps(seen.peer, message.header.versions)
        received = self._received.get(seen.peer, self._most_received)
        if is_newer(message.header.versions, received):
            yield RuleViolation(KNOWN, VERSIONS.plain(received), VERSIONS.plain(message.header.versions))

    def _keeps(self, peer: NodeId, versions: wendy.Versions) -> Iterator[RuleViolation]:
        """
        Whether an announcement has versions of its receiver that are older than any that it has sent.

        Such an announcement may be observed late, and be from before the versions were applied. But once they were announced they
        had been applied; only the first announcement, and one for each warning received by then, can be from before. [W-65]
        """
        kept = self._kept.get(peer)
        if kept is None:
            return
        if not is_newer(kept.least, versions):
            if not kept.is_applied:
                kept.is_applied, kept.warnings = True, self._warnings
            return
        kept.older += 1
        if kept.is_applied and kept.older > 1 + kept.warnings:
            yield RuleViolation(KEPT, VERSIONS.plain(kept.least), VERSIONS.plain(versions))


def _of_join(join: wendy.NodeJoin) -> wendy.Mask:
    """Returns the tables that a joiner gets, except the leaf set, which only the destination sends. [W-48…W-50]"""
    return wendy.Mask(routing_table=True, neighborhood_set=join.header.hop == 0)


def _fits(due: Due, data: wendy.StateData) -> bool:
    if not isinstance(due.what, wendy.Mask):
        return False
    sent = _flags(data)
    if not due.is_join:
        return sent == list(due.what[:3]) and not data.destination
    if sent == list(_LEAVES_ONLY[:3]):
        return data.destination  # forwarding failed, so that the join ends here after all [WA-33]
    return sent == [True, data.destination, due.what.neighborhood_set] and not due.is_answered


def _warns(due: Due, race: wendy.NodeRace) -> bool:
    if not isinstance(due.what, wendy.Versions) or not is_newer(race.header.versions, due.what):
        return False
    newer = [mine > theirs for mine, theirs in zip(race.header.versions, due.what, strict=True)]
    return all(sent >= must for sent, must in zip(_flags(race), newer, strict=True))


def _flags(message: wendy.StateData | wendy.NodeRace) -> list[Plain]:
    return [table is not None for table in message.tables]


def _data_plain(data: wendy.StateData) -> Plain:
    tables: dict[str, Plain] = {name: table is not None for name, table in data.tables._asdict().items()}
    return {**tables, "destination": data.destination}


def _due_plain(due: Due) -> Plain:
    if isinstance(due.what, wendy.Versions):
        return {"versions": VERSIONS.plain(due.what)}
    return {"join" if due.is_join else "question": MASK.plain(due.what)}
