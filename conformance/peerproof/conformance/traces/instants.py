"""
Checks the protocol's properties at every instant of a run, over all of its nodes.

The clocks of nodes are independent. So the events are put into an order in which each message is received after it was sent; of
the nodes that can be next, the one whose own clock is earliest is taken. The run may have happened in any such order, and
invariants hold at each of its instants.

A message from a node whose log is missing or incomplete may come from the future of a logged node. From then on no order is known
to be valid, and cluster properties are not checked any more. The same applies after a restart, because these properties are
promised for runs without restarts. Properties of single nodes and steps are still checked.

The events of each node are read in order, some at a time, and one state per node is kept. Each step is the specification's, with
the recorded choices; `node_check` checks that the node did the same. A node leaves when its state is not known any more, and
after its last event, because its log may end earlier than the node did. A broadcast is one message, which its sender receives
too; receivers need not know the sender.

Over connections a node stays after its last event, because senders then learn that it is not there. Once a node has had its last
event or its state is not known, the node is missing, and such a protocol promises nothing more about the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import Ref, Rows, text_of
from peerproof.conformance.traces.findings import Finding, Findings, replay_command, severity_of
from peerproof.conformance.traces.node_check import Options, Verdict, specification_of, verdict_of
from peerproof.conformance.traces.steps import ANYBODY, Address, ConnectedOrder, Mail, NodeSteps, Order, Stepped, messages_of
from peerproof.spec.core import EVERYBODY, SERF, TCP, NodeId, Send
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.properties import Cluster, InFlight, Property

#: Approximate number of rows of all nodes of a run that are in memory.
HELD: Final = 4096

#: Undelivered messages that properties see; older ones are dropped. Over connections every message arrives or fails.
MOST_UNDER_WAY: Final = 64
MOST_CONNECTED: Final = 2**16

NEVER_SENT: Final = "NeverSent"


class Place(NamedTuple):
    """The place of a node's events."""

    run_id: str
    node: str
    protocol: str
    way: str
    file: str
    begin: int  #: row
    events: int
    until: int | None  #: the event from which the node's state is not known any more
    suspect: int | None = None  #: that event, if it is a receipt


#: Reads rows of one node: file, first row, number of rows, maximum per batch.
ReadRows: TypeAlias = Callable[[Path, int, int, int], Iterator[Rows]]


