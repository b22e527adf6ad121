"""A trace as a run: each line, the state of its node by the specification, and the place where the node differs from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.diagrams.compact import Renderer, render_whole, select_renderer
from peerproof.conformance.diagrams.labels import visible, window_texts
from peerproof.conformance.diagrams.message_graph import Excerpt, Note
from peerproof.conformance.diagrams.names import names_in_trace
from peerproof.conformance.explorer.fields import Fields, fields_of_state
from peerproof.conformance.explorer.recorded_run import DOWN, RESTART, START, Moment, Problem, Run
from peerproof.conformance.traces.event_text import event_text
from peerproof.conformance.traces.fair_replay import FairReplay
from peerproof.conformance.traces.file_check import NoTrace, log_fault
from peerproof.conformance.traces.findings import divergence_text, step_clauses
from peerproof.conformance.traces.other_readings import Difference, explanation_clauses, explanation_text
from peerproof.conformance.traces.trace_diagram import MOST_LINES, Reader, drawn_lines, read_traces
from peerproof.spec.core import Specification
from peerproof.spec.traces.trace import Course, Divergence, Line

Progress: TypeAlias = Callable[[int, int], None]

#: The state of a node after a difference: steps from a wrong state prove nothing.
UNKNOWN: Final = {"(not known after a difference)": ""}

#: The state of a node after its last line.
DOWN_FIELDS: Final = {"(the node is down)": ""}


@dataclass
class Earlier:
    """The lines before those that are shown: replayed, so that the states are known, and not kept."""

    progress: Progress = lambda *_: None
    replay: FairReplay | None = None
    starts: list[Line] = field(default_factory=list)
    count: int = 0
    wrong: int = 0  #: number of differences

    def add(self, line: Line) -> None:
        """Replays a line."""
        self.count += 1
        self.progress(self.count, 0)
        if self.replay is None and line.protocol in protocols():
            self.replay = FairReplay(specification(line.protocol))
        if self.replay is not None and line.protocol == self.replay.spec.NAME:
            self.wrong += self.replay.text(line.json()) is not None
        if line.kind == "start":
            self.starts.append(line)


def run_traces(
    files: Sequence[Path], run: str | None = None, excerpt: Excerpt | None = None, progress: Progress = lambda *_: None
) -> Run:
    """
    Reads the traces of one run and replays every node; shows an excerpt, of up to `excerpt.most` lines.

    `progress` gets the number of replayed lines and of all, or 0 as long as that is not known. Raises OSError, and NoTrace if
    there is no line, or one of an unknown protocol.
    """
    excerpt = excerpt or Excerpt(most=MOST_LINES)
    earlier = Earlier(progress)
    reader = read_traces(list(map(str, files)), run, excerpt.begin, excerpt.most, earlier.add)
    shown = run_of_reader(reader, progress, excerpt, earlier)
    shown.title = f"{', '.join(path.name for path in files)}: run {reader.lines[0].line.run}"
    first = f"the first {{:,}} lines from {excerpt.begin} ms on" if excerpt.begin else "its first {:,} lines"
    remarks = [*reader.damaged]
    remarks += [f"{name}: only {first.format(count)} are shown (--most)" for name, count in reader.cut.items()]
    remarks += [f"{name}:{number}: {problem}" for name, number, problem in reader.unread[:3]]
    shown.about = "; ".join([*remarks, *([shown.about] if shown.about else [])])
    shown.commands = (("check", f"peerproof trace check {' '.join(map(str, files))}"),)
    return shown


def run_of_reader(
    reader: Reader, progress: Progress = lambda *_: None, excerpt: Excerpt | None = None, earlier: Earlier | None = None
) -> Run:
    """
    Replays every node of the lines that were read, and shows an excerpt.

    Raises NoTrace if there is no line, or one of an unknown protocol.
    """
    excerpt, earlier = excerpt or Excerpt(), earlier or Earlier()
    lines = list(drawn_lines(reader))
    protocol = reader.lines[0].line.protocol if reader.lines else ""
    if protocol not in protocols():
        raise NoTrace(f"unknown protocol {protocol!r}: there are {', '.join(protocols())}")
    spec = specification(protocol)
    names = names_in_trace([*earlier.starts, *(line for _, line in reader.lines)])
    shown = Run(protocol, f"run {reader.lines[0].line.run}", names=names)
    replay = earlier.replay or FairReplay(spec)
    for (_, node), known in replay.nodes.items():
        shown.add_state(node, partial(_fields, spec, _state(known.course)))
    unseen: dict[str, Callable[[], Fields]] = {}  # the states after the last moment that is shown

    def show(moment: Moment, state: Callable[[], Fields]) -> None:
        unseen[moment.node] = state
        if excerpt.takes(moment.at or 0, (Note(moment.node, moment.what), *moment.parts)):
            shown.moments.append(moment)
            while unseen:
                shown.add_state(*unseen.popitem())

    render = select_renderer(protocol)
    wrong = earlier.wrong
    for done, (line, at, drawn, _, end) in enumerate(lines):
        progress(done, len(reader.lines))
        is_first = (line.run, line.node) not in replay.nodes
        life = "" if line.kind != "start" else START if is_first else RESTART
        divergence = replay.text(line.json())
        course = replay.nodes[line.run, line.node].course
        problem = _problem(protocol, divergence, is_first=is_first) if divergence else None
        wrong += problem is not None
        what, exact = (RESTART, "") if life == RESTART else (_what(line, render), _what(line))
        entries = (Note(line.node, RESTART), *drawn[1:]) if life == RESTART else drawn
        moment = Moment(at, line.node, what, entries, problem=problem, life=life, exact=exact)
        show(moment, partial(_fields, spec, _state(course)))
        if end:
            show(Moment(at, line.node, end, (Note(line.node, end),), life=DOWN), lambda: DOWN_FIELDS)
    shown.verdict = f"{wrong} {'difference' if wrong == 1 else 'differences'}" if wrong else "accepted"
    if hidden := wrong - sum(moment.problem is not None for moment in shown.moments):
        shown.about = f"not shown: {hidden} of {shown.verdict}"
    return shown


def _state(course: Course) -> Any:
    return None if course.is_lost else course.state


def _fields(spec: Specification, state: Any) -> Fields:
    return UNKNOWN if state is None else fields_of_state(spec, state)


def _what(line: Line, render: Renderer = render_whole) -> str:
    try:
        return event_text(line, render)
    except (AttributeError, TypeError):  # the divergence is that these are not the arguments of an event
        return visible(line.kind)


def _problem(protocol: str, divergence: Divergence, *, is_first: bool) -> Problem:
    if fault := log_fault(divergence, is_first=is_first):
        return Problem(fault, f"seq {divergence.line.seq}", verdict="log")
    wanted, found = (json.dumps(side, ensure_ascii=False) for side in (divergence.expected, divergence.actual))
    expected, actual = window_texts(wanted, found)
    if isinstance(divergence, Difference):
        message = f"{divergence_text(divergence)}; {explanation_text(divergence.explanations)}"
        decisions = explanation_clauses(divergence.explanations)
        return Problem(message, f"seq {divergence.line.seq}", expected, actual, decisions, "differs")
    clauses = step_clauses(protocol, divergence.line)
    return Problem(divergence_text(divergence), f"seq {divergence.line.seq}", expected, actual, clauses, "violates")
