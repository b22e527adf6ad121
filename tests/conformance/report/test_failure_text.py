"""What a report says of where things differ, however large that is, of what was skipped, and at which file."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.reports import MISSED, PASSED, SKIPPED, named, report

from peerproof.cli.main import main
from peerproof.conformance.diagrams.labels import window_texts
from peerproof.conformance.readings.reading import settled_by
from peerproof.conformance.report.failure_text import MOST_PASTED, MOST_TOLD, explain, explore_commands, render_sides, side_text
from peerproof.conformance.report.renderings import as_annotations, as_text
from peerproof.conformance.report.summary import MOST_STALE, summary
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference, first_difference


def test_annotations_are_at_files_of_those_who_run_it(here: Path) -> None:
    """The vector, if it is theirs; else the program; else none: a file of the installed suite says nothing to them."""
    (here / "adapter.py").touch()
    theirs = here / "vectors/scuttlebutt/exchange/some.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.touch()

    def place(**arguments: str) -> str:
        return as_annotations(report(MISSED, arguments=arguments)).split("title=")[0]

    assert place(impl="python adapter.py", vectors="vectors") == "::error file=vectors/scuttlebutt/exchange/some.yaml,line=12,"
    assert place(impl="python adapter.py") == "::error file=adapter.py,line=1,"
    assert place(impl="go run ./cmd/adapter") == "::error "
    assert place(impl="it's broken") == "::error "
    assert place(impl="python adapter.py", annotate="src/codec.c:7") == "::error file=src/codec.c,line=7,"


def test_annotations_about_the_list_are_at_its_lines(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their paths are those of the repository, also where a workflow runs in one of its folders."""
    (here / "port").mkdir()
    monkeypatch.chdir(here / "port")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(here))
    stale = replace(MISSED, status="stale", reason="it passes, though known.txt:4 lists it")
    arguments = {"impl": "./mine", "known-failing": "./known.txt", "annotate": "codec.c"}

    lines = as_annotations(
        report(stale, named(MISSED, "two"), problems=["known.txt:9: no case matches 'x'"], arguments=arguments)
    ).splitlines()

    assert [line.partition(",title=")[0] for line in lines[:3]] == [
        "::error file=port/codec.c,line=1",
        "::error file=port/known.txt,line=4",
        "::error file=port/known.txt,line=9",
    ]


def test_skipped_cases_are_grouped_by_what_is_lacking() -> None:
    lacks = "the implementation does not offer"
    reasons = [f"{lacks} exchange", f"{lacks} api.join, exchange", f"{lacks} exchange, state.load", f"{lacks} restart", "another"]
    skipped = [replace(named(SKIPPED, f"v{number}"), reason=reason) for number, reason in enumerate(reasons)]

    lines = list(summary(report(PASSED, *skipped)))

    assert f"skipped: 3 cases: {lacks} exchange, 2 of which lack something else too" in lines
    (every,) = [line for line in summary(report(*skipped[1:3])) if line.startswith("skipped")]
    assert every == f"skipped: 2 cases: {lacks} exchange; each also lacks something else: api.join (1 case), state.load (1 case)"
    assert f"skipped: 1 case: {lacks} restart" in lines
    assert "skipped: 1 case: another" in lines
    assert "cases run by layer: exchange 1 of 1; codec 0 of 5 (1 need state.load)" in lines


def test_a_case_that_is_tolerated_shows_where_it_differs() -> None:
    of_a_decision = replace(MISSED, status="tolerated", level="should", clauses=("BA-12",), reason="the level is should")

    lines = list(summary(report(of_a_decision)))

    assert lines[1:4] == ["  steps[1].messages[1].bytes, from byte 0", "    expected  03", "    actual    01"]


@pytest.mark.parametrize(
    ("clauses", "said"),
    [
        ([("B-12", "BA-12"), ("BA-12",), ("B-12", "B-11")], "tolerated: 2 of these cite clauses that say must (B-12, B-11), "),
        ([("B-12",)], "tolerated: it cites clauses that say must (B-12), "),
        ([("BA-12",)], None),
    ],
)
def test_of_cases_that_are_tolerated_the_summary_says_what_the_document_demands(
    clauses: list[tuple[str, ...]], said: str | None
) -> None:
    tolerated = [
        replace(named(MISSED, f"v{number}"), status="tolerated", reason="the vector says should", clauses=cited)
        for number, cited in enumerate(clauses)
    ]

    found = [line for line in summary(report(*tolerated)) if "say must" in line]

    assert [line.startswith(said or "") for line in found] == [True] * (said is not None)


