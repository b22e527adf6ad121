"""What a node answers to datagrams and to its application: tables of the document's cases, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from peerproof.spec.core import Asked, Duration, Instant, NodeId, Notify, Pick, Received, Send, SetTimer, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt import (
    MESSAGE,
    Config,
    Effect,
    Heartbeat,
    Join,
    Next,
    Peer,
    Round,
    State,
    Update,
    UpdateLocal,
    Versioned,
    initial,
    step,
)

Node = Callable[..., State]
Say = Callable[..., Next]
A, B, C = NodeId("a:1"), NodeId("b:1"), NodeId("c:1")


@pytest.fixture
def say(first: Pick) -> Say:
    """`say(state, "01…")`: what the node makes of this datagram from a:1 at 10 ms."""

    def received(state: State, raw: str, sender: str = "a:1", now: int = 10) -> Next:
        return step(state, Received(Instant(now), NodeId(sender), MESSAGE.decode(bytes.fromhex(raw))), first)

    return received


@pytest.fixture
def update(first: Pick) -> Callable[[State, str, str], State]:
    """`update(state, key, value)`: the node after its application has set a pair."""

    def updated(state: State, key: str, value: str) -> State:
        after, effects = step(state, Asked(Instant(0), UpdateLocal(key, value)), first)
        assert effects == ()
        return after

    return updated


def sent(effects: tuple[Effect, ...]) -> list[tuple[str, str]]:
    """The datagrams among the effects: to whom, and the bytes."""
    return [(effect.to, MESSAGE.encode(effect.message).hex()) for effect in effects if isinstance(effect, Send)]


def told(effects: tuple[Effect, ...]) -> list[Any]:
    """The notices among the effects."""
    return [effect.notice for effect in effects if isinstance(effect, Notify)]


def versions(state: State) -> dict[str, int]:
    """The versions known of each peer."""
    return {addr: peer.version for addr, peer in state.store.items()}


# --- initial, update_local


def test_a_new_node_knows_only_itself_at_version_0_and_waits_an_interval() -> None:
    config = Config(interval=Duration(250), seeds=(A,))

    state, effects = initial(B, config)

    assert state == State(B, config, Table({B: Peer(Table(), 0)}), Table())
    assert effects == (SetTimer(Round(), config.interval),)


@pytest.mark.parametrize(("address", "reason"), [("x" * 256, "too_large"), ("é" * 128, "too_large"), ("\ud800", "bad_value")])
def test_an_address_that_no_message_could_hold_is_refused(address: str, reason: str) -> None:
    with pytest.raises(NotEnabled) as caught:
        initial(NodeId(address), Config())

    assert caught.value.reason == reason


def test_an_address_of_255_bytes_is_allowed() -> None:
    assert initial(NodeId("x" * 255), Config()).state.self_id == "x" * 255


def test_the_first_update_of_a_new_node_makes_version_1(node: Node, update: Callable[[State, str, str], State]) -> None:
    assert update(node("b:1"), "k", "v").store[B] == Peer(Table({"k": Versioned("v", 1)}), 1)  # BC-15


def test_an_update_takes_the_next_version_and_leaves_other_pairs_as_they_are(
    node: Node, update: Callable[[State, str, str], State]
) -> None:
    state = node("b:1", {"b:1": {"status": ("booting", 10), "rpc.addr": ("10.26.104.64:7138", 14), "type": ("router", 11)}})

    own = update(state, "status", "active").store[B]

    assert own.version == 15  # BC-14
    assert dict(own.pairs) == {"status": ("active", 15), "rpc.addr": ("10.26.104.64:7138", 14), "type": ("router", 11)}


def test_an_update_to_the_same_value_is_an_update(node: Node, update: Callable[[State, str, str], State]) -> None:
    state = update(update(node("b:1"), "k", "v"), "k", "v")

    assert state.store[B] == Peer(Table({"k": Versioned("v", 2)}), 2)


def test_an_update_changes_nobody_else(node: Node, update: Callable[[State, str, str], State]) -> None:
    before = node("b:1", {"c:1": {"k": ("v", 3)}})

    after = update(before, "k", "w")

    assert after.store.without([B]) == before.store.without([B])
    assert after.liveness == before.liveness


# (key, value, max_payload, reason); with an address of 3 bytes an entry takes 14 + |key| + |value|, a datagram one more
UPDATES = [
    ("k" * 255, "v" * 255, 1400, None),
    ("é" * 127, "é" * 127, 1400, None),
    ("", "", 1400, None),
    ("\udcff", "", 1400, None),
    ("k" * 256, "", 1400, "too_large"),
    ("", "v" * 256, 1400, "too_large"),
    ("é" * 128, "", 1400, "too_large"),
    ("", "é" * 128, 1400, "too_large"),
    ("k", "v", 17, None),
    ("k", "v", 16, "too_large"),
    ("", "", 15, None),
    ("", "", 14, "too_large"),
    ("k" * 255, "v" * 255, 525, None),
    ("k" * 255, "v" * 255, 524, "too_large"),
    ("k", "é", 18, None),
    ("k", "é", 17, "too_large"),
    ("\ud800", "", 1400, "bad_value"),
    ("", "\udcc3\udca9", 1400, "bad_value"),
]


@pytest.mark.parametrize(("key", "value", "limit", "reason"), UPDATES)
def test_what_could_never_be_sent_is_refused(
    key: str, value: str, limit: int, reason: str | None, node: Node, first: Pick
) -> None:
    state = node("b:1", config=Config(max_payload=limit))

    found = None
    try:
        after = step(state, Asked(Instant(0), UpdateLocal(key, value)), first).state
        assert after.store[B].pairs == Table({key: Versioned(value, 1)})
    except NotEnabled as error:
        found = error.reason

    assert found == reason


@pytest.mark.parametrize(("version", "refused"), [(U64_MAX - 1, False), (U64_MAX, True)])
def test_after_the_last_version_there_is_none(version: int, refused: bool, node: Node, first: Pick) -> None:
    state = node("b:1", {"b:1": {"k": ("v", version)}})
    event = Asked(Instant(0), UpdateLocal("k", "w"))

    if refused:
        with pytest.raises(NotEnabled, match="version 18446744073709551615 is the last one") as caught:
            step(state, event, first)
        assert caught.value.reason == "overflow"
    else:
        assert step(state, event, first).state.store[B].version == U64_MAX


# --- digests

XY = {"b:1": {"x": ("3", 3), "y": ("2", 2)}}
CD = {"c:1": {"t": ("x", 3)}, "d:1": {"t": ("x", 4)}}
A1_50 = "03613a31" + "0000000000000032"
PS = {"p1": {"k1": ("v", 1), "k2": ("v", 2)}, "p2": {"k": ("v", 9)}, "p3": {"k": ("v", 5)}}

# id: (what b:1 knows, the datagram, the datagrams that it answers)
DIGESTS: dict[str, tuple[Mapping[str, Any], str, list[str]]] = {
    "BC-18": (
        CD,
        "01" + A1_50 + "03633a310000000000000005" + "03643a310000000000000004",
        ["03", "0203613a31000000000000000003633a310000000000000003"],
    ),
    "BC-19": (
        XY,
        "01 03613a310000000000000000 03623a310000000000000000",
        ["0303623a3101790132000000000000000203623a31017801330000000000000003"],
    ),
    "BC-20": (XY, "01 03623a310000000000000002", ["0303623a31017801330000000000000003"]),
    "BC-21": (XY, "01 03623a310000000000000003", ["03"]),
    "BC-22": (XY, "02 03623a310000000000000003", ["03"]),
    "BC-23": (XY, "01", ["03"]),
    "an empty digest response": (XY, "02", ["03"]),
    "BC-24": ({"c:1": {"t": ("x", 3)}}, "01 03613a310000000000000000", ["03"]),
    "BC-25": (
        {"b:1": {"k": ("v", 1)}},
        "01 03613a310000000000000002 03623a310000000000000001",
        ["03", "0203613a310000000000000000"],
    ),
    "BC-25 as a response": (
        {"b:1": {"k": ("v", 1)}},
        "02 03613a310000000000000002 03623a310000000000000000",
        ["0303623a31016b01760000000000000001"],
    ),
    "BC-26": ({}, "01 03623a31000000000000000e", ["03"]),
    "BC-27": (
        PS,
        "01 0270310000000000000000 0270320000000000000004 0270330000000000000000",
        [
            "03027032016b01760000000000000009027033016b01760000000000000005"
            "027031026b3101760000000000000001027031026b3201760000000000000002"
        ],
    ),
    "what is ahead and what is behind in one digest": (
        CD,
        "01 03633a310000000000000000 03643a310000000000000009",
        ["0303633a31017401780000000000000003", "0203643a310000000000000004"],
    ),
    "the same peer ahead and behind": (
        {"c:1": {"t": ("x", 3)}},
        "01 03633a310000000000000002 03633a310000000000000004",
        ["0303633a31017401780000000000000003", "0203633a310000000000000003"],
    ),
    "the greatest version": ({}, "01 03633a31ffffffffffffffff", ["03", "0203633a310000000000000000"]),
}


@pytest.mark.parametrize("case", DIGESTS)
def test_a_digest_is_answered_with_a_delta_and_then_with_what_is_lacking(case: str, node: Node, say: Say) -> None:
    store, digest, answers = DIGESTS[case]

    effects = say(node("b:1", store), digest).effects

    assert sent(effects) == [("a:1", answer) for answer in answers]


@pytest.mark.parametrize(("limit", "answer"), [(16, "03"), (17, "0303623a31016b01760000000000000001")])
def test_a_delta_keeps_to_the_limit(limit: int, answer: str, node: Node, say: Say) -> None:
    state = node("b:1", {"b:1": {"k": ("v", 1)}}, Config(max_payload=limit))  # BC-29

    assert sent(say(state, "01 03623a310000000000000000").effects) == [("a:1", answer)]


@pytest.mark.parametrize(("limit", "answers"), [(12, ["03"]), (13, ["03", "0203613a310000000000000000"])])
def test_a_digest_response_that_is_empty_for_lack_of_room_is_not_sent(
    limit: int, answers: list[str], node: Node, say: Say
) -> None:
    state = node("b:1", config=Config(max_payload=limit))

    assert [raw for _, raw in sent(say(state, "01" + A1_50).effects)] == answers


@pytest.mark.parametrize("kind", ["01", "02"])
def test_peers_of_a_digest_are_stored_at_version_0_and_told_in_their_order(kind: str, node: Node, say: Say) -> None:
    digest = kind + "01640000000000000005" + "03623a310000000000000009" + "01630000000000000000" + "01640000000000000007"

    state, effects = say(node("b:1", {"e": {}}), digest)

    assert versions(state) == {"b:1": 0, "c": 0, "d": 0, "e": 0}
    assert told(effects) == [Join(NodeId("d")), Join(NodeId("c"))]
    assert effects[:2] == (Notify(Join(NodeId("d"))), Notify(Join(NodeId("c"))))
    assert say(state, digest).effects[0] == effects[2]  # the second time nobody joins, and the answer is the same


@pytest.mark.parametrize("raw", ["01", "02", "03", "01 03633a310000000000000001", "03 0163 016b 0176 0000000000000001"])
def test_the_sender_of_a_datagram_does_not_become_a_peer_by_it(raw: str, node: Node, say: Say) -> None:
    assert "a:1" not in say(node("b:1"), raw).state.store


def test_answers_go_to_the_source_of_the_datagram_and_not_to_an_address_inside_it(node: Node, say: Say) -> None:
    effects = say(node("b:1"), "01" + A1_50, sender="nat:9").effects

    assert [to for to, _ in sent(effects)] == ["nat:9", "nat:9"]


def test_a_digest_changes_no_record_that_is_known(node: Node, say: Say) -> None:
    before = node("b:1", XY | CD)

    after = say(before, "01 03633a31ffffffffffffffff 03623a31ffffffffffffffff").state

    assert after.store == before.store


def test_a_limit_without_room_for_an_entry_still_gets_the_empty_delta_through(node: Node, say: Say) -> None:
    state = node("b:1", {"c:1": {"t": ("x", 3)}}, Config(max_payload=1))

    assert sent(say(state, "01 03633a310000000000000000 03643a310000000000000009").effects) == [("a:1", "03")]


# --- deltas; a:1 knows p at foo@10

# id: (entries of the delta, p's version and changed pairs afterwards, the pairs told as updates)
FOO = "0170 03666f6f 0176"  # p.foo = v
DELTAS: dict[str, tuple[str, int, dict[str, Any], list[tuple[str, str, int]]]] = {
    "older": (FOO + "0000000000000005", 10, {}, []),
    "equal with another value": ("0170 03666f6f 0177 000000000000000a", 10, {}, []),
    "newer": (FOO + "0000000000000014", 20, {"foo": ("v", 20)}, [("foo", "v", 20)]),
    "an unseen key below": ("0170 03626f6f 0176 0000000000000007", 10, {"boo": ("v", 7)}, [("boo", "v", 7)]),
    "version 0": ("0170 017a 0176 0000000000000000", 10, {}, []),
    "about the node itself": ("03623a31 016b 0176 00000000000000ff", 10, {}, []),
    "about an unknown peer": ("0171 016b 0176 00000000000000ff", 10, {}, []),
    "about an unknown peer first, then about p": (
        "0171 016b 0176 00000000000000ff" + FOO + "000000000000000b",
        11,
        {"foo": ("v", 11)},
        [("foo", "v", 11)],
    ),
    "p, another, p again": (
        FOO + "000000000000000b" + "0171 016b 0176 0000000000000001" + "0170 016b 0177 000000000000000c",
        12,
        {"foo": ("v", 11), "k": ("w", 12)},
        [("foo", "v", 11), ("k", "w", 12)],
    ),
    "twice in one delta": (FOO + "000000000000000b" + FOO + "000000000000000b", 11, {"foo": ("v", 11)}, [("foo", "v", 11)]),
    "downwards in one delta": (
        FOO + "000000000000000c" + "0171 016b 0176 0000000000000001" + FOO + "000000000000000b",
        12,
        {"foo": ("v", 12)},
        [("foo", "v", 12)],
    ),
    "empty strings": ("0170 00 00 000000000000000b", 11, {"": ("", 11)}, [("", "", 11)]),
    "the greatest version": (FOO + "ffffffffffffffff", U64_MAX, {"foo": ("v", U64_MAX)}, [("foo", "v", U64_MAX)]),
    "nothing": ("", 10, {}, []),
}


@pytest.mark.parametrize("case", DELTAS)
def test_a_delta_is_applied_pair_by_pair_and_only_news_is_told(case: str, node: Node, say: Say) -> None:
    entries, version, changes, updates = DELTAS[case]
    before = node("b:1", {"p": {"foo": ("old", 10)}, "b:1": {"own": ("v", 1)}})

    state, effects = say(before, "03" + entries)

    record = Peer(Table({"foo": Versioned("old", 10)} | {key: Versioned(*pair) for key, pair in changes.items()}), version)
    assert state.store == before.store.put({NodeId("p"): record})
    assert effects == (
        Notify(Heartbeat(A, None)),
        *(Notify(Update(NodeId("p"), key, value, at)) for key, value, at in updates),
    )


def test_a_sequence_of_deltas_keeps_the_newest_of_each_key(node: Node, say: Say) -> None:
    state = node("b:1", {"p": {}})

    seen = []
    for entry in ("foo@10", "foo@5", "foo@10", "boo@7", "foo@20", "z@0"):  # BC-30
        key, version = entry.split("@")
        raw = f"03 0170 {len(key):02x}{key.encode().hex()} 0176 {int(version):016x}"
        state = say(state, raw).state
        seen.append((state.store[NodeId("p")].version, sorted(state.store[NodeId("p")].pairs)))

    assert seen == [(10, ["foo"]), (10, ["foo"]), (10, ["foo"]), (10, ["boo", "foo"]), (20, ["boo", "foo"]), (20, ["boo", "foo"])]


# --- a whole round between two nodes


def test_a_round_between_two_nodes_brings_each_what_the_other_has(node: Node, say: Say) -> None:
    a = node("a:1", {"a:1": {"s": ("up", 1)}, "c:1": {"t": ("x", 2)}})  # BC-32
    b = node("b:1", {"b:1": {"r": ("1", 1)}, "a:1": {}, "c:1": {"t": ("w", 1)}})

    b, answers = say(b, "0103633a31000000000000000203613a310000000000000001")
    a, nothing = say(a, sent(answers)[0][1], sender="b:1")
    a, last = say(a, sent(answers)[1][1], sender="b:1")
    b, done = say(b, sent(last)[0][1])

    assert [raw for _, raw in sent(answers)] == ["03", "0203633a31000000000000000103613a310000000000000000"]
    assert [raw for _, raw in sent(last)] == ["0303613a310173027570000000000000000103633a31017401780000000000000002"]
    assert (sent(nothing), sent(done)) == ([], [])
    assert told(done)[1:] == [Update(A, "s", "up", 1), Update(C, "t", "x", 2)]
    assert versions(b) == {"a:1": 1, "b:1": 1, "c:1": 2}
    assert "b:1" not in a.store  # nobody has told it
