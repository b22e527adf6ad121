"""Traces: what is recorded can be read and replayed, and whatever is changed in it is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.watched import simulated

from peerproof.spec import core, scuttlebutt
from peerproof.spec.core import Asked, CancelTimer, Expired, Instant, NodeId, Notify, Pick, Received, Send, SetTimer, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import Config, Delta, DigestEntry, DigestRequest, Down, Round, UpdateLocal
from peerproof.spec.traces import trace
from peerproof.spec.traces.replay import Replay
from peerproof.spec.traces.trace import Line, WrongAnswer, describe_event, effect_plain, event_of, parse, recording, replay

SPEC: core.Specification = scuttlebutt
NOT_UTF_8 = NodeId("\udcff\udcfe")


def recorded(node: str, events: Iterable[Any], pick: Pick) -> list[Line]:
    """The lines of one node that starts and then gets these events."""
    config, lines = Config(), list[Line]()
    step = SPEC.initial(NodeId(node), config)

    def write(at: int, kind: Any, peer: str | None, args: Any, picks: Iterable[Any] = (), refused: str | None = None) -> None:
        effects = tuple(effect_plain(SPEC, effect) for effect in step.effects)
        named = "r1", "scuttlebutt", "test", node, len(lines)
        lines.append(Line(*named, at * 1000, kind, peer, args, tuple(picks), effects, fingerprint(step.state), refused))

    write(0, "start", None, SPEC.CONFIG.plain(config))
    for event in events:
        asked, answers = recording(pick)
        refused = None
        try:
            step = SPEC.step(step.state, event, asked)
        except NotEnabled as error:
            step, refused = Step(step.state), error.reason
        write(event.now, *describe_event(SPEC, event), answers, refused)
    return lines


#: A start, a recv with two new peers, an api, a timer with picks, a refused api.
EVENTS = (
    Received(Instant(5), NodeId("c:1"), DigestRequest((DigestEntry(NodeId("c:1"), 4), DigestEntry(NOT_UTF_8, 1)))),
    Asked(Instant(6), UpdateLocal("k", "v")),
    Expired(Instant(1000), Round()),
    Asked(Instant(1001), UpdateLocal("k" * 256, "v")),
    Received(Instant(1002), NodeId("c:1"), Delta(())),
)


@pytest.fixture
def lines(first: Pick) -> list[Line]:
    """The trace of one node through `EVENTS`."""
    return recorded("b:1", EVENTS, first)


def test_a_recorded_trace_agrees_with_the_specification(lines: list[Line]) -> None:
    assert [line.kind for line in lines] == ["start", "recv", "api", "timer", "api", "recv"]
    assert [line.refused for line in lines] == [None, None, None, None, "too_large", None]
    assert (lines[4].state, lines[4].effects) == (lines[3].state, ()), "a refused step changes nothing"
    assert [parse(line.json()) for line in lines] == lines
    assert list(replay(SPEC, lines)) == []


def test_a_line_is_the_json_that_the_documentation_shows(first: Pick) -> None:
    (_, line) = recorded("b:1", [Received(Instant(5), NodeId("c:1"), DigestRequest((DigestEntry(NodeId("c:1"), 4),)))], first)

    assert json.loads(line.json()) == {
        "run": "r1",
        "protocol": "scuttlebutt",
        "impl": "test",
        "node": "b:1",
        "seq": 1,
        "t_us": 5000,
        "kind": "recv",
        "peer": "c:1",
        "args": {"type": "digest_request", "entries": [{"addr": "c:1", "version": "4"}]},
        "picks": [],
        "effects": [
            {"notify": {"type": "join", "peer": "c:1"}},
            {"send": {"to": "c:1", "message": {"type": "delta", "entries": []}}},
            {"send": {"to": "c:1", "message": {"type": "digest_response", "entries": [{"addr": "c:1", "version": "0"}]}}},
        ],
        "state": line.state,
    }


def test_an_address_that_is_not_utf_8_is_hex_wherever_it_stands(first: Pick) -> None:
    # A hostile digest can name such an address; the node may then gossip with it.
    known = Received(Instant(5), NOT_UTF_8, DigestRequest((DigestEntry(NOT_UTF_8, 1),)))
    lines = recorded("b:1", [known, Expired(Instant(1000), Round())], first)

    shown = [json.loads(line.json().encode()) for line in lines]

    assert shown[1]["peer"] == {"hex": "fffe"}
    assert shown[2]["picks"] == [["round.partner", [{"hex": "fffe"}]], ["digest.order", ["b:1", {"hex": "fffe"}]]]
    assert shown[2]["effects"][0]["send"]["to"] == {"hex": "fffe"}
    assert [parse(line.json()) for line in lines] == lines
    assert list(replay(SPEC, lines)) == []


Change = Callable[[list[Line]], list[Line]]


def changed(at: int, **fields: Any) -> Change:
    """The trace with these fields of one line replaced."""
    return lambda lines: [*lines[:at], replace(lines[at], **fields), *lines[at + 1 :]]


def swapped(at: int) -> Change:
    """The trace with a line and the next one in the wrong order."""
    return lambda lines: [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]


def message_of_round(lines: list[Line]) -> Any:
    """The digest request of the round, with a version that the node does not have."""
    first, *others = lines[3].effects
    message = {"type": "digest_request", "entries": [{"addr": "b:1", "version": "9"}]}
    return ({"send": {**first["send"], "message": message}}, *others)


PLAIN = "plain data of the protocol"
GOSSIP = "type: expected one of digest_request, digest_response, delta, found 'gossip' (bad_value)"
CALL = "kind: expected start, recv, sent, timer or api, found 'call' (bad_value)"
NO_OUTCOME = "kind: a node of scuttlebutt does not learn whether a message has arrived (bad_value)"
NO_START = "kind: expected a start line first (bad_value)"
UP = {"notify": {"type": "up", "peer": "c:1"}}
HEARTBEAT = {"notify": {"type": "heartbeat", "peer": "c:1", "round_trip": 2}}

#: What is changed in a trace: how, the seq of the line that is blamed, what differs; what is expected and what is found.
PLANTED: dict[str, tuple[Any, ...]] = {
    "an effect too few": (changed(5, effects=()), 5, "effects", [HEARTBEAT], []),
    "an effect too many": (changed(2, effects=(UP,)), 2, "effects", [], [UP]),
    "a missing line": (lambda lines: [*lines[:2], *lines[3:]], 3, "seq", 2, 3),
    "a doubled line": (lambda lines: [*lines[:3], lines[2], *lines[3:]], 2, "seq", 3, 2),
    "two lines swapped": (swapped(2), 3, "seq", 2, 3),
    "a wrong fingerprint": (changed(2, state="0123456789abcdef"), 2, "state"),
    "a refusal that was none": (changed(2, refused="too_large"), 2, "refused", None, "too_large"),
    "a call that should have been refused": (changed(4, refused=None), 4, "refused", "too_large", None),
    "a refusal for another reason": (changed(4, refused="overflow"), 4, "refused", "too_large", "overflow"),
    "another message received": (changed(1, args={"type": "delta", "entries": []}), 1, "effects"),
    "another message sent": (lambda lines: changed(3, effects=message_of_round(lines))(lines), 3, "effects"),
    "another time": (changed(5, t_us=1_003_000), 5, "effects"),
    "another configuration": (changed(0, args={"interval": 999}), 0, "effects"),
    "a configuration out of bounds": (changed(0, args={"interval": 0}), 0, "args"),
    "no start, and not the first line": (lambda lines: lines[1:], 1, "seq", 0, 1),
    "a message of no type": (changed(1, args={"type": "gossip"}), 1, "args", PLAIN, GOSSIP),
    "an event of no kind": (changed(2, kind="call"), 2, "args", PLAIN, CALL),
    "news of a message that is a datagram": (
        lambda lines: changed(1, kind="sent", args={"took": None, "message": lines[1].args})(lines),
        1,
        "args",
        PLAIN,
        NO_OUTCOME,
    ),
    "no start": (lambda lines: [replace(lines[1], seq=0)], 0, "args", PLAIN, NO_START),
}

#: What the round in line 3 has asked, and was answered.
PARTNER, ALL = "1 of ['c:1', '\\udcff\\udcfe'] for round.partner", "3 of ['b:1', 'c:1', '\\udcff\\udcfe'] for digest.order"
PICKED, ORDER, SEED = ("round.partner", ("c:1",)), ("digest.order", ("b:1", "c:1", NOT_UTF_8)), ("round.seed", ("c:1",))
TWICE, NO_MORE = ("digest.order", ("b:1", "b:1", NOT_UTF_8)), "no further question"

#: Other answers in a line; what is expected and what is found.
PICKS: dict[str, tuple[int, tuple[Any, ...], str, str]] = {
    "at a refusal": (4, (SEED,), NO_MORE, "1 more answers, the next for round.seed"),
    "too many": (1, (SEED, SEED), NO_MORE, "2 more answers, the next for round.seed"),
    "that is not possible": (3, (("round.partner", ("b:1",)), ORDER), PARTNER, "['b:1'] for round.partner"),
    "at another place": (3, (SEED,), PARTNER, "['c:1'] for round.seed"),
    "of a number among texts": (3, (("round.partner", (1,)),), PARTNER, "[1] for round.partner"),
    "too few": (3, (PICKED,), ALL, "no more answers"),
    "of fewer options": (3, (PICKED, ("digest.order", ("b:1", "c:1"))), ALL, "['b:1', 'c:1'] for digest.order"),
    "of one option twice": (3, (PICKED, TWICE), ALL, "['b:1', 'b:1', '\\udcff\\udcfe'] for digest.order"),
    "too many after those asked for": (3, (PICKED, ORDER, SEED), NO_MORE, "1 more answers, the next for round.seed"),
}
PLANTED |= {f"a pick {what}": (changed(at, picks=picks), at, "picks", *told) for what, (at, picks, *told) in PICKS.items()}
PLANTED["another pick that is possible"] = (changed(3, picks=(("round.partner", (NOT_UTF_8,)), ORDER)), 3, "effects")


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_changed_in_a_trace_is_found_and_named(name: str, lines: list[Line]) -> None:
    change, seq, what, *told = PLANTED[name]
    wrong = change(lines)

    (divergence,) = replay(SPEC, wrong)

    assert (divergence.line.seq, divergence.what) == (seq, what)
    assert divergence.line in wrong
    assert divergence.expected != divergence.actual
    assert told in ([], [divergence.expected, divergence.actual])
    assert str(divergence).startswith(f"node b:1, seq {seq}: {what}: expected ")


def test_a_trace_without_fingerprints_is_judged_by_what_the_node_did(lines: list[Line]) -> None:
    bare = [replace(line, state=None) for line in lines]

    assert list(replay(SPEC, bare)) == []
    assert [d.what for d in replay(SPEC, changed(5, effects=())(bare))] == ["effects"]


def test_a_trace_is_replayed_as_it_comes(lines: list[Line]) -> None:
    def endless() -> Iterable[Line]:
        yield from changed(1, effects=())(lines)
        raise AssertionError("read on after the divergence was asked for")

    assert next(iter(replay(SPEC, endless()))).line.seq == 1


def test_the_lines_of_each_node_are_judged_alone(first: Pick) -> None:
    here, there = recorded("b:1", EVENTS, first), recorded("c:1", EVENTS[:4], first)
    wrong = changed(2, state="0123456789abcdef")(there)
    mixed = [line for pair in zip(here, wrong, strict=False) for line in pair]

    assert [(d.line.node, d.line.seq, d.what) for d in replay(SPEC, mixed)] == [("c:1", 2, "state")]


@pytest.mark.parametrize("config", [{"clock": 4}, {"max_payload": 100}, {"start": 2499}])
def test_a_configuration_whose_members_do_not_fit_together_is_named_and_not_a_crash(config: Any) -> None:
    start = Line("r", "distkv", "test", "n1", 0, 0, "start", None, config, (), (), None)

    (divergence,) = replay(PROTOCOLS["distkv"].specification.load(), [start])

    assert divergence.what == "args"


def test_what_follows_a_divergence_is_passed_over_up_to_the_next_start(lines: list[Line]) -> None:
    wrong = changed(2, state="0123456789abcdef")(changed(4, effects=())(lines))
    again = [replace(line, seq=line.seq + len(lines)) for line in changed(3, picks=())(lines)]

    found = [(d.line.seq, d.what) for d in replay(SPEC, [*wrong, *again])]

    assert found == [(2, "state"), (len(lines) + 3, "picks")]


def test_a_restarted_node_goes_on_counting(lines: list[Line]) -> None:
    again = [replace(line, seq=line.seq + len(lines)) for line in lines]

    assert list(replay(SPEC, [*lines, *again])) == []
    assert [(d.line.seq, d.what) for d in replay(SPEC, [*lines, *lines])] == [(0, "seq")]
    assert list(replay(SPEC, [*lines, *(replace(line, run="r2") for line in lines)])) == [], "two runs in one file are two"


@pytest.mark.parametrize(
    ("effect", "plain"),
    [
        (Send(NodeId("a:1"), Delta(())), {"send": {"to": "a:1", "message": {"type": "delta", "entries": []}}}),
        (SetTimer(Round(), Config().interval), {"set_timer": {"timer": {"type": "round"}, "after": 1000}}),
        (CancelTimer(Round()), {"cancel_timer": {"timer": {"type": "round"}}}),
        (Notify(Down(NodeId("a:1"))), {"notify": {"type": "down", "peer": "a:1"}}),
    ],
)
def test_every_effect_has_a_name(effect: Any, plain: Any) -> None:
    assert effect_plain(SPEC, effect) == plain


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_and_its_description_are_each_others(event: Any, lines: list[Line]) -> None:
    kind, peer, args = describe_event(SPEC, event)

    assert event_of(SPEC, replace(lines[1], t_us=event.now * 1000 + 999, kind=kind, peer=peer, args=args)) == event


def test_what_is_no_event_and_no_effect_has_no_description() -> None:
    with pytest.raises(TypeError):
        describe_event(SPEC, Step(None))
    with pytest.raises(TypeError):
        effect_plain(SPEC, "send")


def test_recorded_answers_can_be_given_again(first: Pick) -> None:
    asked, answers = recording(first)
    given: Any = (asked("one", ["b", "a"]), asked("two", [3, 1, 2], 2), asked("none", []))

    again = trace.Script(tuple(answers))

    assert answers == [("one", ("a",)), ("two", (1, 2)), ("none", ())]
    assert (again("one", ["b", "a"]), again("two", [3, 1, 2], 2), again("none", [])) == given
    again.finish()
    with pytest.raises(WrongAnswer, match="expected 1 of \\['a'\\] for one, found no more answers"):
        again("one", ["a"])


GOOD = json.loads(
    '{"run":"r","protocol":"p","impl":"i","node":"n","seq":0,"t_us":0,"kind":"start","peer":null,"args":{},'
    '"picks":[["why",["a",1]]],"effects":[],"state":null}'
)

#: Members of a line, and what is wrong with them.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"more": 1}, "more: expected one of run, "),
    *(({"seq": wrong}, "seq: expected an integer") for wrong in ("0", True, -1)),
    *(({"t_us": wrong}, "t_us: expected an integer") for wrong in (1.5, float("nan"))),
    *(({"node": wrong}, "node: expected a string") for wrong in (["n"], "\ud800")),
    ({"peer": 1}, "peer: expected a string"),
    ({"picks": None}, "picks: expected a list, found None"),
    ({"picks": [["why"]]}, "picks[0]: expected a place and the options taken there, found ['why']"),
    *(({"picks": [wrong]}, "picks[0]: expected a place and the options") for wrong in (["why", "ab"], [1, []])),
    *(({"picks": [["why", [wrong]]]}, "picks[0]: expected a string") for wrong in (["a"], 1.5)),
    ({"effects": {}}, "effects: expected a list, found {}"),
    ({"state": 5}, "state: expected a string"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "not a trace line: ") for text in ("", "{", "\x00\xff")),
        ("[" * 100_000, "not a trace line: it nests too deep"),
        ("9" * 5000, "not a trace line: a number has too many digits"),
        *((text, "expected an object with run, ") for text in ("null", "[]")),
        ("{}", "expected a member 'run', found {}"),
        (json.dumps({key: GOOD[key] for key in GOOD if key != "picks"}), "expected a member 'picks'"),
        *((json.dumps(GOOD | members), message) for members, message in WRONG),
    ],
    ids=lambda value: ascii(value[:40]),
)
def test_garbage_is_named_and_not_a_crash(text: str, message: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        parse(text)

    assert caught.value.detail.startswith(message)
    assert parse(json.dumps(GOOD)).picks == (("why", ("a", 1)),), "what is right is read"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_nodes_of_a_protocol_do_is_replayed_and_their_states_go_through_plain_data(protocol: str) -> None:
    specification = PROTOCOLS[protocol].specification.load()
    replayed = Replay(specification)
    lines = simulated(protocol, "m", 4, 25, 3, crashes=((1, 15),), restarts=((1, 20),))

    for number, line in enumerate(lines):
        assert parse(line.json()) == line
        assert replayed.line(line) is None
        state = replayed.nodes[line.run, line.node].course.state
        if number % 20 == 0:
            plain = json.loads(json.dumps(specification.STATE.plain(state)))
            again = specification.STATE.value(plain, state.self_id, state.config)
            assert (again, fingerprint(again)) == (state, fingerprint(state))
            assert specification.QUERIES["state"](state) == specification.STATE.plain(state)

    assert {line.kind for line in lines} >= {"start", "recv", "timer", "api"}
