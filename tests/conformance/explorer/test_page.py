"""The explorer in a real browser: what one clicks happens, the address has the path, and the way back is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.catching import suite

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.explorer.failures import run_of_failure
from peerproof.conformance.explorer.page_file import page_with
from peerproof.conformance.explorer.recorded_run import BESIDE, Moment, Problem, Run
from peerproof.conformance.explorer.serve import Explorer, create_reference
from peerproof.conformance.explorer.trace_run import run_traces
from peerproof.conformance.explorer.vector_run import run_case
from peerproof.conformance.explorer.walk import Walk
from peerproof.conformance.runner.cases import find_cases
from peerproof.conformance.runner.runner import replay_cases
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.suite.locations import examples

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SCREENS = Path("build/screens")


@contextmanager
def serving(**settings: Any) -> Iterator[str]:
    """The address of an explorer that runs."""
    with Explorer(**settings) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """That of an explorer of models."""
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def diverging() -> Iterator[str]:
    """That of an explorer of a vector beside a wrong implementation, and of a trace of another."""
    (case,) = find_cases(suite(), "delta-stops-at-what-does-not-fit")
    (trace,) = [path for path in examples() if path.stem == "scuttlebutt-newest-first"]
    runs = {case.id: partial(run_case, case, create_reference, wrong), trace.name: partial(run_traces, [trace])}
    with serving(runs=runs) as running:
        yield running


def wrong() -> Adapter:
    """An implementation that goes on with smaller pairs when one does not fit."""
    return create_adapter("divergence:BD-09")


def test_a_newcomer_makes_a_node_send_and_another_receive(page: Page, address: str) -> None:
    """From nothing but the address: a protocol is chosen, a timer runs out, a message arrives, and the path is in the address."""
    page.goto(address)
    page.locator("#protocol").select_option("scuttlebutt")
    page.locator("#model").select_option("tiny")
    node = page.locator("article[data-node='node 2']")
    node.get_by_role("button", name="timer round").click()
    expect(page.get_by_role("status")).to_have_text("Step 1. node 2: timer round")
    expect(page.locator("#net li")).to_contain_text("node 2 → node 1: digest_request")

    page.get_by_role("button", name="Deliver", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Step 2. deliver node 2 → node 1")
    expect(page.locator("article[data-node='node 1'] tr.changed")).not_to_have_count(0)
    expect(page.get_by_role("group", name="Message graph")).to_be_visible()
    there = page.url

    page.go_back()
    expect(page.get_by_role("status")).to_contain_text("Step 1.")
    page.go_forward()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("status")).to_have_text("The beginning.")
    page.goto(there)
    expect(page.get_by_role("status")).to_contain_text("Step 2. deliver node 2 → node 1")


def test_the_shortest_way_to_a_violation_shows_it_in_red(page: Page, address: str) -> None:
    page.goto(f"{address}#scuttlebutt/BX-01-round-sync/")
    page.locator("#way").select_option("SameView")

    expect(page.locator("#properties .broken")).to_contain_text("SameView does not hold")
    expect(page.locator("#steps li")).to_have_count(3)
    page.locator("#steps button").first.click()
    expect(page.locator("#steps li")).to_have_count(1)
    expect(page.locator("#properties .broken")).to_have_count(0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("width", [400, 1280])
def test_a_message_explains_its_fields(browser: Browser, tmp_path: Path, address: str, alone: bool, width: int) -> None:
    """A click on its type, among the messages under way or in the graph, or Enter; Escape closes, and the path stays."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    file = tmp_path / "model.html"
    file.write_text(page_with({"model": Walk("swim", "small-suspicion").whole()}), encoding="utf-8")
    page.goto(file.as_uri() if alone else f"{address}#swim/small-suspicion/")
    page.locator("article[data-node='node 1']").get_by_role("button", name="timer quantum").click()
    legend = page.get_by_role("dialog")
    page.locator("#net").get_by_role("button", name="ping").click()
    expect(legend).to_contain_text("A request for an ack, which also carries news.")
    expect(legend.locator("tr", has_text="incarnation.tx").first).to_have_text("incarnation.tx1")
    expect(legend.locator(".meanings tr", has_text="incarnationrecord").first).to_contain_text("The number of a node's restarts")
    legend.get_by_text("suspicious in vectors").click()
    expect(legend).to_contain_text("A node does not answer.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(legend).to_be_hidden()

    page.get_by_role("button", name="Deliver", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Step 2.")
    page.locator("#graph .type").first.focus()
    page.keyboard.press("Enter")
    expect(legend).to_contain_text("In this message")
    legend.get_by_role("button", name="Close").click()
    expect(page.get_by_role("status")).to_contain_text("Step 2.")
    page.close()


def test_the_messages_of_a_run_are_explained(page: Page, diverging: str) -> None:
    page.goto(diverging)
    page.locator("#run-graph .type", has_text="delta").first.click()

    expect(page.get_by_role("dialog")).to_contain_text("entries[].version")


@pytest.mark.parametrize("alone", [True, False])
def test_the_way_to_an_answer_says_where_one_sees_it(page: Page, tmp_path: Path, address: str, alone: bool) -> None:
    """The last step is the refutation; the words name the message and its arrival, and a link of the address shows them again."""
    file = tmp_path / "model.html"
    file.write_text(page_with({"model": Walk("swim", "small-suspicion").whole()}), encoding="utf-8")
    page.goto(file.as_uri() if alone else f"{address}#swim/small-suspicion/")
    page.locator("#way").select_option("NeverRefuted")

    expect(page.locator("article[data-node='node 1'] tr.changed", has_text="table[2].status")).to_contain_text("normal")
    expect(page.locator("#answer")).to_contain_text("Can a suspicion be refuted? (NeverRefuted)")
    expect(page.locator("#answer")).to_contain_text("Yes: in step 13, the arrival of node 2 → node 1: ack")
    expect(page.locator("#answer")).to_contain_text("node 1: table[2].status = normal")
    expect(page.locator("#steps li.sought")).to_contain_text("deliver node 2 → node 1: ack")
    page.locator("#steps button").nth(11).click()
    expect(page.locator("#answer")).to_contain_text("Yes: after step 12 it would be so if this arrived now: node 2 → node 1: ack")
    expect(page.locator("#net li.sought")).to_contain_text("node 2 → node 1: ack")
    page.reload()
    expect(page.locator("#way")).to_have_value("NeverRefuted")

    page.locator("#way").select_option("NeverSuspicious")
    expect(page.locator("#answer")).to_contain_text("Yes: in step 11: node 1: own")
    expect(page.locator("#steps li.sought")).to_have_count(1)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#answer")).to_contain_text("Not on this path so far.")
    page.locator("#way").select_option("")
    expect(page.locator("#answer")).to_be_hidden()


def test_a_path_that_leads_nowhere_is_told(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#swim/small-a/beef")

    expect(page.get_by_role("status")).to_have_text("there is no move 'beef' at step 1 of the path")


def test_a_state_that_one_describes_is_found(page: Page, address: str) -> None:
    page.goto(f"{address}#swim/small-suspicion/")
    page.get_by_label("Field").fill("table[2].status")
    page.get_by_label("Value", exact=True).fill("suspicious")
    page.get_by_role("button", name="Find").click()

    row = page.locator("article[data-node='node 1'] tr", has_text="table[2].status")
    expect(row).to_contain_text("suspicious")
    expect(row).to_have_class("changed")
    page.get_by_label("Value", exact=True).fill("asleep")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("status")).to_have_text("No: in no state of this model does any node have table[2].status = asleep.")


@pytest.mark.parametrize("alone", [True, False])
def test_a_state_that_is_not_described_or_of_an_unknown_field_has_its_own_answer(
    page: Page, tmp_path: Path, address: str, alone: bool
) -> None:
    file = tmp_path / "model.html"
    file.write_text(page_with({"model": Walk("swim", "small-suspicion").whole()}), encoding="utf-8")
    page.goto(file.as_uri() if alone else f"{address}#swim/small-suspicion/")
    expect(page.locator("#nodes article")).to_have_count(2)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("status")).to_contain_text(
        "Enter the name of a field and its value as the cards show them, for example"
    )
    page.get_by_label("Field").fill("statos")
    page.get_by_label("Value", exact=True).fill("x")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("status")).to_have_text("No node of this model has a field statos: the cards show their names.")


