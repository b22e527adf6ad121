"""What DistKV's events cannot hold, and their bytes beside `msgpack`; any messages are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

from dataclasses import replace

import msgpack
import pytest
from hypothesis import given
from tests.support.any_messages import MESSAGES
from tests.support.distkv_samples import element, update

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import ELEMENTS_MAX, Chain, Element
from peerproof.spec.distkv.codec import MESSAGE, of_payload, payload
from peerproof.spec.distkv.messages import Info, Message, Ping
from peerproof.spec.errors import MalformedMessage


@pytest.mark.slow
@given(MESSAGES["distkv"])
def test_the_library_reads_and_writes_the_same_payload(message: Message) -> None:
    data = payload(message)

    assert msgpack.packb(msgpack.unpackb(data, strict_map_key=False)) == data


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
    with pytest.raises(MalformedMessage):
        MESSAGE.value({**MESSAGE.plain(Ping(longest, 1)), "chain": {"elements": [{"node": "a", "tick": 1}] * 65, "cut": False}})
    with pytest.raises(MalformedMessage):
        MESSAGE.value({**MESSAGE.plain(update("a1")), "chain": {"elements": [{"node": "a", "tick": 1}] * 2, "cut": False}})
    one_more = payload(Ping(longest, 1)).replace(b"\xc0", b"\x82\xa4node\xa1z\xa4tick\x01", 1)
    with pytest.raises(MalformedMessage) as caught:
        of_payload("ping", one_more)
    assert caught.value.reason == "too_large"
