"""Renders a failing case as text: clauses, events, first difference, and commands to reproduce it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, Final

from peerproof.conformance.adapter.implementation import WITHOUT_A_PROGRAM
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.diagrams import message_graph
from peerproof.conformance.diagrams.compact import Renderer, render_whole
from peerproof.conformance.diagrams.labels import MOST_SHOWN, message_text, visible, window_texts
from peerproof.conformance.diagrams.message_graph import MessageGraph
from peerproof.conformance.readings.reading import settled_by
from peerproof.conformance.runner.result import ADAPTERS_OWN, BROKEN, Result
from peerproof.conformance.runner.trial import FAILURES, Arrow, TrialEvent
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.model_table import LAYER, NODE
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.spec.protocols import PROTOCOLS

WIDTH: Final = 120
MOST_TOLD: Final = 40  #: lines of the diagram, the last ones
MOST_CLAUSES: Final = 10  #: clauses shown with their texts
MOST_ERRORS: Final = 20  #: lines of standard error
MOST_WORDS: Final = 100  #: characters of an adapter's message in the first line of a failure
MOST_PASTED: Final = 100_000  #: characters of a line to paste: shells and terminals have limits
SIDES: Final = ("expected", "actual")
_NO_BYTES: Final = "(no bytes)"
_FROM_BYTE: Final = re.compile(r", from byte \d+")  #: the place of a difference between two byte strings
_MOST_END: Final = 40  #: digits of what is missing or left over at the end
_UNSENT: Final = ".sent"  #: end of the place of a difference: a message whose outcome is to be reported was not sent


def demanding(decisions: Sequence[str]) -> str:
    """
    Decisions as the subject of a sentence.

    >>> demanding(["BA-12"]), demanding(["BA-12", "BA-32"])
    ('BA-12 demands', 'BA-12 and BA-32 demand')
    """
    return f"{' and '.join(decisions)} {'demands' if len(decisions) == 1 else 'demand'}"


def explain(result: Result, title: str, arguments: Mapping[str, Any]) -> str:
    """Renders all details of a failure; `arguments` are those of the run."""
    failing = f" ({result.failure}: {_what_happened(result)})" if result.failure else ""
    lines = [f"{result.status.upper()} {result.id}{failing}", *([f"  {title}"] if title else [])]
    lines += [f"  {line}" for line in (*_clauses(result), *settled_decisions(result))]
    if result.decisions:
        lines.append(f"  only {demanding(result.decisions)} it, not the document")
    lines += [*_diagram_lines(result), *_step_of_model(result), *_first_difference(result), *_process(result)]
    lines += [f"  {f'{name}:':8} {command}" for name, command in to_paste(result, arguments)]
    return "\n".join(lines) + "\n"


def failure_meaning(result: Result) -> str:
    """What the class of failure means; if the adapter reported a crash or a timeout, that it did so. Empty without a failure."""
    error = reported_error(result)
    if error and result.failure in BROKEN:
        return f"the adapter reported the error {error['code']}"
    return FAILURES.get(result.failure or "", "")


def reported_error(result: Result) -> Mapping[str, Any] | None:
    """The error that the adapter answered with, code and perhaps message; None if it answered otherwise or not at all."""
    actual = result.difference.actual if result.difference else None
    error = actual.get("error") if isinstance(actual, dict) else None
    return error if isinstance(error, dict) else None


def _what_happened(result: Result) -> str:
    """The meaning of a failure, with the adapter's words for a crash."""
    error = reported_error(result) or {}
    words = str(error.get("message", "")) if result.failure in BROKEN else ""
    return ": ".join(filter(None, [failure_meaning(result), shorten(visible(words), MOST_WORDS, placeholder=" …")]))


def demanded_by_document(result: Result) -> list[str]:
    """Returns the cited clauses of the document itself that say must."""
    items = _catalogue(result)
    return [clause for clause in result.clauses if clause in items and items[clause].standing == "must"]


def _catalogue(result: Result) -> Mapping[str, catalogue.Clause]:
    try:
        return catalogue.load(result.vector.partition("/")[0]).items
    except VectorError:
        return {}


