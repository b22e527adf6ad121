"""
What holds in every run of SWIM, and what should be seen to happen in some.

SI- names are those of `spec/swim.md`; the models use the same. Of a single step and of all nodes at an instant; what
speaks of a whole life (that no counter was lost) is checked where lives are known, in models and simulations.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.core import Asked, Expired, Received, Send
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.swim.codec import encode
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.messages import Ack, Dead, Incarnation, Ping, RemoveNode, Uuid
from peerproof.spec.swim.state import State, Status, active_size
from peerproof.spec.swim.table import GIVES, event, key


def rows_of_others(state: State) -> bool:
    """Rows are about other nodes, and everything that names nodes by row names some."""
    return state.uuid not in state.rows and state.answered <= state.pinged


def own_ahead(cluster: Cluster) -> bool:
    """Nobody knows a larger incarnation of a node than the node itself, if no counter was lost."""
    own = {state.uuid: state.incarnation for state in cluster.nodes.values()}
    return all(
        row.incarnation <= own[uuid] for state in cluster.nodes.values() for uuid, row in state.rows.items() if uuid in own
    )


def nothing_invented(cluster: Cluster) -> bool:
    """No message says a larger incarnation of a node than the node's own, if no counter was lost."""
    own = {state.uuid: state.incarnation for state in cluster.nodes.values()}
    return all(said <= own[uuid] for _, _, message in cluster.in_flight for uuid, said in _incarnations(message) if uuid in own)


def monotone(taken: Taken) -> bool:
    """The key of a row never decreases, and a row goes only by being removed."""
    if _asks(taken, RemoveNode):
        return True
    after: State = taken.after
    return all(
        uuid in after.rows and key(after.rows[uuid].status, after.rows[uuid].incarnation) >= key(row.status, row.incarnation)
        for uuid, row in taken.before.rows.items()
    )


def queue_last(state: State) -> bool:
    """What is queued about a node says what its row says, and says it once."""
    about = [entry.event.node for entry in state.queue]
    return len(set(about)) == len(about) and all(
        GIVES[type(entry.event)] is row.status
        and event(entry.event.node, row, emit_incarnation=True).incarnation is not None
        and (entry.event.incarnation is None or entry.event.incarnation.restart == row.incarnation.restart)
        for entry in state.queue
        if (row := state.rows.get(entry.event.node)) is not None
    )


def fair_round(state: State) -> bool:
    """Nobody is both still to be pinged in a round and pinged already, or there twice."""
    return len(set(state.vector)) == len(state.vector) and not set(state.vector) & state.pinged


def dead_only_after_suspicious(taken: Taken) -> bool:
    """The detector makes nobody dead who was not suspicious."""
    return not isinstance(taken.event, Expired) or all(
        taken.before.rows[uuid].status is Status.SUSPICIOUS and taken.before.rows[uuid].indirect_asked
        for uuid in _become(taken, Status.DEAD)
    )


def past_ignored(taken: Taken) -> bool:
    """A message from the past changes nothing but the own counter; a ping is answered with what is remembered."""
    if not isinstance(taken.event, Received) or not isinstance(message := taken.event.message, (Ping, Ack)):
        return True
    row = taken.before.rows.get(message.sender)
    if row is None or message.incarnation >= row.incarnation or message.target != taken.before.uuid:
        return True
    if taken.before.rows != taken.after.rows and taken.before.incarnation.restart == taken.after.incarnation.restart:
        return False
    answers = [e.message for e in taken.effects if isinstance(e, Send)]
    if isinstance(message, Ack):
        return not answers and taken.before == taken.after
    return (
        all(isinstance(a, Ack) and a.vectors == (Dead(message.sender, row.incarnation),) for a in answers) and len(answers) <= 1
    )


def isolation_quiet(taken: Taken) -> bool:
    """Closing a round as isolated makes nobody suspicious or dead."""
    return (
        not isinstance(taken.event, Expired)
        or not (taken.after.isolated and not taken.before.isolated)
        or not (_become(taken, Status.SUSPICIOUS) or _become(taken, Status.DEAD))
    )


def recipient_bound(state: State) -> bool:
    """What is still queued has been sent to fewer nodes than it should, not counting the one that it is about."""
    enough = max(1, fanout(len(state.rows) + 1))
    return all(len(entry.recipients - {entry.event.node}) < enough or active_size(state) <= 1 for entry in state.queue)


