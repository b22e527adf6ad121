"""`peerproof draw` draws whatever shows a run, tells from its content what that is, and says what it leaves out."""

from __future__ import annotations

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from peerproof.cli.main import main
from peerproof.conformance import sources
from peerproof.conformance.excerpt import Excerpt
from peerproof.conformance.message_graph import Arrow
from peerproof.conformance.trace_picture import Reader, drawn
from peerproof.conformance.vectors import load
from peerproof.tla.manifest import models, root

ROUND: Final = "scuttlebutt/exchange/a-whole-round-seen-by-its-partner"
Capture = pytest.CaptureFixture[str]


def ended(*arguments: str | Path) -> int:
    """The exit code of `peerproof draw`, however it ends."""
    try:
        return main(["draw", *map(str, arguments)])
    except SystemExit as end:
        return int(end.code or 0)


def line(node: str, at: int, kind: str, **others: Any) -> str:
    """A line of a trace, at so many milliseconds."""
    same = {"run": "r", "protocol": "scuttlebutt", "impl": "i", "node": node, "seq": 0, "t_us": at * 1000, "kind": kind}
    rest = {"peer": None, "args": {}, "picks": [], "effects": [], "state": None}
    return json.dumps(same | rest | others)


def sent(to: str, message: Any) -> dict[str, Any]:
    """An effect that sends."""
    return {"send": {"to": to, "message": message}}


PING: Final = {"type": "ping", "n": 1}
STORY: Final = (
    line("a", 0, "start"),
    line("b", 0, "start"),
    line("a", 100, "timer", args={"type": "round"}, effects=[sent("b", PING), sent("x", {"type": "hello"})]),
    line("b", 105, "recv", peer="a", args=PING, effects=[{"notify": {"type": "join", "peer": "a"}}, sent("a", {"type": "ack"})]),
    line("a", 110, "recv", peer="b", args={"type": "ack"}),
    line("a", 200, "api", args={"type": "update", "key": "k"}, refused="is_full", effects=[sent("b", {"type": "gone"})]),
    line("a", 300, "timer", args={"type": "round"}, effects=[sent("b", {"type": "late"})]),
    line("b", 250, "timer", args={"type": "round"}),
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(STORY) + "\n", encoding="utf-8")
    return path


# Vectors


def test_a_vector_is_drawn_by_its_id_or_its_place_in_a_file(capsys: Capture) -> None:
    path = sources.vectors_root() / "scuttlebutt/exchange/round.yaml"

    assert ended("a-whole-round-seen-by-its-partner") == 0
    by_id = capsys.readouterr().out
    assert ended(f"{path}#a-whole-round-seen-by-its-partner") == 0

    assert capsys.readouterr().out == by_id
    assert by_id.splitlines()[4:6] == ["node => peer  delta []", "node => peer  digest_response [c:1 1, a:1 0]"]


def test_a_file_with_one_vector_needs_no_id_and_one_with_more_names_them(tmp_path: Path, capsys: Capture) -> None:
    from tests.conformance.conftest import CODEC, EXCHANGE

    for layer, text in (("codec", CODEC), ("exchange", EXCHANGE)):
        (tmp_path / "scuttlebutt" / layer).mkdir(parents=True)
        (tmp_path / "scuttlebutt" / layer / "one.yaml").write_text(text, encoding="utf-8")

    assert ended(tmp_path / "scuttlebutt/exchange/one.yaml") == 0
    assert "node => peer" in capsys.readouterr().out
    assert ended(tmp_path / "scuttlebutt/codec/one.yaml") == 2
    assert "one.yaml#request-of-one" in capsys.readouterr().err


def test_every_vector_can_be_drawn_in_every_format() -> None:
    from peerproof.conformance.sequence import of_vector

    for vector in load().vectors[::211]:
        graph = of_vector(vector)
        assert graph.text().splitlines()
        assert graph.mermaid().startswith("sequenceDiagram\n    participant p0 as ")
        ElementTree.fromstring(graph.svg(vector.title))


def test_show_has_the_same_picture(capsys: Capture) -> None:
    assert main(["show", ROUND, "--format", "svg"]) == 0
    shown = capsys.readouterr().out
    assert ended(ROUND, "--format", "svg") == 0

    assert capsys.readouterr().out == shown
    assert str(ElementTree.fromstring(shown)[0].text).startswith(f"{ROUND}: the partner of a round")


# Formats


@pytest.mark.parametrize(("name", "begins"), [("a.svg", "<svg "), ("a.mmd", "sequenceDiagram"), ("a.txt", "a  .")])
def test_the_name_of_the_file_says_the_format(name: str, begins: str, trace: Path, tmp_path: Path, capsys: Capture) -> None:
    assert ended(trace, "--output", tmp_path / name) == 0

    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)
    assert capsys.readouterr().out == ""


