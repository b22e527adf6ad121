"""
Rules about SWIM's messages alone, without knowledge of the nodes' tables.

Each rule checks the messages that the observed node sends, against those that it has sent and received before. Messages before
the first observed one are unknown: an answer without its question is ignored as long as no answer had one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from peerproof.spec import swim
from peerproof.spec.core import NodeId
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.swim.codec import MESSAGE
from peerproof.spec.swim.messages import ClusterEventVector
from peerproof.spec.swim.state import Config
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen, rules_in

#: The number of pings of one peer that may still be answered, and of its probes.
ASKED: Final = 64

#: The number of indirect pings that may still be answered, and of acks that may be passed on.
RELAYED: Final = 2**12

LIMIT: Final = Rule("WithinLimit", "no datagram is larger than the configured maximum", ("SA-32",))
COUNTED: Final = Rule("CounterGrows", "the numbers of a node's datagrams increase", ("S-14",), needs_all=True)
ONE_NUMBER: Final = Rule("OneNumber", "no two datagrams of a node have the same number", ("S-14", "SA-09"))
ANSWERS: Final = Rule(
    "AckOfPing", "an ack has the number of a ping of the node that it goes to", ("S-17", "S-32"), needs_all=True
)
OWN: Final = Rule("AckOfOwnPing", "a node does not answer a ping of another target", ("SA-22",))
PROBED: Final = Rule("ProbeAckOfProbe", "the answer to a probe has the number of a probe", ("SA-41",), needs_all=True)
PAST: Final = Rule(
    "PastIsTold", "an ack that reports the receiver's death answers the past, and carries no more", ("S-30", "SA-16")
)
OF_ACKS: Final = Rule("AckCarries", "an ack carries no payload and nothing about indirect pings", ("S-32", "SA-04", "SA-33"))
OTHERS: Final = Rule("MembersAreOthers", "anti-entropy lists neither sender nor receiver, and no node twice", ("S-33", "SA-28"))
FEW: Final = Rule("FewMembers", "anti-entropy lists no more than is configured", ("SA-28",))
ONE_EVENT: Final = Rule("OneEventOfNode", "a datagram has one event of a node", ("S-39", "SA-58"))
ALONE: Final = Rule("IntroducesAlone", "a joining node sends its joining, at its own number, and nothing else", ("S-24", "SA-57"))
UNTAGGED: Final = Rule("UntaggedIsWelcome", "anti-entropy without keyword comes after a joiner's own joining", ("S-25", "SA-18"))
RELAY: Final = Rule("RelayIsAnother", "an indirect ping is of neither sender nor receiver", ("S-05", "SA-03"))
PASSED_ON: Final = Rule(
    "IndirectAckOfAck", "an indirect ack was requested, and has the node's own answer", ("SA-04", "SA-55"), needs_all=True
)

#: All rules.
RULES: Final = rules_in(globals())


@dataclass(slots=True)
class Correspondent:
    """The observed messages between the watched node and one address."""

    pings: deque[swim.Ping] = field(default_factory=lambda: deque(maxlen=ASKED))  #: received from it
    probes: deque[int] = field(default_factory=lambda: deque(maxlen=ASKED))  #: their numbers
    is_answered: bool = False  #: some ack to it could be explained by these
    is_probe_answered: bool = False


class SwimMonitor:
    """Observes a node; of the configuration, only the limits of datagrams and of anti-entropy matter."""

    def __init__(self, _node: NodeId, config: Config) -> None:
        self.lives = 1
        self._config: Final = config
        self._with: Final[dict[NodeId, Correspondent]] = {}
        self._last: swim.Message | None = None  #: the node's message with the largest number
        self._wanted: Final = BoundedDict[tuple[swim.Uuid, swim.Uuid], None](RELAYED)  #: requester and target of indirect pings
        self._acked: Final = BoundedDict[tuple[swim.Uuid, swim.Incarnation], None](RELAYED)  #: acks that were received
        self._has_passed_on = False  #: some indirect ack could be explained by these

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        peer, message, size = seen.peer, seen.message, seen.size
        other = self._with.setdefault(peer, Correspondent())
        if not seen.sent:
            self._record_received(other, message)
            return
        if size > self._config.max_datagram:
            yield RuleViolation(LIMIT, {"at most": self._config.max_datagram}, size)
        yield from self._check_number(message)
        if isinstance(message, swim.ProbeAck):
            yield from self._probe_ack(other, message)
        if isinstance(message, swim.Ack):
            yield from self._ack(other, message)
        if isinstance(message, (swim.Ping, swim.Ack)):
            yield from self._vectors(message)
        if isinstance(message, swim.Ping):
            yield from self._ping(message)

    def _record_received(self, other: Correspondent, message: swim.Message) -> None:
        if isinstance(message, swim.Probe):
            other.probes.append(message.incarnation.tx)
        elif isinstance(message, swim.Ping):
            other.pings.append(message)
            for vector in message.vectors:
                if isinstance(vector, swim.IndirectPing):
                    self._wanted[message.sender, vector.target] = None
        elif isinstance(message, swim.Ack):
            self._acked[message.sender, message.incarnation] = None

    def _check_number(self, message: swim.Message) -> Iterator[RuleViolation]:
        """
        Checks that the number is larger than those before; an immediate duplicate is one that a capture has twice.

        The very first number is that of a node whose restart counter was lost [SX-09], which is no fault of its messages.
        """
        last = self._last
        if last is None or last.sender != message.sender or message.incarnation > last.incarnation:
            self._last = message
        elif message.incarnation < last.incarnation and message.incarnation.tx == 1:
            self._last, self.lives = message, self.lives + 1
        elif message.incarnation < last.incarnation:
            self._last = message  # reported once
            yield RuleViolation(COUNTED, {"above": MESSAGE.plain(last)}, MESSAGE.plain(message))
        elif message != last:
            yield RuleViolation(ONE_NUMBER, MESSAGE.plain(last), MESSAGE.plain(message))

    def _probe_ack(self, other: Correspondent, message: swim.ProbeAck) -> Iterator[RuleViolation]:
        if message.probe_tx in other.probes:
            other.is_probe_answered = True
        elif other.is_probe_answered:
            yield RuleViolation(PROBED, [str(number) for number in other.probes], str(message.probe_tx))

    def _ack(self, other: Correspondent, ack: swim.Ack) -> Iterator[RuleViolation]:
        asked = [ping for ping in other.pings if (ping.sender, ping.incarnation.tx) == (ack.target, ack.target_tx)]
        deaths = [said for said in ack.vectors if isinstance(said, swim.Dead) and said.node == ack.target and said.incarnation]
        if any(ping.target == ack.sender for ping in asked):
            other.is_answered = True
        elif asked:
            yield RuleViolation(OWN, MESSAGE.plain(asked[-1]), MESSAGE.plain(ack))
        elif other.is_answered:
            yield RuleViolation(ANSWERS, MESSAGE.plain(other.pings[-1]), MESSAGE.plain(ack))
        is_past = not asked or any(ping.incarnation < (said.incarnation or ()) for ping in asked for said in deaths)
        if deaths and not (is_past and len(ack.vectors) == 1):
            yield RuleViolation(PAST, MESSAGE.plain(asked[-1]) if asked else None, MESSAGE.plain(ack))
        if any(isinstance(vector, (swim.Payload, swim.IndirectPing, swim.IndirectAck)) for vector in ack.vectors):
            yield RuleViolation(OF_ACKS, None, MESSAGE.plain(ack))

    def _vectors(self, message: swim.Ping | swim.Ack) -> Iterator[RuleViolation]:
        events = [v.node for v in message.vectors if isinstance(v, ClusterEventVector)]
        if len(set(events)) < len(events):
            yield RuleViolation(ONE_EVENT, None, MESSAGE.plain(message))
        for place, vector in enumerate(message.vectors):
            if not isinstance(vector, swim.AntiEntropy):
                continue
            listed = [member.uuid for member in vector.members]
            if len(set(listed)) < len(listed) or {message.sender, message.target} & set(listed):
                yield RuleViolation(OTHERS, None, MESSAGE.plain(message))
            if len(listed) > self._config.ae_size:
                yield RuleViolation(FEW, {"at most": self._config.ae_size}, MESSAGE.plain(message))
            before = message.vectors[:place]
            is_welcome = any(isinstance(said, swim.Joining) and said.node == message.target for said in before)
            if not vector.tagged and not (is_welcome and isinstance(message, swim.Ack)):
                yield RuleViolation(UNTAGGED, None, MESSAGE.plain(message))

    def _ping(self, ping: swim.Ping) -> Iterator[RuleViolation]:
        for vector in ping.vectors:
            if isinstance(vector, swim.Joining) and vector.node == ping.sender:
                if len(ping.vectors) > 1 or vector.incarnation != ping.incarnation:
                    yield RuleViolation(ALONE, None, MESSAGE.plain(ping))
            elif isinstance(vector, swim.IndirectPing):
                if vector.target in (ping.sender, ping.target):
                    yield RuleViolation(RELAY, None, MESSAGE.plain(ping))
            elif isinstance(vector, swim.IndirectAck):
                if (ping.target, vector.target) in self._wanted and (vector.target, vector.incarnation) in self._acked:
                    self._has_passed_on = True
                elif self._has_passed_on:
                    yield RuleViolation(PASSED_ON, None, MESSAGE.plain(ping))


monitor: Final = SwimMonitor
