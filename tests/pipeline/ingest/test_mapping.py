"""Mappings: what a foreign log's lines become, and how a mistake in a mapping is told."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.conformance.captures.refusals import REASONS, Unreadable
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.traces.events import Event, canonical_json, event_of
from peerproof.pipeline.ingest import trace_lines
from peerproof.pipeline.ingest.fields import MOST_UNLISTED, Names
from peerproof.pipeline.ingest.foreign_lines import UNNUMBERED, ForeignLines
from peerproof.pipeline.ingest.mapping import load
from peerproof.spec import wendy
from peerproof.spec.traces.trace import Line, parse

PAGE = (Path(__file__).parents[3] / "docs/how-to/ingest-logs.md").read_text(encoding="utf-8")

MAPPING = """\
format: 1
protocol: scuttlebutt
impl: {field: version, default: gossipd}
run: {field: cluster}
node: {field: node}
names: {alpha: "a:1", beta: "b:1"}
time: {field: t, unit: ms}
seq: {field: nr}
ignore:
- {field: level, in: [debug, 7]}
- {field: note, matches: "^heart"}
events:
- when:
  - {field: [ev.kind], is: got}
  - {field: from, missing: false}
  kind: recv
  peer: {field: from}
  bytes: {field: data.raw, encoding: hex}
- when: {field: [ev.kind], is: put}
  kind: send
  peer: {field: to.0}
  message:
    type: delta
    entries: {each: pairs, as: {addr: {field: who, named: true}, key: {field: k, values: {"1": color}}, value: x, version: 3}}
- when: {field: [ev.kind], is: set}
  kind: api
  args: {type: update_local, key: {field: k}, value: {field: v, default: ""}}
  refused: {field: err, default: none}
- when: {field: [ev.kind], is: view}
  kind: state
  args: {all: {field: .}}
  state: {field: hash}
"""

LINE = {"cluster": "c", "node": "alpha", "t": 5, "nr": 7}


def made(line: dict[str, Any], mapping: str = MAPPING) -> Event | None:
    """The event of a line."""
    return ForeignLines(load(mapping.encode(), "m.yaml"), "log")(json.dumps(line).encode(), "f", 9)


def row(line: dict[str, Any], mapping: str = MAPPING) -> Event:
    """The event of a line that has one."""
    event = made(line, mapping)
    assert event is not None
    return event


def test_bytes_of_a_message_are_kept_and_decoded() -> None:
    """Its plain data can be had from them, so it is not there twice."""
    event = row({**LINE, "ev.kind": "got", "from": "beta", "data": {"raw": "03"}})

    assert event == Event(
        "c", "scuttlebutt", "gossipd", "a:1", 7, 5000, "recv", "b:1", "delta", 1, b"\x03", None, None, None, None, None, "f", 9
    )


def test_plain_data_of_a_message_is_what_vectors_show() -> None:
    """Made from lists in the line, names looked up, numbers as the codec shows them."""
    event = row({**LINE, "ev.kind": "put", "to": ["c:1"], "pairs": [{"who": "beta", "k": 1}, {"who": "d:1", "k": "1"}]})

    assert (event.kind, event.peer, event.msg_type, event.payload) == ("send", "c:1", "delta", None)
    assert json.loads(event.args or "") == {
        "type": "delta",
        "entries": [{"addr": addr, "key": "color", "value": "x", "version": "3"} for addr in ("b:1", "d:1")],
    }


def test_commands_and_states_are_events() -> None:
    """A refusal and a hash, where the log has them."""
    command = row({**LINE, "ev.kind": "set", "k": "x", "version": 2})
    state = row({**LINE, "ev.kind": "view", "hash": "00ff"})

    assert (command.kind, command.impl, command.refused, command.msg_type) == ("api", "2", "none", "update_local")
    assert json.loads(command.args or "") == {"type": "update_local", "key": "x", "value": ""}
    assert (state.kind, state.state_hash) == ("state", "00ff")
    assert json.loads(state.args or "")["all"]["node"] == "alpha"


SENT = """\
format: 1
protocol: wendy
node: {field: node}
time: {field: t, unit: ms}
events:
- when: {field: ev, is: failed}
  kind: sent
  peer: {field: to}
  bytes: {field: raw, encoding: base64}
- kind: sent
  peer: {field: to}
  took: {field: rtt, unit: ms}
  message: {type: heartbeat, header: {field: header}}
