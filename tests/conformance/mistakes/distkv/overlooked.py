"""Mistakes where two things meet: an end and an answer, two lists in a row, a cut and an end, the last of five elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, without_effects

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import NodeId, Notify, Pick, Step, Table
from peerproof.spec.distkv import chains, changes, recovery, schedule, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entry, Outcome
from peerproof.spec.distkv.messages import EntryChanged, Info, Message, RecoveryOver, RepairAllowed, Update
from peerproof.spec.distkv.outgoing import cancel_timer, set_timer, then
from peerproof.spec.distkv.ranges import NONE, Ranges
from peerproof.spec.distkv.state import Phase, State, is_authoritative_for
from peerproof.spec.distkv.ticks import TickSets, union
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import unpack

wrong = Variants(__name__, Wrong)
ON_UPDATE = changes.on_update
TICKS_IN = transitions.ticks_in


@wrong("recovery._on_missing", "missing-without-two-lists-that-are-covered")
def CoversTheLastList(right: Any, state: State, info: Info) -> Any:
    """Takes only the last list of its side for covered. [DA-77]"""
    after, effects = right(state, info)
    if after.recovery is not None and info.chain.head.node in after.recovery.side:
        after = replace(after, recovery=after.recovery._replace(covered=info.missing))
    return Step(after, effects)


@wrong("transitions.on_info", "empty-and-told-of-itself")
def SettlesWhenToldOfItself(right: Any, state: State, info: Info) -> Any:
    """Takes part when it is told of ticks of its own. [D-123]"""
    after, effects = right(state, info)
    is_told = state.phase is Phase.EMPTY and after.own_tick and info.known
    return Step(replace(after, phase=Phase.SETTLING) if is_told else after, effects)


def agree_if_any_is_cut(one: Chain, other: Chain) -> bool:
    """Whichever of the two was cut."""
    shorter, longer = sorted((one, other), key=lambda chain: len(chain.elements))
    common = len(shorter.elements)
    return longer.elements[:common] == shorter.elements and (one.cut or other.cut or len(longer.elements) == common)


@wrong("chains._has_seen", "stale-behind-four-later-ones after-four-others")
def ComparesFourElements(right: Any, chain: Chain, head: Element) -> Any:
    """Does not look at the fifth element of a chain. [D-22]"""
    seen: bool = right(Chain(chain.elements[:4], chain.cut), head)
    return seen


# -- what is asked for, and when ---------------------------------------------------------------------------------------


def answered_by_others(state: State, update: Update) -> Next:
    """An update of its own answers nothing."""
    after, effects = ON_UPDATE(state, update)
    return Step(replace(after, wanted=state.wanted) if update.chain.head.node == state.self_id else after, effects)


@wrong("recovery._on_missing", "answers-off-the-chain-from-before")
def AnswersByLastOffTheChain(right: Any, state: State, info: Info) -> Any:
    """Goes by the last chain in a recovery if it is off the one from before. [DA-78]"""
    if state.recovery is None or state.position(state.recovery.mine) is not None or state.last is None:
        done: Next = right(state, info)
        return done
    after, effects = right(replace(state, recovery=state.recovery._replace(mine=state.last.chain)), info)
    mine = state.recovery.mine
    return Step(replace(after, recovery=after.recovery and after.recovery._replace(mine=mine)), effects)


@wrong("recovery.union", "asked-by-three-for-what-touches")
def LeavesRangesApart(right: Any, sets: TickSets, others: Mapping[NodeId, Ranges]) -> Any:
    """Does not join what is asked for in ranges that touch. [DA-24, DA-78]"""
    rows = {}
    for node, row in others.items():
        both = (sets.get(node, NONE), row)
        pairs = sorted({pair for one in both for pair in zip(one.begins, one.ends, strict=True)})
        rows[node] = Ranges(tuple(begin for begin, _ in pairs), tuple(end for _, end in pairs))
    return sets.put(rows)


def begin_by(more: Callable[[State, State, bool], Next]) -> dict[str, Any]:
    """What is replaced to do more where a recovery begins, or would."""

    def begin(right: Any, state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Any:
        return then(right(state, mine, other, lost=lost, is_reason=is_reason), lambda now: more(state, now, is_reason))

    return around("recovery.begin", begin)


@wrong.after("recovery.ask_for", "not-again-for-ten-clocks-from-the-last")
def CountsFromTheFirstQuestion(taken: Any, state: State, missing: TickSets) -> Any:
    """Does not begin the ten clocks anew when it asks again. [D-120, DA-79]"""
    is_running = RepairAllowed() in state.timers
    return without_effects(taken, lambda effect: is_running and getattr(effect, "timer", None) == RepairAllowed())


class CoversTheRecoveryBefore(Wrong):
    """Takes for covered what was asked for before its recovery, in another one or in none. [DA-74]"""

    caught_by: ClassVar = ("covered-in-another-recovery", "asked-before-and-not-covered")
    asked: Mapping[str, TickSets] = Table()  #: by the name of the node

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """Nothing was asked for."""
        self.asked = {**self.asked, self_id: Table()}
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Remembers all that is asked for."""
        info = getattr(event, "message", None)
        if isinstance(info, Info):
            self.asked = {**self.asked, state.self_id: union(self.asked[state.self_id], info.missing)}
        after, effects = super().step(state, event, pick)
        if after.recovery is not None and state.recovery is None:
            after = replace(after, recovery=after.recovery._replace(covered=self.asked[state.self_id]))
        return Step(after, effects)


