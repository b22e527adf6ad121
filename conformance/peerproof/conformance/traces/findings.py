"""
Findings as rows of `violations`: for each rule the first few with the events around them, and the number of further ones.

A divergence gets the name of a property that the recorded step contradicts, with the clauses and the first difference in words.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from peerproof.conformance.clauses.catalogue import find_clause_ids
from peerproof.conformance.diagrams.labels import window_texts
from peerproof.conformance.traces.events import Event, Ref, json_text
from peerproof.conformance.traces.other_readings import Difference, explanation_clauses, explanation_text
from peerproof.spec.core import NodeId, Received, Send, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Property, Taken, find_violations, is_decision
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Rule, Seen
from peerproof.spec.traces.trace import EFFECTS, TEXT, Divergence, Line, Script, WrongAnswer, event_of

#: Number of events kept around a finding.
BEFORE: Final = 5
AFTER: Final = 2

#: Findings of one rule by one node that get a row each; further ones are only counted.
MOST: Final = 3

#: Rules with findings of one node that get rows; findings of further rules are counted together.
RULES: Final = 64

#: Characters; longer data of a finding is cut. The whole event is found by `src_file`, or by the run and the number.
LONGEST: Final = 20_000

#: Maximum characters of a line in the human-readable report.
_LONGEST_SHOWN: Final = 400

#: A property of a step, or a rule about messages alone.
Contradicted: TypeAlias = Property | Rule

#: `violates`: contradicts the document; `differs`: contradicts only a decision of this project where the document is silent.
Severity: TypeAlias = Literal["violates", "differs", "undetermined", "log"]

VIOLATES: Final[Severity] = "violates"
DIFFERS: Final[Severity] = "differs"

#: The severities that fail a run: what is undetermined, or rests on a decision alone, is no fault that is shown.
FAILING: Final = frozenset({VIOLATES, "log"})

#: Ordered by severity, the worst first.
SEVERITIES: Final = (VIOLATES, DIFFERS, "undetermined", "log")


class Violation(NamedTuple):
    """A row of the table `violations`, column by column."""

    run_id: str
    node: str
    seq: int | None = None
    clause: str | None = None
    property: str | None = None
    severity: str = VIOLATES
    expected: str | None = None
    actual: str | None = None
    message: str = ""
    context: str | None = None
    src_file: str | None = None
    src_off: int | None = None
    replay: str = ""
    times: int = 1


@dataclass(slots=True)
class Finding:
    """One divergence, or one fault of the log."""

    severity: Severity
    name: str  #: of the property, or of the fault
    message: str
    ref: Ref | None = None  #: the event
    clauses: Sequence[str] = ()
    expected: Plain = None
    actual: Plain = None
    after: list[Event] = field(default_factory=list)
    before: list[Event] = field(default_factory=list)

    def take_after(self, event: Event) -> None:
        """Adds an event if it is one of those after this finding."""
        last = self.after[-1].seq if self.after else self.ref.event.seq if self.ref else event.seq
        if event.seq > last and len(self.after) < AFTER:
            self.after.append(event)


class _Kind(NamedTuple):
    """The key by which findings are counted."""

    severity: Severity
    name: str | None  #: None for the rules beyond `RULES`
    clauses: tuple[str, ...]


def _kind_of(finding: Finding) -> _Kind:
    return _Kind(finding.severity, finding.name, tuple(finding.clauses))


class Findings:
    """The findings of one node, or of one run. Memory does not grow with their number."""

    def __init__(self, specification: Specification, run_id: str, node: str, replay: str) -> None:
        """Takes texts as encoded in columns; `replay` is the command that reproduces the findings."""
        self._specification = specification
        self._run_id = run_id
        self._node = node
        self._replay = replay
        self._severities: Counter[Severity] = Counter()
        self._counts: Counter[_Kind] = Counter()
        self._kept: list[Finding] = []
        self._recent: deque[Ref] = deque(maxlen=2 * BEFORE + AFTER)
        self._awaited: list[Finding] = []  #: findings that still need events after them
        self._yielded = 0

    def observe(self, refs: Iterable[Ref]) -> None:
        """Takes the events that were checked last, in order: up to `AFTER`, and at least the last `BEFORE`."""
        for ref in refs:
            self._recent.append(ref)
            for finding in self._awaited:
                finding.take_after(ref.event)
            self._awaited = [finding for finding in self._awaited if len(finding.after) < AFTER]

    @property
    def awaits(self) -> bool:
        """Returns True if events must be passed one by one, because a finding still needs the events after it."""
        return bool(self._awaited)

    def count(self, severity: Severity) -> int:
        """Returns the number of findings of this severity."""
        return self._severities[severity]

    def add(self, finding: Finding) -> None:
        """Adds a finding."""
        self._severities[finding.severity] += 1
        kind = _kind_of(finding)
        if kind not in self._counts and len(self._counts) >= RULES:
            kind = _Kind(finding.severity, None, ())
        self._counts[kind] += 1
        if kind.name is None or self._counts[kind] > MOST:
            return
        self._kept.append(finding)
        if finding.ref is not None:
            rows, at = finding.ref
            near = (Ref(rows, other) for other in range(max(0, at - BEFORE), min(len(rows), at + AFTER + 1)))
            others = dict.fromkeys(ref for ref in (*self._recent, *near) if ref != finding.ref)
            seq = finding.ref.event.seq
            around = sorted((ref.event for ref in others), key=lambda event: event.seq)
            finding.before = [event for event in around if event.seq <= seq][-BEFORE:]
            for event in around:
                finding.take_after(event)
            if len(finding.after) < AFTER:
                self._awaited.append(finding)

    def __len__(self) -> int:
        return self._severities.total()

    def fresh(self) -> Iterator[Finding]:
        """Yields the findings that were not yielded before."""
        yield from self._kept[self._yielded :]
        self._yielded = len(self._kept)

    def rows(self) -> Iterator[Violation]:
        """
        Yields rows of `violations`.

        The last row of a rule also stands for its further findings, as its `times` says. The rules beyond `RULES` share one row
        with only their number.
        """
        left = Counter(self._counts)
        for number, finding in enumerate(self._kept):
            kind = _kind_of(finding)
            is_last = all(_kind_of(other) != kind for other in self._kept[number + 1 :])
            times = left[kind] if is_last else 1
            left[kind] -= times
            yield self.row(finding)._replace(times=times)
        for kind, count in left.items():
            if kind.name is None:
                where = f"by node {self._node}" if self._node else "in this run"
                message = f"{count:,} of other rules {where}"
                yield Violation(
                    self._run_id, self._node, severity=kind.severity, message=message, replay=self._replay, times=count
                )

    def row(self, finding: Finding) -> Violation:
        """Returns the row of a finding for `violations`."""
        event = finding.ref.event if finding.ref else None
        return Violation(
            self._run_id,
            self._node,
            event.seq if event else None,
            ", ".join(finding.clauses) or None,
            finding.name,
            finding.severity,
            _value_text(finding.expected),
            _value_text(finding.actual),
            finding.message,
            self._context(finding),
            event.src_file if event else None,
            event.src_off if event else None,
            f"{self._replay} --event {event.seq}" if event and self._node else self._replay,
        )

    def _context(self, finding: Finding) -> str | None:
        if finding.ref is None:
            return None
        around = (*finding.before, finding.ref.event, *finding.after)
        return json_text([line(self._specification, each) for each in around])


def line(specification: Specification, event: Event) -> dict[str, Plain]:
    """Returns an event as a trace line, without unknown members; a message recorded as bytes is decoded."""
    shown: dict[str, Plain] = {"run": event.run_id}
    shown |= {name: getattr(event, name) for name in ("protocol", "impl", "node", "seq", "t_us", "kind", "peer")}
    if event.args is not None:
        shown["args"] = json.loads(event.args)
    elif event.payload is not None:
        shown["args"] = specification.MESSAGE.plain(specification.MESSAGE.decode(event.payload))
    for name in ("picks", "effects"):
        if (text := getattr(event, name)) is not None:
            shown[name] = json.loads(text)
    if event.state_hash is not None:
        shown["state"] = event.state_hash
    if event.refused is not None:
        shown["refused"] = event.refused
    return shown


def replay_command(place: str, run_id: str, node: str, options: Sequence[str] = ()) -> str:
    """Returns the command that reproduces the findings of one node, or with an empty node those of a run's nodes together."""
    chosen = ["--node", node] if node else []
    return shlex.join(["peerproof", "pipeline", "validate", "--in", place, "--run", run_id, *chosen, *options])


