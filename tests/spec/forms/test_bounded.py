"""A dictionary that removes what was set the longest ago."""

from __future__ import annotations

from peerproof.spec.forms.bounded import BoundedDict


def test_the_entry_that_was_set_the_longest_ago_makes_room() -> None:
    known = BoundedDict[str, int](3)
    for number, key in enumerate("abcad"):
        known[key] = number
        assert known.get("b", 1) == 1  # a look-up does not count

    assert list(known.items()) == [("c", 2), ("a", 3), ("d", 4)]
    assert known.pop_oldest() == 2
    assert known == {"a": 3, "d": 4}
