"""The simulated network: what it does to datagrams, and how often."""

from __future__ import annotations

import pytest

from peerproof.reference.simulation.faulty_network import Faults, Network
from peerproof.spec.core import Duration, NodeId

A, B, C = NodeId("a:1"), NodeId("b:1"), NodeId("c:1")


def test_a_network_without_faults_delivers_each_datagram_once_within_its_delays() -> None:
    network = Network(Faults(least_delay=Duration(3), most_delay=Duration(5)), "s")

    fates = [network.fate(A, B) for _ in range(300)]

    assert all(len(fate) == 1 for fate in fates)
    assert {fate[0] for fate in fates} == {3, 4, 5}


@pytest.mark.parametrize(
    ("faults", "count"), [(Faults(loss=0.2), "lost"), (Faults(duplication=0.2), "duplicated")], ids=["loss", "duplication"]
)
def test_faults_come_about_as_often_as_said(faults: Faults, count: str) -> None:
    network = Network(faults, "s")

    fates = [network.fate(A, B) for _ in range(5000)]

    assert 900 < getattr(network, count) < 1100
    assert sum(map(len, fates)) == network.sent - network.lost + network.duplicated


def test_reordering_lets_a_later_datagram_overtake() -> None:
    network = Network(Faults(reordering=0.1), "s")

    arrivals = [100 * number + network.fate(A, B)[0] for number in range(200)]

    assert arrivals != sorted(arrivals)


def test_a_partition_stops_what_crosses_it_and_nothing_else() -> None:
    network = Network(Faults(), "s")

    network.cut([[A], [B]])

    assert [bool(network.fate(*pair)) for pair in ((A, A), (A, B), (B, A), (A, C), (C, C))] == [True, False, False, False, True]
    assert network.cut_off == 3
    network.heal()
    assert network.fate(A, B)


@pytest.mark.parametrize(
    "faults",
    [
        {"loss": -0.1},
        {"duplication": 1.1},
        {"reordering": float("nan")},
        {"least_delay": 5, "most_delay": 4},
        {"least_delay": -1},
        {"held_back": 0},
    ],
    ids=str,
)
def test_faults_that_make_no_sense_are_refused(faults: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must be|delays|held back"):
        Faults(**faults)  # type: ignore[arg-type]  # that is what is tried
