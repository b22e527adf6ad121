"""
An adapter around a small codec of Scuttlebutt: the upper half stands for your implementation, the lower half is the adapter.

    peerproof run --impl 'python codec_adapter.py'
"""

import json
import struct
import sys
from typing import Any

# ---- the implementation: bytes to Python and back --------------------------------------------------------------------

TYPES = {1: "digest_request", 2: "digest_response", 3: "delta"}
STRINGS = {"digest_request": ["addr"], "digest_response": ["addr"], "delta": ["addr", "key", "value"]}


class Malformed(Exception):
    """These bytes are no message; the reason is one of the suite's words."""


def decode(data: bytes) -> tuple[str, list[dict[str, Any]]]:
    """The type and the entries of a datagram."""
    if not data or data[0] not in TYPES:
        raise Malformed("bad_type" if data else "truncated")
    kind, at, entries = TYPES[data[0]], 1, []
    while at < len(data):
        entry: dict[str, Any] = {}
        for name in STRINGS[kind]:
            if at >= len(data) or at + 1 + data[at] > len(data):
                raise Malformed("truncated")
            entry[name], at = data[at + 1 : at + 1 + data[at]], at + 1 + data[at]
        if at + 8 > len(data):
            raise Malformed("truncated")
        entry["version"], at = struct.unpack_from(">Q", data, at)[0], at + 8
        entries.append(entry)
    return kind, entries


def encode(kind: str, entries: list[dict[str, Any]]) -> bytes:
    """A datagram."""
    out = bytes([tag for tag, name in TYPES.items() if name == kind])
    for entry in entries:
        for name in STRINGS[kind]:
            out += bytes([len(entry[name])]) + entry[name]
        out += struct.pack(">Q", entry["version"])
    return out


# ---- the adapter: one JSON object a line in, one out -----------------------------------------------------------------


def text_in(plain: Any) -> bytes:
    """A text of the plain form: a string, or `{"hex": …}` for bytes that are not UTF-8."""
    return plain.encode() if isinstance(plain, str) else bytes.fromhex(plain["hex"])


def text_out(text: bytes) -> Any:
    """The other way round."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"hex": text.hex()}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request, without its id."""
    match request["op"]:
        case "hello":
            offered = {"scuttlebutt": {"capabilities": ["codec"]}}
            return {"ok": True, "protocol": 1, "name": "codec-example", "version": "1", "protocols": offered}
        case "decode" | "encode" if request["protocol"] != "scuttlebutt":
            return {"error": {"code": "unsupported", "message": f"there is no {request['protocol']} here"}}
        case "decode":
            try:
                kind, entries = decode(bytes.fromhex(request["bytes"]))
            except Malformed as error:  # the implementation's verdict: no error of the adapter's
                return {"ok": True, "rejected": {"class": str(error), "message": "not a message"}}
            shown = [{k: str(v) if k == "version" else text_out(v) for k, v in entry.items()} for entry in entries]
            return {"ok": True, "value": {"type": kind, "entries": shown}}
        case "encode":
            entries = [
                {k: int(v) if k == "version" else text_in(v) for k, v in entry.items()} for entry in request["value"]["entries"]
            ]
            return {"ok": True, "bytes": encode(request["value"]["type"], entries).hex()}
        case "bye":
            return {"ok": True}
        case op:
            return {"error": {"code": "unknown_op", "message": f"there is no op {op}"}}


for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = answer(request)
    except Exception as error:  # noqa: BLE001  # whatever a request does to the implementation, it gets an answer
        reply = {"error": {"code": "panic", "message": repr(error)}}
    print(json.dumps({"id": request["id"], **reply}), flush=True)
    if request["op"] == "bye":
        break
