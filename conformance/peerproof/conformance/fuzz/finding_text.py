"""A finding for people: what it is, the clauses, the run as a message graph, the first difference, and what to paste."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from textwrap import shorten
from typing import Any, Final

from peerproof.conformance.diagrams.labels import message_text
from peerproof.conformance.fuzz.findings import KINDS, Finding, clauses_of
from peerproof.spec.core import Specification

WIDTH: Final = 120
MOST_TOLD: Final = 60  #: lines of the graph; the last ones say most
MOST_SHOWN: Final = 400  #: characters of a value
MOST_ERRORS: Final = 20  #: lines

#: What is counted in every run, and how it is told; the order is that of the line.
HAPPENINGS: Final = (
    ("deliver", "deliveries"),
    ("overtaken", "of them out of order"),
    ("repeat", "repeated"),
    ("unconfirmed", "not confirmed"),
    ("lose", "lost"),
    ("lost, cut off", "lost at a cut"),
    ("lost, receiver down", "lost at a node that was down"),
    ("call", "calls"),
    ("expiry", "timers"),
    ("crash", "crashes"),
    ("restart", "restarts"),
    ("forget", "with nothing kept"),
    ("cut", "cuts"),
    ("heal", "heals"),
    ("malformed", "malformed datagrams"),
    ("forged", "forged messages"),
)

#: What not all protocols have: something that is kept, datagrams that come twice, connections.
SOMETIMES: Final = ("forget", "repeat", "unconfirmed")


def render_finding(spec: Specification, finding: Finding) -> str:
    """All that helps to see what is wrong."""
    parts = [
        [f"FOUND {finding.kind}: {KINDS[finding.kind]}", f"  {shorten(finding.detail, MOST_SHOWN, placeholder=' …')}"],
        [f"  {clause.id} {clause.level or ''}: {_brief(clause.text)}" for clause in clauses_of(spec.NAME, finding.cited)],
        ["", *_graph(spec, finding)],
        list(_difference(finding)),
        [] if finding.again else ["", "  it did not happen again when the same was done again: this is not the smallest run"],
        ["", *(f"    | {line}" for line in finding.errors.splitlines()[-MOST_ERRORS:])] if finding.errors else [],
    ]
    return "\n".join(line for part in parts for line in part)


def _brief(text: str) -> str:
    return shorten(text, WIDTH - 16, placeholder=" …")


def _graph(spec: Specification, finding: Finding) -> Iterator[str]:
    lines = finding.graph(spec).text().splitlines()
    if len(lines) > MOST_TOLD:
        yield f"    … {len(lines) - MOST_TOLD} lines before"
    yield from (f"    {line}" for line in lines[-MOST_TOLD:])


def _difference(finding: Finding) -> Iterator[str]:
    difference = finding.difference
    if difference is not None:
        yield ""
        yield f"  first difference, at {finding.node}: {difference.where}"
        yield f"    expected  {_value(difference.expected)}"
        yield f"    actual    {_value(difference.actual)}"


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict) and isinstance(value.get("message"), dict) and "to" in value:
        return f"to {_value(value['to'])}: {_value(value['message'])}"
    text = message_text(value) if isinstance(value, dict) and "type" in value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text)} characters)"


def render_counts(spec: Specification, counts: Counter[str]) -> list[str]:
    """What the runs were made of: to see that the interesting things do happen."""
    told = [(name, words) for name, words in HAPPENINGS if name not in SOMETIMES or counts[name]]
    lines = [f"  {', '.join(f'{counts[name]:,} {words}' for name, words in told)}"]
    unseen = [promise for promise in spec.PROPERTIES if promise.when == "sometimes" and not counts[promise.name]]
    lines += [f"  never seen: {promise.name}, {promise.about}" for promise in unseen]
    if counts["given up"]:
        lines.append(
            f"  {counts['given up']} runs could not be judged to their end: the implementation draws by itself, and there are "
            "too many ways; fewer --nodes help"
        )
    return lines
