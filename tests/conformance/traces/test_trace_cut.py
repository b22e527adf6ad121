"""A part of a trace: each node from a start on, with the verdict that its lines have in the whole trace."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from peerproof.cli.main import main
from peerproof.conformance.traces.file_check import NoTrace, check_trace

Line = dict[str, Any]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster in which one node does something wrong, and another one crashes and starts again."""
    path = tmp_path_factory.mktemp("cut") / "big.jsonl"
    options = ["--nodes", "3", "--rounds", "40", "--crash", "2@10", "--restart", "2@20", "--divergence", "1@BD-06"]
    main(["node", "simulate", "scuttlebutt", *options, "--trace", str(path)])
    return path


def lines(path: Path) -> list[Line]:
    """The lines of a trace."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def milliseconds(line: Line) -> int:
    """The time of a line, as `trace draw` shows it."""
    return int(line["t_us"]) // 1000


def divergences(path: Path) -> dict[str, list[int]]:
    """The numbers of the events of each node that diverge."""
    with path.open("rb") as file:
        report = check_trace(file, name=path.name)
    return {node.node: [found.divergence.line.seq for found in node.found] for node in report.nodes.values()}


@pytest.mark.parametrize("begin", [0, 5_000, 15_000, 25_000])
@pytest.mark.parametrize("end", [None, 30_000])
def test_a_part_begins_with_the_last_start_before_it_and_has_the_verdict_of_the_whole(
    begin: int, end: int | None, trace: Path, tmp_path: Path
) -> None:
    part, whole = tmp_path / "part.jsonl", lines(trace)
    to = ["--to", str(end)] if end else []
    assert main(["trace", "cut", str(trace), "--from", str(begin), *to, "--output", str(part)]) == 0

    expected = divergences(trace)
    assert expected["n1:1"]
    kept = lines(part)
    for node in {line["node"] for line in kept}:
        own = [line for line in kept if line["node"] == node]
        of_all = [line for line in whole if line["node"] == node]
        at = [milliseconds(line) for line in of_all]
        earlier = [n for n, line in enumerate(of_all) if line["kind"] == "start" and (at[n] <= begin or n == 0)]
        until = [n for n in range(len(of_all)) if end is None or at[n] < end]
        assert own == of_all[earlier[-1] : until[-1] + 1]
        seqs = [line["seq"] for line in own]
        assert divergences(part)[node] == [seq for seq in expected[node] if seqs[0] <= seq <= seqs[-1]]


def test_nodes_are_chosen_and_what_is_kept_is_said(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "part.jsonl"

    assert main(["trace", "cut", str(trace), "--node", "n2:1", "--node", "n0:1", "--from", "25000", "--output", str(part)]) == 0

    kept = lines(part)
    assert {line["node"] for line in kept} == {"n0:1", "n2:1"}
    restart = next(line for line in kept if line["node"] == "n2:1")
    count = sum(line["node"] == "n2:1" for line in kept)
    said = f"n2:1 in seed-0: {count:,} lines, from its start at {milliseconds(restart):,} ms (seq {restart['seq']})"
    assert (restart["kind"], restart["seq"] > 0, said in capsys.readouterr().err.splitlines()) == ("start", True, True)


def test_standard_input_is_read_as_a_file_is_compressed_or_not(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = trace.read_bytes()
    expected = tmp_path / "expected.jsonl"
    main(["trace", "cut", str(trace), "--from", "25000", "--output", str(expected)])

    for name, given in (("plain", data), ("gzip", gzip.compress(data))):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
        assert main(["trace", "cut", "-", "--from", "25000", "--output", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes() == expected.read_bytes()


def test_lines_that_are_none_are_left_out(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged, part = tmp_path / "damaged.jsonl", tmp_path / "part.jsonl"
    damaged.write_bytes(b"{\n\n" + trace.read_bytes() + b"\xff")

    assert main(["trace", "cut", str(damaged), "--output", str(part)]) == 0

    assert part.read_bytes() == trace.read_bytes()
    assert "2 lines are not lines of a trace, and are left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--node", "n9:1"], 4, "no line was chosen\ntip: there are the nodes "),
        (["--run", "other"], 4, "no line was chosen"),
        (["--output", "{trace}"], 2, "is the trace itself"),
        (["--from", "5", "--to", "5"], 2, "there is nothing from 5 to 5 ms"),
    ],
)
def test_what_cannot_be_cut_is_refused(
    options: list[str], code: int, said: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = trace.read_bytes()
    part = tmp_path / "part.jsonl"

    assert main(["trace", "cut", str(trace), "--output", str(part), *(option.format(trace=trace) for option in options)]) == code

    assert said in capsys.readouterr().err
    assert not part.exists()
    assert trace.read_bytes() == before


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    other.write_text("a\nb\n", encoding="utf-8")

    assert main(["trace", "cut", str(other)]) == 2
    assert main(["trace", "cut", str(tmp_path / "none")]) == 2

    assert capsys.readouterr().err.splitlines() == [
        f"error: {other}: no line of it is a line of a trace; line 1: not a trace line: no JSON at column 1",
        f"tip: {NoTrace.tip}",
        f"error: {tmp_path / 'none'}: No such file or directory",
    ]


def test_times_since_1970_begin_with_the_first_line(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved, part = tmp_path / "moved.jsonl", tmp_path / "part.jsonl"
    since = 10**15
    whole = [{**line, "t_us": line["t_us"] - lines(trace)[0]["t_us"] + since} for line in lines(trace)]
    moved.write_text("".join(f"{json.dumps(line)}\n" for line in whole), encoding="utf-8")

    assert main(["trace", "cut", str(moved), "--to", "5000", "--output", str(part)]) == 0

    assert {line["t_us"] < since + 5_000_000 for line in lines(part)} == {True}
    assert len(lines(part)) > 5
