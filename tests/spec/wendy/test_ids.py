"""Ids on the ring; that distances are a metric is proved (WZ-01 to WZ-05)."""

from __future__ import annotations

from peerproof.spec.wendy import Id, Ring


def test_ids_are_ordered_by_distance_and_of_two_equally_near_the_one_below_the_key_comes_first() -> None:
    """All of a small ring. [W-37, WA-09]"""
    ring = Ring(digits=2, digit_bits=2)
    for key in map(Id, range(ring.size)):
        ordered = sorted(map(Id, range(ring.size)), key=lambda node: ring.rank(node, key))  # called in this turn

        distances = [ring.distance(node, key) for node in ordered]
        assert ordered[:3] == [key, (key - 1) % 16, (key + 1) % 16]
        assert distances == sorted(distances) == [0, *(away for away in range(1, 8) for _ in "-+"), 8]
