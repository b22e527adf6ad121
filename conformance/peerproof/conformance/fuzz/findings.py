"""
Findings of the fuzzer, the exceptions that carry them out of a run, and their rendering.

For people a finding is rendered as its kind, the clauses, the run as a message graph, and the first difference.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Clause, in_order
from peerproof.conformance.diagrams import labels
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.fuzz.reaction import Called, Came, Passed, Reaction, Settled, Started, Stimulus
from peerproof.conformance.runner.result import ADAPTERS_OWN
from peerproof.conformance.traces.findings import Contradicted
from peerproof.conformance.traces.other_readings import Explanations, explanation_clauses
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.plain_data import plain_config
from peerproof.spec.core import Instant, NodeId, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import is_decision

#: The failures of an implementation or its adapter, each with a sentence.
FAILURES: Final[Mapping[str, str]] = {
    "crashed": "the implementation exited",
    "panicked": "the implementation answered with the error panic",
    "hung": "the implementation did not answer in time",
    "flooded": "the implementation answered with a line that is too long",
    "garbled": "the adapter wrote a line that is not part of the protocol",
    "misshapen": "the adapter's reply does not have the members that it must have",
    "error": "the adapter reports an error",
}

#: The kinds of findings, each with a sentence.
KINDS: Final[Mapping[str, str]] = {
    "property": "a property does not hold",
    "raised": "the specification raised an error",
    **FAILURES,
    "unreadable": "the bytes that were sent are not a message",
    "messages": "no choice of the specification leads to the messages that were sent",
    "events": "no choice of the specification leads to the events that were reported",
    "refused": "a call was refused that must be carried out, or the other way round",
    "observed": "no choice of the specification leads to the answer of a query",
    "choice": "the implementation did not ask for a random choice, or asked with other options than the specification has",
    "clock": "timers stand still, or lie in the past",
}

WIDTH: Final = 120
MOST_TOLD: Final = 60  #: lines of the graph, the last ones
MOST_ERRORS: Final = 20  #: lines

#: What is counted in every run, with its label; in the order of the rendered line.
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

#: Counts that not all protocols have, because of persistence, duplicated datagrams or connections.
SOMETIMES: Final = ("forget", "repeat", "unconfirmed")


class Fed(NamedTuple):
    """One input of a node, or None for its crash."""

    now: Instant
    stimulus: Stimulus | None
    asked: Sequence[tuple[str, list[Any]]] = ()  #: the sites of the choices that it asked for, with the answers in plain form


class Told(NamedTuple):
    """One step of a run, to be drawn: at a node, between two nodes (then with data), or at all."""

    now: Instant
    what: str | Stimulus
    node: NodeId | None = None
    sender: NodeId | None = None
    data: bytes | None = None
    lost: bool = False


@dataclass
class Finding:
    """A fault, and the run that shows it."""

    kind: str  #: one of `KINDS`
    detail: str
    node: NodeId | None = None
    cited: tuple[str, ...] = ()  #: clauses of the step, or functions that cite them: `transitions.on_round`
    broken: tuple[Contradicted, ...] = ()  #: the properties and rules that it contradicts, as far as some do
    name: str = ""  #: of the property
    difference: Difference | None = None
    errors: str = ""  #: the end of the implementation's standard error, or a traceback
    expected: Reaction | None = None  #: the required reaction, for the vector that is made from it
    query: str | None = None  #: the query that shows it, if it is none of the effects
    fed: tuple[Fed, ...] = ()  #: all inputs of the node, the last of which shows the fault
    config: Any = None  #: of the node
    story: tuple[Told, ...] = ()
    nodes: tuple[NodeId, ...] = ()
    again: bool = True  #: the same run shows it again
    find_format: Callable[[], Sequence[str]] = tuple  #: finds the clauses about the form of messages, if bytes are none
    explain: Callable[[], Explanations] = tuple  #: finds `explanations`, by the node as it is where the finding shows

    @cached_property
    def explanations(self) -> Explanations:
        """The other readings of decisions with which it is none; looked for when asked for, which takes long."""
        return self.explain()

    @property
    def what(self) -> tuple[str, str]:
        """The identity of a finding: two findings with equal values are the same, whatever run shows them."""
        return self.kind, self.name

    def graph(self, spec: Specification) -> MessageGraph:
        """Draws the run as a message graph."""
        happenings = tuple(draw_step(spec, part) for part in self.story)
        ends = (end for part in self.story for end in (part.sender, part.node) if end is not None)
        return MessageGraph(tuple(dict.fromkeys([*self.nodes, *map(node_text, ends)])), happenings)


class Found(Exception):
    """Raised where a finding shows."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        assert finding.kind in KINDS, finding.kind
        self.finding = finding


