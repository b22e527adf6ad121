"""
Properties of every run of SWIM, and reachability checks.

SI- names are those of `spec/swim.md`; the models use the same. They speak of a single step, or of all nodes at an instant;
properties of a whole life (no counter was lost) are checked where lives are known, in models and simulations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from peerproof.spec.core import Asked, Expired, Received, Send, replace
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.swim import messages
from peerproof.spec.swim.codec import encode
from peerproof.spec.swim.detector import MISSES, SILENT_FOR_ISOLATION
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.messages import Incarnation, Uuid
from peerproof.spec.swim.rounds import still_live
from peerproof.spec.swim.state import State, Status, active_size
from peerproof.spec.swim.table import GIVES, key
from peerproof.spec.swim.transitions import is_past


def rows_of_others(state: State) -> bool:
    """Rows are about other nodes, and all references to rows have a row."""
    return state.uuid not in state.rows and state.answered <= state.pinged


def own_ahead(cluster: Cluster) -> bool:
    """No node knows a larger incarnation of a node than the node itself, if no counter was lost."""
    own = {state.uuid: state.incarnation for state in cluster.nodes.values()}
    return all(
        row.incarnation <= own[uuid] for state in cluster.nodes.values() for uuid, row in state.rows.items() if uuid in own
    )


def nothing_invented(cluster: Cluster) -> bool:
    """No message has a larger incarnation of a node than the node's own, if no counter was lost."""
    own = {state.uuid: state.incarnation for state in cluster.nodes.values()}
    return all(said <= own[uuid] for _, _, message in cluster.in_flight for uuid, said in _incarnations(message) if uuid in own)


def monotone(taken: Taken) -> bool:
    """The key of a row never decreases, and a row disappears only by removal."""
    if _asks(taken, messages.RemoveNode):
        return True
    after: State = taken.after
    return all(
        uuid in after.rows and key(after.rows[uuid].status, after.rows[uuid].incarnation) >= key(row.status, row.incarnation)
        for uuid, row in taken.before.rows.items()
    )


def queue_last(taken: Taken) -> bool:
    """
    The queue has at most one event about each node, and it agrees with the node's row.

    The leave of a node that was removed and is back may still be queued: the node has a new row, which is no news of the old one.
    """
    after: State = taken.after
    about = [entry.event.node for entry in after.queue]
    at_odds = {entry.event for entry in taken.before.queue if not _agrees(entry.event, taken.before)}
    return len(set(about)) == len(about) and all(
        _agrees(entry.event, after) or entry.event in at_odds for entry in after.queue if entry.event.node in after.rows
    )


def _agrees(said: messages.ClusterEventVector, state: State) -> bool:
    row = state.rows.get(said.node)
    return (
        row is not None
        and GIVES[type(said)] is row.status
        and (said.incarnation is None or said.incarnation.restart == row.incarnation.restart)
    )


def fair_round(state: State) -> bool:
    """No node is both pinged and still to be pinged in a round, or listed twice."""
    return len(set(state.vector)) == len(state.vector) and not set(state.vector) & state.pinged


def dead_only_after_suspicious(taken: Taken) -> bool:
    """The detector declares a node dead only if it was suspicious and has missed two indirect pings."""
    return not isinstance(taken.event, Expired) or all(
        (row := taken.before.rows[uuid]).status is Status.SUSPICIOUS and row.indirect_asked and row.indirect_misses == MISSES - 1
        for uuid in _become(taken, Status.DEAD)
    )


def past_ignored(taken: Taken) -> bool:
    """A message from the past changes only the own counter; a ping is answered with the remembered incarnation."""
    before: State = taken.before
    message = _incoming_message(taken)
    if message is None or not is_past(before, message):
        return True
    sends = [effect.message for effect in taken.effects if isinstance(effect, Send)]
    if isinstance(message, messages.Ack):
        return taken.after == before and not sends
    counted = taken.after.incarnation
    told = messages.Dead(message.sender, before.rows[message.sender].incarnation)
    answer = messages.Ack(before.uuid, counted, message.sender, message.incarnation.tx, (told,))
    is_new_life = counted.restart > before.incarnation.restart  # then no answer is awaited any more [SA-47]
    return sends == ([answer] if counted != before.incarnation else []) and (
        is_new_life or replace(taken.after, incarnation=before.incarnation) == before
    )


