"""
What was found, as rows of `violations`: of each rule the first few with the events around them, and how many more there are.

A divergence is called by a property that the recorded step contradicts, with the clauses and the first difference in words.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from peerproof.conformance.clauses.catalogue import find_clause_ids
from peerproof.conformance.traces.events import Event, Ref, json_text
from peerproof.spec.core import NodeId, Received, Send, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Property, Taken, find_violations
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Rule, Seen
from peerproof.spec.traces.trace import TEXT, Divergence, Line, Script, WrongAnswer, event_of

#: Events around a finding.
BEFORE: Final = 5
AFTER: Final = 2

#: Findings of one rule by one node that are told one by one: of further ones only the number is.
MOST: Final = 3

#: Rules of which one node's findings are told; those of further ones are counted together.
RULES: Final = 64

#: Longer data of a finding is cut; the event itself is where `src_file`, or the run and the number, say.
LONGEST: Final = 20_000

#: Characters of a line for people.
_LONGEST_SHOWN: Final = 400

#: `violates`: the document's words; `differs`: only what we have decided where the document is silent.
Severity: TypeAlias = Literal["violates", "differs", "undetermined", "log"]

VIOLATES: Final = "violates"
DIFFERS: Final = "differs"

#: The worst first.
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
        """An event that may be one of those after this one."""
        last = self.after[-1].seq if self.after else self.ref.event.seq if self.ref else event.seq
        if event.seq > last and len(self.after) < AFTER:
            self.after.append(event)


class _Kind(NamedTuple):
    """Findings that are counted together."""

    severity: Severity
    name: str | None  #: None: of the rules above `RULES`
    clauses: tuple[str, ...]


def _kind_of(finding: Finding) -> _Kind:
    return _Kind(finding.severity, finding.name, tuple(finding.clauses))


class Findings:
    """The findings of one node, or of one run. The memory that they take does not grow with their number."""

    def __init__(self, specification: Specification, run_id: str, node: str, replay: str) -> None:
        """Texts are as columns have them; `replay` is the command that shows it again."""
        self._specification = specification
        self._run_id = run_id
        self._node = node
        self._replay = replay
        self._severities: Counter[Severity] = Counter()
        self._counts: Counter[_Kind] = Counter()
        self._kept: list[Finding] = []
        self._recent: deque[Ref] = deque(maxlen=2 * BEFORE + AFTER)
        self._awaited: list[Finding] = []  #: those whose events after are still to come
        self._told = 0

    def observe(self, refs: Iterable[Ref]) -> None:
        """The events that were judged last, in their order, up to `AFTER` and the last `BEFORE` at least."""
        for ref in refs:
            self._recent.append(ref)
            for finding in self._awaited:
                finding.take_after(ref.event)
            self._awaited = [finding for finding in self._awaited if len(finding.after) < AFTER]

    @property
    def awaits(self) -> bool:
        """Whether events are to be told one by one, because one is part of a finding."""
        return bool(self._awaited)

    def count(self, severity: Severity) -> int:
        """Findings of this severity."""
        return self._severities[severity]

    def add(self, finding: Finding) -> None:
        """One more."""
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
        """Those that were not given out yet."""
        yield from self._kept[self._told :]
        self._told = len(self._kept)

    def rows(self) -> Iterator[Violation]:
        """
        Rows of `violations`.

        The last row of a rule stands for the further ones of it, too, as its `times` say; of rules above `RULES` there is a row
        with the number alone.
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
        """A row of `violations`."""
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
            self._replay,
        )

    def _context(self, finding: Finding) -> str | None:
        if finding.ref is None:
            return None
        around = (*finding.before, finding.ref.event, *finding.after)
        return json_text([line(self._specification, each) for each in around])


def line(specification: Specification, event: Event) -> dict[str, Plain]:
    """An event as a trace line shows it, without what is not known of it; a message that was seen as bytes is decoded."""
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
    """What shows the findings of one node again, or with an empty node of a run's nodes together."""
    chosen = ["--node", node] if node else []
    return shlex.join(["peerproof", "pipeline", "validate", "--in", place, "--run", run_id, *chosen, *options])


def _value_text(plain: Plain) -> str | None:
    if plain is None:
        return None
    text = json_text(plain)
    return text if len(text) <= LONGEST else json_text({"cut": text[:LONGEST], "characters": len(text)})


def violation_text(row: Mapping[str, Any], *, whole: bool = False) -> str:
    """A row of `violations` for people; all of it, or the first words."""
    severity = row["severity"].upper()
    where = [f"node {row['node']}"] if row["node"] else []
    where += [f"event {row['seq']}"] if row["seq"] is not None else []
    where += [f"{row['src_file']}, byte {row['src_off']}"] if row["src_file"] and row["src_off"] is not None else []
    clauses = f" [{row['clause']}]" if row["clause"] else ""
    name = f" {row['property']}{clauses}" if row["property"] else ""
    times = f" (and {row['times'] - 1:,} more)" if (row.get("times") or 1) > 1 and row["property"] else ""
    lines = [f"{severity}{name}{times}: {', '.join(where)}{': ' if where else ''}{row['message']}"]
    if whole:
        lines += [f"  {name:9} {_truncate(row[name])}" for name in ("expected", "actual") if row[name] is not None]
        for line in json.loads(row["context"] or "[]"):
            mark = ">" if line["seq"] == row["seq"] else " "
            lines.append(f"  {mark} {_truncate(json.dumps(line, ensure_ascii=False, separators=(',', ':')))}")
    if row["replay"]:
        lines.append(f"  again: {row['replay']}")
    return "\n".join(lines)


def _truncate(text: str) -> str:
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text):,} characters)"
    return shown if shown.isprintable() else ascii(shown)


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
    broken = [] if divergence.what != "effects" or before is None else list(_find_broken(specification, before, divergence))
    clauses = dict.fromkeys(clause for holding in broken for clause in holding.clauses)
    about = f"; so it is not true that {broken[0].about}" if broken else ""
    return Finding(
        VIOLATES,
        ", ".join(dict.fromkeys(holding.name for holding in broken)) or NAMES[divergence.what],
        f"{_words(divergence)}{about}",
        ref,
        tuple(clauses) or step_clauses(specification.NAME, divergence.line),
        divergence.expected,
        divergence.actual,
    )


def step_clauses(protocol: str, line: Line) -> tuple[str, ...]:
    """The clauses that the specification's functions for such a step cite; none if there is no such function."""
    modules = [reference.load() for reference in PROTOCOLS[protocol].handlers]
    name = line.args.get("type") if isinstance(line.args, dict) else None
    function = "initial" if line.kind == "start" else f"on_{name}"
    if line.kind == "recv" and any(hasattr(module, f"{function}_message") for module in modules):
        function = f"{function}_message"  # a command has the same name
    docs = (getattr(getattr(module, function, None), "__doc__", None) for module in modules)
    return tuple(dict.fromkeys(clause for doc in docs for clause in find_clause_ids(doc or "")))


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
    encode, broken_rules = specification.MESSAGE.encode, partial(_find_broken_rules, specification, before)
    right, wrong = ([Seen(True, s.to, s.message, len(encode(s.message))) for s in each] for each in (instead, sends))
    at_odds = set(broken_rules([*received, *wrong], right))  # which of the two is wrong they do not say
    yield from (rule for rule in broken_rules([*received, *right], wrong) if rule not in at_odds)


def _after(specification: Specification, before: Any, event: Any, line: Line) -> Any:
    """The state that the specification comes to with the recorded answers of chance; if it comes to none, the one before."""
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
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004  # the whole of it is in the columns