def _clauses(result: Result) -> Iterator[str]:
    items = _catalogue(result)
    if len(result.clauses) > MOST_CLAUSES:
        yield f"{' '.join(result.clauses)} (peerproof explain CLAUSE)"
        return
    for clause in result.clauses:
        item = items.get(clause)
        yield item.shortened(WIDTH) if item else clause


def settled_decisions(result: Result) -> Iterator[str]:
    """Yields why decisions of a vector that is violated count as words of the document: those that have no other reading."""
    protocol = result.vector.partition("/")[0]
    if result.status == "failed" and not result.decisions and result.failure not in ADAPTERS_OWN and protocol in PROTOCOLS:
        settled = settled_by(protocol)
        yield from (f"{clause} has no other reading: {settled[clause]}" for clause in result.clauses if clause in settled)


def diagram(story: Sequence[Arrow | TrialEvent], protocol: str) -> str:
    """Renders a story as text."""
    shown = [draw_part(part, protocol) for part in story]
    names = [end for part in story for end in ((part.source, part.target) if isinstance(part, Arrow) else (part.node,)) if end]
    return MessageGraph(tuple(dict.fromkeys(names)) or ("",), tuple(shown)).text()


def draw_part(
    part: Arrow | TrialEvent, protocol: str, *, digits: bool = True, render: Renderer = render_whole
) -> message_graph.Arrow | message_graph.Note:
    """Converts a part of a story to a part of a diagram; a valid message can be shown without its bytes."""
    at = "" if part.at is None else f"{part.at} ms: "
    if isinstance(part, TrialEvent):
        return message_graph.Note(part.node, at + part.what)
    label = part.label or f"{_message(protocol, part.bytes or '', render)}{f'   {part.bytes or _NO_BYTES}' if digits else ''}"
    return message_graph.Arrow(part.source, part.target, at + truncate_text(label))


def _message(protocol: str, digits: str, render: Renderer) -> str:
    try:
        return render("recv", describe_bytes(protocol, digits))
    except (KeyError, ValueError):  # an unknown protocol, or an edited record
        return digits


def _diagram_lines(result: Result) -> list[str]:
    if not result.story:
        return []
    lines = diagram(result.story[-MOST_TOLD:], result.vector.partition("/")[0]).splitlines()
    left_out = len(result.story) - MOST_TOLD
    before = [f"    … {left_out} lines before (peerproof vectors replay shows them)"] if left_out > 0 else []
    return ["", *before, *(f"    {line}" for line in lines)]


def _step_of_model(result: Result) -> list[str]:
    """The step in words that a vector made from a model fails: its title names the whole path."""
    part = result.story[result.judged] if result.judged < len(result.story) else None
    has_branches = any(isinstance(one, TrialEvent) and one.what.startswith("either ") for one in result.expected)
    if f"/{LAYER}/" not in result.vector or result.failure != "messages" or part is None or has_branches:
        return []
    at = f"at {part.at} ms"
    if isinstance(part, Arrow) and part.source != NODE:
        message = _message(result.vector.partition("/")[0], part.bytes or "", render_whole)
        when = f"after {part.source} sent {message} {at}"
    elif isinstance(part, TrialEvent) and not part.what.startswith("event "):
        when = f"after {part.what} {at}"
    else:
        when = f"when its timer runs {at}"
    sent = [f"{one.label} to {one.target}" for one in result.expected if isinstance(one, Arrow)]
    return ["", f"  {when}, the node must send {truncate_text(' and '.join(sent) or 'nothing')}"]


def _first_difference(result: Result) -> list[str]:
    difference = result.difference
    if difference is None:
        return []
    lines = ["", f"  first difference: {difference.where}"]
    for side, value, reading in render_sides(difference):
        lines.append(f"    {side:8}  {value}")
        if reading is not None:
            lines.append(f"    {'':8}  = {reading}")
    protocol = PROTOCOLS.get(result.vector.partition("/")[0])
    if difference.where.endswith(_UNSENT) and protocol and protocol.first_message:
        lines.append(f"  often this message is {protocol.first_message}")
    if difference.where.startswith("setup"):
        lines.append(
            f"  setup: what the vector does before its first check (peerproof vectors show {shlex.quote(result.vector)})"
        )
    return lines


