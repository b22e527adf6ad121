"""Which events are compared: what no document demands is compared only for an implementation whose hello lists it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.catching import path_of, suite
from tests.support.tellers import Forgetful, JoinsOnly, Measuring, Teller, WithoutHeartbeats, WithoutJoins, Wordy

from peerproof.conformance.adapter.messages import InvalidReply, Offered, event_kinds, hello_of
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.vectors.suite import Vector
from peerproof.spec.protocols import PROTOCOLS


def judged(kind: type[Teller], vectors: Sequence[Vector]) -> list[Result]:
    """The results of an implementation."""
    chosen, settings = cases(suite(), vectors), Settings(strict=True)
    return run_implementation(f"py:{path_of(kind)}", chosen, suite=suite(), settings=settings).report.results


def vectors_of(*layers: str) -> list[Vector]:
    """Those of Scuttlebutt, but of those from models a fifth."""
    own = (vector for vector in suite().vectors if vector.protocol == "scuttlebutt" and vector.layer in layers)
    return [vector for number, vector in enumerate(own) if vector.layer != "model" or number % 5 == 0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [WithoutHeartbeats, Wordy])
def test_an_implementation_that_does_not_list_heartbeats_passes_all(kind: type[Teller]) -> None:
    """Whether it tells them or not; what is about nothing else is skipped, and says why."""
    results = judged(kind, vectors_of("codec", "exchange", "cluster", "model"))
    skipped = [result for result in results if result.status == "skipped"]

    assert Counter(result.status for result in results).keys() == {"passed", "skipped"}
    assert {result.reason for result in skipped} == {"the implementation does not offer events.heartbeat"}
    assert 0 < len(skipped) < len(results) / 50


@pytest.mark.slow
def test_only_the_kinds_that_are_listed_are_compared() -> None:
    """A library that tells joins alone is checked for joins."""
    results = judged(JoinsOnly, vectors_of("exchange", "cluster"))

    assert {result.status for result in results} == {"passed", "skipped"}


@pytest.mark.slow
def test_the_round_trip_is_free_where_nothing_measures_it() -> None:
    """A node without a failure detector: all nodes of the models. With one, the document says what it is. [BA-30]"""
    model, exchange = (judged(Measuring, vectors_of(layer)) for layer in ("model", "exchange"))

    assert {result.status for result in model} == {"passed"}
    assert {"failed"} < {result.status for result in exchange}


@pytest.mark.parametrize(("kind", "name"), [(Forgetful, "round-trip-from-a-request"), (WithoutJoins, "join-is-told-once")])
def test_what_is_listed_or_not_optional_is_demanded(kind: type[Teller], name: str) -> None:
    (vector,) = (vector for vector in vectors_of("exchange") if vector.id.endswith(f"/{name}"))

    assert [(result.status, result.failure) for result in judged(kind, [vector])] == [("failed", "events")]


def hello(offered: dict[str, Any]) -> Offered:
    reply = {"ok": True, "protocol": 1, "name": "n", "version": "1", "protocols": {"scuttlebutt": offered}}
    return hello_of(reply).protocols["scuttlebutt"]


@pytest.mark.parametrize(
    ("offered", "told"),
    [
        ({"capabilities": []}, set()),
        ({"capabilities": ["events"]}, {"join", "update", "up", "down"}),
        ({"capabilities": ["events"], "events": []}, set()),
        ({"capabilities": ["events"], "events": ["join", "heartbeat"]}, {"join", "heartbeat"}),
    ],
)
def test_hello_says_which_kinds_are_told(offered: dict[str, Any], told: set[str]) -> None:
    assert {kind for kind in event_kinds("scuttlebutt") if hello(offered).tells(kind)} == told


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        (
            {"capabilities": ["events"], "events": ["joined"]},
            "scuttlebutt has no event 'joined', but join, update, heartbeat, up, down, malformed",
        ),
        ({"capabilities": ["codec"], "events": ["join"]}, "the capabilities must have 'events' as well"),
        ({"capabilities": ["events"], "events": "join"}, "must be a list of words"),
        ({"capabilities": [], "choices": "dice"}, "protocols.scuttlebutt.choices must be 'oracle' or 'set', not 'dice'"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(offered: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidReply, match=said):
        hello(offered)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_optional_kinds_are_kinds(protocol: str) -> None:
    assert set(PROTOCOLS[protocol].optional_events) <= set(event_kinds(protocol))
