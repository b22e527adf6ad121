"""Ways to reach an implementation, and everything that can go wrong on the way: real processes with bad habits."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.numbered import argv, digits

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter, program
from peerproof.conformance.adapter.line_channel import KEPT_ERRORS
from peerproof.conformance.suite.timeouts import SLOWNESS, Timeouts

QUICK = Timeouts(hello=10, op=0.5, bye=1)


def decode(number: int) -> dict[str, Any]:
    return {"op": "decode", "protocol": "scuttlebutt", "bytes": digits(number)}


def never(question: dict[str, Any]) -> list[int]:
    raise AssertionError(f"asked {question}")


def started(habit: str, *arguments: str, patience: Timeouts = QUICK) -> Adapter:
    adapter = program(argv(habit, *arguments), patience, "1.0.0")
    adapter.start()
    return adapter


def refused(implementation: str, patience: Timeouts = QUICK) -> str:
    with pytest.raises(AdapterUnavailable) as unusable:
        create_adapter(implementation, "1.0.0", patience).start()
    return f"{unusable.value}\n{unusable.value.tip}\n{unusable.value.errors.decode()}"


def trouble(adapter: Adapter, number: int = 17) -> AdapterError:
    try:
        with pytest.raises(AdapterError) as raised:
            adapter.ask([decode(number)], never)
    finally:
        adapter.kill()
    return raised.value


def test_a_program_that_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    assert "no such program" in refused("no-such-program-anywhere --flag")
    assert "on the PATH" in refused("no-such-program-anywhere --flag")
    assert "check the path" in refused(str(tmp_path / "adapter"))


def test_a_file_that_is_not_executable_is_named_with_the_command_that_makes_it_so(tmp_path: Path) -> None:
    file = tmp_path / "adapter"
    file.write_text("#!/bin/sh\n")

    assert "not executable" in refused(str(file))
    assert f"chmod +x {file}" in refused(str(file))
    assert "it is a folder" in refused(str(tmp_path))


def test_a_script_whose_interpreter_is_missing_is_told_from_a_missing_script(tmp_path: Path) -> None:
    file = tmp_path / "adapter"
    file.write_text("#!/no/such/interpreter\n")
    file.chmod(0o755)

    assert "interpreter" in refused(str(file))


@pytest.mark.parametrize(
    ("implementation", "said"),
    [
        ("", "--impl is empty"),
        ("'unbalanced", "a quotation mark is not closed"),
        ("tcp://nowhere", "expected tcp://HOST:PORT"),
        ("py:no_colon", "expected py:MODULE:CLASS"),
        ("py:no_such_module:Class", "no module 'no_such_module'"),
        ("py:json:NoSuchClass", "NoSuchClass"),
    ],
)
def test_what_names_no_implementation_is_refused_with_the_reason(implementation: str, said: str) -> None:
    assert said in refused(implementation)


def test_a_silent_adapter_is_a_matter_of_starting_up() -> None:
    said = refused(" ".join(argv("silent")), Timeouts(hello=0.3, op=2, bye=1))

    assert "wrote nothing within 0.3 s" in said


def test_dying_at_hello_tells_the_exit_code_and_the_last_words() -> None:
    said = refused(" ".join(argv("die-at-hello")))

    assert "exited with code 7" in said
    assert "cannot open my database" in said


def test_a_banner_on_standard_output_is_shown_with_its_place_and_likely_cause() -> None:
    said = refused(" ".join(argv("banner")))

    assert "not JSON, at column 1: Listening on port 8080" in said
    assert "everything else goes to standard error" in said


def test_an_adapter_of_another_version_is_refused() -> None:
    assert "I speak 2" in refused(" ".join(argv("errors")))


def test_a_hundred_megabytes_on_standard_error_are_read_and_the_last_of_them_are_kept() -> None:
    adapter = started("flood", digits(17), patience=Timeouts(hello=60, op=5, bye=1))

    assert adapter.ask([decode(1)], never)[0]["ok"] is True
    dead = trouble(adapter)
    assert len(dead.errors) == KEPT_ERRORS
    assert dead.errors.endswith(b"the last words\npanic: index out of range\n")


@pytest.mark.parametrize(
    ("habit", "said"), [("die", "exited with code 3"), ("killed", "SIGSEGV"), ("half-a-line", '{"id": 1, "ok')]
)
def test_a_program_that_dies_leaves_its_exit_code_or_signal_and_its_last_words(habit: str, said: str) -> None:
    dead = trouble(started(habit, digits(17)))

    assert dead.kind == "crashed"
    assert said in dead.detail
    assert (b"panic: index out of range" in dead.errors) is (habit == "die")


@pytest.mark.slow
def test_no_answer_in_time_is_a_hang() -> None:
    hung = trouble(started("hang", digits(17)))

    assert hung.kind == "hung"
    assert "within 0.5 s" in hung.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "said"),
    [
        ("debug-print", "not JSON, at column 1: got a request"),
        ("wrong-id", "expected the reply to request 1, found id 99999"),
        ("deep-line", "nests more than 300 deep"),
    ],
)
def test_a_line_that_is_no_reply_is_garbled(habit: str, said: str) -> None:
    garbled = trouble(started(habit, digits(17), patience=Timeouts(op=5)))

    assert garbled.kind == "garbled"
    assert said in garbled.detail


@pytest.mark.parametrize("habit", ["endless-line", "long-line"])
def test_a_line_that_is_too_long_is_a_flood_and_says_how_it_begins(habit: str) -> None:
    flooded = trouble(started(habit, digits(17), str(17 * 2**20), patience=Timeouts(op=20)))

    assert flooded.kind == "flooded"
    assert "more than 16,777,216 bytes" in flooded.detail
    assert "--max-reply" in flooded.detail
    assert "xxx" in flooded.detail
    assert len(flooded.detail) < 1000


def test_requests_sent_at_once_are_answered_up_to_the_one_that_kills() -> None:
    adapter = started("die", digits(17))
    with pytest.raises(AdapterError) as raised:
        adapter.ask([decode(number) for number in range(1, 25)], never)
    adapter.kill()

    assert len(raised.value.answered) == 16


def test_an_adapter_without_batches_is_asked_one_by_one() -> None:
    adapter = started("no-batch")
    replies = adapter.ask_at_once([decode(number) for number in range(1, 25)], [never] * 24)
    adapter.stop()

    assert [reply["value"]["entries"][0]["version"] for reply in replies] == [str(number) for number in range(1, 25)]


def acquainted(habit: str) -> tuple[Adapter, dict[str, Any]]:
    """A program with a node that knows of a peer, and the request at which it chooses."""
    adapter, opening = started(habit), {"protocol": "scuttlebutt", "addr": "b:1", "config": {}, "seed": "0"}
    (node,) = adapter.ask([{"op": "open", "node": "n", "now_ms": 0, **opening}], never)
    told = {"via": "udp", "from": "a:1", "bytes": "0203613a310000000000000000"}
    adapter.ask([{"op": "recv", "handle": node["handle"], "now_ms": 0, **told}], never)
    return adapter, {"op": "advance", "handle": node["handle"], "now_ms": 1000}


def test_choices_are_asked_and_answered_in_the_middle_of_a_request() -> None:
    asked = []

    def choose(question: dict[str, Any]) -> list[int]:
        asked.append(question["site"])
        return list(range(len(question["of"]))) if question["kind"] == "permutation" else [0]

    adapter, advance = acquainted("good")
    (reply,) = adapter.ask([advance], choose)
    adapter.stop()

    assert asked == ["digest.order"]
    assert reply["effects"][0]["send"]["to"] == "a:1"


def test_a_choice_for_another_request_is_garbled() -> None:
    adapter, advance = acquainted("wrong-question")
    with pytest.raises(AdapterError, match="the open request") as raised:
        adapter.ask([advance], never)
    adapter.kill()

    assert raised.value.kind == "garbled"


@pytest.mark.slow
def test_a_program_that_ignores_bye_is_ended_by_force() -> None:
    adapter = started("deaf", patience=Timeouts(bye=0.2))

    assert adapter.stop() is False


def test_a_program_that_says_bye_ends_by_itself() -> None:
    assert started("good").stop() is True


def test_it_attaches_to_an_adapter_that_listens_and_reports_when_the_connection_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        listener = subprocess.Popen(argv("good"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        bridge = threading.Thread(target=_bridge, args=(server, listener), daemon=True)
        bridge.start()
        adapter = create_adapter(f"tcp://127.0.0.1:{port}", "1.0.0", QUICK)

        assert adapter.start().name == "peerproof-reference"
        assert adapter.ask([decode(1)], never)[0]["ok"] is True
        listener.kill()
        listener.wait()
        ended = trouble(adapter)

    assert ended.kind == "crashed"
    assert "closed the connection" in ended.detail


def _bridge(server: socket.socket, listener: subprocess.Popen[bytes]) -> None:
    connection, _ = server.accept()
    assert listener.stdin is not None
    assert listener.stdout is not None
    with connection, connection.makefile("rb") as lines:
        while line := lines.readline():
            try:
                listener.stdin.write(line)
                listener.stdin.flush()
            except OSError:
                return
            connection.sendall(listener.stdout.readline())


def test_nobody_listening_is_said_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert "start the adapter first" in refused(f"tcp://127.0.0.1:{port}")


IN_PROCESS = """\
import os, sys, time
from peerproof.reference.harness.harness import Harness


