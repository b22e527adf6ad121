"""
Shortcuts of codecs do what the declared codecs do: the same messages, bytes and refusals, word for word.

`python -m tests.support.shortcut_differences` compares a million inputs.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import MESSAGES
from tests.support.shortcut_differences import (
    PROTOCOLS_WITH_SHORTCUTS,
    codec_of,
    difference,
    difference_of_message,
    inputs,
    outcome,
    respelled,
)
from tests.support.swim_nodes import A, B, C, ping, said

from peerproof.conformance.fuzz.bytes.seeds import seeds_of
from peerproof.conformance.vectors.suite import load
from peerproof.spec import distkv, swim
from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import NAME_MAX, Chain, Element
from peerproof.spec.distkv.paths import Path, path_of
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.values import Value, value_of_plain
from peerproof.spec.forms.messagepack import string_bytes
from peerproof.spec.forms.packing import Codec
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.swim import codec as swim_codec

for_each = pytest.mark.parametrize("protocol", PROTOCOLS_WITH_SHORTCUTS)


def test_these_protocols_have_shortcuts() -> None:
    codecs: dict[str, Codec[Any]] = {name: row.specification.load().MESSAGE for name, row in PROTOCOLS.items()}

    assert {name for name, codec in codecs.items() if codec.declared} == set(PROTOCOLS_WITH_SHORTCUTS)
    assert all(codec.careful.declared is None for codec in codecs.values())


@for_each
def test_the_bytes_of_each_vector_take_either_way(protocol: str) -> None:
    for data in seeds_of(load(protocol=protocol), protocol).data:
        assert not difference(codec_of(protocol), data)


@pytest.mark.slow
@for_each
def test_mutated_bytes_take_either_way(protocol: str) -> None:
    for data in islice(inputs(protocol, seed=0), 5_000):
        assert not difference(codec_of(protocol), data)


@for_each
@given(data=st.data())
def test_any_message_takes_either_way(protocol: str, data: st.DataObject) -> None:
    codec, message = codec_of(protocol), data.draw(MESSAGES[protocol])

    written = codec.careful.encode(message)

    assert not difference_of_message(codec, message)
    assert not difference(codec, written)
    assert not difference(codec, respelled(Random(data.draw(st.integers(0, 99))), written))


def update(**fields: Any) -> distkv.Update:
    chain = Chain((Element(NodeId("n2"), 1), Element(NodeId("n1"), 3)))
    return replace(distkv.Update(chain, path_of(["a"]), value_of_plain([1, 2.5, None, True, {"a": "b"}]), 22), **fields)


def chain_of(count: int, *, cut: bool = False) -> Chain:
    return Chain(tuple(Element(NodeId(f"n{number}"), number + 1) for number in range(count)), cut)


#: The usual messages: a shortcut that left them to the declared codec would be of no use.
USUAL: list[tuple[str, Any]] = [
    ("swim", ping(A, 1, 70_000, said("normal C"), said("dead C 1 2"), said("normal B"), target=B)),
    ("swim", ping(A, 1, 2, swim.Payload('{"~:a-name":[{"~:a-name":1.5}]}'), target=B)),
    ("swim", swim.Probe(A, swim.Incarnation(1, 2))),
    ("swim", swim.ProbeAck(A, swim.Incarnation(1, 2), 3)),
    ("swim", ping(A, 1, 2, swim.AntiEntropy((swim.Member("h", 9, C, 1, 2),), tagged=False), target=B)),
    ("swim", swim.Ack(A, swim.Incarnation(1, 2), B, 3, (swim.IndirectAck(C, swim.Incarnation(4, 5)),))),
    ("swim", ping(A, 1, 2, swim.AntiEntropy(tuple(swim.Member("::1", 9, node, 1, 2) for node in (A, B, C))), target=B)),
    ("distkv", update()),
    ("distkv", update(sender=Element(NodeId("n3"), 0))),
    ("distkv", update(chain=chain_of(64, cut=True))),
    ("distkv", distkv.Ping(Chain((Element(NodeId("n2"), None), Element(NodeId("n1"), 3)), cut=True), 22)),
]


@pytest.mark.parametrize(("protocol", "message"), USUAL)
def test_a_usual_message_takes_the_shortcut_in_both_directions(
    protocol: str, message: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = codec_of(protocol)
    written = codec.careful.encode(message)
    for name in ("encode", "decode"):
        monkeypatch.setattr(f"peerproof.spec.{protocol}.codec.{name}", None)

    assert codec.encode(message) == written
    assert codec.decode(written) == message


#: Messages at the limits, and beyond them.
LIMITS: list[tuple[str, Any]] = [
    ("swim", ping(A, 2**63 - 1, 0, target=B)),
    ("swim", ping(A, 2**63, 0, target=B)),
    ("swim", ping(A, -1, 0, target=B)),
    ("swim", ping(A, 1, 2, swim.Joining(C, swim.Incarnation(1, 2), "", 1), target=B)),
    ("swim", ping(A, 1, 2, swim.Joining(C, swim.Incarnation(1, 2), "~h\ud800", 1), target=B)),
    ("swim", ping(A, 1, 2, swim.Joining(C, swim.Incarnation(1, 2), "`h", 2**63), target=B)),
    ("swim", ping(A, 1, 2, swim.AntiEntropy((), tagged=False), swim.AntiEntropy(()), swim.AntiEntropy(()), target=B)),
    ("swim", ping(A, 1, 2, swim.Payload('{"~?t":1,"~i1":2,"~d1.5":3}'), target=B)),
    ("swim", ping(A, 1, 2, swim.Payload('{"~i1":true}'), swim.Payload('{"~i1":1}'), target=B)),
    ("swim", ping(A, 1, 2, swim.Payload('{"`a":1}'), target=B)),
    ("swim", ping(swim.Uuid("00000000-0000-0001-0000-000000000000"), 1, 2, target=swim.Uuid(A.upper()))),
    ("distkv", update(tock=TICK_MAX)),
    ("distkv", update(tock=TICK_MAX + 1)),
    ("distkv", update(chain=chain_of(65))),
    ("distkv", update(chain=chain_of(64), sender=Element(NodeId("n3"), 1))),
    ("distkv", update(chain=chain_of(63), sender=Element(NodeId("n3"), 1))),
    ("distkv", update(chain=Chain())),
    ("distkv", update(chain=Chain((Element(NodeId("n"), 1), Element(NodeId("n"), 2))))),
    ("distkv", update(chain=Chain((Element(NodeId("n"), 0),)))),
    ("distkv", update(chain=Chain((Element(NodeId("n" * NAME_MAX), 1),)))),
    ("distkv", update(chain=Chain((Element(NodeId("ä" * NAME_MAX), 1),)))),
    ("distkv", update(sender=Element(NodeId("n3"), None))),
    ("distkv", distkv.Ping(chain_of(64), 1)),
    ("distkv", distkv.Ping(chain_of(65), 1)),
    ("distkv", distkv.Ping(Chain(), 1)),
]


@pytest.mark.parametrize(("protocol", "message"), LIMITS)
def test_a_message_at_a_limit_takes_either_way(protocol: str, message: Any) -> None:
    codec = codec_of(protocol)
    written = outcome(codec.careful.encode, message)

    assert not difference_of_message(codec, message)
    if not isinstance(written[0], type):
        assert not difference(codec, written[0])


#: Values and paths in a second form, of an unusual type, or none at all.
PARTS = {
    "not the shortest": "cc01",
    "a NaN with other bits": "cb7ff8000000000001",
    "a NaN in an array": "91cb7ff8000000000000",
    "half a float": "ca3fc00000",
    "an extension": "d6ff00000000",
    "an extension in another form": "c704ff00000000",
    "a time": "d7ff0000000000000000",
    "bytes": "c401ff",
    "a name of bytes": "91c400",
    "a name that is null": "92a161c0",
    "the meta hierarchy": "91c0",
    "an array": "93a16101c3",
    "keys in another order": "82a16201a16100",
    "a key twice": "82a16101a16101",
    "a key of a number": "8101a161",
    "keys of which one is longer": "82a16101a2616101",
    "no UTF-8": "a1ff",
    "a string in a longer form": "d90161",
    "a map in a longer form": "de0001a16101",
    "nothing": "",
    "never used": "c1",
    "promises": "ddffffffff",
    "deep": "91" * 62 + "00",
    "too deep": "91" * 63 + "00",
    "far too deep": "91" * 60_000 + "00",
}


@pytest.mark.parametrize("part", PARTS.values(), ids=list(PARTS))
def test_any_value_and_any_path_takes_either_way(part: str) -> None:
    raw = bytes.fromhex(part)
    for changed in (update(value=Value(raw)), update(path=Path(raw)), update(value=Value(raw), sender=Element(NodeId("n"), 1))):
        written = distkv.MESSAGE.careful.encode(changed)

        assert not difference(distkv.MESSAGE, written)


@pytest.mark.parametrize("depth", [60, 63, 64, 65, 2_000, 20_000])
def test_a_chain_of_any_depth_takes_either_way(depth: int) -> None:
    link = b"\xa4node\xa1n\xa4prev\x82"
    data = string_bytes("distkv.ping") + b"\x83" + link * (depth - 1) + b"\xa4node\xa1n\xa4prev\xc0\xa4tock\x01"

    assert not difference(distkv.MESSAGE, data)


@pytest.mark.parametrize("spelled", ["c3", "cb3ff0000000000000", "ca3f800000", "cc01", "d3ffffffffffffffff"])
def test_what_python_takes_for_the_number_one_takes_either_way(spelled: str) -> None:
    """Also after that number."""
    target = swim.Uuid("00000000-0000-0001-0000-000000000001")
    usual: list[tuple[Codec[Any], Any]] = [
        (swim.MESSAGE, ping(A, 1, 1, swim.Payload('{"a":1}'), target=target)),
        (distkv.MESSAGE, update(value=value_of_plain([1]), path=path_of([1]))),
    ]
    for codec, message in usual:
        written = codec.encode(message)
        assert codec.decode(written) == message
        for at in [at for at, byte in enumerate(written) if byte == 1]:
            assert not difference(codec, written[:at] + bytes.fromhex(spelled) + written[at + 1 :])


def test_equal_names_of_different_numbers_take_either_way() -> None:
    """Two payloads: the second refers by a code to the number that is a key of the first."""
    number = 2**53
    for name in (f"~i{number}", f"~d{number}.0", f"~i{number}"):
        first = ping(A, 1, 1, swim.Payload(f'{{"{name}":1}}'), swim.Payload(f'{{"a":1,"{name}":1}}'), target=B)
        assert not difference_of_message(swim.MESSAGE, first)
        assert not difference(swim.MESSAGE, swim.MESSAGE.careful.encode(first))


def test_an_override_applies_to_a_usual_message() -> None:
    written = swim.MESSAGE.encode(ping(A, 1, 2, target=B))

    with overriding(names_in(swim_codec, _incarnation=lambda *_: swim.Incarnation(7, 7))):
        read = swim.MESSAGE.decode(written)

    assert read.incarnation == (7, 7)
    assert swim.MESSAGE.decode(written).incarnation == (1, 2)
