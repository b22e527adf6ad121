"""
The bounded world of DistKV: what the constants of a model mean for the nodes that run in it.

What a node sends goes to all others and never back to itself. A download is made of three messages of the world, which no node
sees: one that asks for it, and one that brings it or refuses. Time does not pass: a timer that runs may expire at any moment, if
the model lets it at all. So of the moments that could be drawn the first is taken; another would set the same timer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple

from peerproof.spec import distkv
from peerproof.spec.changed import Taking
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Option, Pick, Received, Send, Specification, Step, Table
from peerproof.spec.distkv.messages import (
    Command,
    DeleteValue,
    FoundingDue,
    GreetingDue,
    InitialPingDue,
    Loaded,
    LoadFailed,
    NeedsDownload,
    OldDataDue,
    Ping,
    PingDue,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    SetValue,
    Timer,
    Update,
)
from peerproof.spec.distkv.modelled import (
    Load,
    chain,
    chain_value,
    content_value,
    entry_value,
    name,
    number,
    path,
    path_number,
    recovery_value,
    sets_value,
    ticks_value,
    value,
)
from peerproof.spec.distkv.notation import change_texts, content_text
from peerproof.spec.distkv.ranges import of_ticks
from peerproof.spec.distkv.state import Config, Phase, State, Stored, download_of, stored_of
from peerproof.spec.distkv.ticks import TickSets, latest, union
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import InFlight
from peerproof.spec.world import NOW, Faults

#: Labels of timers that expire -> the timers, and what the module calls them.
TIMERS: Final[Mapping[str, tuple[Timer, str]]] = {
    "InitialPing": (InitialPingDue(), "initial"),
    "Founding": (FoundingDue(), "founding"),
    "OldData": (OldDataDue(), "olddata"),
    "Ping": (PingDue(), "ping"),
    "Greeting": (GreetingDue(), "greeting"),
    "RecoverTicks": (RecoveryDue(RecoveryStep.TICKS), "ticks"),
    "RecoverMissing": (RecoveryDue(RecoveryStep.MISSING), "missing"),
    "RecoverKnown": (RecoveryDue(RecoveryStep.KNOWN), "known"),
    "RecoverOver": (RecoveryOver(), "over"),
    "Repair": (RepairDue(), "repair"),
    "RepairAllowed": (RepairAllowed(), "allowed"),
}

_TIMER_NAMES: Final = dict(TIMERS.values())

#: What the first node of a network puts at the root.
ROOT_VALUE: Final = value_of_plain(1)


class Todo(NamedTuple):
    """Something that a node's application still has to do: set or delete an entry, or crash."""

    what: str
    path: int
    value: int


@dataclass(frozen=True, slots=True)
class Lived(State):
    """A node in a world: one that can crash, and whose application has some things to do."""

    up: bool = True
    todo: tuple[Todo, ...] = ()


class Bounded:
    """DistKV where a node that does not run does nothing, applications and downloads do what they have to, and tocks end."""

    def __init__(self, most: int, step: Taking, given: Callable[[State], Loaded | None]) -> None:
        self._most = most  #: no tock is above this
        self._step = step
        self._given = given  #: what a node gives to whoever downloads from it

    def __getattr__(self, name: str) -> Any:
        return getattr(distkv, name)

    def step(self, state: Lived, event: Any, _: Pick) -> Step[Any, Any]:
        """
        What the node does about one event; `Asked` with a `Todo` is the application doing it.

        Raises NotEnabled for what would go beyond the bound.
        """
        if not state.up:
            return Step(state)
        match event:
            case Asked(command=Todo() as todo):
                done = replace(state, todo=state.todo[1:])
                return Step(replace(done, up=False)) if todo.what == "crash" else self.taken(done, Asked(NOW, command(todo)))
            case Received(sender=sender, message=Load()):
                return Step(state, (Send(sender, self._given(state) or LoadFailed(state.self_id)),))
            case Received(sender=sender, message=(Loaded() | LoadFailed()) as download):
                return self.taken(state, Asked(NOW, download)) if sender == state.source else Step(state)
        return self.taken(state, event)

    def taken(self, state: Lived, event: Any) -> Step[Any, Any]:
        """What the protocol makes of an event; a download that it needs is asked for."""
        after, effects = self._step(state, event, first_moment)
        if after.tock > self._most:
            raise NotEnabled("bound", "the tocks of this world end here")
        needed = [
            effect.notice.node for effect in effects if isinstance(effect, Notify) and isinstance(effect.notice, NeedsDownload)
        ]
        return Step(after, (*effects, *(Send(node, Load()) for node in needed)))


