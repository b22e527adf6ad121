"""Mistakes in what a round has shown when it closes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tests.conformance.mistakes.swim import Wrong

from peerproof.reference.divergences.swim import CLOSED, ON_QUANTUM, SETTLED
from peerproof.spec.core import Pick, Send
from peerproof.spec.swim import transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import IndirectPing, Ping, Uuid
from peerproof.spec.swim.state import Row, State, Status, address
from peerproof.spec.swim.transitions import Sends

PINGED_FOR = transitions.relay_ping


def _pinging_itself(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = ON_QUANTUM(state, pick)
    if not state.rows:
        return after, (*sends, Send(state.self_id, Ping(state.uuid, state.incarnation, state.uuid, ())))
    return after, sends


class PingsItself(Wrong):
    """Pings itself where it knows nobody else."""

    caught_by: ClassVar = ("alone-nobody-is-pinged",)
    instead: ClassVar = {"rounds.on_quantum": _pinging_itself}


class OneMissIsEnough(Wrong):
    """Suspects whoever has missed once, and calls it dead after one indirect ping."""

    caught_by: ClassVar = ("payload-changed", "relay-remembers-over-one-close")
    instead: ClassVar = {"detector.MISSES": 1}


class ThreeMisses(Wrong):
    """Waits for three misses."""

    caught_by: ClassVar = ("isolation-asks-nobody", "tx-at-its-end-in-a-quantum")
    instead: ClassVar = {"detector.MISSES": 3}


class OneIsIsolation(Wrong):
    """Looks for the fault in itself if its only neighbour is silent."""

    caught_by: ClassVar = ("tx-at-its-end-in-a-quantum", "suspicious-node-that-answers")
    instead: ClassVar = {"detector.SILENT_FOR_ISOLATION": 1}


class ThreeAreIsolation(Wrong):
    """Looks for the fault in itself only if three neighbours are silent."""

    caught_by: ClassVar = ("isolation-ends-with-the-first-message", "isolation-asks-nobody")
    instead: ClassVar = {"detector.SILENT_FOR_ISOLATION": 3}


def _forgiving(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    if after.isolated:
        after = replace(after, rows=after.rows.put({node: replace(row, misses=0) for node, row in after.rows.items()}))
    return after, sends


class IsolationForgets(Wrong):
    """Forgets all misses when it finds itself isolated."""

    caught_by: ClassVar = ("misses-before-isolation-still-count",)
    instead: ClassVar = {"rounds.close_round": _forgiving}


def _never_asked(state: State, node: Uuid, row: Row) -> State:
    return SETTLED(state, node, replace(row, indirect_asked=row.status is Status.SUSPICIOUS))


class SilenceIsAMiss(Wrong):
    """Counts an indirect ping as missed for which it has found nobody."""

    caught_by: ClassVar = ("indirect-ack-with-the-known-incarnation", "lone-neighbour-stays-suspicious")
    instead: ClassVar = {"detector.settle_row": _never_asked}


def _never_dead(state: State, node: Uuid, row: Row) -> State:
    after = SETTLED(state, node, row)
    return with_row(state, node, row) if after.rows[node].status is Status.DEAD else after


class NobodyDies(Wrong):
    """Goes on suspecting for ever."""

    caught_by: ClassVar = ("dead-after-two-indirect-misses", "indirect-ack-with-the-known-incarnation")
    instead: ClassVar = {"detector.settle_row": _never_dead}


def _also_who_answered(state: State, node: Uuid, row: Row) -> State:
    return SETTLED(replace(state, answered=state.answered - {node}), node, row)


class AnswersDoNotCount(Wrong):
    """Holds a round against whoever was pinged in it, answered or not."""

    caught_by: ClassVar = ("ack-forgets-the-older-pings", "same-ack-matches-once")
    instead: ClassVar = {"detector.settle_row": _also_who_answered}


def _uncounted(state: State, wanted: IndirectPing, pick: Pick) -> tuple[State, Sends]:
    after, sends = PINGED_FOR(state, wanted, pick)
    where = address(wanted.host, wanted.port)
    return after, sends or (Send(where, Ping(state.uuid, state.incarnation, wanted.target)),)


class RelaysWithoutANumber(Wrong):
    """Pings on behalf of another also where it has no number left for its own datagrams."""

    caught_by: ClassVar = ("both-counters-at-their-end-no-relay",)
    instead: ClassVar = {"transitions.relay_ping": _uncounted}