def payload_life(taken: Taken) -> bool:
    """
    A payload comes into a row with a message of its node, and goes when the row's restart counter grows.

    So the node itself set the payload, in the restart that the row shows: both come from its own message.
    """
    message = _incoming_message(taken)
    sender = message.sender if message else None
    said = [vector.data for vector in message.vectors if isinstance(vector, messages.Payload)] if message else []
    for uuid, row in taken.after.rows.items():
        known = taken.before.rows.get(uuid)
        is_kept = known is not None and known.payload == row.payload and known.incarnation.restart == row.incarnation.restart
        is_said = uuid == sender and row.payload in said[-1:]
        if row.payload is not None and not is_kept and not is_said:
            return False
    return True


def isolation_quiet(taken: Taken) -> bool:
    """Closing a round in which several nodes were pinged and none was heard makes no node suspicious or dead."""
    before: State = taken.before
    closes = isinstance(taken.event, Expired) and isinstance(taken.event.timer, messages.Quantum) and not before.left
    if not closes or still_live(before) or len(before.pinged) < SILENT_FOR_ISOLATION or before.heard:
        return True
    return taken.after.isolated and not (_become(taken, Status.SUSPICIOUS) or _become(taken, Status.DEAD))


def recipient_bound(taken: Taken) -> bool:
    """An event that was sent and stays queued has not reached enough nodes yet, not counting the one that it is about."""
    enough = fanout(active_size(taken.after))
    had = {entry.event: entry.recipients for entry in taken.before.queue}
    return all(
        entry.recipients == had.get(entry.event, frozenset()) or len(entry.recipients - {entry.event.node}) < enough
        for entry in taken.after.queue
    )


def stale_rumour_harmless(taken: Taken) -> bool:
    """A message whose statements about others are all below the known ones changes nothing; leaving is no rumour."""
    message = _incoming_message(taken)
    if message is None or is_past(taken.before, message):
        return True
    said: dict[Uuid, list[Incarnation | None]] = {}
    for vector in message.vectors:
        for uuid, incarnation in _mentions(vector):
            said.setdefault(uuid, []).append(None if isinstance(vector, messages.Leave) else incarnation)
    return all(
        (now := taken.after.rows[uuid]).incarnation == row.incarnation and now.status is row.status
        for uuid, claims in said.items()
        if uuid != message.sender and (row := taken.before.rows.get(uuid)) is not None
        if all(claim is not None and claim < row.incarnation for claim in claims)
    )


def leave_sticky(taken: Taken) -> bool:
    """A node that has left stays so until its restart counter grows."""
    return _asks(taken, messages.RemoveNode) or all(
        taken.after.rows[uuid].status is Status.LEAVE or taken.after.rows[uuid].incarnation.restart > row.incarnation.restart
        for uuid, row in taken.before.rows.items()
        if row.status is Status.LEAVE
    )


def datagram_bounded(taken: Taken) -> bool:
    """No datagram is larger than the configured maximum."""
    limit = taken.before.config.max_datagram
    return all(len(encode(effect.message)) <= limit for effect in taken.effects if isinstance(effect, Send))


def counter_grows(taken: Taken) -> bool:
    """Every datagram has a higher number than all before it."""
    return all(later > earlier for earlier, later in pairwise([taken.before.incarnation, *_numbers(taken)]))


def counter_counts(taken: Taken) -> bool:
    """The own incarnation is that of the last datagram, and counts each."""
    before: messages.Incarnation = taken.before.incarnation
    after: messages.Incarnation = taken.after.incarnation
    sent = _numbers(taken)
    return (not sent or sent[-1] == after) and (after.restart > before.restart or after.tx == before.tx + len(sent))


def _numbers(taken: Taken) -> list[messages.Incarnation]:
    return [effect.message.incarnation for effect in taken.effects if isinstance(effect, Send)]


def past_arrives(taken: Taken) -> bool:
    """A message from the past arrives."""
    message = _incoming_message(taken)
    return message is not None and is_past(taken.before, message)


def somebody_refuted(taken: Taken) -> bool:
    """A node that was suspicious or dead is normal again."""
    return any(taken.before.rows[uuid].status in (Status.SUSPICIOUS, Status.DEAD) for uuid in _become(taken, Status.NORMAL))


def becomes_isolated(taken: Taken) -> bool:
    """A node finds itself isolated."""
    return taken.after.isolated and not taken.before.isolated


def somebody_is(status: Status) -> Callable[[Cluster], bool]:
    """Returns a predicate: some node considers another one to have this status."""
    return lambda cluster: any(row.status is status for state in cluster.nodes.values() for row in state.rows.values())


def all_normal(cluster: Cluster) -> bool:
    """All nodes know all others, as normal."""
    everybody = {state.uuid for state in cluster.nodes.values()}
    return all(
        {uuid for uuid, row in state.rows.items() if row.status is Status.NORMAL} == everybody - {state.uuid}
        for state in cluster.nodes.values()
    )


