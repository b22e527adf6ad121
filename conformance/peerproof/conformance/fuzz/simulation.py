"""
One run: nodes, the network between them, and virtual time; every step is checked, recorded and counted.

A datagram stays under way until it is delivered, perhaps more than once, or lost. It is also lost if a partition separates it
from its receiver, or the receiver is down, when it would arrive. Datagrams to unknown addresses are dropped. All nodes have the
same clock.

Over connections nothing is duplicated. The sender learns the outcome of each message, as long as it lives: confirmed or failed. A
message whose confirmation is lost has failed too, though it has arrived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.fuzz.findings import Fed, Finding, Found, Told
from peerproof.conformance.fuzz.inputs.inputs import FORGERY, FORGETTING, GONE, RESTART, Inputs
from peerproof.conformance.fuzz.players import Place, Player, Seen
from peerproof.conformance.fuzz.reaction import Birth, Called, Came, Passed, Reaction, Settled, Started, Stimulus
from peerproof.conformance.traces.other_readings import specification_by
from peerproof.spec.core import EVERYBODY, Instant, NodeId, Notify
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import Cluster, InFlight, find_violations
from peerproof.spec.protocols import PROTOCOLS

#: Maximum number of messages under way; the oldest are lost.
MOST_UNDER_WAY: Final = 30

#: Deliveries of messages under way; each node sees only its own end.
MOVES: Final = ("deliver", "repeat", "unconfirmed")

#: Maximum microseconds that a confirmed message takes: few different values, so that nodes are equally far away.
LONGEST: Final = 4

#: Maximum number of timers that run out while time passes once.
MOST_EXPIRIES: Final = 2_000


class Datagram(NamedTuple):
    """A datagram under way, or injected."""

    sender: NodeId
    to: NodeId
    data: bytes
    message: Any = None  #: the decoded bytes; None if they are not needed
    orphaned: bool = False  #: the sender has crashed since


class Action(NamedTuple):
    """An action of a run: its kind and arguments."""

    what: str  #: time, call, fetch, deliver, repeat, unconfirmed, lose, settle, inject, crash, restart, forget, cut or heal
    addr: NodeId | None = None
    dice: int = 0  #: the seed of the random choices during the action
    span: int = 0  #: milliseconds; of a message that is settled, microseconds, or 0 if it did not arrive
    command: Any = None  #: of an application; for a fetch, the notice by which it was asked for
    datagram: Datagram | None = None
    groups: tuple[frozenset[NodeId], ...] = ()


class Arena:
    """The current state of a run."""

    def __init__(self, inputs: Inputs, player: Player, configs: Mapping[NodeId, Any], counts: Counter[str]) -> None:
        self.inputs = inputs
        self.spec = inputs.spec
        self.player = player
        self.counts = counts
        self.now = Instant(0)
        judged = specification_by(self.spec.NAME, player.taken) if player.taken else self.spec
        self.places = {addr: Place(Birth(judged, addr, player.clamp_config(config))) for addr, config in configs.items()}
        self.under_way: list[Datagram] = []
        self.errands: list[tuple[NodeId, Any]] = []  #: nodes, and the notices by which they ask for a fetch
        self.connected = self.spec.TRANSPORT == "tcp"
        self.groups: tuple[frozenset[NodeId], ...] = ()
        self.script: list[Action] = []  #: the actions so far
        self.alone: list[Action] = []  #: the same as each node alone sees them: arriving messages are injected
        self._faults: frozenset[str] = frozenset()
        self._story: list[Told] = []
        self._always = [p for p in self.spec.PROPERTIES if p.when == "always"]
        self._sometimes = [p for p in self.spec.PROPERTIES if p.when == "sometimes"]

    @property
    def up(self) -> list[NodeId]:
        """The running nodes."""
        return [addr for addr, place in self.places.items() if place.up]

    def open(self, dice: int) -> None:
        """Starts all nodes."""
        for addr in self.places:
            self._feed(addr, Started(), Choices(f"{dice}/{addr!a}"))

    def perform(self, action: Action) -> None:
        """Performs an action if it is possible now: an action of a longer run may not be in a shorter one."""
        self.script.append(action)
        place = self.places.get(action.addr) if action.addr is not None else None
        if action.what not in MOVES and action.what != "fetch":
            self.alone.append(action)
        match action.what:
            case "time":
                self._pass_time(action.span, action.dice)
            case "call" if place and place.up:
                if self.inputs.lies and any(self.inputs.lies(node.state, action.command) for node in place.possible):
                    self._faults |= {FORGERY}
                self._feed(place.addr, Called(action.command), Choices(str(action.dice)))
            case "fetch" if place and (place.addr, action.command) in self.errands:
                self._fetch(place, action)
            case "deliver" | "repeat" | "unconfirmed" | "lose" if action.datagram in self.under_way:
                move = self._connect if self.connected else self._move
                move(action, self._next(action.datagram))
            case "settle" if place and place.up and action.datagram in self.under_way:
                self.under_way.remove(action.datagram)
                self._settle(action.datagram, action.span or None, action.dice)
            case "inject" if place and place.up and action.datagram:
                self._inject(place.addr, action.datagram, action.dice)
            case "crash" if place and place.up:
                self._crash(place)
            case "restart" | "forget" if place and not place.up:
                forgets = action.what == "forget" or (self.inputs.kept is not None and not place.kept)
                self._faults |= {FORGETTING if forgets else RESTART}
                self._feed(place.addr, Started({} if forgets else place.kept), Choices(str(action.dice)))
            case "cut":
                self.groups = action.groups
                self._report("cut " + " | ".join(", ".join(sorted(group)) for group in action.groups))
            case "heal" if self.groups:
                self.groups = ()
                self._report("heal")
            case _:
                return
        self.counts[action.what] += 1
        self._relieve(action.dice)

    def end(self) -> None:
        """Ends the run."""
        self.player.end(self.places.values())

    def _next(self, datagram: Datagram) -> int:
        """Returns the index of the message to move: this one, or an earlier one between the same nodes if messages keep order."""
        if not self.inputs.is_in_order:
            return self.under_way.index(datagram)
        return next(index for index, (sender, to, *_) in enumerate(self.under_way) if (sender, to) == datagram[:2])

    def _move(self, action: Action, index: int) -> None:
        """Delivers a message under way if possible, or loses it."""
        datagram = self.under_way[index]
        if action.what != "repeat":
            del self.under_way[index]
        if action.what == "lose":
            self._record_loss(datagram, "")
        elif self._is_partitioned(datagram.sender, datagram.to):
            self._record_loss(datagram, "cut off")
        elif not self.places[datagram.to].up:
            self._record_loss(datagram, "receiver down")
        else:
            self.counts["overtaken"] += bool(index)
            self.alone.append(Action("inject", datagram.to, action.dice, datagram=datagram))
            self._arrive(datagram, "and will again" if action.what == "repeat" else "", action.dice)

    def _connect(self, action: Action, index: int) -> None:
        """Delivers a message over a connection if possible, and tells its sender whether it was confirmed."""
        datagram = self.under_way.pop(index)
        receiver = self.places.get(datagram.to)
        is_there = receiver is not None and receiver.up
        why = "receiver down" if not is_there else "cut off" if self._is_partitioned(datagram.sender, datagram.to) else ""
        arrives = not why and action.what != "lose"
        took = 1 + action.dice % LONGEST if arrives and action.what == "deliver" else None
        if is_there and took is None:
            self._faults |= {GONE}
        if arrives:
            self.counts["overtaken"] += bool(index)
            self.alone.append(Action("inject", datagram.to, action.dice, datagram=datagram))
            self._arrive(datagram, "" if took else "and is not confirmed", action.dice)
        else:
            self._record_loss(datagram, why)
        if self.places[datagram.sender].up and not datagram.orphaned:
            self.alone.append(Action("settle", datagram.sender, action.dice, took or 0, datagram=datagram))
            self._settle(datagram, took, action.dice)

    def _fetch(self, place: Place, action: Action) -> None:
        """Gives an application what it was asked to fetch from a reachable node, or a failure."""
        assert self.inputs.fetched, "only such protocols have errands"
        self.errands.remove((place.addr, action.command))
        near = [other for other in self.places.values() if other.up and not self._is_partitioned(place.addr, other.addr)]
        states = {other.addr: other.possible[0].state for other in near if len(other.possible) == 1}
        call = Action("call", place.addr, action.dice, command=self.inputs.fetched(action.command, states))
        self.alone.append(call)
        self._feed(place.addr, Called(call.command), Choices(str(call.dice)))

    def _settle(self, datagram: Datagram, took: int | None, dice: int) -> None:
        """Tells the sender of a message its outcome."""
        self._feed(datagram.sender, Settled(datagram.to, datagram.data, took), Choices(str(dice)))

    def _relieve(self, dice: int) -> None:
        """Fails the oldest messages over connections if too many are under way."""
        while self.connected and len(self.under_way) > MOST_UNDER_WAY:
            self.counts["overflow"] += 1
            self._connect(Action("lose", dice=dice), 0)

    def _inject(self, addr: NodeId, datagram: Datagram, dice: int) -> None:
        """Delivers a datagram that no node of the run has sent."""
        try:
            self.spec.MESSAGE.decode(datagram.data)
        except MalformedMessage:
            self.counts["malformed"] += 1
        else:
            self.counts["forged"] += 1
            self._faults |= {FORGERY}
        self._arrive(datagram._replace(to=addr), "made up", dice)

    def _pass_time(self, span: int, dice: int) -> None:
        """Runs the timers that are due until then, each at its time; at the same time, in the order of the nodes."""
        until = Instant(self.now + span)
        for _ in range(MOST_EXPIRIES):
            due = [(place.due, addr) for addr, place in self.places.items() if place.due is not None and place.due <= until]
            if not due:
                self.now = until
                return
            at, addr = min(due)
            self.now = max(self.now, at)
            self.counts["expiry"] += 1
            self._feed(addr, Passed(), Choices(f"{dice}/{self.now}/{addr!a}"))
        detail = f"more than {MOST_EXPIRIES} timers until {until} ms, the last one at {addr}"
        raise self._complete_finding(Found(Finding("clock", detail)), None)

    def _crash(self, place: Place) -> None:
        self._report("crash", place.addr)
        place.fed.append(Fed(self.now, None))
        try:
            self.player.crash(place)
        except Found as wrong:
            raise self._complete_finding(wrong, place) from None
        if self.inputs.kept:  # what a node keeps is certain, even if its state is not
            place.kept = self.inputs.kept(place.possible[0].state)
        place.possible, place.complete, place.next_timer = (), True, None
        self.errands = [(addr, notice) for addr, notice in self.errands if addr != place.addr]
        if self.connected:
            self._faults |= {GONE}
            self.under_way = [one._replace(orphaned=True) if one.sender == place.addr else one for one in self.under_way]

    def _arrive(self, datagram: Datagram, remark: str, dice: int) -> None:
        self._story.append(Told(self.now, remark, datagram.to, datagram.sender, datagram.data))
        self._feed(datagram.to, Came(datagram.sender, datagram.data), Choices(str(dice)))

    def _feed(self, addr: NodeId, stimulus: Stimulus, choices: Choices) -> None:
        """Passes a stimulus to a node, checks the result, and checks the properties afterwards."""
        place = self.places[addr]
        if not isinstance(stimulus, Came):
            self._report(stimulus, addr)
        before = place.possible
        place.fed.append(Fed(self.now, stimulus, choices.asked))
        try:
            seen = self.player.feed(place, stimulus, self.now, choices)
            self._take(place, seen)
        except Found as wrong:
            raise self._complete_finding(wrong, place, self._citations(stimulus, before)) from None
        if isinstance(stimulus, Passed) and not seen.sent:
            self._story.pop()  # timers that send nothing are not drawn

    def _take(self, place: Place, seen: Seen) -> None:
        place.possible = tuple(dict.fromkeys(reaction.node for reaction in seen.reactions))
        place.complete = seen.complete
        decode = self.spec.MESSAGE.decode
        anywhere = self.connected  # a sender learns also that no node is there
        sent = [(to, data) for all_of, data in seen.sent for to in self._receivers(all_of) if anywhere or to in self.places]
        self.under_way += [Datagram(place.addr, to, data, decode(data)) for to, data in sent]
        while not self.connected and len(self.under_way) > MOST_UNDER_WAY:
            self.counts["overflow"] += 1
            self._record_loss(self.under_way.pop(0), "too much is under way")
        if len(seen.reactions) == 1:
            self._check(seen.reactions[0])
            notices = [effect.notice for effect in seen.reactions[0].effects if isinstance(effect, Notify)]
            self.errands += [
                (place.addr, notice) for notice in notices if self.inputs.fetched and self.inputs.fetched(notice, {})
            ]

    def _receivers(self, to: NodeId) -> Collection[NodeId]:
        """Returns the receivers of a message; a broadcast goes to all nodes, including its sender."""
        return self.places if to == EVERYBODY else (to,)

    def _check(self, reaction: Reaction) -> None:
        """Checks the properties of the node, of its steps, and of the cluster, where the states are certain."""
        subjects: list[tuple[str, Any]] = [("node", reaction.node.state), *(("step", taken) for taken in reaction.taken)]
        self.counts["step"] += len(reaction.taken)
        up = [other for other in self.places.values() if other.up]
        if all(len(other.possible) == 1 for other in up):
            nodes = {other.addr: other.possible[0].state for other in up}
            in_flight = tuple(InFlight(one.sender, one.to, one.message) for one in self.under_way)
            subjects.append(("cluster", Cluster(nodes, in_flight)))
        for of, subject in subjects:
            promised = [p for p in self._always if p.of == of and self.inputs.is_promised(p, self._faults)]
            for broken in find_violations(promised, of, subject):
                raise Found(Finding("property", f"{broken.name}: {broken.about}", name=broken.name, broken=(broken,)))
            for seen in self._sometimes:
                if seen.of == of and seen.holds(subject):
                    self.counts[seen.name] += 1

    def _complete_finding(self, wrong: Found, place: Place | None, cited: tuple[str, ...] = ()) -> Found:
        finding = wrong.finding
        finding.cited = finding.cited or cited
        finding.story = tuple(self._story)
        finding.nodes = tuple(self.places)
        if place is not None:
            finding.node = place.addr
            finding.fed = tuple(place.fed)
            finding.config = place.birth.config
        return wrong

    def _citations(self, stimulus: Stimulus, before: tuple[Any, ...]) -> tuple[str, ...]:
        """Returns the functions of the specification for this stimulus, or clauses."""
        match stimulus:
            case Started():
                words = ["initial"]
            case Called(command):
                words = [f"on_{self.spec.COMMAND.names[type(command)]}"]
            case Passed():
                timers = [timer for node in before for timer, due in node.timers if due <= self.now]
                words = [f"on_{self.spec.TIMER.names[type(timer)]}" for timer in timers]
                words = words or [f"on_{name}" for name in self.spec.TIMER.cases]  # no timer was due
            case Came(_, data):
                try:
                    name = self.spec.MESSAGE.form.names[type(self.spec.MESSAGE.decode(data))]
                    words = [f"on_{name}", f"on_{name}_message"]
                except MalformedMessage:
                    return self.inputs.malformed
            case Settled():
                words = ["on_sent"]
        modules = [handlers.target.rpartition(".")[2] for handlers in PROTOCOLS[self.spec.NAME].handlers]
        return tuple(f"{module}.{word}" for module in modules for word in words)

    def _is_partitioned(self, one: NodeId, other: NodeId) -> bool:
        sides = [next((index for index, group in enumerate(self.groups) if addr in group), None) for addr in (one, other)]
        return None not in sides and sides[0] != sides[1]

    def _record_loss(self, datagram: Datagram, why: str) -> None:
        if why:
            self.counts[f"lost, {why}"] += 1
        self._story.append(Told(self.now, why, datagram.to, datagram.sender, datagram.data, lost=True))

    def _report(self, what: str | Stimulus, addr: NodeId | None = None) -> None:
        self._story.append(Told(self.now, what, addr))
