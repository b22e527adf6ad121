"""
What a DistKV node does: `initial` makes one, `step` says what it does about one event.

All nodes hold the same entries. Whoever changes one tells all others (`changing`); pings say who is there, and show by their
chains when two sides of a network have found each other again (`electing`); then everybody finds out what it has missed
(`recovering`). Until a node has what others have, it only pings (`startup`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from peerproof.spec.core import Asked, Expired, NodeId, Notify, Pick, Received, Step
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.changes import on_change, on_update
from peerproof.spec.distkv.election import on_initial_ping_due, on_ping, on_ping_due
from peerproof.spec.distkv.messages import (
    Command,
    DeleteValue,
    Event,
    Fault,
    FaultKind,
    FoundingDue,
    GreetingDue,
    Info,
    InitialPingDue,
    Loaded,
    LoadFailed,
    Message,
    OldDataDue,
    Ping,
    PingDue,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    SetValue,
    Timer,
    Update,
)
from peerproof.spec.distkv.outgoing import Next, then
from peerproof.spec.distkv.recovery import (
    ask_for,
    look_for_repair,
    on_greeting_due,
    on_info,
    on_known_due,
    on_missing_due,
    on_recovery_over,
    on_ticks_due,
)
from peerproof.spec.distkv.startup import (
    check_settled,
    initial,
    on_founding_due,
    on_load_failed,
    on_loaded,
    on_old_data_due,
)
from peerproof.spec.distkv.state import NAMES_MAX, State
from peerproof.spec.distkv.ticks import latest
from peerproof.spec.distkv.values import NULL

__all__ = ["initial", "step"]


def step(state: State, event: Event, pick: Pick) -> Next:
    """What the node does about one event. Raises NotEnabled for commands that it refuses. [DA-61, DA-73, DA-79, DA-80]"""
    match event:
        case Received(message=message):
            taken = on_message(state, message, pick)
        case Expired(timer=timer):
            taken = on_timer(state, timer, pick)
        case Asked(command=command):
            taken = on_command(state, command, pick)
        case _:
            assert_never(event)
    return then(taken, check_settled, lambda now: look_for_repair(now, pick))


def on_message(state: State, message: Message, pick: Pick) -> Next:
    """
    A message of anybody, in whatever order they come: what it is about, and its tock and its ticks, which always count.

    [D-55, D-56, DA-21, DA-54, DA-63, DA-64, DA-83, DA-91]
    """
    ticks = dict(ticks_in(message))
    if not has_room(state, message, ticks):
        return Step(state)
    said = (Notify(Fault(FaultKind.NAME_TAKEN)),) if is_of_namesake(state, message) else ()
    after = replace(state, tock=max(state.tock, message.tock), ticks=latest(state.ticks, ticks))
    taken: Next = Step(after, said)
    match message:
        case Update():
            return then(taken, lambda now: on_update(now, message))
        case _ if message.chain.head.node == state.self_id:
            return taken
        case Info():
            return then(taken, lambda now: on_info(now, message))
        case Ping():
            return then(taken, lambda now: on_ping(now, message, pick))
    assert_never(message)


def ticks_in(message: Message) -> Iterator[tuple[NodeId, int]]:
    """The highest tick of each node that stands in a message, in pairs that ascend for each node. [DA-64]"""
    elements = [*message.chain.elements]
    found: list[tuple[NodeId, int]] = []
    match message:
        case Info():
            elements += message.reason.elements if message.reason is not None else ()
            found += message.ticks.items()
            found += ((node, ranges.ends[-1] - 1) for node, ranges in message.known.items())
        case Update(sender=Element() as sender):
            elements.append(sender)
    found += ((node, tick) for node, tick in elements if tick is not None)
    return iter(sorted(found, key=lambda pair: pair[1]))


def has_room(state: State, message: Message, ticks: dict[NodeId, int]) -> bool:
    """Whether no more names come of it than are kept. [DA-83]"""
    names = (*ticks, message.chain.head.node, *(message.missing if isinstance(message, Info) else ()))
    new = {name for name in names if name not in state.ticks and name not in state.heard}
    return not new or len({*state.ticks, *state.heard, *new}) <= NAMES_MAX


def is_of_namesake(state: State, message: Message) -> bool:
    """Whether another node has this one's name: it has sent what this one has not. [DA-63]"""
    head = message.chain.head
    if not state.participates or head.node != state.self_id:
        return False
    return (head.tick or 0) > state.own_tick if isinstance(message, Update) else message.tock > state.tock


def on_timer(state: State, timer: Timer, pick: Pick) -> Next:
    """A timer has run out; one that does not run any more means nothing."""
    if timer not in state.timers:
        return Step(state)
    now = replace(state, timers=state.timers - {timer})
    match timer:
        case InitialPingDue():
            return on_initial_ping_due(now)
        case FoundingDue():
            return on_founding_due(now, pick)
        case OldDataDue():
            return on_old_data_due(now)
        case PingDue():
            return on_ping_due(now, pick)
        case GreetingDue():
            return on_greeting_due(now)
        case RecoveryDue(step=step):
            return on_recovery_due(now, step)
        case RecoveryOver():
            return on_recovery_over(now)
        case RepairDue():
            return on_repair_due(now)
        case RepairAllowed():
            return on_repair_allowed(now)
    assert_never(timer)


def on_recovery_due(state: State, step: RecoveryStep) -> Next:
    """It is this node's turn in one of the three steps. [D-113, D-115, D-116, DA-76, DA-77, DA-78]"""
    match step:
        case RecoveryStep.TICKS:
            return on_ticks_due(state)
        case RecoveryStep.MISSING:
            return on_missing_due(state)
        case RecoveryStep.KNOWN:
            return on_known_due(state)
    assert_never(step)


def on_repair_due(state: State) -> Next:
    """What is missing is asked for. [D-119, DA-79]"""
    return ask_for(state, state.missing)


def on_repair_allowed(state: State) -> Next:
    """It may be asked for again. [D-120, DA-79]"""
    return Step(state)


def on_command(state: State, command: Command, pick: Pick) -> Next:
    """What the application wants. Raises NotEnabled. [DA-61]"""
    match command:
        case SetValue():
            return on_set_value(state, command)
        case DeleteValue():
            return on_delete_value(state, command)
        case Loaded():
            return on_loaded(state, command, pick)
        case LoadFailed():
            return on_load_failed(state, command)
    assert_never(command)


def on_set_value(state: State, command: SetValue) -> Next:
    """An entry is to have another value. Raises NotEnabled. [D-42, D-49, D-57, DA-80]"""
    return on_change(state, command.path, command.value)


def on_delete_value(state: State, command: DeleteValue) -> Next:
    """An entry is to have none. Raises NotEnabled. [D-59, DA-10, DA-80]"""
    return on_change(state, command.path, NULL)
