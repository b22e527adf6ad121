"""Runs that have happened, as moments: they show what the verdicts say, at the step where it went wrong."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from tests.support import misbehaving
from tests.support.captures import ROUND, A, B, capture, pair
from tests.support.catching import suite

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt, Note
from peerproof.conformance.explorer.capture_run import run_capture
from peerproof.conformance.explorer.finding_run import run_finding
from peerproof.conformance.explorer.recorded_run import DOWN, MOST_MOMENTS, Moment, Run, States, TooLarge
from peerproof.conformance.explorer.serve import create_reference
from peerproof.conformance.explorer.trace_run import run_traces
from peerproof.conformance.explorer.vector_run import NotRun, run_case
from peerproof.conformance.fuzz.findings import Fed, Finding, Told
from peerproof.conformance.fuzz.node_search import fuzz_nodes
from peerproof.conformance.fuzz.reaction import Called, Passed, Started
from peerproof.conformance.runner.cases import find_cases, select_cases
from peerproof.conformance.runner.runner import replay_cases
from peerproof.conformance.suite.locations import examples
from peerproof.conformance.suite.source import Source, keep_standard_input
from peerproof.conformance.traces.file_check import check_trace
from peerproof.spec.core import Instant, NodeId

EXAMPLES = {path.stem: path for path in examples()}


def diverging(name: str) -> Callable[[], Adapter]:
    """Makes the adapter of an implementation with one difference of an original."""
    return lambda: create_adapter(f"divergence:{name}")


@pytest.mark.slow
def test_the_specification_never_differs() -> None:
    """In a hundred cases at random, of all kinds: every step is there, and no problem."""
    for case in Random("cases").sample(select_cases(suite()), 120):
        run = run_case(case, create_reference)
        steps = len(case.vector.body.get("setup", ())) + len(case.vector.body.get("steps", ()))
        assert [moment.problem for moment in run.moments if moment.problem] == []
        assert case.part not in ("exchange", "model", "cluster") or len(run.moments) == steps
        json.dumps(run.whole())


@pytest.mark.slow
@pytest.mark.parametrize(("divergence", "protocol"), [("BD-02", "scuttlebutt"), ("SD-12", "swim"), ("DD-03", "distkv")])
def test_the_first_difference_is_that_of_the_verdict(divergence: str, protocol: str) -> None:
    """The run goes on behind it, but says what the runner says of the case."""
    chosen = select_cases(suite(), "layer:exchange,cluster", protocol)[::3]
    results = replay_cases(chosen, create_adapter(f"divergence:{divergence}"))
    failing = [(case, result) for case, result in zip(chosen, results, strict=True) if result.failure]
    assert failing

    for case, result in failing[:30]:
        run = run_case(case, create_reference, diverging(divergence))
        first = next(moment.problem for moment in run.moments if moment.problem)
        assert run.verdict == first.verdict == result.status
        assert result.difference is None or first.where == result.difference.where


def test_a_state_that_is_not_as_specified_stands_beside_the_specification() -> None:
    (case,) = find_cases(suite(), "delta-stops-at-what-does-not-fit")

    run = run_case(case, create_reference, diverging("BD-09"), arguments={"impl": "divergence:BD-09"})

    (wrong,) = [number for number, moment in enumerate(run.moments) if moment.problem]
    seen = run.view(wrong)
    assert [card["name"] for card in seen["nodes"]] == ["node", "node (specification)"]
    assert seen["moment"]["problem"]["expected"] == "delta [c:1 k1 v 1]"
    assert [part.label for part in run.moments[wrong].instead] == ["delta [c:1 k1 v 1]"]
    assert dict(run.commands)["again"].endswith("--impl divergence:BD-09")
    assert run.outline()["clauses"][0][0] == "B-31"


def wrong_messages(run: Run) -> list[tuple[int, str, bool]]:
    """The messages that are marked: moment, text, and whether it was expected instead of sent."""
    parts = [(number, part) for number, moment in enumerate(run.moments) for part in (*moment.parts, *moment.instead)]
    return [(number, part.label, part.judged) for number, part in parts if isinstance(part, Arrow) and part.wrong]


def test_the_wrong_message_is_marked_where_it_is_sent() -> None:
    """One step before the check that finds it; the expected one is marked at the check."""
    (case,) = find_cases(suite(), "delta-stops-at-what-does-not-fit")

    run = run_case(case, create_reference, diverging("BD-09"))

    assert wrong_messages(run) == [(2, "delta [c:1 k1 v 1, d:1 k v 1]", False), (3, "delta [c:1 k1 v 1]", True)]
    assert run.outline()["moments"][2]["parts"][1]["wrong"]
    assert wrong_messages(run_case(case, create_reference)) == []


@pytest.mark.parametrize(("divergence", "protocol"), [("BD-02", "scuttlebutt"), ("SD-01", "swim"), ("WD-03", "wendy")])
def test_a_check_of_messages_that_fails_marks_some_and_none_of_a_peer(divergence: str, protocol: str) -> None:
    chosen = select_cases(suite(), "layer:exchange", protocol)[::6]
    results = replay_cases(chosen, create_adapter(f"divergence:{divergence}"))
    failing = [case for case, result in zip(chosen, results, strict=True) if result.failure == "messages"]
    assert failing

    for case in failing:
        run = run_case(case, create_reference, diverging(divergence))
        assert wrong_messages(run)
        scripted = {name for name, node in case.vector.body["nodes"].items() if "role" in node}
        marked = [part for moment in run.moments for part in moment.parts if isinstance(part, Arrow) and part.wrong]
        assert scripted.isdisjoint(part.source for part in marked)


def test_an_implementation_that_ends_is_the_last_moment(tmp_path: Path) -> None:
    """It exits at the first message; the steps before are there, and the specification beside it plays to the end."""
    program = f"{sys.executable} {misbehaving.__file__} start-once {tmp_path / 'started'} recv"
    (case,) = find_cases(suite(), "delta-stops-at-what-does-not-fit")

    run = run_case(case, create_reference, lambda: create_adapter(program))

    assert run.verdict == "crashed"
    assert [moment.problem is not None for moment in run.moments] == [True]
    assert len(run.states["node (specification)"].moments) == 5


def test_what_an_implementation_lacks_is_said() -> None:
    case = select_cases(suite(), "layer:exchange", "swim")[0]

    with pytest.raises(NotRun, match="does not offer swim"):
        run_case(case, create_reference, diverging("BD-09"))


@pytest.mark.parametrize("name", ["scuttlebutt", "scuttlebutt-newest-first", "swim-crash", "wendy-crash"])
def test_a_trace_differs_where_its_check_says(name: str) -> None:
    path = EXAMPLES[name]
    lines = [each.divergence.line for node in check_trace(path).nodes.values() for each in node.found]

    run = run_traces([path])

    assert sum(moment.life != DOWN for moment in run.moments) == check_trace(path).lines
    marked = [(moment.node, moment.problem.where) for moment in run.moments if moment.problem]
    assert sorted(marked) == sorted((line.node, f"seq {line.seq}") for line in lines)
    assert all(card["fields"] for card in run.view(len(run.moments) - 1)["nodes"])


@pytest.mark.parametrize("least", [0, 2000], ids=["whole", "cut"])
def test_a_compressed_trace_is_shown_as_far_as_it_goes(least: int, tmp_path: Path) -> None:
    path, data = tmp_path / "trace.jsonl.gz", gzip.compress(EXAMPLES["scuttlebutt"].read_bytes())
    path.write_bytes(data[: len(data) - least])

    run = run_traces([path])

    assert (len(run.moments) == len(run_traces([EXAMPLES["scuttlebutt"]]).moments)) == (least == 0)
    assert ("the gzip file ends early; the part before was read" in run.about) == (least > 0)


def test_the_states_of_a_trace_are_those_of_its_lines(tmp_path: Path) -> None:
    """After an update the version is one more; a whole run has the same states as a view of each moment."""
    run = run_traces([EXAMPLES["scuttlebutt"]])
    update = next(number for number, moment in enumerate(run.moments) if moment.what.startswith("update_local"))
    node = run.moments[update].node

    (card,) = run.view(update, [node])["nodes"]

    assert {field["name"] for field in card["fields"] if field["changed"]} >= {f"store[{node}].version"}
    fields: dict[str, str] = {}
    for moment, changes in run.whole()["changes"][node].items():
        for name, value in changes.items():
            fields.pop(name) if value is None else fields.update({name: value})
        (card,) = run.view(int(moment), [node])["nodes"]
        assert fields == {field["name"]: field["value"] for field in card["fields"] if field["name"] in fields}


@pytest.mark.parametrize("name", ["swim-crash", "scuttlebutt-newest-first"])
def test_a_part_of_a_trace_has_the_states_of_the_whole(name: str) -> None:
    whole = run_traces([EXAMPLES[name]])
    times = [moment.at or 0 for moment in whole.moments]
    begin, end = times[len(times) // 2], times[-1]
    node = whole.moments[-1].node

    part = run_traces([EXAMPLES[name]], excerpt=Excerpt(begin, end, [node], most=1000))

    shown = [at for at, each in enumerate(whole.moments) if begin <= times[at] < end and node in {each.node, *_ends_of(each)}]
    assert [each.what for each in part.moments] == [whole.moments[at].what for at in shown]
    assert part.verdict == whole.verdict
    for each in whole.states:
        assert [part.states[each].at(at) for at in range(len(shown))] == [whole.states[each].at(at) for at in shown]


def _ends_of(moment: Moment) -> set[str]:
    return {name for part in moment.parts for name in ((part.source, part.target) if isinstance(part, Arrow) else (part.node,))}


def test_a_node_that_a_trace_does_not_have_is_answered_with_those_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "explore", str(EXAMPLES["swim-crash"]), "--node", "n9:1", "--output", "never"]) == 4

    assert "error: nothing to show\ntip: --node: there are n" in capsys.readouterr().err


@pytest.mark.parametrize("vector", ["swim/exchange/payload-of-another", "wendy/exchange/contact-that-sends-on"])
def test_ids_have_the_names_of_the_vector(vector: str) -> None:
    """Of the node that is configured with an id, and of those that send it as theirs or have its address."""
    (case,) = find_cases(suite(), vector)

    run = run_case(case, create_reference)

    assert set(run.names.values()) == set(run.nodes)
    assert all(len(each) >= 32 for each in run.names)


def test_ids_in_a_trace_have_the_addresses_of_the_nodes() -> None:
    for name in ("swim-crash", "wendy-crash"):
        run = run_traces([EXAMPLES[name]])

        assert set(run.names.values()) == set(run.nodes)
        assert len(run.outline()["names"]) == len(run.nodes)


@pytest.mark.parametrize("name", ["swim-crash", "wendy-crash"])
def test_a_crash_in_a_trace_is_an_event(name: str) -> None:
    """It follows the last line of the node, which others still send to; nothing is said of those that run to the end."""
    run = run_traces([EXAMPLES[name]])

    (crash,) = [number for number, moment in enumerate(run.moments) if moment.life == DOWN]
    node = run.moments[crash].node
    assert "others still send to it" in run.moments[crash].what
    assert run.moments[crash - 1].node == node
    assert node not in {moment.node for moment in run.moments[crash + 1 :]}
    (card,) = run.view(crash, [node])["nodes"]
    assert [field["name"] for field in card["fields"] if field["value"] == "" and not field["changed"]] == ["(the node is down)"]


def test_a_restart_in_a_trace_is_an_event_after_the_crash(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    arguments = ("--nodes", "3", "--rounds", "30", "--crash", "2@8", "--restart", "2@16", "--trace", str(trace))
    assert main(["node", "simulate", "swim", *arguments]) == 0

    run = run_traces([trace])

    lives = [(moment.life, moment.what) for moment in run.moments if moment.node == "n2:1" and moment.life]
    assert lives == [("start", "start"), ("down", "crash or stop: the node starts again later"), ("restart", "restart")]
    assert {moment.life for moment in run.moments if moment.node != "n2:1"} == {"", "start"}


def test_a_capture_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages are shown, and the wrong ones are marked, although only some of them are."""
    wrong = (A, B, b"\x03" + pair(A, "l", 2) + pair(A, "k", 1))
    path = capture(tmp_path / "c.pcapng", *ROUND, wrong, *ROUND, wrong, *ROUND)
    read: list[Path] = []
    begin = Source.__init__

    def open_counted(source: Source, path: Path) -> None:
        read.append(path)
        begin(source, path)

    monkeypatch.setattr(Source, "__init__", open_counted)

    run = run_capture(path, "scuttlebutt", excerpt=Excerpt(most=10))

    assert read == [path]
    assert [moment.problem is not None for moment in run.moments] == [*[False] * 4, True] * 2
    assert (run.verdict, run.about) == (
        "rejected",
        "only the first 10 messages are shown: continue with --from 900, or raise --most",
    )


