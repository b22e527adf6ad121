"""Fuzzing fails an implementation for what `peerproof run` fails it, and shows what only a decision demands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import path_of

from peerproof.cli.main import main
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.readings.reading import combine, readings_of
from peerproof.reference.divergences.scuttlebutt import BD02, BD04
from peerproof.reference.harness.harness import Harness

LONG = pytest.mark.minute  #: a whole search, again with strict decisions; others do that in `make test`


def variant_of(*named: tuple[str, str], protocol: str = "scuttlebutt") -> type[Any]:
    """The reference with other readings, by clause and name."""
    return type(combine(protocol, [one for one in readings_of(protocol) if (one.clause, one.name) in named]))


def declaring(base: type[Any], readings: dict[str, str]) -> type[Any]:
    """An implementation whose hello declares readings."""

    class Declaring(base):  # type: ignore[misc]
        def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
            reply: dict[str, Any] = super().handle(request, choose)
            return reply | {"readings": readings} if request["op"] == "hello" else reply

    return Declaring


class AcceptsAnyPair(variant_of(("BA-03", "accepted"))):  # type: ignore[misc]
    """Sets also what no datagram can hold."""


class RespondsAlways(variant_of(("BA-32", "empty-responses"))):  # type: ignore[misc]
    """Sends digest responses without entries."""


class RespondsWithAllPeers(variant_of(("BA-08", "all-known-peers"), ("BA-32", "empty-responses"))):  # type: ignore[misc]
    """Takes two decisions otherwise, which show in the same step."""


class ProbesInItsOwnForm(variant_of(("SA-41", "another-form"), protocol="swim")):  # type: ignore[misc]
    """Sends probes that the specification cannot read: the document gives them no form."""


class SaysThatItsProbesHaveTheirOwnForm(declaring(ProbesInItsOwnForm, {"SA-41": "another-form"})):  # type: ignore[misc]
    """The same, and its hello declares so."""


class SaysWhatIsUnknown(declaring(Harness, {"BA-20": "no-such-reading"})):  # type: ignore[misc]
    """Declares a reading that is not described."""


class SaysThatItRespondsAlways(declaring(RespondsAlways, {"BA-32": "empty-responses"})):  # type: ignore[misc]
    """The same, and its hello declares so."""


class OnlySaysThatItRespondsAlways(declaring(Harness, {"BA-32": "empty-responses"})):  # type: ignore[misc]
    """Declares a reading, and takes the other."""


class Utf8Only(variant_of(("BA-02", "utf-8-only"))):  # type: ignore[misc]
    """Rejects strings that are not UTF-8."""


class SaysThatItIsUtf8Only(declaring(Utf8Only, {"BA-02": "utf-8-only"})):  # type: ignore[misc]
    """Declares how it reads bytes; those of others come to it as they are."""


class OnlySaysThatItIsUtf8Only(declaring(Harness, {"BA-02": "utf-8-only"})):  # type: ignore[misc]
    """Declares how it reads bytes, and reads more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "how", "shown"),
    [
        pytest.param(
            AcceptsAnyPair,
            [],
            "only BA-03 asks for this, not the document; another reading explains it: BA-03 as accepted",
            marks=LONG,
        ),
        pytest.param(
            RespondsAlways,
            [],
            "only BA-32 asks for this, not the document; another reading explains it: BA-32 as empty-responses",
            marks=LONG,
        ),
        pytest.param(BD04, [], "crashed/truncated: only BA-20 asks for this, not the document", marks=LONG),
        (Utf8Only, ["--bytes"], "only BA-02 asks for this, not the document; another reading explains it: BA-02 as utf-8-only"),
    ],
)
def test_what_only_a_decision_demands_differs_and_the_search_goes_on(
    variant: type, how: list[str], shown: str, capsys: Capture
) -> None:
    fuzz = ["fuzz", "scuttlebutt", *how, "--impl", f"py:{path_of(variant)}"]

    assert main(fuzz) == 0
    text = capsys.readouterr().out
    assert "nothing found in" in text
    assert "\n  differs, " in text
    assert shown in text
    assert ('if your hello declares the reading: "readings": {"BA-32": "empty-responses"}' in text) is (variant is RespondsAlways)
    assert main([*fuzz, "--decisions", "strict"]) == 1
    text = capsys.readouterr().out
    assert shown.rpartition(": only")[2].removeprefix("only ") in text
    assert "--decisions strict\n" in text.partition("  again: ")[2]


@pytest.mark.slow
def test_a_declared_reading_ends_no_run_and_what_contradicts_it_is_found(capsys: Capture) -> None:
    for variant, reading, how in (
        (SaysThatItRespondsAlways, "BA-32 as empty-responses", ()),
        (SaysThatItIsUtf8Only, "BA-02 as utf-8-only", ()),
        (SaysThatItIsUtf8Only, "BA-02 as utf-8-only", ("--bytes",)),
    ):
        assert main(["fuzz", "scuttlebutt", "--seconds", "3", *how, "--impl", f"py:{path_of(variant)}"]) == 0
        done = capsys.readouterr()
        assert f"judged by the readings that its hello declares: {reading}" in done.err
        assert "differs" not in done.out

    for contrary, reading, strictly in (
        (OnlySaysThatItRespondsAlways, "BA-32 as empty-responses", ()),
        (OnlySaysThatItIsUtf8Only, "BA-02 as utf-8-only", ("--bytes", "--decisions", "strict")),
    ):
        assert main(["fuzz", "scuttlebutt", *strictly, "--impl", f"py:{path_of(contrary)}"]) == 1
        assert f"\n  judged by the readings that its hello declares: {reading}\n" in capsys.readouterr().out


