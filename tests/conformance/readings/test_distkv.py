"""The other readings of DistKV's document: who takes one is not accused, and who claims it is held to it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from tests.support.catching import suite

from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.report.session import Session, run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.basis import ANOTHER_FORM, decisions_at
from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.divergences import distkv

ANY_FORM: Final = next(reading for reading in readings_of("distkv") if reading.clause == "DA-29")


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


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (distkv.DD17, "asks-whatever-is-drawn"),
        (distkv.DD18, "download-of-a-ready-node"),
        (distkv.DD24, "too-large"),
        (distkv.DD25, "reject-update-without-a-tock"),
        (distkv.DD26, "contradiction"),
    ],
)
def test_what_the_document_says_nothing_of_is_not_held_against_the_original(variant: type[Any], name: str) -> None:
    found = judged_by(variant, name)

    assert found["differs"]
    assert found.keys() <= {"passed", "differs"}


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (distkv.DD06, "chain-of-one-cut"),
        (distkv.DD13, "new-node"),
        (distkv.DD14, "ticks-of-the-head-when-lost"),
    ],
)
def test_what_the_document_says_is(variant: type[Any], name: str) -> None:
    assert judged_by(variant, name)["failed"]


def test_another_form_of_a_message_is_the_same_message_and_another_message_in_that_form_is_not() -> None:
    vectors = [vector for vector in suite().vectors if vector.id == "distkv/codec/chain-of-one-cut"]

    form = judged(f"{__name__}:Unordered", vectors)
    worse = judged(f"{__name__}:UnorderedAndWhole", vectors)

    assert {result.reason for result in form.report.results if result.status == "differs"} == {
        f"it takes DA-29 as {ANY_FORM.name!r}"
    }
    assert form.report.violates == 0
    assert worse.report.violates > 0


def test_what_has_other_forms_is_no_excuse_for_another_message() -> None:
    form, order = {"DA-29": {ANOTHER_FORM: "any-form"}}, {"DA-12": {"a1": "descending"}}

    assert decisions_at(["D-17"], {"encode": form}, ["encode"], ANOTHER_FORM) == {"DA-29": "any-form"}
    assert decisions_at(["D-17"], {"encode": form}, ["encode"], "b2") == {}
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "b2") == {}
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "a1") == {"DA-12": "descending"}


class Unordered(type(ANY_FORM.variant("distkv"))):  # type: ignore[misc]
    """Writes members in another order."""


class UnorderedAndWhole(Unordered):
    """The same, and forgets when it writes that a chain was cut."""

    def encode(self, message: Any) -> bytes:
        """As if it ended."""
        return bytes(super().encode(distkv.whole(message)))
