"""`peerproof trace groups`: who heard whom when."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.traces.contact import Contact, Interval


def line(at: int, node: str, peer: str | None = None) -> bytes:
    return json.dumps({"protocol": "swim", "node": node, "t_us": at, "kind": "recv" if peer else "timer", "peer": peer}).encode()


def intervals(*lines: bytes) -> list[Interval]:
    contact = Contact(window=10)
    for each in lines:
        contact.add(each)
    return contact.intervals()


def test_nodes_that_are_connected_by_others_are_one_group() -> None:
    (found,) = intervals(line(1, "b", "a"), line(2, "c", "b"), line(3, "e", "d"), line(4, "a"), line(4, "d"))

    assert (found.groups, found.silent) == ((("a", "b", "c"), ("d", "e")), ())


def test_lines_may_come_in_any_order() -> None:
    lines = [line(at, *nodes) for at in range(0, 50, 5) for nodes in (("a", "b"), ("b",)) if at != 30]

    assert intervals(*reversed(lines)) == intervals(*lines) == [Interval(0, 50, (("a", "b"),), ())]


def test_a_split_has_the_times_of_the_last_message_across_and_of_the_next() -> None:
    together = [line(at, "a", "b") for at in (3, 7, 18, 41, 55, 61)]
    apart = [line(at, node) for at in range(70) for node in "ab"]

    found = intervals(*together, *apart)

    assert found == [
        Interval(0, 20, (("a", "b"),), ()),
        Interval(20, 40, (("a",), ("b",)), (), last_across=18, first_across=41),
        Interval(40, 70, (("a", "b"),), ()),
    ]


def test_a_node_without_a_line_is_silent_and_a_message_of_it_joins_nothing() -> None:
    lines = [line(at, "a") for at in range(50)] + [line(at, "b") for at in (*range(20), *range(30, 50))] + [line(25, "a", "b")]

    assert [(each.groups, each.silent) for each in intervals(*lines)][1] == ((("a",),), ("b",))


def test_a_time_in_which_no_node_has_a_line_is_an_interval() -> None:
    assert [each.groups for each in intervals(line(5, "a"), line(15, "a"), line(75, "a"), line(85, "a"))] == [
        (("a",),),
        (),
        (("a",),),
    ]


def test_messages_of_a_node_that_is_silent_then_are_none_across() -> None:
    """It was heard by both halves before, and is again later."""
    halves = [line(at, node) for at in range(0, 90, 2) for node in "ab"]
    third = [line(at, node, "c") for at in (5, 75, 85) for node in "ab"] + [line(at, "c") for at in (5, 75, 85)]
    direct = [line(2, "a", "b")]

    (split,) = [each for each in intervals(*halves, *third, *direct) if len(each.groups) > 1]

    assert (split.silent, split.last_across, split.first_across) == (("c",), 2, None)


def test_a_clock_that_begins_at_0_beside_those_that_begin_in_1970_does_not_take_for_ever() -> None:
    early, late = [line(at, "a") for at in range(50)], [line(10**15 + at, "b") for at in range(50)]

    assert [each.groups for each in intervals(*early, *late)] == [(("a",),), (), (("b",),)]


def test_of_no_line_there_is_no_interval() -> None:
    assert intervals() == []


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster of six that is split from second 18 to 27."""
    path = tmp_path_factory.mktemp("split") / "split.jsonl"
    options = ["--nodes", "6", "--rounds", "100", "--seed", "3", "--partition", "60-90", "--trace", str(path)]
    assert main(["node", "simulate", "swim", *options]) == 0
    return path


@pytest.mark.slow
def test_the_command_shows_the_halves_and_when_they_were_apart(split: Path, capsys: Capture) -> None:
    packed = split.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(split.read_bytes()))
    capsys.readouterr()

    assert main(["trace", "groups", str(packed), "--window", "2"]) == 0

    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "          0 ms  n0:1 n1:1 n2:1 n3:1 n4:1 n5:1"
    assert shown[2] == "     18,000 ms  n0:1 n1:1 n2:1 | n3:1 n4:1 n5:1"
    assert shown[3].strip().startswith("no message between these groups from 1")


@pytest.mark.slow
def test_the_same_as_json(split: Path, capsys: Capture) -> None:
    capsys.readouterr()

    assert main(["trace", "groups", str(split), "--window", "2", "--json"]) == 0

    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["nodes"] == [f"n{number}:1" for number in range(6)]
    assert found["intervals"][1]["groups"] == [["n0:1", "n1:1", "n2:1"], ["n3:1", "n4:1", "n5:1"]]
    assert found["intervals"][1]["begin"] == 18_000_000


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (None, 2, "No such file or directory"),
        ("[]", 2, "trace.jsonl: no line of it is a line of a trace; line 1: "),
        ('{"protocol":"swim","node":1,"t_us":2,"kind":"recv","peer":null}', 2, "line 1: expected a member 'run'"),
        (
            "".join(f"{line(5, 'a').decode().replace('swim', protocol)}\n" for protocol in ("wendy", "swim")),
            2,
            "error: traces of several protocols: swim, wendy; name those of one\n",
        ),
    ],
)
def test_what_is_no_trace_is_said(content: str | None, code: int, said: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")

    assert main(["trace", "groups", str(path)]) == code

    assert said in capsys.readouterr().err


@pytest.mark.parametrize("window", ["0", "-1", "x", "nan", "1e9"])
def test_a_window_has_a_length(window: str, capsys: Capture) -> None:
    assert main(["trace", "groups", "trace.jsonl", f"--window={window}"]) == 2
    assert "expected seconds, such as 10 or 0.5" in capsys.readouterr().err
