"""The simulator: one seed, one run; what Scuttlebutt promises holds in it; and it forgets the past."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.reference.simulation.campaigns import simulated

from peerproof.reference.runtime.driver import random_pick
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation import simulator
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Checker, Simulation
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Duration, Instant, NodeId, Pick, SetTimer, Step
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import Config, Detector, UpdateLocal
from peerproof.spec.traces.trace import parse, replay

HOSTILE = Faults(loss=0.2, duplication=0.1, reordering=0.2, most_delay=Duration(300))

EVERYTHING: dict[str, Any] = {
    "config": {"max_payload": 80},
    "faults": HOSTILE,
    "partition": (5, 12),
    "crashes": ((1, 15),),
    "restarts": ((1, 20),),
}


def cluster(seed: str, faults: Faults | None = None, *, nodes: int = 5, **options: Any) -> tuple[Simulation, list[NodeId]]:
    """Nodes that all know the first, with a pair each."""
    simulation = Simulation(scuttlebutt, seed, faults, **options)
    ids = [NodeId(f"n{number}:1") for number in range(nodes)]
    for node in ids:
        simulation.start(node, Config(seeds=(ids[0],)))
        simulation.ask(node, UpdateLocal("name", node))
    return simulation, ids


def trace(nodes: int = 6, rounds: int = 40, seed: str = "42", **plan: Any) -> list[str]:
    return simulated("scuttlebutt", nodes, rounds, seed, **plan)[1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_under_every_hash_seed(tmp_path: Path) -> None:
    options = "--nodes 6 --rounds 30 --seed 42 --loss 0.2 --duplication 0.1 --reordering 0.2 --partition 5-12 --crash 1@15"
    options += " --restart 1@20"

    command = [sys.executable, "-m", "peerproof.cli.main", "node", "simulate", "scuttlebutt", *options.split(), "--trace"]
    for seed in ("1", "4711"):
        subprocess.run([*command, tmp_path / seed], env={**os.environ, "PYTHONHASHSEED": seed}, check=True)

    traces = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len(traces) == 2
    assert len(set(traces)) == 1
    assert traces[0].count(b"\n") > 400


def test_another_seed_gives_another_run() -> None:
    assert trace(3, 3, "1") == trace(3, 3, "1") != trace(3, 3, "2")


def test_watching_a_run_does_not_change_it() -> None:
    plain, checked = (simulated("scuttlebutt", 4, 20, "9", faults=HOSTILE, check_every=every)[0] for every in (None, 1))

    assert (plain.steps, plain.sent, plain.lost) == (checked.steps, checked.sent, checked.lost)


def test_the_trace_of_a_run_with_every_fault_replays_without_divergence() -> None:
    lines = [parse(line) for line in trace(**EVERYTHING)]

    assert list(replay(scuttlebutt, lines)) == []
    assert len(lines) > 500
    assert {line.kind for line in lines} == {"start", "recv", "timer", "api"}
    assert [line.kind for line in lines].count("start") == 6 + 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
@pytest.mark.parametrize("max_payload", [40, 1400])
def test_nodes_agree_in_the_end_whatever_the_network_does_and_no_property_is_violated(seed: str, max_payload: int) -> None:
    plan = {"faults": HOSTILE, "partition": (10, 40), "check_every": 1}

    result, _ = simulated("scuttlebutt", 5, 100, seed, config={"max_payload": max_payload}, **plan)

    assert result.violations == ()
    assert result.never_seen == ()
    assert result.reached["ViewsEqual"] is not None
    assert min(result.lost, result.duplicated, result.cut_off) > 0


def test_a_goal_is_reached_when_it_holds_from_then_on() -> None:
    """Until a partition that separates changes from round 10 to 30, and after it."""
    plan: dict[str, Any] = {"updates": 2, "partition": (10, 30), "check_every": 1}

    results = [simulated("scuttlebutt", 3, rounds, "1", **plan)[0] for rounds in (15, 25, 40)]

    assert [result.reached["ViewsEqual"] for result in results] == [9, None, 31]


@pytest.mark.parametrize("moment", [4, 5])
def test_a_node_that_starts_late_may_restart_from_then_on(moment: int) -> None:
    lines = [parse(line) for line in trace(3, 8, apart=2, restarts=((2, moment),))]

    assert [line.kind for line in lines if line.node == "n2:1"].count("start") == 2


def test_churn_starts_no_node_before_its_time() -> None:
    """The last node starts in round 9; churn crashes and restarts nodes from round 5 on."""
    lines = [parse(line) for line in trace(4, 10, apart=3, churn=1.0)]

    assert next((line.kind, line.t_us) for line in lines if line.node == "n3:1") == ("start", 9_000_000)


def test_the_checker_sees_what_a_restart_breaks() -> None:
    """An owner that has lost its store is behind what others know of it (BX-03)."""
    simulation, ids = cluster("r", nodes=3)
    checker = Checker(simulation)
    simulation.run(Instant(10_000))
    assert checker.violations == {}

    simulation.restart(ids[1])
    simulation.run(Instant(12_000))

    assert "OwnerDominates" in checker.violations


class _Forgetful:
    """Scuttlebutt, but for its round, which forgets everybody."""

    def __getattr__(self, name: str) -> Any:
        return getattr(scuttlebutt, name)

    def step(self, state: Any, event: Any, pick: Any) -> Any:
        taken = scuttlebutt.step(state, event, pick)
        if any(isinstance(effect, SetTimer) for effect in taken.effects):
            return Step(scuttlebutt.initial(state.self_id, state.config).state, taken.effects)
        return taken


def test_the_checker_names_the_step_and_the_instant_of_the_first_violation() -> None:
    simulation = Simulation(_Forgetful(), "f")
    checker = Checker(simulation)
    simulation.start(NodeId("a:1"), Config())
    simulation.ask(NodeId("a:1"), UpdateLocal("k", "v"))

    simulation.run(Instant(5000))
    simulation.ask(NodeId("a:1"), UpdateLocal("k", "v"))
    simulation.run(Instant(9000))  # violated again

    assert checker.violations["Monotone"].node == "a:1"
    assert checker.violations["Monotone"].at == 1000


def test_a_timer_set_again_in_the_instant_in_which_it_was_due_still_runs_out() -> None:
    class _Twice:
        NAME, PROPERTIES = "twice", ()

        def initial(self, *_: Any) -> Any:
            return Step(0, (SetTimer("a", Duration(10)), SetTimer("b", Duration(10))))

        def step(self, state: int, *_: Any) -> Any:
            return Step(state + 1, (SetTimer("a", Duration(0)),) if state < 3 else ())

    simulation = Simulation(_Twice(), "t")  # type: ignore[arg-type]  # what a simulation needs of one
    simulation.start(NodeId("a:1"), None)

    simulation.run(Instant(10))

    assert simulation.steps == 4


@pytest.mark.slow
def test_memory_does_not_grow_with_time() -> None:
    simulation = Simulation(scuttlebutt, "m", Faults(loss=0.1, duplication=0.1))
    ids = [NodeId(f"n{number}:1") for number in range(8)]
    for node in ids:
        simulation.start(node, Config(seeds=(ids[0],), detector=Detector(window=10)))
    simulation.run(Instant(200_000))  # by now every window of the failure detectors is full
    gc.collect()
    before = sys.getallocatedblocks()

    simulation.run(Instant(400_000))

    gc.collect()
    assert sys.getallocatedblocks() < before * 1.02


def test_the_recorder_numbers_a_restarted_node_on() -> None:
    lines: list[str] = []
    simulation, ids = cluster("n", nodes=2, recorder=Recorder(scuttlebutt, "r", lines.append))
    simulation.at(Instant(3000), partial(simulation.restart, ids[0]))

    simulation.run(Instant(6000))

    numbers = [line.seq for line in map(parse, lines) if line.node == ids[0]]
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_chosen_from_is_in_order(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run follows from its seed, because no choice depends on the order of a set; of a tuple, no driver makes sure."""
    tuples = []

    def strict_pick(seed: str) -> Pick:
        right = random_pick(seed)

        def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
            if isinstance(among, tuple):
                tuples.append(why)
                assert sorted(among) == list(among), why
            return right(why, among, some)

        return pick

    monkeypatch.setattr(simulator, "random_pick", strict_pick)
    simulated(protocol, 5, 8, "order")
    assert tuples or protocol != "swim"