def test_a_run_that_is_too_large_for_a_file_is_refused() -> None:
    run = Run("swim", "long", moments=[Moment(number, "a", "tick", (Note("a", "tick"),)) for number in range(5_001)])

    with pytest.raises(TooLarge, match="5,001 moments; at most 5,000"):
        run.whole()


@pytest.mark.minute
def test_of_a_long_trace_a_file_has_what_fits_and_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, page = str(tmp_path / "run.jsonl"), str(tmp_path / "page.html")
    assert main(["node", "simulate", "scuttlebutt", *["--nodes", "20", "--rounds", "100", "--trace", trace]]) == 0
    capsys.readouterr()

    assert main(["trace", "explore", trace, "--output", page]) == 0

    assert f"run.jsonl: only its first {MOST_MOMENTS:,} lines are shown (--most)" in capsys.readouterr().err


def test_the_states_up_to_a_moment_have_its_own() -> None:
    states = States()
    states.add(0, lambda: {"x": "0"})
    states.add(3, lambda: {"x": "3"})

    assert [states.until(moment).at(9) for moment in (2, 3)] == [{"x": "0"}, {"x": "3"}]


def test_texts_of_others_are_made_visible() -> None:
    run = Run("swim", "\u202eevil", moments=[Moment(0, "a\x1b", "<b>\x00", (Arrow("a\x1b", "b", "\u2066x"),))])
    run.add_state("a\x1b", lambda: {"x": "1"})

    outline = run.outline()

    assert (outline["title"], outline["nodes"], outline["cards"]) == ("\\u{202e}evil", ["a\\u{1b}", "b"], ["a\\u{1b}"])
    assert outline["moments"][0]["parts"] == [{"from": "a\\u{1b}", "to": "b", "label": "\\u{2066}x"}]
    assert [card["name"] for card in run.view(0)["nodes"]] == ["a\\u{1b}"]


