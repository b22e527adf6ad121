"""
Checks whether each recorded step of each node is a step of the specification.

  peerproof node start scuttlebutt --bind 127.0.0.1:8119 --trace a.jsonl      (Ctrl-C after a while)
  peerproof trace check a.jsonl b.jsonl
  peerproof node simulate scuttlebutt --seed 7 --trace run.jsonl && peerproof trace check run.jsonl --tlc
  cat old.jsonl new.jsonl | peerproof trace check -                           the parts of one log
  peerproof trace check --examples                                            bundled traces, one of them wrong

Every event is replayed with the recorded random choices, and what the node did is compared: each effect, each refusal, and the
digest of its state. Nodes are checked one by one. The first divergence of a node is shown with what the specification would have
done, the clauses of the step, and the events around it (-v: the lines of the file). Later divergences are left out, up to the
next start of the node. If another reading of a decision explains the divergence, the node differs, which is no failure, and its
next steps are checked by this reading. --reading declares it from the start: then its steps are accepted.

Files are read line by line, whatever their size, and each is checked by itself.
A line that is missing, duplicated or out of place is a fault of the log (LOG), not of the node.

--tlc also runs TLC, which checks against the TLA+ model, with other code, if the protocol has a TLA+ module for traces. The
output names what TLC does not compare. If the two disagree, one of them is wrong, and the result is an internal error.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import count, interruptible
from peerproof.cli.console import is_verbose, warn
from peerproof.cli.exits import Refusal
from peerproof.cli.options import add_format
from peerproof.cli.readings import add_readings, check_readings, warn_of_readings
from peerproof.cli.ticker import Ticker
from peerproof.conformance.suite.printable import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from peerproof.conformance.traces.file_check import Found, NodeReport, NoTrace, Report
    from peerproof.spec.forms.form import Plain
    from peerproof.spec.traces.trace import Line
    from peerproof.tla.output.outcome import Progress
    from peerproof.tla.tools.installation import Tools

EXIT_CODES: Final = {"ACCEPTED": 0, "REJECTED": 1, "UNDETERMINED": 3, "EMPTY": 4, "DISAGREED": 5}

#: The most accepted nodes that are listed one by one.
MOST_LISTED: Final = 20

_LONGEST_SHOWN: Final = 2000
_LONGEST_BESIDE: Final = 300
_LONGEST_DIFFERENCE: Final = 200

#: Verdict -> how it is shown.
_VERDICTS: Final = {"accepted": "accepted", "differs": "differs ", "rejected": "REJECTED", "log": "LOG     "}


EXITS: Final = {
    0: "all accepted; some may differ from decisions, where the document leaves a choice",
    1: "a divergence, or a fault of the log (LOG, UNREADABLE)",
    2: "no trace, or of an unknown protocol",
    3: "nothing is wrong, but TLC gave no verdict on some node",
    4: "no line at all",
    5: "replay and TLC disagree, or another internal error",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="a trace, a JSON line for each step, also compressed with gzip; - for stdin")
    add("--examples", action="store_true", help="check the bundled example traces; one of them is of a wrong implementation")
    add("--tlc", action="store_true", help="check with TLC as well, if the protocol has a module (needs Java and the extra tla)")
    add_readings(parser)
    many = partial(count, digits=12)
    add("--tlc-events", metavar="N", type=many, default=1_000_000, help="events of a file that TLC checks (default 1000000)")
    add_format(parser)


def run(args: Namespace) -> int:
    """Checks each file and prints the verdicts."""
    from peerproof.conformance.suite.locations import examples, path_text
    from peerproof.conformance.traces import file_check
    from peerproof.conformance.traces.file_check import trace_verdict

    if bool(args.files) is args.examples:
        raise Refusal("give files or --examples", tip="peerproof trace check --examples shows how a wrong trace is reported")
    check_readings(args.reading)
    if args.reading and args.tlc:
        raise Refusal("--reading cannot be combined with --tlc", tip="TLC checks by the specification's own readings")
    names = [path_text(path) for path in examples()] if args.examples else args.files
    _refuse_unreadable(names)
    tools = _tools() if args.tlc else None
    reports = []
    for name in names:
        try:
            report = _check(name, tools, args.tlc_events, args.reading)
        except OSError as problem:
            raise Refusal(f"{name}: {problem.strerror or problem}") from None
        except file_check.NoTrace as problem:
            raise _no_trace(name, problem) from None
        if args.tlc and tools is None:
            report.tlc_problem = "not run"
        reports.append(report)
        if args.format == "text":
            print("\n".join(_rows(report)), flush=True)
        if not report.lines and not report.unreadable_lines:
            warn(f"{name} is empty", file_check.EMPTY_TIP)
    if protocols := {report.protocol for report in reports if report.protocol}:
        warn_of_readings(args.reading, protocols)
    code = EXIT_CODES[trace_verdict(reports).name]
    if args.format == "json":
        print(json.dumps({"exit": code, "files": [file_check.plain(report) for report in reports]}))
    elif len(reports) > 1:
        print(f"{len(reports)} files, {sum(report.is_accepted for report in reports)} accepted")
    return code


def _refuse_unreadable(names: Sequence[str]) -> None:
    """Raises Refusal if files cannot be read, and names all of them, before any is checked."""
    from pathlib import Path

    from peerproof.conformance.suite.source import open_file

    problems = []
    for name in names:
        try:
            if name != "-":
                open_file(Path(name)).close()
        except OSError as problem:
            problems.append(f"{name}: {problem.strerror or problem}")
    if problems:
        raise Refusal("; ".join(problems), tip="no file was checked" if len(names) > 1 else None)


def _no_trace(name: str, problem: NoTrace) -> Refusal:
    """Returns the error for a file that is no trace, and what reads it."""
    from pathlib import Path

    from peerproof.conformance.captures.pcap import is_capture

    if name != "-" and is_capture(Path(name)):
        return Refusal(f"{name} is a capture, not a trace", tip=f"peerproof run PROTOCOL --pcap {name}")
    return Refusal(f"{name}: {problem}", tip=problem.tip)


def _tools() -> Tools | None:
    from peerproof.tla.tools.installation import ToolsUnusable, find

    try:
        return find()
    except ToolsUnusable as problem:
        warn(f"TLC is not run: {problem}")
        return None


def _check(name: str, tools: Tools | None, tlc_events: int, readings: Sequence[str]) -> Report:
    from peerproof.conformance.suite.source import open_source
    from peerproof.conformance.traces.file_check import check_trace

    with interruptible() if tools else nullcontext(), Ticker() as ticker:

        def show_read(lines: int, size: int) -> None:
            ticker(f"{name}: {lines:,} lines, {size / 2**20:,.0f} MiB")

        def show_tlc(progress: Progress) -> None:
            ticker(f"{name}: TLC, {progress.distinct:,} events")

        with open_source(name) as source:
            how: Any = {"tools": tools, "tlc_events": tlc_events, "readings": readings}
            return check_trace(source, name=name, **how, on_read=show_read, on_tlc=show_tlc)


def _rows(report: Report) -> Iterator[str]:
    about = f", {report.protocol}" if report.protocol else ""
    yield f"{report.name}: {count_text(report.lines, 'line')}, {count_text(len(report.nodes), 'node')}{about}"
    for bad in report.unreadable:
        yield f"  UNREADABLE  {report.name}:{bad.line}: {_safe_text(bad.problem)}"
    if report.unreadable_lines > len(report.unreadable):
        yield f"  UNREADABLE  {report.unreadable_lines:,} lines in all"
    shorten = _id_shortener(report)
    listed = [node for node in report.nodes.values() if len(report.nodes) <= MOST_LISTED or _is_remarkable(node)]
    for node in listed:
        name = f"{_safe_text(node.node)} in {_safe_text(node.run)}"
        yield f"  {_VERDICTS[node.verdict]}  {name}: {count_text(node.events, 'event')}{_tlc(node, report.unseen)}"
        for found in node.found:
            yield from (f"    {row}" for row in _render_finding(report.name, found, shorten))
        if node.further:
            yield f"    {node.further:,} more after later starts"
    if len(listed) < len(report.nodes):
        yield f"  accepted  {'the other' if listed else 'all'} {count_text(len(report.nodes) - len(listed), 'node')}"
    if report.tlc_problem:
        yield f"  TLC       no verdict: {report.tlc_problem}"


def _is_remarkable(node: NodeReport) -> bool:
    from peerproof.tla.traces.trace_check import Comparison

    return node.verdict != "accepted" or node.comparison in (Comparison.DISAGREE, Comparison.UNDETERMINED)


def _tlc(node: NodeReport, unseen: str) -> str:
    from peerproof.tla.traces.trace_check import Comparison

    judgement = node.judgement
    if judgement is None:
        return ""
    says = f"rejects seq {judgement.seq} ({judgement.what})" if judgement.seq is not None else "accepts all its events"
    match node.comparison:
        case Comparison.AGREE:
            return f"; TLC agrees: it {says}"
        case Comparison.UNSEEN:
            return f"; TLC accepts the step: it does not compare {unseen}"
        case Comparison.UNDETERMINED:
            return f"; TLC UNDETERMINED: it accepts the first {count_text(judgement.events, 'event')}; {judgement.why}"
    return f"; TLC DISAGREES: it {says}"


def _id_shortener(report: Report) -> Callable[[str], str]:
    from peerproof.conformance.diagrams.labels import id_shortener

    names = [part for node in report.nodes.values() for part in (node.run, node.node)]
    found = [found for node in report.nodes.values() for found in node.found]
    texts = (line for each in found for line in (*each.before, each.text, *each.after, json.dumps(each.divergence.expected)))
    return id_shortener(texts, [report.name, *names])


def _render_finding(name: str, found: Found, shorten: Callable[[str], str]) -> Iterator[str]:
    from peerproof.conformance.clauses.catalogue import specification
    from peerproof.conformance.traces.findings import no_message_text
    from peerproof.conformance.traces.other_readings import Difference, explanation_text

    divergence = found.divergence
    if found.log_fault:
        yield f"{name}:{found.line}: {found.log_fault}; nothing is checked from there to the next start"
    else:
        event = _event(divergence.line, shorten)
        yield f"{name}:{found.line}: seq {divergence.line.seq}, {event}: differs in {divergence.what}"
        if sent := no_message_text(specification(divergence.line.protocol), divergence):
            yield f"  {_safe_text(shorten(sent))}"
        yield from _render_diff(divergence.what, divergence.expected, divergence.actual, shorten)
    if isinstance(divergence, Difference):
        yield f"  {explanation_text(divergence.explanations)}"
    elif found.clauses:
        yield f"  clauses of this step: {', '.join(found.clauses)}"
    if is_verbose():
        for mark, lines in ((" ", found.before), (">", [found.text]), (" ", found.after)):
            yield from (f"  {mark} {_safe_text(line, _LONGEST_SHOWN if mark == '>' else _LONGEST_BESIDE)}" for line in lines)
        return
    yield "  events of the node around it (-v: the lines of the file):"
    for mark, lines in ((" ", found.before), (">", [found.text]), (" ", found.after)):
        yield from (f"  {mark} {_summary(line, shorten)}" for line in lines)


def _summary(text: str, shorten: Callable[[str], str]) -> str:
    """A line of the file in short."""
    from peerproof.spec.errors import MalformedMessage
    from peerproof.spec.traces.trace import parse

    try:
        line = parse(text)
    except MalformedMessage:
        return _safe_text(text, _LONGEST_BESIDE)
    return f"seq {line.seq}  {line.t_us / 1000:,.0f} ms  {_event(line, shorten)}"


def _event(line: Line, shorten: Callable[[str], str]) -> str:
    from peerproof.conformance.traces.event_text import event_text

    try:
        return _safe_text(shorten(event_text(line)), _LONGEST_BESIDE)
    except (AttributeError, TypeError):  # the divergence is that these are not the arguments of an event
        return _safe_text(line.kind)


def _render_diff(what: str, expected: Plain, actual: Plain, shorten: Callable[[str], str]) -> Iterator[str]:
    from peerproof.conformance.diagrams.labels import window_texts
    from peerproof.conformance.traces.findings import differences

    if what != "effects":
        allowed, found = window_texts(shorten(_json(expected)), shorten(_json(actual)))
        yield f"  expected  {allowed}"
        yield f"  found     {found}"
        return
    where, should, does = next(differences(expected, actual, "effect"))
    if where.count(".") or where.count("[") > 1:
        yield f"  {where}: {shorten(_json(does))}, expected {shorten(_json(should))}"
    for place in range(max(len(expected), len(actual))):
        allowed, found = _effects(*(effects[place] if place < len(effects) else None for effects in (expected, actual)))
        if allowed == found:
            yield f"  effect {place + 1}, as expected  {shorten(found)}"
        else:
            allowed, found = window_texts(shorten(allowed), shorten(found), _LONGEST_DIFFERENCE)
            yield f"  effect {place + 1}, expected     {allowed}"
            yield f"  effect {place + 1}, found        {found}"


def _effects(expected: Plain, actual: Plain) -> tuple[str, str]:
    """Two effects in words; as JSON where words do not show how they differ."""
    from peerproof.conformance.traces.event_text import effect_text

    allowed, found = (_safe_text("nothing" if effect is None else effect_text(effect)) for effect in (expected, actual))
    return (allowed, found) if allowed != found or expected == actual else (_json(expected), _json(actual))


def _json(plain: Plain) -> str:
    return _safe_text(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False))


def _safe_text(text: str, most: int = _LONGEST_SHOWN) -> str:
    """Escapes terminal controls in a text from a trace."""
    cut = text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"
    return cut if cut.isprintable() else "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in cut)
