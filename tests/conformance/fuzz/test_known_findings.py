"""Known findings do not end a search: they are recognised by their names, which do not depend on the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import path_of

from peerproof.cli.main import main
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.fuzz.findings import Fed, Finding
from peerproof.conformance.fuzz.implementation_players import Implementation
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.known_findings import KnownFindings, UnreadableFindings, load_known_findings, name_finding
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.reaction import Came, Passed, Started, Stimulus
from peerproof.conformance.fuzz.search_settings import PROFILES
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.reference.divergences.scuttlebutt import BD03
from peerproof.reference.harness.harness import Harness
from peerproof.spec.core import Instant, NodeId

INPUTS = inputs_of("scuttlebutt")
A, B = NodeId("a:1"), NodeId("b:1")


@pytest.mark.slow
def test_a_search_goes_on_after_a_known_finding_and_does_not_shrink_to_it() -> None:
    names: list[str] = []
    for _ in range(2):
        adapter = InProcess(path_of(BD03), Timeouts(op=0), "")
        campaign = Campaign(INPUTS, Implementation("scuttlebutt", INPUTS, adapter, adapter.start()), nodes=2)
        campaign.known = KnownFindings(dict.fromkeys(names, "not mended yet"))
        campaign.search(PROFILES["quick"], 0)
        adapter.kill()
        assert campaign.finding is not None
        names.append(name_finding(INPUTS.spec, campaign.finding))

    assert names[0] != names[1]
    assert campaign.known.seen[names[0]] > 0


@pytest.mark.slow
def test_a_line_that_was_not_found_is_a_warning(tmp_path: Path, capsys: Capture) -> None:
    known = tmp_path / "known.txt"
    known.write_text("crashed/start it is fixed perhaps\n")

    assert main(["fuzz", "scuttlebutt", "--impl", f"py:{path_of(Harness)}", "--nodes", "1", "--known", str(known)]) == 0
    captured = capsys.readouterr()
    assert "  known, 0 times: crashed/start: it is fixed perhaps\n" in captured.out
    assert "warning: known, but not found this time: crashed/start; remove from --known what is fixed\n" in captured.err


@pytest.mark.parametrize(
    ("stimulus", "name"),
    [
        (Started(), "crashed/start"),
        (Passed(), "crashed/time"),
        (Came(B, b"\x03"), "crashed/delta"),
        (Came(B, b"\xff\x01\xab"), "crashed/bad_type"),
        (Came(B, b"\x7f"), "crashed/bad_type"),
    ],
)
def test_the_name_has_what_the_node_was_given_but_not_its_bytes(stimulus: Stimulus, name: str) -> None:
    assert name_finding(INPUTS.spec, Finding("crashed", "", A, fed=(Fed(Instant(0), stimulus),))) == name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# a comment\n\ncrashed/delta\n", ":3: expected the name of a finding and a reason, found 'crashed/delta'"),
        ("crashed/delta old\ncrashed/delta new\n", ":2: crashed/delta is listed twice"),
    ],
)
def test_a_list_that_cannot_be_read_names_the_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UnreadableFindings) as refused:
        load_known_findings(path)

    assert str(refused.value).endswith(problem)
