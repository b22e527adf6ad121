"""
Rules about DistKV's messages alone, without knowledge of the nodes' stores.

A node's messages go to all nodes, and all messages are received. A message that has arrived may still be queued at the node when
it sends: where messages have times, the rules consider a message processed only `PATIENCE` clocks after its arrival. Downloads
are not observed. A node that pings with the tick zero, and had another one or a higher tock before, has lost its data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain, Element, agree, zero_may_ping
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.messages import Info, Message, Ping, Update
from peerproof.spec.distkv.ranges import Ranges, of_range
from peerproof.spec.distkv.state import Config, is_startup
from peerproof.spec.distkv.ticks import TickSets, difference, union
from peerproof.spec.distkv.transitions import ticks_in
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen, rules_in

LIMIT: Final = Rule("WithinLimit", "no message is larger than Serf carries", ("DA-12", "DA-82"))
LENGTHS: Final = Rule("ChainsBounded", "no chain is longer than the configured maximum", ("D-14", "DA-13"))
ONE_NAME: Final = Rule("OwnName", "pings and infos name their sender", ("D-40",))
TOCKS: Final = Rule("TockRises", "a new message has a higher tock than all before it", ("D-52", "D-53", "D-54"), needs_all=True)
NO_GAPS: Final = Rule("TicksHaveNoGaps", "each change of a node has its next tick", ("D-09", "D-21", "D-42"), needs_all=True)
SHOWN: Final = Rule("TickShown", "a node shows the tick of its last change", ("D-41",), needs_all=True)
AS_IT_WAS: Final = Rule("SentAsItWas", "a change that is sent again is unchanged", ("D-43", "DA-03", "DA-48"))
BASED: Final = Rule("BasedOnPing", "a ping with a chain follows a ping that was heard", ("D-83", "D-84", "DA-66"), needs_all=True)
SILENT: Final = Rule(
    "ZeroIsSilent", "a node without a tick yields the chain to nodes with one", ("D-107", "DA-67"), needs_all=True
)
GROWS: Final = Rule("TicksGrow", "a node's ticks of others never decrease", ("D-65", "DA-45"), needs_all=True)
ASKED: Final = Rule("KnownWasAsked", "changes reported as superseded were requested", ("D-117", "DA-78"), needs_all=True)

#: All rules.
RULES: Final = rules_in(globals())

#: The clocks that a message may be queued at the node; and in which an answer to a message before the log may follow.
PATIENCE: Final = 1
ANSWERING: Final = 3

#: The numbers of messages to remember: changes, queued messages, pings to build on; and of ranges of a node's ticks.
CHANGES: Final = 4096
WAITING: Final = 4096
PINGS: Final = 1024
RANGES: Final = 1024

_MICROSECONDS: Final = 1000


class Heard(NamedTuple):
    """A ping on which the next one may be based."""

    at: int | None
    chain: Chain


class Told(NamedTuple):
    """A received tock, which later messages must exceed."""

    at: int | None
    tock: int


class Life:
    """The observed data of a node since its start or restart."""

    def __init__(self) -> None:
        self.tock = -1  #: the highest that its messages must exceed
        self.waiting: deque[Told] = deque(maxlen=WAITING)
        self.tick: int | None = None  #: the last tick that it has shown
        self.is_changed = False  #: whether that was of a change, and it has learnt of no higher one
        self.pings: deque[Heard] = deque(maxlen=PINGS)  #: candidates for the basis of its next ping
        self.has_pinged = False
        self.ticks: dict[NodeId, int] = {}  #: the ticks of other nodes that it has sent


class DistKVMonitor:
    """Observes a node; of its configuration, the clock, the lengths and the payload matter."""

    def __init__(self, _node: NodeId, config: Config) -> None:
        self.lives = 1
        self._config: Final = config
        self._patience: Final = PATIENCE * config.clock * _MICROSECONDS
        self._own: NodeId | None = None  #: the node's name, once a message has shown it
        self._begun: int | None = None  #: microseconds: time of the first observed message
        self._changes: Final = BoundedDict[Element, list[Update]](CHANGES)  #: observed updates by change
        self._asked: TickSets = Table()
        self._life = Life()

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        message: Message = seen.message
        if self._begun is None:
            self._begun = seen.at
        if not seen.sent:
            self._record_received(seen, message)
            return
        if (size := len(payload(message))) > self._config.max_payload:
            yield RuleViolation(LIMIT, {"at most": self._config.max_payload}, size)
        yield from self._check_length(message)
        if isinstance(message, Update):
            yield from self._update(seen, message)
            return
        if self._own not in (None, message.chain.head.node):
            yield RuleViolation(ONE_NAME, self._own, message.chain.head.node)
            return
        self._own = message.chain.head.node
        if isinstance(message, Ping) and self._begins_anew(message):
            self._life = Life()
            self.lives += 1
            for head in [head for head in self._changes if head.node == self._own]:
                del self._changes[head]
        yield from self._check_tock(seen, message)
        yield from self._shows(message)
        yield from self._ping(seen, message) if isinstance(message, Ping) else self._info(seen, message)

    def _begins_anew(self, ping: Ping) -> bool:
        """Whether the node has lost its data, and so starts with new numbers."""
        return not ping.chain.head.tick and (is_startup(ping) or bool(self._life.tick) or ping.tock <= self._life.tock)

    def _record_received(self, seen: Seen, message: Message) -> None:
        life = self._life
        life.waiting.append(Told(seen.at, message.tock))
        if any(node == self._own and tick > (life.tick or 0) for node, tick in ticks_in(message)):
            life.is_changed = False
        if isinstance(message, Update):
            self._remember(message)
        elif isinstance(message, Ping):
            life.pings.append(Heard(seen.at, message.chain))
        elif message.missing:
            self._asked = Table({node: _hull(ranges) for node, ranges in union(self._asked, message.missing).items()})

    def _check_length(self, message: Message) -> Iterator[RuleViolation]:
        most = self._config.change_length if isinstance(message, Update) else self._config.ping_length
        chain = message.reason if isinstance(message, Info) else message.chain
        if chain is not None and len(chain.elements) > most:
            yield RuleViolation(LENGTHS, {"at most": most}, len(chain.elements))

    def _check_tock(self, seen: Seen, message: Message) -> Iterator[RuleViolation]:
        """Checks the tock of a new message."""
        life = self._life
        while life.waiting and _is_past(life.waiting[0].at, seen.at, self._patience):
            life.tock = max(life.tock, life.waiting.popleft().tock)
        if message.tock <= life.tock:
            yield RuleViolation(TOCKS, {"above": life.tock}, message.tock)
        life.tock = max(life.tock, message.tock)

    def _update(self, seen: Seen, update: Update) -> Iterator[RuleViolation]:
        life, head = self._life, update.chain.head
        tick, known = head.tick or 0, self._changes.get(head)
        if known is None and head.node == self._own and tick > (life.tick or 0):
            if life.is_changed and tick != (life.tick or 0) + 1:
                yield RuleViolation(NO_GAPS, (life.tick or 0) + 1, tick)
            life.tick, life.is_changed = tick, True
            yield from self._check_tock(seen, update)
        elif known is not None and not any(_is_same(update, other) for other in known):
            yield RuleViolation(AS_IT_WAS, _plain(known[0]), _plain(update))
        self._remember(update)

    def _shows(self, message: Info | Ping) -> Iterator[RuleViolation]:
        life, tick = self._life, message.chain.head.tick or 0
        if life.tick is not None and (tick < life.tick or (life.is_changed and tick > life.tick)):
            yield RuleViolation(SHOWN, life.tick, tick)
        life.tick = max(tick, life.tick or 0)

    def _ping(self, seen: Seen, ping: Ping) -> Iterator[RuleViolation]:
        life, chain = self._life, ping.chain
        if life.has_pinged and not is_startup(ping) and len(life.pings) < PINGS:
            based = [heard.chain for heard in life.pings if agree(chain.prev, heard.chain.within(self._config.ping_length))]
            if not based:
                yield RuleViolation(BASED, "the chain of a ping that was heard or sent", _elements(chain.prev))
            elif not chain.head.tick and not any(zero_may_ping(one.within(self._config.ping_length)) for one in based):
                yield RuleViolation(SILENT, "silence", _elements(chain))
        life.has_pinged = True
        while life.pings and _is_past(life.pings[0].at, seen.at, self._patience):
            life.pings.popleft()
        life.pings.append(Heard(seen.at, chain))

    def _info(self, seen: Seen, info: Info) -> Iterator[RuleViolation]:
        ticks = self._life.ticks
        for node, tick in info.ticks.items():
            if tick < ticks.get(node, 0):
                yield RuleViolation(GROWS, {node: ticks[node]}, {node: tick})
            ticks[node] = max(tick, ticks.get(node, 0))
        unasked = difference(info.known, self._asked)
        if unasked and _is_past(self._begun, seen.at, ANSWERING * self._config.clock * _MICROSECONDS):
            yield RuleViolation(ASKED, "requested changes", {node: list(ranges.wire()) for node, ranges in unasked.items()})

    def _remember(self, update: Update) -> None:
        head = update.chain.head
        known = self._changes.get(head, [])
        self._changes[head] = known if any(_is_same(update, other) for other in known) else [*known, update]


monitor: Final = DistKVMonitor


def _is_past(then: int | None, now: int | None, patience: int) -> bool:
    """Whether an event observed at `then` is certainly processed by `now`; without times, all earlier events are."""
    return then is None or now is None or now - then >= patience


def _hull(ranges: Ranges) -> Ranges:
    """Returns a set of ticks; if it has too many gaps, one without gaps."""
    return ranges if len(ranges.begins) <= RANGES else of_range(ranges.begins[0], ranges.ends[-1])


def _is_same(update: Update, other: Update) -> bool:
    """Whether two updates are of one change, except for the lengths of stored chains. [DA-85]"""
    shorter, longer = sorted((update.chain.elements, other.chain.elements), key=len)
    is_cut = len(shorter) < len(longer)
    chains = longer[: len(shorter)] == shorter and (is_cut or update.chain.cut == other.chain.cut)
    return chains and (update.path, update.value, update.tock) == (other.path, other.value, other.tock)


def _plain(update: Update) -> Plain:
    return {"chain": _elements(update.chain), "tock": update.tock}


def _elements(chain: Chain) -> Plain:
    return [[node, tick] for node, tick in chain.elements]
