"""
The transitions of a DistKV node: `initial` makes one, `step` handles one event.

All nodes hold the same entries. A node that changes one sends the change to all others (`changes`). Pings show which nodes are
alive, and their chains show when two sides of a network have met again (`election`); then all nodes request the changes that they
have missed (`recovery`). Until a node has the network's data, it only pings (`startup`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from peerproof.spec.core import Asked, Expired, NodeId, Notify, Pick, Received, Step, replace
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
    """Handles one event. Raises NotEnabled for commands that it refuses. [DA-61, DA-73, DA-79, DA-80]"""
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
    Handles a message of any node, in any order: its content, and its tock and ticks, which always count.

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
    """Yields the highest tick of each node in a message, as pairs that ascend for each node. [DA-64]"""
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
    """Whether the message's new names stay within the limit. [DA-83]"""
    names = (*ticks, message.chain.head.node, *(message.missing if isinstance(message, Info) else ()))
    new = {name for name in names if name not in state.ticks and name not in state.heard}
    return not new or len({*state.ticks, *state.heard, *new}) <= NAMES_MAX


def is_of_namesake(state: State, message: Message) -> bool:
    """Whether another node has this one's name: the message has data that this node has not sent. [DA-63]"""
    head = message.chain.head
    if not state.participates or head.node != state.self_id:
        return False
    return (head.tick or 0) > state.own_tick if isinstance(message, Update) else message.tock > state.tock


def on_timer(state: State, timer: Timer, pick: Pick) -> Next:
    """Handles an expired timer; one that does not run any more is ignored."""
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
    """Takes this node's turn in one of the three steps. [D-113, D-115, D-116, DA-76, DA-77, DA-78]"""
    match step:
        case RecoveryStep.TICKS:
            return on_ticks_due(state)
        case RecoveryStep.MISSING:
            return on_missing_due(state)
        case RecoveryStep.KNOWN:
            return on_known_due(state)
    assert_never(step)


def on_repair_due(state: State) -> Next:
    """Requests the missing changes. [D-119, DA-79]"""
    return ask_for(state, state.missing)


def on_repair_allowed(state: State) -> Next:
    """Allows the next request for missing changes. [D-120, DA-79]"""
    return Step(state)


def on_command(state: State, command: Command, pick: Pick) -> Next:
    """Handles a command of the application. Raises NotEnabled. [DA-61]"""
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
    """Sets the value of an entry. Raises NotEnabled. [D-42, D-49, D-57, DA-80]"""
    return on_change(state, command.path, command.value)


def on_delete_value(state: State, command: DeleteValue) -> Next:
    """Deletes an entry. Raises NotEnabled. [D-59, DA-10, DA-80]"""
    return on_change(state, command.path, NULL)