@pytest.mark.slow
def test_a_finding_has_its_story_and_the_states_of_the_faulty_node() -> None:
    search = fuzz_nodes("scuttlebutt", "divergence:BD-02")
    assert search.finding is not None

    run = run_finding(specification("scuttlebutt"), search.finding)

    assert run.moments[-1].problem is not None
    assert len(run.moments) == len(search.finding.story) + 1
    assert [*run.states] == [search.finding.node]
    (card,) = run.view(len(run.moments) - 1)["nodes"]
    assert any(field["name"].startswith("store[") for field in card["fields"])


def test_a_finding_has_the_states_after_its_steps_though_timers_that_send_nothing_are_no_steps() -> None:
    spec, node = specification("scuttlebutt"), NodeId("a:1")
    call = Called(spec.COMMAND.value({"type": "update_local", "key": "k", "value": "v"}))
    fed = [Fed(Instant(0), Started()), Fed(Instant(1_000), Passed()), Fed(Instant(1_000), call)]
    story = (Told(Instant(0), Started(), node), Told(Instant(500), "heal"), Told(Instant(1_000), call, node))

    run = run_finding(spec, Finding("messages", "", node, fed=tuple(fed), config=spec.CONFIG.value({}), story=story))

    assert [run.states[node].at(moment).get("store[a:1].version") for moment in range(3)] == ["0", "0", "1"]


def test_standard_input_is_shown_as_a_file_is_compressed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = EXAMPLES["swim-crash"].read_bytes()
    pages = []

    for given in (data, gzip.compress(data)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
        assert main(["trace", "explore", "-", "--output", str(tmp_path / "page.html")]) == 0
        pages.append((tmp_path / "page.html").read_bytes())

    assert pages[0] == pages[1]
    assert b"peerproof trace check -" in pages[0]


def test_standard_input_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer forgets runs, and reads them again when they are asked for."""
    data = EXAMPLES["swim-crash"].read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(data))))

    with keep_standard_input(["-"]):
        first, again = run_traces([Path("-")]), run_traces([Path("-")])

    assert len(first.moments) == len(again.moments) > 0
