"""Exploration: the graphs that TLC finds, the same by one process and by several, at once and after an interruption."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_find_the_same_in_the_same_order(alone: Exploration, processes: int) -> None:
    seen: list[int] = []
    together = explore(
        model(), digest=True, processes=processes, progress=lambda *_: seen.append(len(multiprocessing.active_children()))
    )

    assert everything(together) == everything(alone)
    assert max(seen) == processes
    assert multiprocessing.active_children() == []


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


def test_mistake_in_the_specification_is_raised_as_it_is() -> None:
    def step(state: Any, event: Any, pick: Any) -> Any:
        if len(state.store) == 2 and not state.store["1"].pairs:
            raise ZeroDivisionError("mistaken")
        return scuttlebutt.step(state, event, pick)

    mistaken = model()
    mistaken.spec = SimpleNamespace(step=step)

    with pytest.raises(ZeroDivisionError, match="mistaken"):
        explore(mistaken, processes=2)


def test_mistake_in_a_property_is_told_by_the_process_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)
    mistaken = Property("Mistaken", "it cannot be said", (), "cluster", lambda cluster: 1 // agree(cluster) > 0)

    with pytest.raises(ProcessLost, match="ZeroDivisionError"):
        explore(model(), [mistaken], processes=2)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 1), (1, 2)])
def test_exploration_goes_on_where_it_was_interrupted(alone: Exploration, tmp_path: Path, before: int, after: int) -> None:
    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(model(), digest=True, checkpoint=tmp_path, processes=before, progress=interrupt)
    kept = sorted(path.name for path in tmp_path.iterdir())
    depths: list[int] = []
    resumed = explore(model(), digest=True, checkpoint=tmp_path, processes=after, progress=lambda *told: depths.append(told[2]))

    assert kept == [f"{level:06}.level" for level in range(12)]
    assert depths[0] == 13
    assert everything(resumed) == everything(alone)


def test_finished_exploration_is_read_and_not_repeated(alone: Exploration, tmp_path: Path) -> None:
    explore(model(), digest=True, checkpoint=tmp_path)
    expanded: list[int] = []

    again = explore(model(), digest=True, checkpoint=tmp_path, progress=lambda *told: expanded.append(told[0]))

    assert expanded == []
    assert everything(again) == everything(alone)


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
            reached = _soon(lambda: len(list(tmp_path.glob("*.level"))) >= levels)  # noqa: B023  # called in this turn
            process.send_signal(signal.SIGKILL)
            kills += process.wait(30) == -signal.SIGKILL
        assert reached

    resumed = explore(model(), digest=True, checkpoint=tmp_path)

    assert kills
    assert everything(resumed) == everything(alone)


def damaged(at: int) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        path = folder / "000004.level"
        octets = bytearray(path.read_bytes())
        octets[at] ^= 1
        path.write_bytes(octets)

    return damage


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        pytest.param(damaged(0), "000004.level: it is damaged", id="first byte"),
        pytest.param(damaged(-1), "000004.level: it is damaged", id="last byte"),
        pytest.param(lambda f: (f / "000004.level").write_bytes(b""), "000004.level: it is damaged", id="empty"),
        pytest.param(lambda f: (f / "000004.level").write_text("[]\n"), "000004.level: it is damaged", id="no object"),
        pytest.param(
            lambda f: (f / "000004.level").write_bytes((f / "000004.level").read_bytes()[:-8]), "it is damaged", id="truncated"
        ),
        pytest.param(lambda f: (f / "000004.level").unlink(), r"it is missing, but there is 000005\.level", id="missing"),
        pytest.param(
            lambda f: (f / "000004.level").write_bytes((f / "000003.level").read_bytes()), "does not go on", id="another level"
        ),
    ],
)
def test_damaged_checkpoint_is_refused(tmp_path: Path, damage: Callable[[Path], object], problem: str) -> None:
    explore(model(MaxNet=1), checkpoint=tmp_path)
    damage(tmp_path)

    with pytest.raises(BadCheckpoint, match=f"{problem}.*to begin anew"):
        explore(model(MaxNet=1), checkpoint=tmp_path)


def test_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    explore(model(MaxNet=1), checkpoint=tmp_path)

    for other in ({"MaxNet": 2}, {"MaxNet": 1, "Loss": True}, {"MaxNet": 1, "MaxPayload": 100}):
        with pytest.raises(BadCheckpoint, match="it is of another model"):
            explore(model(**other), checkpoint=tmp_path)
    with pytest.raises(BadCheckpoint, match="it is of another model"):
        explore(model(MaxNet=1), PROPERTIES, checkpoint=tmp_path)


def test_checkpoint_of_another_specification_is_refused(tmp_path: Path) -> None:
    def step(state: Any, event: Any, pick: Any) -> Any:
        taken = scuttlebutt.step(state, event, pick)
        return Step(taken.state, taken.effects[:1])

    explore(model(MaxNet=1), checkpoint=tmp_path)
    changed = model(MaxNet=1)
    changed.spec = SimpleNamespace(step=step)

    with pytest.raises(BadCheckpoint, match="the specification has changed"):
        explore(changed, checkpoint=tmp_path)


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

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(model_of(protocol, name), digest=True, checkpoint=tmp_path, processes=2, progress=interrupt)
    resumed = explore(model_of(protocol, name), digest=True, checkpoint=tmp_path, processes=2)

    assert len(resumed.depths) > 500
    assert everything(resumed) == everything(explore(model_of(protocol, name), digest=True))


def _soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True
