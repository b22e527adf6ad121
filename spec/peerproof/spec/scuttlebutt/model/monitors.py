"""
What must hold of Scuttlebutt's messages alone, with nothing known of the nodes' stores.

Each rule judges what the watched node sends, by what it has sent and received before. What it has received before the first
message that was seen is not known: an answer without its question is passed over as long as no answer had one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain, octets
from peerproof.spec.scuttlebutt.codec import DELTA_ENTRY, DIGEST_ENTRY, digest_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import Config
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen, rules_in

#: Digests of one peer that may still be answered.
DIGESTS: Final = 64

#: Pairs of which the value is remembered, the newest of each key.
VALUES: Final = 2**16

LIMIT: Final = Rule("WithinLimit", "no datagram is larger than the configured maximum", ("B-24", "B-26", "BA-05"))
ONCE: Final = Rule("EachPeerOnce", "a digest request lists a peer once", ("B-22", "B-23"))
ITSELF: Final = Rule("ListsItself", "a digest request with room lists its sender", ("BA-09",))
OWN_VERSION: Final = Rule(
    "OwnVersionGrows", "a node's own version never decreases, unless it restarts", ("B-03", "B-07", "BX-03")
)
KNOWN_VERSION: Final = Rule("KnownVersionsGrow", "no version that a node knows of another decreases", ("B-37", "BI-05"))
ONE_VALUE: Final = Rule("OneValue", "a version of a pair has one value", ("B-07", "BI-04"))
ORDER: Final = Rule("DeltaOrder", "a delta has a peer's pairs from the lowest version up", ("B-30", "BA-12"))
LISTED: Final = Rule("DeltaOfListed", "a delta is about peers of a digest that it answers", ("B-27", "BA-08"))
NEWER: Final = Rule("DeltaIsNewer", "a delta has pairs above the version in the digest", ("B-29",))
NOT_EMPTY: Final = Rule("ResponseNotEmpty", "a digest response without entries is not sent", ("B-35",))
NOT_ONESELF: Final = Rule("ResponseNotOfOneself", "nobody asks for pairs of itself", ("BA-16",))
TO_REQUEST: Final = Rule("ResponseToRequest", "a digest response answers a request, never another response", ("B-16", "B-39"))
BEHIND: Final = Rule("ResponseIsBehind", "a digest response lists peers of the request, at lower versions", ("B-14", "BA-10"))
IN_ORDER: Final = Rule("ResponseInOrder", "a digest response keeps the order of the request", ("BA-11",))

#: All of them.
RULES: Final = rules_in(globals())


@dataclass(slots=True)
class Correspondent:
    """What was seen of the watched node and one other."""

    digests: deque[DigestRequest | DigestResponse] = field(default_factory=lambda: deque(maxlen=DIGESTS))  #: received from it
    is_answered: bool = False  #: some message to it could be explained by these


class ScuttlebuttMonitor:
    """Watches a node of this name; of the configuration, only the payload limit matters."""

    def __init__(self, node: NodeId, config: Config) -> None:
        self._node: Final = node
        self._limit: Final = config.max_payload
        self._with: Final[dict[NodeId, Correspondent]] = {}
        self._versions: Final[dict[NodeId, int]] = {}  #: what the node has shown to know
        self._values: Final[dict[tuple[NodeId, str], tuple[int, str]]] = {}
        self._is_named = False  #: some digest has named the node by the address that it is watched under

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        peer, message, size = seen.peer, seen.message, seen.size
        other = self._with.setdefault(peer, Correspondent())
        if seen.sent and size > self._limit:
            yield RuleViolation(LIMIT, {"at most": self._limit}, size)
        if isinstance(message, Delta):
            yield from self._one_value(message.entries)
            if seen.sent:
                yield from self._delta(other, message)
        else:
            self._is_named = self._is_named or any(entry.addr == self._node for entry in message.entries)
            if not seen.sent:
                other.digests.append(message)
                return
            yield from self._versions_grow(message.entries)
            yield from (self._request(message, size) if isinstance(message, DigestRequest) else self._response(other, message))

    def _versions_grow(self, entries: Iterable[DigestEntry]) -> Iterator[RuleViolation]:
        for entry in entries:
            known = self._versions.get(entry.addr, 0)
            if entry.version < known:
                rule = OWN_VERSION if entry.addr == self._node else KNOWN_VERSION
                yield RuleViolation(rule, {"at least": _digest_plain(DigestEntry(entry.addr, known))}, _digest_plain(entry))
            self._versions[entry.addr] = entry.version  # also if it is lower: it is told once

    def _one_value(self, entries: Iterable[DeltaEntry]) -> Iterator[RuleViolation]:
        for entry in entries:
            key = entry.addr, entry.key
            version, value = self._values.get(key, (-1, ""))
            if entry.version == version and entry.value != value:
                yield RuleViolation(
                    ONE_VALUE, _delta_plain(DeltaEntry(entry.addr, entry.key, value, version)), _delta_plain(entry)
                )
            if entry.version > version:
                if len(self._values) >= VALUES:
                    self._values.clear()
                self._values[key] = entry.version, entry.value

    def _request(self, message: DigestRequest, size: int) -> Iterator[RuleViolation]:
        addrs = [entry.addr for entry in message.entries]
        if len(set(addrs)) < len(addrs):
            yield RuleViolation(ONCE, None, [_digest_plain(entry) for entry in message.entries if addrs.count(entry.addr) > 1])
        own_size = digest_entry_size(DigestEntry(self._node, 0))
        largest = max((digest_entry_size(entry) for entry in message.entries), default=0)
        if self._is_named and self._node not in addrs and size + max(own_size, largest) <= self._limit:
            yield RuleViolation(ITSELF, _digest_plain(DigestEntry(self._node, self._versions.get(self._node, 0))), None)

    def _delta(self, other: Correspondent, message: Delta) -> Iterator[RuleViolation]:
        runs = _ascending(message.entries)
        for entry in message.entries:
            self._versions[entry.addr] = max(self._versions.get(entry.addr, 0), entry.version)
        listed = [_versions_of(digest) for digest in other.digests]
        times = {addr: sum(run[0].addr == addr for run in runs) for addr in {run[0].addr for run in runs}}
        often = {addr: max((len(digest.get(addr, ())) for digest in listed), default=0) for addr in times}
        if torn := sorted(addr for addr, count in times.items() if count > max(1, often[addr])):
            yield RuleViolation(ORDER, None, [_delta_plain(entry) for entry in message.entries if entry.addr in torn])
            return
        unlisted = [digest for digest in listed if all(addr in digest for addr in times)]
        if any(all(entry.version > min(digest[entry.addr]) for entry in message.entries) for digest in unlisted):
            other.is_answered = True
        elif other.is_answered:
            told: Plain = [_delta_plain(entry) for entry in message.entries]
            latest = [_digest_plain(entry) for entry in other.digests[-1].entries]
            yield RuleViolation(NEWER if unlisted else LISTED, latest, told)

    def _response(self, other: Correspondent, message: DigestResponse) -> Iterator[RuleViolation]:
        told = [_digest_plain(entry) for entry in message.entries]
        if not message.entries:
            yield RuleViolation(NOT_EMPTY, None, told)
            return
        if any(entry.addr == self._node for entry in message.entries):
            yield RuleViolation(NOT_ONESELF, None, told)
            return
        requests = [digest.entries for digest in other.digests if isinstance(digest, DigestRequest)]
        wrong = [_wrong_with(message.entries, request) for request in requests]
        if None in wrong:
            other.is_answered = True
        elif other.is_answered or other.digests:
            latest = [_digest_plain(entry) for entry in (requests or [other.digests[-1].entries])[-1]]
            yield RuleViolation(wrong[-1] if wrong and wrong[-1] else TO_REQUEST, latest, told)


monitor: Final = ScuttlebuttMonitor


def _ascending(entries: Iterable[DeltaEntry]) -> list[list[DeltaEntry]]:
    """The entries, cut where another peer begins or a version does not go up."""
    runs: list[list[DeltaEntry]] = []
    for entry in entries:
        last = runs[-1][-1] if runs else None
        if last and last.addr == entry.addr and (last.version, octets(last.key)) < (entry.version, octets(entry.key)):
            runs[-1].append(entry)
        else:
            runs.append([entry])
    return runs


def _versions_of(digest: DigestRequest | DigestResponse) -> dict[NodeId, list[int]]:
    listed: dict[NodeId, list[int]] = {}
    for entry in digest.entries:
        listed.setdefault(entry.addr, []).append(entry.version)
    return listed


def _wrong_with(response: Iterable[DigestEntry], request: Iterable[DigestEntry]) -> Rule | None:
    """The rule that a response contradicts if it is to answer this request."""
    left = iter(request)
    asked = list(request)
    for entry in response:
        if not any(entry.addr == other.addr and entry.version < other.version for other in asked):
            return BEHIND
        if not any(entry.addr == other.addr and entry.version < other.version for other in left):
            return IN_ORDER
    return None


def _digest_plain(entry: DigestEntry) -> Plain:
    return DIGEST_ENTRY.plain(entry)


def _delta_plain(entry: DeltaEntry) -> Plain:
    return DELTA_ENTRY.plain(entry)
