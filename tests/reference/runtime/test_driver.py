"""The driver: timers, effects in order, refusals, and dice that follow from a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from peerproof.reference.runtime.driver import Driver, random_pick
from peerproof.reference.runtime.recorder import Recorder
from peerproof.spec import scuttlebutt
from peerproof.spec.core import CancelTimer, Duration, Instant, NodeId, Notify, Send, SetTimer, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.traces.trace import parse, replay

A, B = NodeId("a:1"), NodeId("b:1")
TEN = Duration(10)


class _Paper:
    """An environment that writes down what it is told."""

    def __init__(self) -> None:
        self.clock = Instant(0)
        self.told: list[Any] = []

    def now(self) -> Instant:
        return self.clock

    def send(self, to: NodeId, message: Any) -> None:
        self.told.append((to, message))

    def notify(self, notice: Any) -> None:
        self.told.append(notice)


class _Scripted:
    """A specification whose every step wants the next thing of a script."""

    NAME = "scripted"

    def __init__(self, *script: tuple[Any, ...]) -> None:
        self._script = list(script)

    def initial(self, *_: Any) -> Step[Any, Any]:
        return Step(0, self._script.pop(0))

    def step(self, state: Any, *_: Any) -> Step[Any, Any]:
        return Step(state + 1, self._script.pop(0))


def driver(paper: _Paper, specification: Any = scuttlebutt, **options: Any) -> Driver:
    return Driver(specification, A, paper, random_pick("0"), **options)


def test_effects_are_performed_in_their_order() -> None:
    paper = _Paper()
    node = driver(paper, _Scripted((Send(B, "x"), Notify("y"), Send(B, "z"))))

    node.start(None)

    assert paper.told == [(B, "x"), "y", (B, "z")]


def test_a_timer_that_is_set_again_runs_out_once_and_later() -> None:
    paper = _Paper()
    node = driver(paper, _Scripted((SetTimer("t", TEN),), (SetTimer("t", TEN),), ()))
    node.start(None)
    paper.clock = Instant(4)

    node.receive(B, "anything")

    assert node.next_timer() == 14
    node.expire_next()
    assert node.next_timer() is None


def test_timers_that_are_due_together_run_out_in_the_order_in_which_they_were_set() -> None:
    paper = _Paper()
    expired = []
    script = _Scripted((SetTimer("a", TEN), SetTimer("z", TEN), SetTimer("a", TEN)), (), ())
    node = driver(paper, script, observe=lambda taken: expired.append(taken.event.timer))
    node.start(None)
    paper.clock = Instant(10)

    node.expire_next()
    node.expire_next()

    assert expired == ["z", "a"]


def test_a_cancelled_timer_does_not_run_out_and_cancelling_it_again_is_no_error() -> None:
    node = driver(_Paper(), _Scripted((SetTimer("t", TEN), CancelTimer("t"), CancelTimer("t"))))

    node.start(None)

    assert node.next_timer() is None


def test_a_malformed_datagram_is_not_noticed_by_the_node() -> None:
    paper = _Paper()
    node = driver(paper)
    node.start(scuttlebutt.Config())
    before = node.state

    with pytest.raises(MalformedMessage):
        node.datagram(B, bytes.fromhex("0105"))

    assert node.state is before
    assert paper.told == []


def test_a_refused_command_changes_nothing_and_is_in_the_trace() -> None:
    lines: list[str] = []
    node = driver(_Paper(), recorder=Recorder(scuttlebutt, "r", lines.append))
    node.start(scuttlebutt.Config())
    before = node.state

    with pytest.raises(NotEnabled):
        node.ask(scuttlebutt.UpdateLocal("k", "v" * 256))

    assert node.state is before
    assert [parse(line).refused for line in lines] == [None, "too_large"]
    assert list(replay(scuttlebutt, map(parse, lines))) == []


@pytest.mark.parametrize("options", ["abcde", [f"{number:02}" for number in range(80)]], ids=["few", "many"])
@pytest.mark.parametrize("some", [1, 2, 3, 5, 9])
def test_a_seeded_pick_takes_different_options_as_many_as_there_are(some: int, options: Sequence[str]) -> None:
    pick = random_pick("s")

    answers = [pick("why", options, some) for _ in range(50)]

    assert all(len(set(answer) & set(options)) == len(answer) == min(some, len(options)) for answer in answers)
    assert len(set(answers)) > 1


@pytest.mark.parametrize(("options", "some"), [(4, 1), (4, 2), (40, 2)])
def test_a_seeded_pick_takes_each_option_about_as_often_in_each_place(options: int, some: int) -> None:
    pick = random_pick("s")

    answers = [pick("why", range(options), some) for _ in range(1000 * options)]

    for place in range(some):
        counts = Counter(answer[place] for answer in answers)
        assert all(900 < counts[option] < 1100 for option in range(options))


def test_a_seeded_pick_follows_from_the_seed_and_not_from_the_order_of_the_options() -> None:
    one, same, other = random_pick("1"), random_pick("1"), random_pick("2")
    options = [f"n{number}" for number in range(20)]

    assert one("why", options, 20) == same("why", options[::-1], 20) != other("why", options, 20)


def test_a_seeded_pick_among_nothing_is_nothing() -> None:
    assert random_pick("1")("why", []) == ()
