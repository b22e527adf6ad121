"""Who reads Wendy's document otherwise is no longer accused, and who does what it forbids still is."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import pytest
from tests.conformance import wrong_wendy
from tests.conformance.catching import suite
from tests.conformance.mistakes_wendy import announcing

from peerproof.conformance.readings.reading import Reading, readings_of
from peerproof.conformance.report.session import Session, run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.suite import Vector

READINGS: Final[tuple[Reading, ...]] = readings_of("wendy")

#: Of the cases that rest on a reading, so many are tried.
MOST: Final = 4


def _claiming(reading: Reading) -> type[Any]:
    base = type(reading.variant("wendy"))

    def handle(self: Any, request: dict[str, Any], choose: Any) -> dict[str, Any]:
        reply: dict[str, Any] = base.handle(self, request, choose)
        return {**reply, "readings": {reading.clause: reading.name}} if request["op"] == "hello" else reply

    return type("Claiming", (base,), {"handle": handle, "__module__": __name__})


#: An implementation for each reading, which says that it takes it.
CLAIMING: Final = {f"Claiming{number}": reading for number, reading in enumerate(READINGS)}
globals().update({name: _claiming(reading) for name, reading in CLAIMING.items()})


class Small(wrong_wendy.Wrong):
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


def resting_on(reading: Reading) -> list[Vector]:
    """Vectors for which this reading, and if there are any no other of its decision, makes something else come."""
    alone, among = [], []
    for vector in of_wendy():
        at = [{*others[reading.clause].values()} for others in vector.rests_on.values() if reading.clause in others]
        if at and all(names == {reading.name} for names in at):
            alone.append(vector)
        elif any(reading.name in names for names in at):
            among.append(vector)
    return alone or among


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMING, ids=[f"{reading.clause}-{reading.name}" for reading in READINGS])
def test_who_claims_a_reading_passes_what_rests_on_it(name: str) -> None:
    reading = CLAIMING[name]
    found = resting_on(reading)

    session = judged(f"{__name__}:{name}", list(cases(suite(), found[:MOST])))

    assert found
    assert statuses(session).keys() <= {"passed", "skipped"}
    assert any(f"{reading.clause}: {reading.name}" in result.branches for result in session.report.results)


def test_no_reading_has_the_name_of_another() -> None:
    named = [(reading.clause, reading.name) for reading in READINGS]

    assert len({*named}) == len(named)


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
        (wrong_wendy.WD12, ["hops-of-a-join-count-nodes"], "WA-56"),
        (wrong_wendy.WD19, ["better-score-takes-the-cell"], "WA-39"),
        (wrong_wendy.WD21, ["a-joiner-that-is-known"], "WA-36"),
        (wrong_wendy.WD25, ["a-message-that-fails"], "WA-33"),
        (wrong_wendy.WD32, ["unknown-members"], "WA-63"),
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
        (wrong_wendy.WD03, ["route-within-the-leaf-set"]),
        (wrong_wendy.WD16, ["warned-by-a-leaf"]),
        (announcing.NeverWarns, ["who-is-known-is-warned-too"]),
        (announcing.WarnsAtEqualVersions, ["who-is-known-is-not-warned-in-vain"]),
        (announcing.AnnouncesNoTables, ["warned-by-a-leaf"]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_the_document_demands_is_violated(variant: type[Any], names: list[str]) -> None:
    session = judged(f"{variant.__module__}:{variant.__name__}", of(*names))

    assert session.report.violates == len(names)
