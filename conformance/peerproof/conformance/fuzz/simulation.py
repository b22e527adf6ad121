"""
One run: nodes, the network between them, virtual time; every step is judged, told and counted.

A datagram that was sent stays under way until it is delivered, perhaps more than once, or lost. It is lost, too, if a cut lies
before its receiver or its receiver is down when it would arrive; what is sent to nobody's address is gone. All nodes have the
same clock.

Over connections nothing comes twice, and the sender learns what became of each message, as long as it lives: it was confirmed, or
failed. What is confirmed to nobody's ears fails too, though it has arrived.
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
from peerproof.spec.core import EVERYBODY, Instant, NodeId, Notify
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import Cluster, InFlight, find_violations
from peerproof.spec.protocols import PROTOCOLS

#: When more is under way, the oldest is lost.
MOST_UNDER_WAY: Final = 30

#: How messages under way move on; each node sees only its own end of it.
MOVES: Final = ("deliver", "repeat", "unconfirmed")

#: Microseconds that a confirmed message takes, at most: few different ones, so that nodes are equally far away.
LONGEST: Final = 4

#: More timers than these do not run out while time passes once.
MOST_EXPIRIES: Final = 2_000


class Datagram(NamedTuple):
    """What is under way, or made up."""

    sender: NodeId
    to: NodeId
    data: bytes
    message: Any = None  #: that the bytes are; None if nobody wants to know
    orphaned: bool = False  #: whether its sender has crashed since


class Action(NamedTuple):
    """Something that happens in a run: what, and what it takes."""

    what: str  #: time, call, fetch, deliver, repeat, unconfirmed, lose, settle, inject, crash, restart, forget, cut or heal
    addr: NodeId | None = None
    dice: int = 0  #: what is drawn by lot during it follows from this
    span: int = 0  #: milliseconds; of a message that is settled, microseconds, or 0 if it did not arrive
    command: Any = None  #: of an application; of one that fetches something, what it was told
    datagram: Datagram | None = None
    groups: tuple[frozenset[NodeId], ...] = ()


class Arena:
    """The run as it goes on."""

    def __init__(self, inputs: Inputs, player: Player, configs: Mapping[NodeId, Any], counts: Counter[str]) -> None:
        self.inputs = inputs
        self.spec = inputs.spec
        self.player = player
        self.counts = counts
        self.now = Instant(0)
        self.places = {addr: Place(Birth(self.spec, addr, player.clamp_config(config))) for addr, config in configs.items()}
        self.under_way: list[Datagram] = []
        self.errands: list[tuple[NodeId, Any]] = []  #: what applications have been told to fetch
        self.connected = self.spec.TRANSPORT == "tcp"
        self.groups: tuple[frozenset[NodeId], ...] = ()
        self.script: list[Action] = []  #: what has happened
        self.alone: list[Action] = []  #: the same as each node by itself has seen it: what arrives comes from nowhere
        self._faults: frozenset[str] = frozenset()
        self._story: list[Told] = []
        self._always = [p for p in self.spec.PROPERTIES if p.when == "always"]
        self._sometimes = [p for p in self.spec.PROPERTIES if p.when == "sometimes"]

    @property
    def up(self) -> list[NodeId]:
        """The nodes that run."""
        return [addr for addr, place in self.places.items() if place.up]

    def open(self, dice: int) -> None:
        """All nodes start."""
        for addr in self.places:
            self._feed(addr, Started(), Choices(f"{dice}/{addr!a}"))

    def perform(self, action: Action) -> None:
        """Something happens, if it can happen now: an action of a longer run may be of no use in a shorter one."""
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
        """The run is over."""
        self.player.end(self.places.values())

    def _next(self, datagram: Datagram) -> int:
        """Where the message stands that moves on: this one, or an earlier one between the same nodes if none may overtake it."""
        if not self.inputs.is_in_order:
            return self.under_way.index(datagram)
        return next(index for index, (sender, to, *_) in enumerate(self.under_way) if (sender, to) == datagram[:2])

    def _move(self, action: Action, index: int) -> None:
        """A message under way arrives, if it can, or is lost."""
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
        """A message over a connection arrives, if it can, and its sender learns whether it was confirmed."""
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
            self._arrive(datagram, "" if took else "and nobody confirms it", action.dice)
        else:
            self._record_loss(datagram, why)
        if self.places[datagram.sender].up and not datagram.orphaned:
            self.alone.append(Action("settle", datagram.sender, action.dice, took or 0, datagram=datagram))
            self._settle(datagram, took, action.dice)

    def _fetch(self, place: Place, action: Action) -> None:
        """An application has got what it was to fetch, from whoever is in reach, or has not."""
        assert self.inputs.fetched, "somebody was told to"
        self.errands.remove((place.addr, action.command))
        near = [other for other in self.places.values() if other.up and not self._is_partitioned(place.addr, other.addr)]
        states = {other.addr: other.possible[0].state for other in near if len(other.possible) == 1}
        call = Action("call", place.addr, action.dice, command=self.inputs.fetched(action.command, states))
        self.alone.append(call)
        self._feed(place.addr, Called(call.command), Choices(str(call.dice)))

    def _settle(self, datagram: Datagram, took: int | None, dice: int) -> None:
        """The sender of a message learns what became of it."""
        self._feed(datagram.sender, Settled(datagram.to, datagram.data, took), Choices(str(dice)))

    def _relieve(self, dice: int) -> None:
        """Over connections no message is lost without a word, also if too much is under way."""
        while self.connected and len(self.under_way) > MOST_UNDER_WAY:
            self.counts["overflow"] += 1
            self._connect(Action("lose", dice=dice), 0)

    def _inject(self, addr: NodeId, datagram: Datagram, dice: int) -> None:
        """A datagram arrives that no node of the run has sent."""
        try:
            self.spec.MESSAGE.decode(datagram.data)
        except MalformedMessage:
            self.counts["malformed"] += 1
        else:
            self.counts["forged"] += 1
            self._faults |= {FORGERY}
        self._arrive(datagram._replace(to=addr), "made up", dice)

    def _pass_time(self, span: int, dice: int) -> None:
        """What is due until then happens at its time, of several at the same time first that of the first node."""
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
        raise self._complete_finding(Found(Finding("clock", f"more than {MOST_EXPIRIES} timers until {until} ms")), None)

    def _crash(self, place: Place) -> None:
        self._report("crash", place.addr)
        place.fed.append(Fed(self.now, None))
        try:
            self.player.crash(place)
        except Found as wrong:
            raise self._complete_finding(wrong, place) from None
        if self.inputs.kept:  # whatever else is uncertain of a node, what it keeps is not
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
        """A stimulus, its judgement, and everything that must hold afterwards."""
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
            self._story.pop()  # nobody wants to read of timers that send nothing

    def _take(self, place: Place, seen: Seen) -> None:
        place.possible = tuple(dict.fromkeys(reaction.node for reaction in seen.reactions))
        place.complete = seen.complete
        decode = self.spec.MESSAGE.decode
        anywhere = self.connected  # that nobody is there is learnt, too
        sent = [(to, data) for all_of, data in seen.sent for to in self._receivers(all_of) if anywhere or to in self.places]
        self.under_way += [Datagram(place.addr, to, data, decode(data)) for to, data in sent]
        while not self.connected and len(self.under_way) > MOST_UNDER_WAY:
            self.counts["overflow"] += 1
            self._record_loss(self.under_way.pop(0), "too much is under way")
        if len(seen.reactions) == 1:
            self._check(seen.reactions[0])
            told = [effect.notice for effect in seen.reactions[0].effects if isinstance(effect, Notify)]
            self.errands += [(place.addr, notice) for notice in told if self.inputs.fetched and self.inputs.fetched(notice, {})]

    def _receivers(self, to: NodeId) -> Collection[NodeId]:
        """Who gets a message: if it is for everybody, all nodes, and its sender as well."""
        return self.places if to == EVERYBODY else (to,)

    def _check(self, reaction: Reaction) -> None:
        """The properties of the node, of the steps it took, and of all nodes, as far as they are known for certain."""
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
                raise Found(Finding("property", f"{broken.name}: {broken.about}", name=broken.name, cited=broken.clauses))
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
        """Where the specification says what to do about this: the functions for it, or clauses."""
        match stimulus:
            case Started():
                words = ["initial"]
            case Called(command):
                words = [f"on_{self.spec.COMMAND.names[type(command)]}"]
            case Passed():
                timers = [timer for node in before for timer, due in node.timers if due <= self.now]
                words = [f"on_{self.spec.TIMER.names[type(timer)]}" for timer in timers]
                words = words or [f"on_{name}" for name in self.spec.TIMER.cases]  # it was not time yet
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