def brief_difference(result: Result) -> Iterator[str]:
    """Yields the place and the sides of the difference, on indented lines, of a case that does not count as failed."""
    if result.difference:
        yield f"  {result.difference.where}"
        yield from (f"    {side:8}  {value}" for side, value, _ in render_sides(result.difference))


def render_sides(difference: Difference, most: int = MOST_SHOWN) -> Iterator[tuple[str, str, str | None]]:
    """Yields both sides of a difference, each with its decoded form; of long ones the part around the difference."""
    expected, actual = (side_text(difference, side) for side in SIDES)
    if expected == actual:  # a number and a string of its digits
        expected, actual = _json(difference.expected), _json(difference.actual)
    shown, found = window_texts(expected, actual, most)
    values = shown, found + _end_text(difference)
    reads = (difference.expected_read, difference.actual_read)
    wanted, found = ("" if read is None else message_text(read) for read in reads)
    readings = window_texts(wanted, found, most)
    for side, value, read, reading in zip(SIDES, values, reads, readings, strict=True):
        yield side, value, None if read is None else reading


def _end_text(difference: Difference) -> str:
    """What is missing or left over at the end, if one of two byte strings begins with the other and both mean the same."""
    expected, actual = difference.expected or "", difference.actual or ""
    is_alike = _FROM_BYTE.search(difference.where) and difference.expected_read == difference.actual_read
    if not is_alike or not (expected.startswith(actual) or actual.startswith(expected)):
        return ""
    rest = expected[len(actual) :] or actual[len(expected) :]
    shown = f"{rest[:_MOST_END]}{'…' * (len(rest) > _MOST_END)}{', a line feed' * (rest == '0a')}"
    return f"   ({count_text(len(rest) // 2, 'byte')} {'missing' if len(actual) < len(expected) else 'more'} at the end: {shown})"


def brief_sides(difference: Difference) -> tuple[str, str]:
    """Returns both sides of a difference on one line each: decoded, where that shows the difference."""
    sides = list(render_sides(difference))
    decoded = [read for _, _, read in sides]
    expected, actual = decoded if None not in decoded and decoded[0] != decoded[1] else [value for _, value, _ in sides]
    return str(expected), str(actual)


def side_text(difference: Difference, side: str) -> str:
    """One side of a difference in full; JSON's null differs from a missing value."""
    value = getattr(difference, side)
    if difference.where.endswith(_UNSENT):
        return _sent_text(difference.expected) if side == "expected" else "it has sent no such message that is still unconfirmed"
    if isinstance(value, dict) and (words := _verdict_text(difference.where, value)):
        return words
    return "null" if side in difference.nulls else value_text(value)


def _sent_text(sent: Mapping[str, Any]) -> str:
    """The message that a step waits for in order to report its outcome."""
    to = f" to {sent['to']}" if "to" in sent else ""
    took = sent.get("took")
    outcome = "does not arrive" if took is None else f"is confirmed after {took} µs"
    return f"{sent['node']} has sent a {sent.get('type', 'message')}{to}, which now {outcome}"


def _verdict_text(where: str, side: Mapping[str, Any]) -> str | None:
    """What a codec does with bytes, in words: it accepts or rejects them; None if the side is something else."""
    match side:
        case {"rejected": str() as reason}:
            return f"rejected: {reason.removeprefix('no message: ')}"
        case {"rejected": {"class": name, "message": str() as message}}:
            return f"rejected: {message} ({name})"
        case {"rejected": {"class": name}}:
            return f"rejected ({name})"
        case {"bytes": _, "value": message}:
            return f"accepted as {message_text(message)}"
        case {"value": message} if where == "decode":
            return f"accepted as {message_text(message)}"
    return None


