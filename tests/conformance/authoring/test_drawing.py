"""`peerproof trace draw` draws whatever shows a run, tells from its content what that is, and says what it leaves out."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite
from tests.support.drawing import ended, line, story
from tests.support.vector_files import CODEC, EXCHANGE

from peerproof.cli.main import main
from peerproof.conformance.diagrams.svg import render_svg
from peerproof.conformance.runner.vector_diagram import of_vector
from peerproof.conformance.suite import locations
from peerproof.tla.manifest import models, root

ROUND: Final = "scuttlebutt/exchange/a-whole-round-seen-by-its-partner"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return story(tmp_path)


# Vectors


@pytest.mark.slow
def test_a_vector_is_drawn_by_its_id_or_its_place_in_a_file(capsys: Capture) -> None:
    path = locations.vectors_root() / "scuttlebutt/exchange/round.yaml"

    assert ended("a-whole-round-seen-by-its-partner") == 0
    by_id = capsys.readouterr().out
    assert ended(f"{path}#a-whole-round-seen-by-its-partner") == 0

    assert capsys.readouterr().out == by_id
    assert by_id.splitlines()[4:6] == ["node => peer  delta []", "node => peer  digest_response [c:1 1, a:1 0]"]


def test_a_file_with_one_vector_needs_no_id_and_one_with_more_names_them(tmp_path: Path, capsys: Capture) -> None:

    for layer, text in (("codec", CODEC), ("exchange", EXCHANGE)):
        (tmp_path / "scuttlebutt" / layer).mkdir(parents=True)
        (tmp_path / "scuttlebutt" / layer / "one.yaml").write_text(text, encoding="utf-8")

    assert ended(tmp_path / "scuttlebutt/exchange/one.yaml") == 0
    assert "node => peer" in capsys.readouterr().out
    assert ended(tmp_path / "scuttlebutt/codec/one.yaml") == 2
    assert "one.yaml#request-of-one" in capsys.readouterr().err


@pytest.mark.slow
def test_every_vector_can_be_drawn_in_every_format() -> None:
    """All that are written, and some of those that are made from models."""
    chosen = [vector for number, vector in enumerate(suite().vectors) if vector.layer != "model" or number % 211 == 0]
    for number, vector in enumerate(chosen):
        graph = of_vector(vector)
        assert graph.text().splitlines(), vector.id
        assert graph.mermaid().startswith("sequenceDiagram\n    participant p0 as "), vector.id
        if number % 41 == 0:
            ElementTree.fromstring(render_svg(graph, vector.title))


def test_show_has_the_same_picture(capsys: Capture) -> None:
    assert main(["vectors", "show", ROUND, "--format", "svg"]) == 0
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


def test_more_than_mermaid_draws_is_told(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(line("a", at, "timer", args={"type": "x" * 1000}) for at in range(60)), encoding="utf-8")

    assert ended(path, "--format", "mermaid") == 0
    assert "Mermaid draws 50,000 characters" in capsys.readouterr().err


# Models and their counterexamples


@pytest.mark.parametrize(("name", "is_named"), [("wendy/cluster/two-join-at-once", True), (ROUND, False)])
def test_a_vector_without_messages_names_the_command_that_shows_them(name: str, is_named: bool, capsys: Capture) -> None:
    assert main(["trace", "draw", name]) == 0
    assert (f"peerproof vectors explore {name}" in capsys.readouterr().err) == is_named


def test_a_model_that_fails_is_drawn(capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0

    out, err = capsys.readouterr()
    assert "n1 -> n2" in out
    assert re.fullmatch(r"DX-01-letter: Converged is violated in \d+ steps\n", err)


def test_a_counterexample_is_told_from_its_content(tmp_path: Path, capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0
    expected = capsys.readouterr().out
    path = Path(shutil.copy(COUNTEREXAMPLE, tmp_path / "nameless"))

    assert ended(path) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.slow
def test_variables_can_be_left_out(capsys: Capture) -> None:
    assert ended("DX-01-letter") == 0
    assert "n1  .     tock 6, ticks n2@0" in capsys.readouterr().out
    assert ended("DX-01-letter", "--without", "tock, other") == 0
    assert "n1  .     ticks n2@0" in capsys.readouterr().out


def test_a_model_is_named_with_its_protocol_where_several_have_the_name(capsys: Capture) -> None:
    assert ended("sometimes-cut") == 2
    assert "peter/sometimes-cut and distkv/sometimes-cut" in capsys.readouterr().err
    assert ended("peter/sometimes-cut") == 0


@pytest.mark.slow
def test_tlc_finds_it_anew(capsys: Capture) -> None:
    assert ended("DX-01-letter", "--tlc") == 0
    out, err = capsys.readouterr()

    assert "Converged is violated" in err
    assert "n2" in out


def test_counterexample_of_a_module_that_is_no_model_is_drawn_from_its_states(tmp_path: Path, capsys: Capture) -> None:
    """As the programs write it of a changed module: without protocol and model."""
    kept = next(model for model in models("swim") if model.name == "SX-02-stale-rumour").counterexample_path
    assert kept is not None
    itf = json.loads(kept.read_bytes())
    itf["#meta"] = {"violated": "NoStaleRumour"}
    (tmp_path / "found.itf.json").write_text(json.dumps(itf), encoding="utf-8")

    assert ended(kept) == 0
    replayed = capsys.readouterr().out
    assert ended(tmp_path / "found.itf.json", "--without", "table") == 0
    out, err = capsys.readouterr()
    assert [line.partition(" (")[0].partition(" [")[0] for line in arrows(out)] == [
        line.partition(" (")[0].partition(" [")[0] for line in arrows(replayed)
    ]
    assert "table" not in out
    assert "found.itf.json: NoStaleRumour is violated in 14 steps\nno model is named: drawn from the states alone" in err


def arrows(drawn: str) -> list[str]:
    return [line for line in drawn.splitlines() if "->" in line or "-x" in line]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"states": []}', "it has no states"),
        (b'{"#meta": {"model": "tiny"}, "states": []}', "KeyError('protocol')"),
        (b'{"states": [{"x": 1}, {"x": 2}]}', "names no model; of another module, a run is drawn if it has a variable net"),
        (b'{"states": [{"net": {"#set": []}}, {"net": {"#set": []}}]}', "and variables that are functions of the nodes\ntip: "),
        (b'{"#meta": {"protocol": "swim", "model": "none"}, "states": [{}]}', "there is no model swim/none"),
        (b'{"#meta": {"protocol": "distkv", "model": "DX-01-letter"}, "states": []}', "it has no states"),
        (b'{"#meta": {"protocol": "distkv", "model": "DX-01-letter"}, "states": [{"last": 1}]}', "not a run of DX-01-letter"),
        (b'{"states": ', "JSONDecodeError"),
        (b"", "is empty"),
        (b"words", "is not a trace, a capture, a file of vectors or a counterexample"),
        (b'{"a": 1}', "is JSON, but neither a trace"),
        (b"\nvectors: []\n", "vectors are in files like PROTOCOL/LAYER/TOPIC.yaml"),
        (b"\xa1\xb2\xc3\xd4", "--protocol: expected the protocol of"),
    ],
)
def test_a_spoilt_counterexample_or_a_file_of_something_else_is_told(
    content: bytes, problem: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)

    assert ended(path) == 2
    assert problem in capsys.readouterr().err


# Nothing to draw


HOLDS = next(model.name for model in models("swim") if model.verdict == "success")
COUNTEREXAMPLE = str(root() / "distkv/counterexamples/DX-01-letter.itf.json")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["no-such-vector"], "unknown vector or model 'no-such-vector'\ntip: peerproof vectors list shows the vectors, "),
        (["WX-01"], "unknown vector or model 'WX-01'\ntip: did you mean WX-01-two-owners?\n"),
        (["swim/SX-02-stale-rumor"], "tip: did you mean SX-02-stale-rumour"),
        (["digest-request-of-won"], "tip: did you mean scuttlebutt/codec/digest-request-of-one or "),
        (["gone.jsonl"], "there is no file gone.jsonl"),
        (["."], ".: Is a directory: name the files in it, as ./*"),
        ([ROUND, "DX-01-letter"], f"{ROUND} is not a file; several sources must be the traces of one run"),
        ([ROUND, "--from", "5"], "--from does not apply to a vector"),
        ([ROUND, "--most", "5"], "--most does not apply to a vector"),
        (["run.jsonl", "--most", "0"], "--most: '0': expected a number, at least 1"),
        (["DX-01-letter", "--port", "5"], "--port does not apply to a model"),
        ([f"swim/{HOLDS}"], "holds: it has no failing run"),
        (["run.jsonl", COUNTEREXAMPLE], "these are a counterexample and a trace"),
        (["run.jsonl", "--output", "missing/a.svg"], "cannot write"),
        (["run.jsonl", "other.jsonl"], "traces of several protocols: scuttlebutt, swim; name those of one\n"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments: list[str], problem: str, trace: Path, here: Path, capsys: Capture) -> None:
    (here / "other.jsonl").write_text(line("a", 0, "start", protocol="swim"), encoding="utf-8")

    assert ended(*arguments) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert "pipeline ingest" not in said