class Good(Harness):
    pass


class Raising(Harness):
    def handle(self, request, choose):
        if request["op"] == "decode":
            raise KeyError("no such thing")
        return super().handle(request, choose)


class Exiting(Harness):
    def handle(self, request, choose):
        if request["op"] == "decode":
            sys.exit("good bye")
        return super().handle(request, choose)


class Hanging(Harness):
    def handle(self, request, choose):
        if request["op"] == "decode":
            time.sleep(5)
        return super().handle(request, choose)


class Speechless(Harness):
    def handle(self, request, choose):
        return super().handle(request, choose) if request["op"] == "hello" else None


class Unwritten(Harness):
    def handle(self, request, choose):
        reply = super().handle(request, choose)
        return {**reply, "message": object()} if request["op"] == "decode" else reply


class Deep(Harness):
    def handle(self, request, choose):
        reply = super().handle(request, choose)
        deep = "text"
        for _ in range(400):
            deep = [deep]
        return {**reply, "value": deep} if request["op"] == "decode" else reply


class Unmade:
    def __init__(self):
        raise OSError("no licence")
"""


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "implementations.py").write_text(textwrap.dedent(IN_PROCESS))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "implementations", raising=False)
    return "py:implementations"


def test_a_class_in_this_process_is_asked_like_a_program(in_process: str) -> None:
    adapter = create_adapter(f"{in_process}:Good", "1.0.0", QUICK)

    assert adapter.start().name == "peerproof-reference"
    assert [reply["ok"] for reply in adapter.ask([decode(1), decode(2)], never)] == [True, True]
    assert adapter.stop() is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("Raising", "crashed", "KeyError: 'no such thing'"),
        ("Exiting", "crashed", "SystemExit: good bye"),
        ("Hanging", "hung", "within 0.5 s"),
        ("Speechless", "garbled", "returned no dict for decode"),
        ("Unwritten", "garbled", "returned a value that JSON cannot hold for decode"),
        ("Deep", "garbled", "returned a value that nests more than 300 deep for decode"),
    ],
)
def test_nothing_that_a_class_does_stops_the_runner(in_process: str, name: str, kind: str, said: str) -> None:
    adapter = create_adapter(f"{in_process}:{name}", "1.0.0", QUICK)
    adapter.start()
    happened = trouble(adapter)

    assert happened.kind == kind
    assert said in happened.detail
    assert adapter.start().name == "peerproof-reference"


def test_a_class_that_cannot_be_made_is_unusable(in_process: str) -> None:
    assert "no licence" in refused(f"{in_process}:Unmade")


@pytest.mark.parametrize(("said", "op"), [(None, 2), ("10", 20), ("0.5", 1)])
def test_the_environment_says_how_slow_the_machine_is(said: str | None, op: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if said is None:
        monkeypatch.delenv(SLOWNESS, raising=False)
    else:
        monkeypatch.setenv(SLOWNESS, said)

    assert Timeouts() == Timeouts(hello=5 * op, op=op, bye=op / 2)


@pytest.mark.parametrize("said", ["much", "", "0", "-1", "nan", "inf"])
def test_what_is_no_number_in_the_environment_is_a_usage_error(
    said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SLOWNESS, said)

    assert main(["run"]) == 2

    assert f"PEERPROOF_PATIENCE must be a number above 0, such as 5, not {said!r}" in capsys.readouterr().err
