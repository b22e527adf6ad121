"""Nodes and messages as the tables of these tests write them: an id by its first digits, at a host named after them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerproof.spec.core import Asked, Expired, Instant, NodeId, Option, Received, Step, Table
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


def data(sender: str, what: Tables, versions: Sequence[int] = (0, 0, 0), *, destination: bool = False) -> StateData:
    """Tables that this node sends."""
    return StateData(header(sender, versions=versions), what, destination=destination)
