"""Mistakes with answers of another time or another node, in isolation, in refuted suspicions, and by another's request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.wrong_swim import CLOSED, FANOUT, IS_PAST, MERGED, ON_ACK, ON_PING, ON_QUANTUM, SETTLED, Wrong

from peerproof.spec.core import NodeId, Pick, Received, Send, Step, Table
from peerproof.spec.swim import gossip, rounds, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AntiEntropy,
    Dead,
    Incarnation,
    IndirectPing,
    Payload,
    Ping,
    Suspicious,
    Uuid,
)
from peerproof.spec.swim.state import Exchange, Row, State, Status, active_size
from peerproof.spec.swim.table import Claim
from peerproof.spec.swim.transitions import Sends

APPLIED = transitions.apply_message
FORWARD = transitions.forward_ack
INDIRECT = transitions.indirect_answer
INTRODUCED = transitions.advance_introduction
REFUTED = transitions.refute
RELAYED = transitions.request_relays
REQUEST = gossip.request
TAKEN = transitions.take_relays
WITH_MEMBER = transitions.with_member


def changed(state: State, node: Uuid, **values: Any) -> State:
    """The node with other values in a row, if there is that row."""
    return with_row(state, node, replace(state.rows[node], **values)) if node in state.rows else state


def is_accepted(state: State, ack: Ack) -> bool:
    """Whether this is an ack of a known node for this one, and not of the past."""
    return ack.target == state.uuid and ack.sender in state.rows and not IS_PAST(state, ack)


def is_answer(state: State, ack: Ack) -> bool:
    """Whether an ack matches a ping."""
    return is_accepted(state, ack) and ack.target_tx in state.rows[ack.sender].unanswered


def acked(change: Callable[[State, State, Ack], State]) -> dict[str, Any]:
    """What is replaced to have another state after an ack, from that before it and that which is right."""

    def on_ack(state: State, ack: Ack, pick: Pick) -> Step[State, Any]:
        after, sends = ON_ACK(state, ack, pick)
        return Step(change(state, after, ack), sends)

    return {"transitions.on_ack": on_ack}


class AnswersBeforeThePing(Wrong):
    """Takes an ack that came in a round before the round's ping for its answer. [SA-02]"""

    caught_by: ClassVar = ("ack-before-the-ping-is-no-answer",)
    instead: ClassVar = acked(
        lambda state, after, ack: replace(after, answered=after.answered | {ack.sender}) if is_answer(state, ack) else after
    )


def matched_by_tx(state: State, ack: Ack, pick: Pick) -> Step[State, Any]:
    """Takes the ack for one of a ping to its sender, if any node was pinged with that tx."""
    if is_accepted(state, ack) and any(ack.target_tx in row.unanswered for row in state.rows.values()):
        pings = {*state.rows[ack.sender].unanswered, ack.target_tx}
        state = changed(state, ack.sender, unanswered=tuple(sorted(pings)))
    return ON_ACK(state, ack, pick)


class MatchesByTxAlone(Wrong):
    """Matches an ack by its tx, whichever node was pinged with it. [SA-42]"""

    caught_by: ClassVar = ("ack-with-the-tx-of-a-ping-to-another",)
    instead: ClassVar = {"transitions.on_ack": matched_by_tx}


def cut(bits: int) -> dict[str, Any]:
    """What is replaced to compare the tx of an ack by its lowest bits."""
    return {"transitions.on_ack": lambda state, ack, pick: ON_ACK(state, replace(ack, target_tx=ack.target_tx % 2**bits), pick)}


class MatchesByTheLowest32Bits(Wrong):
    """Compares the tx of acks by 32 bits. [SA-42]"""

    caught_by: ClassVar = ("ack-with-a-tx-that-differs-in-its-high-bits", "relay-reports-no-ack-with-a-high-bit-more")
    instead: ClassVar = cut(32)


class MatchesByTheLowest31Bits(Wrong):
    """Compares the tx of acks by 31 bits. [SA-42]"""

    caught_by: ClassVar = ("ack-with-a-tx-that-differs-in-its-high-bits", "relay-reports-no-ack-with-a-high-bit-more")
    instead: ClassVar = cut(31)


