"""
Shows a trace or a capture in the browser: a time line, the message graph, and what each node knew at each moment.

  peerproof trace explore trace.jsonl                    one trace, or several files of one run
  peerproof trace explore n0.jsonl n1.jsonl --run r1     one run of them
  peerproof trace explore big.jsonl --from 2000 --to 5000 --node n1:1       only what involves one node, for 3 seconds
  peerproof trace explore cluster.pcap --protocol swim   a capture; nothing is known of states
  ssh n1 cat trace.jsonl.gz | peerproof trace explore -  a trace from standard input
  peerproof trace explore trace.jsonl --output page.html one file that needs no server

Each line of a trace is replayed by the specification, which gives the state of its node. Where the node differs from the
specification, the line is marked, with what the specification would have done; the page begins at the first such line. In a
capture each message is marked that contradicts a rule of the protocol.

Lines before --from are replayed too, so that the states are known; at most --most lines from there on are shown.

The page is served on this machine only, at an address with a random token, until Ctrl-C.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import refuse
from peerproof.cli.console import warn
from peerproof.cli.exits import NOTHING, Refusal
from peerproof.cli.page import PAGE_EXITS, add_page, open_page, write_page
from peerproof.cli.trace.excerpt import add_excerpt, excerpt_of, nothing_in

if TYPE_CHECKING:
    from peerproof.conformance.authoring.drawing import Kind
    from peerproof.conformance.explorer.recorded_run import Run

#: Lines of a trace that are shown unless --most says otherwise; in a file, as many as fit.
MOST = 20_000

EXITS: Final = {**PAGE_EXITS, NOTHING: "nothing to show"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.conformance.explorer.recorded_run import MOST_MOMENTS

    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="the traces of one run, or a capture, also compressed with gzip; - for stdin")
    most = f"show at most N lines or messages (default {MOST:,}; {MOST_MOMENTS:,} with --output, which takes no more)"
    add_excerpt(parser, most)
    add_page(parser)


def run(args: Namespace) -> int:
    """Reads the files, and shows the run."""
    from peerproof.conformance.explorer.recorded_run import TooLarge
    from peerproof.conformance.suite.source import keep_standard_input

    with keep_standard_input(args.files):
        make, made = _read([Path(name) for name in args.files], args)
        if made.about:
            warn(made.about)
        if args.output:
            with refuse(TooLarge):
                return write_page(args.output, {"runs": [made.whole()]}, made.title)
        return open_page("#run/0/", listen=args.listen, no_browser=args.no_browser, runs={made.title: make}, first=[made])


def _read(files: Sequence[Path], args: Namespace) -> tuple[Callable[[], Run], Run]:
    """Reads the files; returns also what reads them again. Ends the command if they cannot be shown."""
    from peerproof.cli.ticker import Ticker
    from peerproof.conformance.authoring.drawing import CannotDraw, Kind, check_protocol, kind_of
    from peerproof.conformance.explorer.capture_run import run_capture
    from peerproof.conformance.explorer.recorded_run import MOST_MOMENTS
    from peerproof.conformance.explorer.trace_run import run_traces
    from peerproof.conformance.suite.source import STANDARD_INPUT
    from peerproof.conformance.traces import file_check, trace_diagram

    excerpt = excerpt_of(args, MOST_MOMENTS if args.output else MOST)
    with refuse(CannotDraw, file_check.NoTrace, trace_diagram.NoTrace):
        try:
            kinds = {Kind.TRACE if str(path) == STANDARD_INPUT else kind_of(path) for path in files}
            if kinds == {Kind.CAPTURE} and len(files) == 1:
                protocol = check_protocol(args.protocol, files[0])
                make: Any = partial(run_capture, files[0], protocol, args.port, excerpt)
            elif kinds == {Kind.TRACE}:
                make = partial(run_traces, files, args.run, excerpt)
            else:
                found = " and ".join(sorted(kind.value for kind in kinds))
                raise Refusal(f"this shows the traces of one run, or one capture; these are {found}", tip=_tip(kinds))
            with Ticker() as ticker:
                made = make(progress=lambda done, total: ticker("", done, total, "events"))
        except OSError as problem:
            raise Refusal(f"{problem.filename or files[0]}: {problem.strerror or problem}") from None
    if not made.moments:
        raise nothing_in(excerpt, "show")
    return make, made


def _tip(kinds: set[Kind]) -> str:
    others = {"VECTORS": "peerproof vectors explore ID", "COUNTEREXAMPLE": "peerproof model explore PROTOCOL --model NAME"}
    return others.get(next(iter(kinds)).name, "name files of one kind") if len(kinds) == 1 else "name files of one kind"
