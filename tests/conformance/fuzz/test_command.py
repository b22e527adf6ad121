"""`peerproof fuzz`: what it prints, how it ends, and that a vector it keeps tells right from wrong."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.conformance.mistakes.scuttlebutt import answers
from tests.support import implementations
from tests.support.catching import path_of
from tests.support.numbered import command

from peerproof.cli import fuzz
from peerproof.cli.main import main
from peerproof.reference.divergences.scuttlebutt import BD02, BD04, BD05, BD11, BD14
from peerproof.reference.harness.harness import Harness

pytestmark = pytest.mark.slow


def test_nothing_is_found_in_the_specification_and_the_line_says_what_happened(capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", "--nodes", "3"]) == 0

    text = capsys.readouterr().out
    assert re.match(r"scuttlebutt: nothing found in \d+ runs, [\d,]+ steps, from seed 0\n  [\d,]+ deliveries, ", text)
    assert " crashes, " in text


@pytest.mark.minute
def test_nothing_is_found_in_the_reference_as_a_program(capsys: Capture) -> None:
    program = f"{shlex.quote(sys.executable)} -m peerproof.reference.harness.harness"

    assert main(["fuzz", "scuttlebutt", "--impl", program, "--seed", "3"]) == 0

    captured = capsys.readouterr()
    assert "peerproof-reference" in captured.err
    assert "which asks the runner to choose" in captured.err
    assert "nothing found" in captured.out


def test_a_finding_is_told_with_its_clauses_its_run_the_difference_and_the_line_to_see_it_again(capsys: Capture) -> None:
    impl = "divergence:BD-03"

    assert main(["fuzz", "scuttlebutt", "--impl", impl, "--seed", "1", "--profile", "ci"]) == 1

    text = capsys.readouterr().out
    assert text.startswith("FOUND messages: no choice of the specification leads to the messages that were sent\n")
    assert "  B-14 must: " in text
    assert re.search(r"^ +\S+ -> \S+ +0 ms: digest_request \[", text, re.MULTILINE)
    assert "first difference, at " in text
    again = re.search(r"  again: peerproof (.*)\n", text)
    assert again is not None
    assert main([*shlex.split(again[1])]) == 1
    assert capsys.readouterr().out.split("found in run")[0] == text.split("found in run")[0]


KEPT = [BD02, BD04, BD05, BD11, answers.IsTheWildcard, BD14, implementations.RaisesAtQueries]


@pytest.mark.parametrize("variant", KEPT, ids=lambda v: v.__name__)
def test_a_finding_can_be_kept_as_a_vector_that_it_fails_and_the_reference_passes(
    variant: type, tmp_path: Path, capsys: Capture
) -> None:
    """An effect, a crash, a refusal, an event, a query, the answers to questions of chance, and a crash at a query."""
    impl, file = f"py:{path_of(variant)}", tmp_path / "kept/scuttlebutt/exchange/found.yaml"

    strict = ("--strict", "--decisions", "strict")
    assert main(["fuzz", "scuttlebutt", "--impl", impl, "--profile", "quick", *strict, "--promote", str(file)]) == 1

    assert f"kept:  {file}, which the implementation fails and the reference passes" in capsys.readouterr().out
    vectors = ("--vectors", str(tmp_path / "kept"))
    assert main(["vectors", "lint", *vectors]) == 0
    assert main(["run", *vectors]) == 0
    assert main(["run", *vectors, "--impl", impl, *strict]) == 1
    assert main(["vectors", "show", "found", *vectors]) == 0


@pytest.mark.parametrize("layer", ["exchange", "codec"])
def test_where_nothing_is_found_there_is_nothing_to_promote(layer: str, tmp_path: Path, capsys: Capture) -> None:
    """The usual reason is a bug that is fixed already."""
    impl, file = f"py:{path_of(Harness)}", tmp_path / f"scuttlebutt/{layer}/found.yaml"
    how = ["--bytes"] if layer == "codec" else ["--nodes", "1"]

    assert main(["fuzz", "scuttlebutt", *how, "--impl", impl, "--promote", str(file)]) == 4

    said = capsys.readouterr().err
    assert f"error: nothing to promote: there is no finding, and {file} is not written\n" in said
    assert "promote first, then fix" in said
    assert not file.exists()


@pytest.mark.parametrize(("how", "op"), [([], "recv"), (["--bytes"], "decode")], ids=["nodes", "decoder"])
def test_an_answer_with_the_error_panic_is_no_exit(how: list[str], op: str, capsys: Capture) -> None:
    """The end of standard error is shown, where the panic was written."""
    assert main(["fuzz", "scuttlebutt", *how, "--impl", command("panics", f'"op":"{op}"')]) == 1

    text = capsys.readouterr().out
    assert text.startswith("FOUND panicked: the implementation answered with the error panic\n")
    assert f"  its reply to {op} is the error panic: boom\n" in text
    assert "    | panic: boom" in text
    assert "next:  before you fix it, add --promote mine/scuttlebutt/" in text


def test_what_cannot_be_a_vector_is_told_and_not_written(tmp_path: Path, capsys: Capture) -> None:
    file, impl = tmp_path / "scuttlebutt/exchange/found.yaml", f"py:{path_of(implementations.WrongNowAndThen)}"

    assert main(["fuzz", "scuttlebutt", "--impl", impl, "--promote", str(file)]) == 1

    captured = capsys.readouterr()
    assert "FOUND messages" in captured.out
    assert "error: no vector is written: the implementation passes it" in captured.err
    assert not file.exists()


def test_a_finding_without_a_clause_is_not_advised_to_be_promoted(tmp_path: Path, capsys: Capture) -> None:
    """It says what keeps it instead; so does --promote."""
    fuzz = ["fuzz", "scuttlebutt", "--nodes", "1", "--impl", command("die", '"op":"crash"')]
    because = "no clause is known that it violates"
    instead = "the command above repeats it, and --corpus fuzz-corpus keeps it"

    assert main(fuzz) == 1
    text = capsys.readouterr().out
    assert "  clauses of this step:\n    none is known\n" in text
    assert f"  next:  no vector can hold it: {because}; {instead}\n" in text
    assert "--promote" not in text

    file = tmp_path / "scuttlebutt/exchange/found.yaml"
    assert main([*fuzz, "--promote", str(file)]) == 1
    assert f"error: no vector is written: {because}\ntip: {instead}\n" in capsys.readouterr().err
    assert main([*fuzz, "--corpus", str(tmp_path)]) == 1
    assert f"{because}; the corpus keeps it\n" in capsys.readouterr().out


def test_bytes_that_are_no_message_are_found_with_the_node_the_reason_and_the_clauses_of_the_format(capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", "--impl", f"py:{path_of(implementations.SendsAByteMore)}"]) == 1

    found, said, title, *clauses = capsys.readouterr().out.splitlines()
    assert found == "FOUND unreadable: the bytes that were sent are not a message"
    assert re.fullmatch(r"  node \S+ sent \S+ bytes that are no message: need the .* \(at byte \d+: truncated\): 03.*00", said)
    assert title == "  clauses about the form of messages:"
    assert clauses[0].startswith("  B-42 must: ")


@pytest.mark.slow
def test_a_program_that_dies_is_found_with_its_last_words(capsys: Capture) -> None:
    """It dies of every datagram that is an empty digest response."""
    fuzz = ["fuzz", "scuttlebutt", "--impl", command("die", '"bytes":"02"'), "--profile", "ci", "--restarts", "3"]
    assert main(fuzz) == 1

    text, said = capsys.readouterr()
    assert "warning: what was found could be shrunk no further: the implementation was started again 3 times" in said
    assert "tip: --restarts 30 goes on for longer\n" in said
    assert " --restarts 3\n" in text.partition("  again: ")[2]
    assert text.startswith("FOUND crashed: the implementation exited\n")
    assert "digest_response []" in text
    assert "    | panic: index out of range" in text


def test_a_program_that_cannot_be_started_again_ends_the_search_with_what_was_found(tmp_path: Path, capsys: Capture) -> None:
    impl = command("start-once", str(tmp_path / "started"), "recv")

    assert main(["fuzz", "scuttlebutt", "--impl", impl, "--profile", "ci"]) == 1

    captured = capsys.readouterr()
    assert "the implementation cannot be started again" in captured.err
    assert captured.out.startswith("FOUND crashed")


@pytest.mark.parametrize(
    ("impl", "message"),
    [
        ("/nowhere/adapter", "there is no such program"),
        (command("die-at-hello", "x"), "cannot open my database"),
        (f"py:{path_of(implementations.CodecOnly)}", "cannot be fuzzed: it does not offer exchange"),
        (f"py:{path_of(implementations.OtherProtocol)}", "cannot be fuzzed: it does not offer scuttlebutt, but raft"),
    ],
    ids=["no program", "dies at hello", "codec only", "another protocol"],
)
def test_an_adapter_that_cannot_be_fuzzed_ends_with_3(impl: str, message: str, capsys: Capture) -> None:
    assert main(["fuzz", "scuttlebutt", "--impl", impl]) == 3

    assert message in capsys.readouterr().err


def test_without_a_protocol_those_that_the_implementation_offers_are_fuzzed(tmp_path: Path, capsys: Capture) -> None:
    """With the same corpus as if they were named."""
    impl = ["--impl", f"py:{path_of(implementations.CodecOnly)}"]

    assert main(["fuzz", "--bytes", *impl, "--seconds", "1", "--corpus", str(tmp_path)]) == 0
    assert main(["fuzz", *impl, "--seconds", "1"]) == 3

    assert [path.name for path in tmp_path.iterdir()] == ["scuttlebutt"]
    assert (tmp_path / "scuttlebutt" / "progress.json").exists()
    text, said = capsys.readouterr()
    assert text.count("nothing found in") == 1
    assert "cannot be fuzzed: it does not offer exchange" in said


@pytest.mark.minute
def test_unsupported_members_of_configurations_are_left_out_counted_and_named(capsys: Capture) -> None:
    assert main(["fuzz", "swim", "--impl", f"py:{path_of(implementations.UsualDatagrams)}"]) == 0

    text = capsys.readouterr().out
    for part in ("max_datagram", "emit_incarnation", "restart_counter", "restart with restart_counter"):
        member = part.removeprefix("restart with ")
        assert re.search(rf"^  unsupported, so skipped \d+ times: {part}: no {member} yet$", text, re.MULTILINE), part
    assert text.count("unsupported") == 4


def test_a_fault_is_found_also_where_configurations_are_unsupported(capsys: Capture) -> None:
    assert main(["fuzz", "swim", "--impl", f"py:{path_of(implementations.UsualAndWrong)}"]) == 1

    text = capsys.readouterr().out
    assert text.startswith("FOUND messages")
    assert "max_datagram" not in text
    assert "did not show it again" not in text


def test_an_adapter_that_supports_no_configuration_ends_with_3(capsys: Capture) -> None:
    assert main(["fuzz", "swim", "--impl", f"py:{path_of(implementations.Unopened)}"]) == 3

    assert "answers unsupported to open, also with the defaults of swim: no uuid yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "unknown protocol 'nowhere'\ntip: there are distkv, peter, scuttlebutt"),
        (["scuttlebutt", "--nodes", "6"], "expected a number from 1 to 5"),
        (["scuttlebutt", "--seed", "-1"], "expected a whole number"),
        (["scuttlebutt", "--promote", "a/scuttlebutt/exchange/b.yaml"], "--promote needs --impl"),
        (["scuttlebutt", "--impl", "x", "--promote", "b.yaml"], "expected …/scuttlebutt/exchange/NAME.yaml"),
    ],
    ids=["protocol", "nodes", "seed", "nobody to judge", "place of the vector"],
)
def test_a_mistake_in_the_command_line_ends_with_2(arguments: list[str], message: str, capsys: Capture) -> None:
    assert main(["fuzz", *arguments]) == 2

    assert message in capsys.readouterr().err


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "scuttlebutt/exchange/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("mine")

    assert main(["fuzz", "scuttlebutt", "--impl", "divergence:BD-02", "--promote", str(file)]) == 2

    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_without_hypothesis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(fuzz, "find_spec", lambda _: None)

    assert main(["fuzz", "scuttlebutt"]) == 2

    assert capsys.readouterr().err.startswith("error: Hypothesis is not installed\ntip: pip install 'peerproof[fuzz]'\n")


def test_with_seconds_it_goes_on_seed_after_seed_until_the_time_is_over(capsys: Capture) -> None:
    """More runs than a profile has, or fewer; but it ends."""
    assert main(["fuzz", "scuttlebutt", "--nodes", "1", "--seconds", "1"]) == 0

    assert "nothing found in " in capsys.readouterr().out