class GivenUp(Exception):
    """The specification has too many possible outcomes: the rest of the run cannot be checked."""


class NotSupported(GivenUp):
    """The implementation answered `unsupported` where it may; the message is its reason."""


@dataclass
class Skipped:
    """How often an implementation did not support a part of its configuration, and its last reason."""

    times: int = 0
    reason: str = ""


class Over(BaseException):
    """Ends the campaign. It is not an Exception, because Hypothesis would take that for a failure and try again."""

    def __init__(self, because: str, *, unusable: Exception | None = None) -> None:
        super().__init__(because)
        self.because = because
        self.unusable = unusable


class OutOfRestarts(Over):
    """Ends the campaign because the implementation has crashed too often."""


class NotPromoted(Exception):
    """A finding that cannot become a vector; the message says why."""


def draw_step(spec: Specification, part: Told, *, timed: bool = True) -> Arrow | Note:
    """Draws one step of a run, with its time before the label or without."""
    at = f"{part.now} ms: " if timed else ""
    what = part.what if isinstance(part.what, str) else stimulus_text(spec, part.what)
    if part.data is None:
        return Note(node_text(part.node) if part.node is not None else "", at + what)
    remark = f" ({what})" if what else ""
    return Arrow(node_text(part.sender), node_text(part.node), f"{at}{reading(spec, part.data)}{remark}", lost=part.lost)


def node_text(node: NodeId | None) -> str:
    """Returns the name of a node as text."""
    return (node or "(empty)").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def reading(spec: Specification, data: bytes) -> str:
    """Renders a datagram on one line."""
    try:
        return labels.message_text(spec.MESSAGE.plain(spec.MESSAGE.decode(data)))
    except MalformedMessage as error:
        return f"{data.hex() or 'nothing'} ({error.reason})"


def stimulus_text(spec: Specification, stimulus: Stimulus) -> str:
    """Renders a stimulus in a few words."""
    match stimulus:
        case Started(kept):
            return " ".join(["start", *(f"{name}={value}" for name, value in (kept or {}).items())])
        case Called(command):
            plain = spec.COMMAND.plain(command)
            arguments = ", ".join(f"{k}={labels.plain_text(v)}" for k, v in plain.items() if k != "type")
            return f"{plain['type']}({arguments})"
        case Passed():
            return "time passes"
        case Came(sender, data):
            return f"{reading(spec, data)} from {node_text(sender)}"
        case Settled(to, data, took):
            what = reading(spec, data).split(" ")[0]
            return f"{what} to {node_text(to)} {'did not arrive' if took is None else f'arrived after {took} µs'}"


def clauses_of(protocol: str, cited: Collection[str]) -> list[Clause]:
    """Returns the cited clauses, and the clauses that the cited functions cite."""
    prose = catalogue.load(protocol)
    at = {clause for clause, places in prose.code.items() if any(place.within in cited for place in places)}
    found = [item for name, item in prose.items.items() if name in cited or (name in at and item.level)]
    return sorted(found, key=lambda item: in_order(item.id))


def rests_on(spec: Specification, finding: Finding) -> tuple[str, ...]:
    """Returns the decisions on which a finding rests; empty if on the document's words, or if nothing excuses it."""
    if finding.explanations:
        return explanation_clauses(finding.explanations)
    stimulus = finding.fed[-1].stimulus if finding.fed else None
    if finding.kind in (*ADAPTERS_OWN, "clock", "raised") or (finding.kind in FAILURES and not isinstance(stimulus, Came)):
        return ()
    clauses = [clause.id for clause in find_clauses(spec, finding) if clause.level]
    return tuple(clauses) if all(map(is_decision, clauses)) else ()


def find_clauses(spec: Specification, finding: Finding) -> list[Clause]:
    """Returns the clauses that a finding contradicts; if no reading, property or rule says which, those of the step."""
    if finding.explanations:
        return clauses_of(spec.NAME, explanation_clauses(finding.explanations))
    contradicted = clauses_of(spec.NAME, {clause for each in finding.broken for clause in each.clauses})
    return [clause for clause in contradicted if clause.level] or clauses_of(spec.NAME, finding.cited)