def first_moment(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # noqa: ARG001  # Pick's names
    """A pick that leaves nothing open: whatever is drawn, the same timer runs."""
    return tuple(sorted(among)[:some])


class Model:
    """A few nodes, as the constants of a configuration say; `tla/distkv/constants.json` has some. Node 1 is `n1`."""

    node_variables: tuple[str, ...] = (
        "phase",
        "tock",
        "ticks",
        "entries",
        "superseded",
        "last",
        "heard",
        "tried",
        "source",
        "wanted",
        "newcomer",
        "recovery",
        "timers",
        "up",
        "todo",
    )

    #: Chance only decides on moments, and in worlds there is no time: what this draws stands for all that can be drawn.
    first_moment = staticmethod(first_moment)

    #: How pictures have it.
    content_text = staticmethod(content_text)
    change_texts = staticmethod(change_texts)

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.names: tuple[int, ...] = tuple(sorted(constants["Node"]))
        self.most: int = constants["MaxTock"]
        self.config = Config(ping_length=constants["MaxPing"], change_length=constants["MaxChange"], root=ROOT_VALUE)
        self.spec: Specification = Bounded(self.most, self.step, self.given)
        self.faults = Faults(
            in_flight=constants["MaxNet"],
            loss=constants["Loss"],
            restarts=constants["MaxRestarts"],
            restarting=frozenset(map(name, constants["Restarting"])),
        )
        self.forgetful = frozenset(map(name, constants["Forgetful"]))
        self._firing = frozenset((name(node), timer) for node, timer in constants["Firing"])
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple((name(n), self._begun(n, constants)) for n in self.names)
        self.under_way = tuple(
            InFlight(name(sender), name(to), Ping(chain(cut, elements), tock))
            for sender, to, tock, cut, *elements in constants["UnderWay"]
        )

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What DistKV does."""
        return distkv.step(state, event, pick)

    def given(self, state: State) -> Loaded | None:
        """What a node gives to whoever downloads from it; None if it refuses."""
        return download_of(state)

    def ready(self, state: State) -> State:
        """A node that is ready from the start. [DA-79]"""
        first: Timer = InitialPingDue() if state.last is None else PingDue()
        return replace(state, phase=Phase.READY, timers=frozenset({first, RepairDue()} if state.misses else {first}))

    def offers(self, state: Lived) -> Iterator[tuple[str, Any]]:
        """The next thing that its application has to do, if that is possible, and timers that run."""
        if not state.up:
            return
        if state.todo and (state.todo[0].what == "crash" or state.phase is Phase.READY):
            yield "Command", Asked(NOW, state.todo[0])
        for label, (timer, known_as) in TIMERS.items():
            if timer in state.timers and (state.self_id, known_as) in self._firing:
                yield label, Expired(NOW, timer)

    def restarted(self, state: Lived) -> Lived:
        """A fresh start with what is on disk, if it has not got lost."""
        begun = distkv.initial(state.self_id, self.kept(state)).state
        return self._lived(begun, state.todo)

    def kept(self, state: Lived) -> Config:
        """How a node in this state is configured when it comes back."""
        stored = None if state.self_id in self.forgetful else stored_of(state)
        return replace(self.config, root=None, stored=stored)

    def seen(self, state: Lived) -> State:
        """Neither that the node runs nor what its application still has to do; only who is to be the first has a root value."""
        config = self.config if FoundingDue() in state.timers else replace(self.config, root=None)
        return State(**{field.name: getattr(state, field.name) for field in fields(State)} | {"config": config})

    def noticed(self, state: Lived, event: Any) -> Any | None:
        """Commands instead of things to do and of downloads; nothing of a crash, nor after it."""
        if not state.up:
            return None
        match event:
            case Asked(command=Todo() as todo):
                return None if todo.what == "crash" else Asked(event.now, command(todo))
            case Received(message=Load()):
                return None
            case Received(sender=sender, message=(Loaded() | LoadFailed()) as download):
                return Asked(event.now, download) if sender == state.source else None
        return event

    def node_values(self, state: Lived) -> tuple[Any, ...]:
        """The node as the module's variables."""
        last = state.last
        return (
            state.phase.value,
            state.tock,
            ticks_value(state.ticks),
            frozenset((path_number(path), *entry_value(entry)) for path, entry in state.entries.rows.items()),
            sets_value(state.entries.superseded()),
            () if last is None else (chain_value(last.chain), last.tock),
            ticks_value(state.heard),
            frozenset(map(number, state.tried)),
            0 if state.source is None else number(state.source),
            sets_value(state.wanted),
            () if state.newcomer is None else (chain_value(state.newcomer),),
            () if state.recovery is None else recovery_value(state.recovery),
            frozenset(map(_TIMER_NAMES.__getitem__, state.timers)),
            state.up,
            tuple(tuple(todo) for todo in state.todo),
        )

    def message_value(self, message: InFlight) -> Any:
        """`<<from, to, kind, ...>>`."""
        return number(message.sender), number(message.to), *content_value(message.message)

    def _lived(self, state: State, todo: tuple[Todo, ...]) -> Lived:
        """A node that has just started; all have the same configuration, for what it says of a start is over."""
        members = {field.name: getattr(state, field.name) for field in fields(State)} | {"config": self.config}
        return Lived(**members, todo=todo)

    def _begun(self, node: int, constants: Mapping[str, Any]) -> Lived:
        """A node as it is at first."""
        rows = {about: [row for who, *row in constants[about] if who == node] for about in _ABOUT_NODES}
        ((how,),) = rows["Starting"]
        todo = tuple(Todo(*thing) for _, *thing in sorted(rows["Todo"]))
        begun = distkv.initial(
            name(node), replace(self.config, root=ROOT_VALUE if how == "first" else None, stored=_stored(rows))
        )
        state = replace(begun.state, heard=Table({name(m): tock for m, tock in rows["Heard"]}))
        for tock, cut, *elements in rows["Last"]:
            state = _after(state, Ping(chain(cut, elements), tock))
        return self._lived(self.ready(state) if how == "ready" else state, todo)


#: The constants whose tuples begin with a node.
_ABOUT_NODES: Final = ("Starting", "Had", "Gone", "Shown", "Last", "Tock", "Heard", "Todo")


def _stored(rows: Mapping[str, list[list[Any]]]) -> Stored:
    """What a node has at first, but for what it has from its last ping."""
    entries = [Update(chain(cut, elements), path(p), value(v), tock) for p, v, tock, cut, *elements in rows["Had"]]
    superseded: TickSets = Table()
    for m, tick in rows["Gone"]:
        superseded = union(superseded, {name(m): of_ticks([tick])})
    seen = [(element.node, element.tick or 0) for entry in entries for element in entry.chain.elements]
    seen += [(name(m), tick) for about in ("Gone", "Shown") for m, tick in rows[about]]
    tocks = [*(entry.tock for entry in entries), *(tock for tock, *_ in rows["Last"]), 0]
    tock = rows["Tock"][0][0] if rows["Tock"] else max(tocks)
    return Stored(tock, tuple(entries), superseded, latest(Table(), _highest(seen)))


def _after(state: State, last: Ping) -> State:
    """A node whose last ping this was."""
    head = last.chain.head.node
    is_own = head == state.self_id
    return replace(
        state,
        last=last,
        tock=max(state.tock, last.tock) if is_own else state.tock,
        ticks=latest(state.ticks, _highest((node, tick or 0) for node, tick in last.chain.elements)),
        heard=state.heard if is_own else state.heard.put({head: last.tock}),
    )


def _highest(pairs: Iterable[tuple[NodeId, int]]) -> Mapping[NodeId, int]:
    found: dict[NodeId, int] = {}
    for node, tick in pairs:
        found[node] = max(tick, found.get(node, 0))
    return found


def command(todo: Todo) -> Command:
    """What the application of a node asks for."""
    return SetValue(path(todo.path), value(todo.value)) if todo.what == "set" else DeleteValue(path(todo.path))