def _value_text(plain: Plain) -> str | None:
    if plain is None:
        return None
    text = json_text(plain)
    return text if len(text) <= LONGEST else json_text({"cut": text[:LONGEST], "characters": len(text)})


def violation_text(row: Mapping[str, Any], *, whole: bool = False) -> str:
    """Renders a row of `violations` for people, in full with the events around it; `src_line`, if given, is the line."""
    severity = row["severity"].upper()
    where = [f"node {row['node']}"] if row["node"] else []
    where += [f"event {row['seq']}"] if row["seq"] is not None else []
    is_in_message = row["message"].startswith(row["src_file"] or "\n")  # of a line that cannot be read
    where += [_place_text(row)] if row["src_file"] and row["src_off"] is not None and not is_in_message else []
    clauses = f" [{'clauses of this step: ' if cites_step(row) else ''}{row['clause']}]" if row["clause"] else ""
    name = f" {row['property']}{clauses}" if row["property"] else ""
    times = f" (and {row['times'] - 1:,} more)" if (row.get("times") or 1) > 1 and row["property"] else ""
    lines = [f"{severity}{name}{times}: {', '.join(where)}{': ' if where else ''}{row['message']}"]
    lines += _sides(row)
    if whole:
        for line in json.loads(row["context"] or "[]"):
            mark = ">" if line["seq"] == row["seq"] else " "
            lines.append(f"  {mark} {_truncate(json.dumps(line, ensure_ascii=False, separators=(',', ':')))}")
    if row["replay"]:
        lines.append(f"  again: {row['replay']}")
    return "\n".join(lines)


