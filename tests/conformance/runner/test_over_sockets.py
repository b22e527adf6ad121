"""
Vectors over real sockets on loopback: what is right passes, what is wrong is found, and who is slow is not blamed.

A machine may be too slow for a verdict; that is no failure here either, as long as no verdict is wrong.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite
from tests.support.socket_runs import PATIENCE, SLACK, ran, statuses, until_failed

from peerproof.cli.main import main
from peerproof.conformance.runner.address_map import Places, Unmovable, addresses, host
from peerproof.conformance.runner.eligibility import unfit
from peerproof.conformance.runner.result import Result, compare_transports, transport_lines


def test_every_vector_that_names_a_socket_can_be_tried_over_it() -> None:
    marked = [vector for vector in suite().vectors if set(vector.body.get("transports", ())) - {"virtual"}]

    assert {vector.protocol for vector in marked} >= {"scuttlebutt", "swim", "wendy", "peter"}
    assert [(v.id, unfit(v, name)) for v in marked for name in v.body["transports"] if name != "virtual" and unfit(v, name)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "protocol", "words"),
    [
        ("udp", "scuttlebutt", "digest-answers,digest-behind"),
        ("udp", "swim", "join-first-answer"),
        ("tcp", "wendy", "a-join-goes-to-the-contact,credentials-others,same-region-local-host"),
        ("tcp", "wendy", "leaf-that-does-not-answer,an-unreachable-hop-then-here"),
        ("tcp", "wendy", "a-message-in-pieces,a-connection-that-ends-early,garbage-is-not-confirmed,an-answer-goes-its-own-way"),
        ("tcp", "peter", "subscriber-asks-its-next-hop,copies-in-the-order-of-children"),
    ],
)
def test_the_reference_does_over_its_socket_what_it_does_under_virtual_time(
    transport: str, protocol: str, words: str, tmp_path: Path
) -> None:
    code, report = ran(tmp_path, "--transport", f"virtual,{transport}", protocol, "-k", words, *SLACK)

    assert code == 0
    assert statuses(report) <= {"passed", "undetermined"}
    assert report["transports"]["otherwise"] == []
    assert sum(case["id"].endswith(f"@{transport}") for case in report["cases"]) >= len(words.split(","))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("divergence", "transport", "word", "failure"),
    [
        ("BD-03", "udp", "digest-response-keeps-the-order-received", "messages"),  # answers with all that it knows
        ("WD-12", "tcp", "hops-of-a-join-count-nodes", "messages"),  # counts rows as hops
        ("WD-25", "tcp", "an-unreachable-hop-then-here", "events"),  # drops a message that is not acknowledged
    ],
)
def test_an_implementation_that_is_wrong_is_found_over_its_socket(
    divergence: str, transport: str, word: str, failure: str, tmp_path: Path
) -> None:
    assert until_failed(tmp_path, f"divergence:{divergence}", transport, word)["failure"] == failure


def test_who_serves_no_socket_is_not_blamed(tmp_path: Path, capsys: Capture) -> None:
    adapter = tmp_path / "adapter.py"
    offered = {"scuttlebutt": {"capabilities": ["api.update_local", "observe.view"]}}
    hello = {"id": 0, "ok": True, "protocol": 1, "name": "x", "version": "1", "protocols": offered}
    adapter.write_text(f"input(); print({json.dumps(hello)!r}, flush=True); input()\n")

    code = main(
        ["run", "--impl", f"{sys.executable} {adapter}", "--transport", "udp", "-k", "digest-answers", "--hello-timeout", "120"]
    )

    assert code == 4
    assert "the implementation serves no nodes over udp" in capsys.readouterr().out


def test_a_protocol_without_vectors_for_a_socket_selects_nothing(capsys: Capture) -> None:
    assert main(["run", "--transport", "tcp", "scuttlebutt", "-k", "digest-answers"]) == 4
    assert "0 of 1 selected vectors can run over tcp" in capsys.readouterr().err


def mapped(protocol: str, **addresses: str) -> Places:
    """Where the addresses of a protocol are on this machine."""
    places = Places(protocol)
    for name, real in addresses.items():
        places.put(name, real)
    return places


REAL = "127.0.100.100:40001"
DIGEST = "0103613a310000000000000002" + "03623a310000000000000000"


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (
            DIGEST,
            f"01{len(REAL):02x}" + REAL.encode().hex() + "0000000000000002" + "03623a310000000000000000",
        ),  # b:1 stays as it is
        ("0103613a31", "0103613a31"),  # no message
    ],
)
def test_messages_come_back_as_they_went_out(inside: str, outside: str) -> None:
    places = mapped("scuttlebutt", **{"a:1": REAL})

    assert places.outward_bytes(inside) == bytes.fromhex(outside)
    assert places.inward_bytes(bytes.fromhex(outside)) == inside


def test_a_host_and_a_port_are_an_address_too() -> None:
    places, inside = mapped("swim", **{"127.0.0.1:5001": REAL}), {"host": "127.0.0.1", "port": 5001}

    assert places.outward(inside) == {"host": "127.0.100.100", "port": 40001}
    assert places.inward([places.outward(inside)]) == [inside]


def test_addresses_keep_their_order() -> None:
    steps = [{"send": {"bytes": "0103613a310000000000000002"}}]

    assert addresses("scuttlebutt", {"nodes": {"n": {"addr": "b:1"}}, "steps": steps}) == ["a:1", "b:1"]
    assert [host(rank) for rank in range(400)] == sorted(host(rank) for rank in range(400))


def test_bytes_in_another_form_are_not_rewritten() -> None:
    """The lenient forms that a decoder must read would be lost."""
    vectors = [v.body for v in suite().vectors if v.file == "swim/codec/accepted-forms.yaml" and "host" in str(v.body["message"])]
    names = {name for body in vectors for name in addresses("swim", {"nodes": body["message"]})}
    places = mapped("swim", **dict.fromkeys(names, REAL))

    def is_kept(body: Mapping[str, Any]) -> bool:
        try:
            places.outward_bytes(body["bytes"])
        except Unmovable:
            return True
        return False

    assert any(map(is_kept, vectors))


def result(name: str, status: str) -> Result:
    """Of a case."""
    return Result(name, status, name.partition("@")[0], 1, "must", ("B-13",), failure="messages" if status == "failed" else None)


def test_a_report_says_where_a_socket_comes_out_otherwise() -> None:
    came_out = {"a": "failed", "b": "passed", "c": "undetermined"}
    results = [result(f"p/exchange/{name}", "passed") for name in came_out]
    results += [result(f"p/exchange/{name}@udp", status) for name, status in came_out.items()]

    assert [each.plain() for each in compare_transports(results)[1]] == [
        {"vector": "p/exchange/a", "virtual": "passed", "udp": "failed"}
    ]
    assert list(transport_lines(results)) == [
        "otherwise: p/exchange/a: passed under virtual time, failed (messages) over udp",
        "virtual time and real sockets: 2 vectors ran both ways, 1 disagree",
    ]
    assert list(transport_lines(results[:1])) == []


@pytest.fixture
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, int]]:
    """The address of a node that runs, of Scuttlebutt or the protocol that is asked for, and its process."""
    out, protocol = tmp_path / "node.out", getattr(request, "param", "scuttlebutt")
    with out.open("w") as stdout, (tmp_path / "node.err").open("w") as stderr:
        command = [sys.executable, "-m", "peerproof.cli.main", "node", "start", protocol, "--bind", "127.0.0.1:0", "--json"]
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr)
        try:
            end = time.monotonic() + PATIENCE
            while not (text := out.read_text()).endswith("\n"):
                assert time.monotonic() < end
                assert process.poll() is None
                time.sleep(0.05)
            yield json.loads(text.splitlines()[0])["node"], process.pid
        finally:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_node_that_runs_is_judged_without_an_adapter(node: tuple[str, int], tmp_path: Path) -> None:
    code, report = ran(tmp_path, "--connect", f"udp://{node[0]}", "scuttlebutt", "-k", "layer:exchange", *SLACK[:4])
    judged = [case for case in report["cases"] if case["status"] != "skipped"]

    assert code == 0
    assert {case["status"] for case in judged} <= {"passed", "undetermined"}
    assert judged
    assert all(case["reason"].startswith("not_applicable: ") for case in report["cases"] if case["status"] == "skipped")


@pytest.mark.slow
def test_malformed_datagrams_do_not_keep_a_node_from_answering(node: tuple[str, int], tmp_path: Path) -> None:
    words = "file:scuttlebutt/codec/malformed.yaml reject-type"
    code, report = ran(tmp_path, "--connect", f"udp://{node[0]}", "scuttlebutt", "-k", words, *SLACK[:4])

    assert code == 0
    assert {case["status"] for case in report["cases"] if not case["id"].endswith("#rejects")} <= {"passed", "undetermined"}


def gossip_after_malformed(opened: socket.socket) -> None:
    """A node of Scuttlebutt that begins a round after malformed datagrams, just before it answers; an empty one ends it."""
    is_next = False
    while (got := opened.recvfrom(2**16))[0]:
        data, peer = got
        if data == b"\x01":
            for message in (b"\x01", b"\x03") if is_next else (b"\x03",):
                opened.sendto(message, peer)
        is_next = data != b"\x01"


@pytest.mark.slow
def test_what_a_node_sends_besides_is_no_answer(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        host, port = opened.getsockname()
        node = Thread(target=gossip_after_malformed, args=(opened,))
        node.start()
        _, report = ran(tmp_path, "--connect", f"udp://{host}:{port}", "scuttlebutt", "-k", "reject-type", *SLACK[:4])
        opened.sendto(b"", (host, port))
        node.join(PATIENCE)

    assert {case["status"] for case in report["cases"] if case["id"].endswith("#serves")} == {"passed"}


@pytest.mark.slow
def test_a_node_that_dies_on_the_way_is_told_as_that(node: tuple[str, int], tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "peerproof.cli.main", "run", "--connect", f"udp://{node[0]}", "scuttlebutt"]
    process = subprocess.Popen([*command, "--slack", "1", "--record", str(record)], stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while not (record.exists() and '"status":"passed"' in record.read_text()):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(node[1], signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 3
    assert "no longer answers" in out
    assert "cannot be started again" in out


def test_where_nobody_listens_nobody_is_judged(capsys: Capture) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:  # never read, or refused: both are said
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        silent = main(["run", "--connect", f"udp://127.0.0.1:{port}", "scuttlebutt", "--slack", "0.2", "-k", "digest-a"])
    told = capsys.readouterr().err
    refused = main(["run", "--connect", f"udp://127.0.0.1:{port}", "scuttlebutt", "-k", "digest-answers"])

    assert (silent, refused) == (3, 3)
    assert "no node answers" in told
    assert "Connection refused" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("node", ["swim"], indirect=True)
def test_a_node_of_swim_is_asked_by_a_probe(node: tuple[str, int], tmp_path: Path) -> None:
    words = "reject-byte-left-over,join-first-answer"
    code, report = ran(tmp_path, "--connect", f"udp://{node[0]}", "swim", "-k", words, *SLACK[:4])
    exchange = [case for case in report["cases"] if case["id"].startswith("swim/exchange/")]
    judged = [case for case in report["cases"] if case["id"].endswith(("#survives", "#unchanged", "#serves"))]

    assert code == 0
    assert judged
    assert {case["status"] for case in judged} <= {"passed", "undetermined"}
    assert {case["reason"] for case in exchange} == {"not_applicable: the node is configured already"}


def test_in_other_protocols_no_question_is_answered_by_every_node(capsys: Capture) -> None:
    code = main(["run", "--connect", "udp://127.0.0.1:1", "wendy", "-k", "heartbeat"])

    assert code == 4
    assert "not_applicable" in capsys.readouterr().out
