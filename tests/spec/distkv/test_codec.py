"""DistKV's events: messages and their bytes, what a decoder accepts, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgpack
import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import ELEMENTS_MAX, Chain, Element
from peerproof.spec.distkv.codec import MESSAGE, number_bytes, of_payload, payload, read_number
from peerproof.spec.distkv.messages import Info, Message, Ping, Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import unpack

from .samples import chain, element, ping, sets, ticks, update


def named(text: str) -> Chain:
    """`1x7 2x2` are nodes n1 and n2 with ticks 7 and 2."""
    found = chain(text)
    return Chain(tuple(Element(NodeId(f"n{node[:-1]}"), tick) for node, tick in found.elements), found.cut)


def said(chain_text: str, path: list[Any], value: Any, tock: int) -> Update:
    return Update(named(chain_text), path_of(path), value_of_plain(value), tock)


# id: (type, message, payload): written so, and read back
SAMPLES: dict[str, tuple[str, Message, str]] = {
    "DC-40": (
        "update",
        said("2x1 1x3", ["a", "b"], [1, 2.5, None, True], 22),
        "86a46e6f6465a26e32a47469636b01a47072657683a46e6f6465a26e31a47469636b03a470726576c0a47061746892a161a162a576616c7565"
        "9401cb4004000000000000c0c3a4746f636b16",
    ),
    "DC-41 deletion": (
        "update",
        said("1x5", ["c", 7], None, 30),
        "86a46e6f6465a26e31a47469636b05a470726576c0a47061746892a16307a576616c7565c0a4746f636b1e",
    ),
    "DC-42 a chain that is cut": (
        "ping",
        Ping(named("1x3 2x0 1x1 2x0 …"), 23),
        "84a46e6f6465a26e31a47469636b03a47072657683a46e6f6465a26e32a47469636b00a47072657683a46e6f6465a26e31a47469636b01"
        "a47072657682a46e6f6465a26e32a47469636b00a4746f636b17",
    ),
    "DC-43": (
        "info",
        Info(named("1x7 …"), 86, ticks=ticks(n1=7, n2=2)),
        "84a57469636b7382a26e3107a26e3202a4746f636b56a46e6f6465a26e31a47469636b07",
    ),
    "DC-44": (
        "info",
        Info(named("2x2 …"), 116, missing=sets(n1=((6, 8),))),
        "84a76d697373696e6781a26e3191920608a4746f636b74a46e6f6465a26e32a47469636b02",
    ),
    "DC-45": (
        "info",
        Info(named("1x7 …"), 117, known=sets(n1=(6,))),
        "84a56b6e6f776e81a26e319106a4746f636b75a46e6f6465a26e31a47469636b07",
    ),
    "DC-46 of a new node": ("ping", Ping(named("1x0"), 1), "84a46e6f6465a26e31a47469636b00a470726576c0a4746f636b01"),
    "DC-47 of the root": (
        "update",
        said("1x1", [], "root", 3),
        "86a46e6f6465a26e31a47469636b01a470726576c0a47061746890a576616c7565a4726f6f74a4746f636b03",
    ),
    "DC-49 sent again by the original": (
        "update",
        replace(said("1x7", ["s1"], "uno", 82), sender=Element(NodeId("n9"), 3)),
        "86a576616c7565a3756e6fa5636861696e83a46e6f6465a26e31a47469636b07a470726576c0a4746f636b52a47061746891a27331"
        "a46e6f6465a26e39a47469636b03",
    ),
    "DC-12 of who is not initialised": ("ping", Ping(named("2x?"), 2), "83a46e6f6465a26e32a470726576c0a4746f636b02"),
    "with a reason and the chain of a ping": (
        "info",
        Info(named("1x7 2x2 2x1 …"), 48, ticks=ticks(n1=7, n2=2), reason=named("1x7 2x1 …")),
        "86a57469636b7382a26e3107a26e3202a6726561736f6e83a46e6f6465a26e31a47469636b07a47072657682a46e6f6465a26e32a47469636b01"
        "a4746f636b30a46e6f6465a26e31a47469636b07a47072657683a46e6f6465a26e32a47469636b02a47072657682a46e6f6465a26e32a47469636b01",
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_event_cut_anywhere_is_truncated_and_one_byte_more_is_trailing(name: str) -> None:
    data = MESSAGE.encode(SAMPLES[name][1])

    for length in range(len(data)):
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(data[:length])
        assert (caught.value.reason, caught.value.offset) == ("truncated", length)
    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(data + b"\xc0")
    assert (caught.value.reason, caught.value.offset) == ("trailing", len(data))


def test_ticks_have_63_bits_in_their_shortest_form() -> None:
    """[D-26, DC-31…DC-34]"""
    assert number_bytes(9007199254740993).hex() == "cf0020000000000001"
    assert number_bytes(TICK_MAX).hex() == "cf7fffffffffffffff"
    for refused in ("cf8000000000000000", "ff", "cb3ff0000000000000", "c3", "a131"):
        with pytest.raises(MalformedMessage):
            read_number(unpack(bytes.fromhex(refused)))
    for number in (-1, TICK_MAX + 1):
        with pytest.raises(NotEnabled):
            number_bytes(number)


def raw(**fields: Any) -> bytes:
    """The payload with these fields; maps as dicts, arrays as lists."""
    done: bytes = msgpack.packb(fields)
    return done


FLAT: dict[str, Any] = {"node": "a", "tick": 1, "prev": None, "path": ["x"], "value": 1, "tock": 2}
INFO: dict[str, Any] = {"node": "a", "tick": 1, "tock": 2}


def without(key: str) -> bytes:
    return raw(**{name: value for name, value in FLAT.items() if name != key})


# what it is: (type, payload, reason)
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "DC-13 an update without a tick": ("update", without("tick"), "bad_value"),
    "DC-14 a node twice in an update": (
        "update",
        raw(**{**FLAT, "tick": 4, "prev": {"node": "b", "tick": 1, "prev": {"node": "a", "tick": 3, "prev": None}}}),
        "bad_value",
    ),
    "DC-48 an update without a value": ("update", without("value"), "bad_value"),
    "an update without a path": ("update", without("path"), "bad_value"),
    "an update without a tock": ("update", without("tock"), "bad_value"),
    "an update without a node": ("update", without("node"), "bad_value"),
    "an update whose chain lacks a tick": ("update", raw(**{**FLAT, "prev": {"node": "b", "prev": None}}), "bad_value"),
    "an update whose chain is a number": ("update", raw(**FLAT, chain=5), "bad_type"),
    "a path that is a string": ("update", raw(**{**FLAT, "path": "x"}), "bad_type"),
    "a value with a key twice": (
        "update", without("value").replace(b"\x85", b"\x86", 1) + b"\xa5value\x82\x01\x02\x01\x03", "bad_value"),
    "a key twice": ("ping", b"\x84\xa4node\xa1a\xa4tick\x01\xa4tock\x02\xa4node\xa1b", "bad_value"),
    "a list": ("ping", msgpack.packb([1]), "bad_type"),
    "a prev that is a list": ("ping", raw(**INFO, prev=[]), "bad_type"),
    "a node that is a number": ("ping", raw(node=1, tick=1, tock=2), "bad_value"),
    "a tick zero in an update": ("update", raw(**{**FLAT, "tick": 0}), "bad_value"),
    "a tick zero in the chain of an update": ("update", raw(**{**FLAT, "prev": {"node": "b", "tick": 0}}), "bad_value"),
    "an update sent again by nobody": ("update", raw(**{**FLAT, "node": None}, chain=INFO), "bad_value"),
    "an update sent again by who has no tick": ("update", raw(**{**FLAT, "tick": None}, chain=INFO), "bad_value"),
    "info of who is not initialised": ("info", raw(node="a", tock=2), "bad_value"),
    "a node without a name": ("ping", raw(node="", tick=1, tock=2), "bad_value"),
    "a name of 65 bytes": ("ping", raw(node="x" + 32 * "é", tick=1, tock=2), "bad_value"),
    "a name of 65 bytes among others": ("info", raw(ticks={65 * "x": 1}, **INFO), "bad_value"),
    "a tick below zero": ("ping", raw(node="a", tick=-1, tock=2), "bad_value"),
    "a tick of 64 bits": ("ping", raw(node="a", tick=2**63, tock=2), "bad_value"),
    "a tock that is null": ("ping", raw(node="a", tick=1, tock=None), "bad_value"),
    "a tick that is true": ("ping", raw(node="a", tick=True, tock=2), "bad_value"),
    "ranges that overlap": ("info", raw(known={"b": [[1, 5], [4, 9]]}, **INFO), "bad_value"),
    "ranges of a node that is a number": ("info", raw(known={1: []}, **INFO), "bad_value"),
    "ranges as a list": ("info", raw(missing=[], **INFO), "bad_type"),
    "a tick of a node that is a list": ("info", raw(ticks={"b": []}, **INFO), "bad_value"),
    "a node that is no UTF-8": ("ping", raw(**{**INFO, "node": "@"}).replace(b"@", b"\xff"), "bad_value"),
    "a ping of a later version": ("ping", raw(node="a", value=[1, 2], history=["a"]), "bad_value"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_of_which_anything_is_wrong_is_none(name: str) -> None:
    """[D-10, D-12, D-26, DA-28, DA-30]"""
    kind, data, reason = REFUSED[name]

    with pytest.raises(MalformedMessage) as caught:
        of_payload(kind, data)

    assert caught.value.reason == reason


@pytest.mark.parametrize("name", ["deploy", ":distkv.ping", "distkv.", "distkv.pong", 7, ["distkv.ping"], None])
def test_events_of_others_are_no_messages(name: Any) -> None:
    """[D-03]"""
    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(msgpack.packb(name) + payload(ping("a1")))

    assert caught.value.reason == "bad_type"


def long_chain(length: int) -> Chain:
    return Chain(tuple(Element(NodeId(f"n{number}"), 1) for number in range(length)))


def test_a_chain_is_as_long_as_it_may_be_and_no_longer() -> None:
    """Also where it nests deepest."""
    longest, within = long_chain(ELEMENTS_MAX), long_chain(ELEMENTS_MAX - 1)
    messages: list[Message] = [
        Ping(longest, 1),
        Info(longest, 1, reason=within),
        replace(update("a1"), chain=within, sender=element("b2")),
    ]

    for message in messages:
        assert MESSAGE.decode(MESSAGE.encode(message)) == message
    for wrong in (long_chain(ELEMENTS_MAX + 1), Chain(), Chain(cut=True)):
        with pytest.raises(NotEnabled):
            MESSAGE.encode(Ping(wrong, 1))
        with pytest.raises(NotEnabled):
            MESSAGE.encode(Info(longest, 1, reason=wrong))
        with pytest.raises(MalformedMessage):
            MESSAGE.value(
                {**MESSAGE.plain(Ping(longest, 1)), "chain": {"elements": [{"node": "a", "tick": 1}] * 65, "cut": False}}
            )
    one_more = payload(Ping(longest, 1)).replace(b"\xc0", b"\x82\xa4node\xa1z\xa4tick\x01", 1)
    with pytest.raises(MalformedMessage) as caught:
        of_payload("ping", one_more)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    "message",
    [update("a1 b?"), update("a1 a2"), update("…"), ping("a1", -1), ping("a1", TICK_MAX + 1), ping("a1", 2**64),
     Ping(Chain((Element(NodeId("\ud800"), 1),)), 1), Info(chain("a1"), 1, ticks=ticks(b=-1)),
     Info(chain("a1"), 1, reason=Chain())],
)  # fmt: skip
def test_what_nobody_would_read_is_not_written(message: Message) -> None:
    with pytest.raises(NotEnabled):
        MESSAGE.encode(message)