def cites_step(row: Mapping[str, Any]) -> bool:
    """
    Whether a row has all clauses that the specification cites for its step, since no property is known that it contradicts.

    Which of them the node contradicts is not known. The clauses of properties begin with those of the first that is named.
    """
    return row["severity"] == VIOLATES and row["property"] in {*NAMES.values(), "Step"}


def _sides(row: Mapping[str, Any]) -> list[str]:
    """Returns what is expected and what is in the log; of several outcomes, the one that differs least."""
    expected, actual = row["expected"] or "", row["actual"] or ""
    outcomes, observed = json.loads(expected or "null"), json.loads(actual or "null")
    of = ""
    if isinstance(observed, dict) and isinstance(outcomes, list) and outcomes:
        closest = min(outcomes, key=lambda outcome: sum(1 for _ in differences(outcome, observed, "")))
        expected, of = json_text(closest), f" (the closest of {len(outcomes):,} outcomes)" if len(outcomes) > 1 else ""
    shown = zip(("expected", "actual"), window_texts(expected, actual), (of, ""), strict=True)
    return [f"  {name:9} {_safe(text)}{more}" for name, text, more in shown if text]


def plain_violation(row: Mapping[str, Any], line: int | None, *, whole: bool = False) -> dict[str, Plain]:
    """Returns a row of `violations` as JSON data, in full with the events around it; `line` is its line in the file, if known."""
    shown: dict[str, Any] = {"run": row["run_id"], "node": row["node"], "seq": row["seq"], "severity": row["severity"]}
    shown |= {"property": row["property"], "clauses": row["clause"].split(", ") if row["clause"] else []}
    shown |= {"message": row["message"], "times": row["times"], "file": row["src_file"], "line": line}
    shown |= {name: None if row[name] is None else json.loads(row[name]) for name in ("expected", "actual")}
    if whole:
        shown["context"] = json.loads(row["context"] or "[]")
    return {**shown, "command": row["replay"]}


def _place_text(row: Mapping[str, Any]) -> str:
    """The place of an event: its file, and the line if it is known, else the byte."""
    return f"{row['src_file']}:{row['src_line']}" if row.get("src_line") else f"{row['src_file']}, byte {row['src_off']}"


def _truncate(text: str) -> str:
    return _safe(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text):,} characters)")


def _safe(text: str) -> str:
    return text if text.isprintable() else ascii(text)


#: Names of divergences that contradict no property, by the part that differs.
NAMES: Final[Mapping[str, str]] = {
    "seq": "Sequence",
    "args": "Event",
    "picks": "Answers",
    "effects": "Effects",
    "state": "StateDigest",
    "refused": "Refusal",
}


def no_event(ref: Ref, why: str) -> Finding:
    """Returns the finding of a line that is no event of the protocol, a fault of the log: what comes in may be anything."""
    return _log_finding(ref, "args", no_event_text(ref.event.kind, why))


