"""Exploration: the graphs that TLC finds, the same by one process and by several, at once and after an interruption."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.waiting import is_soon

from peerproof.spec import scuttlebutt
from peerproof.spec.core import Step
from peerproof.spec.model.checkpoint import BadCheckpoint
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.model.graph_digest import GraphDigest, WorldKeys
from peerproof.spec.model.shards import ProcessLost
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.tla.manifest import configurations

CONSTANTS: dict[str, Any] = {
    "Node": [1, 2],
    "Key": ["a"],
    "Value": ["x"],
    "Seeds": [1],
    "MaxVersion": 1,
    "MaxPayload": 21,
    "Roomy": [],
    "RoomyPayload": 100,
    "BigKey": [],
    "BigKeySize": 0,
    "MaxRestarts": 1,
    "Restarting": [1, 2],
    "MaxNet": 2,
    "Loss": False,
    "Duplication": True,
}


def model(**changes: Any) -> Model:
    return Model(CONSTANTS | changes)


def everything(explored: Exploration) -> tuple[Any, ...]:
    """All that can be asked of an exploration, orders and numbers included."""
    system = explored.system
    orders = list(explored.depths.items()), list(explored.parents.items())
    return *orders, explored.edges, str(explored.digest), system.states, system.messages, explored.counterexample


@pytest.fixture(scope="module")
def alone() -> Exploration:
    return explore(model(), digest=True)


def agree(cluster: Cluster) -> bool:
    own = {node: state.store[node].version for node, state in cluster.nodes.items()}
    return not all(own.values()) or any(dict(state.store).keys() != own.keys() for state in cluster.nodes.values())


def ignorant(state: Any) -> bool:
    return not (len(state.store) == 2 and all(peer.version for peer in state.store.values()))


PROPERTIES = [
    Property("OfClusters", "never do both know both, having changed", (), "cluster", agree),
    Property("OfSteps", "a step has at most two effects", (), "step", lambda taken: len(taken.effects) <= 2),
    Property("OfNodes", "nobody who has changed something knows of another's change", (), "node", ignorant),
]


@pytest.mark.parametrize("properties", [PROPERTIES[:1], PROPERTIES[1:2], PROPERTIES[2:], PROPERTIES], ids=lambda p: p[0].name)
def test_several_processes_find_the_same_shortest_counterexample(
    properties: list[Property], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)

    one, two = explore(model(), properties), explore(model(), properties, processes=2)

    assert one.counterexample is not None
    assert two.counterexample == one.counterexample
    assert len(one.counterexample.path) > 1


def test_process_that_is_killed_is_noticed() -> None:
    def kill(*_: int) -> None:
        for child in multiprocessing.active_children()[:1]:
            child.kill()

    with pytest.raises(ProcessLost, match="killed"):
        explore(model(), processes=2, progress=kill)

    assert multiprocessing.active_children() == []


def specified_by(step: Callable[..., Any], **changes: Any) -> Model:
    """The model whose nodes take other steps."""
    changed = model(**changes)
    changed.spec = SimpleNamespace(step=step)
    return changed


def test_mistake_in_the_specification_is_raised_as_it_is() -> None:
    def step(state: Any, event: Any, pick: Any) -> Any:
        if len(state.store) == 2 and not state.store["1"].pairs:
            raise ZeroDivisionError("mistaken")
        return scuttlebutt.step(state, event, pick)

    with pytest.raises(ZeroDivisionError, match="mistaken"):
        explore(specified_by(step), processes=2)


def test_mistake_in_a_property_is_told_by_the_process_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)
    mistaken = Property("Mistaken", "it cannot be said", (), "cluster", lambda cluster: 1 // agree(cluster) > 0)

    with pytest.raises(ProcessLost, match="ZeroDivisionError"):
        explore(model(), [mistaken], processes=2)


def interrupted(system: Model, checkpoint: Path, processes: int, at: int) -> None:
    """An exploration that is interrupted at this depth."""

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(system, digest=True, checkpoint=checkpoint, processes=processes, progress=interrupt)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 1), (1, 3)])
def test_exploration_goes_on_where_it_was_interrupted(alone: Exploration, tmp_path: Path, before: int, after: int) -> None:
    """With the number of processes that is asked for, and in the same order; what is finished is read and not repeated."""
    interrupted(model(), tmp_path, before, at=12)
    kept = sorted(path.name for path in tmp_path.iterdir())
    seen: list[tuple[int, int]] = []

    def explored() -> Exploration:
        def progress(_seen: int, _waiting: int, depth: int) -> None:
            seen.append((depth, len(multiprocessing.active_children())))

        return explore(model(), digest=True, checkpoint=tmp_path, processes=after, progress=progress)

    assert everything(explored()) == everything(alone)
    assert kept == [f"{level:06}.level" for level in range(12)]
    assert (seen[0][0], max(children for _, children in seen)) == (13, after if after > 1 else 0)
    assert multiprocessing.active_children() == []
    seen.clear()
    assert everything(explored()) == everything(alone)
    assert seen == []


@pytest.mark.slow
def test_exploration_that_is_killed_goes_on_to_the_same_end(alone: Exploration, tmp_path: Path) -> None:
    """By SIGKILL, at whatever moment that is, and again and again until it comes to the end."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom peerproof.spec.model.explorer import explore\n"
        "from peerproof.spec.scuttlebutt.model.bounded import Model\n"
        f"explore(Model({CONSTANTS!r}), digest=True, checkpoint=Path(sys.argv[1]), processes=2)"
    )
    kills = 0
    for levels in (3, 9, 14):
        with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) as process:
            reached = is_soon(lambda: len(list(tmp_path.glob("*.level"))) >= levels)  # noqa: B023  # called in this turn
            process.send_signal(signal.SIGKILL)
            kills += process.wait(30) == -signal.SIGKILL
        assert reached

    resumed = explore(model(), digest=True, checkpoint=tmp_path)

    assert kills
    assert everything(resumed) == everything(alone)


