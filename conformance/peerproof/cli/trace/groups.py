"""
Shows which nodes of a cluster heard each other when: that it was split, and when it was whole again.

  peerproof trace groups node*.jsonl                     a line for each interval with the same groups
  peerproof trace groups node*.jsonl.gz --window 60      nodes that send seldom need longer windows
  peerproof trace groups run.jsonl --json                for programs; times are microseconds, as in the traces

In each window of time, nodes belong together if one received a message of the other, also by way of others. A node that has no
line in a window is silent there. The times of the nodes are compared as they are, so their clocks must be synchronized.

Where nodes are apart, the line says from when to when no message crossed: the network, or the nodes, were split within that time.
The nodes of SWIM do not ping a node any more that they consider dead, so that its halves stay apart after the network has healed.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import refuse
from peerproof.cli.console import warn
from peerproof.cli.exits import NOTHING, OK, Refusal
from peerproof.cli.options import add_format
from peerproof.cli.ticker import Ticker
from peerproof.conformance.suite.printable import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerproof.conformance.traces.contact import Contact, Interval

EXITS: Final = {OK: "shown", 2: "wrong usage, or a file that is no trace", NOTHING: "there was no line"}

_MICROSECONDS: Final = 1_000_000
_PROGRESS_EVERY: Final = 5_000


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="a trace, a JSON line for each step, also compressed with gzip; - for stdin")
    add("--window", metavar="SECONDS", type=_seconds, default=10.0, help="length of a window (default 10)")
    add_format(parser)


def run(args: Namespace) -> int:
    """Reads the files, and shows the intervals."""
    from peerproof.conformance.traces.contact import Contact
    from peerproof.conformance.traces.file_check import EMPTY_TIP
    from peerproof.conformance.traces.trace_diagram import NoTrace, check_protocols

    contact = Contact(int(args.window * _MICROSECONDS))
    for name in args.files:
        _read(contact, name)
    if not contact.lines:
        raise Refusal(f"{args.files[0]} is empty" if len(args.files) == 1 else "these files are empty", NOTHING, tip=EMPTY_TIP)
    with refuse(NoTrace):
        check_protocols(contact.protocols)
    intervals = contact.intervals()
    if args.format == "json":
        shown = [interval._asdict() for interval in intervals]
        print(json.dumps({"nodes": sorted(contact.nodes), "lines": contact.lines, "intervals": shown}))
    else:
        print("\n".join(_rows(contact, intervals)))
    return OK


def _read(contact: Contact, name: str) -> None:
    from peerproof.conformance.suite.source import open_source
    from peerproof.conformance.traces.file_check import LeftOut, NoTrace, numbered_lines, refuse_all

    before, left_out = contact.lines, LeftOut()
    try:
        with refuse(NoTrace, prefix=f"{name}: "), Ticker() as ticker, open_source(name) as source:
            for number, line in numbered_lines(source):
                if number % _PROGRESS_EVERY == 0:
                    ticker(f"{name}: {number:,} lines")
                try:
                    if not line.isspace():
                        contact.add(line)
                except ValueError:
                    left_out.add(number, line)
            if left_out.count and contact.lines == before:
                raise refuse_all(left_out.first[0])
    except OSError as problem:
        raise Refusal(f"{name}: {problem.strerror or problem}") from None
    if source.problem:
        warn(f"{name}: {source.problem.detail}")
    if left_out.count:
        warn(f"{name}: {left_out}")


def _rows(contact: Contact, intervals: list[Interval]) -> Iterator[str]:
    from peerproof.conformance.traces.event_text import instant_text

    counts = f"{count_text(len(contact.nodes), 'node')}, {count_text(contact.lines, 'line')}"
    yield f"{counts}, windows of {contact.window / _MICROSECONDS:g} s"
    for interval in intervals:
        shown = " | ".join(" ".join(group) for group in interval.groups) or "no node has a line"
        silent = f"   silent: {' '.join(interval.silent)}" if interval.silent and interval.groups else ""
        yield f"{instant_text(interval.begin):>14}  {shown}{silent}"
        if len(interval.groups) > 1:
            since = "the beginning" if interval.last_across is None else instant_text(interval.last_across)
            until = "the end" if interval.first_across is None else instant_text(interval.first_across)
            yield f"{'':>14}  no message between these groups from {since} to {until}"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.001 <= seconds <= 10**6:  # noqa: PLR2004
        raise ArgumentTypeError(f"{text!r}: expected seconds, such as 10 or 0.5")
    return seconds
