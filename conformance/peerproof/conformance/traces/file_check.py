"""
Checks whole traces with the replay and with TLC, and gives the verdict on several of them.

A file is read line by line. Memory holds a state and a few lines for each node, the first divergences, and for TLC a line of
numbers for each event, up to a limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final

from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.suite.source import Source
from peerproof.conformance.traces.fair_replay import FairReplay
from peerproof.conformance.traces.findings import DIFFERS, severity_of, step_clauses, writing_fault
from peerproof.conformance.traces.other_readings import Difference, Taken, declared_readings, explanation_clauses
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Divergence, Line, parse
from peerproof.tla.output.outcome import Progress, RunFailed
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces import trace_check
from peerproof.tla.traces.trace_check import Comparison, Judgement
from peerproof.tla.traces.trace_data import TraceData

#: Number of lines of a node that are kept after a divergence.
LINES_AFTER: Final = 2

#: Number of divergences of one node, and of unreadable lines of one file, that are kept; the others are only counted.
MOST_KEPT: Final = 10

#: Number of lines left out that are named.
MOST_NAMED: Final = 3

#: Bytes; a longer line is not a line of a trace.
LONGEST_LINE: Final = 2**24

_OWNER: Final = re.compile(r'\{"run":"([^"\\]*)".*?,"node":"([^"\\]*)"')
_PROGRESS_EVERY: Final = 20_000  #: lines


class NoTrace(Exception):
    """The input is not a trace, or its protocol is unknown."""

    tip = (
        "JSON lines of another program are read by peerproof pipeline ingest LOG --mapping FILE, and checked by peerproof "
        "pipeline validate; a log in plain text must first become JSON lines"
    )


#: What to do about an empty file.
EMPTY_TIP: Final = (
    "a trace has a line for the start of each node, and one for each step: see whether the program that writes it has begun; "
    "peerproof node simulate PROTOCOL --trace FILE writes one"
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is not a line of the trace."""

    line: int  #: of the file, from 1
    problem: str


@dataclass(slots=True)
class LeftOut:
    """The lines of a file that are not lines of a trace, for commands that go on without them."""

    count: int = 0
    first: list[Unreadable] = field(default_factory=list)  #: up to `MOST_NAMED`

    def add(self, number: int, raw: bytes) -> None:
        """Adds a line."""
        self.count += 1
        if len(self.first) < MOST_NAMED:
            self.first.append(Unreadable(number, why_unreadable(raw)))

    def __str__(self) -> str:
        what = (
            "1 line is not a line of a trace, and is"
            if self.count == 1
            else f"{self.count:,} lines are not lines of a trace, and are"
        )
        return f"{what} left out; {'; '.join(f'line {bad.line}: {bad.problem}' for bad in self.first)}"


def refuse_all(first: Unreadable) -> NoTrace:
    """Returns the error for a file without any line of a trace; `first` is its first line."""
    return NoTrace(f"no line of it is a line of a trace; line {first.line}: {first.problem}")


def log_fault(divergence: Divergence, *, is_first: bool) -> str:
    """Describes the fault of the log, if a divergence is one and not of the node; `is_first`: at the node's first line."""
    line = divergence.line
    if is_first and line.kind != "start":
        first = f"its first line is seq {line.seq}, {line.kind}"
        return f"the trace begins in the middle: {first}; a part of a log must begin with a start of the node"
    if divergence.what == "seq":
        return f"line missing, duplicated or out of place: expected seq {divergence.expected}, found {divergence.actual}"
    return writing_fault(divergence)


@dataclass(slots=True)
class Found:
    """A divergence and its place."""

    divergence: Divergence
    line: int  #: of the file, from 1
    event: int  #: of the node, from 1
    text: str
    clauses: tuple[str, ...]  #: those that the specification cites for this step, or the decisions that are taken otherwise
    before: list[str]
    after: list[str] = field(default_factory=list)

    @property
    def log_fault(self) -> str:
        """Describes the fault of the log, if it is one and not one of the node; else empty."""
        return log_fault(self.divergence, is_first=self.event == 1)

    @property
    def verdict(self) -> str:
        """The verdict on the step: log, rejected, or differs if it contradicts decisions only."""
        if self.log_fault:
            return "log"
        return "differs" if severity_of(self.clauses) == DIFFERS else "rejected"