def basis_text(clauses: Iterable[str], explanations: Explanations = ()) -> str:
    """
    Says on which decisions a finding rests.

    >>> basis_text(["BA-03"])
    'only BA-03 asks for this, not the document'
    """
    listed, ways = list(clauses), [" and ".join(f"{one.clause} as {one.name}" for one in readings) for readings in explanations]
    ask = "asks" if len(listed) == 1 else "ask"
    reading = f"; another reading explains it: {' or '.join(ways)}" if ways else ""
    return f"only {' and '.join(listed)} {ask} for this, not the document{reading}"


def render_finding(spec: Specification, finding: Finding) -> str:
    """Renders a finding for people."""
    clauses, form = find_clauses(spec, finding), clauses_of(spec.NAME, finding.find_format())
    parts = [
        [f"FOUND {finding.kind}: {KINDS[finding.kind]}", f"  {shorten(finding.detail, labels.MOST_SHOWN, placeholder=' …')}"],
        ["  clauses about the form of messages:", *_listed(form)] if form else [],
        _contradictions(finding),
        _listed(clauses) or ["    none is known"],
        [f"  {basis_text(based, finding.explanations)}" for based in (rests_on(spec, finding),) if based],
        _configuration(spec, finding),
        ["", *_graph(spec, finding)],
        list(_difference(finding)),
        [] if finding.again else ["", "  the same run did not show it again: this is not the smallest run"],
        ["", *(f"    | {line}" for line in finding.errors.splitlines()[-MOST_ERRORS:])] if finding.errors else [],
    ]
    return "\n".join(line for part in parts for line in part)


def _listed(clauses: Iterable[Clause]) -> list[str]:
    return [f"  {clause.shortened(WIDTH)}" for clause in clauses]


def _contradictions(finding: Finding) -> list[str]:
    if finding.kind == "property":
        return []  # its detail says so
    return [f"  it contradicts {each.name}: {each.about}" for each in finding.broken] or ["  clauses of this step:"]


def _configuration(spec: Specification, finding: Finding) -> list[str]:
    """Renders the members of the node's configuration that differ from their defaults."""
    if finding.config is None:
        return []
    plain = plain_config(spec, finding.config)
    shown = ", ".join(f"{name} {labels.plain_text(value)}" for name, value in plain.items())
    return [f"  {node_text(finding.node)} is configured with {shown or 'the defaults'}"]


def _graph(spec: Specification, finding: Finding) -> Iterator[str]:
    lines = finding.graph(spec).text().splitlines()
    if len(lines) > MOST_TOLD:
        yield f"    … {len(lines) - MOST_TOLD} lines before"
    yield from (f"    {line}" for line in lines[-MOST_TOLD:])


def _difference(finding: Finding) -> Iterator[str]:
    if finding.difference is not None:
        expected, actual = difference_sides(finding)
        yield ""
        yield f"  first difference, at {finding.node}: {finding.difference.where}"
        yield f"    expected  {expected}"
        yield f"    actual    {actual}"


def difference_sides(finding: Finding) -> tuple[str, str]:
    """Returns what was expected and what came, on one line each; empty without a difference."""
    difference = finding.difference
    if difference is None:
        return "", ""
    value = _value(difference.expected, is_null="expected" in difference.nulls)
    return labels.window_texts(value, _value(difference.actual, is_null="actual" in difference.nulls))


def _value(value: Any, *, is_null: bool = False) -> str:
    if value is None:
        return "null" if is_null else "nothing"
    if isinstance(value, dict) and isinstance(value.get("message"), dict) and "to" in value:
        return f"to {_value(value['to'])}: {_value(value['message'])}"
    return labels.message_text(value) if isinstance(value, dict) and "type" in value else json.dumps(value, ensure_ascii=False)


def render_counts(spec: Specification, counts: Counter[str], unsupported: Mapping[str, Skipped]) -> list[str]:
    """Renders the counts of the runs, to show that the interesting events do happen, and what was unsupported."""
    shown = [(name, words) for name, words in HAPPENINGS if name not in SOMETIMES or counts[name]]
    lines = [f"  {', '.join(f'{counts[name]:,} {words}' for name, words in shown)}"]
    unseen = [promise for promise in spec.PROPERTIES if promise.when == "sometimes" and not counts[promise.name]]
    lines += [f"  never seen: {promise.name}, {promise.about}" for promise in unseen]
    for part, skipped in sorted(unsupported.items(), key=lambda item: -item[1].times):
        lines.append(f"  unsupported, so skipped {skipped.times:,} times: {part}: {skipped.reason}")
    if counts["given up"]:
        lines.append(
            f"  {counts['given up']} runs could not be checked to their end: the implementation makes its own random choices, "
            "and there are too many possible outcomes; fewer --nodes help"
        )
    return lines