def test_a_file_that_cannot_be_written_is_told(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    assert ended(trace, "--output", tmp_path / "missing" / "a.svg") == 2
    assert "cannot write" in capsys.readouterr().err


def test_more_than_mermaid_draws_is_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(line("a", at, "timer", args={"type": "x" * 1000}) for at in range(60)), encoding="utf-8")

    assert ended(path, "--format", "mermaid") == 0
    assert "Mermaid draws 50,000 characters" in capsys.readouterr().err


# Traces


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
    assert ended(trace, "--from", "100", "--to", "110", "--node", "b") == 0

    assert capsys.readouterr().out.splitlines() == [
        "a -> b  105 ms: ping 1",
        "b  .    tells join a",
        "b  .    still under way to a, sent at 105 ms: ack",
    ]


def test_what_is_beyond_the_limit_is_counted_and_where_to_go_on(trace: Path, capsys: Capture) -> None:
    assert ended(trace, "--most", "4") == 0

    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split(maxsplit=1) == [".", "… 9 more, from 105 ms on"]
    assert err == "peerproof draw: 4 happenings are drawn, 9 more are not: go on with --from 105, or raise --most\n"


def test_nothing_of_that_time_is_told(trace: Path, capsys: Capture) -> None:
    assert ended(trace, "--from", "5000") == 4
    assert "nothing is left to draw" in capsys.readouterr().err


def test_a_trace_may_come_on_stdin(trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert ended(trace) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trace.read_bytes())))

    assert ended("-") == 0
    assert capsys.readouterr().out == expected


def test_lines_that_cannot_be_read_are_told_and_the_others_drawn(trace: Path, capsys: Capture) -> None:
    trace.write_bytes(trace.read_bytes() + b"\n{}\n\xff\n[1\nnothing\n")

    assert ended(trace) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 13
    assert re.findall(r"run\.jsonl:(\d+): not drawn", err) == ["10", "11", "12"]
    assert "1 more lines cannot be read" in err


def test_milliseconds_since_1970_are_counted_from_the_first_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(line("a", 1_800_000_000_000 + at, "timer", args={"type": "t"}) for at in (0, 7)), encoding="utf-8")

    assert ended(path, "--from", "5") == 0
    assert capsys.readouterr().out == "a  .    7 ms: timer t\n"


