"""What a ping is to a node, and which of two wins."""

from __future__ import annotations

import pytest

from peerproof.spec.distkv.messages import Ping
from peerproof.spec.distkv.pings import Kind, kind_of, winner

from .samples import ping

A = ping("c9 a2 b3", 12)

# id: (ping, last, the tock that is known of the sender, kind, whether the ping wins)
PINGS: dict[str, tuple[Ping, Ping | None, int | None, Kind, bool | None]] = {
    "DC-63": (ping("c1 a2 b3", 11), ping("a2 b3", 10), None, Kind.NEXT, None),
    "DC-64 the higher tock": (ping("d1 a2 b3", 13), A, None, Kind.COLLISION, True),
    "DC-65 the higher tick": (ping("d10 a2 b3", 12), A, None, Kind.COLLISION, True),
    "DC-66 the lower name": (ping("c9 a2 b3", 12), ping("d9 a2 b3", 12), None, Kind.COLLISION, True),
    "DC-67 the lower tock": (ping("b99 a2 b3", 11), A, None, Kind.COLLISION, False),
    "DC-68": (ping("d4 e2 b3", 13), ping("c4 a2 b3", 12), None, Kind.SPLIT, True),
    "DC-69": (ping("n0", 2), ping("c4 a2", 12), None, Kind.INITIAL, False),
    "the last one again": (A, A, 12, Kind.STALE, None),
    "an old one": (ping("d1 a2 b3", 8), A, 8, Kind.STALE, None),
    "one that looks like the next": (ping("b3 c9 a2 …", 9), A, 10, Kind.STALE, None),
    "the same, and later": (ping("b3 c9 a2 …", 13), A, 10, Kind.NEXT, None),
    "a chain that has ended before": (ping("d4 c9 a2", 13), A, None, Kind.SPLIT, True),
    "what looks like both": (ping("b2 a5 …", 6), ping("a5 a5 …", 7), None, Kind.COLLISION, False),
    "any ping to who has none": (ping("d4 e2 b3", 13), None, None, Kind.NEXT, None),
    "a new node after another": (ping("b0", 2), ping("a0", 1), None, Kind.COLLISION, True),
    "one without a tick": (ping("n? a2 b3", 99), A, None, Kind.COLLISION, False),
}


@pytest.mark.parametrize("name", PINGS)
def test_a_ping_is_of_one_of_five_kinds(name: str) -> None:
    """[D-80…D-86, D-98, DA-31…DA-33]"""
    arrived, last, tock, kind, wins = PINGS[name]

    assert kind_of(arrived, last, tock) is kind
    if last is not None and wins is not None:
        assert winner(arrived, last) is (arrived if wins else last)
        assert winner(last, arrived) is winner(arrived, last)


def test_each_kind_is_among_the_cases() -> None:
    assert {kind for _, _, _, kind, _ in PINGS.values()} == set(Kind)
