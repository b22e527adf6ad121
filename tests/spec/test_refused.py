"""
What no node can be called, configured with, asked for, or be, and which messages none can write: refused, in each protocol.

Which bytes are no message, and which calls are refused in which state, vectors say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support import swim_nodes as swimming
from tests.support.any_messages import SPECIFICATIONS
from tests.support.distkv_samples import chain, ping, ticks, update
from tests.support.peter_nodes import TEXT, T, U, row, stacked
from tests.support.wendy_messages import HEADER, OTHER, OWN
from tests.support.wendy_nodes import asked, h, header, node, peer, place

from peerproof.conformance.fuzz.inputs.swim import uuid_of
from peerproof.spec import distkv, peter, scuttlebutt, swim, wendy
from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import ELEMENTS_MAX, Chain, Element
from peerproof.spec.distkv.forms import PATH, VALUE
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.scuttlebutt import Delta, DeltaEntry
from peerproof.spec.swim.messages import COUNTER_MAX
from peerproof.spec.wendy import Application, Heartbeat, Id, LeafSet, Mask, NodeJoin, NodeRace, NodeRepair, Tables, Versions
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, MOST_HOPS, MOST_VALUE, MOST_VERSION


def rows(cases: Mapping[str, Sequence[Any]]) -> Any:
    """The cases of all protocols, one by one, each with its protocol and numbered."""
    return [pytest.param(name, *one, id=f"{name} {number}") for name, some in cases.items() for number, one in enumerate(some)]


CONFIGS: dict[str, Any] = {
    "scuttlebutt": scuttlebutt.Config(),
    "swim": swim.Config(swimming.B),
    "wendy": wendy.Config(h("40")),
    "peter": peter.Config(h("40")),
    "distkv": distkv.Config(),
}

HOST_AND_PORT = "a node's address is host:port"
PORT = "a port is a number from 1 to 65535"
NAME = "the name of a node has 1 to 64 bytes of UTF-8"

UNREACHABLE = [
    *((name, HOST_AND_PORT) for name in ("", "a", "a:", ":1", "a:x", "a:١", f"{'x' * 256}:1", "\udcff:1")),
    *((name, PORT) for name in ("a:0", "a:65536")),
]

#: Names of nodes, and what is wrong with them. [DA-83]
NAMES = {
    "scuttlebutt": [
        ("x" * 256, "takes at most 255 bytes, not 256"),
        ("é" * 128, "takes at most 255 bytes, not 256"),
        ("\ud800", "must be the text of some bytes"),
    ],
    "swim": UNREACHABLE,
    "wendy": UNREACHABLE,
    "distkv": [(name, NAME) for name in ("", "*", "x" * 65, "é" * 33, "\ud800")],
}


@pytest.mark.parametrize(("protocol", "name", "problem"), rows(NAMES))
def test_a_node_needs_a_name_with_which_others_can_reach_it(protocol: str, name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        SPECIFICATIONS[protocol].initial(NodeId(name), CONFIGS[protocol])


#: Members of a configuration made in Python, and what is wrong with them. [DA-82, DA-83]
SETTINGS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "scuttlebutt": [
        *(({"interval": wrong}, "must be") for wrong in (0, -1)),
        *(({"max_payload": wrong}, "must be") for wrong in (0, 65_508)),
    ],
    "wendy": [
        ({"id": Id(16), "ring": wendy.Ring(2, 2)}, "is a number"),
        ({"id": Id(-1)}, "is a number"),
        ({"network_timeout": 0}, "must"),
        ({"heartbeat": -1}, "must"),
        ({"leaf_set_side": 0}, "must|need"),
        ({"credentials": b"x" * 1025}, "at most"),
    ],
    "distkv": [
        ({"clock": 7}, "at least 8 milliseconds"),
        ({"ping_length": 0}, "must be from 1"),
        ({"change_length": 0}, "must be from 1"),
        ({"ping_length": 5, "max_payload": 459}, "at least 470, not 459"),
        ({"clock": 4000, "start": 1999}, "from half a clock to one"),
        ({"clock": 4000, "start": 4001}, "from half a clock to one"),
        ({"root": value_of_plain("x" * 460)}, "more than the 459 bytes"),
    ],
}


@pytest.mark.parametrize(("protocol", "settings", "problem"), rows(SETTINGS))
def test_a_configuration_that_cannot_work_is_refused(protocol: str, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        SPECIFICATIONS[protocol].initial(NodeId("a:1"), replace(CONFIGS[protocol], **settings))


@pytest.mark.parametrize("fields", [{"window": 0}, {"bootstrap": 0}, {"critical": -1}, {"down": -1}], ids=str)
def test_a_failure_detector_that_cannot_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        scuttlebutt.Detector(**fields)


KEY = "4" * 32
B = swimming.B
PAYLOAD = {"type": "set_payload", "uuid": swimming.A}
ONE = {"restart": "1", "tx": "1"}
ROW = {"uuid": B, "host": "b", "port": 1, "status": "normal", "incarnation": ONE}

#: Forms, plain data that shows no value of theirs, and where or why.
PLAIN: dict[str, list[tuple[Any, Any, str]]] = {
    "scuttlebutt": [
        (scuttlebutt.CONFIG, {"interval": 0}, "^interval: "),
        (scuttlebutt.CONFIG, {"max_payload": 0}, "^max_payload: "),
        (scuttlebutt.CONFIG, {"max_payload": 65_508}, "^max_payload: "),
        (scuttlebutt.CONFIG, {"seeds": "a:1"}, "^seeds: "),
        (scuttlebutt.CONFIG, {"seeds": ["a:1", "x" * 256]}, r"^seeds\[1\]: "),
        (scuttlebutt.CONFIG, {"detector": {"window": 0}}, "^detector.window: "),
        (scuttlebutt.CONFIG, {"detector": {"bootstrap": 0}}, "^detector.bootstrap: "),
        (scuttlebutt.CONFIG, {"detector": {"critical": -1}}, "^detector.critical: "),
        (scuttlebutt.CONFIG, {"detector": {"down": 8.0}}, "^detector.down: "),
        (scuttlebutt.CONFIG, {"intervall": 1}, "^intervall: "),
    ],
    "swim": [
        (swim.COMMAND, {"type": "add_node", "uuid": B, "host": "", "port": 1}, "host"),
        (swim.COMMAND, {"type": "probe_node", "host": "h", "port": 0}, "port"),
        (swim.COMMAND, {"type": "leave_node", "uuid": "1_1_1_11-1111-4111-8111-111111111111"}, "uuid"),
        (swim.COMMAND, {**PAYLOAD, "data": [1]}, "data"),
        (swim.COMMAND, {**PAYLOAD, "data": {"a": "~!"}}, "~!"),
        (swim.COMMAND, {**PAYLOAD, "data": {"a": "\ud800"}}, "UTF-8|ud800"),
        (swim.COMMAND, {**PAYLOAD, "data": {"~i10": 1, "~i010": 2}}, "a key stands twice"),
        (swim.COMMAND, {**PAYLOAD, "data": {"~#u": [1, 2]}}, "data"),
        (swim.COMMAND, {"type": "on_cluster_event", "event_type": "birth"}, "event_type"),
        *(
            (swim.MESSAGE, {"type": "probe", "sender": B, "incarnation": {"restart": counter, "tx": "1"}}, "restart")
            for number in (-1, COUNTER_MAX + 1)
            for counter in (number, str(number))
        ),
        *(
            (swim.MESSAGE, {"type": "ping", "sender": B, "incarnation": ONE, "target": B, "vectors": [
                {"type": "joining", "node": B, "incarnation": ONE, "host": host, "port": 1}]}, "host")
            for host in ("", "x" * 256, "é" * 128, "\udcff")
        ),
    ],
    "wendy": [
        (wendy.COMMAND, {"type": "join", "contact": "nowhere"}, "contact"),
        (wendy.COMMAND, {"type": "join", "contact": 5}, "contact"),
        (wendy.COMMAND, {"type": "join", "contact": "a:0"}, "contact"),
        (wendy.COMMAND, {"type": "route", "key": "40", "value": None}, "key"),
        (wendy.COMMAND, {"type": "route", "key": KEY, "value": "xy"}, "value"),
        (wendy.COMMAND, {"type": "route", "key": KEY, "value": 5}, "value"),
        (wendy.COMMAND, {"type": "route", "key": KEY, "value": None, "purpose": 7}, "purpose"),
        (wendy.CONFIG, {"id": KEY, "leaf_set_side": 17}, "leaf_set_side"),
        (wendy.CONFIG, {"id": KEY, "region": "é" * 128}, "region"),
        (wendy.CONFIG, {"id": KEY, "region": "\ud800"}, "region"),
    ],
    "peter": [  # what Wendy offers to trees is not offered to applications on trees
        (peter.COMMAND, {"type": "subscribe", "topic": 5}, "topic"),
        (peter.COMMAND, {"type": "publish", "topic": TEXT, "value": None}, "value"),
        (peter.COMMAND, {"type": "publish", "topic": TEXT, "value": "xy"}, "value"),
        (peter.COMMAND, {"type": "forward", "message": {}}, "type"),
        (peter.COMMAND, {"type": "send_to", "key": KEY}, "type"),
    ],
    "distkv": [
        *((PATH, plain, r"\w") for plain in ("a", [["a"]], ["a", None], [{"$float": "nan"}], ["\ud800"], [2**64])),
        *((VALUE, {"$bin": wrong}, r"\w") for wrong in ("f", "FG")),
        *((VALUE, {"$int": wrong}, r"\w") for wrong in ("x", "--1", "9" * 30)),
        *((VALUE, {"$map": wrong}, r"\w") for wrong in ([[1]], [[1, 2], [1, 3]])),
        *((VALUE, plain, r"\w") for plain in ({"$bin": "ff", "a": 1}, {"$float": "x"}, {"$ext": [200, ""]})),
        *((VALUE, plain, r"\w") for plain in ({"$what": 1}, {1: 2}, {1, 2}, 2**64, "\ud800")),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("protocol", "form", "plain", "problem"), rows(PLAIN))
def test_plain_data_that_shows_no_value_is_refused(protocol: str, form: Any, plain: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        form.value(plain)


def of_length(length: int) -> Chain:
    return Chain(tuple(Element(NodeId(f"n{number}"), 1) for number in range(length)))


CELL = wendy.Entry(8, 15, OTHER)

#: Messages that no bytes can hold. [WA-66]
MESSAGES: dict[str, list[Any]] = {
    "scuttlebutt": [
        Delta((DeltaEntry(NodeId("é" * 128), "k", "v", 1),)),
        Delta((DeltaEntry(NodeId("a"), "é" * 128, "v", 1),)),
        Delta((DeltaEntry(NodeId("a"), "k", "é" * 128, 1),)),
    ],
    "swim": [
        *(
            swimming.ping(B, 1, 1, swim.Joining(B, swim.Incarnation(1, 1), host, 5001))
            for host in ("", "x" * 256, "é" * 128, "\udcff")
        ),
        *(swimming.ping(B, counter, 1) for counter in (-1, COUNTER_MAX + 1)),
    ],
    "wendy": [
        *(Application(HEADER, purpose, None) for purpose in (7, 256)),
        Application(HEADER, 16, b"x" * (MOST_VALUE + 1)),
        NodeJoin(replace(HEADER, credentials=b"x" * (MOST_CREDENTIALS + 1))),
        NodeJoin(replace(HEADER, sender=OWN._replace(region="<" * 43))),
        Heartbeat(replace(HEADER, key=Id(2**128))),
        Heartbeat(replace(HEADER, hop=MOST_HOPS + 1)),
        Heartbeat(replace(HEADER, versions=Versions(0, MOST_VERSION + 1, 0))),
        Heartbeat(replace(HEADER, sender=OWN._replace(port=65536))),
        Heartbeat(replace(HEADER, sender=OWN._replace(region="é" * 128))),
        Heartbeat(replace(HEADER, sender=OWN._replace(local_ip="\ud800"))),
        NodeRace(HEADER, Tables(routing_table=(CELL,) * 2)),
        NodeRace(HEADER, Tables(routing_table=(CELL._replace(row=32),))),
        NodeRace(HEADER, Tables(routing_table=(CELL._replace(column=16),))),
        NodeRace(HEADER, Tables(leaf_set=LeafSet((OTHER,) * 17))),
        NodeRace(HEADER, Tables(neighborhood_set=(OTHER,) * 33)),
        NodeRepair(HEADER, Mask(routing_table=True, rows=(32,))),
        NodeRepair(HEADER, Mask(routing_table=True, columns=(16,))),
    ],
    "peter": [
        peter.PublishMessage(HEADER, b"x" * (MOST_VALUE + 1)),
        peter.SubscribeMessage(replace(HEADER, credentials=b"x" * (MOST_CREDENTIALS + 1))),
    ],
    "distkv": [
        *(distkv.Ping(wrong, 1) for wrong in (of_length(ELEMENTS_MAX + 1), Chain(), Chain(cut=True))),
        *(distkv.Info(chain("a1"), 1, reason=wrong) for wrong in (of_length(ELEMENTS_MAX + 1), Chain(), Chain(cut=True))),
        *(update(text) for text in ("a1 b?", "a1 a2", "…")),
        *(ping("a1", tock) for tock in (-1, TICK_MAX + 1, 2**64)),
        distkv.Ping(Chain((Element(NodeId("\ud800"), 1),)), 1),
        distkv.Info(chain("a1"), 1, ticks=ticks(b=-1)),
    ],
}


@pytest.mark.parametrize(("protocol", "message"), rows({name: [(one,) for one in some] for name, some in MESSAGES.items()}))
def test_a_message_that_no_bytes_can_hold_is_not_written(protocol: str, message: Any) -> None:
    with pytest.raises(NotEnabled):
        SPECIFICATIONS[protocol].MESSAGE.encode(message)


SELF = "none of them the node itself"

#: States that no node can be in. [PA-04, PA-30, WA-52]
STATES: dict[str, list[tuple[Any, str]]] = {
    "wendy": [
        (node("40", right="40"), "tables without the node itself"),
        (replace(node("40"), routing_table=Table({(0, 3): peer("50")})), "nodes in their own cells"),
        (node("40", right="50 41"), "the nearest first"),
        (node("40", right="41 41"), "different nodes"),
        (node("40", right=" ".join(f"41{i:02x}" for i in range(17))), "at most 16"),
        (node("40", left="41"), "lower ids on the left"),
        (node("40", right="3f"), "greater ids on the right"),
        (node("40", near="41 42", scores={"41": 9, "42": 8}), "best scores first"),
        (node("40", near="41 41"), "different nodes"),
        (node("40", near=" ".join(f"41{i:02x}" for i in range(33))), "at most 32"),
    ],
    "peter": [
        *((stacked(node("40"), {T: kept}), "only topics that the node or a child wants") for kept in (row(), row(par="c0"))),
        *((stacked(node("40"), {T: kept}), SELF) for kept in (row(ch="40"), row(True, par="40"))),
        (stacked(node("40"), {T: row(True)._replace(parent=peer("c0")._replace(port=0))}), "addresses of their own"),
        (stacked(node("40", right="40")), "without the node itself"),
        *(
            (stacked(replace(node("40"), routing_table=Table({(0, 5): nowhere}))), "tables of nodes with addresses of their own")
            for nowhere in (peer("50")._replace(port=0), peer("50")._replace(local_ip="n40", global_ip="n40"))
        ),
    ],
}


@pytest.mark.parametrize(("protocol", "wrong", "problem"), rows(STATES))
def test_a_state_that_no_node_can_be_in_is_refused(protocol: str, wrong: Any, problem: str) -> None:
    form = SPECIFICATIONS[protocol].STATE

    with pytest.raises(MalformedMessage, match=problem):
        form.value(form.plain(wrong), wrong.self_id, wrong.config)


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("a row twice", {"rows": [ROW] * 2}),
        ("a row of itself", {"rows": [{**ROW, "uuid": uuid_of(NodeId("a:1"))}]}),
        ("an event twice", {"queue": [{"event": {"type": "normal", "node": B}, "recipients": []}] * 2}),
    ],
)
def test_plain_data_of_no_node_of_swim_is_refused(name: str, members: dict[str, Any]) -> None:
    with pytest.raises(MalformedMessage):
        swim.STATE.value({"incarnation": ONE, **members}, NodeId("a:1"), swim.Config(uuid_of(NodeId("a:1"))))


def test_too_many_children_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PA-29]"""
    monkeypatch.setattr("peerproof.spec.peter.snapshot.MOST_CHILDREN", 2)
    few, many = (stacked(node("40"), {T: row(ch=children), U: row(ch="a0")}) for children in ("a0", "a0 90"))

    assert peter.STATE.value(peter.STATE.plain(few), few.self_id, few.config) == few
    with pytest.raises(MalformedMessage, match="at most 2 children"):
        peter.STATE.value(peter.STATE.plain(many), many.self_id, many.config)


