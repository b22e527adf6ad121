"""Nodes that take a decision otherwise: no way of judging a log accuses them, and what they do wrong besides is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.conformance.conftest import Capture
from tests.pipeline.clusters import foreign, traced
from tests.pipeline.stages.test_validate import checked

from peerproof.cli.main import main
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.traces.fair_replay import FairReplay
from peerproof.conformance.traces.node_check import Options
from peerproof.conformance.traces.other_readings import (
    Difference,
    NoReading,
    candidates,
    declared_readings,
    explanation_clauses,
    specification_by,
)
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Divergence, parse

#: The node that reads the document otherwise.
OTHER: Final = "n0:1"

#: Readings that show in a cluster like the one below, and one that changes the state first.
SHOWN: Final = [
    ("scuttlebutt", "BA-12 descending"),
    ("scuttlebutt", "BA-32 empty-responses"),
    ("scuttlebutt", "BA-12 any-order"),
    ("swim", "SA-25 keeps-its-place"),
    ("wendy", "WA-36 like-any-other"),
    ("wendy", "WA-20 everywhere-at-once"),
    ("distkv", "DA-08 never"),
    ("distkv", "DA-14 another-default"),
]


def run_with(protocol: str, *names: str, rounds: int = 16) -> list[str]:
    """The lines of a cluster whose first node takes these readings."""
    read = readings_of(protocol)
    taken = tuple(next(place for place, one in enumerate(read) if f"{one.clause} {one.name}" == name) for name in names)
    lines: list[str] = []
    faults = Faults() if RUNTIMES[protocol].is_connected else Faults(loss=0.05, duplication=0.05)
    variants = {0: specification_by(protocol, taken)}
    ends: dict[str, Any] = {"crashes": ((3, 6),), "restarts": ((3, 10),), "variants": variants}
    campaign.run(Campaign(RUNTIMES[protocol], {}, 5, rounds, "7", faults=faults, **ends), lines.append)
    return lines


def replayed(protocol: str, lines: Sequence[str]) -> list[Divergence]:
    """What a replay finds."""
    replay = FairReplay(PROTOCOLS[protocol].specification.load())
    return [found for line in lines if (found := replay.text(line)) is not None]


def without_digest(line: str) -> str:
    return json.dumps(json.loads(line) | {"state": None}, separators=(",", ":"), ensure_ascii=False)


def named(protocol: str) -> list[str]:
    """The readings of a protocol that can change a step, open ones last."""
    read = readings_of(protocol)
    numbers = [*candidates(protocol, ()), *candidates(protocol, (), is_open=True)]
    return [f"{read[number].clause} {read[number].name}" for number in numbers]


@pytest.mark.parametrize(("protocol", "name"), SHOWN)
@pytest.mark.parametrize("change", [str, without_digest])
def test_a_node_with_another_reading_only_differs(protocol: str, name: str, change: Callable[[str], str]) -> None:
    found = replayed(protocol, [change(line) for line in run_with(protocol, name)])

    assert found
    assert {type(one) for one in found} == {Difference}
    assert {one.line.node for one in found} == {OTHER}
    assert all(name.split(maxsplit=1)[0] in explanation_clauses(one.explanations) for one in found if isinstance(one, Difference))


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_other_reading_is_a_violation(protocol: str) -> None:
    outcomes: Counter[str] = Counter()
    for name in named(protocol):
        lines = run_with(protocol, name)
        for logged in (lines, [*map(without_digest, lines)]):
            found = replayed(protocol, logged)
            assert {type(one) for one in found} <= {Difference}, name
            outcomes["differs" if found else "the same"] += 1
        verdict, rows = checked(foreign([*map(parse, lines)], OTHER))
        assert {row["severity"] for row in rows} <= {"differs", "undetermined"}, (name, rows)
        outcomes[f"messages {verdict.verdict}"] += 1
    assert outcomes["differs"] > len(named(protocol)) // 4, outcomes


@pytest.mark.parametrize(("protocol", "name"), SHOWN)
def test_a_log_without_random_choices_accuses_no_reading(protocol: str, name: str) -> None:
    verdict, rows = checked(foreign([*map(parse, run_with(protocol, name))], OTHER))

    assert verdict.verdict in ("differs", "undetermined", "accepted")
    assert {row["severity"] for row in rows} <= {"differs", "undetermined"}


def spoiled(lines: list[str], after: int, wrong: Callable[[Any], None]) -> tuple[list[str], int]:
    """The lines with one message of the other node changed, after so many of its lines; and the number of that line."""
    changed = list(lines)
    for place, text in enumerate(lines):
        line = json.loads(text)
        sends = [effect["send"]["message"] for effect in line["effects"] if "send" in effect]
        if line["node"] == OTHER and line["seq"] > after and sends and sends[0].get("entries"):
            wrong(sends[0])
            changed[place] = json.dumps(line, separators=(",", ":"))
            return changed, line["seq"]
    raise AssertionError("no such message")


def test_what_is_wrong_after_a_difference_is_found() -> None:
    lines = run_with("scuttlebutt", "BA-12 descending")
    first = next(iter(replayed("scuttlebutt", lines))).line.seq
    lines, wrong = spoiled(lines, first, lambda message: message["entries"].pop())

    difference, divergence = (one for one in replayed("scuttlebutt", lines) if one.line.node == OTHER)

    assert (type(difference), difference.line.seq) == (Difference, first)
    assert (type(divergence), divergence.line.seq) == (Divergence, wrong)


def test_several_readings_of_one_node_are_told_apart() -> None:
    found = replayed("scuttlebutt", run_with("scuttlebutt", "BA-12 descending", "BA-32 empty-responses"))

    assert {type(one) for one in found} == {Difference}
    clauses = {clause for one in found if isinstance(one, Difference) for clause in explanation_clauses(one.explanations)}
    assert clauses >= {"BA-12", "BA-32"}


def test_any_order_is_right_where_the_document_is_silent_but_nothing_may_be_missing() -> None:
    """BA-12: peers that are equally far behind come in any order."""
    lines = run_with("scuttlebutt", "BA-12 descending")
    for found in replayed("scuttlebutt", lines):
        deltas = [effect["send"]["message"] for effect in found.expected if "send" in effect]
        if deltas and len({entry["addr"] for entry in deltas[0]["entries"]}) == len(deltas[0]["entries"]) > 2:
            break
    at = next(place for place, text in enumerate(lines) if parse(text) == found.line)

    def judge(entries: list[Any]) -> set[type[Divergence]]:
        deltas[0]["entries"] = entries
        line = json.loads(lines[at]) | {"effects": found.expected}
        changed = [*lines[:at], json.dumps(line, separators=(",", ":"))]
        return {type(one) for one in replayed("scuttlebutt", changed) if one.line.seq == found.line.seq}

    first, *others = deltas[0]["entries"]
    assert judge([first, *others]) == set()
    assert judge([*others, first]) == {Difference}
    assert judge(others) == {Divergence}


def test_the_pipeline_finds_the_same_as_the_file_check(tmp_path: Path, capsys: Capture) -> None:
    lines = run_with("scuttlebutt", "BA-32 empty-responses")
    file = tmp_path / "run.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))

    rows, verdicts = traced(tmp_path / "traced", [lines])

    assert main(["trace", "check", str(file)]) == 0
    shown = capsys.readouterr().out
    assert f"differs   {OTHER} in seed-7" in shown
    assert "no violation: another reading explains it: BA-32 as empty-responses: A digest response is sent even if" in shown
    assert {(row["node"], row["severity"], row["property"], row["clause"]) for row in rows} == {
        (OTHER, "differs", "Effects", "BA-32")
    }
    assert {row["verdict"] for row in verdicts if row["node"] == OTHER} == {"differs"}
    assert {row["verdict"] for row in verdicts if row["node"] not in (OTHER, "")} == {"accepted"}


@pytest.mark.parametrize(("protocol", "name"), SHOWN)
def test_the_steps_of_a_declared_reading_are_accepted(protocol: str, name: str) -> None:
    reading = name.replace(" ", "=")
    if next(one for one in readings_of(protocol) if f"{one.clause} {one.name}" == name).is_open:  # any of many behaviours
        with pytest.raises(NoReading):
            declared_readings([reading])
        return
    lines = [line for line in run_with(protocol, name) if parse(line).node == OTHER]
    declared = declared_readings([reading])[protocol]
    replay = FairReplay(PROTOCOLS[protocol].specification.load(), declared)

    verdict, rows = checked(foreign([*map(parse, lines)], OTHER), options=Options("out", readings=(reading,), complete=True))

    assert [found for line in lines if (found := replay.text(line)) is not None] == []
    assert verdict.verdict in ("accepted", "undetermined")
    assert {row["severity"] for row in rows} <= {"undetermined"}


def test_readings_are_declared_on_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    reading = "BA-32=empty-responses"
    lines = [line for line in run_with("scuttlebutt", "BA-32 empty-responses") if parse(line).node == OTHER]
    file = tmp_path / "run.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    out = str(tmp_path / "out")

    assert main(["trace", "check", str(file), "--reading", reading]) == 0
    assert f"accepted  {OTHER} in seed-7" in capsys.readouterr().out
    assert main(["trace", "check", str(file), "--reading", "SA-29=unknown-only"]) == 0
    assert "SA-29=unknown-only changes nothing: it is of swim, and no file is a trace of that" in capsys.readouterr().err
    assert main(["pipeline", "ingest", str(file), "--master", "none", "--output", out]) == 0
    assert main(["pipeline", "validate", "--in", out, "--output", out, "--master", "none", "--reading", reading]) == 0
    assert "nodes: 1 accepted, 0 rejected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["BA-32"], "BA-32 has no other reading ''\ntip: there is BA-32=empty-responses"),
        (["BA-32=typo"], "BA-32 has no other reading 'typo'\ntip: there is BA-32=empty-responses\n"),
        (["BA-11=any-order"], "BA-11=any-order cannot be declared, and need not be: the document is silent there, so any "),
        (["BA-11=anyorder"], "BA-11 has no other reading 'anyorder'\ntip: there is any-order, which cannot be declared\n"),
        (["BA-02=utf-8-only"], "BA-02=utf-8-only cannot be declared: it changes no step of a log\ntip: leave it out\n"),
        (["BA-999=x"], "BA-999 has no other reading\n"),
        (["BA-12=descending", "--reading", "BA-12=descending"], "two readings of BA-12 exclude each other"),
        (["BA-32=empty-responses", "--tlc"], "--reading cannot be combined with --tlc"),
    ],
)
def test_a_reading_that_cannot_be_declared_is_refused(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["trace", "check", "--examples", "--reading", *arguments]) == 2

    assert said in capsys.readouterr().err
