"""Mistakes in joining: in answering those who want to, and in asking, waiting, and learning from what others send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, received

from peerproof.spec.core import Asked, Duration, Notify, Pick, Send, SetTimer, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.messages import Announce, Join, JoinFailed, NodeJoin, StateData
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import Stage, State

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]


def with_messages(step: Next, kind: type[Any], change: Callable[[Any], Any]) -> Next:
    """A step whose messages of this kind are others; None for one that is not sent."""
    effects: list[Any] = []
    for effect in step.effects:
        if isinstance(effect, Send) and isinstance(effect.message, kind):
            message = change(effect.message)
            effects += [] if message is None else [replace(effect, message=message)]
        else:
            effects.append(effect)
    return step._replace(effects=tuple(effects))


# -- the one that joins ------------------------------------------------------------------------------------------------

ON_STATE_DATA = joining.on_state_data


def joining_with(change: Callable[[State, Join, Next], Next]) -> dict[str, Any]:
    """What is replaced to do something else when it is asked to join."""
    return after(
        "step",
        lambda step, state, event, _: (
            change(state, event.command, step) if isinstance(event, Asked) and isinstance(event.command, Join) else step
        ),
    )


@wrong("transitions.on_join", "one-join-at-a-time no-join-by-itself no-join-while-waiting")
def JoinsAnyTime(right: Any, state: State, contact: Any) -> Any:
    """Joins whenever it is asked to, by whomever."""
    if contact == state.self_id:
        return Step(state)
    return Step(replace(state, stage=Stage.JOINING, contact=contact), (Send(contact, NodeJoin(header(state))),))


@wrong("transitions.on_join", "a-join-once-more")
def JoinsOnce(right: Any, state: State, contact: Any) -> Any:
    """Asks to join once, whatever comes of it."""
    if state.stage is not Stage.ALONE:
        raise NotEnabled("not_alone", "once")
    return right(state, contact)


@wrong("transitions.on_join_sent", "the-join-fails-too-late")
def FailsTooLate(right: Any, state: State, *, failed: bool) -> Any:
    """Gives up because of its contact although others have answered."""
    contact = state.contact
    if contact is None or not failed:
        return Step(replace(state, contact=None))
    return Step(replace(state, contact=None, stage=Stage.ALONE), (Notify(JoinFailed(contact)),))


def _waits(state: State, data: StateData, *, may_wait: bool) -> Next:
    after, effects = ON_STATE_DATA(state, data)
    timers = tuple(effect for effect in effects if not isinstance(effect, SetTimer))
    if not may_wait:
        return Step(replace(after, stage=state.stage), timers)
    return Step(replace(after, stage=Stage.WAITING), (*timers, SetTimer(Announce(), Duration(2 * state.config.network_timeout))))


@wrong("step", "another-timeout before-the-wait-is-over")
def WaitsTwentySeconds(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Waits as long as by default, whatever is configured."""
    step = right(state, event, pick)
    effects = [
        SetTimer(e.timer, Duration(20_000)) if isinstance(e, SetTimer) and isinstance(e.timer, Announce) else e
        for e in step.effects
    ]
    return step._replace(effects=tuple(effects))


@wrong("step", "a-joiner-has-met-its-contact sender-and-leaves-of-a-state-message leaves-nearest-first")
def NoSender(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Inserts the nodes of tables, and not who has sent them."""
    if received(event, StateData):
        header = event.message.header
        sender = header.sender._replace(local_ip="", global_ip="")
        event = replace(event, message=replace(event.message, header=replace(header, sender=sender)))
    return right(state, event, pick)


wrong |= {
    # Begins as if it had joined: whoever is alone is a cluster.
    "BeginsJoined: a-node-begins-with-nothing a-join-goes-to-the-contact": after(
        "initial", lambda first, *_: Step(replace(first.state, stage=Stage.JOINED), first.effects)
    ),
    # Sends a join with hops, as if it had received it.
    "JoinsByTheContactsKey: a-join-goes-to-the-contact alone-after-a-restart own-global-host own-host-with-colons": joining_with(
        lambda state, command, step: with_messages(step, NodeJoin, lambda join: replace(join, header=replace(join.header, hop=1)))
    ),
    # Leaves the credentials out of a join.
    "JoinsWithoutCredentials: a-join-with-credentials": joining_with(
        lambda state, command, step: with_messages(
            step, NodeJoin, lambda join: replace(join, header=replace(join.header, credentials=None))
        )
    ),
    # Sends joins to nobody else.
    "JoinsEndHere: contact-that-sends-on node-on-the-way largest-hops-of-a-join a-join-is-routed-by-its-key": {
        "joining.forward_join": lambda *_: None
    },
    # Takes any leaf set for that of the destination.
    "WaitsForAnyLeafSet: a-leaf-set-without-the-mark": around(
        "transitions.on_state_data",
        lambda right, state, data: (
            _waits(state, data, may_wait=True)
            if data.tables.leaf_set is not None and state.stage is Stage.JOINING
            else right(state, data)
        ),
    ),
    # Does not wait when the mark comes without a leaf set.
    "WaitsForALeafSet: the-mark-without-a-leaf-set": around(
        "transitions.on_state_data",
        lambda right, state, data: _waits(state, data, may_wait=False) if data.tables.leaf_set is None else right(state, data),
    ),
    # Starts to wait at each mark, whoever it is.
    "WaitsAgain: a-second-leaf-set a-leaf-set-after-joining the-mark-for-somebody-alone": around(
        "transitions.on_state_data",
        lambda right, state, data: _waits(state, data, may_wait=True) if data.destination else right(state, data),
    ),
    # Waits one network timeout.
    "WaitsOnce: announcement-after-the-wait another-timeout before-the-wait-is-over": {"joining.WAIT": 1},
}
__getattr__ = wrong.find