def _incoming_message(taken: Taken) -> messages.Ping | messages.Ack | None:
    """Returns the received message, if it is a ping or an ack."""
    message = taken.event.message if isinstance(taken.event, Received) else None
    return message if isinstance(message, (messages.Ping, messages.Ack)) and message.target == taken.before.uuid else None


def _incarnations(message: object) -> list[tuple[Uuid, Incarnation]]:
    if not isinstance(message, (messages.Ping, messages.Ack)):
        return []
    said = [(message.sender, message.incarnation)]
    for vector in message.vectors:
        said += [(uuid, incarnation) for uuid, incarnation in _mentions(vector) if incarnation is not None]
    return said


def _mentions(vector: messages.Vector) -> Iterator[tuple[Uuid, Incarnation | None]]:
    """Yields the nodes that a vector names, and their incarnations."""
    match vector:
        case messages.Payload() | messages.IndirectPing():
            return
        case messages.AntiEntropy(members):
            yield from ((member.uuid, Incarnation(member.restart_counter, member.tx_counter)) for member in members)
        case messages.IndirectAck(target, incarnation):
            yield target, incarnation
        case _:
            yield vector.node, vector.incarnation


def _become(taken: Taken, status: Status) -> list[Uuid]:
    return [
        uuid
        for uuid, row in taken.after.rows.items()
        if row.status is status and uuid in taken.before.rows and taken.before.rows[uuid].status is not status
    ]


def _asks(taken: Taken, command: type[object]) -> bool:
    return isinstance(taken.event, Asked) and isinstance(taken.event.command, command)


PROPERTIES: Final = (
    Property("TypeOK", "rows are about others", ("SI-01", "S-36"), "node", rows_of_others),
    Property("OwnAhead", "no node is ahead of another node's own counter", ("SI-02", "S-12"), "cluster", own_ahead),
    Property("NothingInvented", "no message is ahead of a node's own counter", ("SI-02", "S-12"), "cluster", nothing_invented),
    Property("Monotone", "keys of rows never decrease", ("SI-03", "SA-13"), "step", monotone),
    Property("QueueLast", "the queue agrees with the table, once per node", ("SI-04", "S-39"), "step", queue_last),
    Property("FairRound", "no node has two places in a round", ("SI-05", "S-46"), "node", fair_round),
    Property(
        "DeadOnlyAfterSuspicious",
        "a node is suspicious, and has missed two indirect pings, before it is dead",
        ("SI-06", "S-07"),
        "step",
        dead_only_after_suspicious,
    ),
    Property("PastIgnored", "a message from the past changes nothing", ("SI-07", "S-41", "S-30"), "step", past_ignored),
    Property("PayloadLife", "a payload is of the life that its row shows", ("SI-08", "S-34", "S-47"), "step", payload_life),
    Property("IsolationQuiet", "an isolated node suspects no other", ("SI-09", "SA-07"), "step", isolation_quiet),
    Property("RecipientBound", "an event leaves the queue in time", ("SI-10", "S-40"), "step", recipient_bound),
    Property(
        "StaleRumourHarmless", "events with old incarnations change nothing", ("SI-11", "SA-12"), "step", stale_rumour_harmless
    ),
    Property("LeaveSticky", "a node that has left stays so", ("SI-12", "SA-13"), "step", leave_sticky),
    Property("DatagramBounded", "no datagram is above the limit", ("SA-32",), "step", datagram_bounded),
    Property("CounterGrows", "every datagram has its own number", ("SA-09", "SZ-10"), "step", counter_grows),
    Property("CounterCounts", "a node counts its datagrams", ("SA-09", "SZ-10"), "step", counter_counts, joins_both=True),
    Property("SomebodySuspicious", "some node is suspected", ("S-04",), "cluster", somebody_is(Status.SUSPICIOUS), "sometimes"),
    Property("SomebodyDead", "some node is considered dead", ("S-06",), "cluster", somebody_is(Status.DEAD), "sometimes"),
    Property("PastArrives", "a message comes from the past", ("S-41",), "step", past_arrives, "sometimes"),
    Property("SomebodyRefuted", "a rumour is refuted", ("S-11",), "step", somebody_refuted, "sometimes"),
    Property("BecomesIsolated", "a node finds itself isolated", ("S-08",), "step", becomes_isolated, "sometimes"),
    Property(
        "AllNormal",
        "all nodes that run know each other, and no others, as normal",
        ("SL-01", "SL-04"),
        "cluster",
        all_normal,
        "eventually",
    ),
)
