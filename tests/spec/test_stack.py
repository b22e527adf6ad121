"""
A protocol on a protocol, shown by a small pair of them.

Below is a line on which a node moves one place up with every message, and which tells of whatever comes by. On top is a tally,
which keeps what it is told, asks for the way, and wants things of the line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from tests.support.wendy_nodes import no_choice

from peerproof.spec.core import Asked, CancelTimer, Expired, Instant, NodeId, Notify, Received, Send, Sent, SetTimer, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.stack import Request, Stack, Stacked, Told


class Below(NamedTuple):
    """A message of the line."""

    text: str


class Above(NamedTuple):
    """The same message, as the tally names it."""

    text: str


class LineState(NamedTuple):
    """Where a node of the line thinks that it is."""

    self_id: NodeId
    place: int = 0


class Line:
    """The protocol below."""

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """It starts at some place."""
        return Step(LineState(self_id, config), (SetTimer("tick", 5),))  # type: ignore[arg-type]  # milliseconds

    def step(self, state: LineState, event: Any, pick: Any) -> Step[Any, Any]:  # noqa: ARG002  # as an `Overlay` has it
        """What it does."""
        match event:
            case Received(_, _, Below(text)):
                return Step(
                    state._replace(place=state.place + 1), (Send(NodeId("a"), Below("1")), Notify(text), CancelTimer("t"))
                )
            case Asked(_, "far"):
                raise NotEnabled("far", "it is too far")
            case Asked(_, "move"):
                return Step(state._replace(place=state.place + 10), (Notify("moved"),))
            case Asked(_, command):
                return Step(state, (Send(NodeId("b"), Below(command)),))
            case Sent(_, _, Below(text), None):
                return Step(state._replace(place=-1), (Notify(f"lost {text}"), Notify(f"again {text}")))
            case Expired():
                return Step(state, (Notify("two"), Notify("three")))
        return Step(state)

    def next_hop(self, state: LineState, key: int, pick: Any) -> int:  # noqa: ARG002  # as an `Overlay` has it
        """So much further up."""
        return state.place + key


class Tally:
    """The protocol on top: its state is what it has been told."""

    def initial(self, self_id: NodeId, config: Any) -> tuple[str, ...]:
        """It keeps who it is."""
        return (f"{self_id} {config}",)

    def step(self, state: tuple[str, ...], event: Any, seek: Any) -> Step[Any, Any]:
        """What it does."""
        match event:
            case Told(now, notice):
                wanted: tuple[Any, ...] = (Request("move"),) if notice == "go" else ()
                return Step((*state, f"{notice} at {now}, next {seek(100)}"), (*wanted, Notify(notice.upper()), Request(notice)))
            case Asked(_, "nothing"):
                return Step(state)
            case Asked(_, "both"):
                return Step((*state, "asked"), (Request("one"), Request("far")))
            case Asked(_, command):
                return Step((*state, f"asked {command}"), (Request(command), Request("last")))
            case Sent(_, to, Above(text), took):
                return Step((*state, f"{text} to {to} {took}, next {seek(0)}"))
        raise ValueError(event)

    def is_of_message(self, notice: str) -> bool:
        """It says so."""
        return notice.startswith("again")

    def lower_message(self, message: Above) -> Below:
        """As the line has it."""
        return Below(message.text)

    def lift_message(self, message: Below) -> Above:
        """As the tally has it."""
        return Above(message.text)


STACK = Stack(Line(), Tally())
START = STACK.initial(NodeId("n"), 3).state


def took(event: Any, state: Any = START) -> Step[Any, Any]:
    """A step of both."""
    return STACK.step(state, event, no_choice)


def test_both_start_with_the_same_name_and_configuration() -> None:
    assert STACK.initial(NodeId("n"), 3) == Step(Stacked(LineState(NodeId("n"), 3), ("n 3",)), (SetTimer("tick", 5),))  # type: ignore[arg-type]
    assert START.self_id == "n"


def test_effects_are_in_the_order_in_which_they_were_wanted() -> None:
    """
    What the one on top wants because of a notice comes where that notice was, before what the one below wanted after it.

    Messages are lowered on their way in and lifted on their way out; the application is told what the one on top tells.
    """
    _, effects = took(Received(Instant(1), NodeId("m"), Above("news")))

    assert effects == (Send(NodeId("a"), Above("1")), Notify("NEWS"), Send(NodeId("b"), Above("news")), CancelTimer("t"))


def test_each_notice_is_dealt_with_before_the_next() -> None:
    _, effects = took(Expired(Instant(1), "tick"))

    assert effects == (Notify("TWO"), Send(NodeId("b"), Above("two")), Notify("THREE"), Send(NodeId("b"), Above("three")))


def test_the_one_on_top_sees_the_newest_state_of_the_one_below() -> None:
    """Also in the middle of a step."""
    after, _ = took(Received(Instant(1), NodeId("m"), Above("news")))
    assert after == Stacked(LineState(NodeId("n"), 4), ("n 3", "news at 1, next 104"))

    after, _ = took(Received(Instant(2), NodeId("m"), Above("go")))
    assert after.upper == ("n 3", "go at 2, next 104", "moved at 2, next 114")
    assert after.lower.place == 14


def test_the_application_asks_the_one_on_top() -> None:
    after, effects = took(Asked(Instant(1), "this"))

    assert after.upper == ("n 3", "asked this")
    assert effects == (Send(NodeId("b"), Above("this")), Send(NodeId("b"), Above("last")))


def test_both_handle_the_outcome_of_a_message_before_it_goes_another_way() -> None:
    after, _ = took(Sent(Instant(1), NodeId("b"), Above("x"), None))

    assert after.lower.place == -1
    assert after.upper == ("n 3", "lost x at 1, next 99", "x to b None, next -1", "again x at 1, next 99")
    assert took(Sent(Instant(1), NodeId("b"), Above("x"), 7)).state.upper == ("n 3", "x to b 7, next 3")


def test_what_is_refused_leaves_everything_as_it_was() -> None:
    """Whatever was done before, on top or below."""
    before = replace(START)

    with pytest.raises(NotEnabled) as refused:
        took(Asked(Instant(1), "both"))

    assert refused.value.reason == "far"
    assert before == START
    assert took(Asked(Instant(1), "this")).effects == (Send(NodeId("b"), Above("this")), Send(NodeId("b"), Above("last")))


def test_a_step_that_changes_nothing_gives_the_same_state() -> None:
    assert took(Asked(Instant(1), "nothing")).state is START
