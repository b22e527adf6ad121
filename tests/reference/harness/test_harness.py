"""The harness, over the pipes and the socket that a runner uses: every op."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.conftest import Pipe, pipe_to

from peerproof.cli.main import main
from peerproof.reference.harness.harness import Harness

KNOWS_A = "0103613a310000000000000000"  # a digest request that names a:1 at version 0


def test_hello_says_what_the_reference_can_do(pipe: Pipe) -> None:
    reply = pipe("hello", protocol=[1, 3], runner="test", vectors="0", choices=["oracle", "set"])

    assert reply.pop("version")
    assert reply.pop("language").startswith("python 3.")
    assert reply["protocols"].keys() == {"scuttlebutt", "swim", "wendy", "peter", "distkv"}
    for name in ("swim", "wendy", "peter", "distkv"):
        del reply["protocols"][name]
    assert reply == {
        "ok": True,
        "protocol": 1,
        "name": "peerproof-reference",
        "protocols": {
            "scuttlebutt": {
                "capabilities": [
                    "codec",
                    "exchange",
                    "api.update_local",
                    "observe.peers",
                    "observe.view",
                    "observe.status",
                    "observe.state",
                    "events",
                    "restart",
                    "state.load",
                ],
                "events": ["join", "update", "heartbeat", "up", "down", "malformed"],
                "limits": {},
            }
        },
        "clock": "virtual",
        "choices": "oracle",
        "sockets": ["tcp", "udp"],
        "reset": "fresh-instance",
    }


def test_it_offers_and_loads_the_named_protocols_only() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "peerproof.reference.harness.harness"]
    hello = json.dumps({"id": 1, "op": "hello", "protocol": [1, 1], "choices": ["oracle"]}) + "\n"
    named, unknown = (
        subprocess.run([*command, name], input=hello, capture_output=True, text=True, check=False, timeout=60)
        for name in ("scuttlebutt", "serf")
    )

    assert json.loads(named.stdout)["protocols"].keys() == {"scuttlebutt"}
    assert "peerproof.spec.scuttlebutt.messages" in named.stderr
    assert "peerproof.spec.swim" not in named.stderr
    assert unknown.returncode == 2
    assert "unknown protocol 'serf': there are " in unknown.stderr


def test_what_peter_can_is_asked_for_as_of_wendy_and_its_topics_too(pipe: Pipe) -> None:
    found = pipe("hello", protocol=[1, 1])["protocols"]
    wendy, peter = (set(found[name]["capabilities"]) for name in ("wendy", "peter"))

    assert wendy - peter == {"api.forward", "api.send_to"}  # which are for those on top of it
    assert peter - wendy == {"api.subscribe", "api.unsubscribe", "api.publish", "observe.topics"}


def test_hello_refuses_a_version_of_the_protocol_that_it_does_not_speak(pipe: Pipe) -> None:
    assert pipe("hello", protocol=[2, 3])["error"]["code"] == "version"


def test_a_runner_without_an_oracle_is_not_asked(pipe: Pipe, node: Callable[..., dict[str, Any]]) -> None:
    assert pipe("hello", protocol=[1, 1], choices=["set"])["choices"] == "set"
    handle = pipe("open", protocol="scuttlebutt", addr="c:1", now_ms=0, seed="1")["handle"]
    pipe("recv", **{"handle": handle, "now_ms": 0, "via": "udp", "from": "a:1", "bytes": KNOWS_A})

    pipe.write(json.dumps({"id": 1, "op": "advance", "handle": handle, "now_ms": 1000}).encode())

    assert len(pipe.read()["effects"]) == 1


def test_encode_and_decode(pipe: Pipe) -> None:
    message = {"type": "digest_request", "entries": [{"addr": "n1:1", "version": "14"}]}

    assert pipe("encode", protocol="scuttlebutt", value=message) == {"ok": True, "bytes": "01046e313a31000000000000000e"}
    assert pipe("decode", protocol="scuttlebutt", bytes="01046E313A31000000000000000e") == {"ok": True, "value": message}
    assert pipe("decode", protocol="scuttlebutt", bytes="0105") == {
        "ok": True,
        "rejected": {"class": "truncated", "message": "need 5 bytes, have 0"},
    }
    assert pipe("decode", protocol="scuttlebutt", bytes="")["rejected"]["class"] == "truncated"


def test_a_node_answers_asks_and_tells_in_order(node: Callable[..., dict[str, Any]]) -> None:
    assert node("call", now_ms=5, name="update_local", args={"key": "k", "value": "v"}) == {
        "ok": True,
        "effects": [],
        "next_timer_ms": 1000,
    }

    reply = node("recv", now_ms=10, via="udp", **{"from": "a:1"}, bytes="0103613a31000000000000000503623a310000000000000000")

    assert reply == {
        "ok": True,
        "effects": [
            {"event": {"name": "join", "peer": "a:1"}},
            {"send": {"via": "udp", "to": "a:1", "bytes": "0303623a31016b01760000000000000001"}},
            {"send": {"via": "udp", "to": "a:1", "bytes": "0203613a310000000000000000"}},
        ],
        "next_timer_ms": 1000,
    }
    assert node("query", what="peers")["value"] == ["a:1", "b:1"]
    assert node("query", what="view")["value"][1]["pairs"] == [{"key": "k", "value": "v", "version": "1"}]
    assert node("query", what="status")["value"] == [{"addr": "a:1", "status": "up"}]


def test_advance_runs_every_timer_that_is_due_at_its_own_time(pipe: Pipe) -> None:
    handle = pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0, config={"seeds": ["s:1"]})["handle"]

    assert pipe("advance", handle=handle, now_ms=999)["effects"] == []
    reply = pipe("advance", handle=handle, now_ms=3500)

    assert [effect["send"]["to"] for effect in reply["effects"]] == ["s:1"] * 3
    assert reply["next_timer_ms"] == 4000


def test_a_question_names_its_request_its_site_and_its_options(pipe: Pipe, node: Callable[..., dict[str, Any]]) -> None:
    node("recv", now_ms=0, via="udp", **{"from": "a:1"}, bytes="0103613a31000000000000000002fffe0000000000000000")

    pipe.write(b'{"id":"x","op":"advance","handle":1,"now_ms":1000}')

    assert pipe.read() == {"choice": {"for": "x", "n": 1, "kind": "one", "site": "round.partner", "of": ["a:1", {"hex": "fffe"}]}}
    pipe.write(b'{"choice":{"for":"x","n":1,"pick":[0]}}')
    assert pipe.read()["choice"]["kind"] == "permutation"


def test_requests_may_stand_before_the_answer_to_a_question(pipe: Pipe, node: Callable[..., dict[str, Any]]) -> None:
    node("recv", now_ms=0, via="udp", **{"from": "a:1"}, bytes=KNOWS_A)

    pipe.write(
        b'{"id":1,"op":"advance","handle":1,"now_ms":1000}\n'
        b'{"id":2,"op":"query","handle":1,"what":"peers"}\n'
        b"garbage\n"
        b'{"choice":{"for":1,"n":1,"pick":[1,0]}}'
    )

    replies = [pipe.read() for _ in range(4)]
    assert "choice" in replies[0]
    assert [reply.get("id") for reply in replies[1:]] == [1, 2, None]
    assert replies[1]["effects"][0]["send"]["bytes"] == "0103623a31000000000000000003613a310000000000000000"


@pytest.mark.parametrize(
    "answer",
    [
        {"for": 1, "n": 1, "pick": [0]},
        {"for": 1, "n": 1, "pick": [0, 0]},
        {"for": 1, "n": 1, "pick": [0, 2]},
        {"for": 1, "n": 1, "pick": [True, 0]},
        {"for": 1, "n": 1, "pick": None},
        {"for": 1, "n": 1},
        {"for": 1, "n": 2, "pick": [0, 1]},
        {"for": 2, "n": 1, "pick": [0, 1]},
        [0, 1],
        None,
    ],
    ids=json.dumps,
)
def test_an_answer_that_answers_nothing_is_a_bad_request_and_leaves_the_node_as_it_was(
    pipe: Pipe, node: Callable[..., dict[str, Any]], answer: Any
) -> None:
    node("recv", now_ms=0, via="udp", **{"from": "a:1"}, bytes=KNOWS_A)
    pipe.write(b'{"id":1,"op":"advance","handle":1,"now_ms":1000}')
    pipe.read()

    pipe.write(json.dumps({"choice": answer}).encode())

    assert pipe.read()["error"]["code"] == "bad_request"
    assert node("query", what="peers")["value"] == ["a:1", "b:1"]


def test_a_refused_call_is_no_error(node: Callable[..., dict[str, Any]]) -> None:
    reply = node("call", now_ms=0, name="update_local", args={"key": "k", "value": "v" * 256})

    assert reply == {
        "ok": True,
        "effects": [],
        "next_timer_ms": 1000,
        "refused": {"class": "too_large", "message": "a value takes at most 255 bytes, not 256"},
    }


def test_a_malformed_datagram_is_an_event_and_nothing_else(node: Callable[..., dict[str, Any]]) -> None:
    reply = node("recv", now_ms=0, via="udp", **{"from": "a:1"}, bytes="010361")

    assert reply["effects"] == [{"event": {"name": "malformed", "class": "truncated", "offset": 2}}]
    assert node("query", what="peers")["value"] == ["b:1"]


def test_a_crashed_node_can_be_restarted_and_knows_nothing_then(node: Callable[..., dict[str, Any]]) -> None:
    node("call", now_ms=0, name="update_local", args={"key": "k", "value": "v"})

    assert node("crash") == {"ok": True}

    for op in ("query", "advance", "recv", "call", "crash"):
        assert node(op)["error"]["code"] == "no_handle"
    assert node("restart", now_ms=2000) == {"ok": True, "effects": [], "next_timer_ms": 3000}
    assert node("query", what="view")["value"] == [{"addr": "b:1", "version": "0", "pairs": []}]


def test_a_closed_handle_is_gone_and_its_number_is_not_used_again(pipe: Pipe, node: Callable[..., dict[str, Any]]) -> None:
    assert node("close") == {"ok": True}

    assert node("query", what="peers")["error"]["code"] == "no_handle"
    assert pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0)["handle"] == 2


def test_a_batch_is_answered_item_by_item(pipe: Pipe, node: Callable[..., dict[str, Any]]) -> None:
    items = [
        {"id": "i", "op": "query", "handle": 1, "what": "peers"},
        {"op": "decode", "protocol": "scuttlebutt", "bytes": "03"},
        {"op": "nonsense"},
        {"op": "bye"},
        {"op": "batch", "items": []},
    ]

    reply = pipe("batch", items=items)

    first, second, *others = reply["results"]
    assert first == {"id": "i", "ok": True, "value": ["b:1"]}
    assert second == {"ok": True, "value": {"type": "delta", "entries": []}}
    assert [other["error"]["code"] for other in others] == ["unknown_op", "bad_request", "bad_request"]


def test_what_the_reference_does_not_do_is_unsupported(pipe: Pipe) -> None:
    assert pipe("serve", protocol="scuttlebutt", via=["tcp"], bind="127.0.0.1:0")["error"]["code"] == "unsupported"


@pytest.mark.parametrize(
    ("op", "about"),
    [("stream", {"conn": "c", "event": "open"}), ("sent", {"to": "a:1", "bytes": KNOWS_A, "took_us": 1500})],
)
def test_a_protocol_over_datagrams_has_neither_connections_nor_outcomes(node: Any, op: str, about: dict[str, Any]) -> None:
    assert node(op, now_ms=0, **about)["error"]["code"] == "unsupported"


@pytest.mark.slow
def test_bye_ends_the_harness(process: subprocess.Popen[bytes]) -> None:
    assert pipe_to(process)("bye") == {"ok": True}

    assert process.wait(10) == 0


@pytest.mark.slow
@pytest.mark.parametrize("question", [False, True], ids=["idle", "in the middle of a question"])
def test_the_end_of_the_input_ends_the_harness(process: subprocess.Popen[bytes], question: bool) -> None:
    pipe = pipe_to(process)
    handle = pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0)["handle"]
    if question:
        pipe("recv", **{"handle": handle, "now_ms": 0, "via": "udp", "from": "a:1", "bytes": KNOWS_A})
        pipe.write(b'{"id":1,"op":"advance","handle":1,"now_ms":1000}')
        pipe.read()
    assert process.stdin
    assert process.stderr

    process.stdin.close()

    assert process.wait(10) == 0
    assert process.stderr.read() == b""


def test_a_fault_of_the_reference_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    monkeypatch.setitem(harness._ops, "decode", lambda _: 1 / 0)

    reply = harness.handle({"id": 1, "op": "decode"}, lambda _: [])

    assert reply == {"id": 1, "error": {"code": "internal", "message": "ZeroDivisionError: division by zero"}}


def test_in_process_what_the_runner_raises_when_asked_goes_back_to_it() -> None:
    def abandon(question: dict[str, Any]) -> list[int]:
        raise LookupError(question["site"])

    harness = Harness()
    harness.handle({"op": "open", "protocol": "scuttlebutt", "addr": "b:1", "now_ms": 0}, abandon)
    harness.handle({"op": "recv", "handle": 1, "now_ms": 0, "via": "udp", "from": "a:1", "bytes": KNOWS_A}, abandon)

    with pytest.raises(LookupError, match=r"digest\.order"):
        harness.handle({"op": "advance", "handle": 1, "now_ms": 1000}, abandon)


@pytest.mark.slow
def test_over_tcp_each_runner_has_a_harness_of_its_own() -> None:
    command = [sys.executable, "-m", "peerproof.cli.main", "node", "harness", "scuttlebutt", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        host, _, port = process.stdout.readline().split()[-1].rpartition(":")
        pipes = []
        for _ in range(2):
            connection = socket.create_connection((host, int(port)), 10)
            pipes.append(Pipe(connection.makefile("rb"), connection.makefile("wb")))

        handles = [pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0)["handle"] for pipe in pipes]

        assert handles == [1, 1]
        assert pipes[0]("bye") == {"ok": True}
        assert pipes[1]("query", handle=1, what="peers")["value"] == ["b:1"]
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_a_harness_for_a_protocol_that_there_is_not_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "harness", "smoke-signals"]) == 2

    said = capsys.readouterr().err
    assert said == "error: unknown protocol 'smoke-signals'\ntip: there are scuttlebutt, swim, wendy, peter, distkv\n"
