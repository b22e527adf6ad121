"""
The bundle of a protocol: its vectors with everything that the runner of this package computes from them.

The members are described on the page `docs/reference/bundle.md` and by the schema `bundle`. Order and ids are those of the
suite, so two exports of the same vectors are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Final

from peerproof.conformance.bundles.scripts import is_inexact, script
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import in_order, specification
from peerproof.conformance.readings import readings_of
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.codec_cases import variants
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.virtual_host import MOST_HAPPENINGS
from peerproof.conformance.suite.bounds import USUAL
from peerproof.conformance.vectors.model_table import LAYER, Expanded
from peerproof.conformance.vectors.plain_data import adapter_config, canonical
from peerproof.conformance.vectors.plain_forms import has_matchers
from peerproof.conformance.vectors.suite import Suite, Vector
from peerproof.spec.core import EVERYBODY
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import is_decision
from peerproof.spec.protocols import PROTOCOLS

FORMAT: Final = 1  #: raised when a runner of the former format would give another verdict, or none
SEED: Final = "0"  #: of random choices that no vector fixes; the default of `peerproof run`


def make_bundle(suite: Suite, protocol: str) -> dict[str, Any]:
    """
    Returns the content of the bundle of a protocol, without its header. Raises CannotExport.

    >>> from peerproof.conformance.vectors.suite import load
    >>> make_bundle(load(), "peter")["run"]["transport"]
    'tcp'
    """
    chosen = [vector for vector in suite.vectors if vector.protocol == protocol and _is_virtual(vector)]
    by_vector: dict[str, list[Case]] = {}
    for case in cases(suite, chosen):
        by_vector.setdefault(case.vector.id, []).append(case)
    plain = [_vector(vector, by_vector[vector.id]) for vector in chosen if vector.layer != LAYER]
    tables = _tables(vector for vector in chosen if vector.layer == LAYER)
    flags = {flag: suite.notes[flag] for flag in sorted({flag for vector in chosen for flag in vector.flags})}
    return {
        "protocol": protocol,
        "run": _run_settings(protocol),
        "clauses": _clauses(chosen),
        "readings": _readings(protocol),
        "flags": flags,
        "former": {old: new for old, new in sorted(suite.aliases.items()) if new.partition("/")[0] == protocol},
        "withdrawn": {old: why for old, why in sorted(suite.withdrawn.items()) if old.partition("/")[0] == protocol},
        "messages": list(_messages(protocol, chosen)),
        "vectors": plain,
        "tables": tables,
    }


def _is_virtual(vector: Vector) -> bool:
    """Whether it runs under virtual time, which native runners have."""
    return "virtual" in vector.body.get("transports", ("virtual",))


def _run_settings(protocol: str) -> dict[str, Any]:
    """What a runner must know of the protocol beside its vectors."""
    spec = specification(protocol)
    queries = sorted(name for name, query in spec.QUERIES.items() if len(signature(query).parameters) == 1)
    form = spec.CONFIG
    return {
        "transport": spec.TRANSPORT,
        "everybody": EVERYBODY,
        "seed": SEED,
        "queries": queries,
        "optional_events": sorted({"malformed", *PROTOCOLS[protocol].optional_events}),
        "meaningless": {name: list(items) for name, items in PROTOCOLS[protocol].meaningless.items()},
        "required_config": sorted(set(form.forms) - form.optional),
        "limits": {
            "messages": USUAL.messages,
            "at_once": USUAL.at_once,
            "message_bytes": USUAL.message_bytes,
            "happenings": MOST_HAPPENINGS,
        },
    }


def _clauses(vectors: Iterable[Vector]) -> dict[str, dict[str, Any]]:
    """The text of each clause and decision on which a vector rests, and where it stands."""
    cited = {clause for vector in vectors for clause in (*vector.clauses, *_decisions(vector))}
    every = {
        name: (clauses, item) for clauses in map(catalogue.load, catalogue.protocols()) for name, item in clauses.items.items()
    }
    found = {}
    for name in sorted(cited, key=in_order):
        if name not in every:
            continue
        clauses, item = every[name]
        where = f"{clauses.protocol}: {item.section}"
        found[name] = {"level": item.level, "decision": is_decision(name), "text": item.text, "read": where}
    return found


def _readings(protocol: str) -> dict[str, dict[str, str]]:
    """The other readings that an implementation can declare: clause -> name -> what such an implementation does."""
    found: dict[str, dict[str, str]] = {}
    for reading in readings_of(protocol):
        found.setdefault(reading.clause, {})[reading.name] = reading.text
    return found


def _messages(protocol: str, vectors: Iterable[Vector]) -> Iterator[dict[str, Any]]:
    """
    The expected messages without matchers, each once, with the bytes in which the specification writes them.

    With them a runner reads what a right node sends without the implementation's own decoder.
    """
    found: dict[str, Any] = {}
    message = specification(protocol).MESSAGE
    for vector in vectors:
        for plain in _literal_messages(vector):
            value = message.value(plain)
            found.setdefault(bytes(message.encode(value)).hex(), message.plain(value))
    for digits, value in found.items():
        yield {"bytes": digits, "value": value} | _exact(value)


def _literal_messages(vector: Vector) -> Iterator[Any]:
    for step in vector.body.get("steps", ()):
        expect = step.get("expect", {})
        for outcome in expect.get("any_of", (expect,)):
            for messages in outcome.get("messages", {}).values():
                yield from (one["message"] for one in messages if "message" in one and not has_matchers(one["message"]))


def _exact(value: Any) -> dict[str, bool]:
    """The member of a message of which usual JSON parsers lose something."""
    return {"exact": True} if is_inexact(value) else {}


def _decisions(vector: Vector) -> Iterable[str]:
    return (decision for keys in vector.rests_on.values() for key in keys for decision in key.split())


def _head(vector: Vector, found: Sequence[Case]) -> dict[str, Any]:
    """The members that every vector has."""
    shown: dict[str, Any] = {name: getattr(vector, name) for name in ("id", "rev", "title", "level")}
    shown["clauses"] = list(vector.clauses)
    if vector.flags:
        shown["flags"] = list(vector.flags)
    shown["cases"] = [{"id": case.id, "check": _CHECKS.get(case.part, case.part), "needs": sorted(case.needs)} for case in found]
    return shown | ({"basis": vector.rests_on} if vector.rests_on else {})


_CHECKS: Final = {LAYER: "exchange"}  #: a vector made from a model is an exchange


def _vector(vector: Vector, found: Sequence[Case]) -> dict[str, Any]:
    if vector.layer != "codec":
        return _head(vector, found) | script(vector)
    if "rejects" in vector.body:
        return _head(vector, found) | _malformed(vector, found)
    value = _canonical(vector.protocol, vector.body["message"])
    return _head(vector, found) | {"bytes": vector.body["bytes"], "value": value} | _exact(value)


def _canonical(protocol: str, plain: Any) -> Any:
    """A message in the one plain form that decoders return; unchanged if it does not fit the form."""
    message = specification(protocol).MESSAGE
    try:
        return message.plain(message.value(plain))
    except MalformedMessage:
        return plain


def _malformed(vector: Vector, found: Sequence[Case]) -> dict[str, Any]:
    """The malformed datagrams, and the node that receives them."""
    receiver: Mapping[str, Any] = vector.body.get("receiver", {"addr": "node:1"})
    legal = [one["bytes"] for one in receiver.get("told", ())] or list(found[-1].probes)
    named = {"class": vector.body["rejects"]["class"]} if "class" in vector.body["rejects"] else {}
    config = adapter_config(vector.protocol, receiver.get("config", {}))
    return {
        "datagrams": [{"name": one.name, "bytes": one.data.hex()} for one in variants(vector.protocol, vector.body)],
        **named,
        "receiver": {"addr": receiver["addr"], "config": config, "peer": "peer:1", "legal": legal},
    }


def expanded_vectors(bundle: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields every vector of a bundle in its order, those of tables with their nodes, states and steps in place of numbers."""
    yield from bundle.get("vectors", ())
    for table in bundle.get("tables", ()):
        for row in table["vectors"]:
            node = _with_state(table, table["nodes"][row["node"]])
            head = {name: value for name, value in row.items() if name != "node"}
            yield {**head, "nodes": [node], "steps": [_expanded_step(table, number) for number in row["steps"]]}