@pytest.mark.slow
def test_readings_that_show_in_one_step_explain_it_together(capsys: Capture) -> None:
    both = "BA-08 as all-known-peers and BA-32 as empty-responses"
    explained = f"only BA-08 and BA-32 ask for this, not the document; another reading explains it: {both}\n"
    for seed in range(5):  # not every search brings a node to answer with both
        assert main(["fuzz", "scuttlebutt", "--seed", str(seed), "--impl", f"py:{path_of(RespondsWithAllPeers)}"]) == 0
        if explained in (text := capsys.readouterr().out):
            break

    assert explained in text
    assert json.loads(text.partition('"readings": ')[2]) == {"BA-08": "all-known-peers", "BA-32": "empty-responses"}


@pytest.mark.slow
@pytest.mark.parametrize("variant", [ProbesInItsOwnForm, SaysThatItsProbesHaveTheirOwnForm])
def test_a_message_without_a_form_in_the_document_may_have_any_declared_or_not(variant: type, capsys: Capture) -> None:
    assert main(["fuzz", "swim", "--seconds", "3", "--impl", f"py:{path_of(variant)}"]) == 0

    text, said = capsys.readouterr()
    assert "times: unreadable/probe_node: only SA-41 asks for this, not the document" in text
    is_declared = variant is SaysThatItsProbesHaveTheirOwnForm
    assert ("hello declares SA-41 as another-form: the document leaves this open, so that no behaviour" in said) is is_declared
    assert "judged by" not in said


@pytest.mark.parametrize("how", [[], ["--bytes"]], ids=["nodes", "decoder"])
def test_a_declared_reading_that_is_not_described_ends_with_3(how: list[str], capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", *how, "--impl", f"py:{path_of(SaysWhatIsUnknown)}"]) == 3

    assert "hello claims BA-20 as 'no-such-reading'; described are unspecified" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("clauses", "excuses", "expected"),
    [
        (["BA-03"], Excuses(), "differs: only BA-03 asks for this, not the document"),
        (["BA-03"], Excuses("ignore"), "tolerated: only BA-03 asks for this, not the document"),
        (["BA-03"], Excuses("strict"), None),
        (["BA-28"], Excuses("strict"), "tolerated: only BA-28 asks for this, not the document"),
        (["BA-28"], Excuses(strict=True), None),
        ([], Excuses(), None),
    ],
)
def test_a_finding_is_excused_as_a_case_would_be(clauses: list[str], excuses: Excuses, expected: str | None) -> None:
    assert excuses.has("name", "scuttlebutt", clauses) is (expected is not None)
    assert excuses.said.get("name") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "how", "place", "clause"),
    [
        pytest.param(AcceptsAnyPair, [], "scuttlebutt/exchange", "BA-03", marks=LONG),
        (Utf8Only, ["--bytes"], "scuttlebutt/codec", "BA-02"),
    ],
)
def test_its_vector_cites_the_decision_alone_and_differs_as_well(
    variant: type, how: list[str], place: str, clause: str, tmp_path: Path, capsys: Capture
) -> None:
    impl, file = ("--impl", f"py:{path_of(variant)}"), tmp_path / place / "found.yaml"
    fuzz = ["fuzz", "scuttlebutt", *how, *impl, "--promote", str(file)]

    assert main(fuzz) == 4
    assert "tip: --strict --decisions strict makes it a finding" in capsys.readouterr().err
    assert main([*fuzz, "--decisions", "strict"]) == 1
    assert f"  clauses: [{clause}]\n" in file.read_text()
    bundles = tmp_path / "bundles"
    assert main(["vectors", "export", "--vectors", str(tmp_path), "--gzip", "--output", str(bundles)]) == 0
    assert [file.name for file in bundles.iterdir()] == ["scuttlebutt.json.gz"]
    assert main(["run", "--vectors", str(tmp_path), *impl]) == 0
    assert "1 differ in what only a decision demands" in "".join(capsys.readouterr())
    assert main(["run", "--vectors", str(tmp_path), *impl, "--decisions", "strict"]) == 1


@pytest.mark.slow
def test_what_is_excused_is_no_smaller_form_of_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """If shrinking ends at something that is excused, it begins again and looks at each step."""
    asked = list[str]()

    def has(_: Excuses, name: str, *_args: object) -> bool:
        asked.append(name)
        return len(asked) == after

    monkeypatch.setattr(Excuses, "has", has)
    shown = list[str]()
    for after in (0, 2):  # the number of the finding that is excused: none; that which shrinking ends at
        asked.clear()
        assert main(["fuzz", "scuttlebutt", "--impl", f"py:{path_of(BD02)}"]) == 1
        shown.append(capsys.readouterr().out)
        assert (len(asked) > 2) is (after == 2)

    assert shown[0] == shown[1]