def test_a_question_without_an_answer_names_the_model_that_has_one(page: Page, address: str) -> None:
    """Where another answer stood; the model opens with the question, and its answer is no fault."""
    page.goto(f"{address}#swim/small-suspicion/")
    page.locator("#way").select_option("NeverSuspicious")
    expect(page.locator("#answer")).to_contain_text("Yes: in step 11")
    page.locator("#way").select_option("NeverDead")
    expect(page.locator("#answer")).to_contain_text("No: in no state of this model (NeverDead holds).")
    expect(page.locator("#answer")).not_to_contain_text("Yes")
    expect(page.get_by_role("status")).to_have_text("No: in no state of this model (NeverDead holds).")
    page.locator("#answer").get_by_role("button", name="sometimes-dead").click()
    expect(page.locator("#answer")).to_contain_text("Yes: in step 19", timeout=30_000)
    expect(page.locator("#model")).to_have_value("sometimes-dead")
    expect(page.locator("#properties .shown")).to_contain_text("NeverDead no longer holds: the answer is yes")
    expect(page.locator("#properties .broken")).to_have_count(0)


def test_while_a_question_is_searched_no_other_answer_stands_there(page: Page, address: str) -> None:
    page.goto(f"{address}#swim/small-suspicion/")
    page.locator("#way").select_option("NeverSuspicious")
    expect(page.locator("#answer")).to_contain_text("Yes: in step 11")
    page.route("**/way.json*", lambda _: None)  # never answered
    page.locator("#way").select_option("NeverDead")
    expect(page.get_by_role("status")).to_have_text("looking for a shortest way to Can a node be declared dead? …")
    expect(page.locator("#answer")).to_be_hidden()


