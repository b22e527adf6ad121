"""The other readings of DistKV's document: who takes one is not accused, and who claims it is held to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import pytest
from tests.conformance import wrong_distkv
from tests.conformance.catching import suite

from peerproof.conformance.readings.reading import Reading, readings_of
from peerproof.conformance.report.session import Session, run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.basis import ANOTHER_FORM, decisions_at, is_decision
from peerproof.conformance.vectors.suite import Vector

#: Of a reading, so many vectors are tried that rest on it.
MOST: Final = 6

READINGS: Final = [reading for reading in readings_of("distkv") if is_decision(reading.clause)]


def _claiming(reading: Reading) -> type[Any]:
    """An implementation that takes a reading, and says so."""

    class Claiming(type(reading.variant("distkv"))):  # type: ignore[misc]  # a class that was made for it
        readings: ClassVar[Mapping[str, str]] = {reading.clause: reading.name}

        def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
            """The hello names the reading."""
            reply: dict[str, Any] = super().handle(request, choose)
            return {**reply, "readings": self.readings} if request["op"] == "hello" else reply

    return Claiming


def _class_of(reading: Reading) -> str:
    return f"Claiming{READINGS.index(reading)}"


globals().update({_class_of(reading): _claiming(reading) for reading in READINGS})


def resting_on(reading: Reading) -> list[Vector]:
    """The first vectors of which an expectation rests on a reading: those written by hand, and one that was made."""
    found = [vector for vector in suite().vectors if vector.protocol == "distkv" and rests(vector, reading)]
    return [vector for vector in found if vector.layer != "model"][:MOST] + [one for one in found if one.layer == "model"][:1]


def rests(vector: Vector, reading: Reading) -> bool:
    """Whether an expectation of the vector rests on this reading."""
    return any(reading.name in others.get(reading.clause, {}).values() for others in vector.rests_on.values())


def judged(implementation: str, vectors: list[Vector], **settings: Any) -> Session:
    """What becomes of an implementation on some vectors."""
    chosen: list[Case] = cases(suite(), vectors)
    return run_implementation(f"py:{implementation}", chosen, settings=Settings(most_restarts=1000, **settings))


def judged_by(variant: type[Any], name: str) -> Counter[str]:
    """What becomes of a mistake on the vector of this name: cases by status."""
    vectors = [vector for vector in suite().vectors if vector.protocol == "distkv" and vector.id.endswith(f"/{name}")]
    assert vectors
    session = judged(f"{variant.__module__}:{variant.__qualname__}", vectors)
    return Counter(result.status for result in session.report.results)


def test_readings_have_names_of_their_own() -> None:
    names = [(reading.clause, reading.name) for reading in readings_of("distkv")]

    assert len({*names}) == len(names)
    assert len({reading.clause for reading in READINGS}) > len(READINGS) / 2


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: f"{reading.clause}-{reading.name}")
def test_a_reading_is_no_violation_and_may_be_claimed(reading: Reading) -> None:
    """Something rests on each; who takes it violates nothing, and who ends, where the document allows that, only differs."""
    vectors = resting_on(reading)
    assert vectors

    session = judged(f"{__name__}:{_class_of(reading)}", vectors)

    differing = [result for result in session.report.results if result.status not in ("passed", "tolerated")]
    assert all(result.status == "differs" and reading.clause in result.decisions for result in differing)
    assert session.report.violates == 0
    taken = [result for result in session.report.results if f"{reading.clause}: {reading.name}" in result.branches]
    assert taken or reading.ends


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (wrong_distkv.DD17, "asks-whatever-is-drawn"),
        (wrong_distkv.DD18, "download-of-a-ready-node"),
        (wrong_distkv.DD24, "too-large"),
        (wrong_distkv.DD25, "reject-update-without-a-tock"),
        (wrong_distkv.DD26, "contradiction"),
    ],
)
def test_what_the_document_says_nothing_of_is_not_held_against_the_original(variant: type[Any], name: str) -> None:
    found = judged_by(variant, name)

    assert found["differs"]
    assert found.keys() <= {"passed", "differs"}


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (wrong_distkv.DD06, "chain-of-one-cut"),
        (wrong_distkv.DD13, "new-node"),
        (wrong_distkv.DD14, "ticks-of-the-head-when-lost"),
    ],
)
def test_what_the_document_says_is(variant: type[Any], name: str) -> None:
    assert judged_by(variant, name)["failed"]


def test_another_form_of_a_message_is_the_same_message_and_another_message_in_that_form_is_not() -> None:
    reading = next(one for one in READINGS if one.clause == "DA-29")
    vectors = [vector for vector in suite().vectors if vector.id == "distkv/codec/chain-of-one-cut"]

    form = judged(f"{__name__}:Unordered", vectors)
    worse = judged(f"{__name__}:UnorderedAndWhole", vectors)

    assert {result.reason for result in form.report.results if result.status == "differs"} == {
        f"it takes DA-29 as {reading.name!r}"
    }
    assert form.report.violates == 0
    assert worse.report.violates > 0


def test_what_has_other_forms_is_no_excuse_for_another_message() -> None:
    form, order = {"DA-29": {ANOTHER_FORM: "any-form"}}, {"DA-12": {"a1": "descending"}}

    assert decisions_at(["D-17"], {"encode": form}, ["encode"], ANOTHER_FORM) == {"DA-29": "any-form"}
    assert decisions_at(["D-17"], {"encode": form}, ["encode"], "b2") == {}
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "b2") == {}
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "a1") == {"DA-12": "descending"}


class Unordered(type(next(one for one in READINGS if one.clause == "DA-29").variant("distkv"))):  # type: ignore[misc]
    """Writes members in another order."""


class UnorderedAndWhole(Unordered):
    """The same, and forgets when it writes that a chain was cut."""

    def encode(self, message: Any) -> bytes:
        """As if it ended."""
        return bytes(super().encode(wrong_distkv.whole(message)))