# -- parts of messages -------------------------------------------------------------------------------------------------


def ticks_of(part: Callable[[Any], Iterable[tuple[Any, int]]]) -> dict[str, Any]:
    """What is replaced to learn these ticks, which ascend for each node."""
    return {"transitions.ticks_in": lambda message: iter(sorted(part(message), key=lambda pair: pair[1]))}


@wrong(ticks_of, "ticks-from-the-last-of-several-ranges")
def LearnsFromBegins(message: Message) -> Iterable[tuple[Any, int]]:
    """Learns from known the begin of the last range. [DA-64]"""
    if not isinstance(message, Info):
        return TICKS_IN(message)
    begins = [(node, row.begins[-1]) for node, row in message.known.items()]
    return [*TICKS_IN(replace(message, known=Table())), *begins]


@wrong(ticks_of, "ticks-from-whole-chains")
def LearnsFromBehindReasons(message: Message) -> Iterable[tuple[Any, int]]:
    """Learns nothing from the head of a reason. [DA-64]"""
    if not isinstance(message, Info) or message.reason is None:
        return TICKS_IN(message)
    behind = [(node, tick) for node, tick in message.reason.elements[1:] if tick is not None]
    return [*TICKS_IN(replace(message, reason=None)), *behind]


@wrong("transitions.on_message", "not-stale-behind-other-messages")
def HearsUpdates(right: Any, state: State, message: Message, pick: Pick) -> Any:
    """Takes a ping below a change of its sender for stale. [DA-31, DA-58]"""
    after, effects = right(state, message, pick)
    node = message.chain.head.node
    if isinstance(message, Update) and node != state.self_id:
        after = replace(after, heard=after.heard.put({node: max(message.tock, after.heard.get(node, 0))}))
    return Step(after, effects)


def moment_by(names: Callable[[State], Iterable[NodeId]]) -> dict[str, Any]:
    """What is replaced to count these nodes and itself."""

    def early_odds(right: Any, state: State, chain: Chain, pick: Pick) -> Any:
        if state.position(chain) is not None or (state.message_tick and not chains.is_authoritative(chain)):
            return right(state, chain, pick)
        (number,) = pick("ping.early", range(schedule.early_odds(len({state.self_id, *names(state)}))))
        clock = state.config.clock
        return schedule.pick_moment(pick, "ping.late", schedule.late_ping(clock)) if number else clock

    return around("election._moment", early_odds)


# -- values ------------------------------------------------------------------------------------------------------------


def tell_of_other_values(state: State, update: Update) -> Next:
    """An update, and whether the value is another one."""
    before = state.entries.rows.get(update.path)
    is_same = before is not None and before.value == update.value
    taken = ON_UPDATE(state, update)
    return without_effects(
        taken, lambda effect: is_same and isinstance(effect, Notify) and isinstance(effect.notice, EntryChanged)
    )


def same_if(is_same: Callable[[Any, Any], bool]) -> dict[str, Any]:
    """What is replaced to take such values for one."""

    def outcome(right: Any, entry: Entry, arrived: Update) -> Any:
        found: Outcome = right(entry, arrived)
        is_one = found is Outcome.CONTRADICTION and is_same(unpack(entry.value), unpack(arrived.value))
        return Outcome.DUPLICATE if is_one else found

    return around("entries._outcome", outcome)


@wrong("codec.value_of", "value-map-of-lists")
def RefusesListsAsKeys(right: Any, raw: Any) -> Any:
    """Refuses values in which keys are lists or maps. [DA-92]"""
    if isinstance(raw, list) and any(isinstance(key, (list, tuple)) for key, _ in raw):
        raise MalformedMessage("bad_type", 0, "a key is a text or a number")
    return right(raw)