class RunCheck:
    """A check of all nodes of one run together."""

    def __init__(
        self, places: Sequence[Place], every: int, options: Options, read: ReadRows, *, suspect: str | None = None
    ) -> None:
        """With `suspect`, a node, the check only finds out if this node is in `never_sent`; it looks at no properties."""
        self._read: Final = read
        self._places: Final = [place for place in places if place.way == "replay"]
        self._unseen: Final = len(places) - len(self._places)
        first = self._places[0]
        self._run_id, self._protocol = first.run_id, first.protocol
        self._specification: Final = specification_of(first.protocol, options.readings)
        command = replay_command(options.place, first.run_id, "", options.arguments)
        self.findings: Final = Findings(self._specification, first.run_id, "", command)
        self._every: Final = every
        self._suspect: Final = suspect
        always = [p for p in self._specification.PROPERTIES if p.when == "always" and suspect is None]
        self._of_one: Final = [p for p in always if p.of != "cluster"]
        self._of_all: Final = [p for p in always if p.of == "cluster"]
        self._reported: set[str] = set()
        self._remark = ""
        self._instants = 0
        self.never_sent: Final[set[str]] = set()  #: nodes whose suspect event receives what no node has sent
        self._places_by_name: Final = {NodeId(text_of(place.node)): place for place in self._places}
        self._states: dict[NodeId, Any] = {}
        self._is_over = False  #: cluster properties are not checked any more
        self._note = ""  #: the reason, where the protocol promises nothing more
        self._is_connected: Final = self._specification.TRANSPORT == TCP
        self._is_anybodys: Final = self._specification.TRANSPORT in (TCP, SERF)
        self._names: tuple[NodeId, ...] = ()
        self._nodes: Sequence[NodeSteps] = ()
        self._under_way: Final = UnderWay(MOST_CONNECTED if self._is_connected else MOST_UNDER_WAY)
        self._mail: Final = Mail()
        self._arrived: Final = Mail()

    def run(self) -> None:
        """Checks all instants."""
        size = max(16, HELD // len(self._places))
        specification, messages = self._specification, messages_of(self._specification)
        nodes = [NodeSteps(specification, self._events(p, size), messages, leaves=p.until is not None) for p in self._places]
        self._nodes = nodes
        self._names = tuple(node.name for node in nodes)
        connected = ConnectedOrder(nodes, self._mail, self._arrived, self._unsent)
        for index in connected if self._is_anybodys else Order(nodes, self._mail, self._unsent):
            node = nodes[index]
            self._step(node)
            if node.is_lost and self._suspect is not None and node.name == text_of(self._suspect):
                return
            if self._is_connected and node.is_lost:
                self._over(f"the last event of {node.name} after which its state is known")
            elif node.head is None and not self._is_connected:
                self._states.pop(node.name, None)
        for place, node in zip(self._places, nodes, strict=True):
            if node.is_lost:
                self._remark = self._remark or f"the state of {place.node} is not known to its end; it is left out from there"

    def verdict(self) -> Verdict:
        """Returns the verdict on the cluster."""
        if self._unseen:
            self._remark = self._remark or f"the states of {self._unseen} nodes are not known"
        found = self.findings
        verdict = verdict_of(found, is_whole=not self._remark)
        events = sum(place.events for place in self._places)
        outcome = found.count("violates"), found.count("log"), self._remark or self._note or None
        return Verdict(self._run_id, self._protocol, "", "cluster", verdict, events, self._instants, *outcome)

    def _events(self, place: Place, size: int) -> Iterator[Ref]:
        """Yields the events of a node whose state is known, in order, and its suspect event; duplicates are left out."""
        expected: int | None = None
        for rows in self._read(Path(place.file), place.begin, place.events, size):
            for index, seq in enumerate(rows.seqs):
                if expected is not None and seq < expected:
                    continue
                if (seq == place.until and seq != place.suspect) or (expected is not None and seq > expected):
                    return
                yield Ref(rows, index)
                if seq == place.suspect:
                    return
                expected = seq + 1

    def _step(self, node: NodeSteps) -> None:
        """Runs one instant: the next step of a node."""
        if node.head is not None and node.head.rows.seqs[node.head.at] == self._places_by_name[node.name].suspect:
            node.leave()
            return
        stepped = node.step()
        if stepped is None:
            return
        if stepped.taken is None and node.name in self._states:
            where = f"the restart of {node.name} at event {stepped.ref.event.seq}"
            self._over(f"{where}: what is promised of a cluster holds for runs without restarts")
        self._states[node.name] = stepped.state
        self._instants += 1
        for effect in stepped.effects:
            if isinstance(effect, Send):
                address = Address(ANYBODY if self._is_anybodys else node.name, effect.to, hash(effect.message))
                self._mail.add(address, is_news=self._is_anybodys)
                for to in self._names if effect.to == EVERYBODY else (effect.to,):
                    self._under_way.add(address._replace(to=to), InFlight(node.name, to, effect.message))
        if stepped.received is not None:
            self._under_way.remove(stepped.received._replace(to=node.name))
            if self._is_connected:
                self._arrived.add(stepped.received, is_news=True)
        if stepped.failed is not None and not self._is_over:  # the sender assumes that the receiver is gone
            self._is_over, event = True, stepped.ref.event
            where = f"event {event.seq} of {event.node}, by which {stepped.failed} is gone"
            self._note = f"cluster properties, promised as long as no node is gone, were checked up to {where}"
        self._look(stepped)

    def _look(self, stepped: Stepped) -> None:
        taken = stepped.taken
        is_as_before = taken is not None and taken.before is stepped.state
        for holding in self._of_one:
            if holding.name in self._reported or (is_as_before if holding.of == "node" else taken is None):
                continue
            if not holding.holds(stepped.state if holding.of == "node" else taken):
                self._report(holding, stepped)
        if self._of_all and self._instants % self._every == 0 and not self._is_over:
            cluster = Cluster(self._states, self._under_way.messages)
            for holding in self._of_all:
                if holding.name not in self._reported and not holding.holds(cluster):
                    self._report(holding, stepped)

    def _report(self, holding: Property, stepped: Stepped) -> None:
        self._reported.add(holding.name)
        event = stepped.ref.event
        message = f"{holding.about}: violated after event {event.seq} of {event.node}"
        self.findings.add(Finding(severity_of(holding.clauses), holding.name, message, stepped.ref, holding.clauses))

    def _over(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._remark = f"cluster properties were checked up to {why}"

    def _unsent(self, node: NodeSteps, other: NodeId, has_log: bool) -> None:
        """See `Unsent`. `has_log` is True if the log of the other node, the sender, is present and complete."""
        ref = node.head
        assert ref is not None
        if node.confirmed is not None:
            self._over(f"event {ref.event.seq} of {node.name}: {other} received a message that its log does not contain")
            return
        where = f"event {ref.event.seq} of {node.name}, which receives from {other} a message"
        sender = self._places_by_name.get(other)
        if sender is not None and sender.until is not None and not has_log:
            self._over(f"{where} that it may have sent after event {sender.until}, from which its state is not known")
        else:
            self._over(f"{where} that no log contains: its origin is unknown")
        receiver = self._places_by_name[node.name]
        if has_log and ref.event.seq == receiver.suspect and self._covers(other, node.now):
            assert sender is not None
            if not has_sent(self._read(Path(sender.file), sender.begin, sender.events, HELD), ref):
                self.never_sent.add(receiver.node)
        if has_log and NEVER_SENT not in self._reported:
            self._reported.add(NEVER_SENT)
            message = f"{node.name} receives from {other} a message that is not in its log: it ends early, or is of another run"
            self.findings.add(Finding("log", NEVER_SENT, message, ref))

    def _covers(self, name: NodeId, now: int) -> bool:
        """Returns True if a node's log goes on to this time, in microseconds, as far as clocks agree."""
        return any(node.name == name and node.now >= now for node in self._nodes)


def find_sender(ref: Ref) -> NodeId:
    """Returns the node that made the message of a receipt; an empty name if the log does not show it."""
    specification = specification_of(ref.rows.protocol)
    return NodeSteps(specification, iter([ref]), messages_of(specification), leaves=False).maker


def has_sent(log: Iterable[Rows], receipt: Ref) -> bool:
    """Returns True if a node's log has, at whatever event, the message that another node receives."""
    to, message = text_of(receipt.rows.node), json.loads(receipt.rows.column("args")[receipt.at] or "null")
    for rows in log:
        for effects in rows.column("effects"):
            for effect in json.loads(effects or "[]"):
                send = effect.get("send")
                if send is not None and send["message"] == message and send["to"] in (to, EVERYBODY):
                    return True
    return False


class UnderWay:
    """The most recent messages that were sent and not received."""

    def __init__(self, most: int) -> None:
        self._messages: Final = BoundedDict[Address, InFlight](most)
        self._listed: tuple[InFlight, ...] | None = ()

    @property
    def messages(self) -> tuple[InFlight, ...]:
        """All of these messages; the same object as long as they do not change."""
        if self._listed is None:
            self._listed = tuple(self._messages.values())
        return self._listed

    def add(self, address: Address, message: InFlight) -> None:
        """Adds a message that was sent, perhaps again."""
        self._messages.pop(address, None)
        self._messages[address] = message
        self._listed = None

    def remove(self, address: Address) -> None:
        """Removes a message that was received."""
        if self._messages.pop(address, None):
            self._listed = None
