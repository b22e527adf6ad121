"""Other readings of DistKV's document for infos and requests: after a split, and when messages were lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

from peerproof.conformance.readings.reading import Reading
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


def _answer_with_all_seen(entries: Entries, missing: TickSets) -> Answer:
    found = answer(entries, missing)
    return found._replace(known=intersection(missing, entries.known))


def _hear_any_missing(state: State, info: Info) -> Next:
    taken = _on_missing(state, info)
    recovery = taken.state.recovery
    is_of_side = recovery is not None and info.chain.head.node in recovery.side
    return then(taken, lambda now: cancel_timer(now, STEP_2)) if is_of_side else taken


@lru_cache
def _by_length(length: int) -> overriding:
    return overriding({"peerproof.spec.distkv.schedule.recovery": partial(_part_of_length, length)})


def _part_of_length(length: int, clock: Duration, step: RecoveryStep, position: int) -> Duration:
    return Duration(position * clock // length) if step is RecoveryStep.TICKS else delay_of(clock, step, position)


def _delay_by_length(right: Right, state: State, event: Any, pick: Pick) -> Next:
    with _by_length(state.config.ping_length):
        return right(state, event, pick)


def _after_half_a_clock(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    if step is not RecoveryStep.MISSING:
        return delay_of(clock, step, position)
    return Duration(clock // 2 + delay_of(clock, RecoveryStep.KNOWN, position))


def _as_other_steps(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    return delay_of(clock, RecoveryStep.KNOWN if step is RecoveryStep.MISSING else step, position)


def _send_at_once(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    return Duration(0) if step is RecoveryStep.KNOWN else delay_of(clock, step, position)


def _refer_to_last(
    state: State, what: str, rows: Mapping[Any, Any], prev: Chain | None = None, reason: Chain | None = None
) -> Next:
    return send_info(state, what, rows, prev or (None if state.last is None else state.last.chain), reason)


def _tell_of_others(state: State, prev: Chain | None, reason: Chain | None) -> Next:
    rows = Table({node: tick for node, tick in state.ticks.items() if node != state.self_id})
    return then(send_info(state, "ticks", rows, prev, reason), _next_is_missing)


def _give_reason_always(state: State) -> Next:
    recovery = state.recovery
    if recovery is None:
        return Step(state)
    return tell_ticks(state, recovery.ping, recovery.mine if recovery.lost else recovery.ping)


def _begin_on_the_chain(state: State, reason: Chain) -> Next:
    if state.last is None or state.position(state.last.chain) is None:
        return Step(state)
    return _on_reason(state, reason)


def _begin_anew(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
    return begin(replace(state, recovery=None), mine, other, lost=lost, is_reason=is_reason)


def _answer_on_the_chain(state: State, info: Info) -> Next:
    recovery = state.recovery
    chain = recovery.mine if recovery is not None else state.last.chain if state.last is not None else None
    return _on_missing(state, info) if state.position(chain) is not None else Step(state)


def _treat_missing_first(state: State, info: Info) -> Next:
    if not info.missing:
        return on_info(state, info)
    without = replace(info, missing=Table())
    return then(_on_missing(state, info), lambda now: on_info(now, without))


READINGS: Final = (
    Reading(
        clause="DA-04",
        name="all-seen",
        text="A `known` message holds all that the sender has seen of what was asked for, also what it has sent again.",
        instead={"entries.answer": _answer_with_all_seen},
    ),
    Reading(
        clause="DA-05",
        name="whatever-it-holds",
        text="A message of a node of its own side keeps a node from sending, whatever the message holds.",
        instead={"recovery._says_it_all": lambda *_: True, "recovery._on_missing": _hear_any_missing},
    ),
    Reading(
        clause="DA-06",
        name="by-length",
        text="In step 1 a node at the position p waits for p·clock/length.",
        step=_delay_by_length,
    ),
    Reading(
        clause="DA-07",
        name="half-a-clock-more",
        text="In step 2 each node waits for half a clock more than in the others.",
        instead={"schedule.recovery": _after_half_a_clock},
    ),
    Reading(
        clause="DA-07",
        name="as-other-steps",
        text="In step 2 nodes wait as in the others: half a tick is no time that the document has.",
        instead={"schedule.recovery": _as_other_steps},
    ),
    Reading(
        clause="DA-08",
        name="never",
        text="Missing changes are asked for only after a split.",
        instead={"recovery.look_for_repair": lambda state, _: Step(state)},
    ),
    Reading(
        clause="DA-44",
        name="always",
        text="An info that answers no ping refers to the last one.",
        instead={"outgoing.send_info": _refer_to_last},
    ),
    Reading(
        clause="DA-45",
        name="of-others",
        text="A node leaves itself out of its `ticks`.",
        instead={"recovery.tell_ticks": _tell_of_others},
    ),
    Reading(
        clause="DA-47",
        name="everybody-at-once",
        text="Any node that sees a request for missing changes sends them again, and at once.",
        instead={"schedule.recovery": _send_at_once},
    ),
    Reading(
        clause="DA-47",
        name="all-the-same",
        text="Changes that were seen meanwhile are sent again nevertheless.",
        instead={"recovery.without_wanted": lambda state, _: state},
    ),
    Reading(
        clause="DA-50",
        name="always",
        text="The losing side's chain is in the first step whichever side wins.",
        instead={"recovery.on_ticks_due": _give_reason_always},
    ),
    Reading(
        clause="DA-50",
        name="on-the-chain",
        text="Because of a reason only the nodes on the chain of the last ping begin to recover.",
        instead={"recovery._on_reason": _begin_on_the_chain},
    ),
    Reading(
        clause="DA-74",
        name="begins-anew",
        text="A split that is seen during a recovery begins another.",
        instead={"recovery.begin": _begin_anew},
    ),
    Reading(
        clause="DA-75",
        name="whole-chain",
        text="The side of a node is all nodes on its chain.",
        instead={"chains.side_of": lambda mine, _: frozenset(node for node, _ in mine.elements)},
    ),
    Reading(
        clause="DA-78",
        name="on-the-chain",
        text="Only nodes on the chain send missing changes again.",
        instead={"recovery._on_missing": _answer_on_the_chain},
    ),
    Reading(
        clause="DA-79",
        name="within-ten-clocks",
        text="The random moment of a repair is any of the next ten clocks.",
        instead={"schedule.repair": lambda clock: Window(Duration(1), Duration(REPAIR * clock))},
    ),
    Reading(
        clause="DA-82",
        name="not-divided",
        text="An info that does not fit is not divided; the document does not say what follows.",
        instead={"outgoing._fit_pieces": lambda _, __, pieces, beside: (len(pieces), next(iter(beside)))},
        ends=True,
    ),
    Reading(
        clause="DA-87",
        name="missing-first",
        text="Of an info what is missing is treated before what is known.",
        instead={"recovery.on_info": _treat_missing_first},
    ),
)
