"""
Infos and requests: to newcomers, after a split has healed, and when changes are missing.

[D-87…D-89, D-98, D-111…D-120, D-125…D-127, DA-68, DA-74…DA-79, DA-87]
"""

from __future__ import annotations

from peerproof.spec.core import Notify, Pick, Step, Table, replace
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain, agree, side_of
from peerproof.spec.distkv.entries import answer
from peerproof.spec.distkv.messages import (
    GreetingDue,
    Info,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    SplitHealed,
)
from peerproof.spec.distkv.outgoing import Next, cancel_timer, send_again, send_info, set_timer, then
from peerproof.spec.distkv.state import Recovery, State
from peerproof.spec.distkv.ticks import Ticks, TickSets, difference, intersection, union

STEP_1, STEP_2, STEP_3 = RecoveryDue(RecoveryStep.TICKS), RecoveryDue(RecoveryStep.MISSING), RecoveryDue(RecoveryStep.KNOWN)


def greet(state: State, newcomer: Chain) -> Next:
    """Answers a start-up ping, in turn with the others on the chain. [D-98, DA-43, DA-68]"""
    place = state.position(None if state.last is None else state.last.chain)
    if place is None or not state.participates:
        return Step(state)
    after = replace(state, newcomer=newcomer)
    if GreetingDue() in state.timers:
        return Step(after)
    delay = schedule.recovery(state.config.clock, RecoveryStep.TICKS, place)
    return set_timer(after, GreetingDue(), delay) if delay else on_greeting_due(after)


def on_greeting_due(state: State) -> Next:
    """Answers the newcomer, since no node before this one has. [D-98, DA-68]"""
    return tell_ticks(replace(state, newcomer=None), state.newcomer, None)


def tell_ticks(state: State, prev: Chain | None, reason: Chain | None) -> Next:
    """Sends the last known tick of each node; in a recovery the next step follows. [D-65, DA-77]"""
    return then(send_info(state, "ticks", state.ticks, prev, reason), _next_is_missing)


