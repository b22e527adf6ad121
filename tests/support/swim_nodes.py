"""Nodes and datagrams as the tables of these tests write them: A is the node, B, C, D and E are the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from peerproof.spec import swim
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Pick, Send, Step, Table
from peerproof.spec.swim import Ack, AntiEntropy, Incarnation, Member, Ping, Row, State, Status, Suspicious, Uuid, Vector, step
from peerproof.spec.swim.messages import ClusterEventVector

A, B, C, D, E = (
    Uuid(f"{digit * 8}-{digit * 4}-4{digit * 3}-{variant}{digit * 3}-{digit * 12}")
    for digit, variant in zip("12345", "889aa", strict=True)
)
NAMES = {"A": A, "B": B, "C": C, "D": D, "E": E}
HOST = "127.0.0.1"
NOW = Instant(0)


def port(node: Uuid) -> int:
    """A's is 5001, and so on."""
    return 5000 + int(node[0])


def place(node: Uuid) -> NodeId:
    """Its address."""
    return NodeId(f"{HOST}:{port(node)}")


def member(node: Uuid, restart: int, tx: int) -> Member:
    """An entry of anti-entropy."""
    return Member(HOST, port(node), node, restart, tx)


def row(node: Uuid, text: str, **fields: Any) -> Row:
    """`row(B, "normal 1 7")`."""
    status, restart, tx = text.split()
    return Row(HOST, port(node), Status(status), Incarnation(int(restart), int(tx)), **fields)


def node(rows: Mapping[Uuid, str | Row] | None = None, config: Mapping[str, Any] | None = None, **fields: Any) -> State:
    """A at [1,10], with these rows."""
    table = {uuid: row(uuid, known) if isinstance(known, str) else known for uuid, known in (rows or {}).items()}
    usual = {"ae_size": 0, "restart_counter": 1, **(config or {})}
    return replace(State(place(A), swim.Config(A, **usual), Incarnation(1, 10), Table(table)), **fields)


def ping(sender: Uuid, restart: int, tx: int, *vectors: Vector, target: Uuid = A) -> Ping:
    """A ping, to A unless said otherwise."""
    return Ping(sender, Incarnation(restart, tx), target, vectors)


def ack(sender: Uuid, restart: int, tx: int, target_tx: int, *vectors: Vector, target: Uuid = A) -> Ack:
    """An ack, to A unless said otherwise."""
    return Ack(sender, Incarnation(restart, tx), target, target_tx, vectors)


def said(text: str) -> ClusterEventVector:
    """`said("dead C")`, `said("dead C 1 6")`, `said("joining C 2 1")`: an event as the document writes it."""
    kind, name, *numbers = text.split()
    about = NAMES[name]
    incarnation = Incarnation(*map(int, numbers)) if numbers else None
    match kind:
        case "joining":
            assert incarnation
            return swim.Joining(about, incarnation, HOST, port(about))
        case "leave":
            assert incarnation
            return swim.Leave(about, incarnation)
        case "normal":
            return swim.Normal(about, incarnation)
        case "suspicious":
            return Suspicious(about, incarnation)
    return swim.Dead(about, incarnation)


def members(*known: Member, tagged: bool = True) -> AntiEntropy:
    """Anti-entropy."""
    return AntiEntropy(known, tagged)


def first(why: str, among: Iterable[Any], some: int = 1) -> tuple[Any, ...]:
    """Chance that always takes the first options, in their order."""
    return tuple(sorted(among)[:some])


def quantum(state: State, pick: Pick = first) -> Step[State, Any]:
    """What comes of a quantum."""
    return step(state, Expired(NOW, swim.Quantum()), pick)


def asked(state: State, command: Any) -> Step[State, Any]:
    """What comes of a command."""
    return step(state, Asked(NOW, command), first)


def messages(taken: Step[State, Any]) -> list[Any]:
    """The messages of a step."""
    return [effect.message for effect in taken.effects if isinstance(effect, Send)]


def data(**members: Any) -> str:
    """A payload: `data(v=1)` is `{"v":1}`."""
    return json.dumps(members, separators=(",", ":"))
