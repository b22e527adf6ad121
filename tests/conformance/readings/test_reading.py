"""An implementation that takes a decision otherwise, for each reading that is described: it violates nothing, and may say so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.support.catching import suite
from tests.support.taking import judge, resting_on

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.readings.reading import Reading, readings_of, settled_by
from peerproof.spec.properties import is_decision
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.swim.gossip import ANSWER

READINGS = [(protocol, one) for protocol in PROTOCOLS for one in readings_of(protocol) if is_decision(one.clause)]


def each(readings: list[tuple[str, Reading]]) -> pytest.MarkDecorator:
    """A test for each of these readings."""
    return pytest.mark.parametrize(("protocol", "reading"), readings, ids=[f"{one.clause}-{one.name}" for _, one in readings])


@pytest.mark.slow
@each(READINGS)
def test_another_reading_violates_nothing(protocol: str, reading: Reading) -> None:
    vectors = resting_on(protocol, reading)

    results = judge(protocol, reading, vectors, says_so=False)

    assert vectors, f"no vector is known to rest on it: peerproof vectors lint {protocol} --basis"
    assert {result.vector for result in results if result.status not in ("passed", "skipped")} == {
        vector.id for vector in vectors
    }
    assert {result.status for result in results} <= {"passed", "differs", "tolerated", "skipped"}
    if not (reading.is_open or reading.ends):  # what comes by chance may be what another reading makes come
        assert all(reading.clause in result.decisions for result in results if result.status == "differs")


@pytest.mark.slow
@each([(protocol, one) for protocol, one in READINGS if not one.ends])
def test_who_says_so_is_held_to_the_reading(protocol: str, reading: Reading) -> None:
    vectors = resting_on(protocol, reading)

    results = judge(protocol, reading, vectors, says_so=True)

    assert {result.status for result in results} <= {"passed", "skipped"}
    assert {result.vector for result in results if f"{reading.clause}: {reading.name}" in result.branches} == {
        vector.id for vector in vectors
    }


def test_parts_that_mean_nothing_excuse_nothing_else() -> None:
    """Empty parts of SWIM's messages beside another reading, and in acks, where the document has no payload."""
    named = {f"{one.clause} {one.name}": one for one in readings_of("swim")}
    empty = replace(named["SA-28 empty-too"], instead={**named["SA-28 empty-too"].instead, **named["SA-33 empty-too"].instead})
    vectors = [one for one in suite().vectors if one.file in ("swim/exchange/detector.yaml", "swim/exchange/merge.yaml")]

    def judged(reading: Reading) -> Counter[tuple[str, tuple[str, ...]]]:
        return Counter((one.status, one.decisions) for one in judge("swim", reading, vectors, says_so=False))

    both = judged(replace(empty, step=named["SA-02 in-total"].step))
    assert {status for status, _ in both} == {"passed", "differs", "tolerated"}
    assert {"SA-02", "SA-28"} <= {decision for _, decisions in both for decision in decisions}
    assert ("failed", ()) in judged(replace(empty, instead={**empty.instead, "gossip.ANSWER": ANSWER._replace(payload=True)}))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_reading_has_the_name_of_another(protocol: str) -> None:
    named = [(reading.clause, reading.name) for reading in readings_of(protocol)]

    assert len({*named}) == len(named)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_decision_has_another_reading_or_a_reason_why_there_is_none(protocol: str) -> None:
    """A vector that cites one without is held against implementations like a sentence of the document."""
    decisions = {clause for clause in catalogue.load(protocol).items if is_decision(clause)}
    read = {reading.clause for reading in readings_of(protocol)} & decisions

    assert settled_by(protocol).keys() == decisions - read