@pytest.mark.parametrize("alone", [True, False])
def test_an_event_beyond_a_limit_is_disabled_with_the_reason(page: Page, tmp_path: Path, address: str, alone: bool) -> None:
    file = tmp_path / "model.html"
    file.write_text(page_with({"model": Walk("swim", "small-suspicion").whole()}), encoding="utf-8")
    page.goto(file.as_uri() if alone else f"{address}#swim/small-suspicion/")
    node = page.locator("article[data-node='node 1']")
    for step in (1, 2):
        expect(node.get_by_role("button", name="timer quantum")).to_be_enabled()
        node.get_by_role("button", name="timer quantum").click()
        expect(page.get_by_role("status")).to_contain_text(f"Step {step}.")
    expect(node.get_by_role("button", name="timer quantum")).to_be_disabled()
    expect(node).to_contain_text("(the model's network holds 2 messages: deliver one first)")


def test_a_path_is_saved_as_a_vector(page: Page, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.goto(f"{address}#swim/small-suspicion/")
    page.locator("article[data-node='node 1']").get_by_role("button", name="timer quantum").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save").click()

    assert saved.value.suggested_filename.endswith("-node-1.yaml")
    assert "- id: swim/exchange/path-" in Path(saved.value.path()).read_text(encoding="utf-8")
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    command = f"peerproof run swim --vectors {file.name} --impl COMMAND"
    expect(page.locator("#kept code")).to_have_text(command)
    monkeypatch.chdir(tmp_path)
    assert main([*command.split()[1:-1], "py:peerproof.reference.harness.harness:Harness"]) == 0


def test_a_node_that_is_down_says_so(page: Page, address: str) -> None:
    page.goto(f"{address}#swim/small-b/")
    page.locator("#find").wait_for()
    page.get_by_label("Field").fill("up")
    page.get_by_label("Value", exact=True).fill("False")
    page.get_by_role("button", name="Find").click()
    down = page.locator("article.is-down")
    expect(down).to_have_count(1)
    expect(down).to_contain_text("(the node is down)")
    expect(down.locator("table")).to_be_hidden()


def test_what_one_needs_first_is_in_the_window(browser: Browser, address: str) -> None:
    """The questions, the way back and the lanes of three nodes; a model is named with its question."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(f"{address}#swim/small-a/")
    page.locator("article button:enabled").first.click()
    expect(page.locator("#graph svg")).to_be_visible()
    for place in ("#way", "#find", "#start", "#back", "#keep"):
        box = page.locator(place).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 600
    graph, third = page.locator("#graph").bounding_box(), page.locator("#graph .name").nth(2).bounding_box()
    assert graph is not None
    assert third is not None
    assert third["x"] + third["width"] < graph["x"] + graph["width"]
    expect(page.locator("#model option[value='sometimes-dead']")).to_have_text("sometimes-dead: Can a node be declared dead?")
    page.close()


def test_an_implementation_plays_a_node(page: Page) -> None:
    """What it does as each node is shown for each of that node's steps."""
    with serving(implementation="divergence:BD-02", reach=lambda: create_adapter("divergence:BD-02")) as address:
        page.goto(f"{address}#scuttlebutt/small-a/")
        page.locator("#way").select_option("NeverHearsay")
        result = page.locator("#check-result")
        expect(result).to_contain_text("The implementation as node 1")
        page.locator("#keep-node").select_option("node 2")
        expect(result).to_contain_text("The implementation as node 2: passed")
        expect(result.locator("li").first).to_contain_text("✓ as specified")


def test_the_step_at_which_an_implementation_differs_is_red_in_the_graph(page: Page) -> None:
    with serving(implementation="divergence:SD-01", reach=lambda: create_adapter("divergence:SD-01")) as address:
        page.goto(f"{address}#swim/small-suspicion/")
        page.locator("#way").select_option("NeverSuspicious")
        wrong = page.locator("#check-result li.broken")
        expect(wrong.first).to_contain_text("✗")
        step = str(wrong.first.inner_text()).partition(".")[0].removeprefix("Step ")
        expect(page.locator(f"#graph .row.wrong[data-step='{step}']").first).to_be_visible()


def test_a_vector_opens_at_its_first_difference(page: Page, diverging: str) -> None:
    page.goto(diverging)

    words = "✗ expected: delta [c:1 k1 v 1]; instead: delta [c:1 k1 v 1, d:1 k v 1]"
    expect(page.get_by_role("status")).to_have_text(f"Step 4 of 4, 10 ms. {words}")
    expect(page.locator("#moments .broken")).to_contain_text(words)
    expect(page.locator("#problem")).to_contain_text(FAILURES["messages"])
    expect(page.locator("#problem")).to_contain_text("delta [c:1 k1 v 1, d:1 k v 1]")
    expect(page.locator("#run-clauses")).to_contain_text("B-31 When the datagram is full")
    expect(page.locator("#run-graph .wrong")).to_have_count(2)
    expect(page.locator("#run-graph .wrong").first).to_contain_text("✗ not expected: delta")
    expect(page.locator("#run-graph .wrong").last).to_contain_text("✗ not sent: delta")
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_role("status")).to_contain_text("Step 3 of 4")
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#cards article")).to_have_count(2)
    page.get_by_label("Step", exact=True).press("Home")
    expect(page.get_by_role("status")).to_have_text("The beginning.")
    page.locator("#problems button").click()
    expect(page.get_by_role("status")).to_contain_text("Step 4 of 4")


