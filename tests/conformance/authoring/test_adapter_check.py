"""Smoke: adapters with one mistake each, and the check that finds it."""

from __future__ import annotations

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import path_of, suite
from tests.support.implementations import AlwaysTheFirst, Offering
from tests.support.mistaken_adapters import (
    MISTAKES,
    Careless,
    Crashing,
    Elsewhere,
    HalfSilent,
    Lapsing,
    Misspelt,
    Numbering,
    Own,
    Strict,
    Unclear,
    Unopening,
    Yes,
)
from tests.support.numbered import argv, command

from peerproof.cli.main import main
from peerproof.conformance.adapter.implementation import program
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.authoring.adapter_check import CHECKS, Finding, _error_lines, check_adapter
from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.reference.harness.harness import Harness

pytestmark = pytest.mark.slow


def checked(made: type[Harness]) -> list[Finding]:
    """What the checks find of an implementation."""
    timeouts = Timeouts(op=60 if made is Harness else 5)
    return list(check_adapter(InProcess(path_of(made), timeouts, suite().version), suite()))


def wrong(made: type[Harness]) -> dict[str, str]:
    """The checks that an implementation fails, and what they say."""
    return {finding.name: finding.detail for finding in checked(made) if finding.fine is False}


def test_the_references_adapter_passes_every_check(capfd: Capture) -> None:
    assert main(["doctor", "--impl", "reference"]) == 0
    lines = capfd.readouterr().out.splitlines()

    over_datagrams = [name for name in protocols() if specification(name).TRANSPORT != "tcp"]
    assert len(lines) == len(CHECKS) * len(protocols()) + 2
    unasked = [line for line in lines if line.startswith("-") and " questions " in line]
    untold = [line for line in lines if line.startswith("-") and " events " in line]
    assert {line.split()[2] for line in unasked} == {"peter:", "wendy:"}
    assert {line.split()[2] for line in untold} == {"swim:"}
    assert sum(line.startswith("-  ") for line in lines) == len({"sent", "stream"}) * len(over_datagrams) + len(unasked + untold)
    assert not [line for line in lines if not line.startswith(("ok ", "-  "))]


@pytest.mark.parametrize("check", MISTAKES)
def test_each_check_finds_the_mistake_that_it_is_for(check: str) -> None:
    found = wrong(MISTAKES[check])

    assert check in found
    assert all("To do: " in detail for detail in found.values())


def test_there_is_a_mistake_for_each_check() -> None:
    assert set(MISTAKES) == {made.__name__ for made, _ in CHECKS}


def test_an_answer_to_an_op_that_does_not_exist_is_a_mistake_like_others() -> None:
    found = wrong(Yes)

    assert "no_such_op_at_all" in found["unknown_op"]
    assert "To do: " in found["bad_requests"]


def test_only_the_answer_to_another_request_is_an_answer_out_of_order() -> None:
    assert "has the answer of another request. To do: read one request " in wrong(MISTAKES["ordering"])["ordering"]

    said = wrong(Lapsing)["ordering"]
    assert 'is decoded as {"type": "invented"}, and alone as {"type": ' in said
    assert "To do: decode the same bytes to the same message each time; peerproof run shows " in said


def test_all_bad_requests_that_are_carried_out_are_named_at_once() -> None:
    said = [finding.detail for finding in checked(Careless) if finding.fine is False]

    assert [detail.count("expected an error for ") for detail in said] == [2, 2]  # of each protocol
    assert all("the adapter raised KeyError: 'config'. To do: answer " in detail for detail in said)
    assert all("; catch every error of a request " in detail for detail in said)


@pytest.mark.parametrize(
    ("habit", "said", "to_do"),
    [
        ("die", "exited with code 3", "find out why it ends"),
        ("hang", "did not answer within 1 s", "find out why it waits; "),
        ("debug-print", "wrote a line that is not JSON, at column 1: got a request. It looks ", "write each reply as one line "),
        ("wrong-id", "with the id 99999", "write each reply as one line "),
    ],
)
def test_what_fails_at_every_decode_is_said_once(habit: str, said: str, to_do: str) -> None:
    adapter = program(argv(habit, '"op":"decode","protocol":"swim"'), Timeouts(op=1), suite().version)
    found = [finding for finding in check_adapter(adapter, suite()) if finding.detail.startswith("swim: ")]

    (failed,) = [finding for finding in found if finding.fine is False]
    assert failed.name == "framing"
    assert failed.detail.startswith("swim: at decode of a legal ")
    assert said in failed.detail
    assert f". To do: {to_do}" in failed.detail
    assert ".. " not in failed.detail
    assert failed.detail.endswith("\n       | panic: index out of range") is (habit == "die")
    again = {finding.name for finding in found if finding.detail == "swim: decode fails as in the check framing"}
    assert again == {"ordering", "batches", "large_line", "bad_requests"}


