"""Checking whole traces, by the replay and by TLC, and the verdict on several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Final

from peerproof.conformance.traces.files import Report, ask_tlc, check
from peerproof.tla.output.outcome import Progress
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces.trace_check import Comparison

#: Events of one file that TLC is told of, unless another number is asked for.
TLC_EVENTS: Final = 1_000_000


class TraceVerdict(Enum):
    """What the replay, and TLC if it was asked, say of some traces together; the first that applies."""

    DISAGREED = "disagreed"  #: the replay and TLC contradict each other: a bug of the suite
    UNDETERMINED = "undetermined"  #: TLC was asked and has no verdict on some node
    REJECTED = "rejected"  #: a step diverges from the specification, or a line cannot be read
    ACCEPTED = "accepted"
    EMPTY = "empty"  #: no line at all


def check_trace(  # each has its default
    source: Path | BinaryIO,
    *,
    name: str | None = None,
    tools: Tools | None = None,
    tlc_events: int = TLC_EVENTS,
    on_read: Callable[[int, int], None] = lambda _lines, _bytes: None,
    on_tlc: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """
    Replays a trace, a JSON line for each step, against the specification; with `tools`, TLC checks it as well.

    `name` is what the report calls the trace (default: its path). TLC is told of the first `tlc_events` events. `on_read` gets
    the lines and bytes read so far. Raises NoTrace if no line is one of a trace of a known protocol, and OSError.

    >>> from io import BytesIO
    >>> check_trace(BytesIO(b""), name="nothing").lines
    0
    """
    shown = name or (str(source) if isinstance(source, Path) else "trace")
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        report = check(shown, file, tlc_events if tools else 0, on_read)
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
    if any(report.tlc_problem for report in reports) or Comparison.UNDETERMINED in compared:
        return TraceVerdict.UNDETERMINED
    if any(not report.is_accepted for report in reports):
        return TraceVerdict.REJECTED
    return TraceVerdict.ACCEPTED if any(report.lines for report in reports) else TraceVerdict.EMPTY