class MatchesByTheLowest16Bits(Wrong):
    """Compares the tx of acks by 16 bits. [SA-42]"""

    caught_by: ClassVar = ("ack-with-a-tx-that-differs-in-its-high-bits", "relay-reports-no-ack-with-a-high-bit-more")
    instead: ClassVar = cut(16)


class OneAckForgetsAllPings(Wrong):
    """Forgets with an ack the newer pings to its sender too. [SA-52]"""

    caught_by: ClassVar = ("ack-leaves-the-newer-pings",)
    instead: ClassVar = acked(
        lambda state, after, ack: changed(after, ack.sender, unanswered=()) if is_answer(state, ack) else after
    )


def _misses_until_the_close(state: State, after: State, ack: Ack) -> State:
    before = state.rows.get(ack.sender)
    if before is None or ack.sender in state.pinged:
        return after
    return changed(after, ack.sender, misses=before.misses)


class EarlierAnswersLeaveMisses(Wrong):
    """Sets misses to 0 by answers of nodes that it has pinged in this round already. [SA-02]"""

    caught_by: ClassVar = ("ack-of-an-earlier-round-sets-misses-to-0",)
    instead: ClassVar = acked(_misses_until_the_close)


def _forgotten_answers(state: State, pick: Pick) -> Step[State, Any]:
    after, sends = ON_QUANTUM(state, pick)
    return Step(replace(after, answered=frozenset()), sends)


class AnswersOfOneQuantum(Wrong):
    """Forgets with each quantum of a round which nodes have answered. [SA-02]"""

    caught_by: ClassVar = ("answer-counts-in-all-quanta-of-its-round",)
    instead: ClassVar = {"transitions.on_quantum": _forgotten_answers}


def heard(by: Callable[[State, Ack], bool]) -> dict[str, Any]:
    """What is replaced to have more acks show that others are there."""
    return acked(lambda state, after, ack: replace(after, heard=True) if by(state, ack) else after)


class ThePastIsHeard(Wrong):
    """Takes an ack of the past for a sign that it is not isolated. [SA-07]"""

    caught_by: ClassVar = ("isolation-whatever-comes-and-is-not-accepted",)
    instead: ClassVar = heard(lambda state, ack: ack.target == state.uuid and ack.sender in state.rows)


class StrangersAreHeard(Wrong):
    """Takes an ack of an unknown node for a sign that it is not isolated. [SA-07, SA-21]"""

    caught_by: ClassVar = ("isolation-whatever-comes-and-is-not-accepted",)
    instead: ClassVar = heard(lambda state, ack: ack.target == state.uuid and not IS_PAST(state, ack))


class AnswersToOthersAreHeard(Wrong):
    """Takes an ack for another node for a sign that it is not isolated. [SA-07, SA-22]"""

    caught_by: ClassVar = ("isolation-whatever-comes-and-is-not-accepted",)
    instead: ClassVar = heard(lambda state, ack: ack.sender in state.rows and not IS_PAST(state, ack))


class TheGoneAreNotHeard(Wrong):
    """Takes acks of live nodes only for a sign that it is not isolated. [SA-07]"""

    caught_by: ClassVar = ("ack-of-one-who-has-left-shows-that-others-are-there",)
    instead: ClassVar = acked(
        lambda state, after, ack: (
            replace(after, heard=state.heard) if ack.sender in state.rows and not state.rows[ack.sender].is_live else after
        )
    )


def pinged_by(change: Callable[[State, State, Ping], State]) -> dict[str, Any]:
    """What is replaced to have another state after a ping, from that before it and that which is right."""

    def on_ping(state: State, sender: NodeId, ping: Ping, pick: Pick) -> Step[State, Any]:
        after, sends = ON_PING(state, sender, ping, pick)
        return Step(change(state, after, ping), sends)

    return {"transitions.on_ping": on_ping}


class PingsAreHeard(Wrong):
    """Takes a ping for a sign that it is not isolated. [SA-07]"""

    caught_by: ClassVar = ("isolation-whoever-pings",)
    instead: ClassVar = pinged_by(lambda _, after, ping: replace(after, heard=True) if ping.sender in after.rows else after)