def test_of_long_values_the_part_around_the_difference_is_shown_on_both_sides() -> None:
    one, other = "00" * 1000 + "01" + "00" * 500, "00" * 1000 + "02"

    expected, actual = window_texts(one, other)

    assert expected == "(1,800 characters) …" + "00" * 100 + "01" + "00" * 99 + "… (3,002 characters in all)"
    assert actual == "(1,800 characters) …" + "00" * 100 + "02"


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ("00" * 257 + "0a", "00" * 257, "1 byte missing at the end: 0a, a line feed"),
        ("00", "00" * 31, f"30 bytes more at the end: {'00' * 20}…"),
    ],
)
def test_of_bytes_that_differ_at_the_end_only_the_end_is_named(expected: str, actual: str, said: str) -> None:
    difference = Difference("bytes, from byte 1", expected, actual, "the same message", "the same message")

    _, (_, value, _) = render_sides(difference)

    assert value.endswith(f"   ({said})")
    assert "at the end" not in str([*render_sides(replace(difference, actual_read="another"))])


def test_a_number_and_its_digits_are_shown_so_that_they_differ() -> None:
    difference = first_difference({"version": "7"}, {"version": 7}, {})

    assert difference
    assert [value for _, value, _ in render_sides(difference)] == ['"7"', "7"]


@pytest.mark.parametrize(
    ("expected", "actual", "sides"),
    [({"value": None}, {"value": 1}, ["null", "1"]), ({"value": 1}, {}, ["1", "nothing"])],
)
def test_a_null_of_json_is_not_nothing(expected: object, actual: object, sides: list[str]) -> None:
    difference = first_difference(expected, actual, {})

    assert difference
    assert [side_text(difference, side) for side in ("expected", "actual")] == sides


def test_of_a_long_story_the_last_lines_are_shown() -> None:
    text = as_text(report(replace(MISSED, story=MISSED.story[:1] * MOST_TOLD + MISSED.story)), {})

    assert f"… {len(MISSED.story)} lines before (peerproof vectors replay shows them)" in text
    assert "event join" in text


@pytest.mark.parametrize(
    ("first", "when"),
    [
        (Arrow(7, "peer", "node", "03"), "after peer sent delta [] at 7 ms"),
        (TrialEvent(7, "node", "update_local(key=k)"), "after update_local(key=k) at 7 ms"),
        (Arrow(7, "node", "peer", "01"), "when its timer runs at 7 ms"),
    ],
)
def test_the_step_of_a_model_that_fails_is_in_words(first: Arrow | TrialEvent, when: str) -> None:
    """Its vector may be a path of many steps."""
    made = replace(MISSED, vector="scuttlebutt/model/one", story=(*MISSED.story, first), judged=len(MISSED.story))
    wanted = Arrow(None, "node", "peer", None, "digest_request []")

    assert f"  {when}, the node must send digest_request [] to peer\n" in explain(replace(made, expected=(wanted,)), "", {})
    assert f"  {when}, the node must send nothing\n" in explain(replace(made, expected=()), "", {})


DELTA = {"type": "delta", "entries": [{"addr": "a:1", "key": "", "version": "1"}]}


@pytest.mark.parametrize(
    ("where", "side", "text"),
    [
        (
            "the datagram",
            {"rejected": "no message: need 2 bytes, have 0 (at byte 1: truncated)"},
            "rejected: need 2 bytes, have 0 (at byte 1: truncated)",
        ),
        ("the datagram", {"bytes": "03", "value": DELTA}, 'accepted as delta [a:1 "" 1]'),
        ("decode", {"value": DELTA}, 'accepted as delta [a:1 "" 1]'),
        ("decode", {"rejected": {"class": "other"}}, "rejected (other)"),
        ("decode", {"rejected": {"class": "other", "message": "no text"}}, "rejected: no text (other)"),
        ("observe.status", {"value": "up"}, '{"value":"up"}'),
    ],
)
def test_what_a_codec_does_is_said_in_words(where: str, side: object, text: str) -> None:
    assert side_text(Difference(where, None, side), "actual") == text


CRASHED = replace(
    MISSED,
    status="differs",
    failure="crashed",
    decisions=("BA-20",),
    difference=Difference("reply to decode", {"ok": True}, {"error": {"code": "panic", "message": "index 3"}}),
    errors="\n".join(f"frame {number}" for number in range(30)),
)


