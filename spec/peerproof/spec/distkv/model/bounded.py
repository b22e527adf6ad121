"""
The bounded model of DistKV: the meaning of a model's constants for its nodes.

A node's message goes to all others and never back to itself. A download consists of messages of the model, which are not part of
the protocol: a request, and an answer with the data or a refusal. Time does not pass: a running timer may expire at any moment,
if the model permits it at all. So of the moments to choose from the first is taken; any other would set the same timer.

Nodes, paths and values are numbers, and tables are sets of tuples. Node 1 is `n1`; the path 0 is the root, any other has one
name, which is that number; the value 0 is Null.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from peerproof.spec import distkv
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Option, Pick, Received, Send, Specification, Step, Table, replace
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entry
from peerproof.spec.distkv.messages import Info, Loaded, LoadFailed, Message, Ping, Update
from peerproof.spec.distkv.model.notation import change_texts, content_text
from peerproof.spec.distkv.paths import Path, names_of, path_of
from peerproof.spec.distkv.ranges import of_ticks
from peerproof.spec.distkv.state import Config, Phase, Recovery, State, Stored, download_of, stored_of
from peerproof.spec.distkv.ticks import Ticks, TickSets, latest, union
from peerproof.spec.distkv.values import NULL, Value, plain_of, value_of_plain
from peerproof.spec.model.bounded import NOW, ApplicationModel, ApplicationSpecification, Taking, recast
from peerproof.spec.properties import InFlight


@dataclass(frozen=True, slots=True)
class Load:
    """A request for a download; a message of the model."""


Carried: TypeAlias = Message | Load | Loaded | LoadFailed


def name(node: int) -> NodeId:
    """Returns the name of a node of a model."""
    return NodeId(f"n{node}")


def number(node: NodeId) -> int:
    """Returns the node of a model that has this name."""
    return int(node[1:])


def path(place: int) -> Path:
    """Returns the path of a model: the root, or one of one name."""
    return path_of((place,) if place else ())


def path_number(at: Path) -> int:
    """Returns the number of a path in a model."""
    names: Any = names_of(at)
    return names[0] if names else 0


def value(what: int) -> Value:
    """Returns a value of a model."""
    return value_of_plain(what) if what else NULL


def value_number(what: Value) -> int:
    """Returns the number of a value in a model, 0 if it is Null."""
    plain: Any = plain_of(what)
    return plain or 0


def chain(cut: int, elements: Iterable[int]) -> Chain:
    """Returns a chain from nodes and ticks in turn."""
    flat = list(elements)
    return Chain(tuple(Element(name(m), tick) for m, tick in zip(flat[::2], flat[1::2], strict=True)), bool(cut))


def chain_value(chain: Chain) -> Any:
    """Returns a chain in a model."""
    return tuple((number(node), tick) for node, tick in chain.elements), chain.cut


def ticks_value(ticks: Ticks) -> frozenset[tuple[int, int]]:
    """Returns a number for each node in a model."""
    return frozenset((number(node), tick) for node, tick in ticks.items())


def sets_value(sets: TickSets) -> frozenset[tuple[int, int]]:
    """Returns sets of ticks in a model."""
    return frozenset((number(node), tick) for node, ranges in sets.items() for tick in ranges.ticks())


def entry_value(entry: Entry | Update) -> tuple[Any, ...]:
    """Returns chain, value and tock of an entry in a model."""
    return chain_value(entry.chain), value_number(entry.value), entry.tock


def recovery_value(recovery: Recovery) -> tuple[Any, ...]:
    """Returns a recovery in a model."""
    return (
        chain_value(recovery.mine),
        frozenset(map(number, recovery.side)),
        recovery.lost,
        () if recovery.ping is None else (chain_value(recovery.ping),),
        sets_value(recovery.covered),
    )


def content_value(message: Carried) -> tuple[Any, ...]:
    """Returns a message in a model: its type, and its content."""
    match message:
        case Update(chain, at, what, tock):
            return "update", path_number(at), chain_value(chain), value_number(what), tock
        case Ping(chain, tock):
            return "ping", chain_value(chain), tock
        case Info(chain, tock, known, ticks, missing, reason):
            prev = () if chain.prev == Chain(cut=True) else (chain_value(chain.prev),)
            why = () if reason is None else (chain_value(reason),)
            return "info", chain.head.tick, prev, tock, sets_value(known), ticks_value(ticks), sets_value(missing), why
        case Loaded(_, entries, superseded, ticks, tock):
            rows = frozenset((path_number(entry.path), *entry_value(entry)) for entry in entries)
            return "loaded", rows, sets_value(superseded), ticks_value(ticks), tock
        case Load():
            return ("load",)
        case LoadFailed():
            return ("refused",)


#: Labels of expiring timers -> the timers, and their names in the module.
TIMERS: Final[Mapping[str, tuple[distkv.Timer, str]]] = {
    "InitialPing": (distkv.InitialPingDue(), "initial"),
    "Founding": (distkv.FoundingDue(), "founding"),
    "OldData": (distkv.OldDataDue(), "olddata"),
    "Ping": (distkv.PingDue(), "ping"),
    "Greeting": (distkv.GreetingDue(), "greeting"),
    "RecoverTicks": (distkv.RecoveryDue(distkv.RecoveryStep.TICKS), "ticks"),
    "RecoverMissing": (distkv.RecoveryDue(distkv.RecoveryStep.MISSING), "missing"),
    "RecoverKnown": (distkv.RecoveryDue(distkv.RecoveryStep.KNOWN), "known"),
    "RecoverOver": (distkv.RecoveryOver(), "over"),
    "Repair": (distkv.RepairDue(), "repair"),
    "RepairAllowed": (distkv.RepairAllowed(), "allowed"),
}

_TIMER_NAMES: Final = dict(TIMERS.values())

#: The root value of the first node of a network.
ROOT_VALUE: Final = value_of_plain(1)


class Todo(NamedTuple):
    """A pending command of a node's application: set or delete an entry, or crash."""

    what: str
    path: int
    value: int