def begin(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
    """A split has healed: this node has another chain than the sender, and takes its turn in step 1. [DA-74, DA-76]"""
    if not state.participates or state.recovery is not None:
        return Step(state)
    recovery = Recovery(mine, side_of(mine, other), lost, None if is_reason else other)
    begun = Step(replace(state, recovery=recovery), (Notify(SplitHealed()),))
    over = schedule.silence(state.config.clock)
    place = state.position(mine)
    taken = then(begun, lambda now: set_timer(now, RecoveryOver(), over))
    if place is None:
        return taken
    delay = schedule.recovery(state.config.clock, RecoveryStep.TICKS, place)
    return then(taken, (lambda now: set_timer(now, STEP_1, delay)) if delay else on_ticks_due)


def on_ticks_due(state: State) -> Next:
    """Step 1: sends the ticks, with the chain that lost, if it is this side's. [D-113, DA-50, DA-76]"""
    recovery = state.recovery
    if recovery is None:
        return Step(state)
    return tell_ticks(state, recovery.ping, recovery.mine if recovery.lost else None)


def _next_is_missing(state: State) -> Next:
    """Ticks were sent or received: schedules the request for missing changes. [D-115, DA-77]"""
    recovery = state.recovery
    place = state.position(None if recovery is None else recovery.mine)
    if place is None or STEP_2 in state.timers:
        return Step(state)
    return set_timer(state, STEP_2, schedule.recovery(state.config.clock, RecoveryStep.MISSING, place))


def on_missing_due(state: State) -> Next:
    """Step 2: requests missing changes, except those that others of this side have requested. [D-115, DA-77]"""
    covered: TickSets = Table() if state.recovery is None else state.recovery.covered
    return ask_for(state, difference(state.missing, covered))


def ask_for(state: State, missing: TickSets) -> Next:
    """Requests changes, and blocks further requests for a while. [D-67, D-120]"""
    if not missing:
        return Step(state)
    allowed = schedule.repair_allowed(state.config.clock)
    return then(send_info(state, "missing", missing), lambda now: set_timer(now, RepairAllowed(), allowed))


def on_known_due(state: State) -> Next:
    """Step 3: sends the requested changes, and reports those that are superseded. [D-116, D-117, DA-78]"""
    updates, known, _ = answer(state.entries, state.wanted)
    return then(
        send_again(replace(state, wanted=Table()), updates),
        lambda now: send_info(now, "known", known) if known else Step(now),
    )


def on_recovery_over(state: State) -> Next:
    """Ends the recovery. [DA-74]"""
    return then(Step(replace(state, recovery=None)), lambda now: cancel_timer(now, STEP_1), lambda now: cancel_timer(now, STEP_2))


def on_info(state: State, info: Info) -> Next:
    """Handles an info of another node: known ticks, superseded changes, missing changes. [DA-87]"""
    taken: Next = Step(state)
    if info.reason is not None:
        reason = info.reason
        taken = then(taken, lambda now: _on_reason(now, reason))
    if info.ticks:
        taken = then(taken, lambda now: _on_ticks(now, info))
    if info.known:
        taken = then(
            taken, lambda now: Step(without_wanted(replace(now, entries=now.entries.mark_superseded(info.known)), info.known))
        )
    if info.missing:
        taken = then(taken, lambda now: _on_missing(now, info))
    return taken


def _on_reason(state: State, reason: Chain) -> Next:
    """Another side has lost; if this is the winning side, it recovers as well. [D-70, DA-50]"""
    if state.last is None or agree(state.last.chain, reason):
        return Step(state)
    return begin(state, state.last.chain, reason, lost=False, is_reason=True)


def _on_ticks(state: State, info: Info) -> Next:
    """Another node has taken step 1, or has answered the newcomer. [D-89, DA-05, DA-68, DA-76, DA-77]"""
    taken: Next = Step(state)
    recovery = state.recovery
    if _says_it_all(info.ticks, state.ticks):
        if GreetingDue() in state.timers:
            taken = then(cancel_timer(state, GreetingDue()), lambda now: Step(replace(now, newcomer=None)))
        if recovery is not None and info.chain.head.node in recovery.side and (info.reason is not None or not recovery.lost):
            taken = then(taken, lambda now: cancel_timer(now, STEP_1))
    return then(taken, _next_is_missing)


def _says_it_all(ticks: Ticks, mine: Ticks) -> bool:
    """Whether these are nowhere below the own ones; a node that is not listed counts as 0."""
    return all(ticks.get(node, 0) >= tick for node, tick in mine.items())


def _on_missing(state: State, info: Info) -> Next:
    """Another node misses changes: this node answers in its turn with those that it knows. [D-68, DA-47, DA-77, DA-78]"""
    if not state.participates:
        return Step(state)
    recovery = state.recovery
    if recovery is not None and info.chain.head.node in recovery.side:
        recovery = recovery._replace(covered=union(recovery.covered, info.missing))
    known = intersection(info.missing, state.entries.known)
    after = replace(state, recovery=recovery, wanted=union(state.wanted, known))
    if not after.wanted or STEP_3 in state.timers:
        return Step(after)
    chain = recovery.mine if recovery is not None else state.last.chain if state.last is not None else None
    place = state.position(chain)
    place = state.config.ping_length if place is None else place
    delay = schedule.recovery(state.config.clock, RecoveryStep.KNOWN, place)
    return set_timer(after, STEP_3, delay) if delay else on_known_due(after)


def without_wanted(state: State, said: TickSets) -> State:
    """Drops changes that another node has sent from the requested ones. [DA-78]"""
    return replace(state, wanted=difference(state.wanted, said)) if state.wanted else state


def look_for_repair(state: State, pick: Pick) -> Next:
    """Schedules a request for missing changes, if there are any; runs after each event. [D-119, D-120, DA-08, DA-79]"""
    may_ask = state.participates and state.recovery is None and RepairAllowed() not in state.timers
    if not (may_ask and state.misses):
        return cancel_timer(state, RepairDue())
    if RepairDue() in state.timers:
        return Step(state)
    return set_timer(state, RepairDue(), schedule.pick_moment(pick, "repair.moment", schedule.repair(state.config.clock)))
