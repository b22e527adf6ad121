"""Failures grouped by their first difference: one group for one fault, the largest first, in every form of a report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree as Xml

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite
from tests.support.reports import MISSED, PASSED, SKIPPED, named, record, report

from peerproof.cli.main import main
from peerproof.conformance.report.failure_groups import FailureGroup, command_of_all, group_failures
from peerproof.conformance.report.html.page import page
from peerproof.conformance.report.record import Report
from peerproof.conformance.report.renderings import as_annotations, as_json, as_junit, as_markdown, as_text
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.report.summary import MOST_GROUPS
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference
from peerproof.reference.divergences.scuttlebutt import BD02, BD03, BD09, BD10
from peerproof.spec.properties import is_decision


class TwoFaults(BD02, BD03):
    """Sends no empty delta, and answers every request with all that it knows."""


class HidesPacking(BD03):
    """Answers every request with all that it knows, and packs a delta peer by peer."""

    instead: ClassVar = {**BD03.instead, **BD09.instead}


class HidesOrder(BD03):
    """Answers every request with all that it knows, and leaves ties as they come."""

    instead: ClassVar = {**BD03.instead, **BD10.instead}


def run(variant: str, selection: str) -> Report:
    """The report of a wrong variant of Scuttlebutt, in which what only a decision demands fails as well."""
    chosen = select_cases(suite(), selection)
    return run_implementation(f"py:{variant}", chosen, suite=suite(), settings=Settings(decisions="strict")).report


def failing(name: str, failure: str, where: str, wanted: Any = None, found: Any = None, **members: Any) -> Result:
    """A case that fails by this difference."""
    plain = replace(MISSED, story=(), expected=(), judged=0)
    return replace(named(plain, name), failure=failure, difference=Difference(where, wanted, found), **members)


def panic(text: str) -> Any:
    """What an adapter says of an implementation that ended."""
    return {"error": {"code": "panic", "message": text}}


def differences(*results: Result) -> list[tuple[str, int]]:
    """The groups of a report, and how many cases each has."""
    return [(group.difference, len(group.cases)) for group in group_failures(report(*results))]


@pytest.mark.slow
def test_an_answer_that_nothing_asked_for_makes_one_group() -> None:
    found = run("peerproof.reference.divergences.scuttlebutt:BD03", "clause:B-14")
    groups = group_failures(found)

    assert groups[0].difference == "digest_response was sent and not expected"
    assert "B-14" in groups[0].clauses
    assert not is_decision(groups[0].clauses[0])
    assert {group.difference for group in groups[1:]} <= {"digest_response.entries: an item was not expected"}
    assert sum(len(group.cases) for group in groups) == found.totals["failed"] > 1000


@pytest.mark.slow
def test_of_two_faults_the_smaller_one_is_not_hidden() -> None:
    groups = group_failures(run("tests.conformance.report.test_failure_groups:TwoFaults", "layer:exchange"))
    by_difference = {group.difference: group for group in groups}
    missing, surplus = "empty delta was expected and not sent", "digest_response was sent and not expected"

    assert by_difference[surplus].also[missing] > 0
    assert not set(by_difference[surplus].cases) & set(by_difference[missing].cases)


@pytest.mark.parametrize(
    ("variant", "flag", "difference"),
    [
        ("HidesPacking", "bd-09", "delta.entries: an item was not expected"),
        ("HidesOrder", "bd-10", "delta.entries: another order than expected"),
    ],
)
def test_a_vector_meets_the_fault_that_another_one_hides_elsewhere(variant: str, flag: str, difference: str) -> None:
    groups = group_failures(run(f"tests.conformance.report.test_failure_groups:{variant}", f"flag:{flag}"))
    found = {group.difference: group.cases for group in groups}
    assert any("response" in case for case in found[difference])


VIEW = ("observed", "view", "2", "1")


def test_the_example_is_the_simplest_case() -> None:
    long = failing("a", "observed", "steps[3].observe.view[0].version", "2", "1", story=(TrialEvent(0, "node", "a call"),) * 3)
    short = failing("z", "observed", "steps[1].observe.view[7].version", "2", "1")

    (group,) = group_failures(report(long, short, PASSED))

    assert (group.example, group.cases, group.where) == (short.id, (long.id, short.id), "steps[].observe.view[].version")


def decoded(vector: str, digits: str) -> Result:
    """A failing case of this vector that sends one message."""
    request = {"op": "decode", "protocol": "scuttlebutt", "bytes": digits}
    return replace(failing("x", *VIEW), id=vector, vector=vector, essence=(request,))


@pytest.mark.parametrize(
    ("others", "example"),
    [
        ([("scuttlebutt/exchange/a", "01026e31" + "00" * 8)], "scuttlebutt/codec/p"),  # codec before exchange
        ([("scuttlebutt/codec/a", "0101" + "00" * 9)], "scuttlebutt/codec/p"),  # a zero byte
        ([("scuttlebutt/codec/a", "0100" + "00" * 8)], "scuttlebutt/codec/p"),  # an empty text
        ([("scuttlebutt/codec/a", "0103efbbbf" + "00" * 8)], "scuttlebutt/codec/p"),  # a byte order mark
        ([("scuttlebutt/codec/z", "01016e" + "00" * 8)], "scuttlebutt/codec/z"),  # shorter
    ],
)
def test_the_example_is_one_that_can_be_read(others: list[tuple[str, str]], example: str) -> None:
    plain = decoded("scuttlebutt/codec/p", "01046e616d65" + "00" * 8)

    (group,) = group_failures(report(plain, *(decoded(*other) for other in others)))

    assert group.example == example


def test_the_example_is_no_path_of_a_model_if_an_exchange_shows_the_difference_too() -> None:
    """Even if the exchange shows another difference besides."""
    both = Difference("steps[1].observe.view", [{"addr": "a"}], [{"addr": "b"}])
    exchange = replace(failing("one", *VIEW), difference=both)
    path = replace(exchange, id="scuttlebutt/model/m", vector="scuttlebutt/model/m", difference=replace(both, actual=[]))

    (group,) = group_failures(report(path, exchange))

    assert (group.difference, group.example) == ("a query returned another value: view: an item is missing", exchange.id)


def test_three_failures_of_a_group_are_shown_in_full_and_a_command_shows_all() -> None:
    found = report(*(failing(f"v-{number}", *VIEW) for number in range(5)))
    more = "2 more cases like these: peerproof run scuttlebutt --impl './mine --flag' -k clause:B-11 --all\n"

    for render in (as_text, as_markdown):
        assert (render(found, {}).count("FAILED "), more in render(found, {})) == (3, True)
        assert (render(found, {}, most=None).count("FAILED "), "more case" in render(found, {}, most=None)) == (5, False)


def test_a_record_is_converted_with_every_failure_in_full(tmp_path: Path, capfd: Capture) -> None:
    path = record(tmp_path / "run.jsonl", report(*(failing(f"v-{number}", *VIEW) for number in range(5))))

    assert main(["report", "convert", path]) == main(["report", "convert", path, "--all"]) == 0

    assert capfd.readouterr().out.count("FAILED ") == 3 + 5


def test_the_most_specific_clause_that_all_cite_comes_first() -> None:
    cases = [failing("one", *VIEW, clauses=("B-01", "B-02", "B-03")), failing("two", *VIEW, clauses=("B-02", "B-01", "B-04"))]

    (group,) = group_failures(report(*cases, replace(PASSED, clauses=("B-01",))))

    assert group.clauses == ("B-02", "B-01")


def test_of_clauses_that_most_cases_cite_the_one_that_no_other_vector_cites_comes_first() -> None:
    cited = [("B-01", "B-34")] * 4 + [("B-34",)] * 2 + [("B-02",)]
    cases = [
        replace(failing(str(number), *VIEW, clauses=clauses), vector=f"scuttlebutt/exchange/{number}")
        for number, clauses in enumerate(cited)
    ]

    (group,) = group_failures(report(*cases, replace(PASSED, clauses=("B-01",))))

    assert group.clauses == ("B-34", "B-01")


def test_a_clause_is_counted_once_for_a_vector_of_many_cases() -> None:
    cases = [failing(name, *VIEW, clauses=("B-22", "B-30")) for name in ("one", "two")]
    parts = [replace(PASSED, id=f"{PASSED.vector}#{part}", clauses=("B-30",)) for part in ("decode", "encode", "reencode")]
    others = [
        replace(PASSED, id=f"scuttlebutt/codec/{name}", vector=f"scuttlebutt/codec/{name}", clauses=("B-22",)) for name in "ab"
    ]

    (group,) = group_failures(report(*cases, *parts, *others))

    assert group.clauses == ("B-30", "B-22")
    assert " -k clause:B-30 " in command_of_all(group, report(*cases, *parts, *others))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("index 3 out of range; a", "index 7 out of range; b"),
        ("no key 'a'", 'no key "b"'),
        ("at 0x3f2a", "at 0x10"),
        ("unknown field `a`, id 0a1b2c3d4e", "unknown field `b`, id 11aa22bb33"),
    ],
)
def test_numbers_and_names_make_no_other_crash(one: str, other: str) -> None:
    first = failing("first", "crashed", "reply to decode", {"ok": True}, panic(one))
    second = failing("second", "crashed", "reply to recv", {"ok": True}, panic(other))
    assert [count for _, count in differences(first, second)] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "panicked at /src/node.rs:12:5: called `Option::unwrap()` on a `None` value",
        "TypeError at decode (file:///mine/codec.mjs:10:5)",
        "the text is not UTF-8",
        "did not answer within 10 s",
    ],
)
def test_places_and_words_with_digits_stay(text: str) -> None:
    """Two calls of the same function that panic in different lines are two faults."""
    (found,) = differences(failing("v", "crashed", "reply to decode", {"ok": True}, panic(text)))
    assert found == (f"the adapter reported the error panic: {text}", 1)


def test_what_follows_from_an_accepted_message_is_in_its_group() -> None:
    reason = "no message: Port is a whole number from 0 to 65535, not 70000 (at byte 3: bad_value)"
    parts = {
        "rejects": failing("v", "accepted", "the datagram", {"rejected": reason}, {"bytes": "00"}),
        "unchanged": failing("v", "changed", "the datagram: messages", None, {"to": "a", "bytes": "00"}),
        "serves": failing("v", "crashed", "reply to recv", {"ok": True}, panic("oh")),
    }

    assert differences(*(replace(result, id=f"{result.vector}#{part}") for part, result in parts.items())) == [
        ("accepted although malformed: … is a whole number from N to N", 2),
        ("the adapter reported the error panic: oh", 1),
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        ([{"version": "1"}], [{"version": 1}, {"addr": "b", "version": 2}], "view: an item was not expected"),
        ({"multiset": [{"addr": "a"}, {"addr": "b"}]}, [{"addr": "a"}], "view: an item is missing"),
        ([{"addr": "a"}, {"addr": "b"}], [{"addr": "b"}, {"addr": "a"}], "view: another order than expected"),
        ([{"addr": "a", "version": {"u64": "2"}}], [{"addr": "a", "version": "1"}], "view[].version: less than expected"),
        ({"status": "up"}, {"status": "down"}, "view.status: another text than expected"),
        ({"status": "up"}, {}, "view.status: is missing"),
        ({"one_of": ["a", "b"]}, "c", "view: another value than expected"),
    ],
)
def test_values_differ_by_their_shape(expected: Any, actual: Any, found: str) -> None:
    result = failing("one", "observed", "steps[0].observe.view", expected, actual)
    assert differences(result) == [(f"a query returned another value: {found}", 1)]


def test_events_and_calls_are_named() -> None:
    told = (TrialEvent(0, "node", "event update key=k"),)
    wanted = (TrialEvent(None, "", 'events: [{"contains": {"name": "heartbeat"}}]'),)
    calls = (TrialEvent(0, "node", "update_local(key=k)"),)
    event = failing("one", "events", "steps[1].events[0].name", "heartbeat", "update", story=told, expected=wanted)
    call = failing("two", "refused", "steps[0].call", {"refused": True}, "the call was carried out", story=calls)

    assert {group.difference: dict(group.also) for group in group_failures(report(event, call))} == {
        "event update was reported and not expected": {"event heartbeat was expected and not reported": 1},
        "update_local was carried out, a refusal was expected": {},
    }


def test_messages_are_told_apart_by_the_node_that_sends_them() -> None:
    request, answer = Arrow(0, "peer", "node", "01"), Arrow(0, "node", "peer", "0201610000000000000000")
    surplus = {"to": "p", "bytes": answer.bytes}
    result = failing("one", "messages", "steps[1].messages[0]", None, surplus, story=(request, answer))
    assert differences(result) == [("digest_response was sent and not expected", 1)]


def test_an_item_of_a_message_is_named_with_the_type_of_the_message() -> None:
    """The item has a type as well."""
    dead = {"type": "dead", "node": "n", "incarnation": None}
    ack = Arrow(None, "node", "peer", None, "ack n [dead n]")
    result = failing("one", "messages", "steps[1].messages[0].message.vectors[0]", dead, None, expected=(ack,))
    assert differences(replace(result, story=(ack._replace(label="ack n []"),))) == [("ack.vectors: an item is missing", 1)]


def test_what_does_not_fail_is_in_no_group() -> None:
    known = replace(MISSED, status="known")
    stale = replace(PASSED, status="stale", id="scuttlebutt/exchange/stale")
    assert group_failures(report(known, stale, PASSED, SKIPPED)) == []


def many_groups(count: int) -> Report:
    """A report of so many groups, the first of which is the largest."""
    results = [failing(f"v-{number}", "observed", f"steps[0].observe.q{number}", "2", "1") for number in range(count)]
    return report(*results, failing("more", "observed", "steps[9].observe.q0", "2", "1"))


def test_the_summary_says_where_to_start_and_counts_what_it_leaves_out() -> None:
    text = as_text(many_groups(MOST_GROUPS + 3), {})

    assert "9 failing cases by first difference: 8 groups, the largest first\n  2 cases: a query returned" in text
    assert "    start here: peerproof vectors replay scuttlebutt/exchange/more --impl './mine --flag'\n" in text
    assert "  and 3 smaller groups with 3 cases (peerproof report groups RECORD shows all)\n" in text


def test_a_single_failure_is_not_repeated_in_the_summary() -> None:
    text = as_text(report(MISSED), {})

    assert "first difference:" in text
    assert "by first difference" not in text


def test_every_form_has_the_groups() -> None:
    found = many_groups(2)
    difference = "a query returned another value: q0: less than expected"

    plain = json.loads(as_json(found))["groups"]
    assert (plain[0]["count"], plain[0]["difference"]) == (2, difference)
    assert set(plain[0]) == {"count", *FailureGroup.__dataclass_fields__}
    assert f"| 2 | {difference} |" in as_markdown(found, {})
    properties = {one.get("name"): one.get("value") for one in Xml.fromstring(as_junit(found, {}).encode()).iter("property")}
    assert difference in str(properties["failure group 1"])
    html = page([found], {})
    assert html.index(difference) < html.index('<section id="cases"')
    assert html.count('<article class="group"') == 2


def test_annotations_begin_with_one_case_of_each_group() -> None:
    found = many_groups(3)

    first = [line.split("title=")[1].split("%3A")[0] for line in as_annotations(found).splitlines()[:3]]

    assert first == [group.example for group in group_failures(found)]


def test_the_command_groups_the_records_of_files(tmp_path: Path, capsys: Capture) -> None:
    run = record(tmp_path / "run.jsonl", many_groups(60))

    assert main(["report", "groups", run]) == 0
    text = capsys.readouterr().out
    assert "61 failing cases by first difference: 60 groups" in text
    assert "smaller group" not in text

    assert main(["report", "groups", run, "--format", "json"]) == 0
    (mine,) = json.loads(capsys.readouterr().out)["implementations"]
    assert len(mine["groups"]) == 60

    assert main(["report", "groups", run, "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("## mine 2\n\n| cases |")

    assert main(["report", "groups", record(tmp_path / "good.jsonl", report(PASSED))]) == 0
    assert capsys.readouterr().out == "mine 2\nno case fails\n"