@dataclass(frozen=True, slots=True)
class ModelNode(State):
    """A node of the model: it can crash, and its application has pending commands."""

    up: bool = True
    todo: tuple[Todo, ...] = ()


class Bounded(ApplicationSpecification):
    """DistKV with downloads as messages, and a bound on tocks."""

    specification = distkv

    def __init__(self, most: int, step: Taking, given: Callable[[State], distkv.Loaded | None]) -> None:
        super().__init__(step)
        self._most = most  #: the maximum tock
        self._given = given  #: returns the data for a node that downloads from this one

    def is_beyond(self, state: State) -> bool:
        """Whether its tock is above the bound."""
        return state.tock > self._most

    def command(self, state: State, todo: Todo) -> distkv.Command:  # noqa: ARG002  # the same for every node
        """Returns the command of the protocol for a pending command."""
        return distkv.SetValue(path(todo.path), value(todo.value)) if todo.what == "set" else distkv.DeleteValue(path(todo.path))

    def take(self, state: ModelNode, event: Any, _: Pick) -> Step[Any, Any]:
        """Applies an event to the protocol; sends a request for a download that it needs."""
        match event:
            case Received(sender=sender, message=Load()):
                return Step(state, (Send(sender, self._given(state) or distkv.LoadFailed(state.self_id)),))
            case Received(sender=sender, message=(distkv.Loaded() | distkv.LoadFailed()) as download):
                if sender != state.source:
                    return Step(state)
                event = Asked(NOW, download)
        after, effects = super().take(state, event, first_moment)
        notices = [effect.notice for effect in effects if isinstance(effect, Notify)]
        asked = [Send(notice.node, Load()) for notice in notices if isinstance(notice, distkv.NeedsDownload)]
        return Step(after, (*effects, *asked))