@dataclass(slots=True)
class NodeReport:
    """The results for the lines of one node."""

    run: str
    node: str
    events: int = 0
    found: list[Found] = field(default_factory=list)
    further: int = 0  #: number of divergences after the kept ones
    judgement: Judgement | None = None  #: TLC's
    comparison: Comparison | None = None

    @property
    def is_accepted(self) -> bool:
        """Returns True if nothing that the node did contradicts the document, and its log has no fault."""
        return self.verdict in ("accepted", "differs")

    @property
    def verdict(self) -> str:
        """The verdict of the replay: rejected, log (only the log is wrong), differs (only from decisions), or accepted."""
        found = {one.verdict for one in self.found}
        return next((verdict for verdict in ("rejected", "log", "differs") if verdict in found), "accepted")


@dataclass(slots=True)
class Report:
    """The results for one file."""

    name: str
    protocol: str = ""
    lines: int = 0  #: blank ones are not counted
    nodes: dict[tuple[str, str], NodeReport] = field(default_factory=dict)
    unreadable: list[Unreadable] = field(default_factory=list)
    unreadable_lines: int = 0
    data: TraceData | None = None  #: the input of TLC
    tlc_problem: str | None = None  #: why TLC has no verdict on this file
    unseen: str = ""  #: the parts that TLC does not compare

    def add_unreadable(self, problem: str, line: int | None = None) -> None:
        """Adds a line that cannot be read: the one after the last, unless given."""
        self.unreadable_lines += 1
        if len(self.unreadable) < MOST_KEPT:
            self.unreadable.append(Unreadable(self.lines + 1 if line is None else line, problem))

    @property
    def is_accepted(self) -> bool:
        """Returns True if every line can be read, and every node is accepted."""
        return not self.unreadable_lines and all(node.is_accepted for node in self.nodes.values())


def check(
    name: str, file: BinaryIO, tlc_events: int, progress: Callable[[int, int], None], declared: Mapping[str, Taken] = {}
) -> Report:
    """Replays a file. `progress` gets the lines and bytes read; `tlc_events` events are kept for TLC. Raises NoTrace."""
    reading = _Reading(name, tlc_events, declared)
    size = 0
    for number, raw in numbered_lines(file):
        size += len(raw)
        if number % _PROGRESS_EVERY == 0:
            progress(number, size)
        if raw.strip():
            reading.take(number, raw)
    return reading.finish()