#: What becomes of the bytes of a level, given those of the level before it; None: the file is missing.
DAMAGES: dict[str, tuple[Callable[[bytes, bytes], bytes | None], str]] = {
    "first byte": (lambda level, _: bytes([level[0] ^ 1]) + level[1:], "000004.level: it is damaged"),
    "last byte": (lambda level, _: level[:-1] + bytes([level[-1] ^ 1]), "000004.level: it is damaged"),
    "empty": (lambda *_: b"", "000004.level: it is damaged"),
    "no object": (lambda *_: b"[]\n", "000004.level: it is damaged"),
    "truncated": (lambda level, _: level[:-8], "it is damaged"),
    "missing": (lambda *_: None, r"it is missing, but there is 000005\.level"),
    "another level": (lambda _, before: before, "does not go on"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_checkpoint_is_refused(tmp_path: Path, name: str) -> None:
    damage, problem = DAMAGES[name]
    explore(model(MaxNet=1), checkpoint=tmp_path)
    before, level = tmp_path / "000003.level", tmp_path / "000004.level"
    damaged = damage(level.read_bytes(), before.read_bytes())
    level.unlink()
    if damaged is not None:
        level.write_bytes(damaged)

    with pytest.raises(BadCheckpoint, match=f"{problem}.*to begin anew"):
        explore(model(MaxNet=1), checkpoint=tmp_path)


def first_effects(state: Any, event: Any, pick: Any) -> Any:
    """Another specification."""
    taken = scuttlebutt.step(state, event, pick)
    return Step(taken.state, taken.effects[:1])


@pytest.mark.parametrize(
    ("other", "properties", "problem"),
    [
        (model(MaxNet=2), [], "it is of another model"),
        (model(MaxNet=1, Loss=True), [], "it is of another model"),
        (model(MaxNet=1, MaxPayload=100), [], "it is of another model"),
        (model(MaxNet=1), PROPERTIES, "it is of another model"),
        (specified_by(first_effects, MaxNet=1), [], "the specification has changed"),
    ],
)
def test_checkpoint_of_something_else_is_refused(tmp_path: Path, other: Model, properties: list[Property], problem: str) -> None:
    explore(model(MaxNet=1), checkpoint=tmp_path)

    with pytest.raises(BadCheckpoint, match=problem):
        explore(other, properties, checkpoint=tmp_path)


def test_half_written_level_is_written_again(tmp_path: Path) -> None:
    explore(model(MaxNet=1), checkpoint=tmp_path)
    last = max(tmp_path.glob("*.level"))
    last.rename(last.with_suffix(".new"))

    assert explore(model(MaxNet=1), checkpoint=tmp_path).edges == explore(model(MaxNet=1)).edges
    assert last.exists()


def test_visit_sees_every_world_or_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="visit cannot be combined"):
        explore(model(), visit=lambda *_: None, processes=2)
    with pytest.raises(ValueError, match="visit cannot be combined"):
        explore(model(), visit=lambda *_: None, checkpoint=tmp_path)


def test_digest_does_not_depend_on_the_order_and_on_all_else() -> None:
    explored = explore(model(MaxNet=1), digest=True)
    system = explored.system
    keys = WorldKeys(system)
    graph = [(keys(world), [(label, keys(target)) for label, target in system.moves(world)]) for world in explored.depths]

    def digest(initial: int, graph: list[tuple[int, list[tuple[str, int]]]]) -> str:
        made = GraphDigest()
        made.begin(initial)
        for source, edges in graph:
            made.add(source, edges)
        return str(made)

    first = keys(system.initial())
    source, edges = graph[0]
    (label, target), *others = edges
    assert digest(first, graph) == digest(first, [(s, e[::-1]) for s, e in reversed(graph)]) == str(explored.digest)
    changed = [
        digest(target, graph),
        digest(first, graph[1:]),
        digest(first, [*graph, graph[0]]),
        digest(first, [(source, [(label + "x", target), *others]), *graph[1:]]),
        digest(first, [(source, [(label, target + 1), *others]), *graph[1:]]),
        digest(first, [(source, [(label, target), *edges]), *graph[1:]]),
        digest(first, [(source, others), *graph[1:]]),
    ]
    assert len({*changed, str(explored.digest)}) == len(changed) + 1


#: Those of DistKV and Peter are in `tests/conformance/models`.
GRAPHS = [("scuttlebutt", "tiny")] + [
    ("wendy", name)
    for name, configuration in configurations("wendy").items()
    if "digest" in configuration.expected and name.startswith(("tiny", "small"))
]

#: Of each protocol one in which nearly everything happens; Peter's messages are in order or not.
SHARED = [
    ("wendy", "small-crash"),
    ("peter", "small-churn"),
    ("peter", "small-bag"),
    ("distkv", "small-split"),
    ("swim", "small-restart"),
]


def model_of(protocol: str, name: str) -> Model:
    found: Model = PROTOCOLS[protocol].bounded.load().Model(configurations(protocol)[name].constants)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), GRAPHS)
def test_graph_is_the_one_that_is_written_down(protocol: str, name: str) -> None:
    found = explore(model_of(protocol, name), digest=True)

    counts = {"distinct": len(found.depths), "generated": found.edges.total() + 1, "depth": max(found.depths.values()) + 1}
    assert {**counts, "digest": str(found.digest)}.items() <= configurations(protocol)[name].expected.items()


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), SHARED)
def test_graph_is_the_same_by_several_processes_and_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, name: str
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)

    interrupted(model_of(protocol, name), tmp_path, 2, at=4)
    resumed = explore(model_of(protocol, name), digest=True, checkpoint=tmp_path, processes=2)

    assert len(resumed.depths) > 500
    assert everything(resumed) == everything(explore(model_of(protocol, name), digest=True))