def first_moment(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # noqa: ARG001  # Pick's names
    """A pick of the first option: with any option, the same timer runs."""
    return tuple(sorted(among)[:some])


class Model(ApplicationModel):
    """A few nodes, as defined by the constants of a configuration; `tla/distkv/constants.json` has some. Node 1 is `n1`."""

    state_kind = State
    command_forms: ClassVar[Mapping[str, str]] = {"set": "set /{0} = {1}", "delete": "delete /{0}"}
    address = staticmethod(name)
    number = staticmethod(number)

    #: Random choices only select moments, and in models there is no time: this pick represents all others.
    first_moment = staticmethod(first_moment)

    #: The texts for diagrams.
    content_text = staticmethod(content_text)
    change_texts = staticmethod(change_texts)

    def node_text(self, address: NodeId) -> str:
        """Returns the name of the node, which other texts have too."""
        return address

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.most: int = constants["MaxTock"]
        self.config = Config(ping_length=constants["MaxPing"], change_length=constants["MaxChange"], root=ROOT_VALUE)
        self.spec: Specification = Bounded(self.most, self.vary(distkv.step), self.serve_download)
        self.forgetful = frozenset(map(name, constants["Forgetful"]))
        self._firing = frozenset((name(node), timer) for node, timer in constants["Firing"])
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple((name(n), self._initial_node(n, constants)) for n in self.names)
        self.under_way = tuple(
            InFlight(name(sender), name(to), distkv.Ping(chain(cut, elements), tock))
            for sender, to, tock, cut, *elements in constants["UnderWay"]
        )

    def serve_download(self, state: State) -> distkv.Loaded | None:
        """Returns the data for a node that downloads from this one; None if it refuses."""
        return download_of(state)

    def ready(self, state: State) -> State:
        """Returns a node that is ready from the start. [DA-79]"""
        first: distkv.Timer = distkv.InitialPingDue() if state.last is None else distkv.PingDue()
        return replace(state, phase=Phase.READY, timers=frozenset({first, distkv.RepairDue()} if state.misses else {first}))

    def offers(self, state: ModelNode) -> Iterator[tuple[str, Any]]:
        """Yields the next command of the application, if it is possible, and the running timers."""
        if not state.up:
            return
        if state.todo and (state.todo[0].what == "crash" or state.phase is Phase.READY):
            yield "Command", Asked(NOW, state.todo[0])
        for label, (timer, known_as) in TIMERS.items():
            if timer in state.timers and (state.self_id, known_as) in self._firing:
                yield label, Expired(NOW, timer)

    def restart(self, state: ModelNode) -> ModelNode:
        """Returns a fresh node with the data on disk, if that is not lost."""
        begun = distkv.initial(state.self_id, self.configuration_after(state)).state
        return self._start_node(begun, state.todo)

    def configuration_after(self, state: ModelNode) -> Config:
        """Returns the configuration of a node after a restart from this state."""
        stored = None if state.self_id in self.forgetful else stored_of(state)
        return replace(self.config, root=None, stored=stored)

    def project_state(self, state: ModelNode) -> State:
        """Omits whether the node runs, and its application's commands; only a node that will be the first has a root value."""
        config = self.config if distkv.FoundingDue() in state.timers else replace(self.config, root=None)
        return recast(State, state, config=config)

    def project_event(self, state: ModelNode, event: Any) -> Any | None:
        """Maps pending commands and downloads to commands of the protocol; None for a crash, and for a node that has crashed."""
        match super().project_event(state, event):
            case Received(message=Load()):
                return None
            case Received(now, sender, (distkv.Loaded() | distkv.LoadFailed()) as download):
                return Asked(now, download) if sender == state.source else None
            case projected:
                return projected

    def variables(self, state: ModelNode) -> Mapping[str, Any]:
        """Returns the node as the module's variables."""
        last = state.last
        return {
            "phase": state.phase.value,
            "tock": state.tock,
            "ticks": ticks_value(state.ticks),
            "entries": frozenset((path_number(path), *entry_value(entry)) for path, entry in state.entries.rows.items()),
            "superseded": sets_value(state.entries.superseded()),
            "last": () if last is None else (chain_value(last.chain), last.tock),
            "heard": ticks_value(state.heard),
            "tried": frozenset(map(number, state.tried)),
            "source": 0 if state.source is None else number(state.source),
            "wanted": sets_value(state.wanted),
            "newcomer": () if state.newcomer is None else (chain_value(state.newcomer),),
            "recovery": () if state.recovery is None else recovery_value(state.recovery),
            "timers": frozenset(map(_TIMER_NAMES.__getitem__, state.timers)),
            "up": state.up,
            "todo": tuple(tuple(todo) for todo in state.todo),
        }

    def content_value(self, message: Any) -> tuple[Any, ...]:
        """`<<kind, ...>>`."""
        return content_value(message)

    def _start_node(self, state: State, todo: tuple[Todo, ...]) -> ModelNode:
        """Returns a node that has just started; all have the same configuration, without its data for the start."""
        return recast(ModelNode, state, config=self.config, todo=todo)

    def _initial_node(self, node: int, constants: Mapping[str, Any]) -> ModelNode:
        """Returns a node in its initial state."""
        rows = {about: [row for who, *row in constants[about] if who == node] for about in _ABOUT_NODES}
        ((how,),) = rows["Starting"]
        todo = tuple(Todo(*thing) for _, *thing in sorted(rows["Todo"]))
        begun = distkv.initial(
            name(node), replace(self.config, root=ROOT_VALUE if how == "first" else None, stored=_initial_storage(rows))
        )
        state = replace(begun.state, heard=Table({name(m): tock for m, tock in rows["Heard"]}))
        for tock, cut, *elements in rows["Last"]:
            state = _after(state, distkv.Ping(chain(cut, elements), tock))
        return self._start_node(self.ready(state) if how == "ready" else state, todo)


#: The constants whose tuples begin with a node.
_ABOUT_NODES: Final = ("Starting", "Had", "Gone", "Shown", "Last", "Tock", "Heard", "Todo")


def _initial_storage(rows: Mapping[str, list[list[Any]]]) -> Stored:
    """Returns a node's initial data, except that of its last ping."""
    entries = [distkv.Update(chain(cut, elements), path(p), value(v), tock) for p, v, tock, cut, *elements in rows["Had"]]
    superseded: TickSets = Table()
    for m, tick in rows["Gone"]:
        superseded = union(superseded, {name(m): of_ticks([tick])})
    seen = [(element.node, element.tick or 0) for entry in entries for element in entry.chain.elements]
    seen += [(name(m), tick) for about in ("Gone", "Shown") for m, tick in rows[about]]
    tocks = [*(entry.tock for entry in entries), *(tock for tock, *_ in rows["Last"]), 0]
    tock = rows["Tock"][0][0] if rows["Tock"] else max(tocks)
    return Stored(tock, tuple(entries), superseded, latest(Table(), _highest(seen)))


def _after(state: State, last: distkv.Ping) -> State:
    """Returns a node with this last ping."""
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
