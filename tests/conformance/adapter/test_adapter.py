"""Ways to reach an implementation, and everything that can go wrong on the way: real processes with bad habits."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support import implementations
from tests.support.catching import path_of
from tests.support.numbered import argv, command, digits

from peerproof.cli.main import main
from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.adapter.choices import nothing_to_choose
from peerproof.conformance.adapter.implementation import create_adapter, program
from peerproof.conformance.adapter.line_adapter import FIRST_BATCH
from peerproof.conformance.adapter.line_channel import KEPT_ERRORS
from peerproof.conformance.suite.timeouts import SLOWNESS, Timeouts
from peerproof.reference.harness.harness import Harness

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a script that nobody may run, and one whose interpreter is missing."""
    for name, interpreter, mode in (("script", "/bin/sh", 0o644), ("orphan", "/no/such/interpreter", 0o755)):
        (tmp_path / name).write_text(f"#!{interpreter}\n")
        (tmp_path / name).chmod(mode)
    return tmp_path


@pytest.mark.parametrize(
    ("implementation", "said"),
    [
        ("", ["--impl is empty"]),
        ("'unbalanced", ["a quotation mark is not closed"]),
        ("tcp://nowhere", ["expected tcp://HOST:PORT"]),
        ("py:no_colon", ["expected py:MODULE:CLASS"]),
        ("py:no_such_module:Class", ["no module 'no_such_module'"]),
        ("py:json:NoSuchClass", ["NoSuchClass"]),
        (f"py:{path_of(implementations.Unmade)}", ["no licence"]),
        ("no-such-program-anywhere --flag", ["no such program", "on the PATH"]),
        ("FOLDER/adapter", ["check the path"]),
        ("FOLDER/script", ["not executable", "chmod +x FOLDER/script"]),
        ("FOLDER/orphan", ["interpreter"]),
        ("FOLDER", ["it is a folder"]),
        (command("errors"), ["I speak 2"]),
        (command("die-at-hello"), ["exited with code 7", "cannot open my database"]),
        (
            command("banner"),
            ["not JSON, at column 1: Listening on port 8080", "everything else goes to standard error"],
        ),
    ],
)
def test_what_cannot_be_started_is_refused_with_the_reason_and_what_to_do(
    folder: Path, implementation: str, said: Sequence[str]
) -> None:
    shown = refused(implementation.replace("FOLDER", str(folder)))

    assert all(words.replace("FOLDER", str(folder)) in shown for words in said)


def test_a_package_that_the_adapter_needs_and_that_is_not_found_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "needy.py").write_text("import my_own_package\n")
    monkeypatch.chdir(folder)

    shown = refused("py:needy:Adapter")

    assert "no module 'my_own_package', which it imports" in shown
    assert "in this folder and on PYTHONPATH" in shown


def test_a_program_of_this_folder_is_written_with_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    assert "write ./orphan: " in refused("orphan --flag")


def test_an_adapter_that_does_not_answer_hello_is_refused() -> None:
    assert "wrote nothing within 0.3 s" in refused(command("silent"), Timeouts(hello=0.3, op=2, bye=1))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "start the adapter first" in refused(f"tcp://127.0.0.1:{port}")


def test_a_hundred_megabytes_on_standard_error_are_read_and_the_last_of_them_are_kept() -> None:
    adapter = started("flood", digits(17), patience=Timeouts(hello=60, op=5, bye=1))

    assert adapter.ask([decode(1)], never)[0]["ok"] is True
    dead = trouble(adapter)
    assert len(dead.errors) == KEPT_ERRORS
    assert dead.errors.endswith(b"the last words\npanic: index out of range\n")