def test_what_only_decisions_demand_names_a_case_and_crashes_come_first() -> None:
    other = replace(MISSED, status="differs", decisions=("BA-20",), reason="as if it read BA-20 as 'unspecified'")

    lines = list(summary(report(other, named(other, "v"), named(other, "w"), named(CRASHED, "c"), named(CRASHED, "d"))))

    assert lines[:3] == [
        "differs: 2 cases, such as scuttlebutt/exchange/c (crashed): the adapter reported the error panic; only BA-20 demands "
        "otherwise, not the document",
        "differs: 3 cases, such as scuttlebutt/exchange/one (messages): only BA-20 demands it, not the document; as if it "
        "read BA-20 as 'unspecified'",
        "differs: --decisions strict makes these cases fail, and shows each",
    ]


def test_cases_that_a_list_names_with_another_failure_are_one_group() -> None:
    listed = [
        replace(
            MISSED,
            id=f"{MISSED.id}-{line}",
            status="differs",
            reason=f"listed as value in known.txt:{line}, but it fails as messages",
        )
        for line in (4, 5)
    ]

    first, *_ = summary(report(*(replace(one, decisions=("BA-20",)) for one in listed)))

    assert first.startswith("differs: 2 cases, such as ")
    assert first.endswith("; listed as value, but it fails as messages")


def test_a_message_whose_outcome_is_awaited_is_described_with_what_it_may_be() -> None:
    awaited = Difference("setup[1].sent", {"node": "node", "to": "n70", "took": 100}, None)

    text = as_text(report(replace(MISSED, id="wendy/exchange/one", vector="wendy/exchange/one", difference=awaited)), {})

    assert "  node has sent a message to n70, which now is confirmed after 100 µs\n" in text
    assert "often this message is a heartbeat, by which a node measures another that it has met [W-52, WA-69]\n" in text
    assert "peerproof vectors show wendy/exchange/one" in text


def test_a_reported_crash_says_what_the_adapter_said_and_ends_with_the_last_lines_of_its_errors() -> None:
    text = as_text(report(replace(CRASHED, status="crashed")), {})

    assert "CRASHED scuttlebutt/exchange/one (crashed: the adapter reported the error panic: index 3)\n" in text
    assert "the implementation ended" not in text
    assert [line.removeprefix("    | ") for line in text.splitlines() if "frame" in line] == [f"frame {n}" for n in range(10, 30)]


def test_a_stale_case_is_one_line_and_many_are_counted() -> None:
    stale = replace(PASSED, status="stale", reason="it passes, though known.txt:4 lists it")

    lines = as_text(report(*(named(stale, f"v-{number}") for number in range(MOST_STALE + 2))), {}).splitlines()

    assert lines[0] == "STALE scuttlebutt/exchange/v-0: it passes, though known.txt:4 lists it"
    assert lines[MOST_STALE : MOST_STALE + 2] == ["… and 2 more", "--update-known-failing removes them from the list"]


def lines_of(digits: str, op: str) -> list[str]:
    """What is said of a failure that comes down to one request."""
    failed = replace(MISSED, essence=({"op": op, "protocol": "scuttlebutt", "bytes": digits},))
    return as_text(report(failed), {}).splitlines()


@pytest.mark.parametrize("op", ["decode", "recv"])
def test_what_is_too_long_to_paste_is_put_in_by_a_command(op: str) -> None:
    long = lines_of("20" * MOST_PASTED, op)

    assert any(line.endswith("--emit stdin | ./mine --flag") for line in long)
    assert max(map(len, long)) < 1000
    assert any("0102" in line and "…" not in line for line in lines_of("0102", op))


@pytest.mark.parametrize("arguments", [{}, {"impl": "divergence:BD-09", "seed": "1"}, {"connect": "127.0.0.1:7"}])
def test_the_commands_for_the_explorer_open_the_case(arguments: dict[str, str], tmp_path: Path) -> None:
    case = "scuttlebutt/exchange/delta-stops-at-what-does-not-fit"
    commands = [command for _, command in explore_commands(replace(MISSED, id=case, vector=case), arguments)]

    assert len(commands) == 1 + ("impl" in arguments)
    for number, command in enumerate(commands):
        assert main([*shlex.split(command)[1:], "--output", str(tmp_path / f"{number}.html")]) == 0


def test_a_decision_is_called_one_and_says_why_it_has_no_other_reading() -> None:
    found = replace(MISSED, clauses=("B-31", "BA-09", "BA-12"))
    line = f"  BA-09 has no other reading: {settled_by('scuttlebutt')['BA-09']}\n"

    assert re.findall(r"(?m)^  (\w+-\d+ \w+):", explain(found, "", {})) == ["B-31 must", "BA-09 decision", "BA-12 decision"]
    assert line in explain(found, "", {})
    for other in (
        replace(found, decisions=("BA-12",)),
        replace(found, failure="misshapen"),
        replace(found, clauses=("B-31", "BA-12")),
    ):
        assert "has no other reading" not in explain(other, "", {})
