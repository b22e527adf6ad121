"""
What holds in every cluster of Wendy: whatever the number of nodes, messages, failures, repetitions and orders.

An invariant of one node's tables and of one message is kept by every path of `step`, for every event that satisfies it. The rest
of the cluster is in a function that only grows: which nodes have existed, at which addresses. `composition` shows why this is
enough.

A step is shown in parts. Functions that it goes through again and again are run by themselves, on any state that satisfies the
invariant: a node that is tried in the tables, is removed from them, is seen in a message, or has gone; the tables of a message.
Where the code calls one of them, what it needs is claimed, and any state is returned that it may leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.conformance.proofs.wendy.any_leaves import PROOFS as LEAVES
from peerproof.conformance.proofs.wendy.any_leaves import no_choice
from peerproof.conformance.proofs.wendy.any_node import EXISTED, AnyNode, Invariant
from peerproof.conformance.proofs.wendy.any_order import PROOFS as ORDER
from peerproof.conformance.proofs.wendy.any_parts import ALL, Parts
from peerproof.conformance.proofs.wendy.any_tables import Departed, any_cell, shown, shown_in, terms_of
from peerproof.conformance.proofs.wendy.each_part import LOOKUPS, PARTS, any_tables, claim_leaves, claim_sent, is_absent
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Sent
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import (
    Announce,
    Application,
    Config,
    FlushCache,
    Forward,
    Header,
    Heartbeat,
    HeartbeatDue,
    Join,
    Leave,
    Mask,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    RepairTimeout,
    Route,
    SendTo,
    Stage,
    State,
    StateData,
    StateRequest,
    repair,
    transitions,
)
from peerproof.spec.wendy.model.variants import forget_departed

PROOFS: Final = ProofTable()

_NOW: Final = Instant(0)
_KINDS: Final = ("join", "exit", "heartbeat", "state data", "request", "race", "repair", "announcement", "application")


def any_message(node: AnyNode, kind: str, sender: Node) -> Any:
    """Returns any message of a kind."""
    key: Any = Number(node.path.integer("key"))
    hop: Any = Number(node.path.integer("hop"))
    about = Header(sender, key, credentials=b"own", hop=hop)
    match kind:
        case "join":
            return NodeJoin(about)
        case "exit":
            return NodeExit(about)
        case "heartbeat":
            return Heartbeat(about)
        case "state data":
            return StateData(about, any_tables(node, at_once=True), destination=bool(smt.Bool("is the destination")))
        case "request":
            return StateRequest(about, Mask())
        case "race":
            return NodeRace(about, any_tables(node, at_once=True))
        case "repair":
            return NodeRepair(about, Mask())
        case "announcement":
            return NodeAnnouncement(about, any_tables(node, at_once=True))
        case _:
            return Application(about, Number(node.path.integer("purpose")), b"")  # type: ignore[arg-type]


def any_event(node: AnyNode, state: State) -> tuple[State, Any]:
    """Returns any event, and the state with what is needed for it."""
    kind = ("message", "outcome", "timer", "command")[choice(node.path, "event", 4)]
    if kind == "message":
        message = any_message(node, _KINDS[choice(node.path, "message", len(_KINDS))], node.named("sender"))
        if bool(smt.Bool("has other credentials")):
            message = replace(message, header=replace(message.header, credentials=b"other"))
        return state, Received(_NOW, NodeId("there:1"), message)
    if kind == "outcome":
        kind = ("join", "heartbeat", "announcement", "application")[choice(node.path, "sent", 4)]
        message = any_message(node, kind, _sender(node) if kind == "join" else node.own_record())
        to: Any = Number(node.path.integer("receiver"))
        contact: Any = Number(node.path.integer("contact")) if isinstance(message, NodeJoin) else None
        return replace(state, contact=contact), Sent(_NOW, to, message, 1 if bool(smt.Bool("was confirmed")) else None)
    if kind == "timer":
        timers = FlushCache(), Announce(), HeartbeatDue(), RepairTimeout(*any_cell(node.path))  # type: ignore[arg-type]
        return state, Expired(_NOW, timers[choice(node.path, "timer", len(timers))])
    return state, Asked(_NOW, _any_command(node))


def _sender(node: AnyNode) -> Node:
    """Returns the sender of a join that this node has sent: itself, or one whose join it forwards."""
    return node.own_record() if bool(smt.Bool("is its own")) else node.named("sender")


def _any_command(node: AnyNode) -> Any:
    key: Any = Number(node.path.integer("key"))
    message = any_message(node, "application", node.other("sender in a command"))
    commands = (
        *(Join(NodeId("there:1")), Leave(), Route(key, b""), Forward(message)),
        SendTo(node.other("node of the command"), key, b""),
    )
    return commands[choice(node.path, "command", len(commands))]


def one_step(node: AnyNode) -> None:
    """A step with any event."""
    stage = tuple(Stage)[choice(node.path, "stage", len(Stage))]
    state, event = any_event(node, replace(node.start, stage=stage))
    try:
        with Parts(node).within(*ALL):
            after, effects = node.path.run(transitions.step, state, event, no_choice)
    except NotEnabled:
        return
    node.claim_state(after)
    claim_leaves(node, after)
    claim_sent(node, effects)
    if node.holds.departed and stage is not Stage.LEFT:
        _claim_departures(node, after, event)


def _claim_departures(node: AnyNode, after: State, event: Any) -> None:
    """Claims that a node that leaves is in no table, and that a departed one stays departed until it announces itself."""
    message = event.message if isinstance(event, Received) and event.message.header.credentials == b"own" else None
    before: Any = node.start.departed
    now: Any = after.departed
    returns = [term_of(message.header.sender.id)] if isinstance(message, NodeAnnouncement) else []
    excused = smt.Or(*(node.any == one for one in [*returns, *node.forgotten]))
    stays = smt.Implies(before.has(node.any), smt.Or(now.has(node.any), excused))
    node.path.claim("a departed node stays departed until it announces itself", stays)
    if isinstance(message, NodeExit):
        gone, _ = terms_of(message.header.sender)
        nodes = [*shown_in(after), *shown(after.measured)]
        node.path.claim("a node that leaves is in no table", is_absent(gone, nodes))


def every_part(path: Path, holds: Invariant) -> None:
    """Shows that every step keeps an invariant, part by part."""
    parts = (*PARTS, *(LOOKUPS if holds.existed else ()), one_step)
    parts[choice(path, "part", len(parts))](AnyNode(path, holds))


_STEP: Final = Evaluated(
    ("wendy.transitions.step", *(place.removeprefix("peerproof.spec.") for place in ALL)),
    ("len", "enumerate", "bisect_left", "max", "known", "at", "score", "address_of", "is_newer", "next_hop"),
)


@PROOFS.add(
    "WZ-26 W-51 W-56 WA-15 WA-34 WA-68 WA-69 WI-02",
    _STEP,
    Twin("messages may name nodes that have never existed", {"truthful": False}),
    scope=ANY_CLUSTER,
)
def no_node_is_invented(path: Path, *, truthful: bool = True) -> None:
    """
    Every node in a table, being measured, or named in a message with tables has existed, at the addresses there.

    And no node is in its own tables.
    """
    every_part(path, Invariant(existed=True, own=True, truthful=truthful))


#: Departed nodes are not remembered; as in the model WX-09-ghost.
_FORGOTTEN: Final = names_in(repair, add_departed=forget_departed)


@PROOFS.add(
    "WZ-27 WA-25 WA-30 WI-01 WX-09",
    _STEP,
    Twin("departed nodes are not remembered (WX-09)", {"instead": _FORGOTTEN}),
    scope=ANY_CLUSTER,
)
def a_departed_node_does_not_come_back(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """
    A node that departs leaves all tables at once, and is in none until it announces itself.

    It has left by its exit, or by a message that did not reach it. The exception are more departed nodes than are remembered.
    """
    with overriding(instead or {}):
        every_part(path, Invariant(departed=True))


def started(self_id: NodeId, config: Config, kept: Node | None) -> State:
    """Returns a node that has just started; with a node in its tables that it has kept from before, if there is one."""
    state = transitions.initial(self_id, config).state
    return state if kept is None else replace(state, neighborhood_set=(kept,))


@PROOFS.add(
    "WZ-31 W-45 WA-52",
    Evaluated(("wendy.transitions.initial",)),
    Twin("a node keeps its tables from before", {"keeps": True}),
    scope=ANY_CLUSTER,
)
def a_new_node_and_others_keep_what_holds(path: Path, *, keeps: bool = False) -> None:
    """A node without tables satisfies the invariants; they keep holding while other nodes start, also at other addresses."""
    node = AnyNode(path, Invariant(existed=True, own=True, departed=True))
    new = path.run(started, NodeId("any:1"), node.start.config, node.other("node from before") if keeps else None)
    path.claim("it has departed from none", truth(not new.departed))
    none = Departed(path, lambda _: smt.BoolVal(False))
    node.claim_state(replace(new, departed=none))

    later = smt.Function("has existed later", smt.IntSort(), smt.IntSort(), smt.BoolSort())
    (is_there, member), *_ = shown_in(node.start)
    for holds, one in ((is_there, member), (truth(True), node.named("node in a message"))):
        path.know(smt.Implies(EXISTED(*terms_of(one)), later(*terms_of(one))))
        path.claim("a node that has existed", smt.Implies(holds, later(*terms_of(one))))


PROOFS.extend([*LEAVES, *ORDER])
PROOFS.append(composition("WZ-32", "WI-01 WI-02"))