def test_a_topic_that_has_no_bytes_is_refused() -> None:
    """[PA-03]"""
    with pytest.raises(NotEnabled, match="UTF-8") as refused:
        peter.id_of_topic("\ud800" * 16)

    assert refused.value.reason == "bad_value"


@pytest.mark.parametrize(
    "text", ["", "0" * 31, "0" * 33, "0x" + "0" * 30, "0" * 31 + "g", " " + "0" * 31, "0" * 15 + "_" + "0" * 16, "٠" * 32]
)
def test_anything_but_32_digits_is_no_id(text: str) -> None:
    with pytest.raises(NotEnabled):
        wendy.id_of_text(text)


def test_fewer_than_16_bytes_are_no_id() -> None:
    """[WA-49]"""
    with pytest.raises(NotEnabled):
        wendy.id_of_bytes(b"0123456789abcde")


@pytest.mark.parametrize(("digits", "bits"), [(0, 4), (32, 0), (33, 4), (32, 5)])
def test_an_id_has_some_bits_and_at_most_128(digits: int, bits: int) -> None:
    with pytest.raises(ValueError, match="at most 128 bits"):
        wendy.Ring(digits, bits)


LARGE = b"x" * (MOST_VALUE + 1)
CREDENTIALS = replace(header("41", "51"), credentials=b"x" * 1025)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        *((wendy.Route(h("51"), None, purpose), "bad_value") for purpose in (-1, 0, 7, 256)),
        (wendy.Route(h("50"), LARGE), "too_large"),
        (wendy.Forward(Application(CREDENTIALS, 16, b"hello")), "too_large"),
        (wendy.Join(place("41")), "not_alone"),
        (wendy.SendTo(peer("60")._replace(port=0), h("51"), b"x", 20), "bad_value"),
        (wendy.SendTo(peer("60")._replace(local_ip="", global_ip=""), h("51"), b"x", 20), "bad_value"),
        (wendy.SendTo(peer("40"), h("51"), b"x", 20), "bad_value"),
        (wendy.SendTo(peer("60"), h("51"), b"x", 7), "bad_value"),
        (wendy.SendTo(peer("60"), h("51"), LARGE, 20), "too_large"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_a_node_of_wendy_cannot_do_is_refused(command: Any, reason: str) -> None:
    """[WA-55, WA-59, WA-66, WA-73]"""
    with pytest.raises(NotEnabled) as refused:
        asked(node("40", right="50 60", cells="50"), command)

    assert refused.value.reason == reason