def _process(result: Result) -> list[str]:
    lines = ["", *(f"  {line}" for line in result.reason.splitlines())] if result.reason else []
    if result.confirmed is not None:
        lines.append(f"  {'confirmed: it happened again when run alone' if result.confirmed else 'not confirmed'}")
    if result.errors:
        errors = result.errors.splitlines()
        lines.append(f"  end of its standard error ({len(result.errors):,} bytes):")
        lines += [f"    | {truncate_text(line)}" for line in errors[-MOST_ERRORS:]]
    if result.cut:
        lines.append(f"  too large for the report: {'; '.join(result.cut)} (--max-record)")
    return [*lines, ""]


def to_paste(result: Result, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields commands to paste: the same trial; and for a program the smallest reproduction without the suite."""
    implementation = arguments.get("impl")
    options = _options(arguments)
    if "@" in result.id or "connect" in arguments:
        yield "again", f"peerproof run {_way(result, arguments)} -k {shlex.quote(result.id.partition('@')[0])}{options}"
        return
    replay = f"peerproof vectors replay {shlex.quote(result.id)}{options}"
    yield "again", replay
    program = None if implementation and implementation.startswith(WITHOUT_A_PROGRAM) else _command(implementation)
    if result.essence and all(request["op"] in ("encode", "decode") for request in result.essence):
        lines = " ".join(shlex.quote(_json({"id": number, **request})) for number, request in enumerate(result.essence, start=1))
        if program and len(lines) <= MOST_PASTED:
            yield "by hand", f"printf '%s\\n' {lines} | {program}"
            return
    else:
        for request in result.essence:
            digits = request["bytes"] or _NO_BYTES
            yield "message", digits if len(digits) <= MOST_PASTED else truncate_text(digits)
    if program:
        yield "by hand", f"{replay} --emit stdin | {program}"


def explore_commands(result: Result, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the command that opens a case in the explorer; if an implementation was run, also the one with it beside."""
    command = f"peerproof vectors explore {shlex.quote(result.id.partition('@')[0])}"
    without = {**arguments, "decisions": None}
    yield "explore", f"{command}{_options({**without, 'impl': None})}"
    if arguments.get("impl"):
        yield "explore --impl", f"{command}{_options(without)}"


def run_command(arguments: Mapping[str, Any], protocol: str, words: Sequence[str], more: Sequence[str]) -> str:
    """Returns the command of a run of one protocol, with further words for `-k` and further options."""
    select = " ".join(filter(None, [arguments.get("select"), *words]))
    shown = {**arguments, "select": select, "protocol": None, "annotate": None}
    options = [f"--{name}" if value is True else f"--{name} {shlex.quote(str(value))}" for name, value in shown.items() if value]
    return " ".join(filter(None, ["peerproof run", protocol, *options, *more])).replace("--select ", "-k ")


def _way(result: Result, arguments: Mapping[str, Any]) -> str:
    """The options that select the socket."""
    if "connect" in arguments:
        return f"{result.id.partition('/')[0]} --connect {shlex.quote(arguments['connect'])}"
    return f"--transport {result.id.partition('@')[2]}"


def _options(arguments: Mapping[str, Any]) -> str:
    """The arguments of a run that repeat one of its cases, as options."""
    return "".join(f" --{name} {shlex.quote(str(value))}" for name, value in arguments.items() if name in _REPEATED and value)


_LIMITS: Final = ("max-messages", "max-at-once", "max-bytes", "max-reply", "hello-timeout", "op-timeout", "bye-timeout")
_REPEATED: Final = ("impl", "seed", "vectors", "decisions", *_LIMITS)


def _command(implementation: str | None) -> str:
    """The shell command that starts the implementation, or connects with it."""
    if implementation is None:
        return "python -m peerproof.reference.harness.harness"
    if implementation.startswith("tcp://"):
        host, _, port = implementation.removeprefix("tcp://").rpartition(":")
        return f"nc {host} {port}"
    return implementation


def value_text(value: Any) -> str:
    """One side of a difference in full."""
    if value is None:
        return "nothing"
    return value or _NO_BYTES if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def truncate_text(text: str) -> str:
    """Cuts a text to the length for reports."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text)} characters)"
