"""What was found, as rows of `violations`: with the events around it, and of a node's further ones only their number."""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import Event, json_text
from peerproof.conformance.traces.rows import Ref
from peerproof.spec.core import Specification
from peerproof.spec.forms.form import Plain

#: Events around a finding.
BEFORE: Final = 5
AFTER: Final = 2

#: Findings of one node that are told one by one.
MOST: Final = 10

#: Longer data of a finding is cut; the event itself is where `src_file`, or the run and the number, say.
LONGEST: Final = 20_000

#: Characters of a line for people.
_LONGEST_SHOWN: Final = 400

Severity: TypeAlias = Literal["rejected", "undetermined", "log"]


class Violation(NamedTuple):
    """A row of the table `violations`, column by column."""

    run_id: str
    node: str
    seq: int | None = None
    clause: str | None = None
    property: str | None = None
    severity: str = "rejected"
    expected: str | None = None
    actual: str | None = None
    message: str = ""
    context: str | None = None
    src_file: str | None = None
    src_off: int | None = None
    replay: str = ""


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


class Findings:
    """The findings of one node, or of one run."""

    def __init__(self, specification: Specification, run_id: str, node: str, replay: str) -> None:
        """Texts are as columns have them; `replay` is the command that shows it again."""
        self.divergences = 0
        self.log_faults = 0
        self.undetermined = 0
        self._specification = specification
        self._run_id = run_id
        self._node = node
        self._replay = replay
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

    def add(self, finding: Finding) -> None:
        """One more."""
        self.divergences += finding.severity == "rejected"
        self.log_faults += finding.severity == "log"
        self.undetermined += finding.severity == "undetermined"
        if len(self._kept) >= MOST:
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
        return self.divergences + self.log_faults + self.undetermined

    def fresh(self) -> Iterator[Finding]:
        """Those that were not given out yet."""
        yield from self._kept[self._told :]
        self._told = len(self._kept)

    def rows(self) -> Iterator[Violation]:
        """Rows of `violations`; the last one is the number of those that are not told, if there are any."""
        for finding in self._kept:
            yield self.row(finding)
        if (further := len(self) - len(self._kept)) > 0:
            where = f"node {self._node}" if self._node else "run"
            severity = "rejected" if self.divergences else "undetermined" if self.undetermined else "log"
            message = f"{further:,} more of this {where}"
            yield Violation(
                self._run_id, self._node, None, None, None, severity, None, None, message, None, None, None, self._replay
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
            self._context(finding, event),
            event.src_file if event else None,
            event.src_off if event else None,
            self._replay,
        )

    def _context(self, finding: Finding, event: Event | None) -> str | None:
        if event is None:
            return None
        around = (*finding.before, event, *finding.after)
        return json_text([line(self._specification, each) for each in around])


def line(specification: Specification, event: Event) -> dict[str, Plain]:
    """An event as a trace line shows it, without what is not known of it; a message that was seen as bytes is decoded."""
    shown: dict[str, Plain] = {
        "run": event.run_id,
        "protocol": event.protocol,
        "impl": event.impl,
        "node": event.node,
        "seq": event.seq,
        "t_us": event.t_us,
        "kind": event.kind,
        "peer": event.peer,
    }
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
    lines = [f"{severity}{name}: {', '.join(where)}{': ' if where else ''}{row['message']}"]
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
