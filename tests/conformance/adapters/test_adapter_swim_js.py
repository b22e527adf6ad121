"""SWIM's codec in JavaScript: what the suite says of it and of copies with mistakes, and that it agrees with the reference."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest
from tests.conformance.conftest import Capture
from tests.support.javascript import ADAPTERS, Mistakes, assert_caught, copy_with, judge
from tests.support.tools import require

pytestmark = pytest.mark.slow

CODEC = ADAPTERS / "swim-js"
PROGRAM = ["node", str(CODEC / "adapter.mjs")]

MISTAKES: Mistakes = {
    "counters are numbers": (
        "counters-around-63-bits",
        "transit.mjs",
        "return this.#take(8).readBigUInt64BE();",
        "return BigInt(Number(this.#take(8).readBigUInt64BE()));",
    ),
    "a number without a fraction is an integer": (
        "reject-counter-that-is-a-float",
        "transit.mjs",
        "return this.#take(8).readDoubleBE();",
        "return ((value) => (Number.isInteger(value) ? BigInt(value) : value))(this.#take(8).readDoubleBE());",
    ),
    "halves of a uuid are not signed": (
        "uuid-of-ones",
        "values.mjs",
        "BigInt.asIntN(64, BigInt(`0x",
        "BigInt.asUintN(64, BigInt(`0x",
    ),
    "bytes are counted for characters": (
        "payload-with-keys-of-few-characters-and-more-bytes",
        "cache.mjs",
        "[...beginning].length",
        "Buffer.byteLength(beginning)",
    ),
    "a full cache keeps what it has": (
        "cache-is-emptied-when-full",
        "cache.mjs",
        "if (this.#codes.size === LIMIT) this.#codes.clear();",
        "",
    ),
    "bytes that are no UTF-8 are a string": ("reject-host-that-is-no-utf-8", "transit.mjs", "fatal: true", "fatal: false"),
}

UUID = ["~#u", [1, 2]]
PING = ["~:ping", UUID, 1, 1, UUID]


def payload(*data: Any) -> Any:
    """The vector of this payload."""
    return ["~:payload", *data]


#: What stands after the header of a ping, and in no vector of the suite: where two readers of the page could differ.
ODD = {
    "a code of two characters for a small index": payload({"a": 1, "^00": 2}),
    "halves of a uuid as strings": ["~:normal", ["~#u", ["~i5", "~i6"]]],
    "a key that stands twice, beside others that are arrays": payload({"a": {(1,): 1, ("~i1",): 2, 5: 3, "~i5": 4}}),
    "an integer of 65 bits as a string": payload({"a": "~i18446744073709551616", "b": "~n18446744073709551616"}),
    "an integer of 65 bits as a key": payload({"~i18446744073709551616": 1}),
    "an integer of many zeros as a string": payload({"a": "~i000000000000000000005"}),
    "floats for keys": payload({1e-7: 1, 1e-5: 2, 1e-4: 3, 1e15 + 0.5: 4, 2.0**53: 5, 1e16: 6, 1e22: 7, 1.5e300: 8, 5e-324: 9}),
    "a float whose shortest digits name another integer": payload({"a": 2.0**65, "b": 2.0**53, "c": -(2.0**63)}),
    "a float below nothing": payload({"a": -0.0, "b": "~d-0"}),
    "floats as strings": payload({"a": "~d1E400", "b": "~d05.5", "c": "~d-0.1"}),
    "a float as a string without a digit before its point": payload({"a": "~d.5"}),
    "a name that objects know": payload({"__proto__": 1, "b": {"__proto__": 2, "constructor": 3}}),
    "keys that look like integers": payload({"10": 1, "9": 2, "b": 3}),
    "a byte order mark before a key": payload({"\ufeffa": 1}),
    "anti-entropy of no maps": ["~:anti-entropy"],
    "forms with nothing in them": payload({"a": "~:", "b": "~$", "c": "~#", "d": "~b", "e": ["~#", 1], "f": ["~#a", "~#b"]}),
    "a list of what is no array": payload({"a": ["~#list", 1], "b": ["~#list", {}], "c": ["~#list", ["~#set", []]]}),
    "a payload as a list": payload(["~#list", {}]),
    "a map with an array for a key, one too deep": payload({"a": {(1,): {(2,): 3}}}),
    "an indirect ping that does not follow the header": ["~:indirect-ping", UUID, "h", 1],
    "a code for a key where no key stands": payload({"abcd": 1, "b": "^2"}),
}

#: Plain forms that JavaScript's own JSON does not keep. No reader of one knows both an integer and a float of the same digits.
PLAIN = {
    "the order of keys that look like integers": '{"10": 1, "9": 2, "b": 3}',
    "an integer beyond 2^53": '{"a": 9007199254740993, "b": 36893488147419103000}',
    "a float beyond 2^53": '{"a": 9007199254740993.0, "b": 3.6893488147419103e+19}',
    "a name that objects know": '{"__proto__": 1}',
    "an infinite number": '{"a": 1e400}',
    "halves of a uuid": '{"a": ["~#u", [1, "~i-9223372036854775808"]], "~uABCDEF01-0000-0000-0000-000000000000": 1}',
    "half a character": '{"a": "\\ud800"}',
}


@pytest.fixture(autouse=True)
def node() -> None:
    """Nothing here can be tested without it."""
    require("node")


def ask(program: list[str], requests: list[str]) -> list[dict[str, Any]]:
    """What an adapter answers."""
    hello = json.dumps({"id": 0, "op": "hello", "protocol": [1, 1], "runner": "test", "vectors": "test", "choices": ["set"]})
    lines = "".join(f"{line}\n" for line in (hello, *requests, '{"id": 2, "op": "bye"}'))
    done = subprocess.run(program, input=lines, capture_output=True, text=True, check=True, timeout=100)
    return [json.loads(line, parse_int=number) for line in done.stdout.splitlines()][1:-1]


def number(digits: str) -> int | float:
    """A number of JSON without a point: from 2^53 on it is a float. [SA-66]"""
    return int(digits) if abs(int(digits)) < 2**53 else float(digits)


def ask_both(op: str, named: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the reference answers to these bytes or plain forms, by their names, and what the codec does; None if it refuses."""
    member = "bytes" if op == "decode" else "value"
    requests = [f'{{"id": 1, "op": "{op}", "protocol": "swim", "{member}": {text}}}' for text in named.values()]
    reference = [sys.executable, "-m", "peerproof.cli.main", "node", "harness"]
    of_reference, of_codec = (ask(program, requests) for program in (reference, PROGRAM))
    answer = "value" if op == "decode" else "bytes"
    assert all(answer in reply or "rejected" in reply for reply in of_codec), of_codec
    expected = {name: reply.get(answer) for name, reply in zip(named, of_reference, strict=True)}
    return expected, {name: reply.get(answer) for name, reply in zip(named, of_codec, strict=True)}


