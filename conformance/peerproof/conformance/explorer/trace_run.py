"""A trace as a run: each line, the state of its node by the specification, and the place where the node differs from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.diagrams.labels import visible, window_texts
from peerproof.conformance.diagrams.message_graph import Note
from peerproof.conformance.explorer.fields import Fields, fields_of_state
from peerproof.conformance.explorer.names import names_in_trace
from peerproof.conformance.explorer.recorded_run import DOWN, RESTART, START, Moment, Problem, Run
from peerproof.conformance.suite.source import Source
from peerproof.conformance.traces.event_text import event_text
from peerproof.conformance.traces.file_check import NoTrace, log_fault
from peerproof.conformance.traces.findings import divergence_text, step_clauses
from peerproof.conformance.traces.trace_diagram import MOST_LINES, Drawn, Reader, drawn_lines, sendings
from peerproof.spec.core import Specification
from peerproof.spec.traces.replay import Replay
from peerproof.spec.traces.trace import Divergence, Line

Progress: TypeAlias = Callable[[int, int], None]

#: The state of a node after a difference: steps from a wrong state prove nothing.
UNKNOWN: Final = {"(not known after a difference)": ""}


#: What is said of a node after its last line: where it starts again later, and where others still send to it.
STOPPED: Final = "crash or stop: the node starts again later"
UNHEARD: Final = "crash or end of its log: no further line, though others still send to it"

#: Messages to a node in a row that may be lost although it runs.
LOST: Final = 1


def run_traces(
    files: Sequence[Path], run: str | None = None, most: int = MOST_LINES, progress: Progress = lambda *_: None
) -> Run:
    """
    Reads the traces of one run, up to `most` lines, and replays every node.

    `progress` gets the number of replayed lines and of all. Raises OSError, and NoTrace if there is no line, or one of an unknown
    protocol.
    """
    reader = Reader(run=run, most=most)
    damaged = []
    for path in files:
        with Source(path) as file:
            reader.read(str(path), file, share=len(files))
        if file.problem:
            damaged.append(f"{path}: {file.problem.detail}")
    shown = run_of_reader(reader, progress)
    shown.title = f"{', '.join(path.name for path in files)}: run {reader.lines[0].line.run}"
    remarks = damaged + [f"{name}: only its first {count:,} lines are shown (--most)" for name, count in reader.cut.items()]
    remarks += [f"{name}:{number}: {problem}" for name, number, problem in reader.unread[:3]]
    shown.about = "; ".join(remarks)
    shown.commands = (("check", f"peerproof trace check {' '.join(map(str, files))}"),)
    return shown


def run_of_reader(reader: Reader, progress: Progress = lambda *_: None) -> Run:
    """Replays every node of the lines that were read. Raises NoTrace if there is none, or one of an unknown protocol."""
    lines = list(drawn_lines(reader))
    protocol = reader.lines[0].line.protocol if reader.lines else ""
    if protocol not in protocols():
        raise NoTrace(f"unknown protocol {protocol!r}: there are {', '.join(protocols())}")
    spec = specification(protocol)
    shown = Run(protocol, f"run {reader.lines[0].line.run}", names=names_in_trace([line for _, line in reader.lines]))
    replay = Replay(spec)
    ends = _ends(lines, is_whole=not reader.cut)
    for done, (line, at, drawn, _) in enumerate(lines):
        progress(done, len(reader.lines))
        is_first = (line.run, line.node) not in replay.nodes
        life = "" if line.kind != "start" else START if is_first else RESTART
        divergence = replay.text(line.json())
        course = replay.nodes[line.run, line.node].course
        problem = _problem(protocol, divergence, is_first=is_first) if divergence else None
        what = RESTART if life == RESTART else _what(line)
        entries = (Note(line.node, RESTART), *drawn[1:]) if life == RESTART else drawn
        shown.moments.append(Moment(at, line.node, what, entries, problem=problem, life=life))
        state = None if course.is_lost else course.state
        shown.add_state(line.node, partial(_fields, spec, state))
        if done in ends:
            shown.moments.append(Moment(at, line.node, ends[done], (Note(line.node, ends[done]),), life=DOWN))
            shown.add_state(line.node, lambda: {"(the node is down)": ""})
    wrong = sum(moment.problem is not None for moment in shown.moments)
    shown.verdict = f"{wrong} {'difference' if wrong == 1 else 'differences'}" if wrong else "accepted"
    return shown


def _ends(lines: Sequence[Drawn], *, is_whole: bool) -> dict[int, str]:
    """
    Returns the index of the last line of each node that stops, and what is known of that.

    A node that starts again has stopped before. Of one without further lines it is likely if others send to it later, and so long
    before the end that the messages would have arrived. Nothing is said of it if lines were left out.
    """
    last: dict[str, int] = {}
    unheard: dict[str, list[int]] = {}  # the times of messages to a node since its last line
    ends: dict[int, str] = {}
    for place, (line, at, _, _) in enumerate(lines):
        if line.kind == "start" and line.node in last:
            ends[last[line.node]] = STOPPED
        last[line.node] = place
        unheard[line.node] = []
        for _, to, _ in sendings(line):
            if to in last and to != line.node:
                unheard[to].append(at)
    longest = max((drawn.at - drawn.sent_at for drawn in lines if drawn.sent_at is not None), default=0)
    end = max(drawn.at for drawn in lines)
    for node, times in unheard.items():
        if is_whole and sum(at + longest < end for at in times) > LOST:
            ends[last[node]] = UNHEARD
    return ends


def _fields(spec: Specification, state: Any) -> Fields:
    return UNKNOWN if state is None else fields_of_state(spec, state)


def _what(line: Line) -> str:
    try:
        return event_text(line)
    except (AttributeError, TypeError):  # the divergence is that these are not the arguments of an event
        return visible(line.kind)


def _problem(protocol: str, divergence: Divergence, *, is_first: bool) -> Problem:
    if fault := log_fault(divergence, is_first=is_first):
        return Problem(fault, f"seq {divergence.line.seq}", verdict="log")
    wanted, found = (json.dumps(side, ensure_ascii=False) for side in (divergence.expected, divergence.actual))
    expected, actual = window_texts(wanted, found)
    clauses = step_clauses(protocol, divergence.line)
    return Problem(divergence_text(divergence), f"seq {divergence.line.seq}", expected, actual, clauses, "differs")
