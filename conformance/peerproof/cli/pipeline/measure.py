"""
Measures cost and quality of runs, into the tables `metrics` and `summaries`, and both as CSV.

  peerproof pipeline measure --in out
  peerproof pipeline measure --in out --shared-clock      the nodes of a log share one clock

Every protocol has messages and bytes by node and round. Scuttlebutt and SWIM also have the time for a change to reach all nodes,
its hops and its coverage, the time to detect a crash, and the number of false detections. `summaries` has percentiles by
configuration. The page "Run the pipeline from logs and captures to a report" explains each metric.

Times between events at different nodes are measured only if all nodes of a run share one clock, as simulated nodes do. A node of
`peerproof node start` counts from its own start: such logs give messages, bytes, hops and coverage only. --shared-clock declares
that the times of logs are of one clock.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli.command import refuse
from peerproof.cli.exits import NOTHING, OK, UNUSABLE
from peerproof.cli.pipeline.options import CANNOT_RUN, add_in, add_out, add_spark, engine, print_outcome, progress_of, stage

EXITS: Final = {
    OK: "the figures are in the tables",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "nothing to measure in the folder",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    add_out(parser, "that of --in")
    add_shared_clock(parser)
    add_spark(parser)


def add_shared_clock(parser: ArgumentParser) -> None:
    """Adds `--shared-clock`."""
    parser.add_argument("--shared-clock", action="store_true", help="the nodes of a log share one clock")


@stage
def run(args: Namespace) -> int:
    """Measures the runs."""
    from peerproof.pipeline.stages.measure import NothingToMeasure, execute, sources

    with refuse(NothingToMeasure, code=NOTHING):
        measured = sources(args.place, shared_clock=args.shared_clock)
    with engine(args) as spark:
        print_outcome(args, spark, execute(spark, args.out or args.place, measured, progress_of("measure")))
    return OK
