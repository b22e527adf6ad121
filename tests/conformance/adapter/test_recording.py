"""The lines of several nodes become one record: what is received was sent before, whatever the clocks say."""

from __future__ import annotations

from typing import Any

from peerproof.conformance.traces.trace_diagram import Read, Recording
from peerproof.spec.traces.trace import Kind, Line


def line(
    node: str, at: int, kind: Kind, peer: str | None = None, message: Any = "start", sends: tuple[tuple[str, Any], ...] = ()
) -> Line:
    """A line, at so many milliseconds."""
    effects = tuple({"send": {"to": to, "message": content}} for to, content in sends)
    return Line("r", "scuttlebutt", "i", node, 0, at * 1000, kind, peer, message, (), effects, None)


def recorded(*files: list[Line]) -> Recording:
    return Recording(tuple(Read(number, each) for number, lines in enumerate(files, 1) for each in lines))


def told(record: Recording) -> list[tuple[str, str]]:
    """Node and kind of each line, in order."""
    return [(record.lines[place].line.node, record.lines[place].line.kind) for place in record.order()]


def test_lines_stand_in_the_order_of_time() -> None:
    record = recorded([line("a", 1, "start"), line("a", 5, "timer")], [line("b", 2, "start"), line("b", 3, "timer")])

    assert told(record) == [("a", "start"), ("b", "start"), ("b", "timer"), ("a", "timer")]
    assert set(record.shifts.values()) == {0}


def test_a_receipt_stands_behind_its_sending_at_the_same_instant() -> None:
    record = recorded([line("b", 1, "recv", "a", "m"), line("a", 1, "timer", sends=(("b", "m"),))])

    assert told(record) == [("a", "timer"), ("b", "recv")]


def test_clocks_of_their_own_are_set_by_the_messages_in_both_directions() -> None:
    """One node began 5 s after the other; each message took 10 ms."""
    a = [line("a", 5000, "timer", sends=(("b", "m"),)), line("a", 5020, "recv", "b", "answer")]
    b = [line("b", 10, "recv", "a", "m", sends=(("a", "answer"),))]

    record = recorded(a, b)

    assert record.shifts[2] - record.shifts[1] == 5_000_000
    assert told(record) == [("a", "timer"), ("b", "recv"), ("a", "recv")]


def test_with_messages_in_one_direction_the_fastest_took_no_time() -> None:
    record = recorded([line("a", 5000, "timer", sends=(("b", "m"),))], [line("b", 10, "recv", "a", "m")])

    assert record.t_us(1) == record.t_us(0)


def test_clocks_are_set_over_a_third_node() -> None:
    a = [line("a", 9000, "timer", sends=(("b", "m"),))]
    b = [line("b", 500, "recv", "a", "m"), line("b", 600, "timer", sends=(("c", "n"),))]
    c = [line("c", 0, "recv", "b", "n")]

    record = recorded(a, b, c)

    assert [record.t_us(place) // 1000 for place in range(4)] == [9000, 9000, 9100, 9100]


def test_clocks_that_agree_are_left_alone() -> None:
    record = recorded([line("a", 10, "timer", sends=(("b", "m"),))], [line("b", 400, "recv", "a", "m")])

    assert set(record.shifts.values()) == {0}


def test_of_equal_messages_the_ones_before_the_last_were_lost() -> None:
    sent = [line("a", at, "timer", sends=(("b", "ping"),)) for at in (1, 1000, 2000)]

    record = recorded([*sent, line("b", 1005, "recv", "a", "ping")])

    assert record.sent_by[3].place == 1


def test_what_is_received_more_often_than_sent_came_once_more() -> None:
    record = recorded([line("a", 1, "timer", sends=(("b", "m"),)), *[line("b", at, "recv", "a", "m") for at in (2, 3)]])

    assert record.sent_by[1] == record.sent_by[2]
    assert record.again == {2}


def test_what_was_sent_to_everybody_is_received_by_each() -> None:
    record = recorded(
        [line("a", 1, "timer", sends=(("*", "m"),)), line("b", 2, "recv", "a", "m"), line("c", 2, "recv", "a", "m")]
    )

    assert {record.sent_by[1].place, record.sent_by[2].place} == {0}
    assert record.again == set()


def test_lines_that_wait_for_each_other_are_all_told() -> None:
    """No run has such lines, but two logs that were cut at the wrong places may."""
    a = [line("a", 1, "recv", "b", "n"), line("a", 2, "timer", sends=(("b", "m"),))]
    b = [line("b", 1, "recv", "a", "m"), line("b", 2, "timer", sends=(("a", "n"),))]

    assert sorted(told(recorded(a + b))) == [("a", "recv"), ("a", "timer"), ("b", "recv"), ("b", "timer")]
