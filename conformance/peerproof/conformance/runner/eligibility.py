"""Which vectors can run over a real socket, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.address_map import MOST, addresses, is_address
from peerproof.conformance.vectors.suite import Vector

LONGEST: Final = 20_000  #: milliseconds that a vector may take over a socket

#: Capabilities that control time, randomness or state.
VIRTUAL: Final = ("choices.oracle", "state.load", "restart", "observe.state")
_STEPS: Final = ("picks", "crash", "restart")  #: steps that do the same
CONNECTED: Final = ("sent", "stream")  #: steps that exist only over connections
SIZES: Final = ("max_payload", "max_datagram")  #: configured limits that count the bytes of addresses


def unfit(vector: Vector, transport: str) -> str | None:
    """Returns why a vector cannot run over this transport, whatever the implementation; None if it can."""
    if transport not in vector.body.get("transports", ()):
        return f"the vector is not for {transport}"
    if transport != specification(vector.protocol).TRANSPORT:
        return f"{vector.protocol} is not carried over {transport}"
    return ineligible_reason(vector)


def ineligible_reason(vector: Vector) -> str | None:
    """Returns why an exchange vector cannot run over its protocol's socket; None if it can."""
    body = vector.body
    unknown = () if specification(vector.protocol).TRANSPORT == "tcp" else CONNECTED
    if needs := sorted(set(vector.needs) & {*VIRTUAL, *unknown}):
        return f"a real socket does not support {', '.join(needs)}"
    steps = [*body.get("setup", ()), *body["steps"]]
    if wrong := next((word for step in steps for word in (*_STEPS, *unknown) if word in step), None):
        return f"a real socket does not support the step {wrong}"
    if behind := waits_behind(steps):
        return f"it waits for a message to {behind}, where an earlier one is still open"
    if sized := next((word for node in body["nodes"].values() for word in node.get("config", {}) if word in SIZES), None):
        return f"its limit {sized} counts addresses, which are longer over a socket"
    if last(steps) > LONGEST:
        return f"it takes longer than {LONGEST // 1000} seconds"
    nodes = body["nodes"].values()
    (own,) = (node["addr"] for node in nodes if node.get("role") is None)
    if own in addresses(vector.protocol, {"nodes": [node.get("config", {}) for node in nodes]}):
        return "the node is configured with its own address, which is not known before it listens"
    senders = [body["nodes"].get(step["send"]["from"], {}).get("addr", step["send"]["from"]) for step in steps if "send" in step]
    if own in senders:
        return "it sends messages from the node's own address"
    if strange := [addr for addr in (own, *senders) if not (isinstance(addr, str) and is_address(addr))]:
        return f"no socket has the address {strange[0]!r}"
    if len(addresses(vector.protocol, body)) > MOST:
        return "it has more addresses than this machine can provide"
    return None


def waits_behind(steps: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns the target of an expected message that a node may hold back while an earlier one has no outcome yet. [PA-19]"""
    still_open: list[tuple[str, str | None]] = []
    for place, step in enumerate(steps, 1):
        if sent := step.get("sent"):
            meant = [one for one in still_open if _is_meant(*one, sent)]
            still_open = [one for one in still_open if one not in (meant[:1] if "to" in sent else meant)]
        for to, kind in _expectations(step):
            if to in [earlier for earlier, _ in still_open]:
                return to
            if any(_is_meant(to, kind, later["sent"]) for later in steps[place:] if "sent" in later):
                still_open.append((to, kind))
    return None


def _is_meant(to: str, kind: str | None, sent: Mapping[str, Any]) -> bool:
    return "to" not in sent or (sent["to"] == to and (kind is None or sent.get("type", kind) == kind))


def _expectations(step: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yields target and type (None if not given) of each message that a step expects."""
    for wanted in step.get("expect", {}).get("messages", {}).values():
        for message in wanted:
            shown = message.get("message", {})
            yield str(message["to"]), shown.get("contains", shown).get("type")


def last(steps: Iterable[Mapping[str, Any]]) -> int:
    """The last instant that these steps name, in milliseconds."""
    return max((step.get("at", step.get("expect", {}).get("quiet_until", 0)) for step in steps), default=0)
