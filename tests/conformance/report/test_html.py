"""The page as text: all of it is in it, it asks for nothing else, and what comes from implementations stays text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from tests.conformance.conftest import Capture
from tests.support.html_reader import Reader
from tests.support.reports import MISSED, PASSED, SKIPPED, THEIRS, many, named, record, report

from peerproof.cli.main import main
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.report.html.environment import make_environment
from peerproof.conformance.report.html.page import ReportExtras, page
from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.vectors.matching import Difference

TITLES = {PASSED.vector: "the title of two"}
SURVIVORS = [{"mutant": "m-1", "diff": "- a\n+ b"}]
MUTANTS = {"protocols": {"swim": {"mutants": 10, "killed": 8, "equivalent": 1, "score": 0.8899, "survivors": SURVIVORS}}}
COVERED = {"worlds": 9_999, "edges": 12, "moving": 10, "edges_loaded": 10, "edges_on_paths": 9, "walked": 4}
EDGES = {
    "vectors": {"version": "1.0.0+sha256:00", "digest": "00"},
    "protocols": {"swim": [{"configuration": "small", **COVERED, "wrong": ["one vector"]}]},
}


def read(*reports: Report, extras: ReportExtras | None = None) -> Reader:
    return Reader(page(reports, TITLES, extras))


def test_implementations_stand_side_by_side() -> None:
    theirs = report(MISSED, named(PASSED, "only"), **THEIRS)
    data = read(report(replace(PASSED, id=MISSED.id, vector=MISSED.vector), SKIPPED), theirs).data

    assert data["implementations"] == ["mine 2", "theirs 1"]
    shown = {data["vectors"][vector][0]: statuses for vector, _, statuses, *_ in data["cases"]}
    letter = {status: chr(97 + place) for place, status in enumerate(STATUSES)}
    assert shown == {
        MISSED.vector: letter["passed"] + letter["failed"],
        SKIPPED.vector: letter["skipped"] + ".",
        "scuttlebutt/exchange/only": "." + letter["passed"],
    }


def test_implementations_of_one_name_are_told_apart() -> None:
    alike = [report(PASSED), report(PASSED, arguments={"impl": "./other"}), report(PASSED, arguments={})]

    assert read(*alike).data["implementations"] == ["mine 2 (./mine --flag)", "mine 2 (./other)", "mine 2"]
    assert read(alike[0], alike[0]).data["implementations"] == ["mine 2 (./mine --flag) [1]", "mine 2 (./mine --flag) [2]"]


def test_a_failure_has_picture_clauses_difference_and_lines_to_paste() -> None:
    reader = read(report(PASSED, MISSED))
    (detail,) = reader.details()

    assert '<svg xmlns="http://www.w3.org/2000/svg" class="message-graph"' in detail
    assert "✗ 10 ms: digest_request []" in detail
    assert "expected instead:" in detail
    assert "<code>steps[1].messages[1].bytes, from byte 0</code>" in detail
    for command in ("replay scuttlebutt/exchange/one --impl './mine --flag'", "explore scuttlebutt/exchange/one"):
        assert f"<code>peerproof vectors {command}</code>" in unescape(detail)
    assert "<code>peerproof vectors explore scuttlebutt/exchange/one --impl './mine --flag'</code>" in unescape(detail)
    assert "explore scuttlebutt/exchange/one --impl" not in "".join(read(report(MISSED, arguments={})).details())
    texts = {clause: text for clause, _, text in reader.data["clauses"]["scuttlebutt"]}
    assert texts["B-31"].startswith("When the datagram is full")


DIFFERS = replace(MISSED, status="differs", decisions=("BA-12",))


@pytest.mark.parametrize(
    ("results", "verdict", "meaning"),
    [
        ([PASSED, MISSED], "Violates", "1 case contradicts the protocol's document."),
        ([DIFFERS, replace(MISSED, id="a/b/c", status="hung"), named(MISSED, "x")], "Violates", "document: 1 failed, 1 hung."),
        (
            [PASSED, DIFFERS],
            "Differs",
            "Nothing contradicts the protocol's document; 1 case differs in what only a decision demands.",
        ),
        ([PASSED, SKIPPED], "Passed", "Nothing that was checked contradicts the protocol."),
        ([PASSED, replace(MISSED, status="known")], "Passed", "1 case failed as the list of expected failures says."),
        ([SKIPPED], "Nothing checked", "No case was checked."),
    ],
)
def test_the_page_opens_with_the_verdict(results: list[Result], verdict: str, meaning: str) -> None:
    text = "".join(read(report(*results, date="2026-11-02")).texts)

    assert f"\n{verdict}\n" in text
    assert meaning in text
    assert "Since 2026-11-02, against vectors 1.0.0+sha256:00" in text


def test_of_several_implementations_the_worst_verdict_counts() -> None:
    reader = read(report(PASSED), report(MISSED, **THEIRS), report(DIFFERS, implementation={"name": "third", "version": "3"}))

    assert "Violates: 1 of 3 implementations" in reader.texts
    assert [text for text in reader.texts if text in ("passed", "violates", "differs")][3:6] == ["passed", "violates", "differs"]


def test_each_group_has_its_graph_its_commands_and_a_link_to_its_cases() -> None:
    other = replace(named(MISSED, "other"), difference=Difference("steps[0].observe.q", "2", "1"), failure="observed")
    reader = read(report(MISSED, named(MISSED, "like-one"), other))
    graphs = [attributes["aria-labelledby"] for tag, attributes in reader.elements if tag == "svg"]
    links = [attributes["href"] for tag, attributes in reader.elements if tag == "a"]

    assert graphs == ["graph-of-group-0-title", "graph-of-group-1-title"]
    assert [link for link in links if "group" in str(link)] == [f"#tab=cases&status=any&group={number}" for number in range(2)]
    assert reader.data["groups"] == [[0, 1], [2]]
    assert len([text for text in reader.texts if re.fullmatch(r"peerproof vectors explore scuttlebutt/exchange/\S+", text)]) == 2


def test_a_group_shows_the_title_of_its_case_and_the_clause_that_it_contradicts() -> None:
    """Of the clauses of all cases it is the rarest in the run; the others are shown by id."""
    reader = read(report(PASSED, MISSED, named(replace(MISSED, title="what is sent then, and more"), "three")))
    text = "".join(reader.texts)

    assert "B-31 must: When the datagram is full, adding ends.\nOther clauses: B-11\n" in re.sub("\n+", "\n", text)
    assert "For example scuttlebutt/exchange/one: what is sent first\n" in text


def test_code_in_the_text_of_a_clause_is_shown_as_code() -> None:
    html = page([report(replace(MISSED, id="swim/codec/one", vector="swim/codec/one", clauses=("S-16",)))], TITLES)

    assert '<p class="clause">S-16 must: <code>[:ping sender restart tx target]</code>.</p>' in html


def test_clauses_are_links_where_the_site_is_known(tmp_path: Path, capfd: Capture) -> None:
    path, out = record(tmp_path / "run.jsonl", report(MISSED)), tmp_path / "page.html"

    assert main(["report", "html", path, "--site", "https://example.org/docs", "--output", str(out)]) == 0
    reader = Reader(out.read_text(encoding="utf-8"))
    assert reader.data["site"] == "https://example.org/docs/"
    links = {attributes["href"] for tag, attributes in reader.elements if tag == "a"}
    assert "https://example.org/docs/specification/scuttlebutt/#B-31" in links
    assert main(["report", "html", path, "--site", "javascript:alert(1)"]) == 2
    assert "expected an address that begins with https:// or http://" in capfd.readouterr().err


def test_titles_are_of_the_vectors_at_hand_or_of_the_record() -> None:
    titles = [title for _, title, *_ in read(report(PASSED, MISSED, SKIPPED)).data["vectors"]]

    assert titles == ["the title of two", "what is sent first", ""]


def test_the_behaviour_profile_names_the_branches_of_each() -> None:
    reader = read(report(PASSED), report(replace(PASSED, branches=("second",)), **THEIRS))
    profile = ["scuttlebutt/exchange/two", "first", "second"]

    assert reader.data["branches"] == [[0, {"0": ["first"], "1": ["second"]}]]
    assert [text for text in reader.texts if text in profile] == profile


def test_a_partial_report_is_marked() -> None:
    texts = "".join(read(report(PASSED, because="interrupted", selected=4), report(MISSED)).texts)

    assert "Partial: mine 2 (./mine --flag) [1]: interrupted; 3 cases were not run." in texts
    assert texts.count("(partial)") == 1
    whole = "".join(read(report(PASSED)).texts)
    assert "Partial" not in whole
    assert "(partial)" not in whole


def test_where_a_real_socket_makes_a_difference_is_told() -> None:
    over = replace(MISSED, id=f"{PASSED.id}@udp", vector=PASSED.vector)
    reader = read(report(PASSED, over))

    assert [part for _, part, *_ in reader.data["cases"]] == ["", "@udp"]
    assert any(text.startswith("mine 2: otherwise: scuttlebutt/exchange/two: passed under virtual time") for text in reader.texts)
    assert "Virtual time and real sockets" not in read(report(PASSED)).texts


def test_mutants_and_edges_are_shown_where_they_are_given() -> None:
    texts = read(report(PASSED), extras=ReportExtras(MUTANTS, EDGES)).texts
    other = {**EDGES, "vectors": {"version": "0.9", "digest": "ff"}}

    assert "88.9 %" in texts  # never more than it is
    assert any("mutant: m-1\n- a\n+ b" in text for text in texts)
    assert "9,999" in texts
    assert "not of the graph: one vector" in texts
    assert "These are from other vectors" not in "".join(texts)
    assert "These are from other vectors than the reports: 0.9" in read(report(PASSED), extras=ReportExtras(edges=other)).texts
    assert not {"Mutation score", "Model coverage"} & set(read(report(PASSED)).texts)


@pytest.mark.parametrize(
    "hostile",
    [
        "</script><script>alert(1)</script>",
        "</title><img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)\" ' onfocus='alert(1)' autofocus='",
        "\u202egnp.\x1b[31m\x00",
        "{{ 7 * 7 }}{% include 'style.css' %}",
    ],
)
def test_what_comes_from_outside_stays_text(hostile: str) -> None:
    """Names of implementations and protocols, titles, reasons, what a process writes: as text, and as values of attributes."""
    vector = f"{hostile.translate({ord('/'): '', 0: ''})}/exchange/one"
    failure = replace(MISSED, id=vector, vector=vector, reason=hostile, errors=hostile, title=hostile)
    extras = ReportExtras(MUTANTS, EDGES, ["x"])
    given = json.dumps([MUTANTS, EDGES]).replace('"swim"', json.dumps(hostile)).replace('"m-1"', json.dumps(hostile))
    mutants, edges = json.loads(given)
    shown = report(failure, implementation={"name": hostile, "version": "1"}, problems=[hostile], because=hostile)
    harmless = replace(MISSED, id="unknown/exchange/one", vector="unknown/exchange/one", reason="x", errors="x", title="x")
    plain = read(report(harmless, problems=["x"], because="x"), extras=extras)
    spoiled = read(shown, extras=ReportExtras(mutants, edges, [hostile]))

    assert [(tag, sorted(attributes)) for tag, attributes in spoiled.elements] == [
        (tag, sorted(attributes)) for tag, attributes in plain.elements
    ]
    details = [Reader(detail) for detail in (*spoiled.details(), *plain.details())]
    elements = [element for detail in details for element in detail.elements]
    assert {tag for tag, _ in elements} & {"script", "img"} == set()
    assert not any(name.startswith("on") for _, attributes in (*spoiled.elements, *elements) for name in attributes)
    assert "\u202e" not in "".join(spoiled.texts) + "".join(spoiled.details())
    assert f"Partial: {visible(hostile)} 1: {visible(hostile)}; 0 cases" in "".join(spoiled.texts)
    assert visible(hostile) in details[0].texts
    assert [spoiled.data["implementations"], spoiled.data["reasons"]] == [[f"{visible(hostile)} 1"], [visible(hostile)]]


def test_the_page_asks_for_nothing_and_runs_no_script_but_its_own() -> None:
    html = page([report(PASSED, MISSED)], {})
    reader = Reader(html)
    policy = next(attributes["content"] for tag, attributes in reader.elements if tag == "meta" and "http-equiv" in attributes)

    digest = b64encode(sha256(reader.scripts[""].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert {tag for tag, _ in reader.elements} & {"link", "img", "iframe", "object", "base"} == set()
    assert not any({"src", "href"} & set(attributes) and tag != "a" for tag, attributes in reader.elements)
    everything = html + "".join(reader.details())
    assert set(re.findall(r"https?://[^\s\"'<]*", everything)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket", everything)


def test_a_name_that_a_template_misspells_is_an_error() -> None:
    template = make_environment().from_string("{{ found.misspelt }}")

    with pytest.raises(UndefinedError, match="misspelt"):
        template.render(found={"spelt": 1})


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["run", "-k", "digest-request-of-one"]], ids=" ".join)
def test_jinja2_is_loaded_only_where_a_page_is_written(arguments: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "peerproof.cli.main", *arguments]
    imports = subprocess.run(command, capture_output=True, text=True, check=True).stderr

    assert "peerproof.cli" in imports
    assert "jinja2" not in imports


def luminance(colour: str) -> float:
    """Of WCAG 2, of a colour as #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_of_text_is_legible_on_every_ground_in_light_and_in_dark() -> None:
    """WCAG 2 AA: 4.5 to 1; on paper too."""
    folder = files("peerproof.conformance.report.html")
    css = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "report.css"))
    schemes = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r":root \{([^}]*)\}", css)]

    assert len(schemes) == 3
    for colours in schemes:
        for ground in ("paper", "panel"):
            for ink in ("ink", "faint", "good", "bad", "open", "link", "graph-wrong"):
                light, dark = sorted((luminance(colours[ground]), luminance(colours[ink])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground, colours)


@pytest.mark.slow
def test_many_failures_stay_small() -> None:
    """Details are packed: what is drawn of a failure is some kilobytes, what the page holds of it some hundred bytes."""
    small, large = (page([many(2 * failing, failing)], {}) for failing in (50, 250))

    assert len(list(Reader(large).details())) == 250
    assert len(large) - len(small) < 200 * 4_000


def test_the_command_makes_one_page_of_several_records(tmp_path: Path) -> None:
    records = [record(tmp_path / "mine.jsonl", report(PASSED)), record(tmp_path / "theirs.jsonl", report(MISSED, **THEIRS))]
    mutants, edges, out = (tmp_path / name for name in ("mutants.json", "edges.json", "page.html"))
    mutants.write_text(json.dumps(MUTANTS))
    edges.write_text(json.dumps(EDGES))

    assert main(["report", "html", *records, "--mutants", str(mutants), "--edges", str(edges), "--output", str(out)]) == 0
    reader = Reader(out.read_text(encoding="utf-8"))
    assert reader.data["implementations"] == ["mine 2", "theirs 1"]
    assert "88.9 %" in reader.texts
    assert any("ran with other vectors than the suite's" in text for text in reader.texts)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("nothing", "expected an object with 'protocols'"),
        ("[]", "expected an object with 'protocols'"),
        ('{"protocols": {"swim": {"mutants": 3}}}', "a protocol without 'killed'"),
    ],
)
def test_what_is_no_table_of_mutants_is_refused(tmp_path: Path, capfd: Capture, content: str, said: str) -> None:
    mutants = tmp_path / "mutants.json"
    mutants.write_text(content)

    assert main(["report", "html", record(tmp_path / "run.jsonl", report(PASSED)), "--mutants", str(mutants)]) == 2
    assert said in capfd.readouterr().err


def test_the_edges_that_the_page_takes_are_written_by_a_command(
    tmp_path: Path, exchange: str, written: Any, capfd: Capture
) -> None:
    assert main(["report", "edges", "--vectors", str(written(exchange=exchange))]) == 0

    shown = json.loads(capfd.readouterr().out)
    assert shown["protocols"] == {"scuttlebutt": []}
    assert len(shown["vectors"]["digest"]) == 64