wrong |= {
    # Takes the empty byte string for the empty string in keys of values. [DA-92]
    "TakesEmptyKeysForOne: value-map-of-empty-keys": around(
        "codec.value_of",
        lambda right, raw: right([("" if key == b"" else key, value) for key, value in raw] if isinstance(raw, list) else raw),
    ),
    # Takes Null for a map of no nodes. [DA-90]
    "TakesNullForNoMap: reject-known-of-null reject-ticks-of-null reject-missing-of-null": around(
        "codec._by_node", lambda right, raw, row: right([] if raw is None else raw, row)
    ),
    # Takes Null for no ranges. [DA-90]
    "TakesNullForNoRanges: reject-known-with-null-for-a-node": around(
        "codec.read_ranges", lambda right, items: right(() if items is None else items)
    ),
    # Looks once whether others know better, and waits for them for ever. [DA-51, DX-21]
    "LooksOnceForOldData: old-data-when-its-source-has-gone old-data-when-nobody-answers": around(
        "transitions.on_old_data_due", lambda right, state: Step(state) if is_authoritative_for(state) else right(state)
    ),
    # Forgets with its recovery what others have asked for. [DA-78]
    "ForgetsWhatIsWanted: over-before-an-answer": around(
        "transitions.on_recovery_over", lambda right, state: right(replace(state, wanted=Table()))
    ),
    # Cancels all timers when its recovery is over, that of an answer too. [DA-74, DA-78]
    "CancelsAnAnswer: over-before-an-answer": around(
        "transitions.on_recovery_over", lambda right, state: then(right(state), lambda now: cancel_timer(now, recovery.STEP_3))
    ),
    # Takes a chain that has ended for the beginning of a longer one that was cut. [DA-32]
    "AgreesIfAnyIsCut: next-but-for-a-chain-that-goes-on": dict.fromkeys(
        ("chains.agree", "pings.agree", "recovery.agree"), agree_if_any_is_cut
    ),
    # Answers although an update of its own has come back that says it. [DA-54, DA-78]
    "NotAnsweredByAnEcho: answered-by-an-echo": dict.fromkeys(("transitions.on_update", "changes.on_update"), answered_by_others),
    # Answers nothing before it is ready, although it takes part. [DA-59, DA-78]
    "AnswersWhenReady: settling-nodes-answer": around(
        "recovery._on_missing", lambda right, state, info: right(state, info) if state.phase is Phase.READY else Step(state)
    ),
    # Forgets what others have asked for when a recovery begins. [DA-78]
    "BeginsWithoutQuestions: asked-before-a-recovery": begin_by(
        lambda before, now, _: (
            Step(now) if before.recovery is not None else cancel_timer(replace(now, wanted=Table()), recovery.STEP_3)
        )
    ),
    # Begins to wait for the end anew with each reason. [DA-74]
    "EndsLaterForAReason: reason-delays-no-end": begin_by(
        lambda before, now, is_reason: (
            set_timer(now, RecoveryOver(), schedule.silence(now.config.clock))
            if is_reason and before.recovery is not None
            else Step(now)
        )
    ),
    # Asks once in each recovery. [DA-77]
    "AsksOnceInARecovery: asks-again-after-later-ticks": around(
        "recovery._on_ticks",
        lambda right, state, info: (
            Step(state) if state.recovery is not None and RepairAllowed() in state.timers else right(state, info)
        ),
    ),
    # Asks only because of ticks of its own side. [DA-77]
    "AsksAfterTicksOfItsSide: asks-again-after-later-ticks": around(
        "recovery._on_ticks",
        lambda right, state, info: (
            right(state, info) if state.recovery is None or info.chain.head.node in state.recovery.side else Step(state)
        ),
    ),
    # Learns from two elements of a chain. [DA-64]
    "LearnsFromTwoElements: ticks-from-whole-chains": ticks_of(
        lambda message: TICKS_IN(replace(message, chain=Chain(message.chain.elements[:2])))
    ),
    # Counts nodes with ticks only. [D-76, DA-39]
    "CountsWhoHasATick: off-the-chain-counted-with-who-has-no-change": moment_by(lambda state: state.ticks),
    # Does not count nodes with the tick 0. [D-76, DA-39]
    "CountsWhoHasChanged: off-the-chain-counted-with-who-has-no-change": moment_by(
        lambda state: [*state.heard, *(node for node, tick in state.ticks.items() if tick)]
    ),
    # Does not tell of a change that sets the value which is there. [DA-84]
    "TellsOfOtherValuesOnly: accepted-with-the-same-value": dict.fromkeys(
        ("transitions.on_update", "changes.on_update"), tell_of_other_values
    ),
    # Takes all that is empty, 0 or false for one value. [DA-92]
    "TakesNothingForNothing: contradiction-of-values-that-look-alike": same_if(lambda one, other: not one and not other),
    # Compares values without capitals and blanks at their ends. [DA-92]
    "ComparesValuesInSmallLetters: contradiction-of-values-that-look-alike": same_if(
        lambda one, other: isinstance(one, str) and isinstance(other, str) and one.strip().lower() == other.strip().lower()
    ),
    # Compares integers that are values as doubles. [DA-92]
    "ComparesValuesInDoubles: contradiction-of-values-that-look-alike": same_if(
        lambda one, other: type(one) is type(other) is int and float(one) == float(other)
    ),
}
__getattr__ = wrong.find
