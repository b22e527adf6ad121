"""Payloads in all their writings, pieces of other values in datagrams, and whole nodes as plain data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.any_messages import MESSAGES, NODES

from peerproof.conformance.fuzz.inputs.swim import INPUTS, uuid_of
from peerproof.conformance.fuzz.strategies import values
from peerproof.spec.core import Expired, Instant
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim import (
    MESSAGE,
    STATE,
    Config,
    Message,
    Payload,
    Quantum,
    State,
    step,
)
from peerproof.spec.swim.transit import Reader, Writer, cache_code, escape, unescape, unpack, uuid_text
from peerproof.spec.swim.transit_json import PAYLOAD_DEPTH, canonical, concise, render_json

from .nodes import A, B, first, ping

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


@given(st.lists(st.text(), max_size=5))
def test_escaping_is_injective_and_makes_no_other_form(strings: list[str]) -> None:
    for string in (*strings, "~:a", "^0", "`", "~", "", "~#u", "~u"):
        text = escape(string)
        assert unescape(text) == string
        assert not (text[:1] == "~" and text[1:2] in ":#$uin")
        assert Reader().text(text) == text


def test_cache_codes_are_different_and_never_a_caret_and_a_blank() -> None:
    codes = [cache_code(index) for index in range(1936)]

    assert len(set(codes)) == 1936
    assert (codes[0], codes[43], codes[44], codes[1935]) == ("^0", "^[", "^10", "^[[")
    assert "^ " not in codes


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_halves_of_a_uuid_are_the_same_signed_and_unsigned(high: int, low: int) -> None:
    def signed(half: int) -> int:
        return half - 2**64 if half >= 2**63 else half

    assert uuid_text(high, low) == uuid_text(signed(high), signed(low))
    assert uuid_text(high, low).replace("-", "") == f"{high:016x}{low:016x}"


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


REFUSED_STATES: dict[str, dict[str, Any]] = {
    "a row twice": {
        "rows": [{"uuid": B, "host": "b", "port": 1, "status": "normal", "incarnation": {"restart": "1", "tx": "1"}}] * 2
    },
    "a row of itself": {
        "rows": [
            {"uuid": uuid_of(NODES[0]), "host": "b", "port": 1, "status": "normal", "incarnation": {"restart": "1", "tx": "1"}}
        ]
    },
    "an event twice": {"queue": [{"event": {"type": "normal", "node": B}, "recipients": []}] * 2},
}


@pytest.mark.parametrize("case", REFUSED_STATES)
def test_what_is_no_node_is_refused(case: str) -> None:
    with pytest.raises(MalformedMessage):
        STATE.value({"incarnation": {"restart": "1", "tx": "1"}, **REFUSED_STATES[case]}, NODES[0], Config(uuid_of(NODES[0])))