def test_the_adapter_does_what_adapters_must() -> None:
    assert judge(CODEC, "doctor") == 0


def test_every_vector_of_the_codec_passes(capfd: Capture) -> None:
    """None but those that need a node is skipped."""
    assert judge(CODEC, "run", "swim", "-k", "layer:codec", "--strict", "--decisions", "strict") == 0

    told = capfd.readouterr().out
    counts = re.search(r"^([\d,]+) cases, [\d,]+ vectors: ([\d,]+) passed, ([\d,]+) skipped$", told, re.MULTILINE)
    nodes = re.search(r"^skipped: ([\d,]+) cases: the implementation does not offer exchange$", told, re.MULTILINE)
    assert counts, told
    assert nodes, told
    assert nodes[1] == counts[3]
    cases, passed, skipped = (int(number.replace(",", "")) for number in counts.groups())
    assert cases - skipped == passed > 0


def test_the_fuzzer_of_bytes_finds_nothing(capfd: Capture) -> None:
    assert judge(CODEC, "fuzz", "swim", "--bytes") == 0
    assert "nothing found" in capfd.readouterr().out


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_fails_the_vector_about_it(mistake: str, tmp_path: Path, capfd: Capture) -> None:
    vector, module, right, wrong = MISTAKES[mistake]

    assert_caught(copy_with(tmp_path, "swim-js", module, right, wrong), f"swim/codec/{vector}", capfd)


def test_what_no_vector_has_is_read_and_written_as_by_the_reference() -> None:
    datagrams = {odd: json.dumps(msgpack.packb([PING, vector]).hex()) for odd, vector in ODD.items()}

    expected, actual = ask_both("decode", datagrams)

    assert actual == expected
    read = {odd: json.dumps(value) for odd, value in expected.items() if value is not None}
    assert 0 < len(read) < len(datagrams)
    expected, actual = ask_both("encode", read)
    assert actual == expected


def test_json_is_read_as_by_the_reference() -> None:
    node, incarnation = "00000000-0000-0001-0000-000000000002", '{"restart": 9007199254740993, "tx": {"u64": "7"}}'
    ping = f'"type": "ping", "sender": "{node}", "incarnation": {incarnation}, "target": "{node}"'

    expected, actual = ask_both(
        "encode", {odd: f'{{{ping}, "vectors": [{{"type": "payload", "data": {data}}}]}}' for odd, data in PLAIN.items()}
    )

    assert actual == expected


@pytest.mark.parametrize("line", ['{"op": "open"}', '{"op": "toString"}', '{"op": "decode", "protocol": "swim", "bytes": "0"}'])
def test_what_it_cannot_do_is_an_error(line: str) -> None:
    (reply,) = ask(PROGRAM, [f'{{"id": 1, {line[1:]}'])

    assert reply["error"]["code"] in {"unsupported", "unknown_op", "bad_request"}
