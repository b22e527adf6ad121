"""The original libraries, as recorded: each verdict is the agreed one, and the page about them shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.recorded_originals import COMMAND, FAULTS, ORIGINALS, PAGES, RECORDINGS, SEEDS, TABLE, page, replayed, verdicts

from peerproof.conformance.report.failure_groups import find_differences

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ORIGINALS.is_dir(), reason=f"the originals are not judged: their recordings are not in {ORIGINALS}"),
]

AGREED = json.loads(TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("protocol", "name"), [(protocol, name) for protocol, names in RECORDINGS.items() for name in names])
def test_an_original_gets_the_agreed_verdicts(protocol: str, name: str) -> None:
    """If a verdict changed on purpose, make the table again (see `COMMAND`) and read its diff."""
    found, agreed = verdicts(replayed(protocol, name)), AGREED[name]

    assert found["totals"] == agreed["totals"], f"made again by: {COMMAND}"
    assert found["cases"] == agreed["cases"]
    assert found["clauses"] == agreed["clauses"]
    assert found["totals"]["passed"] > 0
    assert any("(crashed)" in outcome for outcome in found["cases"]), "each of the libraries panics somewhere"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_shows_what_the_recordings_give(path: Path) -> None:
    assert page(path) == path.read_text(encoding="utf-8"), f"made again by: {COMMAND}"


@pytest.mark.parametrize(("protocol", "name"), [(protocol, name) for protocol, names in RECORDINGS.items() for name in names])
def test_each_violation_has_a_sentence_of_the_document(protocol: str, name: str) -> None:
    faults = [fault for fault in FAULTS if fault.protocol == protocol]
    found = find_differences(replayed(protocol, name))
    reasons = {
        (case, shown): sum(fault.covers(case, shown) for fault in faults) for case, every in found.items() for shown in every
    }

    assert {found: count for found, count in reasons.items() if count != 1} == {}


def test_each_sentence_is_in_a_document_and_each_fault_is_shown() -> None:
    documents = [" ".join(path.read_text(encoding="utf-8").split()) for path in sorted(SEEDS.iterdir())]

    for fault in FAULTS:
        assert sum(fault.sentence in document for document in documents) == 1, fault.sentence
        assert any(fault.count(replayed(fault.protocol, name)) for name in RECORDINGS[fault.protocol]), fault.fault


def test_what_differs_names_its_decisions() -> None:
    for protocol, names in RECORDINGS.items():
        for name in names:
            assert all(result.decisions for result in replayed(protocol, name).results if result.status == "differs")
