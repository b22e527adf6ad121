"""Rounds of gossip: who is asked, in which order, and what silence says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from peerproof.spec.core import Duration, Expired, Instant, NodeId, Notify, Option, Pick, Received, Send, SetTimer, outcomes
from peerproof.spec.scuttlebutt import (
    QUERIES,
    Config,
    Delta,
    Detector,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Down,
    Effect,
    Heartbeat,
    Next,
    Round,
    State,
    Status,
    Up,
    step,
)

Node = Callable[..., State]
A, B, C, X, Y = (NodeId(addr) for addr in ("a:1", "b:1", "c:1", "x:1", "y:1"))

#: A mean of one second: critical from 11,513 ms of silence on, down from 18,421 ms on.
SECOND = Detector(bootstrap=Duration(1000))
CRITICAL, DOWN = 11_513, 18_421


def round_at(state: State, now: int, pick: Pick) -> Next:
    """The node after a round at this time."""
    return step(state, Expired(Instant(now), Round()), pick)


def delta_from(state: State, sender: NodeId, now: int, pick: Pick) -> Next:
    """The node after a sign of life."""
    return step(state, Received(Instant(now), sender, Delta(())), pick)


def asked(effects: tuple[Effect, ...]) -> list[str]:
    """Who gets a digest request, in this order."""
    return [effect.to for effect in effects if isinstance(effect, Send) and isinstance(effect.message, DigestRequest)]


def told(effects: tuple[Effect, ...]) -> list[Any]:
    """The notices."""
    return [effect.notice for effect in effects if isinstance(effect, Notify)]


# (peers known, seeds, every possible list of targets): nobody is critical
TARGETS: list[tuple[list[str], list[str], list[list[str]]]] = [
    ([], [], [[]]),
    ([], ["x:1", "b:1", "y:1"], [["x:1", "y:1"]]),  # BC-33: all seeds, and never the node itself
    ([], ["y:1", "x:1", "y:1"], [["x:1", "y:1"]]),
    ([], ["b:1"], [[]]),
    (["a:1"], [], [["a:1"]]),
    (["a:1"], ["a:1"], [["a:1"]]),  # BC-34
    (["a:1"], ["b:1"], [["a:1"]]),
    (["a:1", "c:1"], [], [["a:1"], ["c:1"]]),
    (["a:1"], ["x:1", "a:1", "y:1"], [["a:1", "x:1"], ["a:1", "y:1"]]),
    (["a:1", "c:1"], ["x:1"], [["a:1", "x:1"], ["c:1", "x:1"]]),
]


@pytest.mark.parametrize(("known", "seeds", "expected"), TARGETS)
def test_a_round_asks_one_known_peer_and_one_unknown_seed_or_all_seeds_if_nobody_is_known(
    known: list[str], seeds: list[str], expected: list[list[str]], node: Node
) -> None:
    config = Config(seeds=tuple(map(NodeId, seeds)))
    state = node("b:1", {addr: {} for addr in known}, config)

    found = {tuple(asked(outcome.step.effects)) for outcome in outcomes(partial(round_at, state, 1000))}

    assert found == set(map(tuple, expected))


def test_a_round_is_followed_by_the_next_one(node: Node, first: Pick) -> None:
    stores: list[Mapping[str, Any]] = [{}, {"a:1": {}}]
    for store in stores:
        effects = round_at(node("b:1", store, Config(interval=Duration(250))), 1000, first).effects
        assert effects[-1] == SetTimer(Round(), Duration(250))
        assert sum(isinstance(effect, SetTimer) for effect in effects) == 1


def test_a_round_asks_its_questions_in_the_order_of_the_document(node: Node) -> None:
    questions: list[tuple[str, list[Any], int]] = []

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        questions.append((why, list(among), some))
        return tuple(sorted(among)[:some])

    state = node("b:1", {"a:1": {}, "c:1": {}}, Config(seeds=(X, Y, A), detector=SECOND))
    effects = round_at(state, CRITICAL, pick).effects

    order = ("digest.order", ["a:1", "b:1", "c:1"], 3)
    assert questions == [
        ("round.partner", ["a:1", "c:1"], 1),
        order,
        ("round.seed", ["x:1", "y:1"], 1),
        order,
        order,
        order,
    ]
    assert asked(effects) == ["a:1", "x:1", "a:1", "c:1"]  # a:1 a second time because it is critical


# (peers known, seeds, places where a choice is made)
QUESTIONS: list[tuple[list[str], list[str], list[str]]] = [
    ([], [], []),
    ([], ["x:1", "y:1"], ["digest.order", "digest.order"]),
    (["a:1"], [], ["round.partner", "digest.order"]),
    (["a:1"], ["a:1"], ["round.partner", "digest.order"]),
    (["a:1"], ["x:1"], ["round.partner", "digest.order", "round.seed", "digest.order"]),
]


@pytest.mark.parametrize(("known", "seeds", "expected"), QUESTIONS)
def test_a_round_asks_only_what_is_open(known: list[str], seeds: list[str], expected: list[str], node: Node) -> None:
    state = node("b:1", {addr: {} for addr in known}, Config(seeds=tuple(map(NodeId, seeds))))

    (asked_for,) = {tuple(why for why, _ in outcome.picks) for outcome in outcomes(partial(round_at, state, 1000))}

    assert list(asked_for) == expected


def test_each_request_of_a_round_has_an_order_of_its_own_and_the_node_itself_in_it(node: Node) -> None:
    orders = iter([("c:1", "b:1"), ("b:1", "c:1")])
    answers: Mapping[str, Callable[[], tuple[Any, ...]]] = {
        "round.partner": lambda: ("c:1",),
        "round.seed": lambda: ("x:1",),
        "digest.order": lambda: next(orders),
    }

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        return answers[why]()

    state = node("b:1", {"b:1": {"k": ("v", 2)}, "c:1": {"k": ("v", 3)}}, Config(seeds=(X,)))

    effects = round_at(state, 1000, pick).effects

    assert effects[:2] == (
        Send(C, DigestRequest((DigestEntry(C, 3), DigestEntry(B, 2)))),
        Send(X, DigestRequest((DigestEntry(B, 2), DigestEntry(C, 3)))),
    )


def test_every_order_of_a_digest_is_possible(node: Node) -> None:
    state = node("b:1", {"a:1": {}, "c:1": {}})

    orders = set()
    for outcome in outcomes(partial(round_at, state, 1000)):
        (request,) = (effect for effect in outcome.step.effects if isinstance(effect, Send))
        orders.add(tuple(entry.addr for entry in request.message.entries))

    assert len(orders) == 6


def test_a_round_changes_nothing_that_is_known(node: Node, first: Pick) -> None:
    state = node("b:1", {"b:1": {"k": ("v", 2)}, "c:1": {"k": ("v", 3)}}, Config(seeds=(X,)))

    assert round_at(state, 100_000, first).state.store == state.store


# (silence in ms, asked besides the partner, status): the only peer is c:1
SILENCES = [
    (0, [], "up"),
    (CRITICAL - 1, [], "up"),
    (CRITICAL, ["c:1"], "up"),
    (DOWN - 1, ["c:1"], "up"),
    (DOWN, ["c:1"], "down"),
    (10**9, ["c:1"], "down"),
]


@pytest.mark.parametrize(("silence", "besides", "status"), SILENCES)
def test_silence_makes_a_peer_critical_and_then_down(
    silence: int, besides: list[str], status: str, node: Node, first: Pick
) -> None:
    state, effects = round_at(node("b:1", {"c:1": {}}, Config(detector=SECOND)), silence, first)

    assert asked(effects) == ["c:1", *besides]
    assert QUERIES["status"](state) == [{"addr": "c:1", "status": status}]
    assert told(effects) == ([Down(C)] if status == "down" else [])


def test_a_peer_is_told_down_once_and_up_once_when_it_is_heard_again(node: Node, first: Pick) -> None:
    state = node("b:1", {"c:1": {}}, Config(detector=SECOND))

    state, down = round_at(state, DOWN, first)
    state, still_down = round_at(state, DOWN + 1000, first)
    state, heard = delta_from(state, C, DOWN + 1500, first)
    between = QUERIES["status"](state)
    state, up = round_at(state, DOWN + 2000, first)
    state, still_up = round_at(state, DOWN + 3000, first)

    assert [told(effects) for effects in (down, still_down, up, still_up)] == [[Down(C)], [], [Up(C)], []]
    assert told(heard) == [Heartbeat(C, Duration(500))]
    assert between == [{"addr": "c:1", "status": "down"}]  # statuses are set in rounds only
    assert QUERIES["status"](state) == [{"addr": "c:1", "status": "up"}]


def test_the_changes_of_a_round_follow_its_requests_in_the_order_of_addresses(node: Node, first: Pick) -> None:
    state = node("b:1", {"c:1": {}, "a:1": {}}, Config(detector=SECOND))

    effects = round_at(state, DOWN, first).effects

    assert [type(effect) for effect in effects] == [Send, Send, Send, Notify, Notify, SetTimer]
    assert told(effects) == [Down(A), Down(C)]


def test_a_peer_that_is_down_is_still_chosen_as_partner(node: Node, first: Pick) -> None:
    state = round_at(node("b:1", {"c:1": {}}, Config(detector=SECOND)), DOWN, first).state

    assert state.liveness[C].status is Status.DOWN
    found = {outcome.picks[0] for outcome in outcomes(partial(round_at, state, DOWN + 1000))}
    assert found == {("round.partner", ("c:1",))}


@pytest.mark.parametrize(("critical", "down"), [(0, 0), (8000, 5000)])
def test_the_two_thresholds_are_independent(critical: int, down: int, node: Node, first: Pick) -> None:
    state = node("b:1", {"c:1": {}}, Config(detector=replace(SECOND, critical=critical, down=down)))

    effects = round_at(state, CRITICAL, first).effects

    assert told(effects) == [Down(C)]
    assert asked(effects) == (["c:1", "c:1"] if critical == 0 else ["c:1"])


def test_without_a_failure_detector_nobody_is_critical_or_down(node: Node, first: Pick) -> None:
    state, effects = round_at(node("b:1", {"c:1": {}}, Config(detector=None)), 10**9, first)

    assert (asked(effects), told(effects)) == (["c:1"], [])
    assert told(delta_from(state, C, 10**9, first).effects) == [Heartbeat(C, None)]
    learnt = step(state, Received(Instant(0), A, DigestRequest((DigestEntry(A, 1),))), first).state
    assert (len(learnt.store), len(learnt.liveness)) == (3, 0)


def test_a_peer_has_the_time_since_it_became_known(node: Node, first: Pick) -> None:
    state = node("b:1", config=Config(detector=SECOND))
    for kind in (DigestRequest, DigestResponse):
        addr = NodeId(f"{kind.__name__}:1")
        state = step(state, Received(Instant(50_000), A, kind((DigestEntry(addr, 1),))), first).state

    quiet = round_at(state, 50_000 + DOWN - 1, first)
    late = round_at(state, 50_000 + DOWN, first)

    assert told(quiet.effects) == []
    assert told(late.effects) == [Down(NodeId("DigestRequest:1")), Down(NodeId("DigestResponse:1"))]


@pytest.mark.parametrize(
    ("message", "alive"),
    [(Delta(()), True), (DigestRequest(()), False), (DigestResponse(()), False)],
    ids=["delta", "digest request", "digest response"],
)
def test_a_delta_is_a_sign_of_life_and_a_digest_is_none(message: Any, alive: bool, node: Node, first: Pick) -> None:
    state = node("b:1", {"c:1": {}}, Config(detector=SECOND))  # BC-35

    state, effects = step(state, Received(Instant(DOWN), C, message), first)

    assert told(effects) == ([Heartbeat(C, None)] if alive else [])
    assert told(round_at(state, DOWN, first).effects) == ([] if alive else [Down(C)])


def test_a_delta_is_a_sign_of_life_of_its_sender_and_not_of_whom_it_tells_of(node: Node, first: Pick) -> None:
    state = node("b:1", {"a:1": {}, "c:1": {}}, Config(detector=SECOND))

    state = delta_from(state, C, DOWN, first).state

    assert told(round_at(state, DOWN, first).effects) == [Down(A)]


def test_a_delta_of_a_stranger_is_told_but_not_kept(node: Node, first: Pick) -> None:
    before = node("b:1", {"c:1": {}})

    for stranger in (X, B):
        state, effects = delta_from(before, stranger, 5, first)
        assert told(effects) == [Heartbeat(stranger, None)]
        assert state == before


def request(*entries: tuple[NodeId, int]) -> DigestRequest:
    """A digest request."""
    return DigestRequest(tuple(DigestEntry(addr, version) for addr, version in entries))


# name: (events in time order from or to c:1, the round trips told)
ROUND_TRIPS: dict[str, tuple[list[tuple[int, Any]], list[int | None]]] = {
    "a delta without a digest": ([(5, Delta(()))], [None]),
    "after a digest of a round": ([(1000, Round()), (1007, Delta(()))], [7]),
    "at once": ([(1000, Round()), (1000, Delta(()))], [0]),
    "one digest gives one sample": ([(1000, Round()), (1007, Delta(())), (1009, Delta(()))], [7, None]),
    "the last digest counts": ([(1000, Round()), (2000, Round()), (2007, Delta(()))], [7]),
    "a digest in between does not answer": ([(1000, Round()), (1005, request()), (1007, Delta(()))], [7]),
    "after a digest response": ([(5, request((C, 9))), (9, Delta(()))], [4]),
    "a request that left nothing to ask for": ([(5, request((C, 0))), (9, Delta(()))], [None]),
    "a digest response asks for nothing": ([(5, DigestResponse((DigestEntry(C, 9),))), (9, Delta(()))], [None]),
    "a clock set back": ([(1000, Round()), (900, Delta(()))], [0]),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_round_trip_is_the_time_from_the_last_digest_to_the_delta_after_it(name: str, node: Node, first: Pick) -> None:
    events, expected = ROUND_TRIPS[name]
    state = node("b:1", {"c:1": {}})

    found = []
    for now, what in events:
        event = Expired(Instant(now), what) if isinstance(what, Round) else Received(Instant(now), C, what)
        state, effects = step(state, event, first)
        found += [notice.round_trip for notice in told(effects) if isinstance(notice, Heartbeat)]

    assert found == expected


def test_each_sign_of_life_adds_an_interval_to_the_window(node: Node, first: Pick) -> None:
    state = node("b:1", {"c:1": {}}, Config(detector=replace(SECOND, window=3)))

    for now in (100, 300, 600):
        state = delta_from(state, C, now, first).state

    assert state.liveness[C].window.last == 600
    assert state.liveness[C].window.intervals == (100, 200, 300)