class StrangersEndIsolation(Wrong):
    """Lets the ping of an unknown node end the isolation. [SA-07, SA-21]"""

    caught_by: ClassVar = ("isolation-goes-on-for-strangers",)
    instead: ClassVar = pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=False) if ping.target == state.uuid and ping.sender not in state.rows else after
        )
    )


class AcksOfStrangersEndIsolation(Wrong):
    """Lets the ack of an unknown node end the isolation. [SA-07, SA-21]"""

    caught_by: ClassVar = ("isolation-goes-on-for-strangers",)
    instead: ClassVar = acked(
        lambda state, after, ack: (
            replace(after, isolated=False) if ack.target == state.uuid and ack.sender not in state.rows else after
        )
    )


class PingsToOthersEndIsolation(Wrong):
    """Lets a ping for another node end the isolation. [SA-07, SA-22]"""

    caught_by: ClassVar = ("isolation-goes-on-for-strangers",)
    instead: ClassVar = pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=False) if ping.target != state.uuid and ping.sender in state.rows else after
        )
    )


class JoinersDoNotEndIsolation(Wrong):
    """Goes on as isolated when a node joins that it did not know. [SA-07]"""

    caught_by: ClassVar = ("isolation-ends-with-a-joiner",)
    instead: ClassVar = pinged_by(
        lambda state, after, ping: after if ping.sender in state.rows else replace(after, isolated=state.isolated)
    )


class TheGoneDoNotEndIsolation(Wrong):
    """Goes on as isolated when a node is heard that has left. [SA-07]"""

    caught_by: ClassVar = ("isolation-ends-with-one-who-has-left",)
    instead: ClassVar = pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=state.isolated)
            if ping.sender in after.rows and not after.rows[ping.sender].is_live
            else after
        )
    )


def is_silent(state: State) -> bool:
    """Whether the round that closes shows that the node is isolated."""
    return len(state.pinged) > 1 and not state.heard


