"""
Vectors over connections on loopback: messages that are acknowledged or not, and nodes that do not keep to it.

As over datagrams, a machine may be too slow for a verdict, as long as no verdict is wrong.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.catching import path_of, suite
from tests.support.served import MESSAGE, Silent, Slow
from tests.support.socket_runs import PATIENCE, ran, statuses, until_failed

from peerproof.cli.exits import NOTHING
from peerproof.conformance.runner.address_map import Places, addresses, host
from peerproof.conformance.runner.eligibility import unfit, waits_behind
from peerproof.conformance.runner.peers import Datagram, Streams
from peerproof.spec.connections import parse_endpoint
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

JOIN = "wendy/exchange/a-join-goes-to-the-contact"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "read"), [("Silent", "None"), ("BreaksOff", "truncated"), ("Garbled", "bad_type"), ("Empty", "None")]
)
def test_a_node_that_sends_no_message_has_not_sent_the_one_expected(tmp_path: Path, node: str, read: str) -> None:
    case = until_failed(tmp_path, f"py:tests.support.served:{node}", "tcp", JOIN)

    assert case["failure"] == "messages"
    assert read in str(case["difference"]["actual"])


@pytest.mark.slow
def test_a_node_that_does_not_acknowledge_is_found(tmp_path: Path) -> None:
    case = until_failed(tmp_path, f"py:{path_of(Silent)}", "tcp", "a-message-and-its-confirmation")

    assert case["failure"] == "streams"


@pytest.mark.slow
def test_whoever_is_slow_is_not_called_wrong(tmp_path: Path) -> None:
    """Slow in the dialogue with the runner, and wrong as well."""
    chosen = ("--transport", "tcp", "wendy", "-k", "hops-of-a-join-count-nodes", "--slack", "0.1")
    code, report = ran(tmp_path, "--impl", f"py:{path_of(Slow)}", *chosen)

    assert code == NOTHING
    assert statuses(report) == {"undetermined"}


@pytest.fixture
def streams() -> Iterator[Streams]:
    """The peers of a node of Wendy."""
    opened = Streams("wendy")
    try:
        yield opened
    finally:
        opened.close()


def come(streams: Streams) -> Datagram:
    """The one thing that comes next."""
    end = time.monotonic() + PATIENCE
    while not (arrived := list(streams.receive(0.01))):
        assert time.monotonic() < end
    (datagram,) = arrived
    return datagram


def told(streams: Streams, opened: socket.socket) -> bytes:
    """All that the peer says on a connection."""
    opened.settimeout(0.01)
    end, data = time.monotonic() + PATIENCE, b""
    while time.monotonic() < end:
        assert list(streams.receive(0)) == []
        with suppress(TimeoutError):
            try:
                piece = opened.recv(100)
            except ConnectionError:
                return data
            if not piece:
                return data
            data += piece
    raise AssertionError("nobody closes the connection")


def connected(streams: Streams) -> socket.socket:
    """To a peer."""
    return socket.create_connection(parse_endpoint(streams.open(["a:1"], [host(0)])["a:1"]))


def test_a_message_is_there_before_it_is_acknowledged(streams: Streams) -> None:
    with connected(streams) as opened:
        for piece in (MESSAGE[:10], MESSAGE[10:-1]):  # its line feed is not waited for
            opened.sendall(piece)
        first = come(streams)
        opened.sendall(MESSAGE[-1:])
        streams.settle("a:1", 0, is_confirmed=True)

        assert first == Datagram("a:1", None, MESSAGE, is_open=True)
        assert told(streams, opened) == ACKNOWLEDGEMENT


@pytest.mark.parametrize(("is_confirmed", "is_ended", "said"), [(True, True, ACKNOWLEDGEMENT), (False, False, b"")])
def test_what_arrives_is_acknowledged_even_after_its_sender_has_ended_and_nothing_else_is(
    streams: Streams, is_confirmed: bool, is_ended: bool, said: bytes
) -> None:
    with connected(streams) as opened:
        opened.sendall(MESSAGE)
        if is_ended:
            opened.shutdown(socket.SHUT_WR)
        come(streams)
        list(streams.receive(0.01))
        streams.settle("a:1", 0, is_confirmed=is_confirmed)

        assert told(streams, opened) == said


def test_a_connection_that_a_vector_speaks_of_is_heard(streams: Streams) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        to = server.getsockname()
        streams.stream("c1", "open", to, b"")
        streams.stream("c1", "data", to, b"ab")
        end, heard = time.monotonic() + PATIENCE, list[dict[str, str]]()
        while streams.is_busy:
            list(streams.receive(0.01))
            assert time.monotonic() < end
        opened, _ = server.accept()
        with opened:
            said = opened.recv(100)
            opened.sendall(b"x")
        while len(heard) < 2:
            list(streams.receive(0.01))
            heard += streams.take_events()
            assert time.monotonic() < end
        streams.stream("c1", "data", to, b"more")

    assert said == b"ab"
    assert heard == [{"conn": "c1", "event": "data", "bytes": "78"}, {"conn": "c1", "event": "close"}]
    assert not streams.is_busy


@pytest.mark.parametrize("data", [b"[1, 2]\n", MESSAGE[:50]])
def test_what_is_no_message_is_handed_on_as_it_is(streams: Streams, data: bytes) -> None:
    with connected(streams) as opened:
        opened.sendall(data)
        opened.shutdown(socket.SHUT_WR)

        assert come(streams) == Datagram("a:1", None, data)
        assert told(streams, opened) == b""


def test_a_peer_waits_for_its_acknowledgement(streams: Streams) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        streams.send("a:1", server.getsockname(), MESSAGE)
        list(streams.receive(0.01))
        opened, _ = server.accept()
        with opened:
            opened.settimeout(PATIENCE)
            data = opened.recv(2**16)
            was_busy = streams.is_busy
            opened.sendall(ACKNOWLEDGEMENT)
            assert told(streams, opened) == b""

    assert data == MESSAGE
    assert was_busy
    assert not streams.is_busy


def test_a_peer_does_not_wait_for_who_is_not_there(streams: Streams) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        to = server.getsockname()
    streams.send("a:1", to, MESSAGE)
    end = time.monotonic() + PATIENCE
    while streams.is_busy:
        assert time.monotonic() < end
        assert list(streams.receive(0.01)) == []


def test_all_peers_have_one_port(streams: Streams) -> None:
    real = streams.open(["a:1", "b:1", "c:1"], [host(0), host(1), host(2)])

    assert len({address.rpartition(":")[2] for address in real.values()}) == 1
    assert list(real.values()) == sorted(real.values())


def test_a_node_has_two_hosts_and_one_port() -> None:
    places, node = Places("wendy"), {"local_ip": "a", "global_ip": "fd00::1", "port": 4000}
    places.put("a:4000", "127.0.100.100:40001")
    places.put("[fd00::1]:4000", "127.0.100.101:40001")

    out = places.outward({"node": node})

    assert addresses("wendy", {"nodes": {"n": node}}) == ["[fd00::1]:4000", "a:4000"]
    assert out == {"node": {"local_ip": "127.0.100.100", "global_ip": "127.0.100.101", "port": 40001}}
    assert places.outward(node | {"port": 0}) == node | {"port": 0}


def test_an_expected_message_must_not_wait_behind_one_that_is_open() -> None:
    first, second = ({"expect": {"messages": {"ordered": [{"to": "n", "message": {"type": kind}}]}}} for kind in ("x", "y"))
    sent = {"at": 1, "sent": {"node": "node", "to": "n", "type": "x", "took": 1}}

    assert waits_behind([first, second, sent]) == "n"
    assert waits_behind([first, sent, second]) is None
    assert waits_behind([second, first, sent]) is None  # what nothing is said of is acknowledged at once
    assert waits_behind([first, second]) is None


def test_each_protocol_has_its_transport() -> None:
    vectors = suite().vectors
    wendy = next(v for v in vectors if v.id == JOIN)
    scuttlebutt = next(v for v in vectors if "udp" in v.body.get("transports", ()))
    over_tcp = replace(scuttlebutt, body={**scuttlebutt.body, "transports": ["tcp"]})

    assert unfit(wendy, "tcp") is None
    assert unfit(wendy, "udp") == "the vector is not for udp"
    assert unfit(over_tcp, "tcp") == f"{scuttlebutt.protocol} is not carried over tcp"
