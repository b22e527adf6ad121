"""Mistakes with answers of another time or another node, in isolation, in new lives, with commands, and with large numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, after, around, forbidding, with_effects, with_values, without_effects

from peerproof.reference.divergences.swim import CLOSED, FANOUT, IS_PAST, SETTLED
from peerproof.spec.core import Expired, NodeId, Notify, Pick, Received, Send, Step, Table
from peerproof.spec.swim import gossip, rounds, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    AntiEntropy,
    ClusterEvent,
    Dead,
    EventType,
    Incarnation,
    IndirectPing,
    NodeEvent,
    Payload,
    Ping,
    Probe,
    RemoveNode,
    Suspicious,
    Uuid,
)
from peerproof.spec.swim.state import Exchange, Row, State, Status, active_size, address
from peerproof.spec.swim.table import Claim
from peerproof.spec.swim.transitions import Sends

wrong = Variants(__name__, Wrong)
APPLIED = transitions.apply_message
FORWARD = transitions.forward_ack
INTRODUCED = transitions.advance_introduction
REQUEST = gossip.request
TAKEN = transitions.take_relays
#: The payloads of those who were removed, by the names of both nodes.
_PAYLOADS: Final[dict[tuple[Uuid, Uuid], str | None]] = {}


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
    return after("transitions.on_ack", lambda step, state, ack, *_: Step(change(state, step.state, ack), step.effects))


@wrong("transitions.on_ack", "ack-with-the-tx-of-a-ping-to-another")
def MatchesByTxAlone(right: Any, state: State, ack: Ack, pick: Pick) -> Any:
    """Matches an ack by its tx, whichever node was pinged with it. [SA-42]"""
    if is_accepted(state, ack) and any(ack.target_tx in row.unanswered for row in state.rows.values()):
        pings = {*state.rows[ack.sender].unanswered, ack.target_tx}
        state = changed(state, ack.sender, unanswered=tuple(sorted(pings)))
    return right(state, ack, pick)


def cut(bits: int) -> dict[str, Any]:
    """What is replaced to compare the tx of an ack by its lowest bits."""
    return around(
        "transitions.on_ack", lambda right, state, ack, pick: right(state, replace(ack, target_tx=ack.target_tx % 2**bits), pick)
    )


@wrong(acked, "ack-of-an-earlier-round-sets-misses-to-0")
def EarlierAnswersLeaveMisses(state: State, after: State, ack: Ack) -> State:
    """Sets misses to 0 by answers of nodes that it has pinged in this round already. [SA-02]"""
    before = state.rows.get(ack.sender)
    if before is None or ack.sender in state.pinged:
        return after
    return changed(after, ack.sender, misses=before.misses)


def heard(by: Callable[[State, Ack], bool]) -> dict[str, Any]:
    """What is replaced to have more acks show that others are there."""
    return acked(lambda state, after, ack: replace(after, heard=True) if by(state, ack) else after)


def pinged_by(change: Callable[[State, State, Ping], State]) -> dict[str, Any]:
    """What is replaced to have another state after a ping, from that before it and that which is right."""
    return after("transitions.on_ping", lambda step, state, sender, ping, *_: Step(change(state, step.state, ping), step.effects))


def is_silent(state: State) -> bool:
    """Whether the round that closes shows that the node is isolated."""
    return len(state.pinged) > 1 and not state.heard


@wrong("rounds.close_round", "isolation-buries-no-suspicious-node")
def BuriesInIsolation(right: Any, state: State, pick: Pick) -> Any:
    """Settles the indirect pings that are under way when it finds itself isolated. [S-08, SA-07]"""
    after, sends = right(state, pick)
    if not is_silent(state):
        return after, sends
    settled = replace(after, pinged=frozenset())
    for node, row in after.rows.items():
        settled = SETTLED(settled, node, row)
    return replace(settled, pinged=after.pinged), sends


@wrong("rounds.close_round", "relay-forgets-in-isolation")
def RelaysStayInIsolation(right: Any, state: State, pick: Pick) -> Any:
    """Remembers requests over any number of closes in isolation. [SA-55]"""
    after, sends = right(state, pick)
    return (replace(after, relays=state.relays), sends) if is_silent(state) else (after, sends)


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


@wrong("detector.request", "ack-of-the-request-to-a-relay")
def RequestsAreNoPings(
    right: Any, state: State, node: Uuid, pick: Pick, purpose: tuple[Any, ...] = (), where: NodeId | None = None
) -> Any:
    """Takes the ack of a request to ping another for no answer. [SA-02, SA-42]"""
    after, sends = right(state, node, pick, purpose, where)
    return changed(after, node, unanswered=state.rows[node].unanswered), sends


@wrong.after("transitions.indirect_answer", "indirect-ack-leaves-nothing-missed")
def IndirectAcksLeaveMisses(after: Any, state: State, node: Uuid, incarnation: Incarnation) -> Any:
    """Counts on after an indirect ack with the incarnation known. [SA-03]"""
    if node not in state.rows or after.rows[node].incarnation > state.rows[node].incarnation:
        return after
    return changed(after, node, indirect_misses=state.rows[node].indirect_misses)


def believing(is_believed: Callable[[Row], bool]) -> dict[str, Any]:
    """What is replaced to believe fewer indirect acks."""
    return around(
        "transitions.indirect_answer",
        lambda right, state, node, incarnation: (
            right(state, node, incarnation) if node in state.rows and is_believed(state.rows[node]) else state
        ),
    )


def merged(change: Callable[[Row, Claim, Row], Row]) -> dict[str, Any]:
    """What is replaced for another row after a claim, from that before, the claim, and the row that is right."""
    return after("gossip.merge", lambda after, row, claim: row if after is row else change(row, claim, after))


@wrong("transitions.with_member", "suspicion-after-anti-entropy-begins-anew")
def AntiEntropyLeavesMisses(right: Any, state: State, claim: Claim) -> Any:
    """Counts indirect misses on after a newer incarnation in anti-entropy. [SA-03, SA-29]"""
    row = state.rows.get(claim.node)
    after = right(state, claim)
    return after if row is None else changed(after, claim.node, indirect_misses=row.indirect_misses)


@wrong("transitions.on_ack", "relay-passes-on-no-ack-of-the-past")
def PassesOnThePast(right: Any, state: State, ack: Ack, pick: Pick) -> Any:
    """Reports an ack of the past. [S-41, SA-55]"""
    if ack.target == state.uuid and IS_PAST(state, ack):
        after, waiting_for_it = TAKEN(state, ack)
        return Step(*FORWARD(after, ack, waiting_for_it, pick))
    return right(state, ack, pick)


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


@wrong("transitions.on_quantum", "relay-remembers-over-the-quanta-of-a-round")
def RemembersOverOneQuantum(right: Any, state: State, pick: Pick) -> Any:
    """Remembers a request over one quantum, not over one close. [SA-55]"""
    after, sends = right(state, pick)
    if rounds.still_live(state):
        after = replace(after, relays=tuple(relay._replace(fresh=False) for relay in state.relays if relay.fresh))
    return Step(after, sends)


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


def refuting(is_above: Callable[[Incarnation, Incarnation], bool]) -> dict[str, Any]:
    """What is replaced to refute what is above by another order."""

    def refute(right: Any, state: State, teller: Uuid, said: Any) -> Any:
        told = said.incarnation if isinstance(said, (Suspicious, Dead)) else None
        if told is None or told.restart == COUNTER_MAX or not is_above(told, state.incarnation):
            return state
        return right(replace(state, incarnation=Incarnation(0, 0)), teller, Dead(said.node, told))

    return around("transitions.refute", refute)


def forgetting(**values: Any) -> dict[str, Any]:
    """What is replaced to begin a new life with less."""
    return after("transitions.refute", lambda after, state, *_: state if after is state else replace(after, **values))


@wrong.after("transitions.refute", "told-dead-by-one-that-is-joining")
def AsksAllIfAJoinerTold(after: Any, state: State, teller: Uuid, said: Any) -> Any:
    """Introduces itself to all nodes again if one that is joining told it of its death. [SA-17, SA-27]"""
    row = state.rows.get(teller)
    if after is state or row is None or row.status is not Status.JOINING:
        return after
    rows = {node: replace(after.rows[node], exchange=Exchange.FIRST) for node in after.live}
    return replace(after, rows=after.rows.put(rows))


@wrong("transitions.apply_message", "anti-entropy-about-its-sender")
def EntriesAboutTheSender(right: Any, state: State, message: Any) -> Any:
    """Ignores an entry of anti-entropy about its sender. [SA-29]"""
    vectors = tuple(
        replace(vector, members=tuple(member for member in vector.members if member.uuid != message.sender))
        if isinstance(vector, AntiEntropy)
        else vector
        for vector in message.vectors
    )
    return right(state, replace(message, vectors=vectors))


@wrong.after("transitions.with_member", "introduction-goes-on-after-anti-entropy")
def AntiEntropyIntroduces(after: Any, state: State, claim: Claim) -> Any:
    """Takes itself for introduced to a node that others tell of. [SA-57]"""
    return changed(after, claim.node, exchange=Exchange.DONE) if claim.node in state.rows and after is not state else after


@wrong(pinged_by, "introduction-is-not-moved-by-a-ping")
def PingsIntroduce(_: State, after: State, ping: Ping) -> State:
    """Takes a ping for the answer to its introduction. [SA-57]"""
    if ping.target != after.uuid or ping.sender not in after.rows:
        return after
    return INTRODUCED(after, Ack(ping.sender, ping.incarnation, ping.target, 0, ping.vectors))


@wrong(acked, "introduction-is-moved-by-any-accepted-ack")
def AnswersIntroduce(state: State, after: State, ack: Ack) -> State:
    """Takes an ack that matches no ping for no answer to its introduction. [SA-57]"""
    if ack.sender not in state.rows or is_answer(state, ack):
        return after
    return changed(after, ack.sender, exchange=state.rows[ack.sender].exchange)


def adding(change: Callable[[State, State, AddNode], State]) -> dict[str, Any]:
    """What is replaced to have another state after add-node, from that before it and that which is right."""
    return around(
        "transitions.on_add_node", lambda right, state, command: Step(change(state, right(state, command).state, command))
    )


def _removed(right: Any, state: State, command: RemoveNode) -> Any:
    if command.uuid in state.rows:
        _PAYLOADS[state.uuid, command.uuid] = state.rows[command.uuid].payload
    return right(state, command)


def _back_with_its_payload(right: Any, state: State, message: Any) -> Any:
    after = right(state, message)
    if message.sender in state.rows or message.sender not in after.rows:
        return after
    return changed(after, message.sender, payload=_PAYLOADS.pop((state.uuid, message.sender), None))


@wrong.after("step", "leave-by-itself-is-no-change-of-a-row")
def TellsOfItself(after: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Tells its subscribers that it leaves itself. [SA-40]"""
    if state.left or not after.state.left or EventType.LEAVE not in state.cluster_subscriptions:
        return after
    return with_effects(after, Notify(ClusterEvent(state.uuid, EventType.LEAVE)))


