"""A trace is drawn as what happened, whoever wrote it down: arrivals, losses, clocks, and what was under way when it ended."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.drawing import PING, STORY, ended, line, story

from peerproof.cli.main import main
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt
from peerproof.conformance.traces.trace_diagram import Read, Reader, Recording, read_traces, trace_graph
from peerproof.spec.traces.trace import Kind, Line


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return story(tmp_path)


def test_a_message_stands_where_it_is_received_and_a_lost_one_where_it_was_sent(trace: Path, capsys: Capture) -> None:
    assert ended(trace) == 0

    assert capsys.readouterr().out.splitlines() == [
        "a  .    0 ms: start",
        "b  .    0 ms: start",
        "a  .    100 ms: timer round",
        "a -> x  hello",
        "a -> b  105 ms: ping 1",
        "b  .    tells join a",
        "b -> a  110 ms: ack",
        "a  .    200 ms: update k",
        "a  .    refused: is_full",
        "a -x b  gone",
        "b  .    250 ms: timer round",
        "a  .    300 ms: timer round",
        "a  .    still under way to b, sent at 300 ms: late",
    ]


def test_a_time_and_a_node_can_be_chosen(trace: Path, capsys: Capture) -> None:
    """A message shows its time where the event that sent it is not drawn."""
    assert ended(trace, "--from", "100", "--to", "210", "--node", "b") == 0

    assert capsys.readouterr().out.splitlines() == [
        "a -> b  105 ms: ping 1 (sent at 100 ms)",
        "b  .    tells join a",
        "b -> a  110 ms: ack",
        "a -x b  200 ms: gone",
    ]


def test_what_is_beyond_the_limit_is_counted_and_where_to_go_on(trace: Path, capsys: Capture) -> None:
    assert ended(trace, "--most", "4") == 0

    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split(maxsplit=1) == [".", "… 9 more, from 105 ms on"]
    assert err == "4 events are drawn, 9 more are not: continue with --from 105, or raise --most\n"


def test_nothing_of_that_time_is_told(trace: Path, capsys: Capture) -> None:
    assert ended(trace, "--from", "5000") == 4
    assert "nothing to draw" in capsys.readouterr().err


def test_a_node_that_is_not_there_is_answered_with_those_that_are(trace: Path, capsys: Capture) -> None:
    assert ended(trace, "--node", "c") == 4
    assert "tip: --node: there are a, b, x" in capsys.readouterr().err


def test_a_trace_may_come_on_stdin(trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert ended(trace) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trace.read_bytes())))

    assert ended("-") == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("is_standard", [False, True], ids=["file", "stdin"])
@pytest.mark.parametrize("least", [0, 20], ids=["whole", "cut"])
def test_a_compressed_trace_is_drawn_as_far_as_it_goes(
    least: int, is_standard: bool, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert ended(trace) == 0
    expected = capsys.readouterr().out
    data = gzip.compress(trace.read_bytes())
    trace.write_bytes(data[: len(data) - least])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trace.read_bytes())))

    assert ended("-" if is_standard else trace) == 0

    out, err = capsys.readouterr()
    assert (out == expected) == (least == 0)
    assert ("the gzip file ends early; the part before was read" in err) == (least > 0)


def test_lines_that_cannot_be_read_are_told_and_the_others_drawn(trace: Path, capsys: Capture) -> None:
    trace.write_bytes(trace.read_bytes() + b"\n{}\n\xff\n[1\nnothing\n")

    assert ended(trace) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 13
    assert re.findall(r"run\.jsonl:(\d+): not drawn", err) == ["10", "11", "12"]
    assert "1 more lines cannot be read" in err


def drawn(path: Path, lines: Sequence[str], *options: str) -> int:
    """The exit code of drawing these lines."""
    path.write_text("\n".join(lines), encoding="utf-8")
    return ended(path, *options)


def test_milliseconds_since_1970_are_counted_from_the_first_line(tmp_path: Path, capsys: Capture) -> None:
    lines = [line("a", 1_800_000_000_000 + at, "timer", args={"type": "t"}) for at in (0, 7)]

    assert drawn(tmp_path / "a.jsonl", lines, "--from", "5") == 0
    assert capsys.readouterr().out == "a  .    7 ms: timer t\n"


def test_a_message_that_did_not_arrive_over_a_connection_is_told_to_its_sender(tmp_path: Path, capsys: Capture) -> None:
    lost = line("a", 5, "sent", peer="b", args={"took": None, "message": PING})

    assert drawn(tmp_path / "a.jsonl", [lost]) == 0
    assert capsys.readouterr().out == "a  .    5 ms: did not arrive at b: ping 1\n"


@pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        ((), 2, "2 runs; choose one with --run"),
        (("--run", "other"), 0, "b  .    1 ms: start\n"),
        (("--run", "third"), 2, "no run 'third'"),
    ],
)
def test_runs_are_not_mixed(options: tuple[str, ...], code: int, shown: str, tmp_path: Path, capsys: Capture) -> None:
    assert drawn(tmp_path / "two.jsonl", [line("a", 0, "start"), line("b", 1, "start", run="other")], *options) == code
    assert shown in "".join(capsys.readouterr())


def test_lines_beyond_what_can_be_kept_are_told() -> None:
    reader = Reader(most=3)
    reader.read("run", io.BytesIO("\n".join(STORY).encode()))

    assert reader.cut == {"run": 3}
    assert "still under way to b, sent at 100 ms: ping 1" in trace_graph(reader, Excerpt()).text()


@pytest.mark.parametrize(("share", "cut"), [(1, {}), (2, {"run": len(STORY) // 2}), (100, {"run": 1})])
def test_each_file_has_its_share_of_the_lines_that_can_be_kept(share: int, cut: dict[str, int]) -> None:
    reader = Reader(most=len(STORY))
    reader.read("run", io.BytesIO("\n".join(STORY).encode()), share)

    assert reader.cut == cut


def test_a_time_beyond_the_lines_that_can_be_kept_is_reached_in_several_files(tmp_path: Path) -> None:
    """Though each file has a clock of its own."""
    lines = [
        json.loads(text) for text in simulated("swim", tmp_path / "run.jsonl", "--nodes", "2").read_text("utf-8").splitlines()
    ]
    files = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    for number, path in enumerate(files):
        own = [{**each, "t_us": each["t_us"] + number * 7_000_000} for each in lines if each["node"] == f"n{number}:1"]
        path.write_text("".join(f"{json.dumps(each)}\n" for each in own), encoding="utf-8")
    names = list(map(str, files))
    begin = 10_000 + 7_000

    whole, part = (trace_graph(read_traces(names, None, begin, most), Excerpt(begin)).text() for most in (10_000, 100))

    assert whole.count("ping") > 10
    assert part.splitlines()[:50] == whole.splitlines()[:50]


def simulated(protocol: str, path: Path, *options: str) -> Path:
    assert main(["node", "simulate", protocol, "--seed", "3", "--trace", str(path), *options]) == 0
    return path


def arrows(*files: Path) -> Iterator[Arrow]:
    """Those that arrive, without their times."""
    reader = Reader()
    for path in files:
        with path.open("rb") as file:
            reader.read(path.name, file, share=len(files))
    for each in trace_graph(reader, Excerpt(most=10_000)).happenings:
        if isinstance(each, Arrow):
            yield each._replace(label=re.sub(r"^\d+ ms: | \([^()]*\)$", "", each.label))


def test_every_datagram_of_a_simulated_run_is_an_arrow(tmp_path: Path, capsys: Capture) -> None:
    path = simulated(
        "scuttlebutt", tmp_path / "run.jsonl", "--nodes", "4", "--rounds", "6", "--loss", "0.2", "--duplication", "0.1"
    )

    found = list(arrows(path))
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    received = Counter((each["peer"], each["node"]) for each in lines if each["kind"] == "recv")
    count = sum("send" in effect for each in lines for effect in each["effects"])

    assert Counter((each.source, each.target) for each in found if not each.lost) == received
    assert 0 < sum(each.lost for each in found) < count


def test_nodes_stand_in_the_order_of_their_numbers_and_long_ids_are_cut(tmp_path: Path) -> None:
    path = simulated("swim", tmp_path / "run.jsonl", "--nodes", "11", "--rounds", "3")
    reader = Reader()
    with path.open("rb") as file:
        reader.read("run", file)

    graph = trace_graph(reader, Excerpt())

    assert list(graph.participants) == [f"n{number}:1" for number in range(11)]
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", graph.text())


@pytest.mark.parametrize("protocol", ["scuttlebutt", "wendy", "peter"])
def test_nodes_with_clocks_of_their_own_are_brought_together(protocol: str, tmp_path: Path, capsys: Capture) -> None:
    """
    The files of nodes that began at different times show the messages of the one file of all.

    Over connections, each message comes from a port of its own.
    """
    how = ("--loss", "0.2") if protocol == "scuttlebutt" else ()
    whole = simulated(protocol, tmp_path / "run.jsonl", "--nodes", "4", "--rounds", "6", *how)
    files = []
    by_node: dict[str, list[dict[str, Any]]] = {}
    for number, text in enumerate(whole.read_text(encoding="utf-8").splitlines()):
        entry = json.loads(text)
        if entry["kind"] == "recv" and protocol != "scuttlebutt":
            entry["peer"] = f"{entry['peer'].rpartition(':')[0]}:{50_000 + number}"
        by_node.setdefault(entry["node"], []).append(entry)
    for number, entries in enumerate(by_node.values()):
        begun = entries[0]["t_us"]
        files.append(tmp_path / f"{number}.jsonl")
        shifted = (json.dumps(each | {"t_us": each["t_us"] - begun}) for each in entries)
        files[-1].write_text("\n".join(shifted), encoding="utf-8")

    found = Counter(arrows(*files))

    assert found == Counter(arrows(whole))
    assert any(each.lost for each in found) is (protocol == "scuttlebutt")


# The lines of several nodes become one record: what is received was sent before, whatever the clocks say.


def entry(
    node: str, at: int, kind: Kind, peer: str | None = None, message: Any = "start", sends: tuple[tuple[str, Any], ...] = ()
) -> Line:
    """A line, at so many milliseconds."""
    effects = tuple({"send": {"to": to, "message": content}} for to, content in sends)
    return Line("r", "scuttlebutt", "i", node, 0, at * 1000, kind, peer, message, (), effects, None)


def sends(node: str, at: int, to: str, message: str = "m") -> Line:
    """A node sends something."""
    return entry(node, at, "timer", sends=((to, message),))


def gets(node: str, at: int, sender: str, message: str = "m", answers: tuple[tuple[str, Any], ...] = ()) -> Line:
    """A node receives something."""
    return entry(node, at, "recv", sender, message, answers)


def recorded(*files: list[Line]) -> Recording:
    return Recording(tuple(Read(number, each) for number, lines in enumerate(files, 1) for each in lines))


def told(record: Recording) -> list[str]:
    """Node, kind and milliseconds of each line, in order."""
    lines = [(record.lines[place].line, record.t_us(place) // 1000) for place in record.order()]
    return [f"{line.node} {line.kind} {milliseconds}" for line, milliseconds in lines]


@pytest.mark.parametrize(
    ("files", "order"),
    [
        pytest.param(
            [[entry("a", 1, "start"), entry("a", 5, "timer")], [entry("b", 2, "start"), entry("b", 3, "timer")]],
            ["a start 1", "b start 2", "b timer 3", "a timer 5"],
            id="lines stand in the order of time",
        ),
        pytest.param(
            [[gets("b", 1, "a"), sends("a", 1, "b")]],
            ["a timer 1", "b recv 1"],
            id="a receipt stands behind its sending at the same instant",
        ),
        pytest.param(
            [[sends("a", 5000, "b"), gets("a", 5020, "b", "answer")], [gets("b", 10, "a", answers=(("a", "answer"),))]],
            ["a timer 5000", "b recv 5010", "a recv 5020"],
            id="clocks are set by the messages in both directions, each of which took 10 ms",
        ),
        pytest.param(
            [[sends("a", 5000, "b")], [gets("b", 10, "a")]],
            ["a timer 5000", "b recv 5000"],
            id="with messages in one direction the fastest took no time",
        ),
        pytest.param(
            [[sends("a", 9000, "b")], [gets("b", 500, "a"), sends("b", 600, "c", "n")], [gets("c", 0, "b", "n")]],
            ["a timer 9000", "b recv 9000", "b timer 9100", "c recv 9100"],
            id="clocks are set over a third node",
        ),
        pytest.param(
            [[sends("a", 10, "b")], [gets("b", 400, "a")]], ["a timer 10", "b recv 400"], id="clocks that agree are left alone"
        ),
        pytest.param(
            [[gets("a", 1, "b", "n"), sends("a", 2, "b"), gets("b", 1, "a"), sends("b", 2, "a", "n")]],
            ["a recv 1", "a timer 2", "b recv 1", "b timer 2"],
            id="lines that wait for each other, as in logs that were cut at the wrong places, are all there",
        ),
    ],
)
def test_lines_of_several_nodes_stand_in_one_order(files: list[list[Line]], order: list[str]) -> None:
    assert told(recorded(*files)) == order


@pytest.mark.parametrize(
    ("lines", "sent_by", "again"),
    [
        pytest.param(
            [*(sends("a", at, "b") for at in (1, 1000, 2000)), gets("b", 1005, "a")],
            {3: 1},
            set(),
            id="of equal messages the ones before the last were lost",
        ),
        pytest.param(
            [sends("a", 1, "b"), gets("b", 2, "a"), gets("b", 3, "a")],
            {1: 0, 2: 0},
            {2},
            id="what is received more often than sent came once more",
        ),
        pytest.param(
            [sends("a", 1, "*"), gets("b", 2, "a"), gets("c", 2, "a")],
            {1: 0, 2: 0},
            set(),
            id="what was sent to everybody is received by each",
        ),
    ],
)
def test_a_receipt_knows_its_sending(lines: list[Line], sent_by: dict[int, int], again: set[int]) -> None:
    record = recorded(lines)

    assert {place: sent.place for place, sent in record.sent_by.items()} == sent_by
    assert record.again == again


def test_a_node_to_which_others_still_send_ends_in_a_cross(tmp_path: Path, capsys: Capture) -> None:
    """As the explorer says it. Two messages are lost at it; later the run goes on, so that they would have arrived."""
    sent = [{"send": {"to": "b", "message": PING}}]
    lines = [
        line("a", 0, "start"),
        line("b", 1, "start"),
        *(line("a", at, "timer", args={"type": "t"}, effects=sent) for at in (2, 3)),
        line("a", 9, "timer", args={"type": "t"}),
    ]

    assert drawn(tmp_path / "a.jsonl", lines) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[2] == "b  .    ✕ crash or end of its log: no further line, though others still send to it"
    assert shown.count("a -x b  ping 1") == 2

    assert drawn(tmp_path / "a.jsonl", [*lines[:-1], line("b", 9, "start")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[2] == "b  .    ✕ crash or stop: the node starts again later"
