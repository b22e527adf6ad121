"""SWIM clusters in virtual time: how soon everybody knows of a crash, and what else comes of it."""

from __future__ import annotations

from uuid import UUID

import pytest

from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import swim
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.swim import Config, Seed, State, Status, Uuid
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.state import PING_INTERVAL_MS, host_and_port

pytestmark = pytest.mark.slow


def uuid(node: NodeId) -> Uuid:
    """Its name."""
    return Uuid(str(UUID(int=int(node[1:].partition(":")[0]) + 1)))


def joined(size: int, seed: str) -> tuple[Simulation, list[NodeId]]:
    """Nodes that have joined by the first one, and all know each other."""
    simulation = Simulation(swim, seed)
    nodes = [NodeId(f"n{number}:1") for number in range(size)]
    for node in nodes:
        simulation.start(
            node, Config(uuid(node), 1, () if node == nodes[0] else (Seed(uuid(nodes[0]), *host_and_port(nodes[0])),))
        )
    after(simulation, 20 * quanta_of_a_round(size))
    for node in nodes:
        assert statuses(simulation, node) == dict.fromkeys(map(uuid, nodes), Status.NORMAL) | {uuid(node): None}
    return simulation, nodes


def quanta_of_a_round(size: int) -> int:
    """How many quanta a round has, with the last one, which may be shorter."""
    return -(-(size - 1) // fanout(size))


def after(simulation: Simulation, quanta: float) -> None:
    """So much later."""
    simulation.run(Instant(simulation.now + round(quanta * PING_INTERVAL_MS)))


def statuses(simulation: Simulation, node: NodeId) -> dict[Uuid, Status | None]:
    """What a node thinks of others, and that there is no row of itself."""
    state: State = simulation.states()[node]
    return {uuid(node): None} | {other: row.status for other, row in state.rows.items()}


@pytest.mark.parametrize(("size", "seed"), [(size, seed) for size in (3, 4, 8) for seed in "ab"])
def test_a_crash_is_known_to_all_within_five_rounds_and_nobody_else_is_suspected(size: int, seed: str) -> None:
    """
    At the worst it was just heard in this round; then it is suspicious two closes later, and dead another two.

    And it was no relay that died, or fell silent: an indirect ping through the crashed node would be one more.
    """
    simulation, nodes = joined(size, f"{size}/{seed}")
    after(simulation, ord(seed) * 0.37)
    wrong: list[object] = []
    simulation.observers.append(
        lambda _, taken: wrong.extend(
            other
            for other, row in taken.after.rows.items()
            if row.status in (Status.SUSPICIOUS, Status.DEAD) and other != uuid(nodes[-1])
        )
    )

    simulation.crash(nodes[-1])
    after(simulation, 5 * quanta_of_a_round(size) + 1)

    for node in nodes[:-1]:
        assert statuses(simulation, node)[uuid(nodes[-1])] is Status.DEAD
    assert wrong == []


def test_a_cluster_that_was_cut_until_both_halves_buried_each_other_does_not_heal_and_a_restart_heals_it() -> None:
    """SX-04."""
    simulation, nodes = joined(4, "cut")
    one, other = nodes[:2], nodes[2:]

    simulation.network.cut([one, other])
    after(simulation, 30)
    simulation.network.heal()
    after(simulation, 30)
    for node in one:
        assert {statuses(simulation, node)[uuid(dead)] for dead in other} == {Status.DEAD}

    for node in other:
        simulation.crash(node)
        simulation.start(node, Config(uuid(node), 2, (Seed(uuid(one[0]), *host_and_port(one[0])),)))
    after(simulation, 40)
    for node in nodes:
        assert set(statuses(simulation, node).values()) == {None, Status.NORMAL}


def test_who_was_cut_off_for_a_while_is_suspected_and_refutes_it_without_a_new_life() -> None:
    """It has found the fault in itself meanwhile, and has accused nobody."""
    simulation, nodes = joined(4, "short")
    *others, lonely = nodes

    simulation.network.cut([others, [lonely]])
    after(simulation, 7)
    state: State = simulation.states()[lonely]
    assert state.isolated
    assert {row.status for row in state.rows.values()} == {Status.NORMAL}
    assert Status.SUSPICIOUS in {statuses(simulation, node)[uuid(lonely)] for node in others}
    simulation.network.heal()
    after(simulation, 10)

    for node in nodes:
        assert set(statuses(simulation, node).values()) == {None, Status.NORMAL}
        assert all(row.incarnation.restart == 1 for row in simulation.states()[node].rows.values())
    assert not simulation.states()[lonely].isolated
