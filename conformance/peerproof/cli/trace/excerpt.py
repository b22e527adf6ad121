"""Options for a part of a trace or capture, which `draw` and `explore` share."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import TYPE_CHECKING

from peerproof.cli.command import count
from peerproof.cli.exits import NOTHING, Refusal

if TYPE_CHECKING:
    from peerproof.conformance.diagrams.message_graph import Excerpt


def add_excerpt(parser: ArgumentParser, most: str) -> None:
    """Adds `--from`, `--to`, `--node`, `--most` with this help, `--run`, `--protocol` and `--port`."""
    add, number = parser.add_argument, partial(count, least=0)
    add("--from", dest="begin", metavar="MS", type=number, help="of a trace or capture: leave out what is earlier")
    add("--to", dest="end", metavar="MS", type=number, help="of a trace or capture: leave out what is then or later")
    add("--node", metavar="NAME", action="append", default=[], help="only events that involve this node (repeatable)")
    add("--most", metavar="N", type=count, help=most)
    add("--run", metavar="NAME", help="of a trace: this run")
    add("--protocol", metavar="NAME", help="protocol of a capture")
    about = "of a capture: only packets of this port (repeatable)"
    add("--port", metavar="N", type=number, action="append", default=[], help=about)


def excerpt_of(args: Namespace, most: int) -> Excerpt:
    """Returns the part that the options choose, of at most `most` events or lines unless --most says otherwise."""
    from peerproof.conformance.diagrams.message_graph import Excerpt

    return Excerpt(args.begin or 0, args.end, args.node, args.most or most)


def nothing_in(excerpt: Excerpt, verb: str) -> Refusal:
    """Returns the error for a part without any event."""
    others = [name for name in excerpt.others if name not in excerpt.nodes]
    tip = f"--node: there are {', '.join(others)}" if others else "--from, --to, --node, --port or --run excludes everything"
    return Refusal(f"nothing to {verb}", NOTHING, tip=tip)