def stale_rumour_harmless(taken: Taken) -> bool:
    """With incarnations in all events: one below the row's changes nothing."""
    if not taken.before.config.emit_incarnation or not isinstance(taken.event, Received):
        return True
    return all(
        taken.after.rows[uuid].incarnation >= row.incarnation or taken.after.rows[uuid].status is Status.LEAVE
        for uuid, row in taken.before.rows.items()
        if uuid in taken.after.rows
    )


def leave_sticky(taken: Taken) -> bool:
    """Who has left stays gone until its restart counter grows."""
    return _asks(taken, RemoveNode) or all(
        taken.after.rows[uuid].status is Status.LEAVE or taken.after.rows[uuid].incarnation.restart > row.incarnation.restart
        for uuid, row in taken.before.rows.items()
        if row.status is Status.LEAVE
    )


def datagram_bounded(taken: Taken) -> bool:
    """No datagram is larger than the configured maximum."""
    limit = taken.before.config.max_datagram
    return all(len(encode(effect.message)) <= limit for effect in taken.effects if isinstance(effect, Send))


def counter_grows(taken: Taken) -> bool:
    """The own incarnation never decreases, and grows with every datagram."""
    sent = [e for e in taken.effects if isinstance(e, Send)]
    before, after = taken.before.incarnation, taken.after.incarnation
    return bool(after >= before and (after.restart > before.restart or after.tx == before.tx + len(sent)))


def somebody_suspicious(cluster: Cluster) -> bool:
    """Somebody is thought suspicious."""
    return any(row.status is Status.SUSPICIOUS for state in cluster.nodes.values() for row in state.rows.values())


def somebody_dead(cluster: Cluster) -> bool:
    """Somebody is thought dead."""
    return any(row.status is Status.DEAD for state in cluster.nodes.values() for row in state.rows.values())


def all_normal(cluster: Cluster) -> bool:
    """Everybody knows everybody, as normal."""
    everybody = {state.uuid for state in cluster.nodes.values()}
    return all(
        {uuid for uuid, row in state.rows.items() if row.status is Status.NORMAL} == everybody - {state.uuid}
        for state in cluster.nodes.values()
    )


def _incarnations(message: object) -> list[tuple[Uuid, Incarnation]]:
    said: list[tuple[Uuid, Incarnation]] = []
    if isinstance(message, (Ping, Ack)):
        said.append((message.sender, message.incarnation))
        for vector in message.vectors:
            node = getattr(vector, "node", None) or getattr(vector, "target", None)
            incarnation = getattr(vector, "incarnation", None)
            if node is not None and incarnation is not None:
                said.append((node, incarnation))
            said += [(m.uuid, Incarnation(m.restart_counter, m.tx_counter)) for m in getattr(vector, "members", ())]
    return said


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
    Property("OwnAhead", "nobody is ahead of a node's own counter", ("SI-02", "S-12"), "cluster", own_ahead),
    Property("NothingInvented", "no message is ahead of a node's own counter", ("SI-02", "S-12"), "cluster", nothing_invented),
    Property("Monotone", "keys of rows never decrease", ("SI-03", "SA-13"), "step", monotone),
    Property("QueueLast", "the queue says what the table says, once per node", ("SI-04", "S-39"), "node", queue_last),
    Property("FairRound", "nobody has two places in a round", ("SI-05", "S-46"), "node", fair_round),
    Property("DeadOnlyAfterSuspicious", "death comes after suspicion", ("SI-06", "S-07"), "step", dead_only_after_suspicious),
    Property("PastIgnored", "the past changes nothing", ("SI-07", "S-41", "S-30"), "step", past_ignored),
    Property("IsolationQuiet", "who is isolated accuses nobody", ("SI-09", "SA-07"), "step", isolation_quiet),
    Property("RecipientBound", "an event leaves the queue in time", ("SI-10", "S-40"), "node", recipient_bound),
    Property("StaleRumourHarmless", "old news with incarnations is no news", ("SI-11", "SA-12"), "step", stale_rumour_harmless),
    Property("LeaveSticky", "who has left stays gone", ("SI-12", "SA-13"), "step", leave_sticky),
    Property("DatagramBounded", "no datagram is above the limit", ("SA-32",), "step", datagram_bounded),
    Property("CounterGrows", "every datagram has its own number", ("SA-09", "SZ-10"), "step", counter_grows),
    Property("SomebodySuspicious", "somebody is suspected", ("S-04",), "cluster", somebody_suspicious, "sometimes"),
    Property("SomebodyDead", "somebody is called dead", ("S-06",), "cluster", somebody_dead, "sometimes"),
    Property("AllNormal", "everybody knows everybody", ("SL-01", "SL-04"), "cluster", all_normal, "eventually"),
)
