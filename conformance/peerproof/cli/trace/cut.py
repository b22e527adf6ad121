"""
Cuts nodes and a time range out of a large trace, into a small one for a report.

  peerproof trace cut big.jsonl --node n1:1 --to 5000 --output n1.jsonl            one node, the first 5 seconds
  peerproof trace cut big.jsonl.gz --from 60000 --to 90000 --output part.jsonl     half a minute of all nodes
  peerproof trace cut - --run r1 < big.jsonl | peerproof trace check -             one run of several

Times are milliseconds as in trace draw and trace explore. The state of a node is known from a start on: so its part begins with
its last start before --from, or with its first one after. Lines are copied as they are, so that trace check has the same verdict
on each of them as in the whole trace.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import count, refuse
from peerproof.cli.console import note, warn
from peerproof.cli.exits import NOTHING, OK, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXITS: Final = {OK: "written", 2: "wrong usage, or a file that is no trace", NOTHING: "no line was chosen"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add, number = parser.add_argument, partial(count, least=0)
    add("file", metavar="FILE", help="a trace, a JSON line for each step, also compressed with gzip; - for stdin")
    add("--from", dest="begin", metavar="MS", type=number, default=0, help="leave out what is earlier, as far as starts allow")
    add("--to", dest="end", metavar="MS", type=number, help="leave out what is then or later")
    add("--node", metavar="NAME", action="append", default=[], help="only this node (repeatable)")
    add("--run", metavar="NAME", help="only this run")
    add("-o", "--output", type=Path, metavar="FILE", help="file to write (default: standard output)")


def run(args: Namespace) -> int:
    """Writes the part, and says what is in it."""
    from peerproof.conformance.suite.output import CannotWrite
    from peerproof.conformance.suite.source import keep_standard_input, open_source
    from peerproof.conformance.traces.file_check import EMPTY_TIP, NoTrace
    from peerproof.conformance.traces.trace_cut import Part, cut_trace

    if args.end is not None and args.begin >= args.end:
        raise Refusal(f"there is nothing from {args.begin} to {args.end} ms", tip="--to takes a later time than --from")
    if args.output and args.output.exists() and Path(args.file).exists() and args.output.samefile(args.file):
        raise Refusal(f"--output {args.output} is the trace itself", tip="name another file")
    with refuse(CannotWrite), refuse(NoTrace, prefix=f"{args.file}: "), ExitStack() as stack:
        try:
            if args.begin:
                stack.enter_context(keep_standard_input([args.file]))
            write = stack.enter_context(_writing(args.output))
            cut = cut_trace(partial(open_source, args.file), Part(args.begin, args.end, args.node, args.run), write)
        except BrokenPipeError:
            raise  # the reader of the output has exited
        except OSError as problem:
            raise Refusal(f"{args.file}: {problem.strerror or problem}") from None
    if cut.damage:
        warn(f"{args.file}: {cut.damage}")
    if cut.left_out.count:
        warn(f"{args.file}: {cut.left_out}")
    if not cut.lines:
        raise Refusal(f"{args.file} is empty", NOTHING, tip=EMPTY_TIP)
    if not cut.kept:
        names = ", ".join(dict.fromkeys(node for _, node in cut.others))
        raise Refusal("no line was chosen", NOTHING, tip=f"there are the nodes {names}" if names else None)
    for (of, node), kept in cut.kept.items():
        note(f"{node} in {of}: {kept.lines:,} lines, from its start at {kept.at:,} ms (seq {kept.seq})")
    return OK


@contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[bytes], None]]:
    """Returns what writes a line; the file is made with the first one."""
    from peerproof.conformance.suite.output import Growing

    opened: list[Growing] = []

    def write(line: bytes) -> None:
        if not opened:
            opened.append(Growing(path))
        opened[0].write(line)

    try:
        yield write
    finally:
        for growing in opened:
            growing.close()