@pytest.mark.parametrize(
    ("habit", "kind", "said"),
    [
        ("die", "crashed", "exited with code 3"),
        ("killed", "crashed", "SIGSEGV"),
        ("half-a-line", "crashed", '{"id": 1, "ok'),
        pytest.param("hang", "hung", "within 0.5 s", marks=pytest.mark.slow),
        pytest.param("debug-print", "garbled", "not JSON, at column 1: got a request", marks=pytest.mark.slow),
        pytest.param("wrong-id", "garbled", "answered request 1 with the id 99999", marks=pytest.mark.slow),
        pytest.param("deep-line", "garbled", "nests more than 300 deep", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_reply_is_told_with_its_kind_and_last_words(habit: str, kind: str, said: str) -> None:
    happened = trouble(started(habit, digits(17), patience=Timeouts(op=5) if kind == "garbled" else QUICK))

    assert happened.kind == kind
    assert said in happened.detail
    assert (b"panic: index out of range" in happened.errors) is (habit == "die")


@pytest.mark.parametrize("habit", ["endless-line", "long-line"])
def test_a_line_that_is_too_long_is_a_flood_and_says_how_it_begins(habit: str) -> None:
    flooded = trouble(started(habit, digits(17), str(17 * 2**20), patience=Timeouts(op=20)))

    assert flooded.kind == "flooded"
    assert all(words in flooded.detail for words in ("more than 16,777,216 bytes", "--max-reply", "xxx"))
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


@pytest.mark.parametrize(("habit", "before"), [("good", 0), ("no-batch", 0), ("codec-batch", FIRST_BATCH)])
def test_choices_are_asked_and_answered_in_the_middle_of_a_request(habit: str, before: int) -> None:
    """In a batch, and alone because the batch is refused, also after an answered one."""
    asked = []

    def choose(question: dict[str, Any]) -> list[int]:
        asked.append(question["site"])
        return list(range(len(question["of"]))) if question["kind"] == "permutation" else [0]

    adapter, advance = acquainted(habit)
    *_, reply = adapter.ask_at_once([*map(decode, range(before)), advance], [*[never] * before, choose])
    adapter.stop()

    assert asked == ["digest.order"]
    assert reply["effects"][0]["send"]["to"] == "a:1"


def test_a_request_that_fails_alone_leaves_the_answers_of_the_batch_before_it() -> None:
    adapter, advance = acquainted("codec-batch")
    with pytest.raises(AdapterError) as raised:
        adapter.ask_at_once([*map(decode, range(FIRST_BATCH)), advance], [never] * FIRST_BATCH + [nothing_to_choose])
    adapter.kill()

    assert [reply["value"]["entries"][0]["version"] for reply in raised.value.answered] == [*map(str, range(FIRST_BATCH))]


def test_questions_do_not_give_a_request_more_time() -> None:
    adapter = started("asks-on", digits(17))
    with pytest.raises(AdapterError) as raised:
        adapter.ask([decode(17)], lambda _: [0])
    adapter.kill()

    assert raised.value.kind == "hung"


def test_a_choice_for_another_request_is_garbled() -> None:
    adapter, advance = acquainted("wrong-question")
    with pytest.raises(AdapterError, match="the open request") as raised:
        adapter.ask([advance], never)
    adapter.kill()

    assert raised.value.kind == "garbled"


@pytest.mark.parametrize(("habit", "ends_by_itself"), [("good", True), pytest.param("deaf", False, marks=pytest.mark.slow)])
def test_a_program_that_ignores_bye_is_ended_by_force(habit: str, ends_by_itself: bool) -> None:
    assert started(habit, patience=Timeouts(bye=10 if ends_by_itself else 0.2)).stop() is ends_by_itself


def test_a_program_that_was_killed_leaves_no_open_file() -> None:
    before = set(os.listdir("/dev/fd"))
    started("good").kill()

    assert set(os.listdir("/dev/fd")) <= before


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


def in_process(made: type) -> Adapter:
    """An adapter of a class in this process."""
    return create_adapter(f"py:{path_of(made)}", "1.0.0", QUICK)


def test_a_class_in_this_process_is_asked_like_a_program() -> None:
    before, adapter = {*threading.enumerate()}, in_process(Harness)

    assert adapter.start().name == "peerproof-reference"
    assert [reply["ok"] for reply in adapter.ask([decode(1), decode(2)], never)] == [True, True]
    (thread,) = {*threading.enumerate()} - before
    assert adapter.stop() is True
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        (implementations.Raising, "crashed", "KeyError: 'no such thing'"),
        (implementations.Exiting, "crashed", "SystemExit: good bye"),
        (implementations.Hanging, "hung", "within 0.5 s"),
        (implementations.Speechless, "garbled", "returned no dict for decode"),
        (implementations.Unwritten, "garbled", "returned a value that JSON cannot hold for decode"),
        (implementations.Deep, "garbled", "returned a value that nests more than 300 deep for decode"),
        (implementations.Circular, "garbled", "returned a value that JSON cannot hold for decode"),
    ],
)
def test_nothing_that_a_class_does_stops_the_runner(made: type, kind: str, said: str) -> None:
    adapter = in_process(made)
    adapter.start()
    happened = trouble(adapter)

    assert happened.kind == kind
    assert said in happened.detail
    assert adapter.start().name == "peerproof-reference"


def test_without_a_time_limit_a_class_runs_in_the_thread_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong with it is told as before, but Ctrl-C ends the caller."""
    before = {*threading.enumerate()}
    adapter = create_adapter(f"py:{path_of(implementations.Raising)}", "", Timeouts(op=0))
    adapter.start()

    assert {*threading.enumerate()} == before
    with pytest.raises(AdapterError, match="no such thing") as caught:
        adapter.ask([decode(1)], never)
    assert caught.value.kind == "crashed"

    monkeypatch.setattr(implementations.Raising, "_before", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        adapter.ask([decode(1)], never)


def _interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("said", "op"), [(None, 2), ("10", 20), ("0.5", 1)])
def test_the_environment_says_how_slow_the_machine_is(said: str | None, op: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if said is None:
        monkeypatch.delenv(SLOWNESS, raising=False)
    else:
        monkeypatch.setenv(SLOWNESS, said)

    assert Timeouts() == Timeouts(hello=5 * op, op=op, bye=op / 2)


@pytest.mark.parametrize("said", ["much", "", "0", "-1", "nan", "inf"])
def test_what_is_no_number_in_the_environment_is_a_usage_error(
    said: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(SLOWNESS, said)

    assert main(["run"]) == 2

    assert f"PEERPROOF_PATIENCE must be a number above 0, such as 5, not {said!r}" in capsys.readouterr().err
