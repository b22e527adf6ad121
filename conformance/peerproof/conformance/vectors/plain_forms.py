"""
Checks a vector's protocol data against the protocol's own forms.

The schema is the same for all protocols. This module checks messages, configurations, calls and queries against the
declarations of the specification, and codec vectors against its codec: a vector that the specification fails is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.suite.strict_yaml import Path as Where
from peerproof.conformance.vectors import matching
from peerproof.conformance.vectors.malformed import malformed, rejection
from peerproof.conformance.vectors.plain_data import expand_numbered
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Text

#: Names of matchers; data with one of them is not a literal.
MATCHERS: Final = frozenset(matching.MATCHERS) - {"u64"}  # except this one, which is both


class Misfit(NamedTuple):
    """A part of a vector, by its path, and what is wrong with it."""

    where: Where
    message: str


def misfits(protocol: str, vector: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yields the errors of a normalised vector against the protocol's specification; the runner checks behaviour."""
    spec = specification(protocol)
    if "rejects" in vector:
        yield from _rejecting(spec, vector)
    elif "message" in vector:
        yield from _coding(spec, vector)
    for name, node in vector.get("nodes", {}).items():
        if "role" in node:
            continue  # the node is never opened
        wrong = list(_fits(("nodes", name, "config"), spec.CONFIG.value, node.get("config", {})))
        yield from wrong
        if "state" in node and not wrong:
            yield from _beginning(spec, name, node)
    for part in ("setup", "steps"):
        for index, step in enumerate(vector.get(part, ())):
            wrong = [*_step(spec, step), *_restart(spec, vector["nodes"], step)]
            yield from (Misfit((part, index, *misfit.where), misfit.message) for misfit in wrong)


def receiver_misfits(protocol: str, receiver: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yields the errors of the node that receives a file's malformed datagrams."""
    spec = specification(protocol)
    yield from _fits(("config",), spec.CONFIG.value, receiver.get("config", {}))
    for index, message in enumerate(receiver.get("told", ())):
        yield from _fits(("told", index, "bytes"), spec.MESSAGE.decode, bytes.fromhex(message["bytes"]))


def _fits(where: Where, reader: Any, plain: Any) -> Iterator[Misfit]:
    try:
        reader(plain)
    except (MalformedMessage, NotEnabled, ValueError) as error:
        yield Misfit(where, getattr(error, "detail", str(error)))


def _beginning(spec: Any, name: str, node: Mapping[str, Any]) -> Iterator[Misfit]:
    """Checks that a node's first state can be decoded, and that its timers exist."""
    config, addr = spec.CONFIG.value(node.get("config", {})), Text(most=2**16).value(node["addr"])
    yield from _fits(
        ("nodes", name, "state"), lambda plain: spec.STATE.value(expand_numbered(plain), addr, config), node["state"]
    )
    for index, running in enumerate(node.get("timers", ())):
        yield from _fits(("nodes", name, "timers", index, "timer"), spec.TIMER.value, running["timer"])


def _coding(spec: Any, vector: Mapping[str, Any]) -> Iterator[Misfit]:
    wrong = list(_fits(("message",), spec.MESSAGE.value, vector["message"]))
    yield from wrong
    if wrong:
        return
    message, data = spec.MESSAGE.value(vector["message"]), bytes.fromhex(vector["bytes"])
    checks = vector.get("checks", ("decode", "encode"))
    try:
        if "decode" in checks and spec.MESSAGE.decode(data) != message:
            yield Misfit(("bytes",), f"the specification decodes them to {spec.MESSAGE.plain(spec.MESSAGE.decode(data))}")
        if "encode" in checks and spec.MESSAGE.encode(message) != data:
            yield Misfit(("bytes",), f"the specification encodes the message to {spec.MESSAGE.encode(message).hex()}")
        if "reencode" in checks and spec.MESSAGE.encode(spec.MESSAGE.decode(data)) != data:
            yield Misfit(("bytes",), "decoded and encoded again by the specification, they are different")
    except MalformedMessage as error:
        yield Misfit(("bytes",), f"the specification rejects them: {error}")
    except NotEnabled as error:
        yield Misfit(("message",), f"the specification cannot encode it: {error}")


def _rejecting(spec: Any, vector: Mapping[str, Any]) -> Iterator[Misfit]:
    decode, reason = spec.MESSAGE.decode, vector["rejects"].get("class")
    if "bytes" in vector:
        error = rejection(bytes.fromhex(vector["bytes"]), decode)
        if error is None:
            yield Misfit(("bytes",), "the specification decodes them as a message")
        elif reason not in (None, error.reason):
            yield Misfit(("rejects", "class"), f"the specification says {error.reason}: {error.detail}")
        return
    left = malformed(vector["family"], decode)
    if not left:
        yield Misfit(("family",), "no variant is left: the specification decodes all of them as messages")
    for variant in left:
        error = rejection(variant.data, decode)
        if error and reason not in (None, error.reason):
            text = f"of variant {variant.name} the specification says {error.reason}: {error.detail}"
            yield Misfit(("rejects", "class"), text)
            return


def _step(spec: Any, step: Mapping[str, Any]) -> Iterator[Misfit]:
    match step:
        case {"send": {"message": message}}:
            yield from _fits(("send", "message"), lambda plain: spec.MESSAGE.encode(spec.MESSAGE.value(plain)), message)
        case {"call": call}:
            yield from _fits(("call",), spec.COMMAND.value, {"type": call["op"], **call.get("args", {})})
        case {"observe": {"query": query}} if query not in spec.QUERIES:
            yield Misfit(("observe", "query"), f"expected one of {', '.join(spec.QUERIES)}, found {query!r}")
        case {"expect": expect}:
            yield from _check_expectation(spec, ("expect",), expect)
            for index, branch in enumerate(expect.get("any_of", ())):
                yield from _check_expectation(spec, ("expect", "any_of", index), branch)


def _restart(spec: Any, nodes: Mapping[str, Any], step: Mapping[str, Any]) -> Iterator[Misfit]:
    """Checks the configuration after a restart."""
    match step:
        case {"restart": name, "config": config} if name in nodes:
            yield from _fits(("config",), spec.CONFIG.value, {**nodes[name].get("config", {}), **config})


def _check_expectation(spec: Any, where: Where, expect: Mapping[str, Any]) -> Iterator[Misfit]:
    """Checks that all expected messages are messages."""
    for kind, messages in expect.get("messages", {}).items():
        for index, message in enumerate(messages):
            place = (*where, "messages", kind, index)
            if "bytes" in message:
                yield from _fits((*place, "bytes"), spec.MESSAGE.decode, bytes.fromhex(message["bytes"]))
            elif not has_matchers(message["message"]):
                yield from _fits((*place, "message"), spec.MESSAGE.value, message["message"])


def has_matchers(value: Any) -> bool:
    """Whether it contains a matcher other than a literal."""
    match value:
        case list():
            return any(map(has_matchers, value))
        case dict():
            return (len(value) == 1 and not MATCHERS.isdisjoint(value)) or any(map(has_matchers, value.values()))
    return False
