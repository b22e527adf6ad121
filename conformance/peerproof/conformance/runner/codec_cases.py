"""
Cases of codec vectors: decode, encode, reencode, reject; and how a node handles malformed datagrams.

A node must survive malformed datagrams, must not change because of them, and must still work afterwards. These checks are the
same for every protocol. The node first receives some legal messages, those of the file's `receiver` or some of the suite's
own vectors, so that it has state. To see whether it still works, it is compared with a twin that received no malformed
datagrams.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import signature
from typing import Any, Final

from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.trial import Arrow, Asking, Dialogue, Failure, Trial, Verdict
from peerproof.conformance.runner.virtual_host import Message, Stage
from peerproof.conformance.vectors.malformed import Variant, malformed
from peerproof.conformance.vectors.matching import Difference, first_difference
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain

_SUITE, _CODEC = "suite", "codec"
_PEER: Final = "peer:1"
_LATER: Final = 60_000  #: milliseconds after which timers of any protocol have run


def decode(trial: Trial) -> Dialogue:
    """Decoding the bytes gives the message."""
    yield from _check_decode(trial)
    return Verdict()


def encode(trial: Trial) -> Dialogue:
    """Encoding the message gives the bytes."""
    yield from _check_encode(trial, _canonical(trial, trial.body["message"]))
    return Verdict()


def reencode(trial: Trial) -> Dialogue:
    """Decoding the bytes and encoding the result gives the same bytes."""
    value = yield from _check_decode(trial)
    yield from _check_encode(trial, value)
    return Verdict()


def rejects(trial: Trial) -> Dialogue:
    """Every malformed datagram is rejected, and for the class that the vector names, if it names one."""
    found = variants(trial.vector.protocol, trial.body)
    requests = [_request(trial, "decode", bytes=variant.data.hex()) for variant in found]
    replies = yield requests
    wanted = trial.body["rejects"].get("class")
    for variant, request, reply in zip(found, requests, replies, strict=True):
        digits, rejected = request["bytes"], reply.get("rejected")
        if rejected is None:
            trial.essence = [request]
            _report(trial, "decode", digits, reply.get("value"))
            expected = {"rejected": describe_bytes(trial.vector.protocol, digits)}
            raise Failure("accepted", Difference(variant.name, expected, {"bytes": digits, "value": reply.get("value")}))
        if wanted is not None and rejected["class"] != wanted:
            trial.essence = [request]
            _report(trial, "decode", digits, reply)
            raise Failure("class", Difference(f"{variant.name}: rejected.class", wanted, rejected["class"]))
    return Verdict()


def variants(protocol: str, body: Mapping[str, Any]) -> list[Variant]:
    """The malformed datagrams of a vector with `rejects`."""
    if "bytes" in body:
        return [Variant("the datagram", bytes.fromhex(body["bytes"]))]
    return malformed(body["family"], specification(protocol).MESSAGE.decode)


def _check_decode(trial: Trial) -> Any:
    """A part of a dialogue: decodes the bytes and returns the value, if it is the right one."""
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
    expected = _canonical(trial, trial.body["message"])
    if same(expected, value):
        return value
    if difference := first_difference(expected, _canonical(trial, value), {}):
        _report(trial, "decode", digits, value)
        raise Failure("value", difference)
    return value


def _check_encode(trial: Trial, value: Plain) -> Any:
    """A part of a dialogue: encodes the value and checks the bytes."""
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
    """Whether plain data is equal without normalising it; an integer equals its digits."""
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
    if type(expected) is type(actual):
        return bool(expected == actual)
    return type(expected) is int and str(expected) == actual


def bytes_difference(protocol: str, where: str, expected: str, actual: str) -> Difference:
    """The difference of bytes: the first differing byte, and both sides as the specification decodes them."""
    at = next((index for index in range(0, len(expected), 2) if expected[index : index + 2] != actual[index : index + 2]), None)
    offset = (len(expected) if at is None else at) // 2
    return Difference(
        f"{where}, from byte {offset}", expected, actual, describe_bytes(protocol, expected), describe_bytes(protocol, actual)
    )


def _canonical(trial: Trial, plain: Plain) -> Plain:
    """Plain data in the canonical form of the protocol; unchanged if it does not fit the form."""
    message = specification(trial.vector.protocol).MESSAGE
    try:
        return message.plain(message.value(plain))
    except MalformedMessage:
        return plain


def _request(trial: Trial, op: str, **members: Plain) -> Request:
    return {"op": op, "protocol": trial.vector.protocol, **members}


def _report(trial: Trial, op: str, asked: Plain, answer: Plain) -> None:
    trial.story.append(Arrow(None, _SUITE, _CODEC, None, f"{op} {plain_text(asked)}"))
    trial.story.append(Arrow(None, _CODEC, _SUITE, None, plain_text(answer)))


def plain_text(plain: Plain) -> str:
    """Plain data as JSON; a text without quotes unless it is empty."""
    return plain if isinstance(plain, str) and plain else json.dumps(plain, ensure_ascii=False)


def survives(trial: Trial) -> Dialogue:
    """The node neither crashes nor hangs on any malformed datagram; the runner detects it if it does."""
    stage = Stage(trial, {"node": _receiver(trial)})
    yield from stage.open()
    yield from _deliver_malformed(trial, stage)
    return Verdict()


def stays_unchanged(trial: Trial) -> Dialogue:
    """Malformed datagrams cause no messages, and all queries answer as before."""
    stage = Stage(trial, {"node": _receiver(trial)})
    yield from stage.open()
    yield from _deliver_probes(trial, stage)
    stage.messages.clear()
    before = yield from _query_all(trial, stage)
    timer = stage.actors["node"].next_timer
    answers = yield from _deliver_malformed(trial, stage)
    for variant, messages in zip(variants(trial.vector.protocol, trial.body), answers, strict=True):
        if messages:
            shown = {"to": messages[0].to, "bytes": messages[0].bytes}
            what = describe_bytes(trial.vector.protocol, messages[0].bytes)
            trial.essence = [{"op": "recv", "via": stage.transport, "from": _PEER, "bytes": variant.data.hex()}]
            raise Failure("changed", Difference(f"{variant.name}: messages", None, shown, None, what))
    after = yield from _query_all(trial, stage)
    if difference := first_difference(before, after, {}):
        raise Failure("changed", difference)
    if stage.actors["node"].next_timer != timer:
        raise Failure("changed", Difference("next_timer_ms", timer, stage.actors["node"].next_timer))
    return Verdict()


def serves(trial: Trial) -> Dialogue:
    """After malformed datagrams the node behaves like a twin that received none."""
    twins = []
    for hostile in (False, True):
        trial.choices = Choices(trial.seed)  # the same answers for both
        stage = Stage(trial, {"node": _receiver(trial)})
        yield from stage.open()
        if hostile:
            yield from _deliver_malformed(trial, stage)
            stage.messages.clear()
        yield from _deliver_probes(trial, stage)
        yield from stage.advance(min(_LATER, stage.actors["node"].next_timer or 0))
        twins.append(_comparable_messages(trial, stage.messages))
    if difference := first_difference(twins[0], twins[1], {}, "messages"):
        raise Failure("unserving", difference)
    return Verdict()


def _receiver(trial: Trial) -> Mapping[str, Any]:
    receiver: Mapping[str, Any] = trial.body.get("receiver", {"addr": "node:1"})
    return {name: receiver[name] for name in ("addr", "config") if name in receiver}


def _deliver_malformed(trial: Trial, stage: Stage) -> Asking:
    """Delivers every malformed datagram; returns the node's answers to each."""
    digits = [variant.data.hex() for variant in variants(trial.vector.protocol, trial.body)]
    return (yield from stage.deliver_all(stage.actors["node"], _PEER, digits))


