"""Verdicts say what they rest on: the document's words, or a decision of ours that can be read otherwise."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.catching import path_of, suite
from tests.support.taking import Taking

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.authoring.basis_file import outdated, stale, write_basis
from peerproof.conformance.authoring.reading_experiment import find_basis, try_reading
from peerproof.conformance.authoring.suite_check import check_suite
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.report.session import Session, run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.runner import DECISIONS, Settings
from peerproof.conformance.vectors.basis import ANYTHING, THE_END, Resting, decisions_at
from peerproof.conformance.vectors.suite import Suite, load, load_basis
from peerproof.reference.divergences import scuttlebutt
from peerproof.spec.protocols import PROTOCOLS

TIES = "clause:BA-12 layer:exchange"  #: vectors that need an order among equals
DESCENDING = next(one for one in readings_of("scuttlebutt") if (one.clause, one.name) == ("BA-12", "descending"))


class Descending(Taking):
    """Takes BA-12 otherwise."""

    protocol, reading, says_so = "scuttlebutt", DESCENDING, False


class Claiming(Descending):
    """Takes it otherwise, and says so."""

    says_so = True


class Boasting(Claiming):
    """Says that it takes it otherwise, and does not."""

    reading = replace(DESCENDING, instead={})


class Inventing(Claiming):
    """Says that it takes a reading that nobody has described."""

    reading = replace(DESCENDING, name="by-the-moon")


class Worded(Taking):
    """Takes BA-02 otherwise, and has reasons of its own for what it rejects."""

    protocol, says_so = "scuttlebutt", False
    reading = next(one for one in readings_of("scuttlebutt") if one.clause == "BA-02")

    def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
        """The same replies, for other reasons."""
        reply = super().handle(request, choose)
        return {**reply, "rejected": {"class": "bad_type", "message": "no thanks"}} if "rejected" in reply else reply


def judged(variant: type[Any], expression: str = TIES, **settings: Any) -> Session:
    """What becomes of a variant on some vectors."""
    chosen = select_cases(suite(), expression, "scuttlebutt")
    return run_implementation(f"py:{path_of(variant)}", chosen, suite=suite(), settings=Settings(**settings))


def statuses(session: Session) -> Counter[str]:
    """Cases by status."""
    return Counter(result.status for result in session.report.results)


def test_what_only_a_decision_demands_differs_and_does_not_fail_the_run() -> None:
    session = judged(Descending)

    differing = [result for result in session.report.results if result.status == "differs"]
    assert statuses(session).keys() <= {"passed", "differs"}
    assert differing
    assert {result.decisions for result in differing} == {("BA-12",)}
    assert {result.reason for result in differing} == {"as if it read BA-12 as 'descending'"}
    assert not session.report.wrong
    assert session.report.totals["differs"] == len(differing)
    assert session.report.violates == 0


@pytest.mark.slow
def test_decisions_can_be_strict_or_be_ignored() -> None:
    reported, strict, ignored = (statuses(judged(Descending, decisions=how)) for how in DECISIONS)

    assert reported["differs"] == strict["failed"] == ignored["tolerated"] > 0
    assert strict["differs"] == ignored["differs"] == 0


def test_why_a_legal_message_is_rejected_does_not_count() -> None:
    """An implementation that takes only UTF-8 differs, whatever class and words it has for what it rejects."""
    session = judged(Worded, "clause:BA-02 layer:codec")

    differing = [result for result in session.report.results if result.status == "differs"]
    assert differing
    assert {result.decisions for result in differing} == {("BA-02",)}
    assert statuses(session).keys() <= {"passed", "differs"}


def test_what_the_document_demands_is_violated_also_where_a_decision_matters() -> None:
    """Deltas without any limit are no reading of where the limit is."""
    session = judged(scuttlebutt.BD01, "clause:BA-05 layer:exchange")

    violating = [result for result in session.report.results if result.status == "failed"]
    assert violating
    assert not any(result.decisions for result in violating)
    assert session.report.violates == len(violating)


def test_who_claims_a_reading_is_held_to_it() -> None:
    session = judged(Claiming)

    assert statuses(session).keys() == {"passed"}
    assert not session.report.wrong
    assert any("BA-12: descending" in result.branches for result in session.report.results)


def test_a_claim_that_no_case_shows_fails_the_run() -> None:
    session = judged(Boasting)

    assert statuses(session).keys() == {"passed"}
    (problem,) = session.report.problems
    assert problem.startswith("hello claims BA-12 as 'descending', but none of")


def test_a_reading_that_nobody_described_is_refused_at_hello() -> None:
    with pytest.raises(AdapterUnavailable, match="claims BA-12 as 'by-the-moon'; described are descending"):
        judged(Inventing)


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_written_down_is_what_trying_the_readings_finds(protocol: str) -> None:
    """
    Of each protocol every tenth vector written by hand, and of those made from models every two hundredth.

    A vector that changes is found by its digest, and a reading that changes by test_reading; all of them: make search.
    """
    own = [vector for vector in suite().vectors if vector.protocol == protocol]
    few = [vector for number, vector in enumerate(own) if number % (200 if vector.layer == "model" else 10) == 0]
    found, kept = find_basis(replace(suite(), vectors=tuple(few)), protocol), load_basis(suite().root, protocol)
    chosen = {vector.id for vector in few}

    assert found.tried == kept.tried
    assert found.decisions == {name: places for name, places in kept.decisions.items() if name in chosen}
    assert found.weak == {name: clauses for name, clauses in kept.weak.items() if name in chosen}


def test_a_case_goes_on_after_a_step_that_rests_on_the_reading() -> None:
    (case,) = select_cases(suite(), "bx-04-receiver-restart-node-1")
    below = next(one for one in readings_of("scuttlebutt") if one.name == "below-the-limit")

    assert len(try_reading("scuttlebutt", below, [case])[case.id]) > 1


@pytest.mark.parametrize(
    ("places", "came", "decisions", "ways"),
    [
        ({}, "a1", "", None),
        ({"steps[1]": {"BA-12": {"a1": "x"}}}, "a1", "BA-12", "as if it read BA-12 as 'x'"),
        ({"steps[1]": {"BA-12": {"a1": "x"}}}, "b2", "", None),
        ({"steps[1]": {"BA-12": {ANYTHING: "x"}}}, "b2", "BA-12", "anything is right there if one reads BA-12 as 'x'"),
        ({"steps[1]": {"BA-12": {"a1": "x"}, "BA-13": {"c3": "y"}}}, "b2", "", None),
        (
            {"steps[1]": {"BA-12": {"a1": "x"}, "BA-12 BA-13": {"b2": "x y"}}},
            "b2",
            "BA-12 BA-13",
            "as if it read BA-12 as 'x' and BA-13 as 'y'",
        ),
        (
            {"steps[1]": {"BA-12": {"a1": "x"}, "BA-12 BA-13": {ANYTHING: "x y"}}},
            "b2",
            "BA-12 BA-13",
            "anything is right there if one reads BA-12 as 'x' and BA-13 as 'y'",
        ),
        ({"steps[1]": {"BA-12": {"a1": "x"}, "BA-13": {"c3": "y"}}}, "c3", "BA-13", "as if it read BA-13 as 'y'"),
        (
            {"steps[1]": {"BA-12": {"a1": "x"}, "BA-13": {"a1": "y|z"}}},
            "a1",
            "BA-12 BA-13",
            "as if it read BA-12 as 'x'; or BA-13 as 'y' or 'z'",
        ),
        ({"steps[1]": {"BA-12": {"a1": "x"}}}, None, "", None),
        ({"steps[1]": {"BA-12": {THE_END: "x"}}}, None, "BA-12", "as if it read BA-12 as 'x'"),
    ],
)
def test_an_expectation_rests_on_a_decision_only_where_a_reading_makes_a_difference(
    places: dict[str, Any], came: str | None, decisions: str, ways: str | None
) -> None:
    """Where several readings explain it, the text says of none that it is taken."""
    resting = decisions_at(["B-28"], places, ["steps[0]", "steps[1]"], came)

    assert resting.decisions == tuple(decisions.split())
    assert resting.text() == ways


def test_what_hangs_on_chance_is_never_held_against_one_reading_only() -> None:
    places = {"steps[1]": {"BA-12": {"a1": "x"}}}

    assert decisions_at(["B-28"], places, ["steps[1]"], "b2", alone=False) == Resting(("BA-12",))


@pytest.fixture
def copied(tmp_path: Path) -> Suite:
    """A suite of one file, whose vectors cite a decision in vain and do not cite one that they need."""
    own = suite().root / "scuttlebutt/exchange/delta-order.yaml"
    path = tmp_path / "scuttlebutt/exchange/delta-order.yaml"
    path.parent.mkdir(parents=True)
    text = own.read_text(encoding="utf-8")
    before, vector, after = text.partition("- id: scuttlebutt/exchange/ties-go-by-address-bytes")
    path.write_text(before + vector + after.replace("BA-12]", "BA-13]", 1), encoding="utf-8")
    return load(tmp_path)


@pytest.mark.slow
def test_lint_finds_what_is_not_cited_and_what_is_cited_in_vain(copied: Suite) -> None:
    (changed, *_) = write_basis(copied, "scuttlebutt")
    assert changed == copied.root / "scuttlebutt/basis.json"
    text = changed.read_text(encoding="utf-8")

    assert check_suite(copied.root, static=True).is_clean
    path = copied.root / "scuttlebutt/exchange/delta-order.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("BA-12]", "BA-13]", 1), encoding="utf-8")
    found = [finding.message for finding in check_suite(copied.root, static=True).findings if finding.rule == "decision"]
    assert any("another reading of BA-12 changes the result" in message for message in found)

    changed.write_text(text.replace("descending", "ascending"), encoding="utf-8")
    (finding,) = stale(replace(load(copied.root)), "scuttlebutt")
    assert finding.rule == "basis"
    assert "peerproof vectors lint --basis" in finding.message


@pytest.mark.slow
def test_lint_finds_vectors_that_changed_since_it_was_found_what_they_rest_on(copied: Suite) -> None:
    shutil.copy(suite().root / "scuttlebutt/exchange/digest-response.yaml", copied.root / "scuttlebutt/exchange")
    write_basis(load(copied.root), "scuttlebutt")
    whole = load_basis(copied.root, "scuttlebutt")
    assert whole.weak
    path = copied.root / "scuttlebutt/exchange/delta-order.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub("title: .*", "title: another", text), encoding="utf-8")
    assert not [*outdated(load(copied.root), "scuttlebutt")]  # what they are called is no part of what they demand

    path.write_text(re.sub(r"- at: (\d+)", r"- at: 1\1", text, count=1), encoding="utf-8")

    (finding,) = outdated(load(copied.root), "scuttlebutt")
    assert (finding.rule, finding.file) == ("basis", str(path))
    assert "has changed" in finding.message
    assert [one.rule for one in check_suite(copied.root, static=True).findings] == ["basis"]  # what it rests on is not known
    assert [path.name for path in write_basis(load(copied.root), "scuttlebutt", only_changed=True)] == ["basis.json"]
    assert not [*outdated(load(copied.root), "scuttlebutt")]
    changed = load_basis(copied.root, "scuttlebutt")
    write_basis(load(copied.root), "scuttlebutt")
    assert changed == load_basis(copied.root, "scuttlebutt")
    assert changed.files != whole.files


@pytest.mark.slow
def test_a_reading_that_is_new_is_found_and_tried(copied: Suite) -> None:
    (path, *_) = write_basis(copied, "scuttlebutt")
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace('"BA-12 descending", ', "", 1), encoding="utf-8")

    (finding,) = outdated(load(copied.root), "scuttlebutt")

    assert "BA-12 descending; run peerproof vectors lint scuttlebutt --basis" in finding.message
    write_basis(load(copied.root), "scuttlebutt", only_changed=True)
    assert path.read_text(encoding="utf-8") == right


@pytest.mark.slow
def test_only_changed_vectors_are_tried_again(copied: Suite) -> None:
    write_basis(copied, "scuttlebutt")
    path = copied.root / "scuttlebutt/basis.json"
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept.replace(': "descending"', ': "ascending"'), encoding="utf-8")

    write_basis(load(copied.root), "scuttlebutt", only_changed=True)

    assert "ascending" in path.read_text(encoding="utf-8")
    (copied.root / "scuttlebutt/exchange/delta-order.yaml").unlink()
    assert [finding.message.partition(" since")[0] for finding in outdated(load(copied.root), "scuttlebutt")] == ["was removed"]
