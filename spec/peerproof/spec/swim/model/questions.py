"""Checks of the models besides `properties`: expected counterexamples, and the same after a repair; by their TLA+ names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import permutations, product
from typing import Any, Final

from peerproof.spec.core import NodeId
from peerproof.spec.model.liveness import Ending
from peerproof.spec.model.questions import (
    Arrival,
    Endings,
    OfArrivals,
    Question,
    arrivals,
    arriving,
    never_arrival,
    never_message,
    never_node,
    of_cluster,
)
from peerproof.spec.properties import Cluster
from peerproof.spec.swim.messages import Ack, AntiEntropy, Dead, IndirectAck, Joining, Leave, Ping, Uuid, Vector
from peerproof.spec.swim.model.bounded import Model, uuid_of
from peerproof.spec.swim.model.variants import AckOfLife
from peerproof.spec.swim.properties import own_ahead
from peerproof.spec.swim.state import Exchange, Row, State, Status
from peerproof.spec.swim.table import key
from peerproof.spec.swim.transitions import apply_message, is_past


def rows(cluster: Cluster) -> Iterator[tuple[State, Uuid, Row]]:
    """Yields the rows of all nodes."""
    return ((state, uuid, row) for state in cluster.nodes.values() for uuid, row in state.rows.items())


def never_status(status: Status) -> Question:
    """No row has this status."""
    return lambda _, cluster: all(row.status is not status for _, _, row in rows(cluster))


def never_hearsay(model: Model, cluster: Cluster) -> bool:
    """No node takes over a suspicion from another one without pinging."""
    return all(row.status is not Status.SUSPICIOUS for state, _, row in rows(cluster) if state.uuid not in model.active)


def never_makes(change: Callable[[Row, Row], bool]) -> Question:
    """No message changes a row in this way."""
    return never_arrival(lambda a: any(change(row, a.after.rows[uuid]) for uuid, row in a.before.rows.items()))


def _is_expired(message: Ping | Ack) -> bool:
    """A node learns that its message is from the past."""
    match message:
        case Ack(target=target, vectors=(Dead(node, _),)):
            return node == target
    return False


def never_vector(kind: type, **fields: Any) -> Question:
    """No message holds such a vector."""

    def is_it(vector: Vector) -> bool:
        return isinstance(vector, kind) and all(getattr(vector, name) == value for name, value in fields.items())

    return never_message(lambda message: any(map(is_it, message.vectors)))


def _is_replaced(arrival: Arrival) -> bool:
    """A newer event replaces one about the same node in a queue."""
    pairs = product(arrival.before.queue, arrival.after.queue)
    return any(old.event.node == new.event.node and old.event != new.event for old, new in pairs)


@OfArrivals
def never_stranger(model: Model, cluster: Cluster) -> bool:
    """No message comes from an unknown node."""
    return all(
        message.sender in cluster.nodes[to].rows
        or any(isinstance(v, Joining) and v.node == message.sender for v in message.vectors)
        for _, to, message in arriving(model, cluster)
    )


def _is_silent(state: State) -> bool:
    """The node has left on its own command and has announced it."""
    return state.left and not any(isinstance(entry.event, Leave) and entry.event.node == state.uuid for entry in state.queue)


def never_without_relay(_: Model, cluster: Cluster) -> bool:
    """No node is rightly suspected while all other possible relays are considered dead, one of them wrongly."""
    running = [state for state in cluster.nodes.values() if state.up]
    return not any(_lacks_relay(state, {other.uuid for other in running}) for state in running)


def _lacks_relay(state: State, running: set[Uuid]) -> bool:
    wrongly_dead = any(row.status is Status.DEAD for uuid, row in state.rows.items() if uuid in running)
    live = [(uuid, row.status) for uuid, row in state.rows.items() if row.is_live]
    return wrongly_dead and len(live) == 1 and live[0][0] not in running and live[0][1] is Status.SUSPICIOUS


def nobody_misses(_: Model, cluster: Cluster) -> bool:
    """No row has a miss. [SX-01]"""
    return all(row.misses == 0 for _, _, row in rows(cluster))


@OfArrivals
def no_stale_rumour(model: Model, cluster: Cluster) -> bool:
    """No node comes to consider another suspicious or dead at an incarnation that the sender has never known. [SX-02]"""
    return not any(
        row.status in (Status.SUSPICIOUS, Status.DEAD)
        and row.status is not before.status
        and (known := arrival.sender.rows.get(uuid)) is not None
        and known.incarnation < row.incarnation
        for arrival in arrivals(model, cluster)
        for uuid, before in arrival.before.rows.items()
        for row in (arrival.after.rows[uuid],)
    )


def found_in_time(model: Model, cluster: Cluster) -> bool:
    """A node that does not run is dead at all nodes that have counted to their bound. [SX-03, SL-02]"""
    gone = [state.uuid for state in cluster.nodes.values() if not state.up]
    counted = [s for s in cluster.nodes.values() if s.up and s.uuid in model.active and s.incarnation.tx == model.most.tx]
    return all(uuid in state.rows and state.rows[uuid].status is Status.DEAD for state in counted for uuid in gone)


def still_asked(model: Model, cluster: Cluster) -> bool:
    """Between any two running nodes there is a chain of nodes of which each pings the next, or is pinged by it. [SX-04]"""
    asks = {state.uuid: set(model.in_rounds(state)) for state in cluster.nodes.values() if state.up}
    pairs = {(one, other) for one, others in asks.items() for other in others if other in asks}
    first, *_ = asks
    reached, more = set[Uuid](), {first}
    while more:
        reached |= more
        more = {b if a in more else a for a, b in pairs if (a in more) != (b in more)} - reached
    return reached == asks.keys()


def heard_by_all(_: Model, cluster: Cluster) -> bool:
    """When no message about a leave is left, all nodes with a row of the node know that it has left. [SX-05]"""
    spoken_of = {entry.event.node for state in cluster.nodes.values() for entry in state.queue if isinstance(entry.event, Leave)}
    spoken_of |= {vector.node for _, _, message in cluster.in_flight for vector in message.vectors if isinstance(vector, Leave)}
    known_left = {uuid for _, uuid, row in rows(cluster) if row.status is Status.LEAVE}
    return all(row.status is Status.LEAVE for _, uuid, row in rows(cluster) if uuid in known_left - spoken_of)


def removed_stays_gone(model: Model, cluster: Cluster) -> bool:
    """A node that was removed is not live again. [SX-06]"""
    first = dict(model.nodes)
    removed = {
        addr: {uuid_of(other) for kind, other in first[addr].todo - state.todo if kind == "remove"}
        for addr, state in cluster.nodes.items()
    }
    return not any(removed[addr] & set(state.live) for addr, state in cluster.nodes.items())


def events_commute(model: Model, cluster: Cluster) -> bool:
    """Two messages from different nodes have the same result at a node, in either order. [SX-07]"""
    for (_, at, one), (_, to, other) in permutations(list(arriving(model, cluster)), 2):
        state = cluster.nodes[at]
        if to != at or not one.sender < other.sender:
            continue
        if not {one.sender, other.sender} <= state.rows.keys() or is_past(state, one) or is_past(state, other):
            continue
        first, second = apply_message(state, one), apply_message(state, other)
        if is_past(first, other) or is_past(second, one):
            continue
        if _keys(apply_message(first, other)) != _keys(apply_message(second, one)):
            return False
    return True


def _keys(state: State) -> Mapping[Uuid, Any]:
    return {uuid: key(row.status, row.incarnation) for uuid, row in state.rows.items()}


@OfArrivals
def ack_of_this_life(model: Model, cluster: Cluster) -> bool:
    """No ack is accepted as the answer to a ping that is still under way. [SX-08]"""
    pings = {(m.sender, m.target, m.incarnation) for _, _, m in cluster.in_flight if isinstance(m, Ping)}
    return not any(
        (state.uuid, message.sender, state.incarnation._replace(tx=message.target_tx)) in pings
        for _, to, message in arriving(model, cluster)
        if isinstance(message, Ack) and _is_answer(state := cluster.nodes[to], message)
    )


def _is_answer(state: State, ack: Ack) -> bool:
    row = state.rows.get(ack.sender)
    of_now = not isinstance(ack, AckOfLife) or ack.life == state.incarnation.restart
    return row is not None and not is_past(state, ack) and of_now and ack.target_tx in row.unanswered


def _lowers(before: Row, after: Row) -> bool:
    return key(after.status, after.incarnation) < key(before.status, before.incarnation)


#: The maximum number of datagrams that a step of a node sends.
_AT_ONCE: Final = 4


def out_of_reach(model: Model, cluster: Cluster) -> bool:
    """The bounds of the model prevent no step."""
    has_room = len(tuple(cluster.in_flight)) + _AT_ONCE <= model.faults.in_flight
    return has_room and all(state.incarnation.tx + _AT_ONCE <= model.most.tx for state in cluster.nodes.values())


QUESTIONS: Final[Mapping[str, Question]] = {
    "OwnAhead": of_cluster(own_ahead),
    "NobodyMisses": nobody_misses,
    "NoStaleRumour": no_stale_rumour,
    "FoundInTime": found_in_time,
    "OutOfReach": out_of_reach,
    "StillAsked": still_asked,
    "HeardByAll": heard_by_all,
    "RemovedStaysGone": removed_stays_gone,
    "EventsCommute": events_commute,
    "AckOfThisLife": ack_of_this_life,
    "NeverLowers": never_makes(_lowers),
    "NeverSuspicious": never_status(Status.SUSPICIOUS),
    "NeverDead": never_status(Status.DEAD),
    "NeverLeave": never_status(Status.LEAVE),
    "NeverIsolated": never_node(lambda state: state.isolated),
    "NeverHearsay": never_hearsay,
    "NeverRefuted": never_makes(lambda old, new: old.status is Status.SUSPICIOUS and new.status is Status.NORMAL),
    "NeverRisen": never_makes(lambda old, new: old.status is Status.DEAD and new.status is Status.NORMAL),
    "NeverStalePayload": never_makes(lambda old, new: old.payload is not None and new.payload is None),
    "NeverNewLife": never_makes(lambda old, new: old.incarnation.restart < new.incarnation.restart),
    "NeverExpired": never_message(_is_expired),
    "NeverRaised": never_arrival(lambda a: a.after.incarnation.restart != a.before.incarnation.restart),
    "NeverJoined": never_makes(lambda old, new: old.exchange is Exchange.SECOND and new.exchange is Exchange.DONE),
    "NeverIndirectAck": never_vector(IndirectAck),
    "NeverMembers": never_vector(AntiEntropy, tagged=False),
    "NeverReplaced": never_arrival(_is_replaced),
    "NeverStranger": never_stranger,
    "NeverSilent": never_node(_is_silent),
    "NeverWithoutRelay": never_without_relay,
}

#: Actions that may end: those of applications; and losses, which may go on for ever or end.
MAY_END: Final = (frozenset({"Command", "EndlessCommand"}), frozenset({"Command", "EndlessCommand", "Lose", "EndlessLose"}))


def joins(model: Model) -> Iterator[Ending]:
    """For each node but the seed: once it introduces itself, it is normal at the seed and knows the seed. [SL-01]"""
    (seed, _), *others = model.nodes
    for node, _ in others:
        goal, since = partial(_has_joined, node, seed), partial(_introduces, node, seed)
        yield from (Ending("Joins", f"{node} joins", ("SL-01",), goal, ended, since=since) for ended in MAY_END)


def _introduces(node: NodeId, seed: NodeId, cluster: Cluster) -> bool:
    row = _row(cluster, node, seed)
    return row is not None and row.exchange is not Exchange.DONE


def _has_joined(node: NodeId, seed: NodeId, cluster: Cluster) -> bool:
    row, there = _row(cluster, node, seed), _row(cluster, seed, node)
    return row is not None and row.exchange is Exchange.DONE and there is not None and there.status is Status.NORMAL


def found_for_good(model: Model) -> Iterator[Ending]:
    """A node that does not run is dead at all nodes that ping. [SL-02]"""

    def found(cluster: Cluster) -> bool:
        gone = [addr for addr, state in cluster.nodes.items() if not state.up]
        asking = [addr for addr, state in cluster.nodes.items() if state.up and state.uuid in model.active]
        rows = [_row(cluster, addr, other) for addr in asking for other in gone]
        return all(row is not None and row.status is Status.DEAD for row in rows)

    yield from (Ending("FoundForGood", "a crashed node is dead for good", ("SL-02",), found, ended) for ended in MAY_END)


def restored(model: Model) -> Iterator[Ending]:
    """For each pair of nodes: if one suspects the other, which runs, it eventually considers it normal. [SL-03]"""
    for (one, first), (other, _) in permutations(model.nodes, 2):
        if first.uuid in model.active:
            goal, since, about = partial(_is_well, one, other), partial(_is_suspected, one, other), f"{other} is normal again"
            yield from (Ending("Restored", f"{about} at {one}", ("SL-03",), goal, ended, since=since) for ended in MAY_END)


def _is_well(at: NodeId, of: NodeId, cluster: Cluster) -> bool:
    row = _row(cluster, at, of)
    return row is not None and row.status in (Status.JOINING, Status.NORMAL)


def _is_suspected(at: NodeId, of: NodeId, cluster: Cluster) -> bool:
    row = _row(cluster, at, of)
    return cluster.nodes[at].up and cluster.nodes[of].up and row is not None and row.status is Status.SUSPICIOUS


def known_to_all(_: Model) -> Iterator[Ending]:
    """A running node that is live at some node is known at all nodes. [SL-04]"""
    about = "a node that one node knows is known to all"
    yield from (Ending("KnownToAll", about, ("SL-04",), _everybody_is_known, ended) for ended in MAY_END)


def _everybody_is_known(cluster: Cluster) -> bool:
    running = [state for state in cluster.nodes.values() if state.up]
    live = {uuid for state in running for uuid in state.live} & {state.uuid for state in running}
    return all(live <= {*state.rows, state.uuid} for state in running)


def _row(cluster: Cluster, at: NodeId, of: NodeId) -> Row | None:
    row: Row | None = cluster.nodes[at].rows.get(cluster.nodes[of].uuid)
    return row


ENDINGS: Final[Mapping[str, Endings]] = {
    "Joins": joins,
    "FoundForGood": found_for_good,
    "Restored": restored,
    "KnownToAll": known_to_all,
}
