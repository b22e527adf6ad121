"""What a message makes of the table: the header, the past, events, anti-entropy, payloads, and what is said of oneself."""

from __future__ import annotations

from dataclasses import replace

from peerproof.spec.swim import (
    Incarnation,
)

from .nodes import (
    B,
    D,
    E,
    member,
    members,
    node,
    ping,
    place,
    received,
    said,
    sent,
)


def test_a_flood_of_pings_from_strangers_makes_no_rows_and_remembers_nothing() -> None:
    state = before = node({B: "normal 1 1"}, {"ae_size": 2})
    for number in range(1000):
        stranger = replace(ping(B, number, 1), sender=f"{number:08}-0000-4000-8000-000000000000")  # type: ignore[arg-type]  # a uuid
        taken = received(state, replace(stranger, vectors=(said("dead B"), members(member(D, 1, 1)))), sender=place(E))
        assert [(to, m.vectors) for to, m in sent(taken)] == [(place(E), ())]  # type: ignore[union-attr]  # an ack
        state = taken.state

    assert state == replace(before, incarnation=Incarnation(1, 1010))