def test_a_message_that_did_not_arrive_over_a_connection_is_told_to_its_sender(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.jsonl"
    outcome = {"took": None, "message": PING}
    path.write_text(line("a", 5, "sent", peer="b", args=outcome), encoding="utf-8")

    assert ended(path) == 0
    assert capsys.readouterr().out == "a  .    5 ms: did not arrive at b: ping 1\n"


def test_runs_are_not_mixed(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join([line("a", 0, "start"), line("b", 1, "start", run="other")]), encoding="utf-8")

    assert ended(path) == 2
    assert "2 runs; choose one with --run" in capsys.readouterr().err
    assert ended(path, "--run", "other") == 0
    assert capsys.readouterr().out == "b  .    1 ms: start\n"
    assert ended(path, "--run", "third") == 2
    assert "no run 'third'" in capsys.readouterr().err


def test_lines_beyond_what_can_be_kept_are_told() -> None:
    reader = Reader(most=3)
    reader.read("run", io.BytesIO("\n".join(STORY).encode()))

    assert reader.cut == ["run"]
    assert "still under way to b, sent at 100 ms: ping 1" in drawn(reader, Excerpt()).text()


def simulated(protocol: str, path: Path, *options: str) -> Path:
    assert main(["simulate", protocol, "--seed", "3", "--trace", str(path), *options]) == 0
    return path


def arrows(*files: Path) -> Iterator[Arrow]:
    """Those that arrive, without their times."""
    reader = Reader()
    for path in files:
        with path.open("rb") as file:
            reader.read(path.name, file, share=len(files))
    for each in drawn(reader, Excerpt(most=10_000)).happenings:
        if isinstance(each, Arrow):
            yield each._replace(label=re.sub(r"^\d+ ms: | \(.*\)$", "", each.label))


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


def test_nodes_with_clocks_of_their_own_are_brought_together(tmp_path: Path, capsys: Capture) -> None:
    """The files of three nodes that began at different times show the messages of the one file of all."""
    whole = simulated("scuttlebutt", tmp_path / "run.jsonl", "--nodes", "3", "--rounds", "6", "--loss", "0.2")
    files = []
    by_node: dict[str, list[str]] = {}
    for text in whole.read_text(encoding="utf-8").splitlines():
        by_node.setdefault(json.loads(text)["node"], []).append(text)
    for number, texts in enumerate(by_node.values()):
        begun = json.loads(texts[0])["t_us"]
        shifted = [re.sub(r'"t_us":(\d+)', lambda found: f'"t_us":{int(found[1]) - begun}', text, count=1) for text in texts]  # noqa: B023
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_text("\n".join(shifted), encoding="utf-8")

    assert Counter(arrows(*files)) == Counter(arrows(whole))


# Models and their counterexamples


def test_a_model_that_fails_is_drawn(capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0

    out, err = capsys.readouterr()
    assert "n1 -> n2" in out
    assert re.fullmatch(r"peerproof draw: DX-01-letter: Converged is violated in \d+ steps\n", err)


def test_a_counterexample_is_told_from_its_content(tmp_path: Path, capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0
    expected = capsys.readouterr().out
    path = tmp_path / "nameless"
    path.write_bytes((root() / "distkv/counterexamples/DX-01-letter.itf.json").read_bytes())

    assert ended(path) == 0
    assert capsys.readouterr().out == expected


def test_variables_can_be_left_out(capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0
    assert "n1  .     tock 6, ticks n2@0" in capsys.readouterr().out
    assert ended("DX-01-letter", "--without", "tock, other") == 0
    assert "n1  .     ticks n2@0" in capsys.readouterr().out


def test_a_model_is_named_with_its_protocol_where_several_have_the_name(capsys: Capture) -> None:
    assert ended("sometimes-cut") == 2
    assert "peter/sometimes-cut and distkv/sometimes-cut" in capsys.readouterr().err
    assert ended("peter/sometimes-cut") == 0


def test_a_model_that_holds_cannot_be_drawn(capsys: Capture) -> None:
    holds = next(model for model in models("swim") if model.verdict == "success")

    assert ended(f"swim/{holds.name}") == 2
    assert "holds: there is no run in which it fails" in capsys.readouterr().err


@pytest.mark.slow
def test_tlc_finds_it_anew(capsys: Capture) -> None:
    assert ended("DX-01-letter", "--tlc") == 0
    out, err = capsys.readouterr()

    assert "Converged is violated" in err
    assert "n2" in out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"states": []}', "KeyError('protocol')"),
        ('{"#meta": {"protocol": "swim", "model": "none"}, "states": [{}]}', "there is no model swim/none"),
        ('{"#meta": {"protocol": "distkv", "model": "DX-01-letter"}, "states": []}', "it has no states"),
        ('{"#meta": {"protocol": "distkv", "model": "DX-01-letter"}, "states": [{"last": 1}]}', "not a run of DX-01-letter"),
        ('{"states": ', "JSONDecodeError"),
    ],
)
def test_a_spoilt_counterexample_is_told(text: str, problem: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")

    assert ended(path) == 2
    assert problem in capsys.readouterr().err


# Nothing to draw


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"words", "is no trace, no capture, no file of vectors and no counterexample"),
        (b'{"a": 1}', "is JSON, but neither a trace"),
        (b"\nvectors: []\n", "vectors are in files like PROTOCOL/LAYER/TOPIC.yaml"),
        (b"\xa1\xb2\xc3\xd4", "--protocol: expected whose messages"),
    ],
)
def test_a_file_that_is_nothing_to_draw_is_told(content: bytes, problem: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    assert ended(path) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["no-such-vector"], "no vector 'no-such-vector'"),
        (["gone.jsonl"], "there is no file gone.jsonl"),
        (["."], "is a directory"),
        ([ROUND, "DX-01-letter"], f"{ROUND} is no file; several sources are the traces of one run"),
        ([ROUND, "--from", "5"], "--from means nothing for a vector"),
        (["DX-01-letter", "--port", "5"], "--port means nothing for a model"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments: list[str], problem: str, capsys: Capture) -> None:
    assert ended(*arguments) == 2
    assert problem in capsys.readouterr().err


def test_a_trace_and_something_else_are_not_drawn_together(trace: Path, capsys: Capture) -> None:
    assert ended(trace, root() / "distkv/counterexamples/DX-01-letter.itf.json") == 2
    assert "these are a counterexample and a trace" in capsys.readouterr().err


def test_traces_of_two_protocols_are_not_one_run(trace: Path, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(line("a", 0, "start", protocol="swim"), encoding="utf-8")

    assert ended(trace, other) == 2
    assert "traces of several protocols: scuttlebutt, swim" in capsys.readouterr().err
