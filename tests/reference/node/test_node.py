"""Real nodes in real processes on the loopback."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.reference.conftest import ATTEMPTS, COMMAND, PATIENCE, NodeProcess

from peerproof.cli.main import main
from peerproof.spec import scuttlebutt
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.scuttlebutt import MESSAGE, Delta, DeltaEntry, DigestEntry, DigestRequest
from peerproof.spec.traces.trace import parse, replay

Launch = Callable[..., NodeProcess]


def endpoint(node: NodeProcess) -> tuple[str, int]:
    host, _, port = node.addr.rpartition(":")
    return host, int(port)


def asked(stranger: socket.socket, node: NodeProcess) -> Delta:
    """What a node answers to somebody who knows nothing of it but its name. Datagrams get lost, so it is asked until it does."""
    request = MESSAGE.encode(DigestRequest((DigestEntry(NodeId(node.addr), 0),)))
    for _ in range(ATTEMPTS):
        stranger.sendto(request, endpoint(node))
        with suppress(TimeoutError):
            answer = MESSAGE.decode(stranger.recv(2**16))
            if isinstance(answer, Delta):  # and not a digest of its own
                return answer
    raise AssertionError(f"no answer from {node.addr}")


@pytest.mark.slow
def test_three_nodes_agree_hear_what_is_typed_notice_that_one_was_killed_and_learn_it_again(launch: Launch) -> None:
    first = launch("--set", "colour=red")
    second = launch("--peer", first.addr, "--set", "colour=green")
    third = launch("--peer", first.addr, "--set", "colour=blue")
    everything = {first.addr: {"colour": "red"}, second.addr: {"colour": "green"}, third.addr: {"colour": "blue"}}
    for node in (first, second, third):
        node.wait(lambda node: node.pairs() == everything)
        node.wait(lambda node: set(node.status().values()) == {"up"})

    first.type("set mood='rather good'")
    first.type("nonsense")
    everything[first.addr]["mood"] = "rather good"
    second.wait(lambda node: node.pairs() == everything)

    third.end(signal.SIGKILL)

    for node in (first, second):
        node.wait(lambda node: node.status()[third.addr] == "down")
    # A new start counts versions from 0 and is believed once it has passed the version that is known of it (BX-03).
    again = launch("--peer", first.addr, "--set", "colour=pink", "--set", "colour=black", bind=third.addr)
    everything[third.addr] = {"colour": "black"}
    for node in (first, second, again):
        node.wait(lambda node: node.pairs() == everything)
        node.wait(lambda node: set(node.status().values()) == {"up"})
    first.type("quit")
    assert [first.over(), second.end(), again.end()] == [0, 0, 0]


@pytest.mark.slow
def test_a_node_under_a_flood_of_garbage_keeps_serving_and_keeps_its_state(
    launch: Launch, stranger: socket.socket, tmp_path: Path
) -> None:
    node = launch("--set", "k=v", "--trace", str(tmp_path / "trace"))
    random = Random("flood")
    before = node.latest["view"]

    sent = 0
    for _ in range(3000):
        garbage = bytes([random.choice((0, 1, 2, 3, 3, 4, 255))]) + random.randbytes(random.randrange(60))
        if is_malformed(garbage):
            stranger.sendto(garbage, endpoint(node))
            sent += 1
        if sent % 500 == 0:
            assert asked(stranger, node).entries == (DeltaEntry(NodeId(node.addr), "k", "v", 1),)
    assert sent > 2500

    assert asked(stranger, node).entries == (DeltaEntry(NodeId(node.addr), "k", "v", 1),)
    node.type("view")
    assert node.next_view()["view"] == before
    assert node.end() == 0
    lines = list(map(parse, (tmp_path / "trace").read_text().splitlines()))
    assert {line.args["type"] for line in lines if line.kind == "recv"} == {"digest_request"}
    assert any("malformed datagram" in error for error in node.errors)
    assert len(node.errors) < 10


def is_malformed(data: bytes) -> bool:
    try:
        MESSAGE.decode(data)
    except MalformedMessage:
        return True
    return False


#: What a peer may be called.
UNREACHABLE = (
    "",
    "nobody",
    "example.invalid:53",
    "1.2.3.4:0",
    "1.2.3.4:99999",
    "[::1]:5",
    "255.255.255.255:9",
    "\udcff:1",  # not UTF-8
    "\x1b[2J:1",  # clears a terminal
)


@pytest.mark.slow
def test_peers_with_addresses_that_nobody_can_send_to_do_not_stop_a_node(launch: Launch, stranger: socket.socket) -> None:
    """A digest may name anything as a peer; a node then gossips with it, as far as that goes."""
    node = launch("--set", "k=v", "-vv")
    stranger.sendto(MESSAGE.encode(DigestRequest(tuple(DigestEntry(NodeId(name), 1) for name in UNREACHABLE))), endpoint(node))

    assert MESSAGE.decode(stranger.recv(2**16)) == Delta(())
    node.wait(lambda node: len(node.latest["view"]) == len(UNREACHABLE) + 1)
    node.wait(lambda node: set(node.status().values()) == {"down"})  # many rounds later

    assert asked(stranger, node).entries == (DeltaEntry(NodeId(node.addr), "k", "v", 1),)
    assert not [error for error in node.errors if "Traceback" in error]
    assert node.end() == 0


@pytest.mark.slow
def test_the_trace_of_an_interrupted_node_is_whole_and_replays(launch: Launch, tmp_path: Path) -> None:
    first = launch("--set", "a=1", "--trace", str(tmp_path / "0"))
    second = launch("--peer", first.addr, "--set", "b=2", "--trace", str(tmp_path / "1"))
    for node in (first, second):
        node.wait(lambda node: len(node.pairs()) == 2 and all(node.pairs().values()))

    assert (first.end(signal.SIGINT), second.end(signal.SIGTERM)) == (0, 0)

    for trace in ("0", "1"):
        text = (tmp_path / trace).read_text()
        lines = list(map(parse, text.splitlines()))
        assert text.endswith("\n")
        assert list(replay(scuttlebutt, lines)) == []
        assert {line.kind for line in lines} == {"start", "api", "timer", "recv"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_ends_the_trace_and_not_the_node(launch: Launch) -> None:
    first = launch("--set", "a=1", "--trace", "/dev/full")
    second = launch("--peer", first.addr)

    second.wait(lambda node: node.pairs().get(first.addr) == {"a": "1"})

    assert first.end() == 1
    assert [error for error in first.errors if "the trace /dev/full ends after 0 lines: No space left" in error]


def test_a_port_that_is_taken_is_named(stranger: socket.socket, capsys: pytest.CaptureFixture[str]) -> None:
    taken = f"127.0.0.1:{stranger.getsockname()[1]}"

    assert main(["node", "start", "scuttlebutt", "--bind", taken]) == 2
    assert capsys.readouterr().err == f"error: cannot listen at {taken}: Address already in use\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--bind", "127.0.0.1"], "'127.0.0.1' is not an address"),
        (["--bind", "127.0.0.1:port"], "is not an address: expected host:port"),
        (["--bind", "127.0.0.1:65536"], "with a port up to 65535"),
        (["--bind", "127.0.0.1:00000065536"], "with a port up to 65535"),
        (["--bind", "::1:8119"], "write an IPv6 address as [::1]:8119"),
        (["--bind", "192.0.2.1:0"], "cannot listen at 192.0.2.1:0: Cannot assign requested address"),
        (["--bind", "127.0.0.1:0", "--peer", "127.0.0.1:0"], "port 0 is not the address of a node"),
        (["--bind", "127.0.0.1:0", "--set", "novalue"], "expected key=value"),
        (["--bind", "127.0.0.1:0", "--set", "k=" + "v" * 256], "a value takes at most 255 bytes, not 256"),
        (["--bind", "127.0.0.1:0", "--interval", "0"], "interval: expected an integer from 1"),
        (["--bind", "127.0.0.1:0", "--max-payload", "65508"], "max_payload: expected an integer from 1 to 65507"),
        (["--bind", "127.0.0.1:0", "--detector-window", "0"], "detector.window: expected"),
        (["--bind", "127.0.0.1:0", "--trace", "/no/such/folder/t"], "cannot write the trace"),
        ([], "the following arguments are required: --bind"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_said_and_exits_with_2(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["node", "start", "scuttlebutt", *options]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "addr", "warned"),
    [((), "0.0.0.0:", ["0.0.0.0:0, which names no machine"]), (("--advertise", "127.0.0.9:8119"), "127.0.0.9:8119", [])],
)
def test_a_node_that_binds_to_every_address_needs_one_to_advertise(
    launch: Launch, options: tuple[str, ...], addr: str, warned: list[str]
) -> None:
    node = launch(*options, bind="0.0.0.0:0")

    assert node.addr.startswith(addr)
    assert node.end() == 0
    assert len(node.errors) == len(warned)
    assert all(words in error for words, error in zip(warned, node.errors, strict=True))


@pytest.mark.slow
def test_without_json_a_node_prints_tables_that_a_terminal_cannot_be_fooled_with() -> None:
    command = [*COMMAND, "--bind", "127.0.0.1:0", "--set", "k=\x1b[2J"]

    ended = subprocess.run(command, input="view\nquit\n", capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert ended.returncode == 0
    assert ended.stdout.count("(this node)") >= 1
    assert "\\x1b[2J" in ended.stdout
    assert "\x1b" not in ended.stdout