def test_a_failure_of_a_report_is_red_only_where_it_is_wrong(page: Page, tmp_path: Path) -> None:
    """The peer's message, the event and the right delta of the same step are not."""
    (case,) = find_cases(suite(), "delta-before-its-peer-is-known")
    (result,) = replay_cases([case], create_adapter("divergence:BD-03"))
    file = tmp_path / "failure.html"
    file.write_text(page_with({"runs": [run_of_failure(case, result, "mine").whole()]}), encoding="utf-8")
    page.goto(file.as_uri())

    wrong = page.locator("#run-graph .wrong")
    expect(wrong).to_have_count(2)
    expect(wrong.first).to_contain_text("✗ not expected: digest_response [b:1 0, c:1 0]")
    expect(wrong.last).to_contain_text("✗ not sent: digest_response [c:1 0]")
    expect(page.locator("#run-graph .row:not(.wrong)", has_text="event join")).to_have_count(1)
    expect(page.get_by_role("status")).to_contain_text("✗ expected: digest_response [c:1 0]; instead: digest_response [b:1 0")


def test_a_trace_has_a_time_line_that_zooms(page: Page, diverging: str) -> None:
    page.goto(f"{diverging}#run/1/")
    expect(page.get_by_role("status")).to_contain_text("Step 16 of 97")
    expect(page.locator("#problems li")).to_have_count(2)
    page.get_by_role("button", name="Next difference").click()
    expect(page.get_by_role("status")).to_contain_text("Step 22 of 97")
    line = page.locator("#line")
    before = line.screenshot()
    line.hover()
    page.mouse.wheel(0, -400)
    assert line.screenshot() != before
    box = line.bounding_box()
    assert box is not None
    line.click(position={"x": box["width"] - 20, "y": 20})
    expect(page.get_by_role("status")).not_to_contain_text("Step 22 of 97")
    expect(page.locator("#moments [aria-current=step]")).to_have_count(1)


