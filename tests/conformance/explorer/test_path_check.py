"""A path of a model is a vector that the specification passes, and on which a wrong implementation differs at its wrong step."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.explorer.path_check import check_path, path_vector
from peerproof.conformance.explorer.serve import create_reference
from peerproof.conformance.explorer.walk import Walk, explorable
from peerproof.conformance.models.counterexample_vectors import NothingSeen, OutOfTime
from peerproof.conformance.vectors.suite import load
from peerproof.spec.protocols import PROTOCOLS


def strolled(walk: Walk, seed: object, steps: int) -> list[str]:
    """A path that takes moves at random."""
    path, chance = list[str](), Random(str(seed))
    for _ in range(steps):
        if moves := sorted(walk.moves(walk.follow(path)[-1][1])):
            path.append(chance.choice(moves))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_specification_passes_every_path(protocol: str) -> None:
    """As any node, in every seventh model, on a path at random; a few paths are impossible by the clock."""
    verdicts: Counter[str] = Counter()
    for name in [*explorable(protocol)][::7]:
        walk = Walk(protocol, name)
        path = strolled(walk, name, 6)
        for node in walk.names:
            try:
                verdicts[str(check_path(walk, path, node, create_reference)["verdict"])] += 1
            except (NothingSeen, OutOfTime) as error:
                verdicts[type(error).__name__] += 1

    assert verdicts["passed"] > 0
    assert set(verdicts) <= {"passed", "NothingSeen", "OutOfTime"}


@pytest.mark.parametrize(
    ("model", "divergence"),
    [
        ("scuttlebutt/small-a", "BD-02"),
        ("swim/small-suspicion", "SD-01"),
        ("wendy/small-crash", "WD-09"),
        ("distkv/small-conflict-1", "DD-01"),
    ],
)
def test_a_wrong_implementation_differs_at_its_wrong_steps(model: str, divergence: str) -> None:
    """Some of its steps are as specified; each problem says what was expected."""
    walk = Walk(*model.split("/"))
    found = []
    for seed in range(8):
        path = strolled(walk, seed, 9)
        for node in walk.names:
            with suppress(NothingSeen, OutOfTime):
                check = check_path(walk, path, node, lambda: create_adapter(f"divergence:{divergence}"))
                found += [check] if check["verdict"] == "failed" else []

    problems = [problem for check in found for problem in check["steps"].values()]
    assert None in problems
    assert {problem["verdict"] for problem in problems if problem} == {"failed"}
    assert all(problem["expected"] != problem["actual"] and problem["clauses"] for problem in problems if problem)


def test_an_implementation_that_ends_has_no_steps_afterwards() -> None:
    walk = Walk("scuttlebutt", "small-a")
    path = next(path for seed in range(30) if (path := strolled(walk, seed, 9)) and _crashes(walk, path))

    check = _as_first(walk, path)

    last = max(map(int, check["steps"]))
    assert "the implementation ended" in check["steps"][str(last)]["what"]
    assert last < len(path) - 1


def _crashes(walk: Walk, path: list[str]) -> bool:
    try:
        check = _as_first(walk, path)
    except (NothingSeen, OutOfTime):
        return False
    return check["verdict"] == "crashed" and max(map(int, check["steps"])) < len(path) - 1


def _as_first(walk: Walk, path: list[str]) -> dict[str, Any]:
    """What an implementation that fails at a peer without a record does as the first node."""
    node = walk.names[0]
    return check_path(walk, path, node, lambda: create_adapter("divergence:BD-16"))


def test_a_path_is_kept_as_a_vector_that_the_suite_reads(tmp_path: Path) -> None:
    walk = Walk("swim", "small-suspicion")
    path = walk.way_to_state("table[2].status", "suspicious", "node 1")
    assert path is not None

    vector, text = path_vector(walk, path, "node 1")

    place = tmp_path / "swim" / "exchange" / "path.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")
    (read,) = load(tmp_path).vectors
    assert (read.id, read.level, read.clauses) == (vector.vector["id"], "must", tuple(vector.vector["clauses"]))
    assert "S-43" in read.clauses
    with pytest.raises(NothingSeen):
        path_vector(walk, [], "node 1")
