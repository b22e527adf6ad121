"""Who reads Wendy's document otherwise is no longer accused, and who does what it forbids still is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.conformance.mistakes.wendy import Wrong, announcing
from tests.support.catching import suite

from peerproof.conformance.report.session import Session, run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.divergences import wendy


class Small(Wrong):
    """Has the document's own constants and no others."""

    def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
        """Does not claim `config.sizes`."""
        reply = super().handle(request, choose)
        if request["op"] == "hello":
            reply["protocols"]["wendy"]["capabilities"].remove("config.sizes")
        return reply


def of_wendy() -> list[Vector]:
    """All vectors of the protocol."""
    return [vector for vector in suite().vectors if vector.protocol == "wendy"]


def judged(name: str, chosen: list[Case]) -> Session:
    """What becomes of an implementation on some cases."""
    return run_implementation(f"py:{name}", chosen, settings=Settings(most_restarts=10_000))


def statuses(session: Session) -> Counter[str]:
    """Cases by status."""
    return Counter(result.status for result in session.report.results)


def of(*names: str) -> list[Case]:
    """The cases of written vectors."""
    found = [vector for vector in of_wendy() if vector.id.rpartition("/")[2] in names]
    assert len(found) == len(names)
    return list(cases(suite(), found))


def test_rings_and_tables_of_other_sizes_are_no_fault_of_who_has_none() -> None:
    sized = [vector for vector in of_wendy() if "config.sizes" in vector.needs]
    written = [vector for vector in sized if vector.layer != "model"]

    session = judged(f"{__name__}:Small", list(cases(suite(), [*written, *sized[-20:]])))

    assert written
    assert all("config.sizes" in vector.needs for vector in of_wendy() if vector.layer == "model")
    assert statuses(session).keys() == {"skipped"}
    assert {result.reason for result in session.report.results} == {"the implementation does not offer config.sizes"}


@pytest.mark.parametrize(
    ("variant", "names", "decision"),
    [
        (wendy.WD12, ["hops-of-a-join-count-nodes"], "WA-56"),
        (wendy.WD19, ["better-score-takes-the-cell"], "WA-39"),
        (wendy.WD21, ["a-joiner-that-is-known"], "WA-36"),
        (wendy.WD25, ["a-message-that-fails"], "WA-33"),
        (wendy.WD32, ["unknown-members"], "WA-63"),
        (announcing.InsertsWhomItWarns, ["announcement-with-an-old-leaf-set"], "WA-43"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_only_a_decision_demands_differs(variant: type[Any], names: list[str], decision: str) -> None:
    session = judged(f"{variant.__module__}:{variant.__name__}", of(*names))

    differing = [result for result in session.report.results if result.status == "differs"]
    assert differing
    assert all(decision in result.decisions for result in differing)
    assert not session.report.violates


@pytest.mark.parametrize(
    ("variant", "names"),
    [
        (wendy.WD03, ["route-within-the-leaf-set"]),
        (wendy.WD16, ["warned-by-a-leaf"]),
        (announcing.NeverWarns, ["who-is-known-is-warned-too"]),
        (announcing.WarnsAtEqualVersions, ["who-is-known-is-not-warned-in-vain"]),
        (announcing.AnnouncesNoTables, ["warned-by-a-leaf"]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_the_document_demands_is_violated(variant: type[Any], names: list[str]) -> None:
    session = judged(f"{variant.__module__}:{variant.__name__}", of(*names))

    assert session.report.violates == len(names)
