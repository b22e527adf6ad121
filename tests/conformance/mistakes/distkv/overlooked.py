"""Mistakes where two things meet: an end and an answer, two lists in a row, a cut and an end, the last of five elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Reading, Wrong
from tests.conformance.variant import without_effects

from peerproof.reference.divergences.distkv import BEGIN, OUTCOME, Next
from peerproof.spec.core import NodeId, Notify, Pick, Step, Table
from peerproof.spec.distkv import chains, changes, codec, election, ranges, recovery, schedule, startup, transitions, values
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entries, Entry, Outcome
from peerproof.spec.distkv.messages import EntryChanged, Info, Message, RecoveryOver, RepairAllowed, Update
from peerproof.spec.distkv.outgoing import cancel_timer, set_timer, then
from peerproof.spec.distkv.ranges import NONE, Ranges
from peerproof.spec.distkv.state import Phase, State, is_authoritative_for
from peerproof.spec.distkv.ticks import TickSets, union
from peerproof.spec.distkv.values import Value
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import unpack

ASK_FOR = recovery.ask_for
BY_NODE = vars(codec)["_by_node"]
HAS_SEEN = vars(chains)["_has_seen"]
MOMENT = vars(election)["_moment"]
ON_INFO = recovery.on_info
ON_MISSING = vars(recovery)["_on_missing"]
ON_MESSAGE = transitions.on_message
ON_OLD_DATA_DUE = startup.on_old_data_due
ON_RECOVERY_OVER = recovery.on_recovery_over
ON_TICKS = vars(recovery)["_on_ticks"]
ON_UPDATE = changes.on_update
READ_RANGES = ranges.read
SIDE_OF = chains.side_of
TICKS_IN = transitions.ticks_in
UPDATED = Entries.apply_update
VALUE_OF = values.value_of


class LooksOnceForOldData(Wrong):
    """Looks once whether others know better, and waits for them for ever. [DA-51, DX-21]"""

    caught_by: ClassVar = ("old-data-when-its-source-has-gone", "old-data-when-nobody-answers")
    instead: ClassVar = {
        "transitions.on_old_data_due": lambda state: Step(state) if is_authoritative_for(state) else ON_OLD_DATA_DUE(state)
    }


class ForgetsWhatIsWanted(Wrong):
    """Forgets with its recovery what others have asked for. [DA-78]"""

    caught_by: ClassVar = ("over-before-an-answer",)
    instead: ClassVar = {"transitions.on_recovery_over": lambda state: ON_RECOVERY_OVER(replace(state, wanted=Table()))}


class CancelsAnAnswer(Wrong):
    """Cancels all timers when its recovery is over, that of an answer too. [DA-74, DA-78]"""

    caught_by: ClassVar = ("over-before-an-answer",)
    instead: ClassVar = {
        "transitions.on_recovery_over": lambda state: then(
            ON_RECOVERY_OVER(state), lambda now: cancel_timer(now, recovery.STEP_3)
        )
    }


def last_list_counts(state: State, info: Info) -> Next:
    """Of two lists of its side the last one."""
    after, effects = ON_MISSING(state, info)
    if after.recovery is not None and info.chain.head.node in after.recovery.side:
        after = replace(after, recovery=after.recovery._replace(covered=info.missing))
    return Step(after, effects)


class CoversTheLastList(Wrong):
    """Takes only the last list of its side for covered. [DA-77]"""

    caught_by: ClassVar = ("missing-without-two-lists-that-are-covered",)
    instead: ClassVar = {"recovery._on_missing": last_list_counts}


def knows_itself(state: State, info: Info) -> Next:
    """Who is told of itself settles."""
    after, effects = ON_INFO(state, info)
    is_told = state.phase is Phase.EMPTY and after.own_tick and info.known
    return Step(replace(after, phase=Phase.SETTLING) if is_told else after, effects)


class SettlesWhenToldOfItself(Wrong):
    """Takes part when it is told of ticks of its own. [D-123]"""

    caught_by: ClassVar = ("empty-and-told-of-itself",)
    instead: ClassVar = {"transitions.on_info": knows_itself}


def agree_if_any_is_cut(one: Chain, other: Chain) -> bool:
    """Whichever of the two was cut."""
    shorter, longer = sorted((one, other), key=lambda chain: len(chain.elements))
    common = len(shorter.elements)
    return longer.elements[:common] == shorter.elements and (one.cut or other.cut or len(longer.elements) == common)


class AgreesIfAnyIsCut(Wrong):
    """Takes a chain that has ended for the beginning of a longer one that was cut. [DA-32]"""

    caught_by: ClassVar = ("next-but-for-a-chain-that-goes-on",)
    instead: ClassVar = dict.fromkeys(("chains.agree", "pings.agree", "recovery.agree"), agree_if_any_is_cut)


class CutsTheOtherLikeItsOwn(Wrong):
    """Takes the other side's chain for cut if its own was. [DA-32, DA-75]"""

    caught_by: ClassVar = ("side-up-to-the-cut-of-the-other",)
    instead: ClassVar = {"recovery.side_of": lambda mine, other: SIDE_OF(mine, Chain(other.elements, mine.cut))}


