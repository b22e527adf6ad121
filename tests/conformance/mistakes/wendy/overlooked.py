"""Mistakes between two things that happen: too early, too late, or to the wrong one of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around, received, remembering, with_effects, with_values, without_effects

from peerproof.spec.core import Asked, Duration, Expired, Notify, Pick, Sent, SetTimer, Step, Table
from peerproof.spec.wendy import joining, repair, tables, transitions
from peerproof.spec.wendy.messages import (
    Announce,
    Application,
    Cell,
    Heartbeat,
    HeartbeatDue,
    Mask,
    Message,
    NodeAnnouncement,
    NodeExit,
    NodeExited,
    NodeJoin,
    NodeRace,
    NodeRepair,
    RepairTimeout,
    StateData,
    StateRequest,
    Tables,
)
from peerproof.spec.wendy.proximity import learn_tables
from peerproof.spec.wendy.state import Stage, State, address_of
from peerproof.spec.wendy.tables import ALL

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
IS_ADMITTED = transitions.is_admitted
ON_MESSAGE = transitions.on_message
ON_NODE_RACE = joining.on_node_race
ON_SENT = transitions.on_sent
RECORD_ANSWER = repair.record_answer
SELECT_TABLES = tables.select_tables


@wrong.after("step", "an-exit-before-the-score")
def ExitsLeaveRequests(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Measures a node that has left, and takes it back when its request is confirmed. [WA-30, WA-69]"""
    if received(event, NodeExit):
        gone = {name: node for name, node in state.measured.items() if name == event.message.header.sender.id}
        return with_values(step, measured=step.state.measured.put(gone))
    return step


