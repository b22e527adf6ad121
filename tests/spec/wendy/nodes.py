"""Nodes and messages as the tables of these tests write them: an id by its first digits, at a host named after them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerproof.spec.core import Asked, Expired, Instant, NodeId, Notify, Option, Received, Send, Sent, SetTimer, Step, Table
from peerproof.spec.wendy import (
    Config,
    Entry,
    Header,
    Id,
    LeafSet,
    Message,
    Node,
    Stage,
    State,
    StateData,
    Tables,
    Versions,
    initial,
    step,
)
from peerproof.spec.wendy.state import address_of

NOW = Instant(0)


def h(digits: str) -> Id:
    """`h("40")` is 4 and 31 times 0; `h("0f~")` ends in digits f."""
    fill = "f" if digits.endswith("~") else "0"
    return Id(int(digits.rstrip("~").ljust(32, fill), 16))


def peer(digits: str) -> Node:
    """A node with this id."""
    host = f"n{digits}"
    return Node(h(digits), host, host, 4000)


def place(digits: str) -> NodeId:
    """Its address."""
    return NodeId(f"n{digits}:4000")


def name(node: Node | Id) -> str:
    """What a node is written as: its id without the zeros at the end."""
    number = node.id if isinstance(node, Node) else node
    return f"{number:032x}".rstrip("0") or "0"


def peers(names: str | Sequence[str]) -> tuple[Node, ...]:
    """`peers("42 43")`."""
    return tuple(peer(one) for one in (names.split() if isinstance(names, str) else names))


def node(
    digits: str,
    left: str = "",
    right: str = "",
    cells: str = "",
    near: str = "",
    scores: Mapping[str, int] | None = None,
    config: Mapping[str, Any] | None = None,
    **fields: Any,
) -> State:
    """A node that has joined, with these leaves, nodes of the routing table and of the neighborhood set; all scores are 100."""
    settings = Config(h(digits), **(config or {}))
    cell = settings.ring.cell
    state = replace(
        initial(place(digits), settings).state,
        stage=Stage.JOINED,
        leaf_set=LeafSet(peers(left), peers(right)),
        routing_table=Table({cell(h(digits), one.id): one for one in peers(cells)}),
        neighborhood_set=peers(near),
        **fields,
    )
    known = dict.fromkeys(state.known, 100) | {h(one): score for one, score in (scores or {}).items()}
    return replace(state, scores=Table({one: score for one, score in known.items() if one in state.known}))


def header(sender: str, key: str | None = None, versions: Sequence[int] = (0, 0, 0), hop: int = 0) -> Header:
    """What a message of this sender begins with."""
    return Header(peer(sender), h(sender if key is None else key), Versions(*versions), hop=hop)


def tables(rt: str | None = None, ls: tuple[str, str] | None = None, ns: str | None = None, owner: str = "00") -> Tables:
    """Tables with these nodes; the cells are where the owner has them."""
    cell = Config(h(owner)).ring.cell
    return Tables(
        None if rt is None else tuple(Entry(*cell(h(owner), one.id), one) for one in peers(rt)),
        None if ls is None else LeafSet(peers(ls[0]), peers(ls[1])),
        None if ns is None else peers(ns),
    )


def no_choice(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # a Pick
    """Wendy asks for none."""
    raise AssertionError("nothing is left to chance")


def received(state: State, message: Message) -> Step[State, Any]:
    """A message comes, over a connection from some port."""
    return step(state, Received(NOW, NodeId("somewhere:9"), message), no_choice)


def asked(state: State, command: Any) -> Step[State, Any]:
    """The application wants something."""
    return step(state, Asked(NOW, command), no_choice)


def expired(state: State, timer: Any) -> Step[State, Any]:
    """A timer has run out."""
    return step(state, Expired(NOW, timer), no_choice)


def sent(state: State, effect: Send[Message], took: int | None = 100) -> Step[State, Any]:
    """A message has arrived, or not."""
    return step(state, Sent(NOW, effect.to, effect.message, took), no_choice)


def settled(taken: Step[State, Any], took: int | None = 100) -> Step[State, Any]:
    """The step, and everything that its messages lead to at once when all of them arrive, or none."""
    state, effects = taken
    done: list[Any] = []
    waiting = list(effects)
    while waiting:
        effect = waiting.pop(0)
        done.append(effect)
        if isinstance(effect, Send):
            state, more = sent(state, effect, took)
            waiting += more
    return Step(state, tuple(done))


def sends(effects: Iterable[Any], kind: type[Any] | None = None) -> list[tuple[str, Any]]:
    """The messages that were sent, of one kind or all: to whom, by the digits of the id, and what."""
    return [
        (effect.to.removeprefix("n").removesuffix(":4000"), effect.message)
        for effect in effects
        if isinstance(effect, Send) and (kind is None or isinstance(effect.message, kind))
    ]


def notices(effects: Iterable[Any]) -> list[Any]:
    """What the application is told."""
    return [effect.notice for effect in effects if isinstance(effect, Notify)]


def timers(effects: Iterable[Any]) -> list[tuple[Any, int]]:
    """The timers that were set."""
    return [(effect.timer, effect.after) for effect in effects if isinstance(effect, SetTimer)]


def leaves(state: State) -> tuple[list[str], list[str]]:
    """Both sides of the leaf set."""
    return [name(one) for one in state.leaf_set.left], [name(one) for one in state.leaf_set.right]


def data(sender: str, what: Tables, versions: Sequence[int] = (0, 0, 0), *, destination: bool = False) -> StateData:
    """Tables that this node sends."""
    return StateData(header(sender, versions=versions), what, destination=destination)


class Cluster:
    """Nodes that talk to each other, without loss and delay, over connections that fail where nobody listens."""

    def __init__(self, *states: State) -> None:
        self.nodes = {state.self_id: state for state in states}
        self.waiting: list[tuple[NodeId, Send[Message]]] = []
        self.notices: list[tuple[str, Any]] = []
        self.wanted: list[tuple[NodeId, Any]] = []  #: timers that were set
        self.score = 100

    def ask(self, digits: str, command: Any) -> None:
        """An application wants something."""
        self.take(place(digits), asked(self.nodes[place(digits)], command))

    def take(self, who: NodeId, taken: Step[State, Any]) -> None:
        """A step of a node, and then one message after the other until there is none."""
        self.did(who, taken)
        while self.waiting:
            self.deliver(0)

    def did(self, who: NodeId, taken: Step[State, Any]) -> None:
        """A step of a node; what it sends waits."""
        self.nodes[who] = taken.state
        self.waiting += [(who, effect) for effect in taken.effects if isinstance(effect, Send)]
        self.notices += [(who[1:].partition(":")[0], notice) for notice in notices(taken.effects)]
        self.wanted += [(who, timer) for timer, _ in timers(taken.effects)]

    def deliver(self, index: int) -> None:
        """One of the messages under way arrives, or fails."""
        who, effect = self.waiting.pop(index)
        if effect.to in self.nodes:
            self.did(effect.to, received(self.nodes[effect.to], effect.message))
        if who in self.nodes:
            self.did(who, sent(self.nodes[who], effect, self.score if effect.to in self.nodes else None))


__all__ = [
    "NOW",
    "Cluster",
    "address_of",
    "asked",
    "data",
    "expired",
    "h",
    "header",
    "leaves",
    "name",
    "node",
    "notices",
    "peer",
    "peers",
    "place",
    "received",
    "sends",
    "sent",
    "settled",
    "tables",
    "timers",
]
