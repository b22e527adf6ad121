"""Which cases a vector is: one, or one for each thing that is judged by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner import codec_cases, exchange, hostile_cases, real_time, running_node
from peerproof.conformance.runner.eligibility import CONNECTED
from peerproof.conformance.runner.trial import Case, Dialogue, Over, Trial
from peerproof.conformance.vectors.suite import Suite, Vector

#: part -> how it is tried
DIALOGUES: Final[Mapping[str, Callable[[Trial], Dialogue]]] = {
    "decode": codec_cases.decode,
    "encode": codec_cases.encode,
    "reencode": codec_cases.reencode,
    "rejects": codec_cases.rejects,
    "survives": hostile_cases.survives,
    "unchanged": hostile_cases.stays_unchanged,
    "serves": hostile_cases.serves,
    "exchange": exchange.exchange,
    "model": exchange.exchange,
    "cluster": exchange.cluster,
    "socket": real_time.exchange,
    "connected-malformed": running_node.ignores_malformed,
    "connected-answers": running_node.answers,
}

HOSTILE: Final = ("survives", "unchanged", "serves")


def cases(suite: Suite, vectors: Iterable[Vector]) -> list[Case]:
    """The cases of vectors of a suite, in their order."""
    probes: dict[str, tuple[str, ...]] = {}
    found: list[Case] = []
    for vector in vectors:
        if vector.layer != "codec":
            found.append(Case(vector.id, vector, vector.layer, frozenset(vector.needs)))
            continue
        if "rejects" not in vector.body:
            parts = vector.body.get("checks", ("decode", "encode"))
            found += [Case(f"{vector.id}#{part}", vector, part, frozenset(vector.needs)) for part in parts]
            continue
        if vector.protocol not in probes:
            probes[vector.protocol] = legal_messages(suite, vector.protocol)
        found.append(Case(f"{vector.id}#rejects", vector, "rejects", frozenset(vector.needs)))
        needs = frozenset(vector.needs) - {"codec"} | {"exchange"}
        found += [Case(f"{vector.id}#{part}", vector, part, needs, probes[vector.protocol]) for part in HOSTILE]
    return found


def cases_over(vectors: Iterable[Vector], over: Over) -> list[Case]:
    """The cases of those vectors that are for a real socket, over it."""
    return [
        Case(f"{vector.id}@{over.transport}", vector, "socket", frozenset(vector.needs) - {"exchange", *CONNECTED}, over=over)
        for vector in vectors
        if vector.layer == "exchange" and over.transport in vector.body.get("transports", ())
    ]


def least_configuration(suite: Suite, protocol: str) -> dict[str, Any]:
    """A configuration with the members that have no default, as the suite's vectors have them."""
    form = specification(protocol).CONFIG
    needed = [name for name in form.forms if name not in form.optional]
    configured = (
        node.get("config", {})
        for vector in suite.vectors
        if vector.protocol == protocol and needed
        for node in vector.body.get("nodes", {}).values()
    )
    return next(({name: config[name] for name in needed} for config in configured if set(needed) <= set(config)), {})


def legal_messages(suite: Suite, protocol: str) -> tuple[str, ...]:
    """A message of each type as bytes: the first that the suite's vectors have with something in it, or the first at all."""
    found: dict[str, tuple[bool, str]] = {}
    for vector in suite.vectors:
        if vector.protocol == protocol and "message" in vector.body:
            message = vector.body["message"]
            full = any(value for member, value in message.items() if member != "type")
            if message["type"] not in found or (full and not found[message["type"]][0]):
                found[message["type"]] = full, vector.body["bytes"]
    return tuple(digits for _, digits in found.values())
