"""Wendy's messages as bytes: the samples both ways, what a decoder accepts and what it refuses."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.wendy import (
    MESSAGE,
    Application,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    StateData,
    StateRequest,
    Tables,
    Versions,
    id_of_text,
)
from peerproof.spec.wendy.codec import MOST_BYTES
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, MOST_HOPS, MOST_VALUE, MOST_VERSION

S = '{"LocalIP":"10.0.0.1","GlobalIP":"203.0.113.1","Port":8080,"Region":"eu","ID":"000102030405060708090a0b0c0d0e0f"}'
K = "000102030405060708090a0b0c0d0e0f"
N2 = '{"LocalIP":"10.0.0.2","GlobalIP":"203.0.113.2","Port":8081,"Region":"eu","ID":"00010203040506070f00000000000000"}'
LOST = "00010203040506070f00000000000000"

SENDER = Node(id_of_text(K), "10.0.0.1", "203.0.113.1", 8080, "eu")
OTHER = Node(id_of_text(LOST), "10.0.0.2", "203.0.113.2", 8081, "eu")
HEADER = Header(SENDER, SENDER.id, Versions(1, 1, 1))

LS = f'"ls":[[{N2}{",null" * 15}],[null{",null" * 15}]]'
EMPTY_ROW = f"[null{',null' * 15}]"
RT = f'"rt":[{f"{EMPTY_ROW}," * 8}[{"null," * 15}{N2}]{f",{EMPTY_ROW}" * 23}]'
NS = f'"ns":[{N2}{",null" * 31}]'
LEAVES = LeafSet(left=(OTHER,))  # the original's first array [WD-04, WA-51]
CELL = (Entry(8, 15, OTHER),)


def envelope(purpose: int, value: str, key: str = K, credentials: str = "null", versions: str = "111", hop: int = 0) -> str:
    """A message as the original writes it."""
    ls, rt, ns = list(versions)
    return (
        f'{{"Purpose":{purpose},"Sender":{S},"Key":"{key}","Value":{value},"Credentials":{credentials}'
        f',"LSVersion":{ls},"RTVersion":{rt},"NSVersion":{ns},"Hop":{hop}}}\n'
    )


def base64(text: str) -> str:
    return f'"{b64encode(text.encode()).decode()}"'


# name: (message, its text)
SAMPLES: dict[str, tuple[Message, str]] = {
    "join": (NodeJoin(HEADER), envelope(0, '""')),
    "join with a passphrase": (
        NodeJoin(replace(HEADER, credentials=b"pw")),
        envelope(0, '"cHc="', credentials='"cHc="'),
    ),
    "exit": (NodeExit(HEADER), envelope(1, '""')),
    "heartbeat": (Heartbeat(HEADER), envelope(2, '""')),
    "tables of a destination": (
        StateData(HEADER, Tables(leaf_set=LEAVES), destination=True),
        envelope(3, base64(f'{{{LS},"eol":true}}')),
    ),
    "no tables": (StateData(HEADER, Tables()), envelope(3, '"e30="')),
    "request of all tables": (
        StateRequest(HEADER, Mask(routing_table=True, leaf_set=True, neighborhood_set=True)),
        envelope(4, '"eyJNYXNrIjo3LCJSb3dzIjpudWxsLCJDb2xzIjpudWxsfQ=="'),
    ),
    "race": (NodeRace(HEADER, Tables(leaf_set=LEAVES)), envelope(5, base64(f"{{{LS}}}"))),
    "repair of a leaf set": (
        NodeRepair(replace(HEADER, key=OTHER.id), Mask(leaf_set=True)),
        envelope(6, '"eyJNYXNrIjoyLCJSb3dzIjpudWxsLCJDb2xzIjpudWxsfQ=="', key=LOST),
    ),
    "repair of a cell": (
        NodeRepair(HEADER, Mask(routing_table=True, rows=(15,), columns=(15,))),
        envelope(6, '"eyJNYXNrIjoxLCJSb3dzIjpbMTVdLCJDb2xzIjpbMTVdfQ=="'),
    ),
    "repair of a neighborhood set": (
        NodeRepair(HEADER, Mask(neighborhood_set=True)),
        envelope(6, base64('{"Mask":4,"Rows":null,"Cols":null}')),
    ),
    "announcement": (
        NodeAnnouncement(replace(HEADER, versions=Versions(4, 3, 5)), Tables(CELL, LEAVES, (OTHER,))),
        envelope(7, base64(f"{{{RT},{LS},{NS}}}"), versions="345"),
    ),
    "application": (
        Application(replace(HEADER, key=Id(7), hop=3), 19, b"hello"),
        envelope(19, '"aGVsbG8="', key=f"{7:032x}", hop=3),
    ),
    "application without a value": (Application(HEADER, 8, None), envelope(8, "null")),
    "application with an empty value": (Application(HEADER, 255, b""), envelope(255, '""')),
}


@pytest.mark.parametrize("name", ["join", "repair of a cell", "application"])
def test_a_sample_cut_anywhere_is_truncated(name: str) -> None:
    data = SAMPLES[name][1].encode()

    for length in range(len(data) - 1):  # without its line feed it is whole
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(data[:length])
        assert (caught.value.reason, caught.value.offset) == ("truncated", length)


def test_what_follows_a_message_is_trailing() -> None:
    data = SAMPLES["join"][1].encode()

    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(data + b" {}")
    assert (caught.value.reason, caught.value.offset) == ("trailing", len(data) + 1)
    assert MESSAGE.decode(b" \n\t\r" + data + b" \n") == SAMPLES["join"][0]


def changed(text: str = SAMPLES["join"][1], **members: Any) -> bytes:
    """A message with other members, or without some (`...`)."""
    fields = {**json.loads(text), **members}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


def sender(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in {**json.loads(S), **members}.items() if value is not ...}


def payload(text: str | bytes, name: str = "race") -> bytes:
    """A message with this in its value."""
    return changed(SAMPLES[name][1], Value=b64encode(text.encode() if isinstance(text, str) else text).decode())


def raw(old: str, new: str) -> bytes:
    """A join, written otherwise."""
    assert old in SAMPLES["join"][1]
    return SAMPLES["join"][1].replace(old, new).encode()


# what is no message, and why
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "truncated"),
    "blanks": (b" \n", "truncated"),
    "a number": (b"1", "bad_type"),
    "an array": (b"[]", "bad_type"),
    "null": (b"null", "bad_type"),
    "a byte order mark": (b"\xef\xbb\xbf" + SAMPLES["join"][1].encode(), "bad_value"),
    "UTF-16": (SAMPLES["join"][1].encode("utf-16-le"), "bad_value"),
    "no UTF-8": (raw('"eu"', '"eu"').replace(b'"eu"', b'"\xff"'), "bad_value"),
    "UTF-8 of a surrogate": (raw('"eu"', '"eu"').replace(b'"eu"', b'"\xed\xa0\x80"'), "bad_value"),
    "half of a pair": (raw('"eu"', '"\\ud800"'), "bad_value"),
    "a comma too many": (raw('"Hop":0', '"Hop":0,'), "bad_value"),
    "single quotes": (raw('"eu"', "'eu'"), "bad_value"),
    "a bare line feed in a string": (raw('"eu"', '"e\nu"'), "bad_value"),
    "not a number": (raw('"Hop":0', '"Hop":NaN'), "bad_value"),
    "infinity in what is unknown": (raw('"Hop":0', '"Hop":0,"x":-Infinity'), "bad_value"),
    "a leading zero": (raw('"Hop":0', '"Hop":01'), "bad_value"),
    "no purpose": (changed(Purpose=...), "bad_value"),
    "purpose null": (changed(Purpose=None), "bad_value"),
    "no sender": (changed(Sender=...), "bad_value"),
    "no key": (changed(Key=...), "bad_value"),
    "purpose 256": (changed(Purpose=256), "bad_value"),
    "purpose -1": (changed(Purpose=-1), "bad_value"),
    "purpose 1.0": (changed(Purpose=1.0), "bad_value"),
    "purpose true": (changed(Purpose=True), "bad_value"),
    "purpose as text": (changed(Purpose="0"), "bad_value"),
    "a key of 31 digits": (changed(Key=K[1:]), "bad_value"),
    "a key of 33 digits": (changed(Key=f"{K}0"), "bad_value"),
    "a key with blanks": (changed(Key=f" {K[1:]}"), "bad_value"),
    "a key of Arabic digits": (changed(Key="٠" * 32), "bad_value"),
    "a key as number": (changed(Key=5), "bad_value"),
    "a sender as text": (changed(Sender="x"), "bad_type"),
    "a sender without id": (changed(Sender=sender(ID=...)), "bad_value"),
    "port 65536": (changed(Sender=sender(Port=65536)), "bad_value"),
    "port -1": (changed(Sender=sender(Port=-1)), "bad_value"),
    "host as number": (changed(Sender=sender(LocalIP=1)), "bad_value"),
    "a host of 256 bytes": (changed(Sender=sender(GlobalIP="é" * 128)), "bad_value"),
    "a region of 43 signs that take six bytes each": (changed(Sender=sender(Region="&" * 43)), "bad_value"),
    "a value that is too large": (changed(Value=base64("x" * (MOST_VALUE + 1))[1:-1]), "too_large"),
    "credentials that are too large": (changed(Credentials=base64("x" * (MOST_CREDENTIALS + 1))[1:-1]), "too_large"),
    "version 2^64": (changed(LSVersion=2**64), "bad_value"),
    "a version of 20,000 digits": (raw('"LSVersion":1', f'"LSVersion":{"9" * 20_000}'), "bad_value"),
    "hop 2^31": (changed(Hop=2**31), "bad_value"),
    "hop -1": (changed(Hop=-1), "bad_value"),
    "no base64": (changed(Value="!"), "bad_value"),
    "base64 without its padding": (changed(Value="cHc"), "bad_value"),
    "base64 as number": (changed(Value=5), "bad_value"),
    "base64 beyond ASCII": (changed(Credentials="é"), "bad_value"),
    "a mask without an object": (payload("7", "repair of a cell"), "bad_value"),
    "mask 256": (payload('{"Mask":256}', "repair of a cell"), "bad_value"),
    "row 32": (payload('{"Mask":1,"Rows":[32]}', "repair of a cell"), "bad_value"),
    "column 16": (payload('{"Mask":1,"Rows":[1],"Cols":[16]}', "repair of a cell"), "bad_value"),
    "no tables": (payload(""), "bad_value"),
    "tables of another kind": (payload('{"rt":{}}'), "bad_value"),
    "a row of another kind": (payload('{"rt":[5]}'), "bad_value"),
    "a node of another kind": (payload('{"ns":[5]}'), "bad_value"),
    "a node without id": (payload('{"ns":[{}]}'), "bad_value"),
    "eol as number": (payload('{"eol":1}', "no tables"), "bad_value"),
    "65 deep": (changed(Extra=json.loads("[" * 64 + "]" * 64)), "too_large"),
    "65 deep in a value": (payload(f'{{"x":{"[" * 64}{"]" * 64}}}'), "too_large"),
    "200,000 deep": (b"[" * 200_000, "too_large"),
    "200,000 objects deep": (b'{"a":' * 200_000, "too_large"),
    "too many bytes": (SAMPLES["join"][1].encode() + b" " * MOST_BYTES, "too_large"),
}


def test_whatever_is_read_can_be_sent_on() -> None:
    """Neither the largest tables nor the largest value make a message too large, whatever hosts and regions look like. [WA-66]"""
    wide = Node(Id(2**128 - 1), "\x00" * 42, "<" * 42, 65535, "h" * 255)
    places = [Entry(row, column, wide) for row in range(32) for column in range(16)]
    full = Tables(tuple(places), LeafSet((wide,) * 16, (wide,) * 16), (wide,) * 32)
    header = Header(wide, wide.id, Versions(*[MOST_VERSION] * 3), b"x" * MOST_CREDENTIALS, MOST_HOPS)

    for message in (NodeRace(header, full), Application(header, 255, b"x" * MOST_VALUE)):
        written = MESSAGE.encode(message)
        assert len(written) <= MOST_BYTES
        assert MESSAGE.decode(written) == message


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_message_is_refused(name: str) -> None:
    """[WA-63, WA-66]"""
    data, reason = REFUSED[name]

    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(data)

    assert caught.value.reason == reason
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "message",
    [
        Application(HEADER, 7, None),
        Application(HEADER, 256, None),
        Application(HEADER, 16, b"x" * (MOST_VALUE + 1)),
        NodeJoin(replace(HEADER, credentials=b"x" * (MOST_CREDENTIALS + 1))),
        NodeJoin(replace(HEADER, sender=SENDER._replace(region="<" * 43))),
        Heartbeat(replace(HEADER, key=Id(2**128))),
        Heartbeat(replace(HEADER, hop=MOST_HOPS + 1)),
        Heartbeat(replace(HEADER, versions=Versions(0, MOST_VERSION + 1, 0))),
        Heartbeat(replace(HEADER, sender=SENDER._replace(port=65536))),
        Heartbeat(replace(HEADER, sender=SENDER._replace(region="é" * 128))),
        Heartbeat(replace(HEADER, sender=SENDER._replace(local_ip="\ud800"))),
        NodeRace(HEADER, Tables(routing_table=CELL * 2)),
        NodeRace(HEADER, Tables(routing_table=(Entry(32, 0, OTHER),))),
        NodeRace(HEADER, Tables(routing_table=(Entry(0, 16, OTHER),))),
        NodeRace(HEADER, Tables(leaf_set=LeafSet((OTHER,) * 17))),
        NodeRace(HEADER, Tables(neighborhood_set=(OTHER,) * 33)),
        NodeRepair(HEADER, Mask(routing_table=True, rows=(32,))),
        NodeRepair(HEADER, Mask(routing_table=True, columns=(16,))),
    ],
    ids=str,
)
def test_what_the_format_cannot_hold_is_not_written(message: Message) -> None:
    """[WA-66]"""
    with pytest.raises(NotEnabled):
        MESSAGE.encode(message)