def _log_finding(ref: Ref, what: str, fault: str) -> Finding:
    return Finding("log", NAMES[what], f"{fault}; nothing is checked from there to the next start", ref)


def no_event_text(kind: str, why: str) -> str:
    """Says that a line of this kind is no event of the protocol."""
    return f"this {kind} is no event of the protocol: {why}"


def writing_fault(divergence: Divergence) -> str:
    """
    Describes what makes the line one that no log may have, whatever the node did; empty if the node differs.

    It is no event, it has messages without the random choices that its step makes, or its effects are written in another way than
    lines have them. Without messages, the node may have left out the step.
    """
    line, what = divergence.line, divergence.what
    if what == "args":
        return no_event_text(line.kind, str(divergence.actual))
    if what == "picks" and not line.picks and any("send" in effect for effect in line.effects):
        return f"the random choices are missing in picks: expected {divergence.expected}"
    return _effects_fault(divergence.expected, divergence.actual) if what == "effects" else ""


def _effects_fault(expected: Any, actual: Any) -> str:
    for place, effect in enumerate(actual, start=1):
        if not isinstance(effect, Mapping) or len(effect) != 1 or not EFFECTS.issuperset(effect):
            return f"effect {place} is none: expected an object with one member of {', '.join(sorted(EFFECTS))}"
    if _as_text(expected) == _as_text(actual):
        path, wanted, found = next(differences(expected, actual, "effect"))
        return f"{path} is written as {json.dumps(found)}, expected {json.dumps(wanted)}"
    return ""


def _as_text(plain: Plain) -> Plain:
    """Returns plain data with its numbers as text."""
    if isinstance(plain, Mapping):
        return {name: _as_text(value) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_as_text(item) for item in plain]
    return str(plain) if isinstance(plain, int) and not isinstance(plain, bool) else plain


def finding_of(specification: Specification, before: Any, ref: Ref, divergence: Divergence) -> Finding:
    """Returns the finding of a divergence; `before` is the state of the node before the step."""
    if isinstance(divergence, Difference):
        message = f"{divergence_text(divergence)}; {explanation_text(divergence.explanations)}"
        named = NAMES[divergence.what], message, ref, explanation_clauses(divergence.explanations)
        return Finding(DIFFERS, *named, divergence.expected, divergence.actual)
    if fault := writing_fault(divergence):
        return _log_finding(ref, divergence.what, fault)
    broken = [] if divergence.what != "effects" or before is None else list(_find_broken(specification, before, divergence))
    clauses = dict.fromkeys(clause for holding in broken for clause in holding.clauses)
    about = f"; this contradicts the property that {broken[0].about}" if broken else ""
    name = ", ".join(dict.fromkeys(holding.name for holding in broken)) or NAMES[divergence.what]
    cited = tuple(clauses) or step_clauses(specification.NAME, divergence.line)
    message = "; ".join(filter(None, [f"{divergence_text(divergence)}{about}", no_message_text(specification, divergence)]))
    return Finding(severity_of(cited), name, message, ref, cited, divergence.expected, divergence.actual)


def severity_of(clauses: Collection[str]) -> Severity:
    """
    Returns the severity of a contradiction to these clauses: what only decisions demand can only differ.

    >>> severity_of(["SA-32"]), severity_of(["S-40", "SA-32"]), severity_of([])
    ('differs', 'violates', 'violates')
    """
    return DIFFERS if clauses and all(map(is_decision, clauses)) else VIOLATES


def step_clauses(protocol: str, line: Line) -> tuple[str, ...]:
    """Returns the clauses that the specification's functions for such a step cite; none if there is no such function."""
    name = line.args.get("type") if isinstance(line.args, dict) else None
    return event_clauses(protocol, line.kind, name)


def event_clauses(protocol: str, kind: str, name: Any) -> tuple[str, ...]:
    """Returns the clauses that the functions for an event cite: one of `kind`, as in a trace, with a message of this name."""
    modules = [reference.load() for reference in PROTOCOLS[protocol].handlers]
    function = "initial" if kind == "start" else f"on_{name}"
    if kind == "recv" and any(hasattr(module, f"{function}_message") for module in modules):
        function = f"{function}_message"  # a command has the same name
    docs = (getattr(getattr(module, function, None), "__doc__", None) for module in modules)
    return tuple(dict.fromkeys(clause for doc in docs for clause in find_clause_ids(doc or "")))


