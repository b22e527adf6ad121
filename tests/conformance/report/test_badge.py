"""A badge, and the annotations of a workflow."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from tests.conformance.conftest import Capture
from tests.support.numbered import command, digits
from tests.support.reports import MISSED, PASSED, SKIPPED, named, record, report

from peerproof.cli.main import main
from peerproof.conformance.report.badge import as_endpoint, as_svg, make_badge
from peerproof.conformance.report.record import Report
from peerproof.conformance.report.renderings import as_annotations
from peerproof.conformance.runner.trial import FAILURES


@pytest.mark.parametrize(
    ("shown", "message", "colour"),
    [
        (report(PASSED, SKIPPED), "1 passing", "brightgreen"),
        (report(PASSED, MISSED), "1 failing, 1 passing", "red"),
        (report(PASSED, replace(MISSED, status="known")), "1 passing, 1 known", "brightgreen"),
        (report(replace(PASSED, status="stale")), "1 failing", "red"),
        (report(PASSED, problems=["an entry is dead"]), "1 passing", "red"),
        (report(PASSED, because="interrupted"), "1 passing, partial", "lightgrey"),
        (report(SKIPPED), "nothing run", "lightgrey"),
        (report(because="interrupted"), "nothing run, partial", "lightgrey"),
    ],
)
def test_a_badge_is_green_only_if_nothing_is_wrong_or_missing(shown: Report, message: str, colour: str) -> None:
    assert make_badge([shown])[1:] == (message, colour)


def test_a_badge_needs_nothing_else() -> None:
    picture = Xml.fromstring(as_svg(make_badge([report(PASSED)], "<mine> & co")))

    assert picture.get("aria-label") == "<mine> & co: 1 passing"
    assert not re.search(r"href|url\(|<image|<script", as_svg(make_badge([report(PASSED)])))


def test_the_endpoint_is_what_the_service_asks_for() -> None:
    assert json.loads(as_endpoint(make_badge([report(MISSED)]))) == {
        "schemaVersion": 1,
        "label": "peerproof",
        "message": "1 failing",
        "color": "red",
        "isError": True,
    }


def test_the_command_writes_either(tmp_path: Path) -> None:
    run, svg, plain = record(tmp_path / "run.jsonl", report(PASSED)), tmp_path / "badge.svg", tmp_path / "badge.json"

    assert main(["report", "badge", run, "--output", str(svg)]) == 0
    assert main(["report", "badge", run, "--format", "json", "--label", "swim", "--output", str(plain)]) == 0
    assert Xml.parse(svg).getroot().tag.endswith("svg")
    assert json.loads(plain.read_text())["label"] == "swim"


def unescaped(text: str) -> str:
    """As the runner of workflows reads it."""
    for escape, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, sign)
    return text


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Kind, properties and text of each annotation."""
    found = re.findall(r"^::(\w+)(?: (.*?))?::(.*)$", text, re.MULTILINE)
    return [
        (kind, {name: unescaped(value) for name, value in re.findall(r"(\w+)=([^,]*)", told)}, unescaped(data))
        for kind, told, data in found
    ]


def test_an_annotation_stands_at_the_vector() -> None:
    arguments = {"impl": "./mine --flag", "vectors": "conformance/vectors"}
    (kind, told, text), *_ = commands(as_annotations(report(PASSED, MISSED, arguments=arguments)))

    assert kind == "error"
    assert told["file"].endswith("conformance/vectors/scuttlebutt/exchange/some.yaml")
    assert told["line"] == "12"
    assert told["title"] == f"scuttlebutt/exchange/one: {FAILURES['messages']}"
    assert "first difference: steps[1].messages[1].bytes" in text
    assert "peerproof vectors replay scuttlebutt/exchange/one" in text


def test_whatever_an_implementation_says_ends_no_command() -> None:
    hostile = replace(MISSED, reason="100%\r\n::error file=a.py,line=1::no, not: this", errors="::set-output name=x::y\n::stop")
    text = as_annotations(report(hostile))
    first, second = text.splitlines()

    assert first.startswith("::error title=")
    assert not second.startswith("::")
    assert "100%" in commands(text)[0][2]
    assert "::error file=a.py,line=1::no, not: this" in commands(text)[0][2]


def test_properties_hold_colons_and_commas() -> None:
    ((_, told, _),) = commands(as_annotations(report(named(MISSED, "a:b,c%"))))

    assert told["title"] == f"scuttlebutt/exchange/a:b,c%: {FAILURES['messages']}"


def test_what_is_wrong_beside_the_cases_is_annotated_too() -> None:
    found = commands(as_annotations(report(problems=["dead"], because="interrupted")))

    assert [told["title"] for _, told, _ in found] == ["list of expected failures", "the report is partial"]
    assert {kind for kind, *_ in found} == {"error"}


def test_it_is_said_that_a_workflow_shows_only_some() -> None:
    *_, (kind, _, text) = commands(as_annotations(report(*(named(MISSED, f"v-{number}") for number in range(11)))))

    assert (kind, text) == ("notice", "11 cases failed; a workflow shows the first 10, its log has all of them")


@pytest.mark.slow
def test_the_command_annotates_the_line_of_the_vector(numbered: Path, capfd: Capture) -> None:
    assert main(["run", "--vectors", str(numbered), "--impl", command("die", digits(3)), "--format", "github"]) == 1

    (kind, told, _) = commands(capfd.readouterr().out)[0]
    assert kind == "error"
    assert Path(told["file"]).read_text().splitlines()[int(told["line"]) - 1] == "- id: scuttlebutt/codec/number-3"