def has_seen_in_four(chain: Chain, head: Element) -> bool:
    """The first four elements."""
    seen: bool = HAS_SEEN(Chain(chain.elements[:4], chain.cut), head)
    return seen


class ComparesFourElements(Wrong):
    """Does not look at the fifth element of a chain. [D-22]"""

    caught_by: ClassVar = ("stale-behind-four-later-ones", "after-four-others")
    instead: ClassVar = {"chains._has_seen": has_seen_in_four}


# -- what is asked for, and when ---------------------------------------------------------------------------------------


def answered_by_others(state: State, update: Update) -> Next:
    """An update of its own answers nothing."""
    after, effects = ON_UPDATE(state, update)
    return Step(replace(after, wanted=state.wanted) if update.chain.head.node == state.self_id else after, effects)


class NotAnsweredByAnEcho(Wrong):
    """Answers although an update of its own has come back that says it. [DA-54, DA-78]"""

    caught_by: ClassVar = ("answered-by-an-echo",)
    instead: ClassVar = dict.fromkeys(("transitions.on_update", "changes.on_update"), answered_by_others)


class AnswersWhenReady(Wrong):
    """Answers nothing before it is ready, although it takes part. [DA-59, DA-78]"""

    caught_by: ClassVar = ("settling-nodes-answer",)
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: ON_MISSING(state, info) if state.phase is Phase.READY else Step(state)
    }


def answer_by_last(state: State, info: Info) -> Next:
    """Who is off its chain from before goes by the last one."""
    if state.recovery is None or state.position(state.recovery.mine) is not None or state.last is None:
        right: Next = ON_MISSING(state, info)
        return right
    after, effects = ON_MISSING(replace(state, recovery=state.recovery._replace(mine=state.last.chain)), info)
    mine = state.recovery.mine
    return Step(replace(after, recovery=after.recovery and after.recovery._replace(mine=mine)), effects)


class AnswersByLastOffTheChain(Wrong):
    """Goes by the last chain in a recovery if it is off the one from before. [DA-78]"""

    caught_by: ClassVar = ("answers-off-the-chain-from-before",)
    instead: ClassVar = {"recovery._on_missing": answer_by_last}


def union_of_overlaps(sets: TickSets, others: Mapping[NodeId, Ranges]) -> TickSets:
    """What is in one or the other, in ranges that may touch."""
    rows = {}
    for node, row in others.items():
        both = (sets.get(node, NONE), row)
        pairs = sorted({pair for one in both for pair in zip(one.begins, one.ends, strict=True)})
        rows[node] = Ranges(tuple(begin for begin, _ in pairs), tuple(end for _, end in pairs))
    return sets.put(rows)


class LeavesRangesApart(Wrong):
    """Does not join what is asked for in ranges that touch. [DA-24, DA-78]"""

    caught_by: ClassVar = ("asked-by-three-for-what-touches",)
    instead: ClassVar = {"recovery.union": union_of_overlaps}


