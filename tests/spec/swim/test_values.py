"""Payloads in all their writings, pieces of other values in datagrams, and whole nodes as plain data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import MESSAGES, NODES
from tests.support.swim_nodes import A, B, first, ping

from peerproof.conformance.fuzz.inputs.swim import INPUTS
from peerproof.conformance.fuzz.strategies import values
from peerproof.spec.core import Expired, Instant
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim import MESSAGE, STATE, Config, Message, Payload, Quantum, State, step
from peerproof.spec.swim.transit import Reader, Writer, escape, unpack
from peerproof.spec.swim.transit_json import PAYLOAD_DEPTH, canonical, concise, render_json

NAMED = INPUTS.named(NODES)

#: Texts in Transit's writing: keywords, uuids, integers, strings that are escaped.
TEXTS = st.one_of(
    st.text(max_size=6).filter(lambda text: text.isprintable()).map(escape),
    st.sampled_from(
        ["~:some", "~:data", "~$sym", f"~u{A}", f"~u{A.upper()}", "~i7", "~i-0", "~n12345678901234567890123", "~zNaN"]
    ),
    st.integers(-(2**66), 2**66).map(lambda number: f"~i{number}"),
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats() | TEXTS
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS, inner, max_size=3)
        | inner.map(lambda value: ["~#list", [value]])
        | inner.map(lambda value: {"~#tag": value})
    ),
    max_leaves=8,
)
MAPS = st.dictionaries(TEXTS, PLAIN, max_size=4)


@given(MAPS)
def test_a_payload_from_plain_data_is_the_one_that_its_receivers_have(plain: dict[str, Any]) -> None:
    try:
        text = canonical(plain)
    except NotEnabled:
        return  # a key twice, once it is read
    message = ping(A, 1, 1, Payload(text), target=B)

    assert MESSAGE.decode(MESSAGE.encode(message)) == message


@given(MAPS)
def test_the_text_of_a_payload_stands_for_what_was_said(plain: dict[str, Any]) -> None:
    try:
        value = concise(plain)
        text = render_json(value)
    except (NotEnabled, MalformedMessage):
        return
    writer = Writer()

    writer.value(value)

    assert render_json(Reader().value(unpack(bytes(writer.out)), PAYLOAD_DEPTH)) == text


#: Pieces of datagrams: what a mutation puts in the place of another value.
_PIECES = (
    "c0 c2 c3 00 7f ff cb3ff0000000000000 cf8000000000000000 90 80 a0 a17e a27e75 a25e30 a25e31 a37e2375 a37e6935 a67e236c697374"
    " 92a67e236c697374 92a37e2375920102 92a37e23759201c3 81a37e2375920102 a27e21 a160 c40161 d40000 d9067e3a70696e67"
)
PIECES = st.sampled_from(list(map(bytes.fromhex, _PIECES.split(" "))))


@given(MESSAGES["swim"], st.data())
def test_a_message_of_which_pieces_were_exchanged_is_a_message_or_malformed(written: Message, data: st.DataObject) -> None:
    raw = MESSAGE.encode(written)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:start] + data.draw(PIECES) + raw[start + data.draw(st.integers(0, 23)) :]

    try:
        message = MESSAGE.decode(raw)
    except MalformedMessage:
        return
    assert MESSAGE.decode(MESSAGE.encode(message)) == message


#: Also sets and lists of nodes, and lists of counters.
UUIDS = st.lists(NAMED["uuid"], max_size=3)
LISTS = {
    "vector": UUIDS.map(tuple),
    **dict.fromkeys(("pinged", "answered", "recipients"), UUIDS.map(frozenset)),
    "unanswered": st.lists(NAMED["tx"], max_size=3).map(tuple),
    "payload": NAMED["data"],
}
STATES = st.fixed_dictionaries(
    {name: LISTS[name] if name in LISTS else values(form, {**NAMED, **LISTS}) for name, form in STATE.forms.items()}
)


@pytest.mark.slow
@given(STATES, INPUTS.configs(NODES))
def test_a_whole_node_is_the_same_after_plain_data_and_can_go_on(members: dict[str, Any], configs: tuple[Config, ...]) -> None:
    """Also in a state that no run leads to."""
    state = State(NODES[0], configs[0], **members)
    try:
        STATE.value(STATE.plain(state), NODES[0], configs[0])
    except MalformedMessage:
        return  # an event of a node twice, or the node itself

    assert STATE.value(STATE.plain(state), NODES[0], configs[0]) == state
    step(state, Expired(Instant(0), Quantum()), first)
