"""Watching a folder: what running nodes write is judged within seconds, whatever becomes of the files."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import simulated
from tests.pipeline.recorded import nodes
from tests.support.waiting import PATIENCE, until

from peerproof.cli.main import main
from peerproof.conformance.traces.node_check import Options
from peerproof.pipeline.ingest import trace_lines
from peerproof.pipeline.judging import follow
from peerproof.pipeline.judging.follow import Watch


def lines(node: str = "n1:1", seed: str = "v") -> list[str]:
    return [line.json() for line in simulated(seed=seed) if line.node == node]


def append(file: Path, *parts: str, end: str = "\n") -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write("".join(f"{part}{end}" for part in parts))


def seen(watch: Watch) -> list[tuple[str, int | None]]:
    """What is new: property and number."""
    return [(row["property"], row["seq"]) for row in watch.look()]


def watch_of(folder: Path) -> Watch:
    return Watch(folder, Options(str(folder)))


def test_a_divergence_is_found_with_the_line_that_it_is_in(tmp_path: Path) -> None:
    file, watch = tmp_path / "n1.jsonl", watch_of(tmp_path)
    trace = lines()
    bad = re.sub(r'"state":"[0-9a-f]+"', '"state":"0123456789abcdef"', trace[12])

    append(file, *trace[:12])
    assert seen(watch) == []
    append(file, bad)
    assert seen(watch) == [("StateDigest", 12)]
    append(file, trace[13])
    assert seen(watch) == []
    assert watch.events == 14


def test_half_a_line_waits_for_the_other_half(tmp_path: Path) -> None:
    file, watch = tmp_path / "n1.jsonl", watch_of(tmp_path)
    trace = lines()
    for line in trace:
        for part in (line[:50], line[50:], "\n"):
            append(file, part, end="")
            assert seen(watch) == []

    assert watch.events == len(trace)
    assert list(watch.end()) == []


def test_a_file_that_is_begun_anew_is_another_run_of_its_node(tmp_path: Path) -> None:
    file, watch = tmp_path / "n1.jsonl", watch_of(tmp_path)
    append(file, *lines())
    assert seen(watch) == []

    file.write_text("".join(f"{line}\n" for line in lines()[:9]), "utf-8")
    assert seen(watch) == []
    file.unlink()
    assert seen(watch) == []
    append(file, *lines()[:5])
    assert seen(watch) == []
    assert watch.events == len(lines()) + 9 + 5


def test_faults_of_the_log_are_told(tmp_path: Path) -> None:
    """A gap is known to be one when enough others have come, or in the end."""
    file, watch = tmp_path / "n1.jsonl", watch_of(tmp_path)
    trace = lines()
    append(file, *trace[:5], "no line", trace[4], *trace[6:9])

    assert seen(watch) == [("not_json", None), ("DoubledLine", 4)]
    assert [(row["property"], row["seq"]) for row in watch.end()] == [("LostLine", 6)]


def test_what_is_found_in_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: signal.raise_signal(signal.SIGINT))
    trace, shown = lines(), StringIO()
    append(tmp_path / "n1.jsonl", *trace[:5], trace[6])

    assert follow.follow(tmp_path, Options(str(tmp_path)), shown) == 1
    assert "LostLine" in shown.getvalue()
    assert shown.getvalue().endswith("violations: 1\n")


def test_an_interruption_amid_a_look_is_seen_before_the_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes: in a callback, where Python would lose an exception, too. What has been read is judged."""
    trace, shown, event = lines(), StringIO(), trace_lines.event
    append(tmp_path / "n1.jsonl", *trace[:5], trace[6])
    append(tmp_path / "n2.jsonl", *trace)

    class Lost:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def read(*given: Any) -> Any:
        Lost()
        monkeypatch.setattr(trace_lines, "event", event)
        return event(*given)

    monkeypatch.setattr(trace_lines, "event", read)

    assert follow.follow(tmp_path, Options(str(tmp_path)), shown) == 1
    assert "LostLine" in shown.getvalue()
    assert shown.getvalue().endswith("6 events of 1 node; violations: 1\n")


def test_a_line_without_an_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "BLOCK", 100)
    file, watch = tmp_path / "n1.jsonl", watch_of(tmp_path)
    append(file, "x" * 150, end="")

    assert seen(watch) == [("line_too_long", None)]
    assert seen(watch) == []


def test_a_folder_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "validate", "--follow", str(tmp_path / "none")]) == 2
    assert "error: no folder " in capsys.readouterr().err


COMMAND = [sys.executable, "-m", "peerproof.cli.main", "pipeline", "validate", "--follow"]


@contextmanager
def following(folder: Path, said: Path) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own."""
    with said.open("w", encoding="utf-8") as out:
        process = subprocess.Popen([*COMMAND, str(folder)], stdout=out, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: said.read_text("utf-8").startswith("watching "), "the command watches")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> int:
    """Ended with Ctrl-C; nothing is complained of."""
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=PATIENCE)
    assert complaints == ""
    return process.returncode


@pytest.mark.slow
def test_real_nodes_are_followed_and_a_divergence_is_printed_while_they_run(tmp_path: Path) -> None:
    folder, said = tmp_path / "logs", tmp_path / "said"
    folder.mkdir()
    with following(folder, said) as process, nodes(folder) as started:
        first = folder / "node0.jsonl"
        until(lambda: first.exists() and first.read_bytes().count(b"\n") > 50, "a trace grows")
        assert "VIOLATES" not in said.read_text("utf-8")

        spoiled = [line.replace('"state":"', '"state":"0', 1) for line in first.read_text("utf-8").splitlines()[:20]]
        unfinished = folder / ".spoiled"
        unfinished.write_text("".join(f"{line}\n" for line in spoiled), "utf-8")
        os.replace(unfinished, folder / "spoiled.jsonl")
        until(lambda: "VIOLATES StateDigest" in said.read_text("utf-8"), "the divergence is printed")

        assert all(node.process.poll() is None for node in started)
        assert ended(process) == 1
    text = said.read_text("utf-8")
    assert text.count("VIOLATES") == 1
    assert "spoiled.jsonl:1: " in text
    assert text.splitlines()[-1].endswith("violations: 1")


@pytest.mark.slow
def test_where_nothing_is_found_the_end_is_a_good_one(tmp_path: Path) -> None:
    folder, said = tmp_path / "logs", tmp_path / "said"
    folder.mkdir()
    append(folder / "n1.jsonl", *lines())
    with following(folder, said) as process:
        assert ended(process) == 0
    assert said.read_text("utf-8").splitlines()[-1].endswith("violations: none")
