"""
Runs seeded simulations over a grid of parameters, into the tables `traces` and `runs`.

  peerproof pipeline simulate scuttlebutt --runs 100 --output out
  peerproof pipeline simulate scuttlebutt --runs 1000 --grid grid.yaml --seed 7 --output out

where grid.yaml holds, for example

  nodes: [3, 10]                  # a list: each of these, with each of the others
  rounds: 50
  loss: [0, 0.1]                  # also duplication, reordering
  delay: [1-10, 50-200]           # milliseconds, from the least to the most
  partition: [null, 10-30]        # the first half of the nodes, rounded down, cut from the others
  crash: [null, 2@10]             # node 2 in round 10; also restart; several: 2@10 1@20
  updates: 5                      # pairs that each node sets, messages that it routes
  apart: [0, 2]                   # rounds from one node's start to the next; 0: all in the first round
  config: {interval: [500, 1000]} # of every node, as the protocol's configuration names it

Run number i has the configuration number i modulo their number, and the seed SEED-i with six digits: the same arguments
give the same rows, byte for byte, on however many machines. `peerproof node simulate scuttlebutt --seed 0-000007 …`, with the
options that the run's row in `runs` shows, is the same run again.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from peerproof.cli.command import count, refuse
from peerproof.cli.exits import OK, UNUSABLE, Refusal
from peerproof.cli.options import add_protocol, check_protocol
from peerproof.cli.pipeline.options import CANNOT_RUN, add_out, add_spark, engine, execute_stage, stage

EXITS: Final = {
    OK: "all runs are in the tables",
    UNUSABLE: CANNOT_RUN,
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    from peerproof.reference.protocols.registry import RUNTIMES

    add_protocol(parser, ", ".join(RUNTIMES), needed=True)
    parser.add_argument("--runs", type=count, required=True, metavar="N", help="number of runs over all configurations")
    parser.add_argument("--grid", type=Path, metavar="FILE", help="configurations in YAML (default: one)")
    parser.add_argument("--seed", default="0", metavar="SEED", help="random seed (default 0)")
    add_out(parser)
    add_spark(parser)


@stage
def run(args: Namespace) -> int:
    """Runs the simulations."""
    from peerproof.reference.protocols.registry import RUNTIMES

    check_protocol(args.protocol, RUNTIMES)
    from peerproof.pipeline.stages.grid import BadGrid, read
    from peerproof.pipeline.stages.simulate import simulation

    try:
        with refuse(BadGrid, prefix=f"{args.grid or '--runs'}: "):
            points = read(args.grid.read_text(encoding="utf-8") if args.grid else "")
            todo = simulation(args.protocol, points, args.runs, args.seed)
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"cannot read the grid {args.grid}: {getattr(error, 'strerror', None) or error}") from None
    with engine(args) as spark:
        execute_stage(args, spark, todo)
    return OK
