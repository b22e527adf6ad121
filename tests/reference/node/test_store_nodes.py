"""Real nodes of DistKV in real processes, which meet in a folder."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reference.conftest import PATIENCE
from tests.reference.stores import COMMAND, FIRST, ROOT, Start, StoreProcess, running

from peerproof.cli.main import main
from peerproof.spec import distkv
from peerproof.spec.traces.replay import replay

pytestmark = pytest.mark.slow


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts nodes with a file each that do not outlive the test."""
    with running() as launch:

        def start(name: str, *options: str, **others: Any) -> StoreProcess:
            return launch(name, "--loopback", str(folder / "bus"), "--state", str(folder / f"{name}.state"), *options, **others)

        yield start


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_ends_the_trace_and_not_the_node(start: Start) -> None:
    node = start("n1", *FIRST, "--trace", "/dev/full")

    node.ready()
    assert node.end() == 1


def test_what_is_set_and_deleted_at_one_is_so_at_all_and_every_step_was_the_specifications(start: Start, folder: Path) -> None:
    traces = [folder / f"{number}.trace" for number in range(3)]
    one = start("n1", *FIRST, "--trace", str(traces[0]))
    one.ready()
    others = [start(f"n{number + 1}", "--trace", str(traces[number])) for number in (1, 2)]
    for node in others:
        node.ready()

    one.set(["a", 1, {"$bin": "ff"}], {"deep": [1.5, None, True]})
    others[0].set(["a"], "by n2")
    others[1].set(["a"], "by n3")
    others[1].set([""], 7)
    others[0].type("delete", [""])
    expected = ROOT | {'["a", 1, {"$bin": "ff"}]': {"deep": [1.5, None, True]}, '["a"]': "by n3"}
    for node in (one, *others):
        node.has(expected)
        assert {"path": ["a"], "value": "by n3"} in node.told("changed")
        assert node.answer("get", ["a"]) == {"path": ["a"], "value": "by n3"}
        assert node.answer("get", ["nothing"]) == {"path": ["nothing"], "value": None}
    state = one.answer("state")
    assert (state["phase"], [entry["value"] for entry in state["entries"]].count(None)) == ("ready", 1)

    one.type("quit")
    assert one.over() == 0
    assert {node.end() for node in others} == {0}
    assert list((folder / "bus").iterdir()) == []
    assert replay([line for trace in traces for line in trace.read_text(encoding="utf-8").splitlines()], distkv)


def test_what_makes_no_sense_is_refused_in_words_and_changes_nothing(start: Start) -> None:
    one = start("n1", *FIRST)
    one.type("set", ["too", "early"], 1)
    one.wait(lambda node: node.told("refused") != [], "refused")
    assert one.told("refused")[0]["class"] == "not_ready"
    one.ready()
    lines = [
        'set ["a"]', "set", "set [", 'set {"a":1} 1', "set [null] 1", 'set [["a"]] 1', f'set ["a"] "{"x" * 500}"',
        'set ["a"] {"$int":"99999999999999999999"}', 'delete ["a"] 1', "get", 'get "a"', "nonsense", 'dump []', "[" * 5000,
    ]  # fmt: skip
    for line in lines:
        one.type(line)
    one.wait(lambda node: len(node.told("refused")) > len(lines), "all refused")

    assert one.told("refused")[7]["class"] == "too_large"
    assert "set PATH VALUE" in one.told("refused")[12]["message"]
    assert (one.answer("own")["tick"], one.entries()) == ("1", ROOT)
    assert one.errors == []


def test_who_was_killed_finds_again_what_it_had_and_gets_what_it_has_missed(start: Start) -> None:
    one, other = start("n1", *FIRST), start("n2")
    for node in (one, other):
        node.ready()
    expected = ROOT.copy()
    for number in range(5):
        one.set(["n1", number], number)
        expected[f'["n1", {number}]'] = number
    other.has(expected)
    one.kill()
    other.set(["n2"], 1)
    again = start("n1", *FIRST)
    again.ready()
    again.set(["again"], 2)
    expected |= {'["n2"]': 1, '["again"]': 2}

    for node in (again, other):
        node.has(expected)
    assert again.answer("own")["tick"] == "7"