def divergence_text(divergence: Divergence) -> str:
    """Returns a divergence in words: the event, and the first part in which the node differs."""
    line, what = divergence.line, divergence.what
    kind = line.args.get("type") if isinstance(line.args, dict) else None
    event = f"{line.kind} {kind}" if kind and line.kind != "start" else line.kind
    if what == "effects":
        where, expected, actual = next(differences(divergence.expected, divergence.actual, "effect"))
        return f"{event}: {where}: {_short(actual)}, where the specification has {_short(expected)}"
    if what == "state":
        return f"{event}: the state after it differs from that of the specification, though all effects are the same"
    return f"{event}: {what}: expected {_short(divergence.expected)}, found {_short(divergence.actual)}"


def no_message_text(specification: Specification, divergence: Divergence) -> str:
    """Says what a node sent that is no message of the protocol, and why; empty if it sent messages only."""
    sent = [effect["send"] for effect in divergence.actual if "send" in effect] if divergence.what == "effects" else []
    for send in sent:
        said = f"node {divergence.line.node} sent {send['to']} something that is no message"
        try:
            specification.MESSAGE.encode(specification.MESSAGE.value(send["message"]))
        except MalformedMessage as error:
            return f"{said}: {error}"
        except NotEnabled as refusal:
            return f"{said}: {refusal}"
    return ""


def differences(expected: Plain, actual: Plain, where: str) -> Iterator[tuple[str, Plain, Plain]]:
    """Yields every place at which two plain values differ, in order."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        for name, value in expected.items():
            yield from differences(value, actual[name], f"{where}.{name}")
    elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        for place in range(max(len(expected), len(actual))):
            mine, theirs = (values[place] if place < len(values) else "nothing" for values in (expected, actual))
            yield from differences(mine, theirs, f"{where}[{place}]")
    elif expected != actual:
        yield where, expected, actual


def _find_broken(specification: Specification, before: Any, divergence: Divergence) -> Iterator[Contradicted]:
    """Yields the step properties and the message rules that the recorded step contradicts, as far as it can be read."""
    try:
        event = event_of(specification, divergence.line)
        sends, instead = (_sends(specification, effects) for effects in (divergence.actual, divergence.expected))
    except (MalformedMessage, KeyError, TypeError):
        return
    after = _after(specification, before, event, divergence.line)
    yield from find_contradicted(specification, Taken(before, event, after, sends), instead)


def find_contradicted(specification: Specification, taken: Taken, instead: Iterable[Send[Any]]) -> Iterator[Contradicted]:
    """
    Yields the step properties and the message rules that a wrong step contradicts.

    The effects of the step are the messages that were sent; `instead` are those of the specification, as is the state after it.
    """
    of_effects = (each for each in specification.PROPERTIES if not each.joins_both)
    yield from find_violations(of_effects, "step", taken)
    event = taken.event
    received = [Seen(False, event.sender, event.message, 0)] if isinstance(event, Received) else []
    encode, broken_rules = specification.MESSAGE.encode, partial(_find_broken_rules, specification, taken.before)
    right, wrong = ([Seen(True, s.to, s.message, len(encode(s.message))) for s in each] for each in (instead, taken.effects))
    at_odds = set(broken_rules([*received, *wrong], right))  # these rules do not tell which of the two is wrong
    yield from (rule for rule in broken_rules([*received, *right], wrong) if rule not in at_odds)


def _after(specification: Specification, before: Any, event: Any, line: Line) -> Any:
    """Returns the state after the specification's step with the recorded choices, or the one before if the step fails."""
    try:
        return specification.step(before, event, Script(line.picks)).state
    except (NotEnabled, WrongAnswer):
        return before


def _find_broken_rules(specification: Specification, before: Any, first: list[Seen], then: list[Seen]) -> Iterator[Rule]:
    monitors = PROTOCOLS[specification.NAME].monitors
    if monitors is None:
        return
    see = monitors.load().monitor(before.self_id, before.config).see
    for seen in first:
        list(see(seen))
    for seen in then:
        yield from (violation.rule for violation in see(seen))


def _sends(specification: Specification, effects: Plain) -> tuple[Send[Any], ...]:
    return tuple(
        Send(NodeId(TEXT.value(effect["send"]["to"])), specification.MESSAGE.value(effect["send"]["message"]))
        for effect in effects
        if "send" in effect
    )


def _short(plain: Plain) -> str:
    text = plain if isinstance(plain, str) else json_text(plain)
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004  # the columns hold the full text
