"""What real implementations do otherwise is there to be judged, by its id."""

from __future__ import annotations

import pytest

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter, divergences
from peerproof.conformance.clauses import catalogue
from peerproof.spec.protocols import PROTOCOLS


def test_a_divergence_is_named_by_its_id_in_any_case() -> None:
    adapter = create_adapter("divergence:bd-09")

    hello = adapter.start()

    assert hello.name == "divergence BD-09"
    assert list(hello.protocols) == ["scuttlebutt"]
    assert adapter.stop()


@pytest.mark.parametrize(
    ("name", "named"),
    [("BD-12", ["BD-11", "BD-13"]), ("", ["BD-01", "DD-31"]), ("XX-01", ["WD-32"]), ("wd-18", ["explain WD-18"])],
)
def test_what_is_no_divergence_is_told_with_those_that_there_are(name: str, named: list[str]) -> None:
    with pytest.raises(AdapterUnavailable, match="no adapter has the divergence") as caught:
        create_adapter(f"divergence:{name}")

    assert all(other in str(caught.value.tip) for other in named)


def test_what_is_told_of_an_id_without_a_divergence_leads_to_its_clause() -> None:
    described = {clause for protocol in PROTOCOLS for clause in catalogue.load(protocol).items}
    told = {}
    for name in (f"{letter}D-{number:02}" for letter in "BSWPD" for number in range(100)):
        if name not in divergences():
            with pytest.raises(AdapterUnavailable) as caught:
                create_adapter(f"divergence:{name}")
            told[name] = f"peerproof explain {name}" in str(caught.value.tip)

    assert {name for name, leads in told.items() if leads} == {name for name in told if name in described}


def test_the_page_of_a_protocol_describes_each() -> None:
    described = {clause for protocol in PROTOCOLS for clause in catalogue.load(protocol).items}

    assert len(divergences()) == sum(len(row.divergences.load()) for row in PROTOCOLS.values() if row.divergences)
    assert divergences().keys() <= described


@pytest.mark.slow
def test_what_fails_is_not_shown_as_a_program_of_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--impl", "divergence:SD-01", "-k", "flag:sd-01", "swim"]) == 1

    shown = capsys.readouterr().out
    assert "peerproof vectors replay swim/" in shown
    assert "| divergence:" not in shown


@pytest.mark.slow
def test_a_clause_that_is_a_divergence_says_how_it_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "PD-13"]) == 0

    assert "peerproof run --impl divergence:PD-13 -k flag:pd-13" in capsys.readouterr().out
