"""Traces as TLC reads them: strings are numbers in the order of their bytes, and what does not fit is marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.sample_forms import FORM, PAIR, SHAPE, Colour, Pair, Shape

from peerproof.spec import scuttlebutt, wendy
from peerproof.spec.core import NodeId, Specification, Table
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.forms import NODE, PATH, PING_CHAIN, SETS, TICKS, VALUE
from peerproof.spec.distkv.ranges import of_ticks
from peerproof.spec.forms.form import U64, Flag, Form, Integer, Optional, Text, text
from peerproof.spec.peter.forms import TopicText
from peerproof.spec.swim.forms import TransitMap
from peerproof.spec.traces.trace import Line
from peerproof.spec.wendy.forms import IdText, Octets
from peerproof.tla.traces.trace_data import TLC_INTEGER_MAX, TooLarge, TraceData, tokens

SPEC: Specification = scuttlebutt

N1 = NodeId("n1")

TWO = text(b"\x92\x01\xc0")  # 1 and Null

START = Line("r", "scuttlebutt", "test", "n:1", 0, 0, "start", None, {"seeds": []}, (), (), None)
HEARD = replace(START, seq=1, kind="recv", peer="p:1", args={"type": "delta", "entries": []})


@pytest.mark.parametrize(
    ("form", "value", "written"),
    [
        (U64(), 5, "5"),
        (Integer(), TLC_INTEGER_MAX, "2147483647"),
        (Text(most=9), "a", "<a>"),
        (Flag(), True, "?1"),
        (Flag(), False, "?0"),
        (IdText(), 10, f"<{'0' * 31}a>"),
        (Octets(), b"\x0a", "<0a>"),
        (TopicText(), "é\ud800", "<é\udced\udca0\udc80>"),
        (TransitMap(), '{"~:a":1}', '<{"~:a":1}>'),
        (NODE, "n1", "<n1>"),
        (VALUE, b"\x92\x01\xc0", f"<{TWO}>"),
        (PATH, b"\x92\x01\xc0", f"<{TWO}>"),
        (SETS, Table({N1: of_ticks((1, 2, 5))}), "( ( <n1> ( ( 1 3 ) ( 5 6 ) ) ) )"),
        (TICKS, Table({N1: 5, NodeId("n2"): 0}), "( ( <n1> 5 ) ( <n2> 0 ) )"),
        (PING_CHAIN, Chain((Element(N1, 3), Element(N1, None)), cut=True), "( ( ( <n1> ( 3 ) ) ( <n1> ( ) ) ) ?1 )"),
        (Optional(Integer()), None, "( )"),
        (Optional(Integer()), 3, "( 3 )"),
        (PAIR, Pair("a", 1), "( <a> 1 )"),
        (SHAPE, Shape(Colour.RED, (Pair("a", 1),)), "{ colour 'red corners ( ( <a> 1 ) ) label ( ) }"),
        (FORM, Shape(Colour.RED, label="b"), "{ type 'shape colour 'red corners (  ) label ( <b> ) }"),
    ],
)
def test_a_value_is_written_by_its_form(form: Form, value: Any, written: str) -> None:
    assert tokens(form, lambda text: f"<{text}>")(value) == written
    with pytest.raises(TooLarge, match="the integer 2147483648"):
        tokens(U64(), str)(TLC_INTEGER_MAX + 1)


def test_a_form_of_a_protocol_must_be_a_text_a_number_or_a_flag_to_be_written() -> None:
    class Odd(Form):
        """A form whose plain data is a list."""

    with pytest.raises(TypeError, match=r"TLC has no representation of \[1\]"):
        tokens(Odd(), str)([1])


def test_strings_are_numbered_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    data = TraceData(SPEC, 10)
    for seq, name in enumerate(["b", "\udcff", "a", "\U0001f600", "é", "", "b"]):
        data.add(replace(START, seq=seq, node="b", kind="recv", peer=name, args={"type": "delta", "entries": []}))

    data.write(tmp_path)

    count, *rows = (tmp_path / "strings").read_text(encoding="ascii").splitlines()
    peers = [event.split(" peer ")[1].split()[0] for event in (tmp_path / "events").read_text(encoding="ascii").splitlines()]
    assert count == "7"
    assert peers == ["$0", "$1", "$2", "$3", "$4", "$5", "$0"]
    # ranks and bytes of b, ff, a, the face, é, and nothing
    assert rows == ["3 .62", "6 .ff", "2 .61", "5 .f09f9880", "4 .c3a9", "1 ."]


def written(line: Line) -> str:
    """What TLC is told of one line."""
    data = TraceData(SPEC, 10)
    data.add(line)
    (trace,) = data.traces.values()
    (event,) = trace.events
    return event


HEARTBEAT: Any = {"notify": {"type": "heartbeat", "peer": "p:1", "round_trip": None}}
SENT: Any = {"send": {"to": "p:1", "message": {"type": "delta", "entries": []}}}


def timer(after: Any) -> Any:
    """The effect that sets one."""
    return {"set_timer": {"timer": {"type": "round"}, "after": after}}


@pytest.mark.parametrize(
    "members",
    [
        {"kind": "tick"},
        {"args": {"type": "gossip"}},
        {"args": None},
        {"kind": "start", "args": {"interval": 0}},
        {"effects": ("nothing",)},
        {"effects": ({"send": {"to": "p:1"}},)},
        {"effects": ({"send": SENT["send"] | {"more": 1}},)},
        {"effects": (HEARTBEAT | {"send": {}},)},
        {"effects": ({"notify": {"type": "update", "peer": "p", "key": "k", "value": "v", "version": 1}},)},  # should be "1"
        {"effects": (timer(1.5),)},
        {"effects": (timer(float("inf")),)},
        {"picks": (("not a word'", ()),)},
        {"refused": "not a word"},
        {"refused": ""},
    ],
)
def test_what_is_no_event_of_the_protocol_is_marked(members: dict[str, Any]) -> None:
    assert "readable 'no args ( ) picks ( ) effects ( ) refused '" in written(replace(HEARD, **members))


def test_an_event_is_a_record_of_what_happened_and_what_was_done() -> None:
    line = replace(HEARD, picks=(("somewhere", ("p:1", 4)),), effects=(HEARTBEAT, timer(9)), refused="too_large")

    assert written(line) == (
        "node $0 seq 1 kind 'recv peer $1 readable 'yes args { type 'delta entries (  ) } picks ( ( 'somewhere ( $1 -5 ) ) )"
        " effects ( { effect 'notify notice { type 'heartbeat peer $1 round_trip ( ) } }"
        " { effect 'set_timer timer { type 'round  } after 9 } ) refused 'too_large"
    )


@pytest.mark.parametrize(("took", "written_as"), [(8000, "( 8000 )"), (None, "( )")])
def test_what_became_of_a_message_is_a_record_of_it_and_of_how_long_it_took(took: int | None, written_as: str) -> None:
    message = wendy.MESSAGE.plain(wendy.NodeExit(wendy.Header(wendy.Node(wendy.Id(1), "n", "n", 1), wendy.Id(1))))
    sent = replace(HEARD, protocol="wendy", kind="sent", args={"took": took, "message": message})
    data = TraceData(wendy, 1)
    data.add(sent)

    ((event,),) = [trace.events for trace in data.traces.values()]
    assert "kind 'sent peer $1 readable 'yes args { message { type 'node_exit " in event
    assert f" took {written_as} }}" in event


def test_json_has_one_number_for_1_and_1_0() -> None:
    assert "after 1000 }" in written(replace(HEARD, effects=(timer(1000.0),)))


def test_a_trace_ends_where_it_cannot_be_told_and_the_others_go_on() -> None:
    data = TraceData(SPEC, 4)
    large = replace(HEARD, args={"type": "digest_request", "entries": [{"addr": "p:1", "version": str(2**31)}]})
    for line in (START, large, HEARD, replace(START, node="m:1"), *[replace(HEARD, node="m:1", seq=seq) for seq in (1, 2, 3)]):
        data.add(line)

    first, second = data.traces.values()

    assert (len(first.events), len(second.events), data.events) == (1, 3, 4)
    assert first.ends == "the line with seq 1 has the integer 2147483648, and TLC's integers end at 2^31 - 1"
    assert second.ends == "at most 4 events are passed to TLC"