@wrong("transitions.on_probe_ack", "probe-answered-in-another-name")
def ReachesWhomItKnows(right: Any, state: State, sender: NodeId, node: Uuid, tx: int) -> Any:
    """Names the node that it knows at the address of a probe, whichever answers. [SA-60]"""
    there = [known for known, row in state.rows.items() if address(row.host, row.port) == sender]
    return right(state, sender, there[0] if there else node, tx)


@wrong("step", "probe-is-answered-to-where-it-came-from")
def AnswersProbesToTheRow(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Answers a probe of a known node to the address in its row. [SA-41, SA-51]"""
    if isinstance(event, Received) and isinstance(event.message, Probe) and event.message.sender in state.rows:
        row = state.rows[event.message.sender]
        event = replace(event, sender=address(row.host, row.port))
    return right(state, event, pick)


@wrong.after("step", "isolation-goes-on-for-probes-of-strangers")
def ProbesOfStrangersEndIsolation(after: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Lets the probe of an unknown node end the isolation. [SA-07]"""
    if not (isinstance(event, Received) and isinstance(event.message, Probe) and event.message.sender not in state.rows):
        return after
    return with_values(after, isolated=False)


@wrong("transitions.on_ack", "relay-passes-on-no-ack-for-another")
def ReportsAcksForOthers(right: Any, state: State, ack: Ack, pick: Pick) -> Any:
    """Reports the ack of a node that was pinged for another, whichever node that ack is for. [SA-22, SA-55]"""
    if ack.target == state.uuid:
        return right(state, ack, pick)
    after, waiting_for_it = TAKEN(state, ack)
    return Step(*FORWARD(after, ack, waiting_for_it, pick))


@wrong("transitions.answer", "introduction-leaves-acks-as-they-are")
def AcksHoldNothingUntilIntroduced(right: Any, state: State, ping: Ping, to: NodeId, pick: Pick) -> Any:
    """Sends acks with nothing else to nodes that it has still to introduce itself to. [S-32, SA-57]"""
    row = state.rows.get(ping.sender)
    if row is None or row.exchange is Exchange.DONE:
        return right(state, ping, to, pick)
    after, message = gossip.datagram(state, (ping.sender, to), gossip.ack_of(state, ping), (), gossip.BARE, pick)
    return after, () if message is None else (Send(to, message),)


def reviving(change: Callable[[Row, Row, bool], Row]) -> dict[str, Any]:
    """What is replaced to have other rows in a new life, from the former one, the right one, and whether it is the teller's."""

    def refute(right: Any, state: State, teller: Uuid, said: Any) -> Any:
        after = right(state, teller, said)
        if after is state:
            return after
        rows = {node: change(state.rows[node], row, node == teller) for node, row in after.rows.items()}
        return replace(after, rows=after.rows.put(rows))

    return around("transitions.refute", refute)


def comparing(number: Callable[[int], Any]) -> dict[str, Any]:
    """What is replaced to compare incarnations by something else than their numbers."""

    def is_past(state: State, message: Any) -> bool:
        row = state.rows.get(message.sender)
        return row is not None and tuple(map(number, message.incarnation)) < tuple(map(number, row.incarnation))

    return {"transitions.is_past": is_past}


def _signed(bits: int) -> Callable[[int], int]:
    return lambda number: (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@wrong("transitions.with_member", "anti-entropy-that-is-newer-beyond-53-bits")
def AntiEntropyByDoubles(right: Any, state: State, claim: Claim) -> Any:
    """Compares an entry of anti-entropy with the row as doubles. [SA-10, SA-29]"""
    row = state.rows.get(claim.node)
    if row is not None and tuple(map(float, claim.incarnation)) <= tuple(map(float, row.incarnation)):
        return state
    return right(state, claim)


wrong |= {
    # Does not tell subscribers of one node what it finds out by itself. [S-56, SA-40]
    "TellsOfMessagesOnly: told-what-the-detector-finds": after(
        "step",
        lambda step, state, event, _: without_effects(
            step, lambda effect: isinstance(event, Expired) and isinstance(getattr(effect, "notice", None), NodeEvent)
        ),
    ),
    # Refuses to leave if it has left. [SA-37]
    "LeavesOnce: leave-by-itself-twice": forbidding("commands.with_left", lambda state, node: node == state.uuid and state.left),
    # Queues its leave once more when it is asked to leave once more. [SA-37]
    "LeavesAgain: leave-by-itself-once-more": around(
        "commands.with_left",
        lambda right, state, node: right(replace(state, left=state.left and node != state.uuid), node),
    ),
    # Forgets with each quantum of a round which nodes have answered. [SA-02]
    "AnswersOfOneQuantum: answer-counts-in-all-quanta-of-its-round": after(
        "transitions.on_quantum", lambda step, *_: with_values(step, answered=frozenset())
    ),
    # Sends no more than 1432 bytes, whatever it is configured with. [SA-32]
    "SendsUpTo1432: payload-in-a-datagram-of-3000-bytes": around(
        "initial", lambda right, self_id, config: right(self_id, replace(config, max_datagram=min(config.max_datagram, 1432)))
    ),
    # Takes an ack that came in a round before the round's ping for its answer. [SA-02]
    "AnswersBeforeThePing: ack-before-the-ping-is-no-answer": acked(
        lambda state, after, ack: replace(after, answered=after.answered | {ack.sender}) if is_answer(state, ack) else after
    ),
    # Compares the tx of acks by 32 bits. [SA-42]
    "MatchesByTheLowest32Bits: ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more": cut(32),
    # Compares the tx of acks by 31 bits. [SA-42]
    "MatchesByTheLowest31Bits: ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more": cut(31),
    # Compares the tx of acks by 16 bits. [SA-42]
    "MatchesByTheLowest16Bits: ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more": cut(16),
    # Forgets with an ack the newer pings to its sender too. [SA-52]
    "OneAckForgetsAllPings: ack-leaves-the-newer-pings": acked(
        lambda state, after, ack: changed(after, ack.sender, unanswered=()) if is_answer(state, ack) else after
    ),
    # Takes an ack of the past for a sign that it is not isolated. [SA-07]
    "ThePastIsHeard: isolation-whatever-comes-and-is-not-accepted": heard(
        lambda state, ack: ack.target == state.uuid and ack.sender in state.rows
    ),
    # Takes an ack of an unknown node for a sign that it is not isolated. [SA-07, SA-21]
    "StrangersAreHeard: isolation-whatever-comes-and-is-not-accepted": heard(
        lambda state, ack: ack.target == state.uuid and not IS_PAST(state, ack)
    ),
    # Takes an ack for another node for a sign that it is not isolated. [SA-07, SA-22]
    "AnswersToOthersAreHeard: isolation-whatever-comes-and-is-not-accepted": heard(
        lambda state, ack: ack.sender in state.rows and not IS_PAST(state, ack)
    ),
    # Takes acks of live nodes only for a sign that it is not isolated. [SA-07]
    "TheGoneAreNotHeard: ack-of-one-who-has-left-shows-that-others-are-there": acked(
        lambda state, after, ack: (
            replace(after, heard=state.heard) if ack.sender in state.rows and not state.rows[ack.sender].is_live else after
        )
    ),
    # Takes a ping for a sign that it is not isolated. [SA-07]
    "PingsAreHeard: isolation-whoever-pings": pinged_by(
        lambda _, after, ping: replace(after, heard=True) if ping.sender in after.rows else after
    ),
    # Lets the ping of an unknown node end the isolation. [SA-07, SA-21]
    "StrangersEndIsolation: isolation-goes-on-for-strangers": pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=False) if ping.target == state.uuid and ping.sender not in state.rows else after
        )
    ),
    # Lets the ack of an unknown node end the isolation. [SA-07, SA-21]
    "AcksOfStrangersEndIsolation: isolation-goes-on-for-strangers": acked(
        lambda state, after, ack: (
            replace(after, isolated=False) if ack.target == state.uuid and ack.sender not in state.rows else after
        )
    ),
    # Lets a ping for another node end the isolation. [SA-07, SA-22]
    "PingsToOthersEndIsolation: isolation-goes-on-for-strangers": pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=False) if ping.target != state.uuid and ping.sender in state.rows else after
        )
    ),
    # Goes on as isolated when a node joins that it did not know. [SA-07]
    "JoinersDoNotEndIsolation: isolation-ends-with-a-joiner": pinged_by(
        lambda state, after, ping: after if ping.sender in state.rows else replace(after, isolated=state.isolated)
    ),
    # Goes on as isolated when a node is heard that has left. [SA-07]
    "TheGoneDoNotEndIsolation: isolation-ends-with-one-who-has-left": pinged_by(
        lambda state, after, ping: (
            replace(after, isolated=state.isolated)
            if ping.sender in after.rows and not after.rows[ping.sender].is_live
            else after
        )
    ),
    # Settles no round as long as it is isolated, also if it has pinged one node only. [SA-07]
    "IsolationLastsUntilItEnds: isolation-is-one-of-each-round": around(
        "rounds.close_round", lambda right, state, pick: (state, ()) if state.isolated else right(state, pick)
    ),
    # Counts of the nodes that were pinged those that are still live. [SA-07]
    "IsolationOfTheLive: isolation-counts-who-has-left-since": around(
        "rounds.close_round", lambda right, state, pick: right(replace(state, pinged=state.pinged & set(state.live)), pick)
    ),
    # Counts the nodes that are live, not those that were pinged. [SA-07]
    "IsolationOfNewcomers: isolation-counts-who-was-pinged": around(
        "rounds.close_round",
        lambda right, state, pick: (
            (replace(state, isolated=True), ())
            if state.pinged and not state.heard and len(state.live) > 1
            else right(state, pick)
        ),
    ),
    # Asks no node that is joining to ping another. [SA-03, SA-27]
    "AsksTheNormalOnly: relay-that-is-joining": asking(lambda row: row.status is Status.NORMAL),
    # Asks no node to ping another that it has still to introduce itself to. [SA-03, SA-57]
    "AsksThoseThatKnowIt: relay-that-does-not-know-the-node-yet": asking(
        lambda row: row.is_live and row.status is not Status.SUSPICIOUS and row.exchange is Exchange.DONE
    ),
    # Ignores an indirect ack about a node that is not suspicious. [SA-04]
    "IndirectAcksOfTheSuspicious: indirect-ack-that-was-not-asked-for indirect-ack-brings-the-dead-back": believing(
        lambda row: row.status is Status.SUSPICIOUS
    ),
    # Ignores an indirect ack that it has not asked for. [SA-04]
    "IndirectAcksAskedFor: indirect-ack-that-was-not-asked-for indirect-ack-brings-the-dead-back": believing(
        lambda row: row.indirect_asked
    ),
    # Ignores an indirect ack about a dead node. [SA-04, SA-15]
    "IndirectAcksOfTheLive: indirect-ack-brings-the-dead-back": believing(lambda row: row.status is not Status.DEAD),
    # Holds against a dead node that comes back what it missed before. [SA-02]
    "TheDeadKeepTheirMisses: dead-node-comes-back-without-misses": merged(
        lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.DEAD else right
    ),
    # Holds against a node that had left and restarts what it missed before. [SA-02]
    "LeaversKeepTheirMisses: leaver-that-restarts-has-missed-nothing": merged(
        lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.LEAVE else right
    ),
    # Holds against a suspicious node that joins again what it missed before. [SA-02]
    "JoinersKeepTheirMisses: suspicious-node-joins-again-without-misses": merged(
        lambda row, claim, right: replace(right, misses=row.misses) if claim.status is Status.JOINING else right
    ),
    # Forgets misses with news of a restart. [SA-02]
    "RestartsForgive: restart-heard-of-from-others-is-no-answer": merged(
        lambda row, claim, right: replace(right, misses=0) if claim.incarnation.restart > row.incarnation.restart else right
    ),
    # Forgets misses with any change of status. [SA-02]
    "ChangesForgive: joining-heard-of-from-others-is-no-answer joining-node-that-becomes-normal-has-missed-what-it-has": merged(
        lambda row, _, right: right if right.status is row.status else replace(right, misses=0)
    ),
    # Forgets the pings to a node that restarts. [SA-42]
    "RestartsForgetPings: ack-after-a-restart-of-its-sender": merged(
        lambda row, claim, right: replace(right, unanswered=()) if claim.incarnation.restart > row.incarnation.restart else right
    ),
    # Forgets the pings to a node that is not live any more. [SA-42, SA-52]
    "DeathForgetsPings: ack-of-a-dead-node-is-an-answer": merged(
        lambda _, __, right: right if right.is_live else replace(right, unanswered=())
    ),
    # Counts indirect misses on after a suspicion was refuted. [SA-03]
    "RefutationLeavesMisses: suspicion-after-a-refutation-begins-anew suspicion-after-anti-entropy-begins-anew "
    "suspicion-after-a-death-begins-anew": merged(
        lambda row, _, right: replace(right, indirect_misses=row.indirect_misses) if right.status is Status.NORMAL else right
    ),
    # Counts indirect misses on after a node was dead. [SA-03, SA-15]
    "ReturnLeavesMisses: suspicion-after-a-death-begins-anew": merged(
        lambda row, _, right: replace(right, indirect_misses=row.indirect_misses) if row.status is Status.DEAD else right
    ),
    # Suspects no node that is joining. [SA-02]
    "JoinersAreNotSuspected: joining-node-is-suspected joining-heard-of-from-others-is-no-answer": around(
        "detector.settle_row", lambda right, state, node, row: state if row.status is Status.JOINING else right(state, node, row)
    ),
    # Forgets a request with an ack of the past. [S-41, SA-55]
    "ThePastUsesRequestsUp: relay-passes-on-no-ack-of-the-past": around(
        "transitions.on_ack",
        lambda right, state, ack, pick: (
            Step(TAKEN(state, ack)[0]) if ack.target == state.uuid and IS_PAST(state, ack) else right(state, ack, pick)
        ),
    ),
    # Compares the tx of an ack with that of the ping for another by 32 bits. [SA-55]
    "ReportsByTheLowestBits: relay-reports-no-ack-with-a-high-bit-more": around(
        "transitions.take_relays", lambda right, state, ack: right(state, replace(ack, target_tx=ack.target_tx % 2**32))
    ),
    # Pings on behalf of live nodes only. [SA-55]
    "RelaysForTheLiveOnly: relay-for-one-who-has-left": around(
        "transitions.request_relays",
        lambda right, state, ping, pick: right(state, ping, pick) if ping.sender in state.live else (state, ()),
    ),
    # Counts the active nodes before the round is closed. [SA-24, SA-53]
    "FanoutBeforeTheClose: fanout-after-a-death-at-the-close": counting(lambda before, _: FANOUT(active_size(before))),
    # Takes the logarithm of the number of nodes that are left in the vector. [SA-24]
    "FanoutOfTheVector: six-others-are-pinged-in-two-quanta": counting(lambda _, after: FANOUT(1 + len(after.vector))),
    # Counts nodes that are gone among the active ones when it pings. [SA-24, SA-27]
    "FanoutOfAllRows: fanout-without-those-who-have-left": counting(lambda _, after: FANOUT(1 + len(after.rows))),
    # Refutes what is above its own incarnation in both parts. [SA-10, SA-17]
    "RefutesPartByPart: told-dead-at-a-larger-restart-counter-and-a-smaller-tx": refuting(
        lambda told, own: told != own and told.restart >= own.restart and told.tx >= own.tx
    ),
    # Compares what it is told with its own incarnation as floating-point numbers. [SA-17, SA-47]
    "RefutesByDoubles: told-dead-at-restart-counters-around-31-and-32-bits": refuting(
        lambda told, own: tuple(map(float, told)) > tuple(map(float, own))
    ),
    # Compares what it is told with its own incarnation by 32 bits. [SA-17, SA-47]
    "RefutesBy32Bits: told-dead-at-restart-counters-around-31-and-32-bits": refuting(
        lambda told, own: tuple(part % 2**32 for part in told) > tuple(part % 2**32 for part in own)
    ),
    # Empties its queue when it begins a new life. [SA-17, SA-25]
    "NewLifeWithoutQueue: told-dead-keeps-the-queue": forgetting(queue=()),
    # Loses its payload when it begins a new life. [SA-17, SA-33]
    "NewLifeWithoutPayload: told-dead-keeps-the-payload": forgetting(payload="{}"),
    # Forgets its probes when it begins a new life. [SA-17, SA-60]
    "NewLifeWithoutProbes: told-dead-keeps-the-probes": forgetting(probes=Table()),
    # Takes itself for introduced to a node that was dead. [SA-57]
    "DeathIntroduces: introduction-goes-on-after-a-death": merged(
        lambda _, __, right: replace(right, exchange=Exchange.DONE) if right.status is Status.DEAD else right
    ),
    # Ends its introduction with one ack that holds both answers. [SA-57]
    "OneAckIntroduces: introduction-takes-two-acks": around(
        "transitions.advance_introduction", lambda right, state, ack: right(right(state, ack), ack)
    ),
    # Makes a row of an unknown node whose ack says that it is joining. [SA-21]
    "AcksOfJoiners: ack-of-an-unknown-sender-with-a-joining": around(
        "transitions.on_ack",
        lambda right, state, ack, pick: Step(APPLIED(state, ack)) if ack.sender not in state.rows else right(state, ack, pick),
    ),
    # Keeps no payload of a node that has left. [S-34]
    "NoPayloadsOfTheGone: payload-of-one-who-has-left": pinged_by(
        lambda state, after, ping: (
            changed(after, ping.sender, payload=state.rows[ping.sender].payload)
            if ping.sender in state.rows and not after.rows[ping.sender].is_live
            else after
        )
    ),
    # Ignores an empty payload. [S-34, SA-56]
    "EmptyPayloadsAreNone: payload-that-is-empty-replaces": around(
        "transitions.apply_message",
        lambda right, state, message: right(
            state, replace(message, vectors=tuple(v for v in message.vectors if v != Payload("{}")))
        ),
    ),
    # Makes a node that has left joining when it is added. [SA-38]
    "AddingBringsBack: add-node-that-has-left": adding(
        lambda _, after, command: (
            after if after.rows[command.uuid].is_live else changed(after, command.uuid, status=Status.JOINING)
        )
    ),
    # Forgets the payload of a known node that is added. [SA-38]
    "AddingForgetsThePayload: add-node-keeps-the-payload": adding(
        lambda _, after, command: changed(after, command.uuid, payload=None)
    ),
    # Pings a node that is added in the round that is under way. [SA-26, SA-38]
    "AddsToTheRound: add-node-waits-for-the-next-round": adding(
        lambda state, after, command: (
            replace(after, vector=(*after.vector, command.uuid)) if state.vector and command.uuid not in state.rows else after
        )
    ),
    # Drops what is queued about a node when it is added. [SA-25, SA-38]
    "AddingDropsEvents: add-node-keeps-the-queue": adding(
        lambda _, after, command: replace(after, queue=tuple(q for q in after.queue if q.event.node != command.uuid))
    ),
    # Keeps the payload of a node that it removes, until that is back. [S-51]
    "RemovingKeepsThePayload: removed-node-comes-back-without-its-payload": around("transitions.on_remove_node", _removed)
    | around("transitions.apply_message", _back_with_its_payload),
    # Compares the tx of an answer with that of the probe by 8 bits. [SA-60]
    "ProbesByTheLowest8Bits: probe-answered-with-a-high-bit-more": around(
        "transitions.on_probe_ack", lambda right, state, sender, node, tx: right(state, sender, node, tx % 2**8)
    ),
    # Compares the tx of an answer with that of the probe by 32 bits. [SA-60]
    "ProbesByTheLowest32Bits: probe-answered-with-a-high-bit-more": around(
        "transitions.on_probe_ack", lambda right, state, sender, node, tx: right(state, sender, node, tx % 2**32)
    ),
    # Goes back to the first request if a node is suspicious at the second. [SA-57]
    "SuspicionUndoesTheFirstRequest: introduction-goes-on-after-a-suspicion": merged(
        lambda _, __, right: (
            replace(right, exchange=Exchange.FIRST)
            if right.status is Status.SUSPICIOUS and right.exchange is Exchange.SECOND
            else right
        )
    ),
    # Forgets in a new life only the pings to the node that told it. [SA-52]
    "NewLifeForgetsPingsToTheTeller: told-dead-forgets-pings-to-all": reviving(
        lambda former, row, is_teller: row if is_teller else replace(row, unanswered=former.unanswered)
    ),
    # Stays in a new life at the second request where it was at that. [SA-17, SA-57]
    "NewLifeAtTheSecondRequest: told-dead-at-the-second-request": reviving(
        lambda former, row, _: replace(row, exchange=Exchange.SECOND) if former.exchange is Exchange.SECOND else row
    ),
    # Has no quanta any more when it has left and knows no live node. [SA-59]
    "LeavesTheLastInSilence: leave-by-itself-with-no-neighbours-left": around(
        "transitions.on_quantum", lambda right, state, pick: Step(state) if state.left and not state.live else right(state, pick)
    ),
    # Looks for messages of the past with signed numbers of 16 bits. [SA-10, SA-47]
    "PastIn16Bits: tx-grows-over-all-borders restart-counter-grows-over-all-borders": comparing(_signed(16)),
    # Looks for messages of the past with signed numbers of 32 bits. [SA-10, SA-47]
    "PastInSigned32Bits: tx-grows-over-all-borders restart-counter-grows-over-all-borders counters-that-grow-by-much": comparing(
        _signed(32)
    ),
    # Looks for messages of the past with numbers of 53 bits. [SA-10, SA-47]
    "PastIn53Bits: tx-grows-over-all-borders restart-counter-grows-over-all-borders": comparing(lambda number: number % 2**53),
    # Looks for messages of the past with one number, whose upper half is the restart counter. [SA-10]
    "PastInOneNumber: counters-that-grow-by-much": {
        "transitions.is_past": lambda state, message: (
            message.sender in state.rows
            and message.incarnation.restart * 2**32 + message.incarnation.tx
            < state.rows[message.sender].incarnation.restart * 2**32 + state.rows[message.sender].incarnation.tx
        )
    },
    # Compares incarnations as doubles when it sets to 0 what was missed. [SA-03, SA-10]
    "IndirectMissesByDoubles: suspicion-after-a-refutation-beyond-53-bits": merged(
        lambda row, _, right: (
            replace(right, indirect_misses=row.indirect_misses, indirect_asked=row.indirect_asked)
            if tuple(map(float, right.incarnation)) == tuple(map(float, row.incarnation))
            else right
        )
    ),
    # Adds a node with its host in small letters and without blanks. [SA-38, SA-65]
    "AddsHostsInSmallLetters: add-node-with-a-host-as-it-is-written": around(
        "transitions.on_add_node", lambda right, state, command: right(state, replace(command, host=command.host.lower().strip()))
    ),
}
__getattr__ = wrong.find
