"""Who takes a decision of Swim otherwise is held to that reading, and violates nothing."""

from __future__ import annotations

import pytest
from tests.conformance.catching import suite
from tests.conformance.taking import judge, resting_on

from peerproof.conformance.readings.reading import Reading, readings_of

READINGS = readings_of("swim")

each_reading = pytest.mark.parametrize("reading", READINGS, ids=[f"{one.clause}-{one.name}" for one in READINGS])


@each_reading
def test_another_reading_violates_nothing(reading: Reading) -> None:
    vectors = resting_on(suite(), "swim", reading)

    results = judge(suite(), "swim", reading, vectors, says_so=False)

    assert vectors
    assert {result.vector for result in results if result.status != "passed"} == {vector.id for vector in vectors}
    assert {result.status for result in results} <= {"passed", "differs", "tolerated"}
    assert all(reading.clause in result.decisions for result in results if result.status == "differs")


@pytest.mark.parametrize("reading", [pytest.param(one, id=f"{one.clause}-{one.name}") for one in READINGS if not one.ends])
def test_who_says_so_is_held_to_the_reading(reading: Reading) -> None:
    vectors = resting_on(suite(), "swim", reading)

    results = judge(suite(), "swim", reading, vectors, says_so=True)

    assert {result.status for result in results} == {"passed"}
    assert {result.vector for result in results if f"{reading.clause}: {reading.name}" in result.branches} == {
        vector.id for vector in vectors
    }