def test_a_wrong_shape_is_said_once() -> None:
    found = [finding for finding in checked(Numbering) if finding.detail.startswith("scuttlebutt: ")]

    (failed,) = [finding for finding in found if finding.fine is False]
    assert 'effects[1].send.to must be an address, a string or {"hex": …}, not 7. To do: give each reply ' in failed.detail
    assert any(finding.detail.endswith(f" shape, as in the check {failed.name}") for finding in found)


def test_a_quiet_check_prints_what_is_not_ok_and_how_many_are(capfd: Capture) -> None:
    assert main(["doctor", "-q", "--impl", command("deaf"), "--bye-timeout", "0.3"]) == 1

    *lines, last = capfd.readouterr().out.splitlines()
    assert not [line for line in lines if not line.startswith(("FAIL ", "-  "))]
    assert lines[-1].startswith("FAIL bye ")
    assert last.endswith(" ok")


@pytest.mark.parametrize(
    ("made", "first", "to_do"),
    [
        (Unopening, "isolation", "open a node, since exchange is claimed; "),
        (Strict, "configuration", "read each member of config in its form "),
        (Crashing, "configuration", "find the error in your implementation; "),
    ],
)
def test_if_no_node_opens_one_check_says_so_and_the_others_refer_to_it(made: type[Unopening], first: str, to_do: str) -> None:
    found = [finding for finding in checked(made) if finding.detail.startswith("scuttlebutt: ")]
    failed = {finding.name: finding.detail for finding in found if finding.fine is False}
    unmade = {finding.name for finding in found if finding.detail == f"scuttlebutt: open fails as in the check {first}"}

    assert [*failed] == [first]
    assert f'was answered with an error: {{"code": "{made.code}", "message": "not yet"}}. To do: {to_do}' in failed[first]
    assert unmade >= {"isolation", "clock", "late_clock", "questions"} - {first}


def test_of_a_traceback_the_frames_near_the_fault_are_shown() -> None:
    """Those of Python come last."""
    frames = [f"{number}\tframe" for number in range(30)]

    assert _error_lines("\n".join(frames).encode())[0] == "0   frame"
    assert _error_lines("\n".join(["Traceback (most recent call last):", *frames]).encode())[-1] == "29  frame"


@pytest.mark.parametrize(("made", "said"), [(Misspelt, "did you mean 'scuttlebutt'? To do: "), (Offering, "no protocol")])
def test_a_hello_without_a_protocol_that_there_is_is_a_mistake(made: type[Harness], said: str) -> None:
    found = wrong(made)

    assert [*found] == ["protocol"]
    assert said in found["protocol"]


def test_a_program_that_does_not_end_is_found() -> None:
    found = list(check_adapter(program(argv("deaf"), Timeouts(op=5, bye=0.3), suite().version), suite()))

    assert [finding.name for finding in found if finding.fine is False] == ["bye"]


def test_an_adapter_that_exits_in_one_check_is_started_again_for_the_others() -> None:
    found = list(check_adapter(program(argv("killed", "no_such_op_at_all"), Timeouts(op=60), suite().version), suite()))

    assert {finding.name for finding in found if finding.fine is False} == {"unknown_op"}


def test_of_an_adapter_that_cannot_be_used_the_last_lines_of_its_errors_are_shown(capsys: Capture) -> None:
    assert main(["doctor", "--impl", "sh -c 'seq 30 >&2'"]) == 3

    shown = [line.removeprefix("  | ") for line in capsys.readouterr().err.splitlines() if line.startswith("  | ")]
    assert shown == [str(number) for number in range(11, 31)]


@pytest.mark.parametrize(
    ("impl", "code"), [("./no-such-adapter", 3), (command("banner"), 3), (command("killed", "no_such_op_at_all"), 1)]
)
def test_the_exit_code_tells_a_mistake_from_an_adapter_that_cannot_be_used(impl: str, code: int) -> None:
    assert main(["doctor", "--impl", impl]) == code


@pytest.mark.parametrize(
    ("made", "fine", "protocol", "said"),
    [
        (Harness, True, "scuttlebutt", "round.partner (10)"),
        (Harness, True, "swim", "round.order ("),
        (Harness, None, "wendy", "has no random choices"),
        (Unclear, True, "scuttlebutt", "round.partner (10)"),
        (Elsewhere, False, "scuttlebutt", "it asks at 'dice'"),
        (AlwaysTheFirst, False, "scuttlebutt", "no question was asked at round.partner: it chooses at random itself"),
        (AlwaysTheFirst, False, "swim", "no question was asked at round.order: it chooses at random itself"),
        (AlwaysTheFirst, None, "distkv", "no question was asked; the sites are ping.early, "),
        (HalfSilent, False, "scuttlebutt", "no question was asked at round.partner: it chooses at random itself"),
        (Own, None, "scuttlebutt", '"choices": "set"'),
    ],
)
def test_what_was_found_out_about_questions_is_said(made: type[Harness], fine: bool | None, protocol: str, said: str) -> None:
    """Which sites were asked, that none was, or that none will be."""
    details = [finding.detail for finding in checked(made) if (finding.name, finding.fine) == ("questions", fine)]

    assert any(protocol in detail and said in detail for detail in details)
