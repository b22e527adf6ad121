"""Cases about bytes alone: decode, encode, encode again what was decoded, reject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.trial import Arrow, Dialogue, Failure, Trial, Verdict
from peerproof.conformance.vectors.malformed import Variant, malformed
from peerproof.conformance.vectors.matching import Difference, first_difference
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain

_SUITE, _CODEC = "suite", "codec"


def decode(trial: Trial) -> Dialogue:
    """The bytes are the message."""
    yield from _check_decode(trial)
    return Verdict()


def encode(trial: Trial) -> Dialogue:
    """The message is these bytes."""
    yield from _check_encode(trial, _canonical(trial, trial.body["message"]))
    return Verdict()


def reencode(trial: Trial) -> Dialogue:
    """What the implementation decodes, it encodes to the same bytes."""
    value = yield from _check_decode(trial)
    yield from _check_encode(trial, value)
    return Verdict()


def rejects(trial: Trial) -> Dialogue:
    """None of the malformed datagrams is a message; each for the reason that the vector names, if it names one."""
    found = variants(trial.vector.protocol, trial.body)
    replies = yield [_request(trial, "decode", bytes=variant.data.hex()) for variant in found]
    wanted = trial.body["rejects"].get("class")
    for variant, reply in zip(found, replies, strict=True):
        digits = variant.data.hex()
        where = variant.name
        rejected = reply.get("rejected")
        if rejected is None:
            _report(trial, "decode", digits, reply.get("value"))
            trial.essence = [_request(trial, "decode", bytes=digits)]
            detail = describe_bytes(trial.vector.protocol, digits)
            raise Failure("accepted", Difference(where, {"rejected": detail}, {"bytes": digits, "value": reply.get("value")}))
        if wanted is not None and rejected["class"] != wanted:
            _report(trial, "decode", digits, reply)
            trial.essence = [_request(trial, "decode", bytes=digits)]
            raise Failure("class", Difference(f"{where}: rejected.class", wanted, rejected["class"]))
    return Verdict()


def variants(protocol: str, body: Mapping[str, Any]) -> list[Variant]:
    """The malformed datagrams of a vector with `rejects`."""
    if "bytes" in body:
        return [Variant("the datagram", bytes.fromhex(body["bytes"]))]
    return malformed(body["family"], specification(protocol).MESSAGE.decode)


def _check_decode(trial: Trial) -> Any:
    """A part of a dialogue: the value that the implementation gives, if it is the right one."""
    digits = trial.body["bytes"]
    request = _request(trial, "decode", bytes=digits)
    trial.essence.append(request)
    (reply,) = yield [request]
    if "rejected" in reply:
        _report(trial, "decode", digits, reply)
        raise Failure("rejected", Difference("decode", {"value": trial.body["message"]}, {"rejected": reply["rejected"]}))
    value = reply["value"]
    if same(trial.body["message"], value):
        return value
    difference = first_difference(_canonical(trial, trial.body["message"]), _canonical(trial, value), {})
    if difference:
        _report(trial, "decode", digits, value)
        raise Failure("value", difference)
    return value


def _check_encode(trial: Trial, value: Plain) -> Any:
    """A part of a dialogue: the implementation makes the right bytes."""
    request = _request(trial, "encode", value=value)
    trial.essence.append(request)
    (reply,) = yield [request]
    if "rejected" in reply:
        _report(trial, "encode", value, reply)
        raise Failure("rejected", Difference("encode", {"bytes": trial.body["bytes"]}, {"rejected": reply["rejected"]}))
    if reply["bytes"] != trial.body["bytes"]:
        _report(trial, "encode", value, reply["bytes"])
        raise Failure("bytes", bytes_difference(trial.vector.protocol, "bytes", trial.body["bytes"], reply["bytes"]))


def same(expected: Plain, actual: Plain) -> bool:
    """Whether plain data is equal at first sight; an integer is equal to its digits."""
    if isinstance(expected, dict):
        if "u64" in expected:
            return bool(expected["u64"] == actual)
        return (
            isinstance(actual, dict)
            and len(expected) == len(actual)
            and all(name in actual and same(value, actual[name]) for name, value in expected.items())
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and len(expected) == len(actual) and all(map(same, expected, actual))
    return bool(expected == actual) if isinstance(expected, str) else str(expected) == actual


def bytes_difference(protocol: str, where: str, expected: str, actual: str) -> Difference:
    """Bytes that differ, from which byte on, and what the specification reads in both."""
    at = next((index for index in range(0, len(expected), 2) if expected[index : index + 2] != actual[index : index + 2]), None)
    offset = (len(expected) if at is None else at) // 2
    return Difference(
        f"{where}, from byte {offset}", expected, actual, describe_bytes(protocol, expected), describe_bytes(protocol, actual)
    )


def _canonical(trial: Trial, plain: Plain) -> Plain:
    """Plain data as the protocol's form writes it; as it is, if it does not fit the form."""
    message = specification(trial.vector.protocol).MESSAGE
    try:
        return message.plain(message.value(plain))
    except MalformedMessage:
        return plain


def _request(trial: Trial, op: str, **members: Plain) -> Request:
    return {"op": op, "protocol": trial.vector.protocol, **members}


def _report(trial: Trial, op: str, asked: Plain, answer: Plain) -> None:
    trial.story.append(Arrow(None, _SUITE, _CODEC, None, f"{op} {_plain_text(asked)}"))
    trial.story.append(Arrow(None, _CODEC, _SUITE, None, _plain_text(answer)))


def _plain_text(plain: Plain) -> str:
    from json import dumps

    return plain if isinstance(plain, str) else dumps(plain, ensure_ascii=False)