def _expanded_step(table: Mapping[str, Any], number: int) -> dict[str, Any]:
    step: dict[str, Any] = table["steps"][number]
    return {**step, "outcomes": [_with_state(table, one) for one in step["outcomes"]]} if "outcomes" in step else step


def _with_state(table: Mapping[str, Any], holder: Mapping[str, Any]) -> dict[str, Any]:
    return {**holder, "state": table["states"][holder["state"]]} if "state" in holder else dict(holder)


class _Pool:
    """Values that are stored once, and have numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Returns the number of a value."""
        number = self._numbers.setdefault(canonical(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _tables(vectors: Iterable[Vector]) -> list[dict[str, Any]]:
    """A table for each configuration of a model: its vectors as rows, with states, nodes and steps by number."""
    tables: dict[str, list[Vector]] = {}
    for vector in vectors:
        tables.setdefault(vector.body["model"]["config"], []).append(vector)
    return [_table(configuration, rows) for configuration, rows in tables.items()]


def _table(configuration: str, vectors: Sequence[Vector]) -> dict[str, Any]:
    states, nodes, steps = _Pool(), _Pool(), _Pool()
    rows = []
    for vector in vectors:
        plain = script(vector)
        for holder in (*plain["nodes"], *(one for step in plain["steps"] for one in step.get("outcomes", ()))):
            if "state" in holder:
                holder["state"] = states.number(holder["state"])
        (node,) = plain["nodes"]
        head = _head(vector, [Case(vector.id, vector, LAYER, frozenset(vector.needs))])
        rows.append({**head, "node": nodes.number(node), "steps": [steps.number(step) for step in plain["steps"]]})
    body = vectors[0].body
    assert isinstance(body, Expanded), "the body of a vector made from a model"
    return {
        "configuration": configuration,
        "about": body.table.about,
        "states": states.values,
        "nodes": nodes.values,
        "steps": steps.values,
        "vectors": rows,
    }
