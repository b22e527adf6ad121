"""Vectors made from state graphs, run: who can be judged by them, how, and what they catch."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import failed, known, path_of, suite
from tests.support.implementations import AlwaysTheFirst, DrawsByItself, NotLoading
from tests.support.model_scores import judged, score
from tests.support.model_tables import of
from tests.support.numbered import argv

from peerproof.cli.main import main
from peerproof.conformance.adapter.implementation import program
from peerproof.conformance.runner.result import Result
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.harness.harness import Harness
from peerproof.spec.protocols import PROTOCOLS

REFERENCE: Final = "py:peerproof.reference.harness.harness:Harness"


def py(variant: type[Harness]) -> str:
    return f"py:{path_of(variant)}"


@pytest.mark.slow
def test_an_implementation_that_draws_itself_is_judged_by_all_that_it_may_draw() -> None:
    results = judged(py(DrawsByItself), [*of("tiny"), *of("small-c")])
    reasons = Counter(result.reason for result in results if result.status == "skipped")

    assert Counter(result.status for result in results) == {"passed": len(results) - reasons.total(), "skipped": reasons.total()}
    assert set(reasons) == {"the implementation does not offer choices.oracle"}
    assert not [result.id for result in results if "-path-" in result.id and result.status == "skipped"]


@pytest.mark.slow
def test_of_what_may_be_drawn_one_vector_judges_who_draws_itself_by_all_that_may_come_of_it() -> None:
    vectors = {vector.id: vector for vector in of("small-a", "step", "swim")}
    results = judged(py(DrawsByItself), vectors.values())

    skipped = [vectors[result.id].body for result in results if result.status == "skipped"]
    passed = [vectors[result.id].body for result in results if result.status == "passed"]
    with_draws = [what_happens(body) for body in passed if "any_of" in body["steps"][-1]["expect"]]
    assert len(skipped) + len(passed) == len(results)
    assert skipped
    assert {what_happens(body) for body in skipped} == set(with_draws)
    assert len(with_draws) == len(set(with_draws))


def what_happens(body: Any) -> str:
    """The state and the event of a step, without its draws."""
    fed = {name: value for name, value in body["steps"][0].items() if name != "picks"}
    return json.dumps([body["nodes"]["node"], fed], sort_keys=True)


@pytest.mark.slow
def test_an_implementation_that_draws_itself_walks_paths_as_far_as_nothing_follows_from_a_draw() -> None:
    results = judged(py(DrawsByItself), of("small-a", "path", "swim"))

    assert Counter(result.status for result in results).keys() == {"passed", "skipped"}
    assert all("choices.oracle" in _vector(result).needs for result in results if result.status == "skipped")


@pytest.mark.parametrize(
    ("protocol", "tables", "statuses"),
    [
        ("scuttlebutt", {"small-c": ""}, {"small-c-step": "skipped", "small-c-refusal": "skipped", "small-c-path": "passed"}),
        pytest.param(  # nodes that begin as fresh ones, and others
            "swim",
            {"tiny": "path", "small-suspicion": "path"},
            {"tiny-path": "passed", "small-suspicion-path": "skipped"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_implementation_that_cannot_be_loaded_walks_the_paths_and_the_rest_says_why_not(
    protocol: str, tables: dict[str, str], statuses: dict[str, str]
) -> None:
    results = judged(py(NotLoading), [vector for name, kind in tables.items() for vector in of(name, kind, protocol)])

    kinds = {(result.id.partition("/model/")[2].rpartition("-")[0], result.status) for result in results}
    assert kinds == set(statuses.items())
    assert {r.reason for r in results} == {None, "the implementation does not offer state.load"}


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), [("scuttlebutt", "small-c"), ("swim", "small-a")])
def test_who_claims_to_be_told_what_to_draw_must_draw_that(protocol: str, name: str) -> None:
    results = judged(py(AlwaysTheFirst), of(name, "step", protocol))

    assert {result.status for result in results} == {"passed", "failed"}
    assert all(result.status == "passed" for result in results if "choices.oracle" not in _vector(result).needs)


def test_cases_of_a_model_are_asked_together_and_each_is_answered_its_own_questions() -> None:
    lines: list[tuple[str, str]] = []
    adapter = program(argv("good"), Timeouts(op=30), suite().version, lambda *line: lines.append(line))

    results = judged(adapter, [*of("small-c", "step"), *of("small-c", "path")])

    requests = sum(len(json.loads(line).get("items", [0])) for direction, line in lines if direction == ">")
    assert {result.status for result in results} == {"passed"}
    assert requests > 1000
    assert sum('"op":"batch"' in line for _, line in lines) < requests / 20


def test_an_adapter_whose_batch_is_for_the_codec_only_is_asked_one_by_one() -> None:
    lines: list[tuple[str, str]] = []
    adapter = program(argv("codec-batch"), Timeouts(op=30), suite().version, lambda *line: lines.append(line))

    results = judged(adapter, of("small-c", "step")[:40])

    assert {result.status for result in results} == {"passed"}
    assert sum('"op":"batch"' in line for _, line in lines) == 1


@pytest.mark.slow
def test_a_question_in_a_batch_that_is_for_no_item_is_the_adapters_mistake() -> None:
    round_step = next(vector for vector in of("small-c", "step") if "picks" in vector.body["steps"][0])
    adapter = program(argv("wrong-question"), Timeouts(op=30), suite().version)

    (result, _) = judged(adapter, [round_step, of("small-c", "step")[0]])

    assert (result.status, result.failure) == ("failed", "garbled")
    assert "a choice is an object with" in str(result.reason)


@pytest.mark.slow
def test_who_dies_in_a_pack_is_found_and_nobody_else_is_blamed() -> None:
    """Every case that feeds the datagram dies of it, and only those."""
    vectors = of("small-c", "step")[:60]
    fed = Counter(vector.body["steps"][0].get("send", {}).get("bytes") for vector in vectors)
    datagram = next(digits for digits, count in fed.items() if digits and 1 < count < 5)
    adapter = program(argv("die", f'"bytes":"{datagram}"'), Timeouts(op=30), suite().version)

    results = judged(adapter, vectors)

    feeding = {vector.id for vector in vectors if vector.body["steps"][0].get("send", {}).get("bytes") == datagram}
    assert len(feeding) == fed[datagram]
    assert {result.id for result in results if result.status == "crashed"} == feeding
    assert {result.status for result in results if result.id not in feeding} == {"passed"}
    assert all(result.confirmed for result in results if result.status == "crashed")


def test_a_failure_says_what_happened_and_how_to_see_it_again(capsys: Capture) -> None:
    implementation = "divergence:BD-02"

    assert main(["run", "--impl", implementation, "-k", "tiny-step", "--fail-fast"]) == 1

    text = capsys.readouterr().out
    failed = next(line.split()[1] for line in text.splitlines() if line.startswith("FAILED "))
    assert re.search(r"^  in state \d+ of the model tiny, node \S+ reacts as specified to ", text, re.MULTILINE)
    assert "first difference: steps[1].messages" in text
    assert f"again:   peerproof vectors replay {failed} --impl {implementation}" in text
    assert main(["vectors", "replay", failed, "--impl", implementation]) == 1
    assert '"op":"load"' in capsys.readouterr().out


def test_a_vector_of_a_table_is_shown_as_it_would_be_written(capsys: Capture) -> None:
    vector = of("small-b", "path")[3]

    assert main(["vectors", "show", vector.id]) == 0
    text = capsys.readouterr().out
    assert f"vectors/scuttlebutt/model/small-b.json:{vector.line}\n" in text
    assert f"- id: {vector.id}\n" in text
    assert "  model: {config: small-b, path: [" in text
    assert text.count('\n  - {"') == len(vector.body["steps"])


def test_the_line_of_a_vector_is_its_row() -> None:
    for kind, member in (("step", "steps"), ("refusal", "refusals"), ("path", "walks")):
        vector = of("small-c", kind)[4]
        lines = suite().path(vector).read_text(encoding="utf-8").splitlines()
        rows = json.loads("\n".join(lines))[member]

        assert json.loads(lines[vector.line - 1].rstrip(",")) == rows[4]


def test_a_vector_of_a_table_can_be_selected_by_what_it_is_about(capsys: Capture) -> None:
    assert main(["vectors", "list", "-k", "layer:model need:restart clause:B-08 small-b-step", "--format", "ids"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 24


def _vector(result: Result) -> Vector:
    return next(vector for vector in suite().vectors if vector.id == result.vector)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_vectors_from_state_graphs_alone_find_out_most_mistakes_that_the_models_can_see(
    protocol: str, record_property: Any
) -> None:
    mistakes, _, at_least = score(protocol)
    variants = {variant.__name__: variant for variant in mistakes.variants}
    vectors = {vector.id: vector for vector in suite().vectors}
    found_out = known("vector of a model", protocol)

    assert found_out.keys() <= variants.keys()
    for name, by in found_out.items():
        assert by in vectors, "python -m tests.support.caught finds out by which vectors mistakes are found out now"
        assert failed(path_of(variants[name]), [vectors[by]]) == {by}, name

    missed = sorted(variants.keys() - found_out.keys())
    record_property("missed", f"{len(missed)} of {len(variants)}: {', '.join(missed)}")
    assert len(found_out) >= at_least, missed
