"""Mistakes about whose turn it is when something comes between, about odd clocks, and with more than a thousand of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, after, around, with_values

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Duration, Pick, Step, Table
from peerproof.spec.distkv import recovery, schedule
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries, Outcome
from peerproof.spec.distkv.messages import GreetingDue, Info, Ping, RecoveryDue, RecoveryStep, RepairAllowed, Timer, Update
from peerproof.spec.distkv.outgoing import cancel_timer, then
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.ticks import union, with_elements

wrong = Variants(__name__, Wrong)


@wrong("entries.Entries.apply_update", "stale-and-longer-than-the-own-maximum")
def KnowsWhatItWouldKeep(right: Any, entries: Entries, update: Update, most: int) -> Any:
    """Does not know what its maximum would have cut off a change that is not accepted. [D-58]"""
    after, outcome = right(entries, update, most)
    if outcome in (Outcome.ACCEPT, Outcome.CONFLICT_ACCEPT):
        return after, outcome
    return after._replace(known=with_elements(entries.known, update.chain.within(most).elements)), outcome


@wrong("election.greet", "greets-at-its-turn-although-it-is-the-head-by-then")
def HeadGreetsAtOnce(right: Any, state: State, newcomer: Chain) -> Any:
    """Answers at once as the head, although the time of an answer runs. [DA-68]"""
    is_head = state.participates and state.last is not None and state.position(state.last.chain) == 0
    if not is_head or GreetingDue() not in state.timers:
        return right(state, newcomer)
    return then(cancel_timer(replace(state, newcomer=newcomer), GreetingDue()), recovery.on_greeting_due)


def its_own_ping_cancels(timer: Timer) -> dict[str, Any]:
    """A ping in place of what else is due."""
    return around(
        "transitions.on_ping_due", lambda right, state, pick: then(right(state, pick), lambda now: cancel_timer(now, timer))
    )


@wrong("recovery.begin", "a-split-allows-nothing")
def SplitsAllowRepair(right: Any, state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Any:
    """Forgets when it has asked last as soon as a recovery begins. [D-120]"""
    taken = right(state, mine, other, lost=lost, is_reason=is_reason)
    begins = state.recovery is None and taken.state.recovery is not None
    return then(taken, lambda now: cancel_timer(now, RepairAllowed())) if begins else taken


@wrong("recovery._on_missing", "answers-its-own-side-in-a-recovery")
def AnswersTheOtherSideOnly(right: Any, state: State, info: Info) -> Any:
    """Does not answer its own side in a recovery. [DA-78]"""
    found = state.recovery
    if found is None or info.chain.head.node not in found.side:
        answered: Next = right(state, info)
        return answered
    return Step(replace(state, recovery=found._replace(covered=union(found.covered, info.missing))))


def hears(change: Callable[[State, Info], Info]) -> dict[str, Any]:
    """Less of an info."""
    return around("transitions.on_info", lambda right, state, info: right(state, change(state, info)))


@wrong.after("transitions.on_ping", "stale-behind-a-stale-one")
def HearsTheLast(taken: Any, state: State, ping: Ping, pick: Pick) -> Any:
    """Keeps the tock of a node's last ping, and not the highest. [DA-69]"""
    return with_values(taken, heard=taken.state.heard.put({ping.chain.head.node: ping.tock}))


@wrong("entries.Entries.apply_update", "loads-beyond-a-thousand")
def AThousandEntries(right: Any, entries: Entries, update: Update, most: int) -> Any:
    """Keeps no more than a thousand entries. [DA-58]"""
    is_too_many = update.path not in entries.rows and len(entries.rows) >= 1000
    return (entries, Outcome.STALE) if is_too_many else right(entries, update, most)


@wrong("recovery.send_info", "ticks-in-as-many-infos-as-it-takes")
def ThreeInfosAtMost(right: Any, *about: Any) -> Any:
    """Divides what would not fit into no more than three infos. [DA-82]"""
    taken = right(*about)
    return taken._replace(effects=taken.effects[:3])


@wrong.after("step", "asked-anew-while-the-time-runs")
def StopsWhenNothingIsWanted(taken: Any, state: State, event: Any, pick: Pick) -> Any:
    """Waits no longer to answer when others have answered all. [DA-78]"""
    has_ended = bool(state.wanted) and not taken.state.wanted
    return then(taken, lambda now: cancel_timer(now, RecoveryDue(RecoveryStep.KNOWN))) if has_ended else taken


wrong |= {
    # Forgets whom it is downloading from when it sends its old data. [DA-73]
    "OldDataEndsTheDownload: old-data-and-a-download-that-comes-after-all": after(
        "transitions.on_old_data_due",
        lambda taken, *_: with_values(taken, source=None) if taken.state.phase is Phase.READY else taken,
    ),
    # Reads no more than 1,000 ranges of a node. [D-28]
    "ReadsAThousandRanges: known-of-1100-ranges": around(
        "ranges.read", lambda right, items: right(items[:1000] if type(items) is tuple else items)
    ),
    # Rounds delays up. [DA-62]
    "RoundsDelaysUp: greets-with-an-odd-clock": {
        "schedule.recovery": lambda clock, step, position: Duration(
            clock - (clock >> (position + (step is RecoveryStep.MISSING)))
        )
    },
    # Rounds two and a half clocks up. [DA-62]
    "RoundsWindowsUp: off-the-chain-late-with-an-odd-clock": {
        "schedule.late_ping": lambda clock: schedule.Window(Duration((5 * clock + 1) // 2), Duration(3 * clock))
    },
    # Takes its own ping for an answer to newcomers. [DA-68]
    "PingsInsteadOfGreeting: greets-at-its-turn-although-it-is-the-head-by-then": its_own_ping_cancels(GreetingDue()),
    # Takes its own ping for its ticks. [DA-76]
    "PingsInsteadOfTicks: ticks-after-its-own-ping": its_own_ping_cancels(RecoveryDue(RecoveryStep.TICKS)),
    # Takes its own ping for what it was asked for. [DA-78]
    "PingsInsteadOfAnswering: answers-after-its-own-ping": its_own_ping_cancels(RecoveryDue(RecoveryStep.KNOWN)),
    # Takes what is known only if it has no old data. [DA-04]
    "OldNodesTakeNoKnown: old-nodes-hear-what-is-known": hears(
        lambda state, info: replace(info, known=Table()) if state.phase is Phase.OLD else info
    ),
    # Begins no recovery because of a reason before it is ready. [DA-50]
    "SettlingNodesTakeNoReason: settling-nodes-recover-because-of-a-reason": hears(
        lambda state, info: replace(info, reason=None) if state.phase is Phase.SETTLING else info
    ),
    # Draws from no more than a hundred numbers. [DA-39]
    "OddsOfTenNodes: off-the-chain-with-twelve-known": around("schedule.early_odds", lambda right, nodes: right(min(10, nodes))),
}
__getattr__ = wrong.find
