"""The original libraries, as recorded: each verdict is the agreed one, and the page about them shows it."""

from __future__ import annotations

import json

import pytest
from tests.conformance.recorded_originals import COMMAND, ORIGINALS, PAGE, RECORDINGS, TABLE, page, replayed, verdicts

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
    assert any("crashed" in outcome for outcome in found["cases"]), "each of the libraries panics somewhere"


def test_the_page_shows_what_the_recordings_give() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), f"made again by: {COMMAND}"