"""
HEADER = {
    "sender": {"id": "1" * 32, "local_ip": "h", "global_ip": "h", "port": 1, "region": ""},
    "key": "1" * 32,
    "versions": {"routing_table": "0", "leaf_set": "0", "neighborhood_set": "0"},
    "credentials": None,
    "hop": 0,
}


@pytest.mark.parametrize(
    ("part", "took"),
    [({"rtt": 1.5}, 1500), ({"rtt": None}, None), ({}, None), ({"ev": "failed", "rtt": 3}, None)],
    ids=["arrived", "null", "not there", "a line that says so"],
)
def test_what_became_of_a_message_is_an_event(part: dict[str, Any], took: int | None) -> None:
    codec = wendy.MESSAGE
    message = {"type": "heartbeat", "header": HEADER}
    raw = b64encode(codec.encode(codec.value(message))).decode()

    event = row({"node": "a:1", "t": 5, "to": "b:1", "header": HEADER, "raw": raw, **part}, SENT)

    assert (event.kind, event.peer, event.msg_type, event.payload) == ("sent", "b:1", "heartbeat", None)
    assert json.loads(event.args or "") == {"took": took, "message": message}


@pytest.mark.parametrize(
    ("part", "reason", "detail"),
    [
        ({"rtt": "x"}, "bad_field", "'rtt': expected a number of ms, found 'x'"),
        ({"header": 3}, "not_a_message", "header"),
        ({"ev": "failed", "raw": "AA=="}, "not_a_message", "node a:1 sent bytes that are no message: truncated"),
    ],
)
def test_what_became_of_nothing_is_set_aside(part: dict[str, Any], reason: str, detail: str) -> None:
    with pytest.raises(Unreadable) as caught:
        made({"node": "a:1", "t": 5, "to": "b:1", "header": HEADER, "rtt": 1, **part}, SENT)

    assert caught.value.reason == reason
    assert detail in caught.value.detail


@pytest.mark.parametrize("part", [{"level": "debug"}, {"level": 7}, {"note": "heartbeat"}])
def test_ignored_lines_are_no_events(part: dict[str, Any]) -> None:
    """Whatever else is in them."""
    assert made({**LINE, **part}) is None


@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ({"ev.kind": "what"}, "unmatched", "no event of the mapping fits"),
        ({"ev.kind": "got", "from": None}, "unmatched", "no event of the mapping fits"),
        ({"level": "7", "ev.kind": "what"}, "unmatched", "no event"),
        ({"data": {"raw": "zz"}}, "bad_field", "'data.raw': expected bytes in hex, found 'zz'"),
        ({"data": {"raw": 3}}, "bad_field", "'data.raw': expected bytes in hex, found 3"),
        ({"data": {"raw": "09"}}, "not_a_message", " received bytes that are no message: bad_type: 9 is no message type"),
        ({"data": 3}, "missing_field", "no field 'data.raw'"),
        ({"t": "x"}, "bad_field", "'t': expected a number of ms, found 'x'"),
        ({"t": -1}, "bad_field", "-1000 microseconds is not a time"),
        ({"t": 10**30}, "bad_field", "microseconds is not a time"),
        ({"nr": -1}, "bad_field", "'nr': expected an integer from 0 to 2^53, found -1"),
        ({"nr": True}, "bad_field", "'nr': expected an integer"),
        ({"node": None}, "bad_field", "expected a text, found None"),
        ({"ev.kind": "put", "to": [], "pairs": []}, "missing_field", "no field 'to.0'"),
        ({"ev.kind": "put", "to": ["x"], "pairs": 3}, "bad_field", "'pairs': expected a list or an object, found 3"),
        ({"ev.kind": "put", "to": ["x"], "pairs": [{"who": "x", "k": 2}]}, "bad_field", "'k': expected one of 1, found 2"),
        (
            {"ev.kind": "put", "to": ["x"], "pairs": [{"who": [], "k": 1}]},
            "not_a_message",
            " sent something that is no message: bad_value: entries[0]",
        ),
        ({"ev.kind": "set", "k": 3}, "bad_field", "not a valid api of scuttlebutt: key: expected a string"),
    ],
)
def test_line_that_does_not_fit_has_a_reason(change: dict[str, Any], reason: str, detail: str) -> None:
    """It names the field, what was expected and what was found."""
    line = {**LINE, "ev.kind": "got", "from": "beta", "data": {"raw": "03"}, **change}

    with pytest.raises(Unreadable) as unreadable:
        made(line)

    assert unreadable.value.reason == reason
    assert detail in unreadable.value.detail


@pytest.mark.parametrize(
    ("time", "value", "microseconds"),
    [
        ("unit: s", 1714557600.25, 1714557600250000),
        ("unit: s", "1714557600.25", 1714557600250000),
        ("unit: ns", 1714557600123456789, 1714557600123456),
        ("unit: us", "17", 17),
        ("format: iso8601", "2024-05-01T10:00:00Z", 1714557600000000),
        ("format: iso8601", "2024-05-01T12:00:00.123456789+02:00", 1714557600123456),
        ("format: iso8601", "2024-05-01 10:00:00", 1714557600000000),
        ('format: "%d/%b/%Y:%H:%M:%S %z"', "01/May/2024:12:00:00 +0200", 1714557600000000),
    ],
)
def test_times_are_microseconds(time: str, value: Any, microseconds: int) -> None:
    """Numbers in a unit, or dates; UTC if there is no zone."""
    mapping = MAPPING.replace("unit: ms", time)

    assert row({**LINE, "t": value, "ev.kind": "view", "hash": "0"}, mapping).t_us == microseconds


@pytest.mark.parametrize("encoding", ["hex", "base64", "base64url"])
@given(data=st.binary(max_size=30))
def test_bytes_are_read_in_every_encoding(encoding: str, data: bytes) -> None:
    """With and without padding."""
    import base64

    from peerproof.pipeline.ingest import fields

    for text in {
        "hex": [data.hex(), data.hex().upper()],
        "base64": [base64.b64encode(data).decode(), base64.b64encode(data).decode().rstrip("=")],
        "base64url": [base64.urlsafe_b64encode(data).decode(), base64.urlsafe_b64encode(data).decode().rstrip("=")],
    }[encoding]:
        assert fields.octets(lambda line: line, encoding, "x")(text) == data


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("format: 1", "format: 2", "m.yaml:1:9: expected 1, found 2"),
        ("protocol: scuttlebutt", "protocol: scutlebutt", "m.yaml:2:11: expected"),
        ("impl:", "implementation:", "m.yaml:3:1: unknown field 'implementation'"),
        ("node: {field: node}\n", "", "m.yaml:1:1: missing field 'node'"),
        ("node: {field: node}", "node: 3", "m.yaml:5:7: expected a text or {field: …}, found 3"),
        ('beta: "b:1"', "beta: 3", "m.yaml:6:29: expected a node's address, found 3"),
        ("unit: ms", "unit: minutes", "m.yaml:7:24: expected one of s, ms, us, ns, found 'minutes'"),
        (", unit: ms", "", "m.yaml:7:7: expected exactly one of unit, format; found none"),
        ("unit: ms", "format: rfc3339", "expected iso8601 or a format of strptime, as '%Y-%m-%d %H:%M:%S.%f'; found 'rfc3339'"),
        ("seq: {field: nr}", "seq: {field: nr}\norder: time", "m.yaml:9:8: 'order' and 'seq' exclude each other"),
        ("seq: {field: nr}", "order: number", "m.yaml:8:8: expected one of time, file, found 'number'"),
        ("in: [debug, 7]", "in: debug", "m.yaml:10:22: expected a list of at least one, found 'debug'"),
        ('"^heart"', '"(heart"', "m.yaml:11:26: expected a regular expression, found '(heart'"),
        ("missing: false", "missing: perhaps", "m.yaml:15:28: expected one of true, false, found 'perhaps'"),
        ("is: put", "equals: put", "m.yaml:19:28: unknown field 'equals'; expected one of field, is, in, matches, missing"),
        ("is: put", "is: put, in: [x]", "m.yaml:19:9: expected exactly one of is, in, matches, missing; found is and in"),
        ("kind: send", "kind: snd", "m.yaml:20:9: expected one of start, recv, send, sent, timer, api, state, found 'snd'"),
        ("  peer: {field: from}\n", "", "m.yaml:13:3: an event of kind recv needs a field 'peer'"),
        ("encoding: hex", "encoding: octal", "m.yaml:18:38: expected one of hex, base64, base64url, found 'octal'"),
        ("  bytes:", "  args: {}\n  bytes:", "m.yaml:18:3: an event of kind recv has no args"),
        ("as: {addr", "for: {addr", "unknown field 'for'; expected one of each, as"),
        ("{field: who, named: true}", "{field: who, named: yes}", "write true or false"),
        ("{field: who, named: true}", "{field: [who, 3], named: true}", "expected the name of a field, a.b for one within"),
        ("state: {field: hash}", "refused: {field: hash}", "an event of kind state has no refused"),
        ("events:", "events: []\nrules:", "m.yaml:13:1: unknown field 'rules'"),
        ("events:", "events: &x", "anchors are not allowed"),
        ("rtt, unit: ms", "rtt, unit: h", "m.yaml:12:28: expected one of s, ms, us, ns, found 'h'"),
        ("sent\n  peer: {field: to}\n  took", "recv\n  peer: {field: to}\n  took", "12:3: an event of kind recv has no took"),
    ],
)
def test_mistake_in_a_mapping_is_told_with_its_place(before: str, after: str, message: str) -> None:
    """File, line, column, what is wrong and what was expected."""
    mapping = MAPPING if before in MAPPING else SENT
    assert before in mapping

    with pytest.raises(VectorError) as wrong:
        load(mapping.replace(before, after, 1).encode(), "m.yaml")

    assert message in str(wrong.value)


def test_mapping_of_the_page_reads_the_log_of_the_page() -> None:
    """Every kind of line in it."""
    (mapping,) = re.findall(r"```yaml[^\n]*\n(format.*?)```", PAGE, re.DOTALL)
    (log,) = re.findall(r"```json[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    make = ForeignLines(load(mapping.encode(), "mapping.yaml"), "log")

    found = [make(line.encode(), "gossipd.log", 0) for line in log.splitlines()]

    kinds = [event and (event.kind, event.node, event.peer, event.msg_type) for event in found]
    assert kinds == [
        ("start", "10.0.0.1:8119", None, None),
        ("api", "10.0.0.1:8119", None, "update_local"),
        None,
        ("timer", "10.0.0.1:8119", None, "round"),
        ("send", "10.0.0.1:8119", "10.0.0.2:8119", "digest_request"),
        ("recv", "10.0.0.2:8119", "10.0.0.1:8119", "digest_request"),
    ]
    assert {event.seq for event in found if event} == {UNNUMBERED}
    assert found[5] is not None
    assert found[5].args == '{"type":"digest_request","entries":[{"addr":"10.0.0.1:8119","version":"1"}]}'
    with pytest.raises(VectorError, match=re.escape(re.findall(r"`(mapping\.yaml:[^`]*)`", PAGE)[0])):
        load(mapping.replace("iso8601", "rfc3339").encode(), "mapping.yaml")


def test_page_explains_every_reason() -> None:
    """Each word that `quarantine` can hold has its row."""
    assert [reason for reason, meaning in REASONS.items() if f"| `{reason}` | {meaning} |" not in PAGE] == []


texts = st.text(max_size=8) | st.binary(max_size=4).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
trace = st.builds(
    Line,
    run=texts,
    protocol=st.just("scuttlebutt"),
    impl=texts,
    node=texts,
    seq=st.integers(0, 2**53),
    t_us=st.integers(0, 2**53),
    kind=st.sampled_from(["start", "recv", "timer", "api"]),
    peer=st.none() | texts,
    args=plain,
    picks=st.lists(st.tuples(st.text(max_size=5), st.lists(texts | st.integers(0, 9), max_size=3).map(tuple)), max_size=2).map(
        tuple
    ),
    effects=st.lists(st.dictionaries(st.text(max_size=4), plain, min_size=1, max_size=1), max_size=2).map(tuple),
    state=st.none() | texts,
    refused=st.none() | texts,
)


@pytest.mark.slow
@given(trace)
def test_trace_lines_are_read_as_the_specification_reads_them(line: Line) -> None:
    """The fast way and the slow one give the same row, of texts that are not UTF-8 too."""
    text = line.json()

    assert trace_lines.event(text.encode(), "f", 3) == event_of(parse(text), None, "f", 3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seq": -1}, "not_a_trace_line"),
        ({"seq": 1.5}, "not_a_trace_line"),
        ({"kind": "send"}, "not_a_trace_line"),
        ({"more": 1}, "not_a_trace_line"),
        ({"picks": [["a"]]}, "not_a_trace_line"),
        ({"effects": [3]}, "not_a_trace_line"),
        ({"peer": {"hex": "zz"}}, "not_a_trace_line"),
        ({"kind": "send", "node": {"hex": "ff"}}, "not_a_trace_line"),
        ({"protocol": "chord"}, "unknown_protocol"),
        ({"protocol": "chord", "node": {"hex": "ff"}}, "unknown_protocol"),
    ],
)
def test_line_that_is_no_trace_line_has_a_reason(change: dict[str, Any], reason: str) -> None:
    """A member too many, one of another type, a protocol that nobody specified."""
    line = Line("r", "scuttlebutt", "i", "n", 0, 0, "timer", None, {"type": "round"}, (), (), None)

    with pytest.raises(Unreadable) as unreadable:
        trace_lines.event(canonical_json({**json.loads(line.json()), **change}).encode(), "f", 0)

    assert unreadable.value.reason == reason


def test_names_without_an_entry_are_counted_up_to_a_limit_of_names() -> None:
    names = Names({"alpha": "a:1"})

    for _ in range(2):
        for number in range(MOST_UNLISTED + 1):
            assert names.address(f"web-{number}") == f"web-{number}"

    assert names.unlisted == {f"web-{number}": 2 for number in range(MOST_UNLISTED)}
