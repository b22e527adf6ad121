"""
What runs have cost and how well they did, into the tables `metrics` and `summaries`, and both as CSV.

  peerproof pipeline measure --in out
  peerproof pipeline measure --in out --shared-clock      the nodes of a log have one clock

Of every protocol: messages and bytes by node and round. Of Scuttlebutt and SWIM also: how long news took to reach all nodes,
over how many hops, and how many it reached; how long a crash took to be detected, and how often a node that was up was taken
for down. `summaries` has percentiles by configuration. docs/how-to/pipeline.md says what each metric means.

Times between what happens at different nodes are measured only where all nodes of a run have one clock. Simulated ones do.
A node of `peerproof node` counts from its own start: for logs of such nodes, messages, bytes, hops and coverage are measured.
--shared-clock says that logs have times of one clock.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.cli.stages.options import add_in, add_spark

if TYPE_CHECKING:
    from peerproof.pipeline.spark.work import Show

OK, NOTHING = 0, 4


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder that the batch goes to (default: that of --in)")
    add_shared_clock(parser)
    add_spark(parser)


def add_shared_clock(parser: ArgumentParser) -> None:
    """`--shared-clock`."""
    parser.add_argument("--shared-clock", action="store_true", help="all nodes of a log's run have one clock")


def run(args: Namespace) -> int:
    """Measures."""
    from peerproof.cli.stages.options import engine, print_outcome
    from peerproof.pipeline.stages.measure import NothingToMeasure, execute, sources

    try:
        measured = sources(args.place, shared_clock=args.shared_clock)
    except NothingToMeasure as problem:
        print(f"peerproof pipeline measure: {problem}", file=sys.stderr)
        return NOTHING
    with engine(args) as spark:
        print_outcome(args, spark, execute(spark, args.out or args.place, measured, shows("measure", quiet=args.quiet)))
    return OK


class shows:  # noqa: N801  # a function with a memory
    """Gives each step of a stage its line of progress."""

    def __init__(self, stage: str, *, quiet: bool) -> None:
        self._stage, self._quiet = stage, quiet

    def __call__(self, step: str) -> Show:
        """For the step of this name."""
        from peerproof.pipeline.spark.progress import Progress

        return Progress(f"{self._stage}, {step}", quiet=self._quiet)
