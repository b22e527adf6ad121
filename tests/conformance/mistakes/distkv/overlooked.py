"""Mistakes where two things meet: an end and an answer, two lists in a row, a cut and an end, the last of five elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Reading, Wrong
from tests.support.variant import variants, without_effects

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


def last_list_counts(state: State, info: Info) -> Next:
    """Of two lists of its side the last one."""
    after, effects = ON_MISSING(state, info)
    if after.recovery is not None and info.chain.head.node in after.recovery.side:
        after = replace(after, recovery=after.recovery._replace(covered=info.missing))
    return Step(after, effects)


def knows_itself(state: State, info: Info) -> Next:
    """Who is told of itself settles."""
    after, effects = ON_INFO(state, info)
    is_told = state.phase is Phase.EMPTY and after.own_tick and info.known
    return Step(replace(after, phase=Phase.SETTLING) if is_told else after, effects)


def agree_if_any_is_cut(one: Chain, other: Chain) -> bool:
    """Whichever of the two was cut."""
    shorter, longer = sorted((one, other), key=lambda chain: len(chain.elements))
    common = len(shorter.elements)
    return longer.elements[:common] == shorter.elements and (one.cut or other.cut or len(longer.elements) == common)


def has_seen_in_four(chain: Chain, head: Element) -> bool:
    """The first four elements."""
    seen: bool = HAS_SEEN(Chain(chain.elements[:4], chain.cut), head)
    return seen


# -- what is asked for, and when ---------------------------------------------------------------------------------------


def answered_by_others(state: State, update: Update) -> Next:
    """An update of its own answers nothing."""
    after, effects = ON_UPDATE(state, update)
    return Step(replace(after, wanted=state.wanted) if update.chain.head.node == state.self_id else after, effects)


def answer_by_last(state: State, info: Info) -> Next:
    """Who is off its chain from before goes by the last one."""
    if state.recovery is None or state.position(state.recovery.mine) is not None or state.last is None:
        right: Next = ON_MISSING(state, info)
        return right
    after, effects = ON_MISSING(replace(state, recovery=state.recovery._replace(mine=state.last.chain)), info)
    mine = state.recovery.mine
    return Step(replace(after, recovery=after.recovery and after.recovery._replace(mine=mine)), effects)


def union_of_overlaps(sets: TickSets, others: Mapping[NodeId, Ranges]) -> TickSets:
    """What is in one or the other, in ranges that may touch."""
    rows = {}
    for node, row in others.items():
        both = (sets.get(node, NONE), row)
        pairs = sorted({pair for one in both for pair in zip(one.begins, one.ends, strict=True)})
        rows[node] = Ranges(tuple(begin for begin, _ in pairs), tuple(end for _, end in pairs))
    return sets.put(rows)


def begin_by(more: Callable[[State, State, bool], Next]) -> dict[str, Any]:
    """What is replaced to do more where a recovery begins, or would."""

    def begin(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
        return then(BEGIN(state, mine, other, lost=lost, is_reason=is_reason), lambda now: more(state, now, is_reason))

    return {"recovery.begin": begin}


def ask_again(state: State, missing: TickSets) -> Next:
    """The ten clocks run on."""
    taken = ASK_FOR(state, missing)
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


def hear_updates(state: State, message: Message, pick: Pick) -> Next:
    """An update counts as heard."""
    after, effects = ON_MESSAGE(state, message, pick)
    node = message.chain.head.node
    if isinstance(message, Update) and node != state.self_id:
        after = replace(after, heard=after.heard.put({node: max(message.tock, after.heard.get(node, 0))}))
    return Step(after, effects)


def moment_by(names: Callable[[State], Iterable[NodeId]]) -> dict[str, Any]:
    """What is replaced to count these nodes and itself."""

    def early_odds(state: State, chain: Chain, pick: Pick) -> Any:
        if state.position(chain) is not None or (state.message_tick and not chains.is_authoritative(chain)):
            return MOMENT(state, chain, pick)
        (number,) = pick("ping.early", range(schedule.early_odds(len({state.self_id, *names(state)}))))
        clock = state.config.clock
        return schedule.pick_moment(pick, "ping.late", schedule.late_ping(clock)) if number else clock

    return {"election._moment": early_odds}


# -- values ------------------------------------------------------------------------------------------------------------


def tell_of_other_values(state: State, update: Update) -> Next:
    """An update, and whether the value is another one."""
    before = state.entries.rows.get(update.path)
    is_same = before is not None and before.value == update.value
    taken = ON_UPDATE(state, update)
    return without_effects(
        taken, lambda effect: is_same and isinstance(effect, Notify) and isinstance(effect.notice, EntryChanged)
    )


def pass_over_contradictions(stored: Entries, update: Update, most: int) -> tuple[Entries, Outcome]:
    """Nothing of a contradiction is taken."""
    after, outcome = UPDATED(stored, update, most)
    return (stored if outcome is Outcome.CONTRADICTION else after), outcome


def same_if(is_same: Callable[[Any, Any], bool]) -> dict[str, Any]:
    """What is replaced to take such values for one."""

    def outcome(entry: Entry, arrived: Update) -> Outcome:
        found: Outcome = OUTCOME(entry, arrived)
        is_one = found is Outcome.CONTRADICTION and is_same(unpack(entry.value), unpack(arrived.value))
        return Outcome.DUPLICATE if is_one else found

    return {"entries._outcome": outcome}


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


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "LooksOnceForOldData": (
            "Looks once whether others know better, and waits for them for ever. [DA-51, DX-21]",
            {"transitions.on_old_data_due": lambda state: Step(state) if is_authoritative_for(state) else ON_OLD_DATA_DUE(state)},
            "old-data-when-its-source-has-gone old-data-when-nobody-answers",
        ),
        "ForgetsWhatIsWanted": (
            "Forgets with its recovery what others have asked for. [DA-78]",
            {"transitions.on_recovery_over": lambda state: ON_RECOVERY_OVER(replace(state, wanted=Table()))},
            "over-before-an-answer",
        ),
        "CancelsAnAnswer": (
            "Cancels all timers when its recovery is over, that of an answer too. [DA-74, DA-78]",
            {
                "transitions.on_recovery_over": lambda state: then(
                    ON_RECOVERY_OVER(state), lambda now: cancel_timer(now, recovery.STEP_3)
                )
            },
            "over-before-an-answer",
        ),
        "CoversTheLastList": (
            "Takes only the last list of its side for covered. [DA-77]",
            {"recovery._on_missing": last_list_counts},
            "missing-without-two-lists-that-are-covered",
        ),
        "SettlesWhenToldOfItself": (
            "Takes part when it is told of ticks of its own. [D-123]",
            {"transitions.on_info": knows_itself},
            "empty-and-told-of-itself",
        ),
        "AgreesIfAnyIsCut": (
            "Takes a chain that has ended for the beginning of a longer one that was cut. [DA-32]",
            dict.fromkeys(("chains.agree", "pings.agree", "recovery.agree"), agree_if_any_is_cut),
            "next-but-for-a-chain-that-goes-on",
        ),
        "CutsTheOtherLikeItsOwn": (
            "Takes the other side's chain for cut if its own was. [DA-32, DA-75]",
            {"recovery.side_of": lambda mine, other: SIDE_OF(mine, Chain(other.elements, mine.cut))},
            "side-up-to-the-cut-of-the-other",
        ),
        "ComparesFourElements": (
            "Does not look at the fifth element of a chain. [D-22]",
            {"chains._has_seen": has_seen_in_four},
            "stale-behind-four-later-ones after-four-others",
        ),
        "NotAnsweredByAnEcho": (
            "Answers although an update of its own has come back that says it. [DA-54, DA-78]",
            dict.fromkeys(("transitions.on_update", "changes.on_update"), answered_by_others),
            "answered-by-an-echo",
        ),
        "AnswersWhenReady": (
            "Answers nothing before it is ready, although it takes part. [DA-59, DA-78]",
            {"recovery._on_missing": lambda state, info: ON_MISSING(state, info) if state.phase is Phase.READY else Step(state)},
            "settling-nodes-answer",
        ),
        "AnswersByLastOffTheChain": (
            "Goes by the last chain in a recovery if it is off the one from before. [DA-78]",
            {"recovery._on_missing": answer_by_last},
            "answers-off-the-chain-from-before",
        ),
        "LeavesRangesApart": (
            "Does not join what is asked for in ranges that touch. [DA-24, DA-78]",
            {"recovery.union": union_of_overlaps},
            "asked-by-three-for-what-touches",
        ),
        "BeginsWithoutQuestions": (
            "Forgets what others have asked for when a recovery begins. [DA-78]",
            begin_by(
                lambda before, now, _: (
                    Step(now) if before.recovery is not None else cancel_timer(replace(now, wanted=Table()), recovery.STEP_3)
                )
            ),
            "asked-before-a-recovery",
        ),
        "EndsLaterForAReason": (
            "Begins to wait for the end anew with each reason. [DA-74]",
            begin_by(
                lambda before, now, is_reason: (
                    set_timer(now, RecoveryOver(), schedule.silence(now.config.clock))
                    if is_reason and before.recovery is not None
                    else Step(now)
                )
            ),
            "reason-delays-no-end",
        ),
        "AsksOnceInARecovery": (
            "Asks once in each recovery. [DA-77]",
            {
                "recovery._on_ticks": lambda state, info: (
                    Step(state) if state.recovery is not None and RepairAllowed() in state.timers else ON_TICKS(state, info)
                )
            },
            "asks-again-after-later-ticks",
        ),
        "AsksAfterTicksOfItsSide": (
            "Asks only because of ticks of its own side. [DA-77]",
            {
                "recovery._on_ticks": lambda state, info: (
                    ON_TICKS(state, info)
                    if state.recovery is None or info.chain.head.node in state.recovery.side
                    else Step(state)
                )
            },
            "asks-again-after-later-ticks",
        ),
        "CountsFromTheFirstQuestion": (
            "Does not begin the ten clocks anew when it asks again. [D-120, DA-79]",
            {"recovery.ask_for": ask_again},
            "not-again-for-ten-clocks-from-the-last",
        ),
        "LearnsFromBegins": (
            "Learns from known the begin of the last range. [DA-64]",
            ticks_of(ticks_of_begins),
            "ticks-from-the-last-of-several-ranges",
        ),
        "LearnsFromBehindReasons": (
            "Learns nothing from the head of a reason. [DA-64]",
            ticks_of(ticks_behind_reasons),
            "ticks-from-whole-chains",
        ),
        "LearnsFromTwoElements": (
            "Learns from two elements of a chain. [DA-64]",
            ticks_of(lambda message: TICKS_IN(replace(message, chain=Chain(message.chain.elements[:2])))),
            "ticks-from-whole-chains",
        ),
        "HearsUpdates": (
            "Takes a ping below a change of its sender for stale. [DA-31, DA-58]",
            {"transitions.on_message": hear_updates},
            "not-stale-behind-other-messages",
        ),
        "CountsWhoHasATick": (
            "Counts nodes with ticks only. [D-76, DA-39]",
            moment_by(lambda state: state.ticks),
            "off-the-chain-counted-with-who-has-no-change",
        ),
        "CountsWhoHasChanged": (
            "Does not count nodes with the tick 0. [D-76, DA-39]",
            moment_by(lambda state: [*state.heard, *(node for node, tick in state.ticks.items() if tick)]),
            "off-the-chain-counted-with-who-has-no-change",
        ),
        "TellsOfOtherValuesOnly": (
            "Does not tell of a change that sets the value which is there. [DA-84]",
            dict.fromkeys(("transitions.on_update", "changes.on_update"), tell_of_other_values),
            "accepted-with-the-same-value",
        ),
        "PassesOverContradictions": (
            "Remembers no ticks of a contradiction. [DA-18, DA-84]",
            {"entries.Entries.apply_update": pass_over_contradictions},
            "contradiction-with-another-chain",
        ),
        "TakesNothingForNothing": (
            "Takes all that is empty, 0 or false for one value. [DA-92]",
            same_if(lambda one, other: not one and not other),
            "contradiction-of-values-that-look-alike",
        ),
        "ComparesValuesInSmallLetters": (
            "Compares values without capitals and blanks at their ends. [DA-92]",
            same_if(
                lambda one, other: (
                    isinstance(one, str) and isinstance(other, str) and one.strip().lower() == other.strip().lower()
                )
            ),
            "contradiction-of-values-that-look-alike",
        ),
        "ComparesValuesInDoubles": (
            "Compares integers that are values as doubles. [DA-92]",
            same_if(lambda one, other: type(one) is type(other) is int and float(one) == float(other)),
            "contradiction-of-values-that-look-alike",
        ),
    },
)
__getattr__ = MISTAKES.find
