"""Two state graphs are the same, and it is noticed if they are not, whichever side was changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.graphs import compared

from peerproof.conformance.models.difference_diagram import draw_difference
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Send, Step
from peerproof.spec.scuttlebutt.messages import Delta, DigestEntry, DigestResponse
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.tla.manifest import models, root
from peerproof.tla.output.dot import BadDump
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

pytestmark = pytest.mark.slow  # runs TLC, and so needs Java

TINY = next(model for model in models("scuttlebutt") if model.name == "tiny")


def dumped(folder: Path, module: Path | None = None) -> Path:
    dump = folder / "graph.dot"
    run(
        find(),
        Run(
            module=module or TINY.module_path,
            configuration=TINY.cfg(),
            library=(root(), TINY.module_path.parent),
            dump=dump,
            brief=True,
        ),
    )
    return dump


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dumped(tmp_path_factory.mktemp("tlc"))


def changed(change: Any) -> Model:
    """The tiny world with a specification in which `change` has the last word on each step."""

    def step(state: Any, event: Any, pick: Any) -> Any:
        return change(state, scuttlebutt.step(state, event, pick))

    model = Model(TINY.configuration.constants)
    model.spec = SimpleNamespace(
        initial=scuttlebutt.initial, step=step, MESSAGE=scuttlebutt.MESSAGE
    )  # all that a world and its pictures need of it
    return model


def test_graphs_of_the_module_and_of_the_specification_are_equal_and_what_is_written_down(graph: Path) -> None:
    comparison, exploration = compared(graph, Model(TINY.configuration.constants))

    assert comparison.equal
    assert str(comparison.digest) == str(exploration.digest) == TINY.configuration.expected["digest"]
    assert comparison.states == len(exploration.depths)
    assert comparison.edges == sum(exploration.edges.values())


def without_empty_deltas(_: Any, taken: Any) -> Any:
    return Step(taken.state, tuple(e for e in taken.effects if not (isinstance(e, Send) and e.message == Delta(()))))


def with_a_version_too_high(_: Any, taken: Any) -> Any:
    def raised(effect: Any) -> Any:
        if isinstance(effect, Send) and isinstance(effect.message, DigestResponse):
            entries = tuple(DigestEntry(addr, version + 1) for addr, version in effect.message.entries)
            return Send(effect.to, DigestResponse(entries))
        return effect

    return Step(taken.state, tuple(raised(effect) for effect in taken.effects))


def nothing_learnt(before: Any, taken: Any) -> Any:
    return taken if before.store[before.self_id] != taken.state.store[before.self_id] else Step(before, taken.effects)


@pytest.mark.parametrize(
    ("change", "number", "tla", "python"),
    [
        (without_empty_deltas, 2, {"sent to node 2: delta []"}, set()),
        (with_a_version_too_high, 3, {"sent to node 2: digest_response [2 0]"}, {"sent to node 2: digest_response [2 1]"}),
        (nothing_learnt, 2, {"store[2] = {pairs: {}, version: 0}"}, set()),
    ],
)
def test_bug_in_the_specification_is_found_with_a_shortest_way_to_it_and_the_step_of_each_side(
    graph: Path, change: Any, number: int, tla: set[str], python: set[str]
) -> None:
    comparison, exploration = compared(graph, changed(change))

    assert not comparison.equal
    drawn = "\n".join(draw_difference(exploration, comparison.nearest))
    path, in_tla, in_python = re.split(rf" {number}\. Receive, in (?:TLA\+|Python) only:\n", drawn)
    steps = [set(re.findall(r"^node \d  \.         (.*)$", side, re.MULTILINE)) for side in (in_tla, in_python)]
    assert re.findall(r"  (\d+)\. ", path) == [str(step) for step in range(1, number)]
    assert (steps[0] - steps[1], steps[1] - steps[0]) == (tla, python)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("entry[4] > PairVersion(", "entry[4] < PairVersion("),
        ("version == record.version + 1", "version == record.version + 0"),
        ("wanted # <<>>", "wanted = <<>>"),
        (".version > digest[i][2]}", ".version < digest[i][2]}"),
    ],
)
def test_one_character_wrong_in_the_module_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    text = (TINY.module_path.parent / "Scuttlebutt.tla").read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "Scuttlebutt.tla").write_text(text.replace(right, wrong), encoding="utf-8")
    module = tmp_path / TINY.module_path.name
    module.write_bytes(TINY.module_path.read_bytes())
    comparison, _ = compared(dumped(tmp_path, module), Model(TINY.configuration.constants))

    assert not comparison.equal


def test_dump_of_another_configuration_is_not_equal(graph: Path) -> None:
    comparison, _ = compared(graph, Model({**TINY.configuration.constants, "MaxPayload": 12}))

    assert not comparison.equal


def without(text: str, is_edge: bool) -> str:
    """A dump without its first edge, or the first state after the initial one."""
    lines = text.splitlines(keepends=True)
    lines.remove(next(line for line in lines[10:] if (" -> " in line) is is_edge))
    return "".join(lines)


def with_a_state_twice(text: str) -> str:
    first = next(line for line in text.splitlines() if line.endswith("style = filled]"))
    return text.replace(first, f"{first}\n{first}")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda text: text[: len(text) // 2], "the file ends within a line|is not a state of the file|no state"),
        (lambda text: without(text, is_edge=False), "is not a state of the file"),
        (with_a_state_twice, "there twice"),
        (lambda text: text.replace("restarts = ", "crashes = "), "no variable 'restarts'"),
    ],
    ids=["cut", "without a state", "with a state twice", "of another module"],
)
def test_spoilt_dump_is_no_verdict(graph: Path, tmp_path: Path, spoil: Callable[[str], str], problem: str) -> None:
    (tmp_path / "spoilt.dot").write_text(spoil(graph.read_text(encoding="utf-8")), encoding="utf-8")

    with pytest.raises(BadDump, match=problem):
        compared(tmp_path / "spoilt.dot", Model(TINY.configuration.constants))


def test_each_of_the_edges_that_one_side_lacks_is_counted(graph: Path, tmp_path: Path) -> None:
    """Those with the same ends and the same label, too."""
    text = graph.read_text(encoding="utf-8")
    edges = Counter(line for line in text.splitlines(keepends=True) if " -> " in line)
    ((edge, times),) = edges.most_common(1)
    assert times > 1

    for spoilt, counts in ((text.replace(edge, ""), (0, times)), (text.replace(edge, edge * 2), (times, 0))):
        (tmp_path / "spoilt.dot").write_text(spoilt, encoding="utf-8")
        comparison, _ = compared(tmp_path / "spoilt.dot", Model(TINY.configuration.constants))

        assert (comparison.only_tla, comparison.only_python) == counts


def test_dump_without_an_edge_is_not_equal(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "without.dot").write_text(without(graph.read_text(encoding="utf-8"), is_edge=True), encoding="utf-8")

    comparison, exploration = compared(tmp_path / "without.dot", Model(TINY.configuration.constants))

    assert (comparison.only_tla, comparison.only_python) == (0, 1)
    assert str(comparison.digest) != str(exploration.digest)


def test_full_disk_is_no_verdict(tmp_path: Path) -> None:
    """TLC does not notice: it says that all is well, and the dump ends where there was no more room."""
    tools = find()
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\nulimit -f 64\nexec {tools.java} "$@"\n', encoding="utf-8")
    java.chmod(0o755)
    dump = tmp_path / "graph.dot"
    what = Run(module=TINY.module_path, configuration=TINY.cfg(checks=False), library=(root(),), dump=dump, brief=True)

    result = run(replace(tools, java=str(java)), what)

    assert result.distinct == TINY.configuration.expected["distinct"]
    with pytest.raises(BadDump, match="the file ends within a line; check whether the disk is full"):
        compared(dump, Model(TINY.configuration.constants))
