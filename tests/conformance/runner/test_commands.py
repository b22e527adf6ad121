"""The commands that ask about vectors: what they print, and their exit codes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from peerproof.cli.main import main
from peerproof.conformance.suite import locations

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance.conftest import Capture, Written


@pytest.mark.parametrize(
    "command",
    [
        ["vectors", "list"],
        ["vectors", "show", "request-of-one"],
        ["explain", "B-14"],
        ["vectors", "coverage"],
        ["vectors", "lint"],
    ],
)
def test_a_broken_file_ends_every_command_with_2_and_its_place(
    written: Written, codec: str, capsys: Capture, command: list[str]
) -> None:
    root = written(codec=codec.replace("rev: 1", "rve: 1", 1))

    assert main([*command, "--vectors", str(root)]) == 2
    captured = capsys.readouterr()
    assert (
        "scuttlebutt/codec/some.yaml:8:3: unknown field 'rve' (did you mean 'rev'?); expected one of"
        in captured.out + captured.err
    )


def test_list_prints_what_is_selected(written: Written, capsys: Capture) -> None:
    root = str(written())

    assert main(["vectors", "list", "-k", "layer:codec !clause:BA-20", "--vectors", root]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("scuttlebutt/codec/request-of-one  must    B-40 B-43  a digest request is its type")
    assert lines[1].startswith("1 of 3 vectors, 1.0.0+sha256:")

    assert main(["vectors", "list", "--format", "ids", "--vectors", root]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3

    assert main(["vectors", "list", "--format", "json", "-k", "delta-then", "--vectors", root]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["needs"] == ["api.update_local", "events", "exchange", "observe.peers"]


def test_list_of_nothing_and_list_of_a_mistake_are_different(written: Written, capsys: Capture) -> None:
    root = str(written())

    assert main(["vectors", "list", "-k", "layer:codec clause:B-13", "--vectors", root]) == 4
    assert main(["vectors", "list", "-k", "layer:kodec", "--vectors", root]) == 4
    assert capsys.readouterr().err == "error: no vector matches 'kodec'\ntip: did you mean codec?\n"
    assert main(["vectors", "list", "-k", "lair:codec", "--vectors", root]) == 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("vectors list scuttlebutt swim -k codec", "unknown argument swim\ntip: -k protocol:scuttlebutt,swim selects several"),
        ("fuzz scuttlebutt swim", "unknown argument swim\ntip: name one protocol, and repeat the command for another"),
        ("vectors list scuttlebutt B-43", "unknown argument B-43\ntip: -k B-43 selects by this word"),
        ("vectors list b-43", "unknown protocol 'b-43'\ntip: -k b-43 selects by this word"),
        (
            "run -k layer:codec of-one",
            "unknown protocol 'of-one'\ntip: -k 'layer:codec of-one' selects by all of these words",
        ),
        ("vectors list scutlebutt", "unknown protocol 'scutlebutt'\ntip: did you mean scuttlebutt?"),
    ],
)
def test_word_too_many_is_refused_with_where_it_belongs(written: Written, capsys: Capture, command: str, message: str) -> None:
    vectors = () if command.startswith("fuzz") else ("--vectors", str(written()))

    assert main([*command.split(), *vectors]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_show_prints_the_lines_of_the_file(written: Written, codec: str, capsys: Capture) -> None:
    assert main(["vectors", "show", "request-of-one", "--vectors", str(written(codec=codec))]) == 0

    place, needs, flag, *lines = capsys.readouterr().out.splitlines()
    assert place.endswith("some.yaml:7")
    assert needs == "# needs: codec"
    assert flag == "# edge: A value at the end of its range."
    assert lines == codec.splitlines()[6:15]


def test_show_prints_the_last_vector_of_a_file_to_its_end(written: Written, exchange: str, capsys: Capture) -> None:
    assert main(["vectors", "show", "delta-then-response", "--vectors", str(written(exchange=exchange))]) == 0

    assert capsys.readouterr().out.splitlines()[2:] == exchange.splitlines()[4:]


def test_show_draws_an_exchange(written: Written, capsys: Capture) -> None:
    root = str(written())

    assert main(["vectors", "show", "delta-then-response", "--format", "sequence", "--vectors", root]) == 0
    assert capsys.readouterr().out == (
        "sequenceDiagram\n"
        "    participant p0 as node\n"
        "    participant p1 as peer\n"
        "    Note over p0: 0 ms: update_local(key=k, value=v)\n"
        "    p1->>p0: 10 ms: digest_request [a:1 2, b:1 0]\n"
        "    p0-->>p1: delta [b:1 k v 1]\n"
        "    p0-->>p1: digest_response [a:1 0]\n"
        '    Note over p0,p1: events: {"contains": [{"name": "join", "peer": "a:1"}]}\n'
        "    Note over p0,p1: nothing is sent until 500 ms\n"
        '    Note over p0: peers = {"multiset": ["a:1", "b:1"]}\n'
    )

    assert main(["vectors", "show", "delta-then-response", "--format", "text", "--vectors", root]) == 0
    assert "peer -> node  10 ms: digest_request [a:1 2, b:1 0]\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("request-off-one", "error: unknown vector 'request-off-one'\ntip: did you mean scuttlebutt/codec/request-of-one or"),
        ("request", "2 vectors match 'request':\n  scuttlebutt/codec/request-of-one\n  scuttlebutt/codec/request-cut"),
        ("zzz", "error: unknown vector 'zzz'\ntip: peerproof vectors list shows them"),
        ("scuttlebutt/codec/gone", "scuttlebutt/codec/gone was withdrawn: it was wrong"),
    ],
)
def test_show_names_what_was_perhaps_meant(written: Written, capsys: Capture, name: str, message: str) -> None:
    root = written()
    (root / "retired.yaml").write_text("format: 1\nwithdrawn: {scuttlebutt/codec/gone: it was wrong}\n")

    assert main(["vectors", "show", name, "--vectors", str(root)]) == 2
    assert message in capsys.readouterr().err


def test_explain_shows_a_clause_and_what_holds_it(written: Written, capsys: Capture) -> None:
    assert main(["explain", "ba-20", "--vectors", str(written())]) == 0

    text = capsys.readouterr().out
    assert text.startswith("BA-20 (scuttlebutt: ")
    assert "A datagram that is no message" in text
    assert "\nvectors\n  scuttlebutt/codec/request-cut  no beginning of a digest request" in text

    assert main(["explain", "B-99", "--vectors", str(written())]) == 2
    assert capsys.readouterr().err.startswith("error: unknown clause 'B-99'\ntip: there are B-01 to B-")


def test_coverage_ends_with_1_if_there_is_a_hole(written: Written, capsys: Capture) -> None:
    assert main(["vectors", "coverage", "--vectors", str(written())]) == 1

    assert "hole: B-01 has no vector\n" in capsys.readouterr().out


@pytest.mark.slow
def test_lint_ends_with_1_if_there_is_a_finding(written: Written, codec: str, capsys: Capture) -> None:
    root = written(codec=codec.replace("BA-20", "BA-99"))

    assert main(["vectors", "lint", "--vectors", str(root)]) == 1
    captured = capsys.readouterr()
    assert "clause: scuttlebutt has no clause BA-99" in captured.out
    assert captured.err == "2 vectors in 1 file, 1 finding\n"


@pytest.mark.parametrize("command", [["run"], ["vectors", "list"], ["vectors", "lint"], ["vectors", "coverage"]])
def test_a_folder_in_the_place_of_a_protocol_is_a_folder_of_vectors(here: Path, capsys: Capture, command: list[str]) -> None:
    (here / "mine").mkdir()

    assert main([*command, "mine"]) == 2
    assert "error: unknown protocol 'mine'\ntip: the folder or file of this name: --vectors mine\n" in capsys.readouterr().err


@pytest.mark.slow
def test_lint_tries_every_vector_on_the_specification(written: Written, exchange: str, capsys: Capture) -> None:
    root = str(written(exchange=exchange.replace('multiset: ["a:1", "b:1"]', 'multiset: ["b:1"]')))

    assert main(["vectors", "lint", "--static", "--vectors", root]) == 0
    assert main(["vectors", "lint", "--vectors", root]) == 1
    assert "exchange/some.yaml:5:3: specification: scuttlebutt/exchange/delta-then-response" in capsys.readouterr().out


def test_lint_without_a_specification_to_try_on_ends_with_3(written: Written, capsys: Capture) -> None:
    assert main(["vectors", "lint", "--impl", "/nowhere/adapter", "--vectors", str(written())]) == 3
    assert "/nowhere/adapter" in capsys.readouterr().err


def test_vectors_of_a_protocol_that_is_not_offered_are_skipped(tmp_path: Path, capsys: Capture) -> None:
    written = (locations.vectors_root() / "scuttlebutt" / "codec" / "digests.yaml").read_text(encoding="utf-8")
    file = tmp_path / "demo" / "codec" / "digests.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(written.replace("scuttlebutt", "demo"), encoding="utf-8")

    assert main(["run", "--vectors", str(tmp_path)]) == 4
    assert "the implementation does not offer demo" in capsys.readouterr().out


def test_a_list_counts_the_vectors_of_the_protocol(capsys: Capture) -> None:
    assert main(["vectors", "list", "wendy", "-k", "W-01"]) == 0

    assert re.search(r"^2 of [\d,]+ vectors of wendy, ", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "protocols"),
    [([], ["scuttlebutt", "…"]), (["-v"], ["scuttlebutt", "swim", "wendy", "peter", "distkv"])],
)
def test_a_replay_shows_the_protocol_of_the_vector_in_hello(options: list[str], protocols: list[str], capsys: Capture) -> None:
    every = "py:peerproof.reference.harness.harness:Harness"
    assert main(["vectors", "replay", "digest-request-of-one", "--impl", every, *options]) == 0

    hello = json.loads(capsys.readouterr().out.splitlines()[1].removeprefix("< "))
    assert list(hello["protocols"]) == protocols


@pytest.mark.parametrize(
    ("options", "code", "status", "again"),
    [([], 0, "DIFFERS", "divergence:BD-04"), (["--decisions", "strict"], 1, "CRASHED", "divergence:BD-04 --decisions strict")],
)
def test_a_replay_of_what_only_a_decision_demands_has_the_verdict_of_the_run(
    options: list[str], code: int, status: str, again: str, capsys: Capture
) -> None:
    arguments = ["scuttlebutt/codec/reject-empty-datagram#rejects", "--impl", "divergence:BD-04", *options]

    assert main(["vectors", "replay", *arguments]) == code

    shown = capsys.readouterr().out
    assert f"\n{status} scuttlebutt/codec/reject-empty-datagram#rejects" in shown
    assert shown.endswith(f" --impl {again}\n")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--help"], "\n  B scuttlebutt, S swim, W wendy, P peter, D distkv\n"),
        (["vectors", "--help"], "\nfor maintainers of the suite:\n  lint "),
        (["pipeline", "--help"], "\nfor the upkeep of folders and of this machine:\n  gc "),
        (["model", "check", "--model", "tiny", "--list"], "\nswim tiny         small "),  # of several protocols
        (["model", "check", "swim", "--model", "tiny", "--list"], "tiny  small "),
    ],
)
def test_help_and_lists_say_what_belongs_where(arguments: list[str], shown: str, capsys: Capture) -> None:
    assert main(arguments) == 0

    assert shown in capsys.readouterr().out
