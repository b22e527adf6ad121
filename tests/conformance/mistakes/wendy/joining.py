"""Mistakes in joining: in answering those who want to, and in asking, waiting, and learning from what others send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import received, variants

from peerproof.spec.core import Asked, Duration, NodeId, Notify, Pick, Send, SetTimer, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.messages import Announce, Join, JoinFailed, NodeJoin, StateData
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import Stage, State

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

ON_JOIN = joining.on_join
ON_STATE_DATA = joining.on_state_data


class BeginsJoined(Wrong):
    """Begins as if it had joined: whoever is alone is a cluster."""

    caught_by: ClassVar = ("a-node-begins-with-nothing", "a-join-goes-to-the-contact")

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Joined."""
        first = super().initial(self_id, config)
        return Step(replace(first.state, stage=Stage.JOINED), first.effects)


class _Joiner(Wrong):
    """Asks otherwise."""

    def asked(self, state: State, command: Join, step: Next) -> Next:
        """What is done instead."""
        raise NotImplementedError

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces what is done about a wish to join."""
        step = super().step(state, event, pick)
        return self.asked(state, event.command, step) if isinstance(event, Asked) and isinstance(event.command, Join) else step


class JoinsByTheContactsKey(_Joiner):
    """Sends a join with hops, as if it had received it."""

    caught_by: ClassVar = ("a-join-goes-to-the-contact", "alone-after-a-restart", "own-global-host", "own-host-with-colons")

    def asked(self, state: State, command: Join, step: Next) -> Next:  # noqa: ARG002
        """With one hop."""
        return with_messages(step, NodeJoin, lambda join: replace(join, header=replace(join.header, hop=1)))


class JoinsWithoutCredentials(_Joiner):
    """Leaves the credentials out of a join."""

    caught_by: ClassVar = ("a-join-with-credentials",)

    def asked(self, state: State, command: Join, step: Next) -> Next:  # noqa: ARG002
        """Without them."""
        return with_messages(step, NodeJoin, lambda join: replace(join, header=replace(join.header, credentials=None)))


def _any_time(state: State, contact: Any) -> Next:
    if contact == state.self_id:
        return Step(state)
    return Step(replace(state, stage=Stage.JOINING, contact=contact), (Send(contact, NodeJoin(header(state))),))


def _once(state: State, contact: Any) -> Next:
    if state.stage is not Stage.ALONE:
        raise NotEnabled("not_alone", "once")
    return ON_JOIN(state, contact)


def _failed_anyway(state: State, *, failed: bool) -> Next:
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


class WaitsTwentySeconds(Wrong):
    """Waits as long as by default, whatever is configured."""

    caught_by: ClassVar = ("another-timeout", "before-the-wait-is-over")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sets another timer."""
        step = super().step(state, event, pick)
        effects = [
            SetTimer(e.timer, Duration(20_000)) if isinstance(e, SetTimer) and isinstance(e.timer, Announce) else e
            for e in step.effects
        ]
        return step._replace(effects=tuple(effects))


class NoSender(Wrong):
    """Inserts the nodes of tables, and not who has sent them."""

    caught_by: ClassVar = ("a-joiner-has-met-its-contact", "sender-and-leaves-of-a-state-message", "leaves-nearest-first")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Has a sender without an address."""
        if received(event, StateData):
            header = event.message.header
            sender = header.sender._replace(local_ip="", global_ip="")
            event = replace(event, message=replace(event.message, header=replace(header, sender=sender)))
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "JoinsEndHere": (
            "Sends joins to nobody else.",
            {"joining.forward_join": lambda *_: None},
            "contact-that-sends-on node-on-the-way largest-hops-of-a-join a-join-is-routed-by-its-key",
        ),
        "JoinsAnyTime": (
            "Joins whenever it is asked to, by whomever.",
            {"transitions.on_join": _any_time},
            "one-join-at-a-time no-join-by-itself no-join-while-waiting",
        ),
        "JoinsOnce": ("Asks to join once, whatever comes of it.", {"transitions.on_join": _once}, "a-join-once-more"),
        "FailsTooLate": (
            "Gives up because of its contact although others have answered.",
            {"transitions.on_join_sent": _failed_anyway},
            "the-join-fails-too-late",
        ),
        "WaitsForAnyLeafSet": (
            "Takes any leaf set for that of the destination.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=True)
                    if data.tables.leaf_set is not None and state.stage is Stage.JOINING
                    else ON_STATE_DATA(state, data)
                )
            },
            "a-leaf-set-without-the-mark",
        ),
        "WaitsForALeafSet": (
            "Does not wait when the mark comes without a leaf set.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=False) if data.tables.leaf_set is None else ON_STATE_DATA(state, data)
                )
            },
            "the-mark-without-a-leaf-set",
        ),
        "WaitsAgain": (
            "Starts to wait at each mark, whoever it is.",
            {
                "transitions.on_state_data": lambda state, data: (
                    _waits(state, data, may_wait=True) if data.destination else ON_STATE_DATA(state, data)
                )
            },
            "a-second-leaf-set a-leaf-set-after-joining the-mark-for-somebody-alone",
        ),
        "WaitsOnce": (
            "Waits one network timeout.",
            {"joining.WAIT": 1},
            "announcement-after-the-wait another-timeout before-the-wait-is-over",
        ),
    },
)
__getattr__ = MISTAKES.find
