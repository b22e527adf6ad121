"""States with many things in them, and long bytes, written short."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.conformance.vectors.plain_data import WrongNumbers, expand_numbered
from peerproof.conformance.vectors.plain_forms import misfits
from peerproof.conformance.vectors.vector_file import normalise


def test_an_item_stands_for_as_many_as_are_counted_with_their_numbers_in_hexadecimal_digits() -> None:
    item = {"id": "a##", "at": [{"host": "n#"}], "port": 4000, "is_local": False, "none": None}
    plain = {"peers": ["first", {"numbered": {"from": 9, "to": 17, "item": item}}, "last"]}

    found = expand_numbered(plain)["peers"]

    assert found[0] == "first"
    assert found[-1] == "last"
    assert [peer["id"] for peer in found[1:-1]] == ["a09", "a0a", "a0b", "a0c", "a0d", "a0e", "a0f", "a10", "a11"]
    assert found[8] == item | {"id": "a10", "at": [{"host": "n10"}]}


def test_a_state_without_numbers_is_as_it_is_written() -> None:
    plain = {"numbered": [1, "#", {"numbered": 2, "more": "##"}], "text": "a#"}

    assert expand_numbered(plain) == plain


@pytest.mark.parametrize(
    "numbered", [None, {}, {"from": 1, "to": 2}, {"from": 2, "to": 1, "item": 0}, {"from": "1", "to": 2, "item": 0}]
)
def test_numbers_that_are_none_are_told(numbered: Any) -> None:
    with pytest.raises(WrongNumbers):
        expand_numbered([{"numbered": numbered}])


def test_a_vector_that_begins_in_such_a_state_is_held_to_the_forms_of_its_protocol() -> None:
    item = {"addr": "c##", "version": "0", "pairs": []}
    own = {"addr": "b:1", "version": "0", "pairs": []}

    def wrong(numbered: Any) -> list[Any]:
        node = {"addr": "b:1", "state": {"store": [own, {"numbered": numbered}]}}
        return [misfit.where for misfit in misfits("scuttlebutt", {"nodes": {"node": node}})]

    assert wrong({"from": 0, "to": 255, "item": item}) == []
    assert wrong({"from": 0, "to": 256, "item": item | {"addr": "c"}}) == [("nodes", "node", "state")]
    assert wrong({"from": 0, "to": 255}) == [("nodes", "node", "state")]


def test_bytes_among_the_values_of_a_protocol_are_written_short_as_well() -> None:
    written = {"steps": [{"call": {"node": "n", "op": "publish", "args": {"value": {"octets": "70 (72 61)x3"}}}}]}

    (step,) = normalise(written)["steps"]

    assert step["call"]["args"] == {"value": "70726172617261"}
