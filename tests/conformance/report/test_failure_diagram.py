"""Expected and actual in one picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.numbered import command, digits
from tests.support.reports import MISSED, PASSED

from peerproof.cli.main import main
from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.report.failure_diagram import MOST_SHOWN, draw_failure
from peerproof.conformance.report.record import load
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import TrialEvent
from peerproof.conformance.vectors.matching import Difference


def drawn(result: Result) -> list[str]:
    graph = draw_failure(result)
    assert graph is not None
    return graph.text().splitlines()


def test_the_message_that_is_wrong_is_marked_and_what_was_expected_stands_below() -> None:
    assert drawn(MISSED) == [
        "node -> peer  0 ms: digest_request []",
        "peer -> node  10 ms: delta []",
        "node  .       10 ms: event join",
        "node -> peer  10 ms: delta []",
        "node -> peer  ✗ 10 ms: digest_request []",
        "      .       expected instead:",
        "node => peer  digest_response []",
        "node => peer  delta []",
    ]


@pytest.mark.parametrize(
    ("members", "begin", "lines"),
    [
        pytest.param(
            {"difference": Difference("steps[1].messages[2]", {"to": "peer", "bytes": "03"}, None)},
            slice(5, 6),
            ["      .       ✗ nothing else came"],
            id="a message that did not come",
        ),
        pytest.param(
            {"difference": Difference("after the last step.messages[0]", None, {"to": "p", "bytes": "03"}), "expected": ()},
            slice(3, None),
            [
                "node -> peer  ✗ 10 ms: delta []",
                "node -> peer  10 ms: digest_request []",
                "      .       expected: nothing is sent",
            ],
            id="nothing is expected",
        ),
        pytest.param(
            {
                "failure": "observed",
                "story": (*MISSED.story, TrialEvent(11, "node", "peers = []")),
                "difference": Difference("steps[2].observe.peers[0]", "a:1", None),
            },
            slice(-2, None),
            ["node  .       ✗ 11 ms: peers = []", "node  .       expected: steps[2].observe.peers[0]: a:1"],
            id="an answer to a query",
        ),
        pytest.param(
            {"failure": "events", "difference": Difference("steps[1].events[0].name", "update", "join")},
            slice(2, None, 3),
            ["node  .       ✗ 10 ms: event join", "node  .       expected: steps[1].events[0].name: update"],
            id="an event",
        ),
    ],
)
def test_what_is_wrong_is_marked_and_stands_beside_what_it_should_be(members: Any, begin: slice, lines: list[str]) -> None:
    assert drawn(replace(MISSED, **members))[begin] == lines


def test_of_a_long_story_the_end_is_shown() -> None:
    long = replace(MISSED, story=MISSED.story[:1] * 200 + MISSED.story, judged=202)
    graph = draw_failure(long)

    assert graph is not None
    assert graph.happenings[0] == Note("", f"… {205 - MOST_SHOWN} before, which peerproof vectors replay shows")
    assert [part.label for part in graph.happenings if part.label.startswith("✗")] == ["✗ 10 ms: digest_request []"]


def test_there_is_a_picture_of_a_failure_without_a_story_and_none_of_what_passes() -> None:
    graph = draw_failure(replace(MISSED, failure="misshapen", story=(), expected=()))

    assert graph is not None
    assert graph.participants == ("implementation",)
    assert draw_failure(PASSED) is None


def test_a_protocol_that_is_not_ours_is_drawn_with_its_bytes() -> None:
    assert "node -> peer  0 ms: 01" in drawn(replace(MISSED, id="x/exchange/one", vector="x/exchange/one"))


@pytest.mark.slow
@pytest.mark.parametrize("habit", ["die", "hang"])
def test_a_case_that_ends_the_program_ends_with_the_request_without_an_answer(numbered: Path, tmp_path: Path, habit: str) -> None:
    record, impl = tmp_path / "run.jsonl", command(habit, digits(3))
    chosen = ["--vectors", str(numbered), "-k", "number-3"]
    assert main(["run", *chosen, "--impl", impl, "--op-timeout", "0.3", "--record", str(record)]) == 1

    (result,) = load(record)[0].results
    assert (result.file, result.line) == ("scuttlebutt/codec/numbered.yaml", 23)
    assert any(line.endswith("✗ no answer to decode") for line in drawn(result))


def test_the_record_of_a_wrong_implementation_has_all_that_a_picture_needs(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    wanted = ("-k", "delta-stops-at-what-does-not-fit", "--record", str(record))
    assert main(["run", "--impl", "divergence:BD-09", *wanted]) == 1

    (result,) = load(record)[0].results
    graph = draw_failure(result)
    assert graph is not None
    sent = [part for part in graph.happenings if isinstance(part, Arrow)]
    assert [part.label for part in sent if part.label.startswith("✗")] == ["✗ 10 ms: delta [c:1 k1 v 1, d:1 k v 1]"]
    assert [part.label for part in sent if part.judged] == ["delta [c:1 k1 v 1]"]
    assert result.title == "after a pair that does not fit, no smaller pair of another peer is put into the delta"