def begin_by(more: Callable[[State, State, bool], Next]) -> dict[str, Any]:
    """What is replaced to do more where a recovery begins, or would."""

    def begin(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
        return then(BEGIN(state, mine, other, lost=lost, is_reason=is_reason), lambda now: more(state, now, is_reason))

    return {"recovery.begin": begin}


class BeginsWithoutQuestions(Wrong):
    """Forgets what others have asked for when a recovery begins. [DA-78]"""

    caught_by: ClassVar = ("asked-before-a-recovery",)
    instead: ClassVar = begin_by(
        lambda before, now, _: (
            Step(now) if before.recovery is not None else cancel_timer(replace(now, wanted=Table()), recovery.STEP_3)
        )
    )


class EndsLaterForAReason(Wrong):
    """Begins to wait for the end anew with each reason. [DA-74]"""

    caught_by: ClassVar = ("reason-delays-no-end",)
    instead: ClassVar = begin_by(
        lambda before, now, is_reason: (
            set_timer(now, RecoveryOver(), schedule.silence(now.config.clock))
            if is_reason and before.recovery is not None
            else Step(now)
        )
    )


class AsksOnceInARecovery(Wrong):
    """Asks once in each recovery. [DA-77]"""

    caught_by: ClassVar = ("asks-again-after-later-ticks",)
    instead: ClassVar = {
        "recovery._on_ticks": lambda state, info: (
            Step(state) if state.recovery is not None and RepairAllowed() in state.timers else ON_TICKS(state, info)
        )
    }


class AsksAfterTicksOfItsSide(Wrong):
    """Asks only because of ticks of its own side. [DA-77]"""

    caught_by: ClassVar = ("asks-again-after-later-ticks",)
    instead: ClassVar = {
        "recovery._on_ticks": lambda state, info: (
            ON_TICKS(state, info) if state.recovery is None or info.chain.head.node in state.recovery.side else Step(state)
        )
    }


def ask_again(state: State, missing: TickSets) -> Next:
    """The ten clocks run on."""
    taken = ASK_FOR(state, missing)
    is_running = RepairAllowed() in state.timers
    return without_effects(taken, lambda effect: is_running and getattr(effect, "timer", None) == RepairAllowed())


class CountsFromTheFirstQuestion(Wrong):
    """Does not begin the ten clocks anew when it asks again. [D-120, DA-79]"""

    caught_by: ClassVar = ("not-again-for-ten-clocks-from-the-last",)
    instead: ClassVar = {"recovery.ask_for": ask_again}


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


def ticks_of_begins(message: Message) -> Iterable[tuple[Any, int]]:
    """Of known the begin of the last range."""
    if not isinstance(message, Info):
        return TICKS_IN(message)
    begins = [(node, row.begins[-1]) for node, row in message.known.items()]
    return [*TICKS_IN(replace(message, known=Table())), *begins]


def ticks_behind_reasons(message: Message) -> Iterable[tuple[Any, int]]:
    """Of a reason what stands behind its head."""
    if not isinstance(message, Info) or message.reason is None:
        return TICKS_IN(message)
    behind = [(node, tick) for node, tick in message.reason.elements[1:] if tick is not None]
    return [*TICKS_IN(replace(message, reason=None)), *behind]


class LearnsFromBegins(Wrong):
    """Learns from known the begin of the last range. [DA-64]"""

    caught_by: ClassVar = ("ticks-from-the-last-of-several-ranges",)
    instead: ClassVar = ticks_of(ticks_of_begins)


class LearnsFromBehindReasons(Wrong):
    """Learns nothing from the head of a reason. [DA-64]"""

    caught_by: ClassVar = ("ticks-from-whole-chains",)
    instead: ClassVar = ticks_of(ticks_behind_reasons)


class LearnsFromTwoElements(Wrong):
    """Learns from two elements of a chain. [DA-64]"""

    caught_by: ClassVar = ("ticks-from-whole-chains",)
    instead: ClassVar = ticks_of(lambda message: TICKS_IN(replace(message, chain=Chain(message.chain.elements[:2]))))


def hear_updates(state: State, message: Message, pick: Pick) -> Next:
    """An update counts as heard."""
    after, effects = ON_MESSAGE(state, message, pick)
    node = message.chain.head.node
    if isinstance(message, Update) and node != state.self_id:
        after = replace(after, heard=after.heard.put({node: max(message.tock, after.heard.get(node, 0))}))
    return Step(after, effects)


class HearsUpdates(Wrong):
    """Takes a ping below a change of its sender for stale. [DA-31, DA-58]"""

    caught_by: ClassVar = ("not-stale-behind-other-messages",)
    instead: ClassVar = {"transitions.on_message": hear_updates}


def moment_by(names: Callable[[State], Iterable[NodeId]]) -> dict[str, Any]:
    """What is replaced to count these nodes and itself."""

    def early_odds(state: State, chain: Chain, pick: Pick) -> Any:
        if state.position(chain) is not None or (state.message_tick and not chains.is_authoritative(chain)):
            return MOMENT(state, chain, pick)
        (number,) = pick("ping.early", range(schedule.early_odds(len({state.self_id, *names(state)}))))
        clock = state.config.clock
        return schedule.pick_moment(pick, "ping.late", schedule.late_ping(clock)) if number else clock

    return {"election._moment": early_odds}


class CountsWhoHasATick(Wrong):
    """Counts nodes with ticks only. [D-76, DA-39]"""

    caught_by: ClassVar = ("off-the-chain-counted-with-who-has-no-change",)
    instead: ClassVar = moment_by(lambda state: state.ticks)


class CountsWhoHasChanged(Wrong):
    """Does not count nodes with the tick 0. [D-76, DA-39]"""

    caught_by: ClassVar = ("off-the-chain-counted-with-who-has-no-change",)
    instead: ClassVar = moment_by(lambda state: [*state.heard, *(node for node, tick in state.ticks.items() if tick)])


# -- values ------------------------------------------------------------------------------------------------------------


def tell_of_other_values(state: State, update: Update) -> Next:
    """An update, and whether the value is another one."""
    before = state.entries.rows.get(update.path)
    is_same = before is not None and before.value == update.value
    taken = ON_UPDATE(state, update)
    return without_effects(
        taken, lambda effect: is_same and isinstance(effect, Notify) and isinstance(effect.notice, EntryChanged)
    )


class TellsOfOtherValuesOnly(Wrong):
    """Does not tell of a change that sets the value which is there. [DA-84]"""

    caught_by: ClassVar = ("accepted-with-the-same-value",)
    instead: ClassVar = dict.fromkeys(("transitions.on_update", "changes.on_update"), tell_of_other_values)


def pass_over_contradictions(stored: Entries, update: Update, most: int) -> tuple[Entries, Outcome]:
    """Nothing of a contradiction is taken."""
    after, outcome = UPDATED(stored, update, most)
    return (stored if outcome is Outcome.CONTRADICTION else after), outcome


class PassesOverContradictions(Wrong):
    """Remembers no ticks of a contradiction. [DA-18, DA-84]"""

    caught_by: ClassVar = ("contradiction-with-another-chain",)
    instead: ClassVar = {"entries.Entries.apply_update": pass_over_contradictions}


def same_if(is_same: Callable[[Any, Any], bool]) -> dict[str, Any]:
    """What is replaced to take such values for one."""

    def outcome(entry: Entry, arrived: Update) -> Outcome:
        found: Outcome = OUTCOME(entry, arrived)
        is_one = found is Outcome.CONTRADICTION and is_same(unpack(entry.value), unpack(arrived.value))
        return Outcome.DUPLICATE if is_one else found

    return {"entries._outcome": outcome}


class TakesNothingForNothing(Wrong):
    """Takes all that is empty, 0 or false for one value. [DA-92]"""

    caught_by: ClassVar = ("contradiction-of-values-that-look-alike",)
    instead: ClassVar = same_if(lambda one, other: not one and not other)


class ComparesValuesInSmallLetters(Wrong):
    """Compares values without capitals and blanks at their ends. [DA-92]"""

    caught_by: ClassVar = ("contradiction-of-values-that-look-alike",)
    instead: ClassVar = same_if(
        lambda one, other: isinstance(one, str) and isinstance(other, str) and one.strip().lower() == other.strip().lower()
    )


class ComparesValuesInDoubles(Wrong):
    """Compares integers that are values as doubles. [DA-92]"""

    caught_by: ClassVar = ("contradiction-of-values-that-look-alike",)
    instead: ClassVar = same_if(lambda one, other: type(one) is type(other) is int and float(one) == float(other))


def value_of_texts(raw: Any) -> Value:
    """No list and no map is a key."""
    if isinstance(raw, list) and any(isinstance(key, (list, tuple)) for key, _ in raw):
        raise MalformedMessage("bad_type", 0, "a key is a text or a number")
    return VALUE_OF(raw)


class RefusesListsAsKeys(Reading):
    """Refuses values in which keys are lists or maps. [DA-92]"""

    caught_by: ClassVar = ("value-map-of-lists",)
    instead: ClassVar = {"codec.value_of": value_of_texts}


class TakesEmptyKeysForOne(Reading):
    """Takes the empty byte string for the empty string in keys of values. [DA-92]"""

    caught_by: ClassVar = ("value-map-of-empty-keys",)
    instead: ClassVar = {
        "codec.value_of": lambda raw: VALUE_OF(
            [("" if key == b"" else key, value) for key, value in raw] if isinstance(raw, list) else raw
        )
    }


class TakesNullForNoMap(Reading):
    """Takes Null for a map of no nodes. [DA-90]"""

    caught_by: ClassVar = ("reject-known-of-null", "reject-ticks-of-null", "reject-missing-of-null")
    instead: ClassVar = {"codec._by_node": lambda raw, row: BY_NODE([] if raw is None else raw, row)}


class TakesNullForNoRanges(Reading):
    """Takes Null for no ranges. [DA-90]"""

    caught_by: ClassVar = ("reject-known-with-null-for-a-node",)
    instead: ClassVar = {"codec.read_ranges": lambda items: READ_RANGES(() if items is None else items)}
