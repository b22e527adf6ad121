"""Nodes and messages as the tables of these tests write them: an id by its first digits, at a host named after them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from peerproof.spec.core import Asked, Instant, NodeId, Option, Step, Table
from peerproof.spec.wendy import Config, Header, Id, LeafSet, Node, Stage, State, Versions, initial, step

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


def no_choice(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # a Pick
    """Wendy asks for none."""
    raise AssertionError("nothing is left to chance")


def asked(state: State, command: Any) -> Step[State, Any]:
    """The application wants something."""
    return step(state, Asked(NOW, command), no_choice)
