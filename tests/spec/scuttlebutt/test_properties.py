"""Each property holds of something good and is violated by something bad, so that none of them is empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.properties import Cluster, InFlight, Property, Taken, find_violations
from peerproof.spec.scuttlebutt import (
    PROPERTIES,
    Config,
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Message,
    Peer,
    Round,
    State,
    UpdateLocal,
    Versioned,
)

Node = Callable[..., State]
A, B, P = NodeId("a:1"), NodeId("b:1"), NodeId("p:1")
K1, K2, K3 = (DeltaEntry(P, f"k{version}", "v", version) for version in (1, 2, 3))


def digest(*entries: tuple[NodeId, int]) -> tuple[DigestEntry, ...]:
    """Entries of a digest."""
    return tuple(DigestEntry(addr, version) for addr, version in entries)


def kept(state: State, version: int) -> State:
    """The node with this version of p, whatever the pairs say."""
    return replace(state, store=state.store.put({P: replace(state.store[P], version=version)}))


def cluster(*states: State, in_flight: tuple[InFlight, ...] = ()) -> Cluster:
    """These nodes."""
    return Cluster({state.self_id: state for state in states}, in_flight)


def answered(before: State, message: Message, *answers: Message, after: State | None = None) -> Taken:
    """A step that answers a message from a:1 with these."""
    return Taken(before, Received(Instant(1), A, message), after or before, tuple(Send(A, answer) for answer in answers))


@dataclass(frozen=True)
class Cases:
    """What a property must hold of, and what it must not hold of, by name."""

    good: Mapping[str, Callable[[Node], Any]]
    bad: Mapping[str, Callable[[Node], Any]]


def of_p(**pairs: int) -> dict[str, tuple[str, int]]:
    """A record with these versions."""
    return {key: ("v", version) for key, version in pairs.items()}


PS = of_p(k1=1, k2=2, k3=3)

CASES: dict[str, Cases] = {
    "VersionIsMax": Cases(
        good={
            "pairs": lambda node: node("b:1", {"p:1": PS, "b:1": of_p(x=7)}),
            "no pairs": lambda node: node("b:1", {"p:1": {}}),
        },
        bad={
            "above its pairs": lambda node: kept(node("b:1", {"p:1": PS}), 4),
            "below its pairs": lambda node: kept(node("b:1", {"p:1": PS}), 2),
            "without pairs": lambda node: kept(node("b:1", {"p:1": {}}), 1),
        },
    ),
    "OwnerDominates": Cases(
        good={
            "behind": lambda node: cluster(node("p:1", {"p:1": PS}), node("b:1", {"p:1": of_p(k1=1)})),
            "equal": lambda node: cluster(node("p:1", {"p:1": PS}), node("b:1", {"p:1": PS})),
            "an owner who is not there": lambda node: cluster(node("b:1", {"p:1": PS})),
        },
        bad={"ahead": lambda node: cluster(node("p:1", {"p:1": of_p(k1=1)}), node("b:1", {"p:1": PS}))},
    ),
    "NoGap": Cases(
        good={
            "a prefix": lambda node: cluster(node("p:1", {"p:1": PS}), node("b:1", {"p:1": of_p(k1=1, k2=2)})),
            "a pair that has been replaced": lambda node: cluster(
                node("p:1", {"p:1": of_p(k1=4, k2=2, k3=3)}), node("b:1", {"p:1": of_p(k1=1, k2=2, k3=3)})
            ),
            "an owner who is not there": lambda node: cluster(node("b:1", {"p:1": of_p(k2=2)})),
        },
        bad={
            "a key is missing below": lambda node: cluster(node("p:1", {"p:1": PS}), node("b:1", {"p:1": of_p(k1=1, k3=3)})),
            "a key is missing at the version": lambda node: cluster(
                node("p:1", {"p:1": PS}), kept(node("b:1", {"p:1": of_p(k1=1)}), 2)
            ),
            "a key is older": lambda node: cluster(
                node("p:1", {"p:1": of_p(k1=2, k3=3)}), node("b:1", {"p:1": of_p(k1=1, k3=3)})
            ),
        },
    ),
    "SameVersionSameValue": Cases(
        good={
            "the same": lambda node: cluster(node("a:1", {"p:1": PS}), node("b:1", {"p:1": PS})),
            "another version": lambda node: cluster(node("a:1", {"p:1": {"k": ("v", 1)}}), node("b:1", {"p:1": {"k": ("w", 2)}})),
            "another key": lambda node: cluster(node("a:1", {"p:1": {"k": ("v", 1)}}), node("b:1", {"p:1": {"l": ("w", 1)}})),
            "another peer": lambda node: cluster(node("a:1", {"p:1": {"k": ("v", 1)}}), node("b:1", {"q:1": {"k": ("w", 1)}})),
        },
        bad={
            "another value": lambda node: cluster(node("a:1", {"p:1": {"k": ("v", 1)}}), node("b:1", {"p:1": {"k": ("w", 1)}})),
        },
    ),
    "Monotone": Cases(
        good={
            "nothing": lambda node: answered(node("b:1", {"p:1": PS}), Delta(())),
            "growth": lambda node: answered(
                node("b:1", {"p:1": PS}), Delta(()), after=node("b:1", {"p:1": of_p(k1=4, k2=2, k3=3), "q:1": {}})
            ),
        },
        bad={
            "a peer's version": lambda node: answered(
                node("b:1", {"p:1": PS}), Delta(()), after=kept(node("b:1", {"p:1": PS}), 2)
            ),
            "a pair's version": lambda node: answered(
                node("b:1", {"p:1": PS}), Delta(()), after=node("b:1", {"p:1": of_p(k1=1, k2=1, k3=3)})
            ),
            "a peer forgotten": lambda node: answered(node("b:1", {"p:1": {}}), Delta(()), after=node("b:1")),
            "a pair forgotten": lambda node: answered(
                node("b:1", {"p:1": PS}), Delta(()), after=node("b:1", {"p:1": of_p(k1=1, k3=3)})
            ),
        },
    ),
    "InFlight": Cases(
        good={
            "whole": lambda node: cluster(node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K1, K2, K3))),)),
            "from somewhere on": lambda node: cluster(node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K2, K3))),)),
            "cut": lambda node: cluster(node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K1, K2))),)),
            "a pair that has been replaced since": lambda node: cluster(
                node("p:1", {"p:1": of_p(k1=1, k2=4, k3=3)}), in_flight=(InFlight(P, B, Delta((K1, K2, K3))),)
            ),
            "digests": lambda node: cluster(
                node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, DigestRequest(digest((P, 3)))), InFlight(P, B, Delta(())))
            ),
            "an owner who is not there": lambda node: cluster(node("b:1"), in_flight=(InFlight(B, A, Delta((K1, K3))),)),
            "from what the receiver knows": lambda node: cluster(
                node("p:1", {"p:1": PS}),
                node("b:1", {"p:1": of_p(k1=1)}),
                in_flight=(InFlight(P, B, Delta((K2, K3))), InFlight(P, B, Delta((K1, K2)))),
            ),
        },
        bad={
            "a hole before the first pair": lambda node: cluster(
                node("p:1", {"p:1": PS}), node("b:1", {"p:1": of_p(k1=1)}), in_flight=(InFlight(P, B, Delta((K3,))),)
            ),
            "a hole": lambda node: cluster(node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K1, K3))),)),
            "another value": lambda node: cluster(
                node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K1, K2._replace(value="w"), K3))),)
            ),
            "a hole behind good messages": lambda node: cluster(
                node("p:1", {"p:1": PS}), in_flight=(InFlight(P, B, Delta((K1, K2))), InFlight(P, A, Delta((K1, K3))))
            ),
        },
    ),
    "DeltaPrefix": Cases(
        good={
            "all": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0))), Delta((K1, K2, K3))),
            "cut": lambda node: answered(node("b:1", {"p:1": PS}), DigestResponse(digest((P, 1))), Delta((K2,))),
            "nothing": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((P, 1))), Delta(())),
            "one peer twice in the digest": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 2), (P, 1))), Delta((K2, K3, K3))
            ),
            "one peer twice in the digest, cut": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0), (P, 0))), Delta((K1, K2, K3, K1))
            ),
            "no digest": lambda node: Taken(node("b:1"), Expired(Instant(1), Round()), node("b:1"), (Send(A, Delta((K3,))),)),
        },
        bad={
            "newest first": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0))), Delta((K3,))),
            "a hole": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0))), Delta((K1, K3))),
            "what is known": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((P, 1))), Delta((K1, K2))),
            "out of order": lambda node: answered(node("b:1", {"p:1": PS}), DigestResponse(digest((P, 0))), Delta((K2, K1))),
            "a hole, one peer twice in the digest": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0), (P, 2))), Delta((K1, K3, K3))
            ),
            "a hole before the first pair, one peer twice in the digest": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 1), (P, 0))), Delta((K3,))
            ),
            "once too often": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 1), (P, 2))), Delta((K2, K3, K3, K3))
            ),
            "not asked for": lambda node: answered(node("b:1", {"p:1": PS}), DigestRequest(digest((A, 0))), Delta((K1,))),
            "another value": lambda node: answered(
                node("b:1", {"p:1": PS}), DigestRequest(digest((P, 0))), Delta((K1._replace(value="w"),))
            ),
        },
    ),
    "DeltaBounded": Cases(
        good={
            "at the limit": lambda node: answered(
                node("b:1", config=Config(max_payload=13)), Delta(()), DigestRequest(digest((A, 1)))
            ),
        },
        bad={
            "above the limit": lambda node: answered(
                node("b:1", config=Config(max_payload=12)), Delta(()), DigestRequest(digest((A, 1)))
            ),
            "the second of two": lambda node: answered(
                node("b:1", config=Config(max_payload=12)), Delta(()), Delta(()), DigestRequest(digest((A, 1)))
            ),
        },
    ),
    "NoDigestLoop": Cases(
        good={
            "a delta": lambda node: answered(node("b:1"), DigestResponse(()), Delta(())),
            "a response to a request": lambda node: answered(node("b:1"), DigestRequest(()), Delta(()), DigestResponse(())),
            "a request in a round": lambda node: Taken(
                node("b:1"), Expired(Instant(1), Round()), node("b:1"), (Send(A, DigestRequest(())),)
            ),
        },
        bad={
            "a response to a response": lambda node: answered(node("b:1"), DigestResponse(()), Delta(()), DigestResponse(())),
            "a request to a response": lambda node: answered(node("b:1"), DigestResponse(()), DigestRequest(())),
        },
    ),
    "OwnUntouched": Cases(
        good={
            "the application": lambda node: Taken(
                node("b:1"), Asked(Instant(1), UpdateLocal("k", "v")), node("b:1", {"b:1": of_p(k=1)}), ()
            ),
            "somebody else's record": lambda node: answered(node("b:1"), Delta(()), after=node("b:1", {"p:1": PS})),
        },
        bad={
            "a message": lambda node: answered(node("b:1"), Delta(()), after=node("b:1", {"b:1": of_p(k=1)})),
            "a timer": lambda node: Taken(
                node("b:1"), Expired(Instant(1), Round()), node("b:1", {"b:1": of_p(k=1)}), ()
            ),
        },
    ),
    "AlwaysADelta": Cases(
        good={
            "with a response": lambda node: answered(node("b:1"), DigestRequest(()), Delta(()), DigestResponse(())),
            "to a response": lambda node: answered(node("b:1"), DigestResponse(()), Delta(())),
            "no digest": lambda node: answered(node("b:1"), Delta(())),
        },
        bad={
            "only a response": lambda node: answered(node("b:1"), DigestRequest(()), DigestResponse(())),
            "nothing": lambda node: answered(node("b:1"), DigestResponse(())),
            "two": lambda node: answered(node("b:1"), DigestRequest(()), Delta(()), Delta(())),
            "to somebody else": lambda node: Taken(
                node("b:1"), Received(Instant(1), A, DigestRequest(())), node("b:1"), (Send(P, Delta(())),)
            ),
        },
    ),
    "DeltaIsNews": Cases(
        good={
            "news": lambda node: answered(
                node("b:1", {"p:1": {}}), Delta((K1,)), after=node("b:1", {"p:1": of_p(k1=1)})
            ),
        },
        bad={
            "nothing": lambda node: answered(node("b:1"), Delta(())),
            "what is known": lambda node: answered(node("b:1", {"p:1": PS}), Delta((K1,))),
            "a digest": lambda node: answered(node("b:1"), DigestRequest(digest((A, 0))), after=node("b:1", {"a:1": {}})),
        },
    ),
    "DeltaIsStale": Cases(
        good={"what is known": lambda node: answered(node("b:1", {"p:1": PS}), Delta((K1,)))},
        bad={
            "nothing": lambda node: answered(node("b:1"), Delta(())),
            "news": lambda node: answered(
                node("b:1", {"p:1": {}}), Delta((K1,)), after=node("b:1", {"p:1": of_p(k1=1)})
            ),
            "a digest": lambda node: answered(node("b:1"), DigestRequest(digest((A, 0)))),
        },
    ),
    "ViewsEqual": Cases(
        good={
            "equal": lambda node: cluster(node("a:1", {"b:1": PS}), node("b:1", {"a:1": {}, "b:1": PS})),
            "alone": lambda node: cluster(node("a:1")),
        },
        bad={
            "a peer unknown": lambda node: cluster(node("a:1"), node("b:1", {"a:1": {}})),
            "a version behind": lambda node: cluster(node("a:1", {"b:1": {}}), node("b:1", {"a:1": {}, "b:1": PS})),
            "the third differs": lambda node: cluster(
                node("a:1", {"p:1": PS, "b:1": {}}), node("b:1", {"a:1": {}, "p:1": PS}), node("p:1", {"p:1": PS, "a:1": {}})
            ),
        },
    ),
}  # fmt: skip
NAMED = {prop.name: prop for prop in PROPERTIES}
GOOD = [(name, case) for name, cases in CASES.items() for case in cases.good]
BAD = [(name, case) for name, cases in CASES.items() for case in cases.bad]


def test_every_property_has_a_good_and_a_bad_case_and_a_name_of_its_own() -> None:
    assert list(NAMED) == list(CASES)
    assert len(NAMED) == len(PROPERTIES)
    assert all(cases.good and cases.bad for cases in CASES.values())


@pytest.mark.parametrize(("name", "case"), GOOD)
def test_the_property_holds_of_a_good_case(name: str, case: str, node: Node) -> None:
    assert NAMED[name].holds(CASES[name].good[case](node))


@pytest.mark.parametrize(("name", "case"), BAD)
def test_the_property_does_not_hold_of_a_bad_case(name: str, case: str, node: Node) -> None:
    assert not NAMED[name].holds(CASES[name].bad[case](node))


def test_violated_names_what_should_always_hold_of_such_a_subject_and_does_not() -> None:
    def prop(name: str, of: Any, when: Any, *, holds: bool) -> Property:
        return Property(name, name, (), of, lambda _: holds, when)

    properties = [
        prop("good", "node", "always", holds=True),
        prop("bad", "node", "always", holds=False),
        prop("not seen yet", "node", "sometimes", holds=False),
        prop("not in the end yet", "node", "eventually", holds=False),
        prop("of a step", "step", "always", holds=False),
    ]

    assert [found.name for found in find_violations(properties, "node", None)] == ["bad"]
    assert [found.name for found in find_violations(properties, "step", None)] == ["of a step"]


def test_a_table_of_versions_is_made_as_the_store_has_it(node: Node) -> None:
    assert node("b:1", {"p:1": PS}).store[P] == Peer(Table({f"k{n}": Versioned("v", n) for n in (1, 2, 3)}), 3)
