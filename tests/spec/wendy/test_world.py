"""The bounded world of Wendy: connections, bounds, and the same however it is explored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.wendy.model.bounded import Model
from peerproof.spec.wendy.state import Stage

CONSTANTS: dict[str, Any] = {
    "Node": [0, 2, 4],
    "Digits": 2,
    "DigitBits": 2,
    "LeafSide": 1,
    "Neighborhood": 1,
    "TwoSided": False,
    "Start": "stable",
    "Founders": [0],
    "Todo": [[2, "join", 0]],
    "Acquainted": True,
    "Score": [],
    "Flush": False,
    "Heartbeats": [],
    "MaxNet": 8,
    "MaxVersion": 6,
    "MaxRestarts": 0,
    "Restarting": [],
}


def explored(**changes: Any) -> Exploration:
    return explore(Model(CONSTANTS | changes), digest=True)


def run(found: Exploration, *labels: str) -> list[tuple[dict[str, Any], list[Any]]]:
    """The nodes' values by variable, and the messages, along the first way with these labels."""
    system, world, seen = found.system, found.system.initial(), []
    for label in labels:
        world = next(target for name, target in system.moves(world) if name == label)
        cluster, model = system.cluster(world), system.model
        nodes = zip(*(model.node_values(state) for state in cluster.nodes.values()), strict=True)
        messages = [model.message_value(message) for message in cluster.in_flight]
        seen.append((dict(zip(model.node_variables, nodes, strict=True)), messages))
    return seen


def test_join_by_itself() -> None:
    found = explored()

    *_, (nodes, messages) = run(found, "Command", "Receive", "Receive", "Announce", "Receive")

    assert not messages
    assert nodes["stage"] == ("joined", "joined", "alone")
    assert nodes["rt"] == (frozenset({(1, 2, 2)}), frozenset({(1, 0, 0)}), frozenset())
    assert nodes["ls"] == (((), (2,)), ((0,), ()), ((), ()))
    assert nodes["versions"] == ((1, 1, 1), (1, 1, 1), (0, 0, 0))
    assert (len(found.depths), found.edges) == (6, {"Command": 1, "Receive": 3, "Announce": 1})


def test_message_that_arrives_is_confirmed_in_the_same_step() -> None:
    (before, [join]), (after, [state]) = run(explored(), "Command", "Receive")

    assert (before["contact"], after["contact"]) == (((), (0,), ()), ((), (), ()))
    assert join == (2, 0, "join", 2, 2, (0, 0, 0), 0, ())
    assert state == (0, 2, "state", 0, 0, (0, 0, 0), 0, ((frozenset(),), (((), ()),), ((),), True))


def test_time_that_a_message_took_is_the_score_of_its_receiver() -> None:
    found = explored(Acquainted=False, Score=[[2, 0, 7]])

    (asked, _), (measured, _) = run(found, "Command", "Receive", "Receive", "Receive")[2:]

    assert (asked["measured"][1], asked["ls"][1], asked["cache"][1]) == (frozenset({0}), ((0,), ()), {})
    assert (measured["measured"][1], measured["scores"][1], measured["cache"][1]) == (frozenset(), {0: 7}, {0: 7})


def test_message_to_whom_has_crashed_fails() -> None:
    found = explored(Todo=[[2, "join", 0], [0, "crash", 0]])

    assert found.edges["Fail"] == 2
    *_, (nodes, messages) = run(explored(Todo=[[2, "join", 0], [0, "crash", 0]], MaxNet=1), "Command", "Command", "Fail")
    assert not messages
    assert (nodes["stage"], nodes["contact"], nodes["up"]) == (("joined", "alone", "alone"), ((), (), ()), (False, True, True))


def test_message_between_two_that_have_crashed_only_disappears() -> None:
    found = explored(Todo=[[2, "join", 0], [0, "crash", 0], [2, "crash", 0]])
    system = found.system

    dead = [w for w in found.depths if not any(system.states[number].up for number in w[:2]) and len(w) > len(system.places) + 1]

    assert dead
    assert all(list(system.moves(world)) == [("Fail", (*world[:3], 0, *world[5:]))] for world in dead)


def test_step_beyond_a_bound_does_not_happen() -> None:
    assert {state.versions for state in explored(MaxVersion=0).system.states} == {(0, 0, 0)}
    assert explored(MaxNet=0).edges == {}


def test_founders_have_met_in_the_order_of_their_ids() -> None:
    nodes = dict(Model(CONSTANTS | {"Founders": [4, 0, 2], "Todo": [], "Score": [[0, 2, 5]], "Acquainted": False}).nodes)

    first = Model(CONSTANTS).node_values(nodes[next(iter(nodes))])
    assert first[:9] == (
        "joined",
        frozenset({(1, 2, 2), (0, 1, 4)}),
        ((), (2,)),
        (4,),
        (2, 1, 2),
        {2: 5, 4: 1},
        {},
        frozenset(),
        {},
    )
    assert {state.stage for state in nodes.values()} == {Stage.JOINED}


def test_restarted_node_is_alone_and_still_has_things_to_do() -> None:
    found = explored(Todo=[[2, "leave", 0]], Founders=[0, 2], MaxRestarts=1, Restarting=[2])

    assert run(found, "Command")[-1][0]["stage"][1] == "left"
    assert run(found, "Restart")[-1][0]["stage"][1] == "alone"
    assert run(found, "Restart")[-1][0]["todo"][1] == {("leave", 0)}


def test_everything_that_is_possible_happens_somewhere() -> None:
    found = explored(
        Todo=[[2, "join", 0], [4, "join", 0], [0, "route", 3], [2, "crash", 0]],
        Acquainted=False,
        Heartbeats=[0],
        Flush=True,
        MaxRestarts=1,
        Restarting=[2],
        MaxNet=1,
        MaxVersion=2,
    )

    assert found.edges.keys() >= {"Command", "Announce", "HeartbeatDue", "FlushCache", "Receive", "Fail", "Restart"}


ROOMY = {"Todo": [[2, "join", 0], [4, "join", 0], [0, "crash", 0]], "Acquainted": False, "MaxNet": 2, "MaxVersion": 2}


def everything(found: Exploration) -> tuple[Any, ...]:
    orders = list(found.depths.items()), list(found.parents.items())
    return *orders, found.edges, str(found.digest), found.system.states, found.system.messages


def test_graph_is_the_same_by_several_processes_and_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)
    alone = explored(**ROOMY)

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(Model(CONSTANTS | ROOMY), digest=True, checkpoint=tmp_path, processes=2, progress=interrupt)
    resumed = explore(Model(CONSTANTS | ROOMY), digest=True, checkpoint=tmp_path, processes=2)

    assert len(alone.depths) > 500
    assert everything(resumed) == everything(alone)
