"""The harness under requests that make no sense: each is answered, and the next one is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.reference.conftest import Pipe

from peerproof.reference.harness import request_channel


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        (b"", "bad_request"),
        (b"\xff\xfe", "bad_request"),
        (b"[]", "bad_request"),
        (b"17", "bad_request"),
        (b"[" * 100_000, "bad_request"),
        (b'{"id":1,"op":' + b"9" * 5000 + b"}", "bad_request"),
        (b'{"id":1}', "bad_request"),
        (b'{"id":1,"op":null}', "bad_request"),
        (b'{"id":[[[]]],"op":"x"}', "unknown_op"),
        (b'{"id":1,"op":"\\ud800"}', "unknown_op"),
        (b'{"id":1,"op":"hello"}', "bad_request"),
        (b'{"id":1,"op":"hello","protocol":["1","1"]}', "bad_request"),
        (b'{"id":1,"op":"decode","protocol":"scuttlebutt"}', "bad_request"),
        (b'{"id":1,"op":"decode","protocol":"scuttlebutt","bytes":"0"}', "bad_request"),
        (b'{"id":1,"op":"decode","protocol":"scuttlebutt","bytes":"zz"}', "bad_request"),
        (b'{"id":1,"op":"decode","protocol":"smoke signals","bytes":""}', "unsupported"),
        (b'{"id":1,"op":"encode","protocol":"scuttlebutt","value":{"type":"delta"}}', "bad_request"),
        (b'{"id":1,"op":"encode","protocol":"scuttlebutt","value":NaN}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":1,"now_ms":0}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"a:1"}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"a:1","now_ms":-1}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"a:1","now_ms":true}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"a:1","now_ms":0,"config":{"speed":1}}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"a:1","now_ms":0,"config":[]}', "bad_request"),
        (b'{"id":1,"op":"open","protocol":"scuttlebutt","addr":"' + b"a" * 256 + b'","now_ms":0}', "bad_request"),
        (b'{"id":1,"op":"query","handle":{},"what":"peers"}', "no_handle"),
        (b'{"id":1,"op":"query","handle":true,"what":"peers"}', "no_handle"),
        (b'{"id":1,"op":"query","handle":1,"what":"weather"}', "unsupported"),
        (b'{"id":1,"op":"query","handle":1}', "bad_request"),
        (b'{"id":1,"op":"recv","handle":1,"now_ms":9,"via":"udp","bytes":"03"}', "bad_request"),
        (b'{"id":1,"op":"recv","handle":1,"now_ms":9,"via":"tcp","from":"a:1","bytes":"03"}', "unsupported"),
        (b'{"id":1,"op":"call","handle":1,"now_ms":9,"name":"sing","args":{}}', "unsupported"),
        (b'{"id":1,"op":"call","handle":1,"now_ms":9,"name":"update_local","args":{"key":"k"}}', "bad_request"),
        (b'{"id":1,"op":"call","handle":1,"now_ms":9,"name":"update_local","args":[]}', "bad_request"),
        (b'{"id":1,"op":"batch","items":{}}', "bad_request"),
        (b'{"id":1,"op":"batch","items":[1]}', "bad_request"),
        (b'{"choice":{"for":1,"n":1,"pick":[]}}', "bad_request"),
    ],
    ids=lambda value: value[:70].decode(errors="replace") if isinstance(value, bytes) else value,
)
def test_a_request_that_makes_no_sense_is_answered_and_nothing_has_happened(
    pipe: Pipe, node: Callable[..., dict[str, Any]], request_line: bytes, code: str
) -> None:
    pipe.write(request_line)

    reply = pipe.read()

    assert reply["error"]["code"] == code
    assert reply["error"]["message"]
    assert reply["id"] in (None, 1)
    assert node("query", what="peers")["value"] == ["b:1"]


def test_a_clock_that_goes_back_is_a_bad_request(node: Callable[..., dict[str, Any]]) -> None:
    node("advance", now_ms=500)

    assert "499 is before 500" in node("advance", now_ms=499)["error"]["message"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """As many bytes as a line may have here; else they are 16 MiB."""
    assert request_channel.MAX_LINE == 2**24
    monkeypatch.setattr(request_channel, "MAX_LINE", 4096)
    return 4096


def test_a_line_above_the_limit_is_refused_and_the_next_one_is_read(small: int, pipe: Pipe) -> None:
    begin = b'{"id":7,"op":"decode","protocol":"scuttlebutt","bytes":"03","padding":"'

    pipe.write(begin + b"x" * (small - len(begin) - 1) + b'"}')
    assert f"more than {small} bytes" in pipe.read()["error"]["message"]

    pipe.write(begin + b"x" * (small - len(begin) - 2) + b'"}')
    assert pipe.read()["ok"]


def test_a_reply_above_the_limit_becomes_an_error(small: int, pipe: Pipe) -> None:
    entries = "03" + "00" * 11 * 30

    reply = pipe("decode", protocol="scuttlebutt", bytes=entries)
    many = pipe("batch", items=[{"op": "decode", "protocol": "scuttlebutt", "bytes": entries}] * 3)

    assert len(reply["value"]["entries"]) == 30
    assert many["error"]["code"] == "internal"
