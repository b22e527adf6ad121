"""The cases of a run, one for each vector or each separately checked part of a vector, and how commands select them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner import codec_cases, exchange, real_time, running_node
from peerproof.conformance.runner.eligibility import CONNECTED
from peerproof.conformance.runner.trial import Case, Dialogue, Over, Trial
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.selection import find_vector, select_vectors
from peerproof.conformance.vectors.suite import Suite, Vector
from peerproof.spec.forms.form import Record

#: part -> the dialogue that checks it
DIALOGUES: Final[Mapping[str, Callable[[Trial], Dialogue]]] = {
    "decode": codec_cases.decode,
    "encode": codec_cases.encode,
    "reencode": codec_cases.reencode,
    "rejects": codec_cases.rejects,
    "survives": codec_cases.survives,
    "unchanged": codec_cases.stays_unchanged,
    "serves": codec_cases.serves,
    "exchange": exchange.exchange,
    "model": exchange.exchange,
    "cluster": exchange.cluster,
    "socket": real_time.exchange,
    "connected-malformed": running_node.ignores_malformed,
    "connected-answers": running_node.answers,
}

HOSTILE: Final = ("survives", "unchanged", "serves")


def cases(suite: Suite, vectors: Iterable[Vector]) -> list[Case]:
    """Returns the cases of vectors of a suite, in their order."""
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
    """Returns the cases over a real socket, of those vectors that allow this transport."""
    return [
        Case(f"{vector.id}@{over.transport}", vector, "socket", frozenset(vector.needs) - {"exchange", *CONNECTED}, over=over)
        for vector in vectors
        if vector.layer == "exchange" and over.transport in vector.body.get("transports", ())
    ]


def least_configuration(suite: Suite, protocol: str) -> dict[str, Any]:
    """Returns a configuration with the members that have no default, with values from the suite's vectors."""
    form = specification(protocol).CONFIG
    needed = [name for name in form.forms if name not in form.optional]
    configured = (
        node.get("config", {})
        for vector in suite.vectors
        if vector.protocol == protocol and needed
        for node in vector.body.get("nodes", {}).values()
    )
    return next(({name: config[name] for name in needed} for config in configured if set(needed) <= set(config)), {})


def whole_configuration(suite: Suite, protocol: str) -> dict[str, Any]:
    """
    Returns a configuration with the defaults of all members, and, where these are empty, values from the suite's vectors.

    A list has several items, if the suite has such a value.
    """
    form = specification(protocol).CONFIG
    least = least_configuration(suite, protocol)
    written = (vector for vector in suite.vectors if vector.protocol == protocol and vector.layer != LAYER)
    nodes = (node for vector in written for node in vector.body.get("nodes", {}).values())
    similar = [config for node in nodes if (config := node.get("config", {})).items() >= least.items()]
    whole = form.plain(form.value(least))
    for name in [name for name, value in whole.items() if value in (None, "", [])]:
        values = [config[name] for config in similar if name in config]
        values.sort(key=lambda value: not (isinstance(value, list) and len(value) > 1))
        whole[name] = next((value for value in values if _is_legal(form, {**whole, name: value})), whole[name])
    return {name: value for name, value in whole.items() if value is not None}


def _is_legal(form: Record, config: Mapping[str, Any]) -> bool:
    try:
        form.value(dict(config))
    except ValueError:  # includes MalformedMessage
        return False
    return True


def legal_messages(suite: Suite, protocol: str) -> tuple[str, ...]:
    """Returns one message of each type as bytes: the suite's first that is not empty, else its first."""
    found: dict[str, tuple[bool, str]] = {}
    for vector in suite.vectors:  # compare the layer first: reading the body of a vector made from a model expands it
        if vector.protocol == protocol and vector.layer == "codec" and "message" in vector.body:
            message = vector.body["message"]
            full = any(value for member, value in message.items() if member != "type")
            if message["type"] not in found or (full and not found[message["type"]][0]):
                found[message["type"]] = full, vector.body["bytes"]
    return tuple(digits for _, digits in found.values())


SOCKETS = ("udp", "tcp")  #: transports of real time: the implementation serves its nodes on sockets


class CaseNotFound(LookupError):
    """The vector has no such case; the message lists the cases that it has."""


def select_cases(suite: Suite, expression: str = "", protocol: str | None = None) -> list[Case]:
    """
    Selects cases under virtual time, in the order of the suite, by an expression as in `-k`; `VECTOR#PART` is one case.

    Raises NothingFits for a word that matches no vector, SelectionError for a key that does not exist.

    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> [case.part for case in select_cases(suite, "scuttlebutt/codec/digest-request-of-one")]
    ['decode', 'encode']
    >>> [case.part for case in select_cases(suite, "digest-request-of-one#decode")]
    ['decode']
    """
    words = [word.split(",") for word in expression.split()]
    wanted = {part for parts in words for part in parts if "#" in part}
    plain = " ".join(",".join(part.partition("#")[0] for part in parts) for parts in words)
    found = cases(suite, select_vectors(suite, plain, protocol))
    if not wanted:
        return found
    exact = {suite.aliases.get(name, name) + "#" + part for name, _, part in (word.partition("#") for word in wanted)}
    return [case for case in found if any(case.id == name or case.id.endswith(f"/{name}") for name in exact)]


def select_socket_cases(chosen: Sequence[Case], transport: str, slack: float) -> tuple[list[Case], int]:
    """
    Returns the cases of the chosen vectors over a real socket, `udp` or `tcp`, and the number of chosen exchange vectors.

    An answer may take `slack` seconds.

    >>> from peerproof.conformance.vectors.suite import load
    >>> over, of = select_socket_cases(select_cases(load(), "layer:exchange", "scuttlebutt"), "udp", 2.0)
    >>> 0 < len(over) < of, over[0].id.endswith("@udp")
    (True, True)
    """
    vectors = list({case.vector.id: case.vector for case in chosen}.values())
    return cases_over(vectors, Over(transport, slack)), len(vectors)


def find_cases(suite: Suite, name: str) -> list[Case]:
    """
    Finds the cases of one vector by its name, or one of them by `VECTOR#PART`.

    Raises VectorNotFound, CaseNotFound.

    >>> from peerproof.conformance.vectors.suite import load
    >>> [case.id for case in find_cases(load(), "digest-request-of-one#encode")]
    ['scuttlebutt/codec/digest-request-of-one#encode']
    """
    vector = find_vector(suite, name)
    found = cases(suite, [vector])
    part = name.partition("#")[2]
    if not part:
        return found
    if chosen := [case for case in found if case.part == part]:
        return chosen
    parts = ", ".join(f"#{case.part}" for case in found if "#" in case.id)
    raise CaseNotFound(f"{vector.id} has no case #{part}; it has {parts or 'only one, without #'}")


def case_ids(suite: Suite, slack: float) -> list[str]:
    """
    Returns the ids of all cases of a suite, over every transport. An entry of a list of expected failures may name these.

    >>> from peerproof.conformance.vectors.suite import load
    >>> "scuttlebutt/codec/digest-request-of-one#decode" in case_ids(load(), 2.0)
    True
    """
    over = [case.id for name in SOCKETS for case in cases_over(suite.vectors, Over(name, slack))]
    return [*(case.id for case in cases(suite, suite.vectors)), *over]
