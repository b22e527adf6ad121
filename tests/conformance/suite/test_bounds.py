"""An implementation that puts out without end: it is called flooded, the run goes on, and its report is small and opens."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture, Written
from tests.support.catching import path_of, suite
from tests.support.floods import MIB, AtOnce, Broad, Endless, Storming, Talking
from tests.support.numbered import COUNT, command, digits
from tests.support.vector_files import EXCHANGE

from peerproof.cli.main import main
from peerproof.conformance.report import record
from peerproof.conformance.report.failure_diagram import draw_failure
from peerproof.conformance.report.failure_text import explain
from peerproof.conformance.report.renderings import FORMATS
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.cutting import cut_to
from peerproof.conformance.runner.result import Result, of_plain
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.suite.bounds import Bounds
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors import suite as vectors
from peerproof.conformance.vectors.matching import Difference
from peerproof.reference.harness.harness import Harness

LARGEST = 10**6  #: bytes of the line of a case
PATIENT = Timeouts(hello=60, op=60, bye=1)


def exchanges(written: Written, datagrams: int) -> Path:
    """Two vectors: in the first a node gets many datagrams, the second is right."""
    sent = '  - {at: 5, send: {from: peer, to: node, bytes: "03"}}\n' * datagrams
    many, right = EXCHANGE.replace("  steps:\n", f"  steps:\n{sent}"), EXCHANGE.partition("vectors:\n")[2]
    return written(exchange=many.replace("/delta-then-response", "/many-come") + right)


def judged(root: Path, implementation: type[Harness] | str, **bounds: int) -> dict[str, Result]:
    named = implementation if isinstance(implementation, str) else f"py:{path_of(implementation)}"
    settings = Settings(bounds=Bounds(**bounds))
    session = run_implementation(named, suite=vectors.load(root), settings=settings, timeouts=PATIENT, chosen=None)
    assert session.end.because is None
    return {result.id.rpartition("/")[2]: result for result in session.report.results}


BOUNDS = [
    ({"messages": 95}, "96 messages in this case until 5 ms (node: 96), but --max-messages allows 95"),
    ({"message_bytes": 9000}, "(node: 9,046), but --max-bytes allows 9,000"),
    ({"at_once": 9}, "11 messages in reply to one request until 5 ms (node: 11), but --max-at-once allows 9"),
]


@pytest.mark.parametrize(("bounds", "said"), BOUNDS)
def test_beyond_a_bound_a_case_is_flooded_and_the_report_says_how_much_came_from_whom(
    written: Written, bounds: dict[str, int], said: str
) -> None:
    flooded = judged(exchanges(written, 20), Storming, **bounds)["many-come"]

    assert (flooded.status, flooded.failure, flooded.confirmed) == ("flooded", "flooded", None)
    assert said in str(flooded.reason)
    assert said in explain(flooded, "", {})
    assert flooded.story


def test_within_the_bounds_it_fails_as_any_other(written: Written) -> None:
    results = judged(exchanges(written, 20), Storming, messages=10**6, at_once=10**6)

    assert [result.outcome for result in results.values()] == ["failed (messages)"] * 2


def test_what_a_flood_is_does_not_depend_on_the_level(written: Written) -> None:
    root = exchanges(written, 20)
    file = next(root.rglob("*.yaml"))
    file.write_text(file.read_text().replace("level: must", "level: may"))

    assert judged(root, Storming, at_once=5)["many-come"].status == "flooded"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("implementation", "outcome", "said"),
    [
        (AtOnce, "flooded (flooded)", "--max-reply allows 16,777,216"),
        (Talking, "flooded (flooded)", "--max-bytes allows 16,777,216"),
        (Broad, "failed (misshapen)", ""),
    ],
)
def test_in_process_too_the_line_of_a_case_stays_small(
    written: Written, implementation: type[Harness], outcome: str, said: str
) -> None:
    results = judged(exchanges(written, 3), implementation)

    assert results["many-come"].outcome == outcome
    assert said in str(results["many-come"].reason or "")
    assert len(results) == 2
    assert max(len(record.case_line(result)) for result in results.values()) < LARGEST


@pytest.mark.slow
def test_a_reply_that_is_too_large_breaks_no_other_case(numbered: Path) -> None:
    results = judged(numbered, Endless)
    flooded = results.pop("number-9#decode")

    assert (flooded.status, flooded.confirmed) == ("flooded", True)
    assert {result.status for result in results.values()} == {"passed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "size", "outcome"),
    [("long-line", 300_000_000, "flooded (flooded)"), ("garbage", 1_000_000, "failed (garbled)")],
)
def test_a_line_of_300_megabytes_or_a_million_of_them_are_neither_kept_nor_waited_for(
    numbered: Path, habit: str, size: int, outcome: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = judged(numbered, command(habit, digits(9), str(size)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    wrong = results.pop("number-9#decode")

    assert wrong.outcome == outcome
    assert {result.status for result in results.values()} == {"passed"}
    assert len(record.case_line(wrong)) < 10_000
    assert grown < 200 * MIB


@pytest.mark.slow
def test_of_a_batch_nobody_is_blamed_who_is_small_enough_alone(numbered: Path) -> None:
    results = judged(numbered, command("large-batch", "", "10000"), reply=9000)

    assert len(results) == COUNT
    assert {result.status for result in results.values()} == {"passed"}


@pytest.fixture
def flooded_record(written: Written, tmp_path: Path, capsys: Capture) -> Path:
    """What a run of the command leaves whose first case is flooded, and goes on."""
    path = tmp_path / "flooded.jsonl"
    root = exchanges(written, 900)
    options = ["--vectors", str(root), "--record", str(path), "--max-messages", "8k", "--max-record", "20000"]
    options += ["--hello-timeout", "0"]
    assert main(["run", "--impl", f"py:{path_of(Storming)}", *options]) == 1
    assert "1 flooded" in capsys.readouterr().out
    return path


def test_every_form_of_a_report_opens_such_a_record(flooded_record: Path, tmp_path: Path) -> None:
    (header, *cases, _) = flooded_record.read_text().splitlines()
    report = record.load_one(flooded_record)
    flooded = next(result for result in report.results if result.status == "flooded")

    assert max(map(len, cases)) <= 20_000
    assert json.loads(header)["header"]["arguments"]["max-messages"] == 8192
    assert any("left out" in part.what for part in flooded.story if isinstance(part, TrialEvent))
    assert any("messages and events" in said for said in flooded.cut)
    for name, render in FORMATS.items():
        text = render(report, {})
        assert "flooded" in text, name
        assert len(text) < 400_000, name
    assert 'errors="1"' in FORMATS["junit"](report, {})
    assert "--max-messages 8192 --hello-timeout 0" in FORMATS["text"](report, {})
    graph = draw_failure(flooded)
    assert graph is not None
    assert graph.text()
    merged, page = str(tmp_path / "merged.jsonl"), str(tmp_path / "page.html")
    assert main(["report", "merge", str(flooded_record), "--output", merged]) == 0
    assert main(["report", "diff", str(flooded_record), merged]) == 0
    assert main(["report", "html", merged, "--output", page]) == 0


# What is cut, and what it says of itself.

ARROWS = tuple(Arrow(at, "a", "b", f"{at:08x}" * 8) for at in range(5000))
FAILED = Result(
    "scuttlebutt/exchange/one", "failed", "scuttlebutt/exchange/one", 1, "must", ("B-11",), failure="messages", story=ARROWS
)


def test_what_is_small_stays_as_it_is() -> None:
    small = replace(FAILED, story=ARROWS[:20])

    assert cut_to(small, 256 * 1024) is small


LARGE: dict[str, dict[str, Any]] = {
    "story": {"story": ARROWS},
    "long messages": {"story": (Arrow(0, "a", "b", "01" * MIB), TrialEvent(0, "a", "é" * MIB))},
    "expected": {"expected": ARROWS},
    "essence": {"essence": ({"op": "recv", "bytes": "01" * MIB},)},
    "standard error": {"errors": "\x00" * 64_000},
    "reason": {"reason": "why " * MIB},
    "texts": {"difference": Difference("x", "é" * MIB, "\n" * MIB, "x" * MIB, ["y"] * MIB)},
    "lists": {"difference": Difference("x", list(range(MIB)), [[["deep"] * 100] * 100] * 100)},
    "objects": {"difference": Difference("x", None, {f"name {number}": {"n": number} for number in range(100_000)})},
    "long names": {"difference": Difference("x" * MIB, None, {"n" * MIB: 1})},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("most", [4096, 256 * 1024])
def test_what_is_large_is_cut_and_says_so_and_comes_back_from_its_line(name: str, most: int) -> None:
    large = replace(FAILED, **{"story": (), **LARGE[name]})
    shown = cut_to(large, most)
    line = record.case_line(shown)

    assert len(line) <= most
    assert shown.cut or name == "long names"
    assert of_plain(json.loads(line)["case"]).plain() == shown.plain()
    assert cut_to(shown, most) is shown
    assert explain(shown, "", {})
    if name not in ("standard error", "reason", "essence", "expected"):
        assert draw_failure(shown)


@pytest.mark.parametrize("judged_from", [0, 3, 2500, 4990])
def test_a_story_keeps_its_beginning_and_its_end_and_where_it_is_judged(judged_from: int) -> None:
    shown = cut_to(replace(FAILED, judged=judged_from), 20_000)
    out = len(ARROWS) - len(shown.story) + 1
    marker = next(place for place, part in enumerate(shown.story) if isinstance(part, TrialEvent))

    assert shown.story[marker] == TrialEvent(None, "", f"… {out:,} more messages and events left out")
    assert shown.story[0] == ARROWS[0]
    assert shown.story[-1] == ARROWS[-1]
    assert shown.cut == (f"story: {out:,} of 5,000 messages and events",)
    if judged_from in (0, 3, 4990):
        assert shown.story[shown.judged] == ARROWS[judged_from]
    else:
        assert shown.judged == marker + 1


@pytest.mark.parametrize("option", ["--max-messages=0", "--max-reply=many", "--max-record=1T", "--max-bytes=-5"])
def test_a_bound_that_is_no_number_is_refused(option: str, capsys: Capture) -> None:
    assert main(["run", option]) == 2
    assert "such as 5000, 64k or 16M" in capsys.readouterr().err


@pytest.mark.slow
def test_a_wrong_variant_that_storms_is_flooded_and_its_record_is_small() -> None:
    """Its nodes answer each other's announcements without end; unbounded, the line of this case had 416 MB."""
    chosen = select_cases(suite(), "wendy/cluster/a-ring-of-eight")
    session = run_implementation("divergence:WD-16", chosen, suite=suite(), timeouts=PATIENT)
    (flooded,) = session.report.results

    assert flooded.outcome == "flooded (flooded)"
    assert "--max-bytes allows 16,777,216" in str(flooded.reason)
    assert len(record.case_line(flooded)) < LARGEST // 2
