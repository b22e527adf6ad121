"""
What runs have cost and how well they did, into the tables `metrics` and `summaries`, and both as CSV.

  peerproof pipeline measure --in out
  peerproof pipeline measure --in out --shared-clock      the nodes of a log have one clock

Of every protocol: messages and bytes by node and round. Of Scuttlebutt and SWIM also: how long news took to reach all nodes,
over how many hops, and how many it reached; how long a crash took to be detected, and how often a node that was up was taken
for down. `summaries` has percentiles by configuration. docs/how-to/pipeline.md says what each metric means.

Times between what happens at different nodes are measured only where all nodes of a run have one clock. Simulated ones do. A
node of `peerproof node start` counts from its own start: for logs of such nodes, messages, bytes, hops and coverage are
measured. --shared-clock says that logs have times of one clock.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli.command import refuse
from peerproof.cli.exits import NOTHING, OK
from peerproof.cli.pipeline.options import add_in, add_out, add_spark, engine, print_outcome, progress_of, stage


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    add_out(parser, "that of --in")
    add_shared_clock(parser)
    add_spark(parser)


def add_shared_clock(parser: ArgumentParser) -> None:
    """`--shared-clock`."""
    parser.add_argument("--shared-clock", action="store_true", help="the nodes of a log share one clock")


@stage
def run(args: Namespace) -> int:
    """Measures."""
    from peerproof.pipeline.stages.measure import NothingToMeasure, execute, sources

    with refuse(NothingToMeasure, code=NOTHING):
        measured = sources(args.place, shared_clock=args.shared_clock)
    with engine(args) as spark:
        print_outcome(args, spark, execute(spark, args.out or args.place, measured, progress_of("measure")))
    return OK