def _burying(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    if not is_silent(state):
        return after, sends
    settled = replace(after, pinged=frozenset())
    for node, row in after.rows.items():
        settled = SETTLED(settled, node, row)
    return replace(settled, pinged=after.pinged), sends


class BuriesInIsolation(Wrong):
    """Settles the indirect pings that are under way when it finds itself isolated. [S-08, SA-07]"""

    caught_by: ClassVar = ("isolation-buries-no-suspicious-node",)
    instead: ClassVar = {"rounds.close_round": _burying}


class IsolationLastsUntilItEnds(Wrong):
    """Settles no round as long as it is isolated, also if it has pinged one node only. [SA-07]"""

    caught_by: ClassVar = ("isolation-is-one-of-each-round",)
    instead: ClassVar = {"rounds.close_round": lambda state, pick: (state, ()) if state.isolated else CLOSED(state, pick)}


class IsolationOfTheLive(Wrong):
    """Counts of the nodes that were pinged those that are still live. [SA-07]"""

    caught_by: ClassVar = ("isolation-counts-who-has-left-since",)
    instead: ClassVar = {
        "rounds.close_round": lambda state, pick: CLOSED(replace(state, pinged=state.pinged & set(state.live)), pick)
    }


class IsolationOfNewcomers(Wrong):
    """Counts the nodes that are live, not those that were pinged. [SA-07]"""

    caught_by: ClassVar = ("isolation-counts-who-was-pinged",)
    instead: ClassVar = {
        "rounds.close_round": lambda state, pick: (
            (replace(state, isolated=True), ())
            if state.pinged and not state.heard and len(state.live) > 1
            else CLOSED(state, pick)
        )
    }


def _relays_stay(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    return (replace(after, relays=state.relays), sends) if is_silent(state) else (after, sends)


class RelaysStayInIsolation(Wrong):
    """Remembers requests over any number of closes in isolation. [SA-55]"""

    caught_by: ClassVar = ("relay-forgets-in-isolation",)
    instead: ClassVar = {"rounds.close_round": _relays_stay}


def asking(is_relay: Callable[[Row], bool]) -> dict[str, Any]:
    """What is replaced to ask others than those who should be asked."""

    def indirect_pings(state: State, pick: Pick) -> tuple[State, Sends]:
        sends: Sends = ()
        for node, row in state.rows.items():
            relays = [other for other, relay in state.rows.items() if is_relay(relay)]
            if row.status is not Status.SUSPICIOUS or not relays:
                continue
            (relay,) = pick("indirect.relay", relays)
            state = changed(state, node, indirect_asked=True)
            state, sent = REQUEST(state, Uuid(str(relay)), pick, (IndirectPing(node, row.host, row.port),))
            sends += sent
        return state, sends

    return {"detector._indirect_pings": indirect_pings}


class AsksTheNormalOnly(Wrong):
    """Asks no node that is joining to ping another. [SA-03, SA-27]"""

    caught_by: ClassVar = ("relay-that-is-joining",)
    instead: ClassVar = asking(lambda row: row.status is Status.NORMAL)


class AsksThoseThatKnowIt(Wrong):
    """Asks no node to ping another that it has still to introduce itself to. [SA-03, SA-57]"""

    caught_by: ClassVar = ("relay-that-does-not-know-the-node-yet",)
    instead: ClassVar = asking(lambda row: row.is_live and row.status is not Status.SUSPICIOUS and row.exchange is Exchange.DONE)


def _unremembered(
    state: State, node: Uuid, pick: Pick, purpose: tuple[Any, ...] = (), where: NodeId | None = None
) -> tuple[State, Sends]:
    after, sends = REQUEST(state, node, pick, purpose, where)
    return changed(after, node, unanswered=state.rows[node].unanswered), sends


class RequestsAreNoPings(Wrong):
    """Takes the ack of a request to ping another for no answer. [SA-02, SA-42]"""

    caught_by: ClassVar = ("ack-of-the-request-to-a-relay",)
    instead: ClassVar = {"detector.request": _unremembered}


def _misses_kept(state: State, node: Uuid, incarnation: Incarnation) -> State:
    after = INDIRECT(state, node, incarnation)
    if node not in state.rows or after.rows[node].incarnation > state.rows[node].incarnation:
        return after
    return changed(after, node, indirect_misses=state.rows[node].indirect_misses)


class IndirectAcksLeaveMisses(Wrong):
    """Counts on after an indirect ack with the incarnation known. [SA-03]"""

    caught_by: ClassVar = ("indirect-ack-leaves-nothing-missed",)
    instead: ClassVar = {"transitions.indirect_answer": _misses_kept}


def believing(is_believed: Callable[[Row], bool]) -> dict[str, Any]:
    """What is replaced to believe fewer indirect acks."""
    return {
        "transitions.indirect_answer": lambda state, node, incarnation: (
            INDIRECT(state, node, incarnation) if node in state.rows and is_believed(state.rows[node]) else state
        )
    }


class IndirectAcksOfTheSuspicious(Wrong):
    """Ignores an indirect ack about a node that is not suspicious. [SA-04]"""

    caught_by: ClassVar = ("indirect-ack-that-was-not-asked-for", "indirect-ack-brings-the-dead-back")
    instead: ClassVar = believing(lambda row: row.status is Status.SUSPICIOUS)


class IndirectAcksAskedFor(Wrong):
    """Ignores an indirect ack that it has not asked for. [SA-04]"""

    caught_by: ClassVar = ("indirect-ack-that-was-not-asked-for", "indirect-ack-brings-the-dead-back")
    instead: ClassVar = believing(lambda row: row.indirect_asked)


class IndirectAcksOfTheLive(Wrong):
    """Ignores an indirect ack about a dead node. [SA-04, SA-15]"""

    caught_by: ClassVar = ("indirect-ack-brings-the-dead-back",)
    instead: ClassVar = believing(lambda row: row.status is not Status.DEAD)


def merged(change: Callable[[Row, Claim, Row], Row]) -> dict[str, Any]:
    """What is replaced for another row after a claim, from that before, the claim, and the row that is right."""

    def merge(row: Row, claim: Claim) -> Row:
        right = MERGED(row, claim)
        return row if right is row else change(row, claim, right)

    return {"gossip.merge": merge}


class TheDeadKeepTheirMisses(Wrong):
    """Holds against a dead node that comes back what it missed before. [SA-02]"""

    caught_by: ClassVar = ("dead-node-comes-back-without-misses",)
    instead: ClassVar = merged(lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.DEAD else right)


class LeaversKeepTheirMisses(Wrong):
    """Holds against a node that had left and restarts what it missed before. [SA-02]"""

    caught_by: ClassVar = ("leaver-that-restarts-has-missed-nothing",)
    instead: ClassVar = merged(lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.LEAVE else right)


class JoinersKeepTheirMisses(Wrong):
    """Holds against a suspicious node that joins again what it missed before. [SA-02]"""

    caught_by: ClassVar = ("suspicious-node-joins-again-without-misses",)
    instead: ClassVar = merged(
        lambda row, claim, right: replace(right, misses=row.misses) if claim.status is Status.JOINING else right
    )


class RestartsForgive(Wrong):
    """Forgets misses with news of a restart. [SA-02]"""

    caught_by: ClassVar = ("restart-heard-of-from-others-is-no-answer",)
    instead: ClassVar = merged(
        lambda row, claim, right: replace(right, misses=0) if claim.incarnation.restart > row.incarnation.restart else right
    )


class ChangesForgive(Wrong):
    """Forgets misses with any change of status. [SA-02]"""

    caught_by: ClassVar = (
        "joining-heard-of-from-others-is-no-answer",
        "joining-node-that-becomes-normal-has-missed-what-it-has",
    )
    instead: ClassVar = merged(lambda row, _, right: right if right.status is row.status else replace(right, misses=0))


class RestartsForgetPings(Wrong):
    """Forgets the pings to a node that restarts. [SA-42]"""

    caught_by: ClassVar = ("ack-after-a-restart-of-its-sender",)
    instead: ClassVar = merged(
        lambda row, claim, right: replace(right, unanswered=()) if claim.incarnation.restart > row.incarnation.restart else right
    )


class DeathForgetsPings(Wrong):
    """Forgets the pings to a node that is not live any more. [SA-42, SA-52]"""

    caught_by: ClassVar = ("ack-of-a-dead-node-is-an-answer",)
    instead: ClassVar = merged(lambda _, __, right: right if right.is_live else replace(right, unanswered=()))


class RefutationLeavesMisses(Wrong):
    """Counts indirect misses on after a suspicion was refuted. [SA-03]"""

    caught_by: ClassVar = (
        "suspicion-after-a-refutation-begins-anew",
        "suspicion-after-anti-entropy-begins-anew",
        "suspicion-after-a-death-begins-anew",
    )
    instead: ClassVar = merged(
        lambda row, _, right: replace(right, indirect_misses=row.indirect_misses) if right.status is Status.NORMAL else right
    )


class ReturnLeavesMisses(Wrong):
    """Counts indirect misses on after a node was dead. [SA-03, SA-15]"""

    caught_by: ClassVar = ("suspicion-after-a-death-begins-anew",)
    instead: ClassVar = merged(
        lambda row, _, right: replace(right, indirect_misses=row.indirect_misses) if row.status is Status.DEAD else right
    )


def _members_leave_misses(state: State, claim: Claim) -> State:
    row = state.rows.get(claim.node)
    after = WITH_MEMBER(state, claim)
    return after if row is None else changed(after, claim.node, indirect_misses=row.indirect_misses)


class AntiEntropyLeavesMisses(Wrong):
    """Counts indirect misses on after a newer incarnation in anti-entropy. [SA-03, SA-29]"""

    caught_by: ClassVar = ("suspicion-after-anti-entropy-begins-anew",)
    instead: ClassVar = {"transitions.with_member": _members_leave_misses}


class JoinersAreNotSuspected(Wrong):
    """Suspects no node that is joining. [SA-02]"""

    caught_by: ClassVar = ("joining-node-is-suspected", "joining-heard-of-from-others-is-no-answer")
    instead: ClassVar = {
        "detector.settle_row": lambda state, node, row: state if row.status is Status.JOINING else SETTLED(state, node, row)
    }


def _past_is_passed_on(state: State, ack: Ack, pick: Pick) -> Any:
    if ack.target == state.uuid and IS_PAST(state, ack):
        after, waiting_for_it = TAKEN(state, ack)
        return Step(*FORWARD(after, ack, waiting_for_it, pick))
    return ON_ACK(state, ack, pick)


class PassesOnThePast(Wrong):
    """Reports an ack of the past. [S-41, SA-55]"""

    caught_by: ClassVar = ("relay-passes-on-no-ack-of-the-past",)
    instead: ClassVar = {"transitions.on_ack": _past_is_passed_on}


class ThePastUsesRequestsUp(Wrong):
    """Forgets a request with an ack of the past. [S-41, SA-55]"""

    caught_by: ClassVar = ("relay-passes-on-no-ack-of-the-past",)
    instead: ClassVar = {
        "transitions.on_ack": lambda state, ack, pick: (
            Step(TAKEN(state, ack)[0]) if ack.target == state.uuid and IS_PAST(state, ack) else ON_ACK(state, ack, pick)
        )
    }


class ReportsByTheLowestBits(Wrong):
    """Compares the tx of an ack with that of the ping for another by 32 bits. [SA-55]"""

    caught_by: ClassVar = ("relay-reports-no-ack-with-a-high-bit-more",)
    instead: ClassVar = {
        "transitions.take_relays": lambda state, ack: TAKEN(state, replace(ack, target_tx=ack.target_tx % 2**32))
    }


class RelaysForTheLiveOnly(Wrong):
    """Pings on behalf of live nodes only. [SA-55]"""

    caught_by: ClassVar = ("relay-for-one-who-has-left",)
    instead: ClassVar = {
        "transitions.request_relays": lambda state, ping, pick: (
            RELAYED(state, ping, pick) if ping.sender in state.live else (state, ())
        )
    }


class ReportsToWhereItWasAsked(Wrong):
    """Reports to where the request came from. [SA-51, SA-55]"""

    caught_by: ClassVar = ("relay-reports-to-the-address-in-the-row",)

    def __init__(self) -> None:
        super().__init__()
        self.came_from: dict[tuple[Uuid, Uuid], NodeId] = {}

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes where a report goes."""
        message = event.message if isinstance(event, Received) else None
        if isinstance(message, Ping):
            self.came_from[state.uuid, message.sender] = event.sender
        step = super().step(state, event, pick)
        if not isinstance(message, Ack):
            return step
        effects = (
            replace(effect, to=self.came_from.get((state.uuid, effect.message.target), effect.to))
            if isinstance(effect, Send)
            else effect
            for effect in step.effects
        )
        return step._replace(effects=tuple(effects))


def _older_with_each_quantum(state: State, pick: Pick) -> Step[State, Any]:
    after, sends = ON_QUANTUM(state, pick)
    if rounds.still_live(state):
        after = replace(after, relays=tuple(relay._replace(fresh=False) for relay in state.relays if relay.fresh))
    return Step(after, sends)


class RemembersOverOneQuantum(Wrong):
    """Remembers a request over one quantum, not over one close. [SA-55]"""

    caught_by: ClassVar = ("relay-remembers-over-the-quanta-of-a-round",)
    instead: ClassVar = {"transitions.on_quantum": _older_with_each_quantum}


def counting(count: Callable[[State, State], int]) -> dict[str, Any]:
    """What is replaced to ping another number of nodes, from the state before and after the close, with its vector."""

    def on_quantum(state: State, pick: Pick) -> Step[State, Any]:
        before, sends = state, tuple[Any, ...]()
        vector = rounds.still_live(state)
        if not vector:
            state, sends = CLOSED(state, pick)
            vector = pick("round.order", state.live, len(state.live)) if state.live else ()
            state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
        state = replace(state, vector=vector)
        number = count(before, state)
        state = replace(state, vector=vector[number:], pinged=state.pinged | set(vector[:number]))
        for node in vector[:number]:
            state, sent = REQUEST(state, node, pick)
            sends += sent
        return Step(state, sends)

    return {"transitions.on_quantum": on_quantum}


class FanoutBeforeTheClose(Wrong):
    """Counts the active nodes before the round is closed. [SA-24, SA-53]"""

    caught_by: ClassVar = ("fanout-after-a-death-at-the-close",)
    instead: ClassVar = counting(lambda before, _: FANOUT(active_size(before)))


class FanoutOfTheVector(Wrong):
    """Takes the logarithm of the number of nodes that are left in the vector. [SA-24]"""

    caught_by: ClassVar = ("six-others-are-pinged-in-two-quanta",)
    instead: ClassVar = counting(lambda _, after: FANOUT(1 + len(after.vector)))


class FanoutOfAllRows(Wrong):
    """Counts nodes that are gone among the active ones when it pings. [SA-24, SA-27]"""

    caught_by: ClassVar = ("fanout-without-those-who-have-left",)
    instead: ClassVar = counting(lambda _, after: FANOUT(1 + len(after.rows)))


def refuting(is_above: Callable[[Incarnation, Incarnation], bool]) -> dict[str, Any]:
    """What is replaced to refute what is above by another order."""

    def refute(state: State, teller: Uuid, said: Any) -> State:
        told = said.incarnation if isinstance(said, (Suspicious, Dead)) else None
        if told is None or told.restart == COUNTER_MAX or not is_above(told, state.incarnation):
            return state
        return REFUTED(replace(state, incarnation=Incarnation(0, 0)), teller, Dead(said.node, told))

    return {"transitions.refute": refute}


class RefutesPartByPart(Wrong):
    """Refutes what is above its own incarnation in both parts. [SA-10, SA-17]"""

    caught_by: ClassVar = ("told-dead-at-a-larger-restart-counter-and-a-smaller-tx",)
    instead: ClassVar = refuting(lambda told, own: told != own and told.restart >= own.restart and told.tx >= own.tx)


class RefutesByDoubles(Wrong):
    """Compares what it is told with its own incarnation as floating-point numbers. [SA-17, SA-47]"""

    caught_by: ClassVar = ("told-dead-at-restart-counters-around-31-and-32-bits",)
    instead: ClassVar = refuting(lambda told, own: tuple(map(float, told)) > tuple(map(float, own)))


class RefutesBy32Bits(Wrong):
    """Compares what it is told with its own incarnation by 32 bits. [SA-17, SA-47]"""

    caught_by: ClassVar = ("told-dead-at-restart-counters-around-31-and-32-bits",)
    instead: ClassVar = refuting(lambda told, own: tuple(part % 2**32 for part in told) > tuple(part % 2**32 for part in own))


def forgetting(**values: Any) -> dict[str, Any]:
    """What is replaced to begin a new life with less."""

    def refute(state: State, teller: Uuid, said: Any) -> State:
        after = REFUTED(state, teller, said)
        return state if after is state else replace(after, **values)

    return {"transitions.refute": refute}


class NewLifeWithoutQueue(Wrong):
    """Empties its queue when it begins a new life. [SA-17, SA-25]"""

    caught_by: ClassVar = ("told-dead-keeps-the-queue",)
    instead: ClassVar = forgetting(queue=())


class NewLifeWithoutPayload(Wrong):
    """Loses its payload when it begins a new life. [SA-17, SA-33]"""

    caught_by: ClassVar = ("told-dead-keeps-the-payload",)
    instead: ClassVar = forgetting(payload="{}")


class NewLifeWithoutProbes(Wrong):
    """Forgets its probes when it begins a new life. [SA-17, SA-60]"""

    caught_by: ClassVar = ("told-dead-keeps-the-probes",)
    instead: ClassVar = forgetting(probes=Table())


def _joiners_are_not_live(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    row = state.rows.get(teller)
    if after is state or row is None or row.status is not Status.JOINING:
        return after
    rows = {node: replace(after.rows[node], exchange=Exchange.FIRST) for node in after.live}
    return replace(after, rows=after.rows.put(rows))


class AsksAllIfAJoinerTold(Wrong):
    """Introduces itself to all nodes again if one that is joining told it of its death. [SA-17, SA-27]"""

    caught_by: ClassVar = ("told-dead-by-one-that-is-joining",)
    instead: ClassVar = {"transitions.refute": _joiners_are_not_live}


def _own_entry_is_skipped(state: State, message: Any) -> State:
    vectors = tuple(
        replace(vector, members=tuple(member for member in vector.members if member.uuid != message.sender))
        if isinstance(vector, AntiEntropy)
        else vector
        for vector in message.vectors
    )
    return APPLIED(state, replace(message, vectors=vectors))


class EntriesAboutTheSender(Wrong):
    """Ignores an entry of anti-entropy about its sender. [SA-29]"""

    caught_by: ClassVar = ("anti-entropy-about-its-sender",)
    instead: ClassVar = {"transitions.apply_message": _own_entry_is_skipped}


def _news_introduces(state: State, claim: Claim) -> State:
    after = WITH_MEMBER(state, claim)
    return changed(after, claim.node, exchange=Exchange.DONE) if claim.node in state.rows and after is not state else after


class AntiEntropyIntroduces(Wrong):
    """Takes itself for introduced to a node that others tell of. [SA-57]"""

    caught_by: ClassVar = ("introduction-goes-on-after-anti-entropy",)
    instead: ClassVar = {"transitions.with_member": _news_introduces}


class DeathIntroduces(Wrong):
    """Takes itself for introduced to a node that was dead. [SA-57]"""

    caught_by: ClassVar = ("introduction-goes-on-after-a-death",)
    instead: ClassVar = merged(
        lambda _, __, right: replace(right, exchange=Exchange.DONE) if right.status is Status.DEAD else right
    )


def _introduced_by_a_ping(_: State, after: State, ping: Ping) -> State:
    if ping.target != after.uuid or ping.sender not in after.rows:
        return after
    return INTRODUCED(after, Ack(ping.sender, ping.incarnation, ping.target, 0, ping.vectors))


class PingsIntroduce(Wrong):
    """Takes a ping for the answer to its introduction. [SA-57]"""

    caught_by: ClassVar = ("introduction-is-not-moved-by-a-ping",)
    instead: ClassVar = pinged_by(_introduced_by_a_ping)


def _introduced_by_a_match(state: State, after: State, ack: Ack) -> State:
    if ack.sender not in state.rows or is_answer(state, ack):
        return after
    return changed(after, ack.sender, exchange=state.rows[ack.sender].exchange)


class AnswersIntroduce(Wrong):
    """Takes an ack that matches no ping for no answer to its introduction. [SA-57]"""

    caught_by: ClassVar = ("introduction-is-moved-by-any-accepted-ack",)
    instead: ClassVar = acked(_introduced_by_a_match)


class OneAckIntroduces(Wrong):
    """Ends its introduction with one ack that holds both answers. [SA-57]"""

    caught_by: ClassVar = ("introduction-takes-two-acks",)
    instead: ClassVar = {"transitions.advance_introduction": lambda state, ack: INTRODUCED(INTRODUCED(state, ack), ack)}


class AcksOfJoiners(Wrong):
    """Makes a row of an unknown node whose ack says that it is joining. [SA-21]"""

    caught_by: ClassVar = ("ack-of-an-unknown-sender-with-a-joining",)
    instead: ClassVar = {
        "transitions.on_ack": lambda state, ack, pick: (
            Step(APPLIED(state, ack)) if ack.sender not in state.rows else ON_ACK(state, ack, pick)
        )
    }


class NoPayloadsOfTheGone(Wrong):
    """Keeps no payload of a node that has left. [S-34]"""

    caught_by: ClassVar = ("payload-of-one-who-has-left",)
    instead: ClassVar = pinged_by(
        lambda state, after, ping: (
            changed(after, ping.sender, payload=state.rows[ping.sender].payload)
            if ping.sender in state.rows and not after.rows[ping.sender].is_live
            else after
        )
    )


class EmptyPayloadsAreNone(Wrong):
    """Ignores an empty payload. [S-34, SA-56]"""

    caught_by: ClassVar = ("payload-that-is-empty-replaces",)
    instead: ClassVar = {
        "transitions.apply_message": lambda state, message: APPLIED(
            state, replace(message, vectors=tuple(v for v in message.vectors if v != Payload("{}")))
        )
    }
