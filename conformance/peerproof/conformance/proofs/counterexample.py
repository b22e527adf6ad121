"""A replayed counterexample as plain data: the state before, what happens, the random choices, the state after, what is sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from peerproof.conformance.proofs.proof import Proof
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import describe_event, effect_plain

if TYPE_CHECKING:
    from peerproof.conformance.proofs.replay import Replayed, Taken
    from peerproof.conformance.proofs.values import Values

#: The first member of a file with counterexamples, and its version.
FORMAT: Final = "peerproof counterexamples"
VERSION: Final = 1


#: The members of a counterexample.
_MEMBERS: Final = {
    *("protocol", "item", "proof", "statement", "clauses", "change"),
    *("violated", "confirmed", "doubt", "names", "cluster", "steps"),
}

#: Begins the names of a specification's modules.
_SPEC: Final = "peerproof.spec."

#: Larger numbers are ids, which are shown by their digits.
_LONG: Final = 2**64


class BadFile(Exception):
    """A file has no counterexamples; the message says why."""


def plain_counterexample(protocol: str, proof: Proof, replayed: Replayed, *, twin: bool) -> dict[str, Plain]:
    """Returns a counterexample as plain data, as in a file."""
    spec = PROTOCOLS[protocol].specification.load()
    values = replayed.values
    return {
        "protocol": protocol,
        "item": proof.item,
        "proof": proof.name,
        "statement": proof.about,
        "clauses": list(proof.clauses),
        "change": proof.twin.about if twin else None,
        "violated": list(replayed.about),
        "confirmed": replayed.is_confirmed,
        "doubt": replayed.doubt,
        "names": dict(values.names()) if values else {},
        "cluster": {about: plain_value(value) for about, value in values.known_of_cluster()} if values else {},
        "steps": [_plain_step(spec, values, taken) for taken in replayed.taken] if values else [],
    }


def file_of(found: list[dict[str, Plain]]) -> dict[str, Plain]:
    """Returns the content of a file with counterexamples."""
    return {"format": FORMAT, "version": VERSION, "counterexamples": list(found)}


def read_counterexamples(content: Any) -> list[dict[str, Any]]:
    """Returns the counterexamples of a file. Raises BadFile."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise BadFile(f"this file does not begin with the format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise BadFile(f"it has version {content.get('version')!r}; this program reads version {VERSION}")
    found = content.get("counterexamples")
    if not isinstance(found, list) or not found:
        raise BadFile("it has no counterexamples")
    for one in found:
        if not isinstance(one, dict) or one.keys() != _MEMBERS or one["protocol"] not in PROTOCOLS or not one["steps"]:
            raise BadFile("a counterexample lacks members, has others, or is of an unknown protocol")
    return found


def _plain_step(spec: Any, values: Values, taken: Taken) -> dict[str, Plain]:
    """Returns one call of the specification's code."""
    states = [argument for argument in taken.arguments if _is_state(argument)]
    parts = taken.result if isinstance(taken.result, tuple) and not _is_record(taken.result) else (taken.result,)
    after = [part for part in parts if _is_state(part)]
    effects = [effect for part in parts if isinstance(part, tuple) for effect in part if _is_effect(effect)]
    others = [
        part for part in parts if not _is_state(part) and not (isinstance(part, tuple) and (not part or _is_effect(part[0])))
    ]
    owner: Any = (states or after or [None])[0]
    return {
        "node": str(owner.self_id) if owner is not None else "",
        **_plain_event(spec, taken),
        "picks": [[why, [plain_value(option) for option in options]] for why, options in taken.picks],
        "config": values.plain_config(spec, owner.config) if owner is not None else {},
        "before": values.plain_state(spec, states[0]) if states else None,
        "after": values.plain_state(spec, after[0]) if after else None,
        "effects": [_plain_effect(spec, effect) for effect in effects],
        "returned": [plain_value(other) for other in others],
    }


def _plain_event(spec: Any, taken: Taken) -> dict[str, Plain]:
    """Returns what happens: an event as in a trace, or a call of another function."""
    name = function_name(taken)
    if name.rpartition(".")[2] == "step" and len(taken.arguments) > 1:
        try:
            kind, peer, args = describe_event(spec, taken.arguments[1])
        except (TypeError, MalformedMessage):
            return {"kind": "event", "peer": None, "args": plain_value(taken.arguments[1])}
        return {"kind": kind, "peer": peer, "args": args}
    if not any(map(_is_state, taken.arguments)) and _is_state(getattr(taken.result, "state", taken.result)):
        return {"kind": "start", "peer": None, "args": plain_value(taken.arguments[-1])}
    given = [plain_value(argument) for argument in taken.arguments if not _is_state(argument) and not callable(argument)]
    return {"kind": "call", "peer": None, "args": {"function": name, "arguments": given}}


def function_name(taken: Taken) -> str:
    """Returns the name of the function that was called, below `peerproof.spec`; one of a proof has no place there."""
    place, name = getattr(taken.function, "__module__", ""), getattr(taken.function, "__name__", type(taken.function).__name__)
    return f"{place.removeprefix(_SPEC)}.{name}" if place.startswith(_SPEC) else str(name)


def _plain_effect(spec: Any, effect: Any) -> Plain:
    try:
        return effect_plain(spec, effect)
    except (TypeError, KeyError):
        return plain_value(effect)


def _is_state(value: Any) -> bool:
    return type(value).__name__ == "State"


def _is_effect(value: Any) -> bool:
    return type(value).__name__ in ("Send", "SetTimer", "CancelTimer", "Notify", "Request")


def _is_record(value: Any) -> bool:
    return hasattr(value, "_fields") and type(value).__name__ != "Step"


def plain_value(value: Any) -> Plain:
    """
    Returns any value of a specification as plain data: a record by its fields, with its type.

    >>> from peerproof.spec.swim import Incarnation
    >>> plain_value((Incarnation(1, 2), b"ab"))
    [{'type': 'Incarnation', 'restart': 1, 'tx': 2}, 'ab']
    """
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < _LONG else f"{value:032x}"
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if text.isprintable() else value.hex()
    if isinstance(value, Enum):
        return plain_value(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__} | {
            field.name: plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"type": type(value).__name__} | {name: plain_value(part) for name, part in zip(value._fields, value, strict=True)}
    if isinstance(value, Mapping):
        return [[plain_value(key), plain_value(row)] for key, row in value.items()]
    if isinstance(value, (frozenset, set)):
        return sorted((plain_value(part) for part in value), key=str)
    if isinstance(value, (tuple, list)):
        return [plain_value(part) for part in value]
    return str(value)