class _Reading:
    def __init__(self, name: str, tlc_events: int, declared: Mapping[str, Taken]) -> None:
        self._declared = declared
        self.report = Report(name)
        self._tlc_events = tlc_events
        self._replay: FairReplay | None = None
        self._followed: dict[tuple[str, str], Found] = {}  #: divergences that still need the lines after them

    def take(self, number: int, raw: bytes) -> None:
        self.report.lines += 1
        try:
            text = _text(raw)
            replay = self._replay or self._begin(parse(text))
            if self._followed:
                self._follow(text)
            divergence = replay.text(text)
            if self.report.data is not None:
                self.report.data.add(parse(text))
        except MalformedMessage as error:
            self.report.add_unreadable(line_problem(raw, error.detail), number)
            return
        if divergence is not None:
            self._keep(replay, divergence, number, text)

    def finish(self) -> Report:
        if self._replay is None and self.report.lines:
            raise refuse_all(self.report.unreadable[0])
        for (run, node), kept in self._replay.nodes.items() if self._replay else ():
            self._node(run, node).events = kept.events
        return self.report

    def _begin(self, line: Line) -> FairReplay:
        known = protocols()
        if line.protocol not in known:
            raise NoTrace(f"a trace of the protocol {line.protocol!r}; known are {', '.join(known)}")
        spec = specification(line.protocol)
        self.report.protocol = line.protocol
        self._replay = FairReplay(spec, self._declared.get(line.protocol, ()))
        if self._tlc_events and trace_check.module(line.protocol):
            self.report.data = TraceData(spec, self._tlc_events)
        return self._replay

    def _node(self, run: str, node: str) -> NodeReport:
        return self.report.nodes.setdefault((run, node), NodeReport(run, node))

    def _keep(self, replay: FairReplay, divergence: Divergence, number: int, text: str) -> None:
        owner = divergence.line.run, divergence.line.node
        node, kept = self._node(*owner), replay.nodes[owner]
        if len(node.found) == MOST_KEPT:
            node.further += 1
            return
        before = [line.rstrip() for line in kept.recent if line is not text]
        found = Found(divergence, number, kept.events, text.rstrip(), (), before)
        if isinstance(divergence, Difference):
            found.clauses = explanation_clauses(divergence.explanations)
        elif not found.log_fault:
            found.clauses = step_clauses(self.report.protocol, divergence.line)
        node.found.append(found)
        self._followed[owner] = found

    def _follow(self, text: str) -> None:
        begin = _OWNER.match(text)
        if begin and (found := self._followed.get((begin[1], begin[2]))):
            found.after.append(text.rstrip())
            if len(found.after) == LINES_AFTER:
                del self._followed[begin[1], begin[2]]


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the lines with their numbers; a line that is too long is cut."""
    number = 0
    while raw := file.readline(LONGEST_LINE):
        number += 1
        yield number, raw
        while len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            raw = file.readline(LONGEST_LINE)


def line_problem(raw: bytes, problem: str) -> str:
    """Returns why a line cannot be read; says also if the file ends within it, as that of a node that was killed may."""
    if raw.endswith(b"\n") or not raw.startswith(b"{") or len(raw) == LONGEST_LINE:
        return problem
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return f"{problem}; the file ends within this line"
    return problem


def why_unreadable(raw: bytes) -> str:
    """Returns why a line is not a line of a trace."""
    try:
        parse(_text(raw))
    except MalformedMessage as error:
        return line_problem(raw, error.detail)
    return "not a trace line"


def _text(raw: bytes) -> str:
    if len(raw) == LONGEST_LINE:
        raise MalformedMessage("other", 0, f"a line of more than {LONGEST_LINE:,} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedMessage("other", error.start, f"not UTF-8: {error.reason} at byte {error.start}") from None


def ask_tlc(report: Report, tools: Tools, progress: Callable[[Progress], None] = lambda _: None) -> None:
    """Checks the same lines with TLC, and compares its verdict with the replay's."""
    if report.data is None:
        report.tlc_problem = f"there is no TLA+ module for traces of {report.protocol}"
        return
    try:
        judgements = trace_check.check_with_tlc(tools, report.protocol, report.data, progress)
    except RunFailed as problem:
        report.tlc_problem = str(problem)
        return
    seen_by = trace_check.view(report.protocol)
    report.unseen = seen_by.about
    for judgement in judgements:
        node = report.nodes[judgement.run, judgement.node]
        first = node.found[0] if node.found else None
        node.judgement = judgement
        divergence, event = (first.divergence, first.event) if first else (None, None)
        node.comparison = trace_check.compare(divergence, event, judgement, seen_by)


def plain(report: Report) -> Plain:
    """Returns a report as JSON data."""
    unreadable = [{"line": bad.line, "problem": bad.problem} for bad in report.unreadable]
    return (
        {"file": report.name, "protocol": report.protocol, "lines": report.lines, "accepted": report.is_accepted}
        | {"unreadable": report.unreadable_lines, "unreadable_lines": unreadable}
        | {"tlc_problem": report.tlc_problem, "tlc_does_not_compare": report.unseen}
        | {"nodes": [_plain_node(node) for node in report.nodes.values()]}
    )