@pytest.mark.parametrize("alone", [True, False])
def test_a_change_of_a_state_and_the_words_of_an_event_are_found(page: Page, tmp_path: Path, alone: bool) -> None:
    """In a trace of SWIM: when a node suspects the one that has crashed, by the server or by the file."""
    (trace,) = [path for path in examples() if path.stem == "swim-crash"]
    file = tmp_path / "trace.html"
    file.write_text(page_with({"runs": [run_traces([trace]).whole()]}), encoding="utf-8")
    with serving(runs={trace.name: partial(run_traces, [trace])}) as served:
        page.goto(file.as_uri() if alone else served)
        expect(page.get_by_role("status")).to_contain_text("Step 1 of 134")
        page.locator("#wanted").fill("crash")
        page.get_by_role("button", name="Find next").click()
        expect(page.get_by_role("status")).to_contain_text("n2:1: crash or end of its log")
        expect(page.locator("#run-graph .now .label")).to_contain_text("crash or end of its log")
        expect(page.locator("article[data-node='n2:1'] tr")).to_have_text(["(the node is down)"])
        page.locator("#wanted").fill("status = suspicious")
        page.get_by_role("button", name="Find next").click()
        expect(page.locator("#cards tr.changed", has_text="status")).to_contain_text("suspicious")
        page.locator("#wanted").fill("timer quantum")
        page.get_by_role("button", name="Find next").click()
        expect(page.get_by_role("status")).to_contain_text("timer quantum")
        page.locator("#wanted").fill("status = asleep")
        page.get_by_role("button", name="Find next").click()
        expect(page.get_by_role("status")).to_have_text("status = asleep: not after this step")


@pytest.mark.parametrize("alone", [True, False])
def test_of_many_nodes_those_are_shown_that_the_step_concerns(page: Page, tmp_path: Path, alone: bool) -> None:
    names = [f"n{number}" for number in range(7)]
    run = Run("swim", "many", moments=[Moment(0, name, "tick", (Note(name, "tick"),)) for name in names])
    for name in (*names, f"n6{BESIDE}"):
        run.add_state(name, lambda: {"x": "1"}, -1)
    file = tmp_path / "many.html"
    file.write_text(page_with({"runs": [run.whole()]}), encoding="utf-8")
    with serving(runs={"many": lambda: run}) as served:
        page.goto(f"{file.as_uri() if alone else served}#run/0/6")
        expect(page.locator("#cards h3")).to_have_text(["n6", f"n6{BESIDE}"])