def _deliver_probes(trial: Trial, stage: Stage) -> Asking:
    legal = trial.body.get("receiver", {}).get("told")
    yield from stage.deliver_all(stage.actors["node"], _PEER, [one["bytes"] for one in legal] if legal else trial.case.probes)


def _query_all(trial: Trial, stage: Stage) -> Asking:
    """The node's answers to every query that it offers and that takes no arguments."""
    answers = {}
    queries = specification(trial.vector.protocol).QUERIES
    for what in sorted(queries):
        if f"observe.{what}" in trial.offered.capabilities and len(signature(queries[what]).parameters) == 1:
            answers[what] = yield from stage.query(stage.actors["node"], what)
    return answers


def _comparable_messages(trial: Trial, messages: list[Message]) -> list[dict[str, Any]]:
    """What can be compared: whole messages, or only receivers and types if the node makes its own random choices."""
    if trial.hello.is_oracle(trial.vector.protocol):
        return [{"to": message.to, "bytes": message.bytes} for message in messages]
    shown = [(message.at, str(message.to), _kind(trial, message.bytes)) for message in messages]
    return [{"at": at, "to": to, "type": kind} for at, to, kind in sorted(shown)]


def _kind(trial: Trial, digits: str) -> str:
    message = describe_bytes(trial.vector.protocol, digits)
    return str(message["type"]) if isinstance(message, dict) and "type" in message else "no message"
