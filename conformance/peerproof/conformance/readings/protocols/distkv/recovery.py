"""Other readings of DistKV's document for infos and requests: after a split, and when messages were lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Duration, Pick, Step, Table
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Answer, Entries, answer
from peerproof.spec.distkv.messages import Info, RecoveryStep
from peerproof.spec.distkv.outgoing import Next, cancel_timer, send_info, then
from peerproof.spec.distkv.recovery import (
    STEP_2,
    _next_is_missing,
    _on_missing,
    _on_reason,
    begin,
    on_info,
    tell_ticks,
)
from peerproof.spec.distkv.schedule import REPAIR, Window
from peerproof.spec.distkv.schedule import recovery as delay_of
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import TickSets, intersection
from peerproof.spec.overrides import overriding

Right = Callable[..., Next]
READINGS: Final = Readings()


@READINGS.register("DA-04", "all-seen", "entries.answer")
def _answer_with_all_seen(entries: Entries, missing: TickSets) -> Answer:
    """A `known` message holds all that the sender has seen of what was asked for, also what it has sent again."""
    found = answer(entries, missing)
    return found._replace(known=intersection(missing, entries.known))


def _hear_any_missing(state: State, info: Info) -> Next:
    taken = _on_missing(state, info)
    recovery = taken.state.recovery
    is_of_side = recovery is not None and info.chain.head.node in recovery.side
    return then(taken, lambda now: cancel_timer(now, STEP_2)) if is_of_side else taken


READINGS.add(
    "DA-05",
    "whatever-it-holds",
    "A message of a node of its own side keeps a node from sending, whatever the message holds.",
    instead={"recovery._says_it_all": lambda *_: True, "recovery._on_missing": _hear_any_missing},
)


def _part_of_length(length: int, clock: Duration, step: RecoveryStep, position: int) -> Duration:
    return Duration(position * clock // length) if step is RecoveryStep.TICKS else delay_of(clock, step, position)


@lru_cache
def _by_length(length: int) -> overriding:
    return overriding({"peerproof.spec.distkv.schedule.recovery": partial(_part_of_length, length)})


@READINGS.register("DA-06", "by-length", "step")
def _delay_by_length(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """In step 1 a node at the position p waits for p·clock/length."""
    with _by_length(state.config.ping_length):
        return right(state, event, pick)


@READINGS.register("DA-07", "half-a-clock-more", "schedule.recovery")
def _after_half_a_clock(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """In step 2 each node waits for half a clock more than in the others."""
    if step is not RecoveryStep.MISSING:
        return delay_of(clock, step, position)
    return Duration(clock // 2 + delay_of(clock, RecoveryStep.KNOWN, position))


@READINGS.register("DA-07", "as-other-steps", "schedule.recovery")
def _as_other_steps(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """In step 2 nodes wait as in the others: half a tick is no time that the document has."""
    return delay_of(clock, RecoveryStep.KNOWN if step is RecoveryStep.MISSING else step, position)


READINGS.add(
    "DA-08",
    "never",
    "Missing changes are asked for only after a split.",
    instead={"recovery.look_for_repair": lambda state, _: Step(state)},
)


@READINGS.register("DA-44", "always", "outgoing.send_info")
def _refer_to_last(
    state: State, what: str, rows: Mapping[Any, Any], prev: Chain | None = None, reason: Chain | None = None
) -> Next:
    """An info that answers no ping refers to the last one."""
    return send_info(state, what, rows, prev or (None if state.last is None else state.last.chain), reason)


@READINGS.register("DA-45", "of-others", "recovery.tell_ticks")
def _tell_of_others(state: State, prev: Chain | None, reason: Chain | None) -> Next:
    """A node leaves itself out of its `ticks`."""
    rows = Table({node: tick for node, tick in state.ticks.items() if node != state.self_id})
    return then(send_info(state, "ticks", rows, prev, reason), _next_is_missing)


@READINGS.register("DA-47", "everybody-at-once", "schedule.recovery")
def _send_at_once(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """Any node that sees a request for missing changes sends them again, and at once."""
    return Duration(0) if step is RecoveryStep.KNOWN else delay_of(clock, step, position)


READINGS.add(
    "DA-47",
    "all-the-same",
    "Changes that were seen meanwhile are sent again nevertheless.",
    instead={"recovery.without_wanted": lambda state, _: state},
)


@READINGS.register("DA-50", "always", "recovery.on_ticks_due")
def _give_reason_always(state: State) -> Next:
    """The losing side's chain is in the first step whichever side wins."""
    recovery = state.recovery
    if recovery is None:
        return Step(state)
    return tell_ticks(state, recovery.ping, recovery.mine if recovery.lost else recovery.ping)


@READINGS.register("DA-50", "on-the-chain", "recovery._on_reason")
def _begin_on_the_chain(state: State, reason: Chain) -> Next:
    """Because of a reason only the nodes on the chain of the last ping begin to recover."""
    if state.last is None or state.position(state.last.chain) is None:
        return Step(state)
    return _on_reason(state, reason)


@READINGS.register("DA-74", "begins-anew", "recovery.begin")
def _begin_anew(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
    """A split that is seen during a recovery begins another."""
    return begin(replace(state, recovery=None), mine, other, lost=lost, is_reason=is_reason)


READINGS.add(
    "DA-75",
    "whole-chain",
    "The side of a node is all nodes on its chain.",
    instead={"chains.side_of": lambda mine, _: frozenset(node for node, _ in mine.elements)},
)


@READINGS.register("DA-78", "on-the-chain", "recovery._on_missing")
def _answer_on_the_chain(state: State, info: Info) -> Next:
    """Only nodes on the chain send missing changes again."""
    recovery = state.recovery
    chain = recovery.mine if recovery is not None else state.last.chain if state.last is not None else None
    return _on_missing(state, info) if state.position(chain) is not None else Step(state)


READINGS.add(
    "DA-79",
    "within-ten-clocks",
    "The random moment of a repair is any of the next ten clocks.",
    instead={"schedule.repair": lambda clock: Window(Duration(1), Duration(REPAIR * clock))},
)
READINGS.add(
    "DA-82",
    "not-divided",
    "An info that does not fit is not divided; the document does not say what follows.",
    instead={"outgoing._fit_pieces": lambda _, __, pieces, beside: (len(pieces), next(iter(beside)))},
    ends=True,
)


@READINGS.register("DA-87", "missing-first", "recovery.on_info")
def _treat_missing_first(state: State, info: Info) -> Next:
    """Of an info what is missing is treated before what is known."""
    if not info.missing:
        return on_info(state, info)
    without = replace(info, missing=Table())
    return then(_on_missing(state, info), lambda now: on_info(now, without))