def test_a_file_needs_no_server(page: Page, tmp_path: Path) -> None:
    """A model and a run: they are shown, searched and walked through, and nothing is loaded."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    model, run = tmp_path / "model.html", tmp_path / "run.html"
    model.write_text(page_with({"model": Walk("swim", "small-suspicion").whole()}), encoding="utf-8")
    (case,) = find_cases(suite(), "delta-stops-at-what-does-not-fit")
    run.write_text(page_with({"runs": [run_case(case, create_reference, wrong).whole()]}), encoding="utf-8")

    page.goto(model.as_uri())
    page.locator("#way").select_option("NeverSuspicious")
    expect(page.locator("article[data-node='node 1'] tr.changed", has_text="table[2].status")).to_contain_text("suspicious")
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("status")).to_contain_text("Step 10.")
    page.goto(run.as_uri())
    expect(page.locator("#problem")).to_contain_text(FAILURES["messages"])
    expect(page.locator("article[data-node='node'] tr")).not_to_have_count(0)
    assert {address.partition("#")[0] for address in asked} == {model.as_uri(), run.as_uri()}


HOSTILE = "<img src=x onerror=window.hit=1></script><script>window.hit=1</script>\u202e\u0000\x1b[31m\u2028" + "x" * 1_000_000


@pytest.mark.parametrize("alone", [True, False])
def test_hostile_texts_are_shown_and_run_nothing(browser: Browser, tmp_path: Path, alone: bool) -> None:
    """In every text of a run: tags and scripts, control characters, letters that turn the line around, a megabyte."""
    run = Run("swim", HOSTILE, HOSTILE, verdict=HOSTILE, commands=((HOSTILE, HOSTILE),))
    problem = Problem(HOSTILE, HOSTILE, HOSTILE, HOSTILE, ("S-01", HOSTILE), HOSTILE)
    parts = Arrow(HOSTILE, "b", HOSTILE), Note("b", HOSTILE)
    run.moments.append(Moment(1, HOSTILE, HOSTILE, parts, parts, problem))
    run.add_state(HOSTILE, lambda: {HOSTILE: HOSTILE})
    tab = browser.new_page()
    file = tmp_path / "hostile.html"
    file.write_text(page_with({"runs": [run.whole()]}, HOSTILE), encoding="utf-8")
    with serving(runs={"hostile": lambda: run}) as served:
        tab.goto(f"{file.as_uri() if alone else served}#run/0/0")
        expect(tab.locator("#problem")).to_contain_text("<img src=x onerror=window.hit=1>")
        expect(tab.locator("#problem")).to_contain_text("\\u{202e}\\u{0}\\u{1b}")
        expect(tab.locator("#cards tr")).to_have_count(1)
        assert tab.evaluate("window.hit") is None
        assert tab.locator("img, script:not([type='application/json']):not([type='module'])").count() == 0
    tab.close()


@pytest.mark.parametrize("alone", [True, False])
def test_nodes_have_their_names_and_values_a_plain_form(page: Page, tmp_path: Path, alone: bool) -> None:
    """In cards, graph and words, and in what is searched; the exact form is the title, and shown on demand."""
    (case,) = find_cases(suite(), "swim/exchange/payload-is-kept-in-the-senders-row")
    file = tmp_path / "vector.html"
    file.write_text(page_with({"runs": [run_case(case, create_reference).whole()]}), encoding="utf-8")
    with serving(runs={case.id: partial(run_case, case, create_reference)}) as served:
        page.goto(f"{file.as_uri() if alone else served}#run/0/1")
        status = page.locator("#cards tr", has_text="status").first
        expect(status.locator("th")).to_have_text("rows[b].status")
        expect(status.locator("th")).to_have_attribute("title", "rows[22222222-2222-4222-8222-222222222222].status")
        expect(page.get_by_role("status")).to_contain_text("ping b [1, 2] a")
        expect(page.locator("#run-graph .label").first).to_contain_text("ping b [1, 1] a")
        page.locator("#wanted").fill("rows[b].payload.~:some = ~:data")
        page.get_by_role("button", name="Find next").click()
        expect(page.locator("#cards tr", has_text="rows[b].payload.some").locator("td")).to_have_text("data")
        expect(page.get_by_role("status")).to_contain_text("[payload {some: data,")

        page.get_by_label("exact values").check()
        expect(page.locator("#cards tr", has_text=".payload.~:some").locator("td")).to_have_text("~:data")
        expect(page.locator("#cards")).to_contain_text("rows[22222222-2222-4222-8222-222222222222].status")
        expect(page.get_by_role("status")).to_contain_text('[payload {"~:some": "~:data",')
        expect(page.get_by_role("status")).to_contain_text('{"restart": ')


@pytest.mark.parametrize("page_name", ["model", "vector", "trace"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_screen_in_the_light_and_in_the_dark(
    browser: Browser, address: str, diverging: str, page_name: str, width: int, scheme: str
) -> None:
    """Nothing reaches beyond the window but the message graph, which scrolls; pictures are kept."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light")
    if page_name == "model":
        tab.goto(f"{address}#swim/small-a/")
        tab.locator("article button").first.click()
        expect(tab.locator("#graph svg")).to_be_visible()
    else:
        tab.goto(f"{diverging}#run/{int(page_name == 'trace')}/")
        expect(tab.locator("#problem")).to_be_visible()

    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.screenshot(path=SCREENS / f"explorer-{page_name}-{width}-{scheme}.png", full_page=True)
    tab.close()