def test_a_whole_network_that_was_killed_comes_back_with_its_data_by_itself(start: Start) -> None:
    nodes = [start("n1", *FIRST)]
    nodes[0].ready()
    nodes.append(start("n2"))
    nodes[1].ready()
    nodes[0].set(["a"], 1)
    nodes[1].set(["b"], 2)
    for node in nodes:
        node.has(ROOT | {'["a"]': 1, '["b"]': 2})
        node.kill()

    again = [start("n1"), start("n2")]
    for node in again:
        node.ready()
        node.has(ROOT | {'["a"]': 1, '["b"]': 2})


def test_a_name_that_is_taken_a_garbled_file_and_bad_options_end_it_with_2_and_a_reason(
    start: Start, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = start("n1", *FIRST)
    one.ready()
    bus = ["--loopback", str(folder / "bus")]
    path, copy = folder / "garbled.state", folder / "copy.state"
    copy.write_bytes((folder / "n1.state").read_bytes())
    path.write_bytes(copy.read_bytes()[:-100] + b"???")
    cases = {
        "a node n1 is already running; each node needs its own name": [*bus, "--name", "n1"],
        "is in use by another process": [*bus, "--name", "n1", "--state", str(folder / "n1.state")],
        "garbled.state is damaged (": [*bus, "--name", "n1", "--state", str(path)],
        "is the journal of the DistKV node n1, not of the DistKV node n2": [*bus, "--name", "n2", "--state", str(copy)],
        "cannot use the journal": [*bus, "--name", "n2", "--state", "/no/such/folder/file"],
        "the name of a node has 1 to 64 bytes": [*bus, "--name", ""],
        "--first: expected a value as JSON": [*bus, "--name", "n2", "--first", "root"],
        "clock: expected": [*bus, "--name", "n2", "--clock", "1"],
        "max_payload must be at least 379": [*bus, "--name", "n2", "--max-payload", "100"],
        "is not an address": ["--serf", "nowhere", "--name", "n2"],
        "no Serf agent at": ["--serf", "127.0.0.1:1", "--name", "n2"],
        "cannot serve downloads at 192.0.2.1": [*bus, "--name", "n2", "--download", "192.0.2.1:0"],
        "one of the arguments --serf --loopback is required": ["--name", "n2"],
    }
    garbled = path.read_bytes()
    for complaint, options in cases.items():
        assert (main(["node", "start", "distkv", *options]), complaint) == (2, complaint)
        assert complaint in capsys.readouterr().err

    assert path.read_bytes() == garbled
    one.set(["still"], 1)


def test_events_of_others_and_garbage_are_passed_over(start: Start, folder: Path) -> None:
    one = start("n1", *FIRST)
    one.ready()
    before = one.answer("own")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        for data in (
            b"\xa6deploy\xa4make",
            b"\xaddistkv.update\xc1",
            b"\xaddistkv.update\x80",
            b"\xabdistkv.ping\x81\xa4node\xa1x",
            b"\xadother.update\x80",
            b"\xaedistkv.unknown\x80",
            b"",
            bytes(range(256)) * 8,
        ):
            stranger.sendto(data, str(next((folder / "bus").glob("*.bus"))))
    one.set(["a"], 1)

    one.has(ROOT | {'["a"]': 1})
    assert one.answer("own")["tick"] == "2"
    assert before["tick"] == "1"
    assert [error for error in one.errors if "malformed event" in error]
    assert [error for error in one.errors if "Traceback" in error] == []


def test_when_the_disk_is_full_it_ends_and_nobody_has_heard_of_what_is_not_on_it(folder: Path) -> None:
    """Here a limit to the size of files stands for the disk: forty blocks of 512 bytes."""
    limited = ["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *COMMAND]
    options = ["--name", "n1", "--loopback", str(folder / "bus"), "--state", str(folder / "state"), "--clock", "100", *FIRST]
    with subprocess.Popen(
        [*limited, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        while "ready" not in process.stdout.readline():
            pass
        for number in range(200):
            try:
                process.stdin.write(f'set ["a",{number}] "{"x" * 100}"\n')
                process.stdin.flush()
            except BrokenPipeError:
                break
        printed, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert f"cannot write the journal {folder / 'state'}: the disk reports an error, or a limit" in complaint.splitlines()[-1]

    changed = [line["changed"]["path"] for line in map(json.loads, printed.splitlines()) if "changed" in line]
    assert 5 < len(changed) < 200
    with running() as launch:
        again = launch("n1", "--loopback", str(folder / "bus"), "--state", str(folder / "state"), clock=100)
        again.ready()
        again.has(ROOT | {json.dumps(path): "x" * 100 for path in changed})
