"""
A protocol on top of another one, as one value and one `step`.

The lower protocol routes messages, the upper one decides what to send. Events from outside go to the lower one first, except
commands of the application, which go to the upper one. Notifications of the lower one are events of the upper one, and requests
of the upper one are commands to the lower one. The outcome of a message that was sent goes to both, to the upper one before the
message goes another way. Neither sees the other's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from peerproof.spec.core import Asked, Command, Instant, NodeId, Notice, Notify, Pick, Received, Send, Sent, Step

Lower = TypeVar("Lower", covariant=True)
Upper = TypeVar("Upper", covariant=True)

#: The next hop of a message with this key, by the current routing state; None if it has arrived.
Seek: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Told(Generic[Notice]):
    """A notification from the protocol below: an event of the protocol on top."""

    now: Instant
    notice: Notice


@dataclass(frozen=True, slots=True)
class Request(Generic[Command]):
    """A command to the protocol below: an effect of the protocol on top."""

    command: Command


@dataclass(frozen=True)
class Stacked(Generic[Lower, Upper]):
    """A node of both protocols."""

    lower: Lower
    upper: Upper

    @property
    def self_id(self) -> NodeId:
        """The name of the node, which the lower protocol holds."""
        name: NodeId = self.lower.self_id  # type: ignore[attr-defined]  # every state has it
        return name

    @property
    def config(self) -> Any:
        """The configuration of the node, which the lower protocol holds."""
        return self.lower.config  # type: ignore[attr-defined]  # every state has it


class Overlay(Protocol):
    """The protocol below: a specification that can answer routing queries."""

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """Returns a node that has just started."""

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Returns what one event makes of the node: its next state and its effects."""

    def next_hop(self, state: Any, key: Any, pick: Pick) -> Any | None:
        """Returns the next hop of a message with this key; None if this node is its destination."""


class Layer(Protocol):
    """The protocol on top."""

    def initial(self, self_id: NodeId, config: Any) -> Any:
        """Returns the state of a node that has just started."""

    def step(self, state: Any, event: Any, seek: Seek) -> Step[Any, Any]:
        """Handles `Told`, `Asked` or `Sent`; its effects are `Request` and `Notify`."""

    def is_of_message(self, notice: Any) -> bool:
        """Whether a notification of the protocol below says where a message goes next, or that it has arrived here."""

    def lower_message(self, message: Any) -> Any:
        """Returns a message in the form of the protocol below."""

    def lift_message(self, message: Any) -> Any:
        """Returns a message of the protocol below in the form of this one."""


@dataclass(frozen=True, slots=True)
class _Down:
    """An event of the lower protocol."""

    event: Any


@dataclass(frozen=True, slots=True)
class _Up:
    """An event of the upper protocol."""

    event: Any


class Stack:
    """Two protocols as one: `initial` and `step` are those of a specification."""

    def __init__(self, lower: Overlay, upper: Layer) -> None:
        self._lower: Final = lower
        self._upper: Final = upper

    def initial(self, self_id: NodeId, config: Any) -> Step[Stacked[Any, Any], Any]:
        """Returns a node of both that has just started; both have the same configuration."""
        state, effects = self._lower.initial(self_id, config)
        return Step(Stacked(state, self._upper.initial(self_id, config)), effects)

    def step(self, state: Stacked[Any, Any], event: Any, pick: Pick) -> Step[Stacked[Any, Any], Any]:
        """
        Returns what one event makes of the node: its next state and its effects.

        An effect of one protocol that is an event of the other is handled at once, before the next effect, so that effects keep
        the order in which they were requested. Raises NotEnabled, as either does; then the node has not changed.
        """
        lower, upper = state.lower, state.upper
        effects: list[Any] = []
        agenda: list[Any] = [self._happens(event)]
        while agenda:
            match agenda.pop():
                case _Down(about):
                    lower, wanted = self._lower.step(lower, about, pick)
                    follows = [self._from_below(event.now, effect) for effect in wanted]
                    if isinstance(about, Sent):
                        follows.insert(self._place_of_outcome(wanted), _Up(event))
                    agenda += reversed(follows)
                case _Up(about):
                    upper, wanted = self._upper.step(upper, about, partial(self._seek, lower, pick))
                    agenda += reversed([_from_above(event.now, effect) for effect in wanted])
                case effect:
                    effects.append(effect)
        is_same = lower is state.lower and upper is state.upper
        return Step(state if is_same else Stacked(lower, upper), tuple(effects))

    def _seek(self, lower: Any, pick: Pick, key: Any) -> Any:
        return self._lower.next_hop(lower, key, pick)

    def _place_of_outcome(self, effects: Sequence[Any]) -> int:
        """Returns the place of what the upper one does among the lower one's effects: before the message goes another way."""
        notices = [isinstance(effect, Notify) and self._upper.is_of_message(effect.notice) for effect in effects]
        return notices.index(True) if True in notices else len(notices)

    def _happens(self, event: Any) -> _Down | _Up:
        """Returns the event for the protocol that it goes to."""
        match event:
            case Asked():
                return _Up(event)
            case Received(now, sender, message):
                return _Down(Received(now, sender, self._upper.lower_message(message)))
            case Sent(now, to, message, took):
                return _Down(Sent(now, to, self._upper.lower_message(message), took))
            case _:
                return _Down(event)

    def _from_below(self, now: Instant, effect: Any) -> Any:
        match effect:
            case Notify(notice):
                return _Up(Told(now, notice))
            case Send(to, message):
                return Send(to, self._upper.lift_message(message))
            case _:
                return effect


def _from_above(now: Instant, effect: Any) -> Any:
    return _Down(Asked(now, effect.command)) if isinstance(effect, Request) else effect
