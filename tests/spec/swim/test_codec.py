"""The limits of SWIM's datagrams; any messages are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

import json

import pytest
from tests.support.swim_nodes import A, B, ping, said

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.swim import MESSAGE, Incarnation, Payload, Ping, Uuid
from peerproof.spec.swim.codec import Room, payload_fits
from peerproof.spec.swim.messages import COUNTER_MAX


@pytest.mark.parametrize("place", ["92a37e237592{}000102", "{uuid}{}02", "{uuid}01{}"])
def test_arrays_that_nest_in_place_of_a_number_are_refused_however_deep_the_caller_stands(place: str) -> None:
    """What is said of them must not be as deep as they are."""
    uuid = "92a37e237592cf1111111111114111d38111111111111111"
    probe = "9194a77e3a70726f6265" + place.replace("{uuid}", uuid).replace("{}", "91" * 950 + "01")

    def below(frames: int) -> object:
        return below(frames - 1) if frames else MESSAGE.decode(bytes.fromhex(probe))

    for frames in (0, 30, 100):
        with pytest.raises(MalformedMessage):
            below(frames)


def test_after_1936_entries_the_cache_begins_anew() -> None:
    """Each keyword twice: in full, then as its code; the code after the last is ^0 again. [SA-62]"""
    keywords = [f"~:k{index:04}" for index in range(1936)]
    text = "{" + ",".join(f'"{keyword}":"{keyword}"' for keyword in keywords) + "}"

    data = MESSAGE.encode(ping(A, 1, 1, Payload(text), target=B))

    assert MESSAGE.decode(data) == ping(A, 1, 1, Payload(text), target=B)
    assert data.count(b"\xa7~:k1933\xa3^[[") == 1  # with ping and payload the last that fits: index 1935
    assert data.count(b"\xa7~:k1934\xa2^0") == 1
    assert data.count(b"\xa7~:k1935\xa2^1") == 1


def test_what_fits_is_counted_to_the_byte() -> None:
    """Fourteen vectors after the header need one byte for their array, fifteen need three."""
    header, event = ping(A, 1, 1, target=B), said("normal C 1 1")
    for count in (1, 13, 14, 15):
        whole = ping(A, 1, 1, *[event] * count, target=B)
        size = len(MESSAGE.encode(whole))
        for limit in (size, size - 1):
            room = Room(header, limit)
            taken = [room.takes(event) for _ in range(count)]
            assert all(taken) == (limit == size)
            assert taken.count(True) >= count - 1


def test_a_payload_fits_if_it_does_with_the_largest_header() -> None:
    limit, largest = 600, Uuid("80000000-0000-0000-8000-000000000000")

    longest = next(data for n in range(limit, 0, -1) if payload_fits(data := json.dumps({"k": "v" * n}), limit))

    assert len(MESSAGE.encode(Ping(largest, Incarnation(COUNTER_MAX, COUNTER_MAX), largest, (Payload(longest),)))) == limit
