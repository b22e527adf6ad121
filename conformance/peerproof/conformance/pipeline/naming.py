"""What a divergence is called: a property that the recorded step contradicts, the clauses, and the first difference in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from peerproof.conformance.pipeline.events import canonical_json
from peerproof.conformance.pipeline.findings import Finding
from peerproof.conformance.pipeline.rows import Ref
from peerproof.spec.core import NodeId, Send, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import Property, Taken, violated
from peerproof.spec.trace import TEXT, Divergence, event_of
from peerproof.spec.wire import Plain

#: Divergences that no property names, by what differs.
NAMES: Final[Mapping[str, str]] = {
    "seq": "Sequence",
    "args": "Event",
    "picks": "Answers",
    "effects": "Effects",
    "state": "StateDigest",
    "refused": "Refusal",
}


def named(specification: Specification, before: Any, ref: Ref, divergence: Divergence) -> Finding:
    """The finding of a divergence; `before` is the state that the node was in."""
    from peerproof.conformance.trace_check import step_clauses  # what it imports is not needed as long as all agrees

    broken = _broken(specification, before, divergence)
    clauses = dict.fromkeys(clause for p in broken for clause in p.clauses) or step_clauses(specification.NAME, divergence.line)
    about = f"; so {broken[0].about} does not hold" if broken else ""
    return Finding(
        "rejected",
        ", ".join(p.name for p in broken) or NAMES[divergence.what],
        f"{_words(divergence)}{about}",
        ref,
        tuple(clauses),
        divergence.expected,
        divergence.actual,
    )


def _words(divergence: Divergence) -> str:
    line, what = divergence.line, divergence.what
    kind = line.args.get("type") if isinstance(line.args, dict) else None
    event = f"{line.kind} {kind}" if kind and line.kind != "start" else line.kind
    if what == "effects":
        where, expected, actual = next(differences(divergence.expected, divergence.actual, "effect"))
        return f"{event}: {where}: {_short(actual)}, where the specification has {_short(expected)}"
    if what == "state":
        return f"{event}: the state afterwards is another than that of the specification, though all effects are the same"
    return f"{event}: {what}: expected {_short(divergence.expected)}, found {_short(divergence.actual)}"


def differences(expected: Plain, actual: Plain, where: str) -> Iterator[tuple[str, Plain, Plain]]:
    """Every place at which two plain data differ, the first one first."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for name, value in expected.items():
            yield from differences(value, actual[name], f"{where}.{name}")
    elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        for place in range(max(len(expected), len(actual))):
            mine, theirs = (values[place] if place < len(values) else "nothing" for values in (expected, actual))
            yield from differences(mine, theirs, f"{where}[{place}]")
    elif expected != actual:
        yield where, expected, actual


def _broken(specification: Specification, before: Any, divergence: Divergence) -> list[Property]:
    """The properties of a step that the recorded one contradicts, as far as its effects can be read."""
    if divergence.what != "effects" or before is None:
        return []
    try:
        event = event_of(specification, divergence.line)
        sends = tuple(
            Send(NodeId(TEXT.value(effect["send"]["to"])), specification.MESSAGE.value(effect["send"]["message"]))
            for effect in divergence.actual
            if isinstance(effect, dict) and "send" in effect
        )
        return violated(specification.PROPERTIES, "step", Taken(before, event, before, sends))
    except (MalformedMessage, KeyError, TypeError, AttributeError):
        return []


def _short(plain: Plain) -> str:
    text = plain if isinstance(plain, str) else canonical_json(plain)
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004  # the whole of it is in the columns