def _plain_node(node: NodeReport) -> Plain:
    shown: dict[str, Any] = {"run": node.run, "node": node.node, "events": node.events, "accepted": node.is_accepted}
    shown["verdict"] = node.verdict
    shown |= {"divergences": [_plain_found(found) for found in node.found], "further_divergences": node.further}
    if node.judgement is not None and node.comparison is not None:
        tlc = {name: getattr(node.judgement, name) for name in ("events", "event", "seq", "what", "why")}
        shown["tlc"] = {"opinion": node.judgement.opinion.value, **tlc, "comparison": node.comparison.name.lower()}
    return shown


def _plain_found(found: Found) -> Plain:
    divergence = found.divergence
    return (
        {"line": found.line, "event": found.event, "seq": divergence.line.seq, "kind": divergence.line.kind}
        | {"what": divergence.what, "expected": divergence.expected, "actual": divergence.actual}
        | {"log_fault": found.log_fault or None, "verdict": found.verdict, "readings": _plain_readings(divergence)}
        | {"clauses": list(found.clauses), "before": found.before, "text": found.text, "after": found.after}
    )


def _plain_readings(divergence: Divergence) -> Plain:
    """Returns each explanation by other readings: a list of explanations, each an object of decision -> name of the reading."""
    explanations = divergence.explanations if isinstance(divergence, Difference) else ()
    return [{reading.clause: reading.name for reading in readings} for readings in explanations]


#: Number of events of one file that TLC checks by default.
TLC_EVENTS: Final = 1_000_000


class TraceVerdict(Enum):
    """The verdict of the replay, and of TLC if it ran, on several traces together; the first that applies."""

    DISAGREED = "disagreed"  #: the replay and TLC contradict each other: a bug of the suite
    REJECTED = "rejected"  #: a step contradicts the document, or the log has a fault
    UNDETERMINED = "undetermined"  #: TLC ran and has no verdict on some node
    ACCEPTED = "accepted"
    EMPTY = "empty"  #: no line at all


def check_trace(  # each has its default
    source: Path | BinaryIO,
    *,
    name: str | None = None,
    tools: Tools | None = None,
    tlc_events: int = TLC_EVENTS,
    readings: Sequence[str] = (),
    on_read: Callable[[int, int], None] = lambda _lines, _bytes: None,
    on_tlc: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """
    Replays a trace, a JSON line for each step, against the specification; with `tools`, TLC checks it as well.

    A file may be compressed with gzip. `name` is the name of the trace in the report (default: its path). TLC checks the first
    `tlc_events` events. `readings` are those that its nodes take, as CLAUSE=NAME. `on_read` gets the lines and bytes read so far.
    Raises NoTrace if no line is a trace line of a known protocol, NoReading, and OSError.

    >>> from io import BytesIO
    >>> check_trace(BytesIO(b""), name="nothing").lines
    0
    """
    shown = name or (str(source) if isinstance(source, Path) else "trace")
    with Source(source) if isinstance(source, Path) else nullcontext(source) as file:
        report = check(shown, file, tlc_events if tools else 0, on_read, declared_readings(readings))
        if isinstance(file, Source) and file.problem:
            report.add_unreadable(file.problem.detail)
    if tools and report.nodes:
        ask_tlc(report, tools, on_tlc)
    report.data = None  # it may be large
    return report


def trace_verdict(reports: Iterable[Report]) -> TraceVerdict:
    """
    Returns the verdict on several traces together.

    >>> from io import BytesIO
    >>> trace_verdict([check_trace(BytesIO(b""))])
    <TraceVerdict.EMPTY: 'empty'>
    """
    reports = list(reports)
    compared = {node.comparison for report in reports for node in report.nodes.values()}
    if Comparison.DISAGREE in compared:
        return TraceVerdict.DISAGREED
    if any(not report.is_accepted for report in reports):
        return TraceVerdict.REJECTED
    if any(report.tlc_problem for report in reports) or Comparison.UNDETERMINED in compared:
        return TraceVerdict.UNDETERMINED
    return TraceVerdict.ACCEPTED if any(report.lines for report in reports) else TraceVerdict.EMPTY
