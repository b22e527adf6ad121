"""
Rules about Scuttlebutt's messages alone, without knowledge of the nodes' stores.

Each rule checks the messages that the observed node sends, against those that it has sent and received before. Messages before
the first observed one are unknown: an answer without its question is ignored as long as no answer had one.

A restarted node has lost its store, and the document does not say what follows [BX-03]. What a restart explains is no
violation.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain, octets
from peerproof.spec.scuttlebutt.codec import DELTA_ENTRY, DIGEST_ENTRY, TYPE_SIZE, digest_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse, Message
from peerproof.spec.scuttlebutt.state import Config
from peerproof.spec.traces.lives import Lives
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen, rules_in

#: The number of digests of one peer that may still be answered.
DIGESTS: Final = 64

#: The number of pairs whose value is kept, the newest of each key.
VALUES: Final = 2**16

LIMIT: Final = Rule("WithinLimit", "no datagram is larger than the configured maximum", ("B-24", "B-26"))
TYPE_LIMIT: Final = Rule("TypeWithinLimit", "the type byte counts as a part of the datagram", ("BA-05",))
ONCE: Final = Rule("EachPeerOnce", "a digest request lists a peer once", ("B-22", "B-23"))
ITSELF: Final = Rule("ListsItself", "a digest request with room lists its sender", ("BA-09",))
KNOWN: Final = Rule(
    "ListsKnown",
    "a digest request with room lists every other peer that its sender knows",
    ("B-01", "B-10", "B-24"),
    needs_all=True,
)
OWN_VERSION: Final = Rule(
    "OwnVersionGrows", "a node's own version never decreases, unless it restarts", ("B-03", "B-07", "BX-03"), needs_all=True
)
KNOWN_VERSION: Final = Rule("KnownVersionsGrow", "no known version of another node decreases", ("B-37", "BI-05"), needs_all=True)
ONE_VALUE: Final = Rule("OneValue", "a version of a pair has one value", ("B-07", "B-36", "BI-04"))
ORDER: Final = Rule("DeltaOrder", "a delta has a peer's pairs from the lowest version up", ("B-30",))
TOGETHER: Final = Rule("DeltaByPeer", "a delta has a peer's pairs together, equal versions by key", ("B-28", "BA-12"))
LISTED: Final = Rule("DeltaOfListed", "a delta is about peers of a digest that it answers", ("B-27", "BA-08"), needs_all=True)
NEWER: Final = Rule("DeltaIsNewer", "all pairs of a delta are above the version in the digest", ("B-29",), needs_all=True)
NOT_EMPTY: Final = Rule("ResponseNotEmpty", "a digest response without entries is not sent", ("BA-32",))
AFTER_DELTA: Final = Rule(
    "ResponseAfterDelta", "a digest response follows a delta, be it empty", ("B-32", "B-34"), needs_all=True
)
NOT_ONESELF: Final = Rule("ResponseNotOfOneself", "no node asks for its own pairs", ("BA-16",))
TO_REQUEST: Final = Rule(
    "ResponseToRequest", "a digest response answers a request, never another response", ("B-16", "B-39"), needs_all=True
)
BEHIND: Final = Rule(
    "ResponseIsBehind", "a digest response lists only peers of the request, none at a higher version", ("B-14",), needs_all=True
)
OWN_VERSIONS: Final = Rule(
    "ResponseIsOwn", "a digest response has the versions that its sender knows", ("BA-10",), needs_all=True
)
IN_ORDER: Final = Rule("ResponseInOrder", "a digest response keeps the order of the request", ("BA-11",), needs_all=True)

#: All rules.
RULES: Final = rules_in(globals())

_digest_plain: Final = DIGEST_ENTRY.plain
_delta_plain: Final = DELTA_ENTRY.plain

T = TypeVar("T")


class Shown(NamedTuple, Generic[T]):
    """A value that a node has shown, and the number of the last message that showed it."""

    what: T
    at: int


_NOTHING: Final = Shown(0, 0)
_NO_VALUE: Final = Shown((-1, ""), 0)


@dataclass(slots=True)
class Correspondent:
    """The observed messages between the watched node and one other."""

    digests: deque[DigestRequest | DigestResponse] = field(default_factory=lambda: deque(maxlen=DIGESTS))  #: received from it
    is_answered: bool = False  #: some message to it could be explained by these
    has_delta: bool = False  #: a delta to it was sent since the last digest response
    is_responded: bool = False  #: a digest response to it was sent


class ScuttlebuttMonitor:
    """Observes a node of this name; of the configuration, only the payload limit matters."""

    def __init__(self, node: NodeId, config: Config) -> None:
        self._node: Final = node
        self._limit: Final = config.max_payload
        self._with: Final[dict[NodeId, Correspondent]] = {}
        self._lives = Lives[NodeId, list[RuleViolation]]()
        self._versions: Final[dict[NodeId, Shown[int]]] = {}  #: the versions that the node has shown
        self._values: Final[dict[tuple[NodeId, str], Shown[tuple[int, str]]]] = {}
        self._is_named = False  #: some digest has named the node by its observed address
        self._largest = digest_entry_size(DigestEntry(node, 0))  #: bytes of an entry of a digest
        self._room = 0  #: bytes of the largest datagram that it has sent: its actual limit may be lower than configured

    @property
    def lives(self) -> int:
        """See `Monitor`."""
        return self._lives.count

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        peer, message, size = seen.peer, seen.message, seen.size
        other = self._with.setdefault(peer, Correspondent())
        if not isinstance(message, Delta):
            self._is_named = self._is_named or any(entry.addr == self._node for entry in message.entries)
            self._largest = max([self._largest, *map(digest_entry_size, message.entries)])
        if not seen.sent:
            self._receive(other, message)
            return
        if size > self._limit:
            yield RuleViolation(LIMIT if size > self._limit + TYPE_SIZE else TYPE_LIMIT, {"at most": self._limit}, size)
        self._room = max(self._room, size)
        yield from self._show(message, size)
        if isinstance(message, Delta):
            yield from self._delta(other, message)
        else:
            yield from (self._request(message, size) if isinstance(message, DigestRequest) else self._response(other, message))

    def _receive(self, other: Correspondent, message: Message) -> None:
        if isinstance(message, Delta):
            for entry in message.entries:
                self._lives.receive(entry.addr, entry.version)
        else:
            other.digests.append(message)

    def _show(self, message: Message, size: int) -> Iterator[RuleViolation]:
        """Checks the versions that a message shows against those shown before, unless the node may have restarted since."""
        others = [(entry.addr, entry.version) for entry in message.entries if self._is_named and entry.addr != self._node]
        for excused in self._lives.send(others):
            yield from excused
        contradicted = list(self._contradict(message.entries))
        if isinstance(message, DigestRequest):
            contradicted += self._forget(message, size)
        if not contradicted:
            return
        violations = [violation for _, violation in contradicted]
        if not self._lives.excuse(max(at for at, _ in contradicted), violations):
            yield from violations
            return
        self._versions.clear()
        self._values.clear()
        list(self._contradict(message.entries))

    def _contradict(self, entries: Iterable[DigestEntry | DeltaEntry]) -> Iterator[tuple[int, RuleViolation]]:
        """Records what is shown; yields each decrease, with the number of the message that had shown more."""
        now = self._lives.sent
        for entry in entries:
            known, at = self._versions.get(entry.addr, _NOTHING)
            if isinstance(entry, DigestEntry):
                if entry.version < known:
                    rule = OWN_VERSION if entry.addr == self._node else KNOWN_VERSION
                    shown = {"at least": _digest_plain(DigestEntry(entry.addr, known))}
                    yield at, RuleViolation(rule, shown, _digest_plain(entry))
                self._versions[entry.addr] = Shown(entry.version, now)  # also if it is lower: it is reported once
                continue
            self._versions[entry.addr] = Shown(max(known, entry.version), now if entry.version >= known else at)
            key = entry.addr, entry.key
            (version, value), since = self._values.get(key, _NO_VALUE)
            if entry.version == version and entry.value != value:
                yield since, RuleViolation(ONE_VALUE, _delta_plain(entry._replace(value=value)), _delta_plain(entry))
            if entry.version >= version:
                if len(self._values) >= VALUES:
                    self._values.clear()
                self._values[key] = Shown((entry.version, entry.value), now)

    def _forget(self, message: DigestRequest, size: int) -> Iterator[tuple[int, RuleViolation]]:
        """Yields peers that the node has shown before and leaves out, although there is room for any of them."""
        listed = {entry.addr for entry in message.entries}
        left_out = {addr: shown for addr, shown in self._versions.items() if addr not in listed and addr != self._node}
        if left_out and self._is_named and size + self._largest <= min(self._limit, self._room):
            missing: Plain = [_digest_plain(DigestEntry(addr, version)) for addr, (version, _) in left_out.items()]
            shown: Plain = [_digest_plain(entry) for entry in message.entries]
            yield max(at for _, at in left_out.values()), RuleViolation(KNOWN, {"also": missing}, shown)

    def _request(self, message: DigestRequest, size: int) -> Iterator[RuleViolation]:
        addrs = [entry.addr for entry in message.entries]
        if len(set(addrs)) < len(addrs):
            yield RuleViolation(ONCE, None, [_digest_plain(entry) for entry in message.entries if addrs.count(entry.addr) > 1])
        own_size = digest_entry_size(DigestEntry(self._node, 0))
        largest = max((digest_entry_size(entry) for entry in message.entries), default=0)
        if self._is_named and self._node not in addrs and size + max(own_size, largest) <= self._limit:
            yield RuleViolation(
                ITSELF, _digest_plain(DigestEntry(self._node, self._versions.get(self._node, _NOTHING).what)), None
            )

    def _delta(self, other: Correspondent, message: Delta) -> Iterator[RuleViolation]:
        other.has_delta = True
        listed = [_versions_of(digest) for digest in other.digests]
        addrs = {entry.addr for entry in message.entries}
        often = {addr: max(1, *(len(digest.get(addr, ())) for digest in listed)) if listed else 1 for addr in addrs}
        for rule, times in ((ORDER, _falls(message.entries)), (TOGETHER, _runs(message.entries))):
            if torn := sorted(addr for addr, count in times.items() if count > often[addr]):
                yield RuleViolation(rule, None, [_delta_plain(entry) for entry in message.entries if entry.addr in torn])
                return
        unlisted = [digest for digest in listed if all(addr in digest for addr in addrs)]
        if any(all(entry.version > min(digest[entry.addr]) for entry in message.entries) for digest in unlisted):
            other.is_answered = True
        elif other.is_answered:
            shown: Plain = [_delta_plain(entry) for entry in message.entries]
            latest = [_digest_plain(entry) for entry in other.digests[-1].entries]
            yield RuleViolation(NEWER if unlisted else LISTED, latest, shown)

    def _response(self, other: Correspondent, message: DigestResponse) -> Iterator[RuleViolation]:
        shown = [_digest_plain(entry) for entry in message.entries]
        had_delta, other.has_delta = other.has_delta, False
        was_responded, other.is_responded = other.is_responded, True  # the delta before the first may not have been seen
        if was_responded and not had_delta:
            yield RuleViolation(AFTER_DELTA, "a delta", shown)
        if not message.entries:
            yield RuleViolation(NOT_EMPTY, None, shown)
            return
        if any(entry.addr == self._node for entry in message.entries):
            yield RuleViolation(NOT_ONESELF, None, shown)
        requests = [digest.entries for digest in other.digests if isinstance(digest, DigestRequest)]
        wrong = [_wrong_with(message.entries, request) for request in requests]
        if None in wrong:
            other.is_answered = True
        elif other.is_answered or other.digests:
            latest = [_digest_plain(entry) for entry in (requests or [other.digests[-1].entries])[-1]]
            yield RuleViolation(min(wrong, key=_MILDEST.index) or TO_REQUEST if wrong else TO_REQUEST, latest, shown)


monitor: Final = ScuttlebuttMonitor

#: The priority of the rules to report: a response answers the request that it fits best.
_MILDEST: Final = (None, IN_ORDER, OWN_VERSIONS, BEHIND)


def _falls(entries: Iterable[DeltaEntry]) -> Counter[NodeId]:
    """Counts, for each peer, the runs of its pairs in which no version decreases."""
    parts: Counter[NodeId] = Counter()
    last: dict[NodeId, int] = {}
    for entry in entries:
        parts[entry.addr] += entry.version < last.get(entry.addr, entry.version + 1)
        last[entry.addr] = entry.version
    return parts


def _runs(entries: Iterable[DeltaEntry]) -> Counter[NodeId]:
    """Counts, for each peer, the runs of its pairs without pairs of another peer between them, by version and key."""
    parts: Counter[NodeId] = Counter()
    last: DeltaEntry | None = None
    for entry in entries:
        goes_on = last and last.addr == entry.addr and (last.version, octets(last.key)) < (entry.version, octets(entry.key))
        parts[entry.addr] += not goes_on
        last = entry
    return parts


def _versions_of(digest: DigestRequest | DigestResponse) -> dict[NodeId, list[int]]:
    listed: dict[NodeId, list[int]] = {}
    for entry in digest.entries:
        listed.setdefault(entry.addr, []).append(entry.version)
    return listed


def _wrong_with(response: Iterable[DigestEntry], request: Iterable[DigestEntry]) -> Rule | None:
    """Returns the rule that a response violates as an answer to this request; None if it violates none."""
    asked, left = list(request), iter(request)
    listed = [[other.version for other in asked if entry.addr == other.addr] for entry in response]
    if any(entry.version > max(versions, default=-1) for entry, versions in zip(response, listed, strict=True)):
        return BEHIND
    if any(entry.version == max(versions) for entry, versions in zip(response, listed, strict=True)):
        return OWN_VERSIONS
    if not all(any(entry.addr == other.addr and entry.version < other.version for other in left) for entry in response):
        return IN_ORDER
    return None
