"""
The events in `recorded`, once taken down from servers of the original over real Serf, by release: each of them once.

Their root is `:distkv`. Pings of 0.6.0 have no tick, no prev and no tock: they are of another protocol, and refused.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from peerproof.spec.distkv.codec import of_payload, payload
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.serf_events import type_of_event
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, unpack

FOLDER = Path(__file__).parent / "recorded"


#: What is different, and of how many.
EXPECTED = {
    "0.5.2": {
        ("ping", "nothing"): 26,
        ("ping", "a tick that is Null"): 1,
        ("update", "nothing"): 8,
        ("info", "nothing is missing"): 2,
        ("info", "a key that nobody knows"): 4,
    },
    "0.6.0": {
        ("ping", "no message"): 43,
        ("update", "nothing"): 9,
        ("info", "nothing"): 29,
        ("info", "nothing is missing"): 31,
        ("info", "order of nodes"): 20,
    },
}


def recorded(release: str) -> list[tuple[str, bytes]]:
    lines = [json.loads(line) for line in (FOLDER / f"{release}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(type_of_event(line["name"], ":distkv") or "", bytes.fromhex(line["payload"])) for line in lines]


def keys(data: bytes) -> list[str]:
    return [key for key, _ in unpack(data)]


def became(kind: str, data: bytes) -> str:
    """What is different if this is read and written again."""
    if "history" in keys(data):
        with pytest.raises(MalformedMessage):
            of_payload(kind, data)
        return "no message"
    again = payload(of_payload(kind, data))
    if again == data:
        return "nothing"
    if pack(unpack(again)) == pack(unpack(data)):
        return "order of nodes"
    if data.endswith(b"\xa4tick\xc0") and again == b"\x83" + data[1:-6]:
        return "a tick that is Null"
    if b"\xa7missing\x80" in data:
        assert again == bytes((data[0] - 1,)) + data[len(b"\x84\xa7missing\x80") :]
        return "nothing is missing"
    assert b"\xa7replace" in data
    assert of_payload(kind, again) == of_payload(kind, data)
    return "a key that nobody knows"


@pytest.mark.parametrize("release", ["0.5.2", "0.6.0"])
def test_events_of_the_original_are_read_and_written_again(release: str) -> None:
    """But for empty maps, the order of nodes, a key in a reason, Null for a tick. [DA-16, DA-25, DA-29, DA-50]"""
    found = Counter((kind, became(kind, data)) for kind, data in recorded(release))

    assert found == EXPECTED[release]


def test_an_update_that_the_original_sends_again_says_who_does() -> None:
    """[DA-49]"""
    (again,) = [data for kind, data in recorded("0.6.0") if kind == "update" and "chain" in keys(data)]

    message = of_payload("update", again)

    assert isinstance(message, Update)
    assert message.sender == ("n1", 7)
    assert message.chain.head == ("n1", 7)
