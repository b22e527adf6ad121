"""What a divergence is called: a property that the recorded step contradicts, the clauses, and the first difference in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from peerproof.conformance.traces.events import json_text
from peerproof.conformance.traces.findings import Finding
from peerproof.conformance.traces.rows import Ref
from peerproof.spec.core import NodeId, Received, Send, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Property, Taken, find_violations
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Rule, Seen
from peerproof.spec.traces.trace import TEXT, Divergence, Line, Script, WrongAnswer, event_of

#: Divergences that no property names, by what differs.
NAMES: Final[Mapping[str, str]] = {
    "seq": "Sequence",
    "args": "Event",
    "picks": "Answers",
    "effects": "Effects",
    "state": "StateDigest",
    "refused": "Refusal",
}


def finding_of(specification: Specification, before: Any, ref: Ref, divergence: Divergence) -> Finding:
    """The finding of a divergence; `before` is the state that the node was in."""
    from peerproof.conformance.traces.files import step_clauses  # what it imports is not needed as long as all agrees

    broken = [] if divergence.what != "effects" or before is None else list(_find_broken(specification, before, divergence))
    clauses = dict.fromkeys(clause for holding in broken for clause in holding.clauses)
    about = f"; so it is not true that {broken[0].about}" if broken else ""
    return Finding(
        "rejected",
        ", ".join(dict.fromkeys(holding.name for holding in broken)) or NAMES[divergence.what],
        f"{_words(divergence)}{about}",
        ref,
        tuple(clauses) or step_clauses(specification.NAME, divergence.line),
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


def _find_broken(specification: Specification, before: Any, divergence: Divergence) -> Iterator[Property | Rule]:
    """The properties of a step and the rules for messages that the recorded step contradicts, as far as it can be read."""
    try:
        event = event_of(specification, divergence.line)
        sends, instead = (_sends(specification, effects) for effects in (divergence.actual, divergence.expected))
    except (MalformedMessage, KeyError, TypeError):
        return
    after = _after(specification, before, event, divergence.line)
    yield from find_violations(specification.PROPERTIES, "step", Taken(before, event, after, sends))
    received = [Seen(False, event.sender, event.message, 0)] if isinstance(event, Received) else []
    right, wrong = ([Seen(True, s.to, s.message, _size(specification, s.message)) for s in each] for each in (instead, sends))
    at_odds = set(
        _find_broken_rules(specification, before, [*received, *wrong], right)
    )  # which of the two is wrong they do not say
    yield from (rule for rule in _find_broken_rules(specification, before, [*received, *right], wrong) if rule not in at_odds)


def _after(specification: Specification, before: Any, event: Any, line: Line) -> Any:
    """The state that the specification comes to with the recorded answers of chance; if it comes to none, the one before."""
    try:
        return specification.step(before, event, Script(line.picks)).state
    except (NotEnabled, WrongAnswer):
        return before


def _find_broken_rules(specification: Specification, before: Any, first: list[Seen], then: list[Seen]) -> Iterator[Rule]:
    """The rules that messages break after others."""
    monitors = PROTOCOLS[specification.NAME].monitors
    if monitors is None:
        return
    see = monitors.load().monitor(before.self_id, before.config).see
    for seen in first:
        list(see(seen))
    for seen in then:
        yield from (breach.rule for breach in see(seen))


def _size(specification: Specification, message: Any) -> int:
    return len(specification.MESSAGE.encode(message))


def _sends(specification: Specification, effects: Plain) -> tuple[Send[Any], ...]:
    return tuple(
        Send(NodeId(TEXT.value(effect["send"]["to"])), specification.MESSAGE.value(effect["send"]["message"]))
        for effect in effects
        if "send" in effect
    )


def _short(plain: Plain) -> str:
    text = plain if isinstance(plain, str) else json_text(plain)
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004  # the whole of it is in the columns
