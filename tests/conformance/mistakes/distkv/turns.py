"""Mistakes about whose turn it is when something comes between, about odd clocks, and with more than a thousand of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Reading, Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import BEGIN, Next
from peerproof.spec.core import Duration, Pick, Step, Table
from peerproof.spec.distkv import election, outgoing, ranges, recovery, schedule, startup
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries, Outcome
from peerproof.spec.distkv.messages import GreetingDue, Info, Ping, RecoveryDue, RecoveryStep, RepairAllowed, Timer, Update
from peerproof.spec.distkv.outgoing import cancel_timer, then
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.ticks import union, with_elements

GREET = recovery.greet
ODDS = schedule.early_odds
ON_INFO = recovery.on_info
ON_MISSING = vars(recovery)["_on_missing"]
ON_OLD_DATA_DUE = startup.on_old_data_due
ON_PING = election.on_ping
ON_PING_DUE = election.on_ping_due
READ_RANGES = ranges.read
SEND_INFO = outgoing.send_info
UPDATED = Entries.apply_update


def rounded_up(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """What is waited, rounded up."""
    return Duration(clock - (clock >> (position + (step is RecoveryStep.MISSING))))


def what_is_kept(entries: Entries, update: Update, most: int) -> tuple[Entries, Outcome]:
    """Of what is not accepted only as much of its chain as would be kept."""
    after, outcome = UPDATED(entries, update, most)
    if outcome in (Outcome.ACCEPT, Outcome.CONFLICT_ACCEPT):
        return after, outcome
    return after._replace(known=with_elements(entries.known, update.chain.within(most).elements)), outcome


def head_greets_at_once(state: State, newcomer: Chain) -> Next:
    """Whatever runs."""
    is_head = state.participates and state.last is not None and state.position(state.last.chain) == 0
    if not is_head or GreetingDue() not in state.timers:
        return GREET(state, newcomer)
    return then(cancel_timer(replace(state, newcomer=newcomer), GreetingDue()), recovery.on_greeting_due)


def its_own_ping_cancels(timer: Timer) -> dict[str, Any]:
    """A ping in place of what else is due."""

    def on_ping_due(state: State, pick: Pick) -> Next:
        return then(ON_PING_DUE(state, pick), lambda now: cancel_timer(now, timer))

    return {"transitions.on_ping_due": on_ping_due}


def allows_repair(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
    """From when a recovery begins."""
    taken = BEGIN(state, mine, other, lost=lost, is_reason=is_reason)
    begins = state.recovery is None and taken.state.recovery is not None
    return then(taken, lambda now: cancel_timer(now, RepairAllowed())) if begins else taken


def answers_the_other_side(state: State, info: Info) -> Next:
    """No answer to its own."""
    found = state.recovery
    if found is None or info.chain.head.node not in found.side:
        answered: Next = ON_MISSING(state, info)
        return answered
    return Step(replace(state, recovery=found._replace(covered=union(found.covered, info.missing))))


def hears(change: Callable[[State, Info], Info]) -> dict[str, Any]:
    """Less of an info."""
    return {"transitions.on_info": lambda state, info: ON_INFO(state, change(state, info))}


def no_download_any_more(state: State) -> Next:
    """Once its old data is sent."""
    taken = ON_OLD_DATA_DUE(state)
    return taken._replace(state=replace(taken.state, source=None)) if taken.state.phase is Phase.READY else taken


def the_last_is_heard(state: State, ping: Ping, pick: Pick) -> Next:
    """Also if it is stale."""
    taken = ON_PING(state, ping, pick)
    return taken._replace(state=replace(taken.state, heard=taken.state.heard.put({ping.chain.head.node: ping.tock})))


def at_most_a_thousand(entries: Entries, update: Update, most: int) -> tuple[Entries, Outcome]:
    """Entries."""
    is_too_many = update.path not in entries.rows and len(entries.rows) >= 1000
    return (entries, Outcome.STALE) if is_too_many else UPDATED(entries, update, most)


def three_at_most(*about: Any) -> Next:
    """Infos."""
    taken = SEND_INFO(*about)
    return taken._replace(effects=taken.effects[:3])


class StopsWhenNothingIsWanted(Wrong):
    """Waits no longer to answer when others have answered all. [DA-78]"""

    caught_by: ClassVar = ("asked-anew-while-the-time-runs",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """After each event."""
        taken = super().step(state, event, pick)
        has_ended = bool(state.wanted) and not taken.state.wanted
        return then(taken, lambda now: cancel_timer(now, RecoveryDue(RecoveryStep.KNOWN))) if has_ended else taken


class ReadsAThousandRanges(Reading):
    """Reads no more than 1,000 ranges of a node. [D-28]"""

    caught_by: ClassVar = ("known-of-1100-ranges",)
    instead: ClassVar = {"ranges.read": lambda items: READ_RANGES(items[:1000] if type(items) is tuple else items)}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "RoundsDelaysUp": (
            "Rounds delays up. [DA-62]",
            {"schedule.recovery": rounded_up},
            "greets-with-an-odd-clock",
        ),
        "RoundsWindowsUp": (
            "Rounds two and a half clocks up. [DA-62]",
            {"schedule.late_ping": lambda clock: schedule.Window(Duration((5 * clock + 1) // 2), Duration(3 * clock))},
            "off-the-chain-late-with-an-odd-clock",
        ),
        "KnowsWhatItWouldKeep": (
            "Does not know what its maximum would have cut off a change that is not accepted. [D-58]",
            {"entries.Entries.apply_update": what_is_kept},
            "stale-and-longer-than-the-own-maximum",
        ),
        "HeadGreetsAtOnce": (
            "Answers at once as the head, although the time of an answer runs. [DA-68]",
            {"election.greet": head_greets_at_once},
            "greets-at-its-turn-although-it-is-the-head-by-then",
        ),
        "PingsInsteadOfGreeting": (
            "Takes its own ping for an answer to newcomers. [DA-68]",
            its_own_ping_cancels(GreetingDue()),
            "greets-at-its-turn-although-it-is-the-head-by-then",
        ),
        "PingsInsteadOfTicks": (
            "Takes its own ping for its ticks. [DA-76]",
            its_own_ping_cancels(RecoveryDue(RecoveryStep.TICKS)),
            "ticks-after-its-own-ping",
        ),
        "PingsInsteadOfAnswering": (
            "Takes its own ping for what it was asked for. [DA-78]",
            its_own_ping_cancels(RecoveryDue(RecoveryStep.KNOWN)),
            "answers-after-its-own-ping",
        ),
        "SplitsAllowRepair": (
            "Forgets when it has asked last as soon as a recovery begins. [D-120]",
            {"recovery.begin": allows_repair},
            "a-split-allows-nothing",
        ),
        "AnswersTheOtherSideOnly": (
            "Does not answer its own side in a recovery. [DA-78]",
            {"recovery._on_missing": answers_the_other_side},
            "answers-its-own-side-in-a-recovery",
        ),
        "OldNodesTakeNoKnown": (
            "Takes what is known only if it has no old data. [DA-04]",
            hears(lambda state, info: replace(info, known=Table()) if state.phase is Phase.OLD else info),
            "old-nodes-hear-what-is-known",
        ),
        "SettlingNodesTakeNoReason": (
            "Begins no recovery because of a reason before it is ready. [DA-50]",
            hears(lambda state, info: replace(info, reason=None) if state.phase is Phase.SETTLING else info),
            "settling-nodes-recover-because-of-a-reason",
        ),
        "OldDataEndsTheDownload": (
            "Forgets whom it is downloading from when it sends its old data. [DA-73]",
            {"transitions.on_old_data_due": no_download_any_more},
            "old-data-and-a-download-that-comes-after-all",
        ),
        "HearsTheLast": (
            "Keeps the tock of a node's last ping, and not the highest. [DA-69]",
            {"transitions.on_ping": the_last_is_heard},
            "stale-behind-a-stale-one",
        ),
        "OddsOfTenNodes": (
            "Draws from no more than a hundred numbers. [DA-39]",
            {"schedule.early_odds": lambda nodes: ODDS(min(10, nodes))},
            "off-the-chain-with-twelve-known",
        ),
        "ThreeInfosAtMost": (
            "Divides what would not fit into no more than three infos. [DA-82]",
            {"recovery.send_info": three_at_most},
            "ticks-in-as-many-infos-as-it-takes",
        ),
        "AThousandEntries": (
            "Keeps no more than a thousand entries. [DA-58]",
            {"entries.Entries.apply_update": at_most_a_thousand},
            "loads-beyond-a-thousand",
        ),
    },
)
__getattr__ = MISTAKES.find