@wrong.after("step", "a-heartbeat-is-no-announcement")
def AnyMessageHasAnnounced(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes the confirmation of any message for that of the announcement to the same node. [WA-67]"""
    if isinstance(event, Sent) and isinstance(event.message, Heartbeat) and event.to in step.state.announcing:
        after, effects = joining.on_announcement_sent(step.state, event.to)
        return Step(after, (*step.effects, *effects))
    return step


@wrong("step", "cell-nobody-has-one-by-messages")
def AnybodyAnswers(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes the routing table of a node that was not asked for an answer. [WA-26, WA-71]"""
    if received(event, StateData) and event.message.tables.routing_table is not None:
        repairs = {cell: one._replace(waiting=frozenset()) for cell, one in state.repairs.items()}
        state = replace(state, repairs=state.repairs.put(repairs))
    return right(state, event, pick)


@wrong.after("step", "cell-who-does-not-answer-by-messages")
def AnswersPutItOff(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Waits the whole network timeout again after each answer. [WA-26]"""
    if received(event, StateData) and state.repairs:
        timers = [SetTimer(RepairTimeout(*cell), state.config.network_timeout) for cell in step.state.repairs]
        return with_effects(step, *timers)
    return step


@wrong.after("step", "the-next-row-has-its-own-timeout")
def OneTimeoutForAllRows(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Gives the next row what is left of the network timeout. [WA-26]"""

    def is_running(effect: Any) -> bool:
        timer = effect.timer if isinstance(effect, SetTimer) else None
        return isinstance(timer, RepairTimeout) and (timer.row, timer.column) in state.repairs

    return step if isinstance(event, Expired) else without_effects(step, is_running)


@wrong(remembering, "a-warning-during-the-wait")
def WarnedWhileWaiting(warned: dict[Any, bool], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Announces itself once more after the wait, because of a warning before. [WA-67]"""
    step = right(state, event, pick)
    if received(event, NodeRace) and state.stage is Stage.WAITING:
        warned[state.id] = True
    has_joined = state.stage is Stage.WAITING and step.state.stage is Stage.JOINED
    return with_values(step, is_warned=True) if has_joined and state.id in warned else step


@wrong(remembering, "the-destination-goes-during-the-wait")
def TheDestinationMustStay(destinations: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not announce itself if the destination of its join has gone during the wait. [W-58, W-60]"""
    step = right(state, event, pick)
    if received(event, StateData) and event.message.destination:
        destinations[state.id] = event.message.header.sender.id
    is_gone = step.state.stage is Stage.WAITING and destinations.get(state.id) in step.state.departed
    return with_values(step, stage=Stage.ALONE) if is_gone else step


@wrong(remembering, "versions-of-who-was-never-measured-are-gone versions-from-before-a-departure-are-gone")
def VersionsStay(kept: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps the versions of a node that has gone, and announces itself to its next life with them. [WA-70]"""
    step = right(state, event, pick)
    kept.update(step.state.stored.items())
    known = step.state.known
    lost = {name: versions for name, versions in kept.items() if name in known and name not in step.state.stored}
    return with_values(step, stored=step.state.stored.put(lost)) if lost else step


def _keeps_versions(*kinds: type[Any]) -> Callable[..., Next]:
    def on_message(state: State, message: Message) -> Next:
        sender = message.header.sender
        if isinstance(message, kinds) and sender.id in state.known:
            state = joining.with_versions(state, sender, message.header.versions)
        return ON_MESSAGE(state, message)

    return on_message


def _learns_nothing(kind: type[Any], *, from_failures: bool) -> Callable[..., Next]:
    def on_sent(state: State, sent: Sent[Message]) -> Next:
        if isinstance(sent.message, kind) and (sent.took is None) == from_failures:
            return transitions.on_outcome(state, sent.to, sent.message, failed=from_failures)
        return ON_SENT(state, sent)

    return on_sent


def _admits(*kinds: type[Any]) -> Callable[[State, Message], bool]:
    return lambda state, message: isinstance(message, kinds) or IS_ADMITTED(state, message)


@wrong.after("step", "an-exit-does-not-end-an-announcement")
def ExitEndsAnnouncement(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not wait for an announcement that is on its way to a node that leaves. [WA-67]"""
    gone = state.known.get(event.message.header.sender.id) if received(event, NodeExit) else None
    where = address_of(state.config, gone) if gone else None
    if where is None:
        return step
    after, effects = joining.on_announcement_sent(step.state, where)
    return Step(after, (*step.effects, *effects))


def _only_applies(when: Callable[[State, NodeRace], bool]) -> Callable[..., Next]:
    def on_node_race(state: State, warning: NodeRace) -> Next:
        if not when(state, warning):
            return ON_NODE_RACE(state, warning)
        sender, versions = warning.header.sender, warning.header.versions
        return learn_tables(joining.with_versions(state, sender, versions), sender, warning.tables)

    return on_node_race


@wrong.after("step", "a-warning-starts-no-wait")
def WarningStartsWait(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes the leaf set of a race warning for that of the destination. [W-58, WA-61]"""
    if not received(event, NodeRace) or state.stage is not Stage.JOINING or event.message.tables.leaf_set is None:
        return step
    timer = SetTimer(Announce(), Duration(joining.WAIT * state.config.network_timeout))
    return Step(replace(step.state, stage=Stage.WAITING), (*step.effects, timer))


def _answers(kind: type[Any]) -> Callable[..., Next]:
    return lambda state, message: ON_MESSAGE(RECORD_ANSWER(state, message) if isinstance(message, kind) else state, message)


@wrong("repair.record_answer", "one-answer-for-two-cells")
def AnswersForOneCell(right: Any, state: State, data: StateData) -> Any:
    """Takes a routing table for the answer to the first question only. [WA-71]"""
    who = data.header.sender.id
    first = next((cell for cell, one in state.repairs.items() if who in one.waiting), None)
    after = right(state, data)
    return after if first is None else replace(after, repairs=state.repairs.put({first: after.repairs[first]}))


def _brought_back_by(*kinds: type[Any]) -> Callable[..., Next]:
    def on_message(state: State, message: Message) -> Next:
        if isinstance(message, kinds):
            state = replace(state, departed=state.departed - {message.header.sender.id})
        return ON_MESSAGE(state, message)

    return on_message


@wrong.after("step", "who-was-never-known-has-not-gone")
def MissesTheUnknown(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Tells that a node has gone that it only measured, and knows from no table. [WA-72]"""
    if not isinstance(event, Sent) or event.took is not None:
        return step
    gone = [Notify(NodeExited(node)) for node in state.at(event.to) if node.id not in state.known]
    return with_effects(step, *gone)


@wrong.after("step", "heartbeats-whatever-else-is-said")
def CommandsPutHeartbeatsOff(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Starts to count the time until the next heartbeats anew when its application sends something. [WA-24]"""
    if not isinstance(event, Asked) or not state.config.heartbeat or step.state.stage is Stage.LEFT:
        return step
    return with_effects(step, SetTimer(HeartbeatDue(), state.config.heartbeat))


@wrong("repair.on_repair_timeout", "a-timeout-while-one-that-fits-is-measured")
def TimeoutEndsMeasuring(right: Any, state: State, cell: Cell) -> Any:
    """Goes to the next row at the timeout, although a node that would fit is still being measured. [WA-26]"""
    after, effects = right(replace(state, measured=Table()), cell)
    return Step(replace(after, measured=state.measured), effects)


def _selects(change: Callable[[Mask], Mask]) -> Callable[..., Tables]:
    return lambda state, mask=ALL: SELECT_TABLES(state, change(mask))


@wrong("tables.select_tables", "rows-and-columns-of-a-question")
def RowsAndColumnsArePairs(right: Any, state: State, mask: Mask = ALL) -> Any:
    """Takes the first row with the first column, the second with the second, and so on. [WA-57]"""
    sent = right(state, mask)
    if sent.routing_table is None or not (mask.rows and mask.columns):
        return sent
    cells = set(zip(mask.rows, mask.columns, strict=False))
    return sent._replace(routing_table=tuple(entry for entry in sent.routing_table if entry[:2] in cells))


wrong |= {
    # Compares credentials as texts, without a look at capitals and blanks. [WA-53]
    "CredentialsWithoutCase: credentials-that-are-not-the-same": {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None
            or (message.header.credentials or b"").strip().lower() == state.config.credentials.strip().lower()
        )
    },
    # Keeps the versions in a heartbeat, whose tables it has not seen. [WA-40]
    "HeartbeatsHaveVersions: versions-in-messages-without-tables": {"transitions.on_message": _keeps_versions(Heartbeat)},
    # Keeps the versions in the questions of a node whose tables it has not seen. [WA-40]
    "QuestionsHaveVersions: versions-in-messages-without-tables": {
        "transitions.on_message": _keeps_versions(NodeJoin, StateRequest, NodeRepair)
    },
    # Keeps the versions in a message of an application. [WA-40]
    "RoutedMessagesHaveVersions: versions-in-messages-without-tables": {"transitions.on_message": _keeps_versions(Application)},
    # Takes no score from an announcement. [W-07, WA-18]
    "AnnouncementsDoNotMeasure: an-announcement-measures": {
        "transitions.on_sent": _learns_nothing(NodeAnnouncement, from_failures=False)
    },
    # Takes no score from a join that it sends on. [W-07, WA-18]
    "JoinsDoNotMeasure: a-join-that-goes-on-measures": {"transitions.on_sent": _learns_nothing(NodeJoin, from_failures=False)},
    # Takes no score from a race warning. [W-07, WA-18]
    "WarningsDoNotMeasure: a-warning-measures": {"transitions.on_sent": _learns_nothing(NodeRace, from_failures=False)},
    # Takes no score from a question for a repair. [W-07, WA-18]
    "RepairsDoNotMeasure: a-repair-measures": {"transitions.on_sent": _learns_nothing(NodeRepair, from_failures=False)},
    # Has nobody gone whom an answer does not reach. [WA-24]
    "AnswersMayFail: an-answer-that-fails": {"transitions.on_sent": _learns_nothing(StateData, from_failures=True)},
    # Has nobody gone whom a race warning does not reach. [WA-24]
    "WarningsMayFail: a-warning-that-fails": {"transitions.on_sent": _learns_nothing(NodeRace, from_failures=True)},
    # Takes an exit with any credentials. [WA-53]
    "ExitsNeedNoCredentials: credentials-of-each-kind": {"transitions.is_admitted": _admits(NodeExit)},
    # Answers questions with any credentials. [WA-53]
    "QuestionsNeedNoCredentials: credentials-of-each-kind": {"transitions.is_admitted": _admits(StateRequest, NodeRepair)},
    # Takes a race warning with any credentials. [WA-53]
    "WarningsNeedNoCredentials: credentials-of-each-kind": {"transitions.is_admitted": _admits(NodeRace)},
    # Compares as many bytes of the credentials as a message has. [WA-53]
    "BeginningOfCredentials: credentials-of-each-kind credentials-that-are-no-text": {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None
            or (bool(message.header.credentials) and state.config.credentials.startswith(message.header.credentials))
        )
    },
    # Makes texts of credentials before it compares them. [WA-53]
    "CredentialsAsTexts: credentials-that-are-no-text": {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None
            or (message.header.credentials or b"").decode(errors="replace") == state.config.credentials.decode(errors="replace")
        )
    },
    # Does not announce itself again for the warning of a node that it does not know. [W-65]
    "StrangersDoNotWarn: a-warning-of-a-stranger": {
        "joining.on_node_race": _only_applies(lambda state, warning: warning.header.sender.id not in state.known)
    },
    # Does not announce itself again for versions that it knows already. [W-65]
    "OnlyNewsWarn: a-warning-with-versions-that-are-known": {
        "joining.on_node_race": _only_applies(
            lambda state, warning: state.stored.get(warning.header.sender.id) == warning.header.versions
        )
    },
    # Passes announcements over while it joins. [W-66]
    "JoinersTakeNobodyIn: a-joiner-takes-announcements": around(
        "joining.on_node_announcement",
        lambda right, state, announcement: Step(state) if state.stage is Stage.JOINING else right(state, announcement),
    ),
    # Warns nobody before it has announced itself. [W-64]
    "JoinersDoNotWarn: a-joiner-warns": around(
        "joining.on_node_announcement",
        lambda right, state, announcement: right(
            state,
            replace(announcement, header=replace(announcement.header, versions=state.versions))
            if state.stage in (Stage.JOINING, Stage.WAITING)
            else announcement,
        ),
    ),
    # Takes the routing table of an announcement for an answer. [WA-26, WA-71]
    "AnnouncementsAnswer: an-announcement-answers-no-repair": {"transitions.on_message": _answers(NodeAnnouncement)},
    # Takes the routing table of a race warning for an answer. [WA-26, WA-71]
    "WarningsAnswer: a-warning-answers-no-repair": {"transitions.on_message": _answers(NodeRace)},
    # Takes back who has departed and asks to join. [WA-30]
    "JoinsBringBack: only-an-announcement-brings-back": {"transitions.on_message": _brought_back_by(NodeJoin)},
    # Takes back who has departed and sends a heartbeat, a question or a message of an application. [WA-30]
    "SignsOfLifeBringBack: only-an-announcement-brings-back": {
        "transitions.on_message": _brought_back_by(Heartbeat, StateRequest, NodeRepair, Application)
    },
    # Takes back who has departed and sends a race warning. [WA-30]
    "WarningsBringBack: only-an-announcement-brings-back": {"transitions.on_message": _brought_back_by(NodeRace)},
    # Does not answer the join of a node that has departed. [W-48]
    "DepartedJoinInVain: the-departed-are-answered": around(
        "joining.on_node_join",
        lambda right, state, join: Step(state) if join.header.sender.id in state.departed else right(state, join),
    ),
    # Does not answer the questions of a node that has departed. [WA-57]
    "DepartedAskInVain: the-departed-are-answered": around(
        "repair.on_node_repair",
        lambda right, state, question: Step(state) if question.header.sender.id in state.departed else right(state, question),
    ),
    # Has a confirmation count for who is known at the address only, if there is one. [WA-18, WA-69]
    "KnownBeforeMeasured: known-and-measured-at-one-address": around(
        "state.State.at",
        lambda right, state, address: (
            [node for node in right(state, address) if node.id in state.known] or list(right(state, address))
        ),
    ),
    # Does not repair the leaf set before it has announced itself. [W-30]
    "JoinersDoNotRepair: a-joiner-repairs-its-leaf-set": around(
        "repair.query_leaf_set",
        lambda right, before, state, gone: () if state.stage in (Stage.JOINING, Stage.WAITING) else right(before, state, gone),
    ),
    # Takes row 0 for no row, and sends all of them. [WA-57]
    "FirstRowIsNone: rows-and-columns-of-a-question": {
        "tables.select_tables": _selects(lambda mask: mask._replace(rows=() if mask.rows == (0,) else mask.rows))
    },
    # Takes column 0 for no column, and sends all of them. [WA-57]
    "FirstColumnIsNone: rows-and-columns-of-a-question": {
        "tables.select_tables": _selects(lambda mask: mask._replace(columns=() if mask.columns == (0,) else mask.columns))
    },
    # Sends all rows from the first to the last one that it is asked for. [WA-57]
    "RowsAreRange: rows-and-columns-of-a-question": {
        "tables.select_tables": _selects(
            lambda mask: mask._replace(rows=tuple(range(mask.rows[0], mask.rows[-1] + 1)) if mask.rows else ())
        )
    },
    # Sends columns of all rows if it is asked for columns and no rows. [WA-57]
    "ColumnsOfAllRows: rows-and-columns-of-a-question": {
        "tables.select_tables": _selects(
            lambda mask: mask._replace(rows=tuple(range(32))) if mask.columns and not mask.rows else mask
        )
    },
    # Passes over who is at its own host, whatever the port. [WA-52]
    "NobodyElseHere: another-port-of-the-own-host": around(
        "proximity.is_passed_over", lambda right, state, node: right(state, node) or node.local_ip == state.node.local_ip
    ),
    # Passes over who has its own local host and port in another region. [WA-52]
    "SameHostElsewhere: the-own-local-host-in-another-region": around(
        "proximity.is_passed_over",
        lambda right, state, node: right(state, node) or (node.local_ip, node.port) == (state.node.local_ip, state.node.port),
    ),
}
__getattr__ = wrong.find
