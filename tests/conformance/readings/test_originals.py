"""Who reads a document otherwise than we do is not accused, and who does what it forbids is."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pytest
from tests.conformance.mistakes.peter import Wrong as WrongPeter
from tests.conformance.mistakes.wendy import Wrong as WrongWendy
from tests.conformance.mistakes.wendy import announcing
from tests.support.catching import path_of, suite

from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.report.record import Report
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.vectors.basis import ANOTHER_FORM, Resting, decisions_at
from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.divergences import distkv, wendy
from peerproof.spec.core import Step
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek
from peerproof.spec.wendy import Node

ANY_FORM: Final = next(reading for reading in readings_of("distkv") if reading.clause == "DA-29")


def judged(variant: type[Any], vectors: list[Vector]) -> Report:
    """What becomes of an implementation on some vectors."""
    assert vectors
    chosen = list(cases(suite(), vectors))
    return run_implementation(f"py:{path_of(variant)}", chosen, suite=suite(), settings=Settings(most_restarts=10_000)).report


def of(protocol: str, name: str = "") -> list[Vector]:
    """The vectors of a protocol, or the written one of this name."""
    own = [vector for vector in suite().vectors if vector.protocol == protocol]
    return [vector for vector in own if not name or vector.id.rpartition("/")[2] == name]


@pytest.mark.parametrize(
    ("variant", "name", "decision"),
    [
        (distkv.DD17, "asks-whatever-is-drawn", ""),
        (distkv.DD18, "download-of-a-ready-node", ""),
        (distkv.DD24, "too-large", ""),
        (distkv.DD25, "reject-update-without-a-tock", ""),
        (distkv.DD26, "contradiction", ""),
        (wendy.WD12, "hops-of-a-join-count-nodes", "WA-56"),
        (wendy.WD19, "better-score-takes-the-cell", "WA-39"),
        (wendy.WD21, "a-joiner-that-is-known", "WA-36"),
        (wendy.WD25, "a-message-that-fails", "WA-33"),
        (wendy.WD32, "unknown-members", "WA-63"),
        (announcing.InsertsWhomItWarns, "announcement-with-an-old-leaf-set", "WA-43"),
    ],
)
def test_what_only_a_decision_demands_differs(variant: type[Any], name: str, decision: str) -> None:
    report = judged(variant, of(variant.protocol, name))

    differing = [result for result in report.results if result.status == "differs"]
    assert differing
    assert all(not decision or decision in result.decisions for result in differing)
    assert {result.status for result in report.results} <= {"passed", "differs"}
    assert report.violates == 0


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        (distkv.DD06, "chain-of-one-cut"),
        (distkv.DD13, "new-node"),
        (distkv.DD14, "ticks-of-the-head-when-lost"),
        (wendy.WD03, "route-within-the-leaf-set"),
        (wendy.WD16, "warned-by-a-leaf"),
        (announcing.NeverWarns, "who-is-known-is-warned-too"),
        (announcing.WarnsAtEqualVersions, "who-is-known-is-not-warned-in-vain"),
        (announcing.AnnouncesNoTables, "warned-by-a-leaf"),
    ],
)
def test_what_the_document_demands_is_violated(variant: type[Any], name: str) -> None:
    report = judged(variant, of(variant.protocol, name))

    assert "failed" in {result.status for result in report.results}
    assert report.violates > 0


class Small(WrongWendy):
    """Has the document's own constants and no others."""

    def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
        """Does not claim `config.sizes`."""
        reply = super().handle(request, choose)
        if request["op"] == "hello":
            reply["protocols"]["wendy"]["capabilities"].remove("config.sizes")
        return reply


def test_rings_and_tables_of_other_sizes_are_no_fault_of_who_has_none() -> None:
    sized = [vector for vector in of("wendy") if "config.sizes" in vector.needs]
    written = [vector for vector in sized if vector.layer != "model"]

    report = judged(Small, [*written, *sized[-20:]])

    assert written
    assert all("config.sizes" in vector.needs for vector in of("wendy") if vector.layer == "model")
    assert {(result.status, result.reason) for result in report.results} == {
        ("skipped", "the implementation does not offer config.sizes")
    }


def _to_the_letter(state: State, node: Node, seek: Seek) -> Step[Any, Any]:
    """P-17 to P-19 word for word."""
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None and there.id == node.id:
            effects += tree.tree_message(row.parent, topic, UNSUBSCRIBE) + tree.tree_message(there, topic, SUBSCRIBE)
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


class ToTheLetter(WrongPeter):
    """Unsubscribes from, and subscribes again at, whoever has joined and is the next hop, its parent or not."""

    instead: ClassVar = {"tree.on_node_joined": _to_the_letter}


class Nothing(WrongPeter):
    """Has nothing to repair where the joined node is the parent already."""

    instead: ClassVar = next(one for one in readings_of("peter") if (one.clause, one.name) == ("PA-12", "nothing")).instead


@pytest.mark.slow
@pytest.mark.parametrize("variant", [ToTheLetter, Nothing])
def test_to_tell_a_parent_that_joins_again_what_the_document_says_violates_nothing(variant: type[WrongPeter]) -> None:
    """On all vectors that rest on that decision, and a tenth of the others."""
    written = [vector for vector in of("peter") if vector.layer != "model"]
    report = judged(variant, [one for at, one in enumerate(written) if at % 10 == 0 or "PA-12" in str(one.rests_on)])

    assert {result.status for result in report.results} == {"passed", "differs"}
    assert all("PA-12" in result.decisions for result in report.results if result.status == "differs")
    assert report.violates == 0


class Unordered(type(ANY_FORM.variant("distkv"))):  # type: ignore[misc]
    """Writes members in another order."""


class UnorderedAndWhole(Unordered):
    """The same, and forgets when it writes that a chain was cut."""

    def encode(self, message: Any) -> bytes:
        """As if it ended."""
        return bytes(super().encode(distkv.whole(message)))


def test_another_form_of_a_message_is_the_same_message_and_another_message_in_that_form_is_not() -> None:
    form, worse = (judged(variant, of("distkv", "chain-of-one-cut")) for variant in (Unordered, UnorderedAndWhole))

    differing = {result.reason for result in form.results if result.status == "differs"}
    assert differing == {f"as if it read DA-29 as {ANY_FORM.name!r}"}
    assert form.violates == 0
    assert worse.violates > 0


def test_what_has_other_forms_is_no_excuse_for_another_message() -> None:
    form, order = {"DA-29": {ANOTHER_FORM: "any-form"}}, {"DA-12": {"a1": "descending"}}

    assert decisions_at(["D-17"], {"encode": form}, ["encode"], ANOTHER_FORM).decisions == ("DA-29",)
    assert decisions_at(["D-17"], {"encode": form}, ["encode"], "b2") == Resting()
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "b2") == Resting()
    assert decisions_at(["D-17"], {"encode": {**form, **order}}, ["encode"], "a1").decisions == ("DA-12",)
